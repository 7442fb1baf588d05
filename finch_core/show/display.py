"""What the core calls: the methods of ``interface.display.Display``."""

from __future__ import annotations

from finch_core.show.explore import explore
from finch_core.show.plans import plan_html
from finch_core.show.tables import stats_html
from finch_core.show.tensors import tensor_html

__all__ = ["explore", "plan_html", "stats_html", "tensor_html"]
