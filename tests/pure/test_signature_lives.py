"""Signatures live as long as a tensor or a kernel that has them."""

import gc
import subprocess
import sys
import weakref

from finch_core.interface.signatures import tensor_signature, unseen_signature
from finch_levels import Dense, Element


def test_a_signature_that_nothing_has_is_forgotten() -> None:
    kept = tensor_signature(Dense(Element(0.1234)))
    gone = weakref.ref(tensor_signature(Dense(Element(0.4321))))
    gc.collect()
    assert gone() is None
    assert tensor_signature(Dense(Element(0.1234))) is kept


def test_an_unseen_format_has_the_signature_of_all_equal_ones() -> None:
    first = unseen_signature(Dense(Element(0.5678)))
    assert unseen_signature(Dense(Element(0.5678))) is first
    assert tensor_signature(Dense(Element(0.5678))) is first
    assert tensor_signature(Dense(Element(-0.0))) is not unseen_signature(Dense(Element(0.0)))
    known = tensor_signature(Dense(Element(0.8765)))
    assert unseen_signature(Dense(Element(0.8765))) is known


def test_no_signature_is_compared_as_python_ends() -> None:
    program = """
import atexit
atexit.register(lambda: print(len(signatures._interned)))  # runs after those registered later
from finch_core.interface import signatures
from finch_levels import Element
kept = signatures.tensor_signature(Element(0.5))
print(len(signatures._interned))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    before, after = map(int, done.stdout.split())
    assert (before > 0, after) == (True, 0)
