"""A block-cyclic mask, and the operator ``log_add_exp``."""

from finch_cyclic.block_cyclic_mask import BlockCyclicMask
from finch_cyclic.exponentials import log_add_exp

__all__ = ["BlockCyclicMask", "log_add_exp"]
