"""``python -m finch_core``: report plugins, backends and the cache; explore a kernel."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from finch_core.errors import FinchError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status: 0, or 1 if it found a problem (argparse exits with 2
    for a wrong command)."""
    chosen = _parser().parse_args(arguments)
    from finch_core import cli as commands

    known: dict[str, Callable[[], commands.Report]] = {
        "plugins": commands.plugins,
        "doctor": commands.doctor,
        "cache": commands.clear_cache,
        "explore": lambda: commands.explore(chosen.kernel, chosen.values, chosen.output),
        "new-plugin": lambda: commands.new_plugin(chosen.name, chosen.folder),
    }
    try:
        report = known[chosen.command]()
    except (FinchError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    print("\n".join(report.lines))
    return 0 if report.well else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m finch_core", description="Report plugins, backends, the cache; explore kernels."
    )
    found = parser.add_subparsers(dest="command", required=True)
    found.add_parser("plugins", help="list plugins: what each registers, or why it failed")
    found.add_parser("doctor", help="check backends, compiler and cache; run a small kernel")
    cache = found.add_parser("cache", help="manage the compiled kernels on disk")
    cache.add_argument("action", choices=["clear"], help="remove all compiled kernels")
    explore = found.add_parser("explore", help="write a page that shows how a kernel becomes code")
    explore.add_argument("kernel", help="FILE.py:NAME, or MODULE:NAME")
    explore.add_argument("values", nargs="*", help="its arguments, as expressions in the file")
    explore.add_argument("-o", "--output", default=None, help="the page (default: NAME.html)")
    new = found.add_parser("new-plugin", help="write a package with a level format to start from")
    new.add_argument("name", help="the name of the distribution, as in finch-ragged")
    new.add_argument("folder", nargs="?", default=".", help="where to put it (default: here)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
