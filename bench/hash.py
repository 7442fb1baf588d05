"""SparseHash against a hand-written open-addressing loop in C: random updates that accumulate."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from cffi import FFI

from bench.harness import compare
from finch_backend_c import toolchain
from finch_core import Tensor, _, kernel
from finch_levels import Element, SparseHash

UPDATES = 10_000_000

BY_HAND = """
#include <stdint.h>
#include <stdlib.h>

typedef struct { int64_t key; double value; } entry;

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 32) * 0x9E3779B97F4A7C15u;
    return x ^ x >> 32;
}

static entry *empty(int64_t slots)
{
    entry *table = malloc(slots * sizeof *table);
    for (int64_t k = 0; k < slots; k++) table[k] = (entry){-1, 0};
    return table;
}

int64_t accumulate(const int64_t *keys, const double *values, int64_t n)
{
    int64_t slots = 16, count = 0;
    entry *table = empty(slots);
    for (int64_t k = 0; k < n; k++) {
        uint64_t s = mix(keys[k]) & (slots - 1);
        while (table[s].key != keys[k] && table[s].key >= 0) s = (s + 1) & (slots - 1);
        table[s].value += values[k];
        if (table[s].key < 0) {
            table[s].key = keys[k];
            if (2 * ++count >= slots) {
                entry *larger = empty(2 * slots);
                for (int64_t j = 0; j < slots; j++) {
                    if (table[j].key < 0) continue;
                    uint64_t t = mix(table[j].key) & (2 * slots - 1);
                    while (larger[t].key >= 0) t = (t + 1) & (2 * slots - 1);
                    larger[t] = table[j];
                }
                free(table);
                table = larger;
                slots *= 2;
            }
        }
    }
    free(table);
    return count;
}
"""


@kernel
def accumulate(out, keys, values):
    out[...] = 0
    for k in _:
        out[keys[k]] += values[k]
    return out


def by_hand(folder: Path) -> Any:
    """The library of ``BY_HAND``, compiled with the flags of kernels."""
    compiler = toolchain.find()
    flags = (*toolchain.BASE_FLAGS, *toolchain.accepted(compiler))
    done = toolchain.run(compiler, flags, BY_HAND)
    if done.library is None:
        raise RuntimeError(done.said)
    library = folder / "by_hand.so"
    library.write_bytes(done.library)
    ffi = FFI()
    ffi.cdef("int64_t accumulate(const int64_t *, const double *, int64_t);")
    return ffi, ffi.dlopen(str(library))


def workloads(updates: int) -> Iterator[tuple[str, Any, int]]:
    """Names, keys and the number of indices: few, many and nearly as many keys as updates."""
    generator = np.random.default_rng(0)
    for share in (10_000, 100, 10, 1):
        size = max(16, updates // share)
        yield f"{size:,} keys", generator.integers(0, size, updates), size


def run(seconds: float = 3.0, updates: int = UPDATES) -> list[dict[str, Any]]:
    """A row a workload: seconds of each, and their ratio.

    SparseHash sorts its entries at the end, which the hand-written loop leaves out.
    """
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        ffi, library = by_hand(Path(folder))
        for name, keys, size in workloads(updates):
            values = np.random.default_rng(1).random(updates)
            out = Tensor(SparseHash(Element(0.0)), (size,))
            k, v = ffi.from_buffer("int64_t[]", keys), ffi.from_buffer("double[]", values)
            contenders = {
                "hand": lambda k=k, v=v: library.accumulate(k, v, updates),
                "finch": lambda out=out, keys=keys, values=values: accumulate(out, keys, values),
            }
            times = compare(contenders, seconds, at_least=3)
            hand, finch = (times[n].seconds for n in contenders)
            row = {"keys": name, "hand s": hand, "SparseHash s": finch, "ratio": finch / hand}
            rows.append({"updates": f"{updates:,}", **row})
    return rows
