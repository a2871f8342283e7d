"""Newton boosting of scores on the whole table, one line or one stump at a time."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.design import Design
from committee.data.frames import TableSchema
from committee.data.number_types import F64
from committee.data.rows import Rows, scored_classes
from committee.learners.base.boosting import BoostingRun
from committee.learners.base.early_stopping import StagedLoss
from committee.learners.trees.model_tree_table import SCORE_CAP
from committee.voters.forest import Forest
from committee.voters.growing import GrowthLimits, forest_of, grower, leaf_means
from committee.voters.linear_scores import LinearScores
from committee.voters.model_forest import LinkName
from committee.voters.training_record import TrainingRecord

if TYPE_CHECKING:
    from committee.learners.base.fit_record import FitRecord, RecordedGrower

MAX_HALVINGS = 30
"""A step that overshoots is halved this often before boosting gives up."""
ROUNDING = 1e-14
"""A change of the risk below this share of it is rounding: boosting has converged."""


@dataclass(frozen=True)
class NewtonBoost:
    """Loss, steps and limits of boosted scores."""

    n_classes: int
    link: LinkName
    n_steps: int
    by_likelihood: bool
    tol: float
    max_bins: int
    threads: int

    @property
    def n_outputs(self) -> int:
        """Scores of a row: one for two classes (positive: the second), otherwise one per class."""
        return len(scored_classes(self.n_classes))

    def signs(self, labels: NDArray[np.uint16]) -> F64:
        """+1 where a row is of the output's class, -1 elsewhere, ``(n, O)``."""
        return np.where(labels[:, None] == np.array(scored_classes(self.n_classes)), 1.0, -1.0)

    def risk_of(self, f: F64, sign: F64, v: F64) -> float:
        """Mean loss of one output's scores ``(n,)`` under row weights v."""
        return float(v @ _core.newton_terms(self.link, sign * f)[2] / v.sum())


@dataclass(frozen=True, eq=False)
class Boosted:
    """A boosted score and how it came about."""

    voters: LinearScores | Forest
    """One linear score, or the stumps in the order of their steps and outputs."""
    path: NDArray[np.int32]
    """``(O, B)``: choice of every step: a design column (lines) or a column of the table (stumps); -1: a constant, -2:
    no step was taken."""
    risk: F64
    """``(O, B + 1)``: mean training loss before and after every step."""


class NewtonRun(BoostingRun):
    """Newton steps of the scores of all classes, side by side; each step is a round."""

    finished = False

    def __init__(self, boost: NewtonBoost, rows: Rows) -> None:
        self.boost: NewtonBoost = boost
        self.rows: Rows = rows

    def has_next(self) -> bool:
        """Tell whether the last round has changed anything."""
        return not self.finished

    @abstractmethod
    def votes(self, X: F64, t: int) -> F64:
        """Votes ``(n, O)`` of step t = 1, 2, ... on rows; each step is looked at once, in order."""

    @abstractmethod
    def boosted(self, n_rounds: int) -> Boosted:
        """Return the scores after the first steps."""

    def held_out_risk(self, held_out: Rows) -> StagedLoss:
        """Follow the risk of held-out rows."""
        start = np.zeros((len(held_out.labels), self.boost.n_outputs))
        return StagedLoss(lambda t: self.votes(held_out.dense, t), self._risk_of(held_out), start)

    def _risk_of(self, held_out: Rows) -> Callable[[F64], float]:
        """Risk of the rows by their scores, summed over the outputs."""
        signs = self.boost.signs(held_out.labels)

        def risk(F: F64) -> float:
            return sum(self.boost.risk_of(f, s, held_out.weights) for f, s in zip(F.T, signs.T, strict=True))

        return risk


# -- lines --------------------------------------------------------------------------------------------------


