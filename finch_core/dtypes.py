"""What authors of dtypes import (public; see ``docs/public-modules.md``)."""

from finch_core.ir.dtypes import SUPPORTED
from finch_core.ir.stored_dtypes import StoredDtype

__all__ = ["SUPPORTED", "StoredDtype"]
