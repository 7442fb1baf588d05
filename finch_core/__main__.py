"""``python -m finch_core``: which plugins and backends are here, and do they work?"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from finch_core.errors import FinchError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit status is 0 where all is well, else 1 (2 for a wrong command)."""
    chosen = _parser().parse_args(arguments)
    from finch_core import cli as commands

    run = {
        "plugins": commands.plugins,
        "doctor": commands.doctor,
        "cache": commands.clear_cache,
    }[chosen.command]
    try:
        report = run()
    except FinchError as error:
        print(error, file=sys.stderr)
        return 1
    print("\n".join(report.lines))
    return 0 if report.well else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m finch_core", description="The state of the house.")
    found = parser.add_subparsers(dest="command", required=True)
    found.add_parser("plugins", help="every plugin: where it is from, what it registers or why not")
    found.add_parser("doctor", help="backends, compiler, cache; compile and run a small kernel")
    cache = found.add_parser("cache", help="the kernels that are kept on disk")
    cache.add_argument("action", choices=["clear"], help="remove them all")
    return parser


if __name__ == "__main__":
    sys.exit(main())
