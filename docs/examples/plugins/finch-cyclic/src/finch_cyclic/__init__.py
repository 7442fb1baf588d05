"""A mask that deals out blocks of indices in turn, and sums of exponentials by their logarithms."""

from finch_cyclic.block_cyclic_mask import BlockCyclicMask
from finch_cyclic.exponentials import log_add_exp

__all__ = ["BlockCyclicMask", "log_add_exp"]
