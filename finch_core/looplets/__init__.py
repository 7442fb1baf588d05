"""The looplets of the paper (Figure "The looplet language"), one file each, and their lowering."""

from finch_core.interface.looplet import Looplet, Precedence
from finch_core.interface.run import Part, Run, as_looplet
from finch_core.looplets.accept_run import AcceptRun
from finch_core.looplets.endless import endless
from finch_core.looplets.invariant import repetition
from finch_core.looplets.jumper import Jumper
from finch_core.looplets.lookup import Lookup
from finch_core.looplets.packed import Packed
from finch_core.looplets.region import Region
from finch_core.looplets.sequence import Phase, Sequence
from finch_core.looplets.spike import Spike
from finch_core.looplets.stepper import Stepper
from finch_core.looplets.switch import Switch
from finch_core.looplets.thunk import Thunk

__all__ = [
    "AcceptRun",
    "Jumper",
    "Lookup",
    "Looplet",
    "Packed",
    "Part",
    "Phase",
    "Precedence",
    "Region",
    "Run",
    "Sequence",
    "Spike",
    "Stepper",
    "Switch",
    "Thunk",
    "as_looplet",
    "endless",
    "repetition",
]
