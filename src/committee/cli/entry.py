"""Where the command `committee` begins: it says what to install where packages of the command line are missing."""

from __future__ import annotations

import sys
from importlib.util import find_spec

NEEDED = ("typer", "rich", "polars", "jinja2", "matplotlib")
"""What the extra `cli` installs: tables are read with polars, pages are made with jinja2 and matplotlib."""


def main() -> None:
    """Run the command line."""
    try:
        missing = [package for package in NEEDED if find_spec(package) is None]
        if missing:
            print(
                f"error: the command line needs {', '.join(missing)}, not installed here: pip install"
                ' "committee[cli]", or "committee[all]" for everything',
                file=sys.stderr,
            )
            sys.exit(2)
        from committee.cli import main as command_line

        command_line.main()
    except SystemExit as ended:
        if isinstance(getattr(ended.__context__, "__cause__", None), KeyboardInterrupt):  # of which typer says nothing
            print("interrupted; no file is written", file=sys.stderr)
        raise
    except (KeyboardInterrupt, ImportError) as error:
        if not _is_of_interrupt(error):
            raise
        print("interrupted; no file is written", file=sys.stderr)
        sys.exit(130)


def _is_of_interrupt(error: BaseException | None) -> bool:
    """Whether an error is Ctrl-C, or that of an import that it has ended."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None
