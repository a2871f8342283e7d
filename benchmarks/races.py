"""Fits of classifiers on one table in turn, and beside every ratio of their times the test errors of both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from benchmarks.figures import Figure, Findings, both
from benchmarks.pairing import Clocked, Spread, Work, interleave
from benchmarks.tables import Table

OURS, PLAIN = "committee", "committee, calibrate=None"
"""As it comes, with its calibration of probabilities; and without, which is what the peers do."""


class Program(Protocol):
    """A contender in another language."""

    error: float
    """Share of the test rows that its last fit got wrong."""

    def __call__(self) -> tuple[float, float]:
        """Fit, and tell its seconds by the clock on the wall and of the processors."""
        ...


@dataclass(frozen=True)
class Target:
    """What is asked of our fit beside one peer."""

    peer: str
    faster: float
    closer: float
    """By how much our test error may be above the peer's."""


def race(
    findings: Findings,
    work: str,
    models: Mapping[str, Any],
    train: Table,
    test: Table,
    rounds: int,
    *,
    programs: Mapping[str, Program] | None = None,
    target: Target | None = None,
) -> None:
    """Fit all in turn; how many times faster ours are than each peer, as they come and without calibration."""
    programs = programs or {}
    works: dict[str, Work] = {name: partial(model.fit, *train) for name, model in models.items()}
    clocked: dict[str, Clocked] = dict(programs)
    trial = interleave(works, rounds, clocked=clocked)
    errors = {name: float(np.mean(model.predict(test[0]) != test[1])) for name, model in models.items()}
    errors |= {name: program.error for name, program in programs.items()}
    findings.record(f"{work}: fit", trial)
    for ours in (OURS, PLAIN):
        for peer in (name for name in (*models, *programs) if name not in (OURS, PLAIN)):
            findings.add(
                Figure(
                    f"{work}: fit{ours.removeprefix(OURS)}",
                    peer,
                    "x",
                    trial.ratio(peer, ours),
                    target.faster if target and (ours, peer) == (PLAIN, target.peer) else None,
                    clock="cpu",
                    wall=trial.ratio(peer, ours, "wall"),
                    quality=both("error", 100.0 * errors[ours], 100.0 * errors[peer], 2, " %"),
                )
            )
    if target:
        findings.add(
            Figure(
                f"{work}: test error above theirs",
                target.peer,
                "",
                Spread.of(errors[OURS] - errors[target.peer]),
                target.closer,
                at_least=False,
                remark=f"ours {errors[OURS]:.4f}, theirs {errors[target.peer]:.4f} on {len(test[1]):,} rows",
            )
        )
