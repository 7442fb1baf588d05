"""Signatures live as long as a tensor or a kernel that has them."""

import gc
import weakref

from finch_core.interface.signatures import tensor_signature
from finch_levels import Dense, Element


def test_a_signature_that_nothing_has_is_forgotten() -> None:
    kept = tensor_signature(Dense(Element(0.1234)))
    gone = weakref.ref(tensor_signature(Dense(Element(0.4321))))
    gc.collect()
    assert gone() is None
    assert tensor_signature(Dense(Element(0.1234))) is kept
