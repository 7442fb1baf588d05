"""Pictures: tensors in notebooks, and pages that show how a kernel becomes C.

The core finds it by the hook ``finch_display`` and imports ``finch_core.show.display`` at the
first use.
"""