class LineRun(NewtonRun):
    """Component-wise: every step adds the line of one design column; the sum is one linear score.

    The kernel takes all steps at once. Where each is looked at they are walked again one by one, and the steps up to
    the best one are taken anew.
    """

    one_by_one = False

    def __init__(self, boost: NewtonBoost, rows: Rows, table: TableSchema) -> None:
        super().__init__(boost, rows)
        self.design: Design = Design.of_table(rows.dense, rows.weights, table, rows.room)
        self.D = rows.designed(self.design)

    def advance(self) -> None:
        """Take all steps the first time; then count one more, or all of them."""
        if not self.n_rounds:
            self.all: Boosted = self._boosted(self.boost.n_steps)
        n_steps = self.all.path.shape[1]
        self.n_rounds = self.n_rounds + 1 if self.one_by_one else n_steps
        self.finished = self.n_rounds == n_steps

    def held_out_risk(self, held_out: Rows) -> StagedLoss:
        """Follow the risk of held-out rows."""
        self.one_by_one = True
        self._held_out = self.design.matrix(held_out.dense)
        return super().held_out_risk(held_out)

    def votes(self, X: F64, t: int) -> F64:
        """Votes of the next step on the held-out rows."""
        if t == 1:
            self._steps = self._walk()
        column, intercept, slope = next(self._steps)
        return intercept + slope * np.where(column < 0, 0.0, self._held_out[:, np.maximum(column, 0)])

    def boosted(self, n_rounds: int) -> Boosted:
        """Return the scores after the first steps."""
        if n_rounds == self.all.path.shape[1]:
            return self.all
        return self._boosted(n_rounds)

    def _boosted(self, n_steps: int) -> Boosted:
        """Take so many steps from the start."""
        boost, rows, n = self.boost, self.rows, len(self.rows.labels)
        everyone, cap = np.arange(n, dtype=np.int32), SCORE_CAP[boost.link]
        intercept, coefficient, _, path, risk = _core.linear_boost(
            self.D, everyone, np.array([0, n]), rows.labels, rows.weights, boost.n_outputs, boost.link, n_steps,
            boost.tol, cap, boost.by_likelihood, True, boost.threads,
        )  # fmt: skip
        return linear_voters(boost, rows, self.design, self.D, intercept[0], coefficient[0], path[0], risk[0])

    def _walk(self) -> Iterator[tuple[NDArray[np.int32], F64, F64]]:
        """Design column, intercept and slope of every step of every output, ``(O,)`` each."""
        return _line_steps(self.boost, self.rows, self.D, self.all)


def linear_voters(
    boost: NewtonBoost,
    rows: Rows,
    design: Design,
    D: F64,
    intercept: F64,
    coefficient: F64,
    path: NDArray[np.int32],
    risk: F64,
) -> Boosted:
    """Put together the sums of the lines and how they came about, without the steps that no score has taken."""
    n, cap = len(rows.labels), SCORE_CAP[boost.link]
    class_weight: F64 = np.bincount(rows.labels, rows.weights, boost.n_classes).astype(np.float64)
    taken = max(1, int((path > -2).sum(axis=1).max()))
    path, risk = path[:, :taken].copy(), risk[:, : taken + 1].copy()
    first = D[0]  # means are taken about it, so that a column far from 0 loses no digits
    centre = first + np.average(D - first, axis=0, weights=rows.weights)
    record = TrainingRecord(rows.weights.sum(keepdims=True), centre[None], _risk_decrease(path, risk, design)[None])
    voters = LinearScores.everywhere(design, intercept, coefficient, boost.link, cap, class_weight, n, record)
    return Boosted(voters, path, risk)


def _risk_decrease(path: NDArray[np.int32], risk: F64, design: Design) -> F64:
    """Decrease of the risk by the steps on each column of the table, ``(p,)``."""
    chosen = path >= 0
    decrease = (risk[:, :-1] - risk[:, 1:])[chosen]
    return np.bincount(design.source[path[chosen]], decrease, len(design.fill)).astype(np.float64)


def _line_steps(
    boost: NewtonBoost, rows: Rows, D: F64, boosted: Boosted
) -> Iterator[tuple[NDArray[np.int32], F64, F64]]:
    """Design column, intercept and slope of every step of every output, ``(O,)`` each.

    The kernel keeps the sum of its steps alone; their columns determine the rest.
    """
    v, signs = rows.weights, boost.signs(rows.labels)
    F = np.zeros_like(signs)
    for step in range(boosted.path.shape[1]):
        column = boosted.path[:, step]
        intercept, slope = np.zeros((2, boost.n_outputs))
        for k in np.flatnonzero(column > -2).tolist():
            x = D[:, column[k]] if column[k] >= 0 else np.zeros(len(D))
            unit = float(np.abs(x).max()) or 1.0  # in which squares are numbers
            x = x / unit
            gradient, curvature, _ = _core.newton_terms(boost.link, signs[:, k] * F[:, k])
            w, response = v * curvature, signs[:, k] * gradient / curvature
            w /= w.sum()
            centre, level = np.average(x, weights=w), np.average(response, weights=w)
            spread = w @ (x - centre) ** 2
            b = w @ ((x - centre) * response) / spread if spread > 0 else 0.0
            line, _, share = shortened(boost, F[:, k], level + b * (x - centre), signs[:, k], v, boosted.risk[k, step])
            F[:, k] = line
            intercept[k], slope[k] = share * (level - b * centre), share * b / unit
        yield column, intercept, slope


