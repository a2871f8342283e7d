"""Scores of the held-out rows of trials, where a scorer chooses settings in place of the loss."""

from __future__ import annotations

from typing import Any

import numpy as np

from committee.data.number_types import F64
from committee.learners.base.early_stopping import HeldOutScore, HeldOutVotes
from committee.learners.gradient.rounds import GradientRun
from committee.learners.gradient.validation import PartedRows

N_BLOCKS = 10
"""Blocks of held-out rows that a jackknife leaves out in turn."""
TIE = 1e-9
"""Weight of the loss beside the score, both in units of those before the first round."""


class TrialScore:
    """Minus the score of the held-out rows of a run, by the first scorer of `scoring`; `classes` as in `HeldOutScore`.

    `keep` stores the rows' scores after the present round, from which `pseudo_values` follow.
    """

    def __init__(self, scoring: Any, parted: PartedRows, run: GradientRun, classes: Any) -> None:
        several = isinstance(scoring, list | tuple) and bool(scoring)
        self._scoring, self._classes, self._run = scoring[0] if several else scoring, classes, run
        self._places, self._target = parted.held_target(run.target.loss)
        self.rows = parted.held_rows()
        self._unit: float | None = None
        self._score = self._score_of(self.rows, lambda: np.atleast_2d(run.scored.scores(self._places)).T)

    def _score_of(self, rows: Any, scores: Any) -> HeldOutScore:
        run = self._run
        votes = HeldOutVotes(
            lambda t: scores(), lambda t: float(np.abs(run.weights(0, t)).sum()) + 1.0, run.target.loss.link
        )
        return HeldOutScore(self._scoring, rows, votes, self._classes)

    def __call__(self) -> float:
        """Return minus the score after the present round, plus a billionth for the loss, which decides ties."""
        value, loss = self._score(self._run.n_rounds), self._target.mean_loss(self._run.scored.scores(self._places))
        if self._unit is None:
            self._unit = TIE * abs(value) / loss if loss > 0.0 else 0.0
        return value + self._unit * loss

    def keep(self) -> None:
        self._kept = np.atleast_2d(self._run.scored.scores(self._places)).T.copy()

    def pseudo_values(self, whole: float) -> F64:
        """Jackknife pseudo-values of the value `whole` that was kept, one for each block of rows, ``(B,)``.

        With B blocks and the value v_b without block b they are B v - (B - 1) v_b; their mean deviates from v by the
        jackknife's bias, and has its standard error.
        """
        n = len(self.rows)
        block = np.arange(n) % min(N_BLOCKS, n)
        n_blocks = int(block.max()) + 1
        if n_blocks == 1:
            return np.full(1, whole)
        values = []
        for number in range(n_blocks):
            left = block != number
            kept = self._kept[left]
            values.append(self._score_of(self.rows.take(left), lambda kept=kept: kept)(0))
        return np.asarray(n_blocks * whole - (n_blocks - 1) * np.array(values))
