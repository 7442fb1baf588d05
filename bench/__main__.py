"""The command line of the benchmarks."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from bench.harness import single_thread, table


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    spmv = commands.add_parser("spmv", help="SpMV against scipy.sparse, single-threaded")
    spmv.add_argument("--data", type=Path, help="a folder of .mtx.gz files to use instead")
    spmv.add_argument("--seconds", type=float, default=1.0, help="time for each matrix")
    compiling = commands.add_parser("compile", help="import, compile, second process, warm call")
    compiling.add_argument("--repeats", type=int, default=5, help="processes started of each kind")
    hashing = commands.add_parser("hash", help="SparseHash against an open-addressing loop in C")
    hashing.add_argument("--updates", type=int, default=10_000_000, help="random updates")
    workspace = commands.add_parser("workspace", help="a SparseByteMap declared for each row")
    for command in (hashing, workspace):
        command.add_argument("--seconds", type=float, default=1.0, help="time for each row")
    for command in (spmv, compiling, hashing, workspace):
        command.add_argument("--json", type=Path, help="also write the numbers to this file")
    return parser.parse_args()


def measured(options: argparse.Namespace) -> list[list[dict[str, Any]]]:
    if options.command == "spmv":
        from bench import spmv

        return [spmv.run(options.data, options.seconds)]
    if options.command == "hash":
        from bench import hash as hashing

        return [hashing.run(options.seconds, options.updates)]
    if options.command == "workspace":
        from bench import workspace

        return [workspace.run(options.seconds)]
    from bench import compiling

    return compiling.run(options.repeats)


def main() -> None:
    options = arguments()
    single_thread()
    tables = measured(options)
    print("\n\n".join(map(table, tables)))
    if options.json is not None:
        options.json.write_text(json.dumps(tables, indent=1) + "\n")


if __name__ == "__main__":
    main()
