"""Every truncation and every change of one byte of a small file of each kind.

Each of them is read or refused by ``FormatError``: nothing else is raised, nothing hangs, nothing
costs more memory than a file of that length can ask for. What was read is written and read again.
``python tests/parity/hostile_files.py`` tries them all, several processes at a time, and says how
many; a process that dies is a finding, with the file that killed it.
"""

from __future__ import annotations

import argparse
import gzip
import io
import itertools
import multiprocessing
import multiprocessing.connection
import os
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from finch_core import FormatError, read, write
from finch_core.runtime.validation import is_valid

MOST_MEMORY = 4 << 30
SLOWEST = 20.0


def _npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def _npz(compressed: bool, **arrays: Any) -> bytes:
    file = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(file, **arrays)
    return file.getvalue()


def _sparse(format: str) -> bytes:
    file = io.BytesIO()
    matrix = scipy.sparse.coo_array(([1.5, 2.0, 0.0], ([0, 1, 3], [1, 0, 2])), shape=(4, 4))
    found = matrix.tobsr((2, 2)) if format == "bsr" else matrix.asformat(format)
    scipy.sparse.save_npz(file, found, compressed=False)
    return file.getvalue()


def _market(header: str, body: str) -> bytes:
    return f"%%MatrixMarket {header}\n{body}".encode()


def files() -> dict[str, bytes]:
    """Small files, one of each kind, by name."""
    pairs = np.array([(1, 2.5), (True, -1.0)], np.dtype([("f0", bool), ("f1", "f8")], align=True))
    stored = {"coords": [[0, 1], [1, 2]], "data": [1.0, 2.0], "shape": [2, 3]}
    text = {
        "real.mtx": _market("matrix coordinate real general", "% c\n3 4 2\n1 2 1.5\n3 4 -2e-3\n"),
        "integer.mtx": _market("matrix coordinate integer symmetric", "3 3 2\n1 1 7\n3 2 -5\n"),
        "unsigned.mtx": _market("matrix coordinate unsigned-integer general", "2 2 1\n1 1 7\n"),
        "complex.mtx": _market("matrix coordinate complex hermitian", "2 2 1\n2 1 1.5 -2\n"),
        "pattern.mtx": _market("matrix coordinate pattern general", "2 3 2\n1 1\n2 3\n"),
        "array.mtx": _market("matrix array real general", "2 2\n1.5\n2\n-3e1\n.5\n"),
        "skew.mtx": _market("matrix array integer skew-symmetric", "3 3\n1\n2\n3\n"),
        "tensor.ttx": _market("tensor coordinate real general", "2 3 4 2\n1 1 1 1\n2 3 4 2\n"),
        "tensor-array.ttx": _market("tensor array real general", "2 1 2\n1\n2\n3\n4\n"),
        "vector.mtx": _market("vector coordinate real general", "4 1\n3 2.5\n"),
        "frostt.tns": b"# c\n1 2 3 1.5\n2 1 1 -2e0\n",
        "shape.tns": b"# shape: 2 3\n1 2 1.5\n",
    }
    packed = {
        f"{name}.gz": gzip.compress(text[name], mtime=0) for name in ("real.mtx", "frostt.tns")
    }
    return {
        **text,
        **packed,
        "array.npy": _npy(np.arange(6.0).reshape(2, 3)),
        "big-endian.npy": _npy(np.arange(3, dtype=">i2")),
        "columns.npy": _npy(np.asfortranarray(np.ones((2, 3), bool))),
        "tuples.npy": _npy(pairs),
        "array.npz": _npz(True, array=np.eye(2)),
        "coordinates.npz": _npz(False, fill_value=np.inf, **stored),
        "packed.npz": _npz(True, fill_value=np.int8(7), **stored),
        **{f"scipy-{format}.npz": _sparse(format) for format in ("csr", "bsr", "dia", "coo")},
    }