def shortened(boost: NewtonBoost, f: F64, step: F64, sign: F64, v: F64, risk: float) -> tuple[F64, float, float]:
    """Scores f after a step, their mean risk, and the share of the step that was taken.

    A full Newton step may overshoot where curvatures have all but vanished: it is halved until the risk decreases.
    """
    share = 1.0
    for _ in range(MAX_HALVINGS + 1):
        after = f + share * step
        mean = boost.risk_of(after, sign, v)
        if mean <= risk * (1.0 + ROUNDING):
            break
        share *= 0.5
    return after, mean, share


# -- stumps -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Stump:
    """A regression stump of one output: what each node adds to the score, and the column it looks at."""

    output: int
    tree: _core.GrownTree
    value: F64
    column: int


class StumpScore:
    """The boosted score of one output."""

    def __init__(self, boost: NewtonBoost, growing: _core.Grower, rows: Rows, output: int) -> None:
        self.boost: NewtonBoost = boost
        self.output: int = output
        self.growing: _core.Grower | RecordedGrower = growing
        self.sign: F64 = boost.signs(rows.labels)[:, output]
        self.v = rows.weights / rows.weights.sum()
        self.f = np.zeros(len(self.v))
        self.risks: list[float] = [boost.risk_of(self.f, self.sign, self.v)]
        self.ended = False

    def step(self) -> Stump:
        """Grow the next stump; one that adds nothing, as any later one would, if the risk does not decrease."""
        gradient, curvature, _ = _core.newton_terms(self.boost.link, self.sign * self.f)
        w, z = self.v * curvature, self.sign * gradient / curvature
        tree = self.growing.grow_targets(z, w, None, 0)
        leaf = tree.leaf_of_row
        value = leaf_means(leaf, len(tree.feature), w, z)
        tree.forget_rows()
        f, risk, share = shortened(self.boost, self.f, value[leaf], self.sign, self.v, self.risks[-1])
        decrease = self.risks[-1] - risk
        if decrease <= ROUNDING * risk or decrease < self.boost.tol or np.abs(f).max() > SCORE_CAP[self.boost.link]:
            self.ended = True
            return Stump(self.output, tree, np.zeros_like(value), -2)
        self.f = f
        self.risks.append(risk)
        return Stump(self.output, tree, share * value, int(tree.feature[0]))


class StumpRun(NewtonRun):
    """Every step adds a regression stump of the working response to each score; missing values learn their side.

    Parameters
    ----------
    boost, rows, table
        As for `LineRun`.
    """

    def __init__(self, boost: NewtonBoost, rows: Rows, table: TableSchema) -> None:
        super().__init__(boost, rows)
        binned = rows.binned(table, boost.max_bins, boost.threads)
        growing = grower(binned, "squared_error", boost.n_classes, GrowthLimits(max_depth=1), boost.threads)
        self.binned = binned
        self.scores: list[StumpScore] = [StumpScore(boost, growing, rows, k) for k in range(boost.n_outputs)]
        self.rounds: list[list[Stump]] = []

    def keep(self, record: FitRecord) -> None:
        """As `BoostingRun.keep`: the stumps."""
        from committee.learners.base.fit_record import RecordedGrower  # few fits have a checkpoint

        for score in self.scores:
            score.growing = RecordedGrower(score.growing, self.binned, record)

    def advance(self) -> None:
        """Grow a stump for each score that has not ended."""
        stumps = [score.step() for score in self.scores if not score.ended]
        # a committee needs a voter, even one that adds nothing
        stumps = [stump for stump in stumps if stump.column > -2 or not self.rounds]
        self.finished: bool = not stumps
        if stumps:
            self.rounds.append(stumps)
            self.n_rounds += 1

    def votes(self, X: F64, t: int) -> F64:
        """Votes of step t on rows."""
        return self._voters(self.rounds[t - 1]).tally(X)

    def boosted(self, n_rounds: int) -> Boosted:
        """Return the scores after the first steps."""
        rounds = self.rounds[:n_rounds]
        path = np.full((len(self.scores), len(rounds)), -2, dtype=np.int32)
        for b, stumps in enumerate(rounds):
            for stump in stumps:
                path[stump.output, b] = stump.column
        last = [len(score.risks) - 1 for score in self.scores]
        risk = np.array(
            [[s.risks[min(b, end)] for b in range(len(rounds) + 1)] for s, end in zip(self.scores, last, strict=True)]
        )
        return Boosted(self._voters([stump for stumps in rounds for stump in stumps]), path, risk)

    def _voters(self, stumps: list[Stump]) -> Forest:
        """Make voters of stumps; each adds to the score of its own output alone."""
        K = self.boost.n_outputs
        value = [stump.value[:, None] * (np.arange(K) == stump.output) for stump in stumps]
        forest = forest_of([stump.tree for stump in stumps], self.binned.bins, self.boost.n_classes, value=value)
        # a regression tree's sums are its weight and its weighted response
        return replace(forest, weight=np.concatenate([stump.tree.sums[:, 0] for stump in stumps]))
