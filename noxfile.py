"""What CONTRIBUTING.md lists, each in an environment of its own: ``nox -l``, ``nox -s types``."""

import nox

nox.options.sessions = ["lint", "types", "tests"]


@nox.session
def lint(session: nox.Session) -> None:
    """Linting and formatting, without changes."""
    session.install("ruff")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session
def types(session: nox.Session) -> None:
    """The types of the packages; mypy has its options in pyproject.toml."""
    session.install("-e", ".[test]")
    session.run("mypy")


@nox.session(python=["3.11", "3.12", "3.13"])
def tests(session: nox.Session) -> None:
    """All tests, or those that are named: ``nox -s tests-3.12 -- tests/pure``."""
    session.install("-e", ".[test]")
    session.run("pytest", *(session.posargs or ["-n", "2"]))


@nox.session
def plugins(session: nox.Session) -> None:
    """The suites of the example plugins over all formats; the tests ask a part of the pairs."""
    session.install("-e", ".[test]")
    session.run("pytest", "tests/plugins", env={"FINCH_TESTS_SHARE": "1"})


@nox.session
def docs(session: nox.Session) -> None:
    """The site, in docs/_build/html; ``nox -s docs -- --quick`` leaves out the gallery."""
    session.install("-e", ".[docs]")
    session.run("python", "docs/build.py", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """A benchmark: ``nox -s bench -- spmv --quick``."""
    session.install("-e", ".[bench]")
    session.run("python", "-m", "bench", *session.posargs)
