"""``python -m committee``: the command line."""

from __future__ import annotations

from committee.cli.entry import main

if __name__ == "__main__":
    main()