def variants(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Every truncation and every change of one byte, each with its name."""
    for stop in range(len(data)):
        yield f"the first {stop} bytes", data[:stop]
    for place, byte in itertools.product(range(len(data)), range(256)):
        if data[place] != byte:
            yield f"byte {place} as {byte}", data[:place] + bytes([byte]) + data[place + 1 :]


def drawn(data: bytes, count: int, seed: int) -> list[tuple[str, bytes]]:
    """``count`` of the variants, always the same."""
    rng = random.Random(seed)
    found = []
    for _ in range(count):
        place, byte = rng.randrange(len(data)), rng.randrange(256)
        if rng.random() < 0.2:
            found.append((f"the first {place} bytes", data[:place]))
        else:
            changed = data[:place] + bytes([byte]) + data[place + 1 :]
            found.append((f"byte {place} as {byte}", changed))
    return found


def attempt(path: Path, data: bytes) -> str:
    """``"read"`` or ``"refused"``; whatever else is raised is a finding."""
    path.write_bytes(data)
    try:
        tensor = read(path)
    except FormatError as error:
        if path.name not in str(error):
            raise AssertionError("the message does not name the file") from error
        return "refused"
    assert tensor.nstored >= 0
    assert is_valid(tensor)
    ending = "".join(part for part in path.suffixes if part != ".gz")
    if tensor.dtype.kind != "c" or ending != ".tns":
        try:
            write(path.with_name(f"again{ending}"), tensor)
        except FormatError:
            return "read"
        again = read(path.with_name(f"again{ending}"))
        assert again.shape == tensor.shape
        assert again.dtype == tensor.dtype or ending != ".npz"
    return "read"


# -- the command ----------------------------------------------------------------------------


def _work(name: str, data: bytes, start: int, stop: int, reports: Any) -> None:
    """Try some of the variants of one file, and report each that ends otherwise."""
    import resource
    import warnings

    warnings.simplefilter("error")
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    tally: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        for k, (what, changed) in enumerate(itertools.islice(variants(data), start, stop), start):
            reports.send(("at", k, what))
            begun = time.monotonic()
            try:
                tally[attempt(path, changed)] += 1
            except Exception as error:
                reports.send(("found", k, f"{what}: {type(error).__name__}: {error}"[:300]))
            if time.monotonic() - begun > SLOWEST:
                reports.send(("found", k, f"{what}: {time.monotonic() - begun:.0f} s"))
    reports.send(("done", stop, tally))


def sweep(name: str, data: bytes, stop: int) -> tuple[Counter[str], list[str]]:
    """All variants of a file, in processes that may die: tallies and findings."""
    tally, findings, start = Counter[str](), [], 0
    context = multiprocessing.get_context("spawn")
    while start < stop:
        mine, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_work, args=(name, data, start, stop, theirs))
        process.start()
        theirs.close()
        what = ""
        try:
            while True:
                kind, at, told = mine.recv()
                if kind == "at":
                    start, what = at + 1, told
                elif kind == "found":
                    findings.append(f"{name}, {told}")
                else:
                    tally += told
                    start = stop
        except EOFError:
            process.join()
        if process.exitcode:
            findings.append(f"{name}, {what}: the process ended with {process.exitcode}")
            tally["killed"] += 1
    return tally, findings


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="files to try; all of them by default")
    parser.add_argument("--processes", type=int, default=min(2, os.cpu_count() or 1))
    options = parser.parse_args()
    begun, total, findings = time.monotonic(), Counter[str](), []
    chosen = {n: d for n, d in files().items() if not options.names or n in options.names}
    jobs = [(name, data, len(data) * 256) for name, data in chosen.items()]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(options.processes) as pool:
        for (name, _, count), (tally, found) in zip(
            jobs, pool.map(lambda job: sweep(*job), jobs), strict=True
        ):
            print(f"{name}: {count} variants, {dict(tally)}", *found[:20], sep="\n  ", flush=True)
            total += tally
            findings += found
    count = sum(job[2] for job in jobs)
    seconds = time.monotonic() - begun
    print(f"{count} files, {dict(total)}, {len(findings)} findings, {seconds:.0f} s")
    return bool(findings)


if __name__ == "__main__":
    raise SystemExit(main())
