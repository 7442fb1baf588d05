"""What the core calls: the methods of ``interface.display.Display``."""

from __future__ import annotations

from finch_show.explore import explore
from finch_show.tables import stats_html
from finch_show.tensors import tensor_html

__all__ = ["explore", "stats_html", "tensor_html"]
