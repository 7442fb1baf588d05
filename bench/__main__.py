"""The command line of the benchmarks."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from bench.harness import single_thread, table

RACES = ("spmv", "spgemm", "graphs", "images", "tensors", "programs")
TABLES = (
    "compile",
    "hash",
    "merge",
    "stencils",
    "workspace",
    "passes",
    "growth",
    "lowering",
    "arrays",
    "calls",
    "plans",
    "files",
    "parallel",
    "cluster",
)


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("command", choices=[*RACES, "all", *TABLES, "report"])
    parser.add_argument("--peers", nargs="*", help="the peers to race against; all if not given")
    parser.add_argument("--quick", action="store_true", help="small data, less time for each row")
    parser.add_argument("--data", type=Path, help="a folder of real data too (see bench/data.py)")
    parser.add_argument("--check", action="store_true", help="compare the results, time nothing")
    parser.add_argument("--seconds", type=float, help="time for each row (2, quick: 0.5)")
    parser.add_argument("--updates", type=int, default=10_000_000, help="hash: random updates")
    parser.add_argument("--repeats", type=int, default=5, help="compile: processes of each kind")
    parser.add_argument("--only", help="passes: the name of one; cluster: a part of it")
    parser.add_argument(
        "--json", type=Path, nargs="+", help="write the numbers here (report: read)"
    )
    parser.add_argument("--markdown", type=Path, help="write the tables here, and plots")
    options = parser.parse_args(given)
    if options.seconds is None:
        options.seconds = 0.5 if options.quick else 2.0
    return options


def raced(command: str, options: argparse.Namespace, systems: Any) -> Iterator[dict[str, Any]]:
    """The rows of one command, with a line of progress for each."""
    from tqdm import tqdm

    races = import_module(f"bench.{command}").races(systems, options.data, options.quick)
    with tqdm(races, desc=command, unit="race", file=sys.stderr, disable=None) as progress:
        for race in progress:
            progress.set_postfix_str(f"{race.work} {race.name}")
            if options.check:
                race.check()
            else:
                yield race.run(options.seconds)


def run_races(options: argparse.Namespace) -> None:
    from bench import lines, peers, report

    systems, missing = peers.load(options.peers)
    for name, why in missing.items():
        print(f"{name} does not take part: {why}")
    result: dict[str, Any] = {
        "machine": report.machine(systems),
        "missing": missing,
        "quick": options.quick,
        "races": {},
    }
    for command in RACES if options.command == "all" else (options.command,):
        result["races"][command] = found = []
        try:
            for row in raced(command, options, systems):
                found.append(row)
        except KeyboardInterrupt:  # what there is so far is reported
            print(f"{command}: interrupted after {len(found)} races")
        if options.check:
            print(f"{command}: all results agree")
        else:
            kept(result, options)
            print("\n" + report.text(command, result["races"][command]))
    if options.command == "all" and not options.check:
        from bench import compiling

        result["compile"] = compiling.run(2 if options.quick else options.repeats)
        print("\n\n".join(map(table, result["compile"])))
    result["lines"] = lines.table(systems)
    if not options.check:
        written(result, options)


def kept(result: dict[str, Any], options: argparse.Namespace) -> None:
    """What there is so far in the file that was asked for, whatever comes after it."""
    from bench import report

    if options.json is not None:
        options.json[0].write_text(json.dumps(report.rounded(result)) + "\n")


def written(result: dict[str, Any], options: argparse.Namespace) -> None:
    """What the paper said beside what was found, and the files that were asked for."""
    from bench import report

    print("\n" + report.beside_the_paper_text(result))
    print("\nlines of code\n" + table(result["lines"]))
    kept(result, options)
    if options.markdown is not None:
        report.write(result, options.markdown)


def run_report(options: argparse.Namespace) -> None:
    """The page and the plots from the numbers of earlier runs of different commands."""
    from bench import report

    if options.json is None or options.markdown is None:
        raise SystemExit("report: --json FILE to read and --markdown FILE to write")
    found = [json.loads(path.read_text()) for path in options.json]
    runs = [run if "races" in run else {"races": {}, "compile": run} for run in found]
    report.write(report.merged(runs, RACES), options.markdown)


def tables(options: argparse.Namespace) -> list[list[dict[str, Any]]]:
    """The tables of the commands that are no races."""
    if options.command == "hash":
        from bench import hash as hashing

        return [hashing.run(options.seconds, options.updates)]
    if options.command == "merge":
        from bench import merge

        return [merge.run(options.seconds, 10 if options.quick else 1)]
    if options.command == "stencils":
        from bench import stencils

        return [stencils.run(options.seconds, 300 if options.quick else 1000)]
    if options.command == "workspace":
        from bench import workspace

        return [workspace.run(options.seconds)]
    if options.command == "passes":
        from bench import passes

        return [passes.run(options.seconds, options.only)]
    if options.command == "growth":
        from bench import growth

        return [growth.run(growth.SIZES[:-1] if options.quick else growth.SIZES)]
    if options.command == "plans":
        from bench import plans

        return plans.run(options.seconds, options.quick, options.data)
    if options.command == "arrays":
        from bench import arrays

        rows = arrays.run(options.seconds, arrays.SIZES[:2] if options.quick else arrays.SIZES)
        return [rows, arrays.means(rows)]
    if options.command == "calls":
        from bench import calls

        return calls.run(0.15, 1 if options.quick else 3)
    if options.command == "files":
        from bench import files

        return [[row] for row in files.run(500_000 if options.quick else 5_000_000)]
    if options.command == "cluster":
        from bench import cluster

        return cluster.run(2_000_000 if options.quick else 64_000_000, options.only)
    if options.command == "parallel":
        from bench import parallel, spans

        scale = 0.1 if options.quick else 1.0
        return [module.run(options.seconds, scale) for module in (parallel, spans)]
    if options.command == "lowering":
        from bench import lowering

        return lowering.run()
    from bench import compiling

    return compiling.run(options.repeats)


def main(given: list[str] | None = None) -> None:
    """Run a command; exits with a remedy where a module of the extra ``bench`` is missing."""
    try:
        run(arguments(given))
    except ModuleNotFoundError as error:
        raise SystemExit(
            f"the benchmarks need the module {error.name!r}: pip install -e '.[bench]'"
        ) from error


def run(options: argparse.Namespace) -> None:
    single_thread()
    os.environ["FINCH_DRAFTS"] = "0"  # what is measured is what runs in the end
    if options.command in (*RACES, "all"):
        return run_races(options)
    if options.command == "report":
        return run_report(options)
    from finch_core.runtime.waiting import waiting

    with waiting(options.command):
        found = tables(options)
    print("\n\n".join(map(table, found)))
    if options.json is not None:
        options.json[0].write_text(json.dumps(found, indent=1) + "\n")
    if options.markdown is not None and options.command == "arrays":
        from bench import arrays, report

        options.markdown.write_text(arrays.page(found[0], report.machine({})))


if __name__ == "__main__":
    main()
