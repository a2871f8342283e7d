"""Short fits that choose the trees of a gradient booster, its draws of rows and columns, and its learning rate."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from committee.data.number_types import F64, is_number, is_whole
from committee.data.rows import Rows, TargetRows
from committee.learners.base.early_stopping import EarlyStopping, HeldOutScore, HeldOutVotes
from committee.learners.base.row_sampling import RowUnits
from committee.learners.gradient.rounds import GradientRun
from committee.learners.gradient.target import PartedRows
from committee.voters.growing import features_per_tree_and_node

TRIAL_RATE, PATIENCE, PATIENCE_WITH_RIVAL = 0.4, 10, 5
TRIAL_ROUNDS, FEW_TRIAL_ROUNDS = 150, 75  # with "auto" rounds, and with 200 rounds or fewer
N_PARTS = 4  # A run of a trial is trained on three of four parts of the rows, and evaluated on the other
RUNS_BY_ROWS = ((1_000, 4), (5_000, 2), (math.inf, 1))
MANY_CELLS = 2_000_000  # from as many on, 2 runs at most: on wide tables trials take a large part of the time
# best rounds of a trial up to which one more takes steps FINER times smaller: on tables of many more columns than rows
# a few large steps fit all rows, and no round is best, though small steps gain much
FEW_ROUNDS, FINER = 5, 4
# rows times classes, and rows, from which trials take a sample, and "auto" rounds are fewer
MANY_SCORES, MANY_ROWS = 400_000, 50_000
SAMPLED_SCORES, SAMPLED_ROWS = 200_000, 20_000  # rows times classes of that sample, and its least rows
STEP_BY_ROWS = 0.38  # the best total step grows with this power of the rows
LARGEST_RATE = 0.5
FEWEST_ROUNDS, MOST_ROUNDS = 200, 1000
WITHOUT_TRIALS = 0.1  # rate where there are no trials: held-out rows end the run, or there are too few rows
ERRORS = 2.0  # standard errors by which the held-out loss of other settings must be lower
SHARE_OF_LOSS = 0.02  # by which the loss must be lower without draws, as they harm few large steps more
FEW_ROWS = 500  # fewer have no trials of more leaves
ROWS_OF_ROUND, FEATURES_OF_NODE = 0.7, 0.5  # shares that "auto" draws
DOUBLINGS = 2  # of the number of leaves in trials
LEAVES_BY_ROWS = ((50_000, 63), (10_000, 31), (0, 15))  # least rows, and leaves: docs/defaults.md
N_BLOCKS = 10  # of held-out rows, which a jackknife leaves out in turn
TIE = 1e-9  # weight of the loss beside the score, both in units of those before the first round


def leaves_by_rows(n: float) -> int:
    return next(leaves for rows, leaves in LEAVES_BY_ROWS if n >= rows)


def most_leaves(n: float) -> int:
    return (leaves_by_rows(n) + 1 << DOUBLINGS) - 1  # after all doublings


@dataclass(frozen=True)
class RoundSettings:
    max_leaf_nodes: int  # 0: any number
    subsample: float
    max_features: int  # of a node; 0: all

    @classmethod
    def of(cls, learner: Any, rows: Rows | TargetRows, earlier: Any, screened: int | None) -> tuple[int, RoundSettings]:
        node = FEATURES_OF_NODE if learner.max_features == "auto" else learner.max_features
        of_tree = screened if learner.max_features_tree == "auto" else learner.max_features_tree
        of_tree, of_node = features_per_tree_and_node(of_tree, node, rows.X.shape[1])
        leaves = leaves_by_rows(rows.count) if learner.max_leaf_nodes == "auto" else learner.max_leaf_nodes or 0
        share = ROWS_OF_ROUND if learner.subsample == "auto" else learner.subsample
        found: dict[str, Any] = {"max_leaf_nodes": leaves, "subsample": share, "max_features": of_node}
        for name in found:
            if earlier is not None and getattr(learner, name) == "auto":
                found[name] = getattr(learner, f"{name}_", found[name])  # files of earlier versions have none
        if found["max_features"]:  # the earlier fit may have had other numbers of columns of a tree
            found["max_features"] = of_node
        return of_tree, cls(**found)

    def others(self, learner: Any, rows: Rows | TargetRows) -> tuple[RoundSettings, bool]:
        share = 1.0 if learner.subsample == "auto" else self.subsample
        drawn = learner.max_features != "auto" or learner.feature_weights is not None
        without_draws = replace(self, subsample=share, max_features=self.max_features if drawn else 0)
        return without_draws, learner.max_leaf_nodes == "auto" and rows.count >= FEW_ROWS


# begins a run without the held-out rows, with a learning rate and settings
Trial: TypeAlias = Callable[[PartedRows, float, RoundSettings], GradientRun]


@dataclass(frozen=True, eq=False)
class TrialResult:
    """Held-out losses of runs with learning rate `step` * `TRIAL_RATE`."""

    settings: RoundSettings
    curve: list[float]  # mean loss after 0, 1, ... rounds
    losses: F64  # of each held-out row, or pseudo-value of each block of rows
    weights: F64
    step: float = 1.0

    @property
    def rounds(self) -> float:
        """Best number of rounds, in rounds of `TRIAL_RATE`."""
        return max(0.5, float(np.argmin(self.curve))) * self.step

    def gain_on(self, other: TrialResult) -> tuple[float, float]:
        """Return the mean of the other's losses minus these, and the standard error of this difference."""
        difference, total = other.losses - self.losses, self.weights.sum()
        mean = float(self.weights @ difference / total)
        return mean, float(np.sqrt(self.weights @ (difference - mean) ** 2) / total)


