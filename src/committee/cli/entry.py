"""Entry point of the command ``committee``: check that the packages of the command line are installed, then run it."""

from __future__ import annotations

import sys
from importlib.util import find_spec

NEEDED = ("typer", "rich", "polars", "jinja2", "matplotlib")
"""Packages of the extra `cli`: polars reads tables, jinja2 and matplotlib make pages."""


def main() -> None:
    """Run the command line."""
    try:
        missing = [package for package in NEEDED if find_spec(package) is None]
        if missing:
            _end_without(missing)
        if sys.argv[1:2] == ["predict"]:
            from committee.cli.deferred_imports import defer_imports

            defer_imports()
        from committee.cli import main as command_line

        command_line.main()
    except SystemExit as ended:
        if isinstance(getattr(ended.__context__, "__cause__", None), KeyboardInterrupt):  # typer prints nothing then
            print("interrupted; no file is written", file=sys.stderr)
        raise
    except (KeyboardInterrupt, ImportError) as error:
        if not _is_of_interrupt(error):
            raise
        print("interrupted; no file is written", file=sys.stderr)
        sys.exit(130)


def _end_without(missing: list[str]) -> None:
    """Exit with the line that installs the command line; ``--version`` works without it."""
    if sys.argv[1:] == ["--version"]:
        from importlib.metadata import version

        print(f"committee {version('committee')}")
        sys.exit(0)
    print(
        f"error: the command line requires {', '.join(missing)} (not installed); install it with:"
        ' pip install "committee[cli]"',
        file=sys.stderr,
    )
    sys.exit(2)


def _is_of_interrupt(error: BaseException | None) -> bool:
    """Return whether an error is Ctrl-C, or an import error that Ctrl-C caused."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None
