"""``committee models``."""

from __future__ import annotations

from committee.cli.terminal import print_tables


def models() -> None:
    """List the models of --model and --models, and what they predict."""
    from committee.report.models import models_grid

    print_tables([models_grid()])