@dataclass(frozen=True)
class Pace:
    """Rounds T and learning rate a of a fit, from the best total step a T of a trial."""

    more_step: float  # factor of the total step: the fit has more rows than the trials
    rate: float  # of "auto" rounds, where their number is not at a bound
    fewest: int = FEWEST_ROUNDS  # least number of "auto" rounds

    @classmethod
    def of(cls, n_classes: int | None, one_in: int) -> Pace:
        if n_classes is None:
            return NUMBERS
        return CLASSES if one_in == 1 else cls(CLASSES.more_step * one_in**STEP_BY_ROWS, 0.25, FEWEST_ROUNDS // 2)

    def total_step(self, trial: TrialResult) -> float:
        return self.more_step * TRIAL_RATE * trial.rounds

    def most_rounds(self, trial: TrialResult) -> int:
        return min(MOST_ROUNDS, max(self.fewest, round(self.total_step(trial) / self.rate)))

    def learning_rate(self, trial: TrialResult, n_estimators: int) -> float:
        return min(LARGEST_RATE, self.total_step(trial) / n_estimators)

    def most_trial_rounds(self, n_estimators: int | None) -> int:
        if n_estimators is None:
            return TRIAL_ROUNDS
        largest = math.ceil(LARGEST_RATE * n_estimators / (self.more_step * TRIAL_RATE))  # more lead to the same rate
        # where the best total step takes many rounds, few of them would take steps that are too large
        few = max(FEW_TRIAL_ROUNDS, n_estimators * FEW_TRIAL_ROUNDS // FEWEST_ROUNDS)
        return min(TRIAL_ROUNDS, few, max(largest, PATIENCE))


CLASSES, NUMBERS = Pace(1.2, 0.1), Pace(1.8, 0.06)


class TrialScore:
    """Minus the score of a run's held-out rows, plus `TIE` of the loss."""

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
        value, loss = self._score(self._run.n_rounds), self._target.mean_loss(self._run.scored.scores(self._places))
        if self._unit is None:
            self._unit = TIE * abs(value) / loss if loss > 0.0 else 0.0
        return value + self._unit * loss

    def keep(self) -> None:
        self._kept = np.atleast_2d(self._run.scored.scores(self._places)).T.copy()

    def pseudo_values(self, whole: float) -> F64:
        """Return jackknife pseudo-values of the value `whole` over blocks of rows, ``(B,)``."""
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


def one_row_in(n: float, n_classes: int | None) -> int:
    """Return k if trials take one row in k."""
    if n_classes is None or n_classes < 3 or n < MANY_ROWS or n * n_classes < MANY_SCORES:
        return 1
    return max(1, min(math.ceil(n * n_classes / SAMPLED_SCORES), int(n / SAMPLED_ROWS)))


def rows_of_trials(rows: Rows | TargetRows, units: RowUnits) -> list[PartedRows]:
    part = units.parts(N_PARTS, rows.class_numbers, rows.group)  # stratified by class; rare classes are in none
    held = [mask for k in range(N_PARTS) if (mask := part == k).any()]
    most = next(runs for fewer, runs in RUNS_BY_ROWS if rows.count < fewer)
    if rows.count * rows.X.shape[1] >= MANY_CELLS:
        most = min(most, 2)
    return [PartedRows(rows, units, each) for each in held[:most]]


def tried(
    parted: list[PartedRows],
    trial: Trial,
    most: int,
    settings: RoundSettings,
    rival: TrialResult | None = None,
    scored: Callable[[PartedRows, GradientRun], TrialScore] | None = None,
    step: float = 1.0,
) -> TrialResult:
    """Return held-out losses of runs of at most `most` rounds, one run for each of `parted`."""
    runs = [trial(rows, TRIAL_RATE * step, settings) for rows in parted]
    scores = [scored(rows, run) for rows, run in zip(parted, runs, strict=True)] if scored is not None else []
    sizes = np.array([one.rows.weights.sum() for one in scores])
    held_out = [rows.held_target(run.target.loss) for rows, run in zip(parted, runs, strict=True)]
    weights = np.concatenate([np.ones(len(rows)) if target.w is None else target.w for rows, target in held_out])
    best: list[F64] = []

    def loss_after(_: int) -> float:
        if scores:
            losses, shares = np.array([one() for one in scores]), sizes
        else:
            each = [target.losses(run.scored.scores(rows)) for run, (rows, target) in zip(runs, held_out, strict=True)]
            losses, shares = np.concatenate(each), weights / weights.sum()
        loss = float(np.average(losses, weights=shares))
        if loss < min(stopping.losses, default=np.inf):
            best[:] = [losses]
            for one in scores:
                one.keep()
        return loss

    stopping = EarlyStopping(loss_after, PATIENCE)
    stopping.first = 0
    stopping.follow(0)
    for t in range(1, most + 1):
        going = [run for run in runs if run.has_next()]
        for run in going:
            run.advance()
        if not going or stopping.follow(t):
            break
        if rival is not None and t >= PATIENCE_WITH_RIVAL and min(stopping.losses) >= min(rival.curve[: t + 1]):
            break
    if not scores:
        return TrialResult(settings, stopping.losses, best[0], weights, step)
    values = [one.pseudo_values(value) for one, value in zip(scores, best[0].tolist(), strict=True)]
    shares = [np.full(len(each), size) for each, size in zip(values, sizes / sizes.mean(), strict=True)]
    return TrialResult(settings, stopping.losses, np.concatenate(values), np.concatenate(shares), step)


def results_of_trials(
    parted: list[PartedRows],
    trial: Trial,
    most: int,
    first: RoundSettings,
    without_draws: RoundSettings,
    more_leaves: bool,
    scored: Callable[[PartedRows, GradientRun], TrialScore] | None = None,
) -> tuple[TrialResult, list[TrialResult]]:
    """Return the result of the chosen settings, and all results in the order of trial."""
    best = tried(parted, trial, most, first, None, scored)
    results = [best]

    def gains(settings: RoundSettings, least: float = 0.0) -> bool:
        nonlocal best
        results.append(tried(parted, trial, most, settings, best, scored))
        gain, error = results[-1].gain_on(best)
        if is_better := gain > max(ERRORS * error, least):
            best = results[-1]
        return is_better

    if without_draws != first:
        gains(without_draws, SHARE_OF_LOSS * min(best.curve))
    for _ in range(DOUBLINGS if more_leaves else 0):
        if not gains(replace(best.settings, max_leaf_nodes=2 * best.settings.max_leaf_nodes + 1)):
            break
    if best.rounds <= FEW_ROUNDS:
        results.append(tried(parted, trial, 2 * FEW_ROUNDS * FINER, best.settings, None, scored, 1.0 / FINER))
        if min(results[-1].curve) < min(best.curve):
            best = results[-1]
    return best, results


def table_of_trials(results: list[TrialResult]) -> dict[str, list[float]]:
    gains = [one.gain_on(results[0]) for one in results]
    return {
        "max_leaf_nodes": [one.settings.max_leaf_nodes for one in results],
        "subsample": [one.settings.subsample for one in results],
        "max_features": [one.settings.max_features for one in results],
        "rounds": [one.rounds for one in results],
        "loss": [min(one.curve) for one in results],
        "gain": [gain for gain, _ in gains],
        "standard_error": [error for _, error in gains],
    }


def check_chosen(learner: Any) -> None:
    checks: dict[str, Callable[[Any], bool]] = {
        "learning_rate_": lambda rate: is_number(rate) and 0.0 < rate < math.inf,
        **{f"{name}_": check for name, check in _checks_of_settings(learner.table_.n_features).items()},
    }
    for name, check in checks.items():
        value = getattr(learner, name, None)
        if hasattr(learner, name) and not check(value):  # files of earlier versions have none
            raise ValueError(f"{name} is {value!r}, which no fit chooses")
    if (trials := getattr(learner, "trials_", None)) is not None:
        _check_trials(trials, learner.table_.n_features)


def _checks_of_settings(n_features: int) -> dict[str, Callable[[Any], bool]]:
    return {
        "max_leaf_nodes": lambda leaves: is_whole(leaves) and 0 <= leaves < 2**31 and leaves != 1,
        "subsample": lambda share: is_number(share) and 0.0 < share <= 1.0,
        "max_features": lambda columns: is_whole(columns) and 0 <= columns <= n_features,
    }


def _check_trials(trials: Any, n_features: int) -> None:
    checks: dict[str, Callable[[Any], bool]] = {
        **_checks_of_settings(n_features),
        "rounds": lambda rounds: is_number(rounds) and 0.0 < rounds < math.inf,
        **dict.fromkeys(("loss", "gain", "standard_error"), lambda value: type(value) is float),
    }
    if type(trials) is not dict or list(trials) != list(checks) or {type(each) for each in trials.values()} != {list}:
        raise ValueError(f"trials_ must be null, or lists named {', '.join(checks)}")
    if len({len(each) for each in trials.values()}) != 1 or not trials["loss"]:
        raise ValueError("trials_ holds lists of different lengths, or empty ones")
    for name, check in checks.items():
        if bad := [value for value in trials[name] if not check(value)]:
            raise ValueError(f"trials_ holds {bad[0]!r} in {name!r}, which no trial has")
