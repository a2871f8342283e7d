"""Candidates of a committee of ensembles, chosen for errors that complement each other (docs/blend.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import get_tags

from committee.data.matrices import SparseMatrix
from committee.data.rows import Rows, TargetRows
from committee.data.table_schema import TableSchema
from committee.data.text import byte_text
from committee.learners.bagging.random_forest import ForestEstimator, RandomForestClassifier, RandomForestRegressor
from committee.learners.bagging.sbpmt import SBPMTClassifier
from committee.learners.base.row_sampling import Fold
from committee.learners.blend.candidates import Candidate, Effort, LeftOut
from committee.learners.boosting.adaboost import AdaBoostClassifier
from committee.learners.gradient.gradient_boosting import (
    GradientBoosting,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
from committee.learners.gradient.trials import FEWEST_ROUNDS, MOST_ROUNDS, leaves_by_rows, most_leaves
from committee.learners.trees.probit_boost import LogitBoostClassifier
from committee.objectives.losses import Loss, Squared
from committee.vote.links.mean import Log

MOST_DRAWN: dict[Effort, dict[str, int]] = {
    "fast": {"forest": 4000, "sbpmt": 2000},
    "default": {"forest": 10_000, "sbpmt": 3000},
    "best": {"forest": 30_000, "sbpmt": 15_000},
}
"""Rows that a tree of a forest, or a committee of SBPMT, draws from larger tables, by effort."""
SHARED_FROM: dict[Effort, float] = {"fast": 5, "default": 20, "best": np.inf}
"""Least number of classes with which trees of boosting are shared by the classes, by effort."""
ONE_FIT_FROM = {"boosting": 100_000, "boosted_lines": 100_000}
"""Rows from which a candidate of the effort "fast" has one fit."""


def _by_name(*candidates: Candidate) -> dict[str, Candidate]:
    return {one.name: one for one in candidates}


_CLASSES = _by_name(
    Candidate("sbpmt", SBPMTClassifier, {}, out_of_bag=True),
    Candidate("forest", RandomForestClassifier, {"n_estimators": 300}, out_of_bag=True),
    Candidate("lines", LogitBoostClassifier),
    Candidate("boosting", GradientBoostingClassifier),
    Candidate("large_trees", GradientBoostingClassifier, {"max_leaf_nodes": 47, "subsample": 0.7, "max_features": 0.3}),
    Candidate(
        "random_thresholds", GradientBoostingClassifier, {"extra_trees": True, "subsample": 0.7, "max_features": 0.5}
    ),
    Candidate(
        "adaboost_trees",
        AdaBoostClassifier,
        {"vote": "confidence", "n_estimators": 100, "max_depth": 3, "learning_rate": 0.3},
    ),
)
_NUMBERS = _by_name(
    Candidate("forest", RandomForestRegressor, {"n_estimators": 300}, out_of_bag=True),
    Candidate("boosted_lines", GradientBoostingRegressor, {"extra_trees": False}, lines=True),
    Candidate("boosting", GradientBoostingRegressor, {"leaf": "constant", "leaf_l2": 1.0, "extra_trees": "auto"}),
    Candidate(
        "large_trees", GradientBoostingRegressor, {"max_leaf_nodes": 47, "max_features": 0.3, "extra_trees": False}
    ),
    Candidate("small_trees", GradientBoostingRegressor, {"max_leaf_nodes": 6, "extra_trees": True}),
    Candidate("random_thresholds", GradientBoostingRegressor, {"extra_trees": True}),
)
_ON_LOSS = _by_name(
    Candidate("boosting_on_loss", GradientBoostingRegressor),
    Candidate("random_thresholds_on_loss", GradientBoostingRegressor, {"extra_trees": True}),
)
"""Further candidates for losses that the mean does not minimise."""
MANY_SCORES = 200_000
"""Rows times classes from which boosting of "fast" has one fit, and shared trees the fewest rounds."""
_FEWER_VOTERS: dict[type[Any], dict[str, Any]] = {
    RandomForestClassifier: {"n_estimators": 100},
    RandomForestRegressor: {"n_estimators": 60},
    SBPMTClassifier: {"n_estimators": 7, "n_boosting_rounds": 3},
}
"""Most voters and rounds of the effort "fast"."""
_OF_CLASSES: dict[Effort, tuple[str, ...]] = {
    "fast": ("sbpmt", "forest", "lines", "boosting"),
    "default": ("sbpmt", "forest", "lines", "large_trees", "boosting", "adaboost_trees"),
    "best": tuple(_CLASSES),
}
_OF_NUMBERS: dict[Effort, tuple[str, ...]] = {
    "fast": ("forest", "boosted_lines", "small_trees"),
    "default": ("forest", "boosted_lines", "large_trees", "small_trees"),
    "best": tuple(_NUMBERS),
}


def _with(candidate: Candidate, **parameters: Any) -> Candidate:
    return replace(candidate, parameters=candidate.parameters | parameters)


def candidates(
    numbers: bool, effort: Effort, n: float = 0.0, n_scores: int = 1, every: bool = False
) -> list[Candidate]:
    table, names = (_NUMBERS, _OF_NUMBERS) if numbers else (_CLASSES, _OF_CLASSES)
    return [_bounded(table[name], effort, n, n_scores) for name in (table if every else names[effort])]


def _bounded(candidate: Candidate, effort: Effort, n: float, n_scores: int) -> Candidate:
    # draws, trees and fits in proportion to the time of boosting
    if effort == "fast":
        for name, most in _FEWER_VOTERS.get(candidate.learner, {}).items():
            if name in candidate.learner.declared_parameters:
                candidate = _with(candidate, **{name: min(most, candidate.parameters.get(name, most))})
    if candidate.out_of_bag and candidate.name in MOST_DRAWN[effort]:
        most = MOST_DRAWN[effort][candidate.name]
        candidate = _with(candidate, max_samples=most) if n > 1.5 * most else candidate
    elif issubclass(candidate.learner, GradientBoostingClassifier) and n_scores >= SHARED_FROM[effort]:
        candidate = _with(candidate, tree="shared")
        if effort == "fast" and n * n_scores >= MANY_SCORES:
            candidate = _with(candidate, n_estimators=FEWEST_ROUNDS)
    if effort == "fast" and (n >= ONE_FIT_FROM.get(candidate.name, 2000) or n * n_scores >= MANY_SCORES):
        candidate = replace(candidate, out_of_bag=False, n_fits=1)
    return candidate


def of_loss(wanted: Sequence[Candidate], loss: Loss, effort: Effort) -> list[Candidate]:
    changed = [for_loss(one, loss) for one in wanted]
    if fits_means(loss):
        return changed
    on_loss = [_with(one, loss=loss) for one in _ON_LOSS.values()]
    return changed + (on_loss[:1] if effort == "fast" else on_loss)


def fits_means(loss: Loss) -> bool:
    return isinstance(loss, Squared) or isinstance(loss.link, Log)


def for_loss(one: Candidate, loss: Loss) -> Candidate:
    if isinstance(loss, Squared) or "loss" in one.parameters:
        return one
    if fits_means(loss):
        return _with(one, loss=loss) if "loss" in one.settings else one
    return replace(one, moved=True)


def candidates_for_sparse(wanted: Sequence[Candidate]) -> tuple[list[Candidate], list[LeftOut]]:
    chosen: list[Candidate] = []
    left_out: list[LeftOut] = []
    for one in wanted:
        if one.lines:
            left_out.append(LeftOut(one.name, "has no lines in its leaves on sparse rows"))
            constant = _NUMBERS["boosting"]  # linear leaves need dense rows
            constant = replace(constant, parameters=one.parameters | constant.parameters, moved=one.moved)
            if constant not in wanted:
                chosen.append(constant)
        elif one.estimator is not None or get_tags(one.learner(**one.parameters)).input_tags.sparse:
            chosen.append(one)
        else:
            left_out.append(LeftOut(one.name, "takes no sparse rows"))
    return chosen, left_out


def suited(
    wanted: Sequence[Candidate], rows: Rows | TargetRows, loss: Loss | None
) -> tuple[list[Candidate], list[LeftOut]]:
    chosen, left_out = list(wanted), list[LeftOut]()
    if isinstance(rows, TargetRows):
        assert loss is not None
        loss.check_target(rows.target)
        chosen = [for_loss(one, loss) for one in chosen]
        outside = rows.target[~loss.mean_interval.holds(rows.target)]
        if outside.size:
            reason = f"may predict {outside[0]:g}, and the {loss.name} loss needs predictions in {loss.mean_interval}"
            averaging = [one for one in chosen if "loss" not in one.parameters and one.estimator is None]
            chosen = [one for one in chosen if one not in averaging]
            left_out = [LeftOut(one.name, reason) for one in averaging]
    if isinstance(rows.X, SparseMatrix):
        chosen, others = candidates_for_sparse(chosen)
        left_out += others
    return chosen, left_out


# --- time -------------------------------------------------------------------------------------------------------------

TRIALS, TRIALS_OF_TREES = 1.35, 1.6
"""Time of a fit of boosting with the trials of its learning rate, and of its trees too, over that of a fit without."""
TYPICAL_ROUNDS = 250
"""Number of rounds that is assumed where trials choose it."""


@dataclass(frozen=True)
class FitCosts:
    """Estimated processor seconds of single fits, by constants fitted to measured times (docs/decisions.md)."""

    n_columns: int
    n_design: int
    """Number of columns if each category has a 0/1 column."""
    n_scores: int
    """Classes, or 1 for numbers."""

    @classmethod
    def of(cls, rows: Rows | TargetRows, table: TableSchema) -> FitCosts:
        n_scores = int(rows.labels.max()) + 1 if isinstance(rows, Rows) else 1
        cells = rows.cells
        if isinstance(cells, SparseMatrix):  # stored cells are counted as columns
            stored = sum(array.size for array in vars(cells).values() if isinstance(array, np.ndarray)) / 2.0
            p = max(1, round(stored / len(rows)))
            return cls(p, p, n_scores)
        levels = np.asarray(table.n_levels)
        return cls(cells.shape[1], int(np.where(levels > 0, levels, 1).sum()), n_scores)

    def seconds(self, candidate: Candidate, n: float) -> float:
        """Seconds of one fit on n rows, with its held-out predictions."""
        learner, settings = candidate.learner, candidate.settings
        K, p = self.n_scores, self.n_columns
        if issubclass(learner, GradientBoosting):
            return self._gradient_boosting(learner, settings, n)
        if issubclass(learner, ForestEstimator):
            drawn = _drawn(settings, n)
            work = drawn * np.log2(max(drawn, 2.0))
            tried = p**0.5 if issubclass(learner, RandomForestClassifier) else p
            of_draw = work * (3e-9 + 5e-9 * tried) + 4e-8 * drawn * K
            # rows that are not drawn fall through the trees too
            return float(settings["n_estimators"] * (7e-4 + of_draw + n * (5e-8 + 1e-8 * K)))
        if issubclass(learner, SBPMTClassifier):
            drawn, k = _drawn(settings, n), self._n_trees
            trees = settings["n_estimators"] * settings["n_boosting_rounds"]
            return float(trees * (6e-4 + drawn * (2.2e-6 + 7.6e-7 * k) + n * 2e-8 * k))
        if issubclass(learner, LogitBoostClassifier):
            return float(settings["n_estimators"] * self._n_trees * (2e-6 + 3e-10 * n * self.n_design))
        if issubclass(learner, AdaBoostClassifier):
            per_voter = 3e-5 + 3e-5 * p * K + n * (1e-7 + 2e-8 * K + 3e-9 * p)
            return float(settings["n_estimators"] * per_voter)
        return 1e-7 * n * p

    @property
    def _n_trees(self) -> int:
        return self.n_scores if self.n_scores > 2 else 1

    def _gradient_boosting(self, learner: type[Any], settings: dict[str, Any], n: float) -> float:
        leaves = settings["max_leaf_nodes"]
        leaves = min(leaves_by_rows(n) if leaves == "auto" else leaves or n, 0.2 * n)
        shared = settings.get("tree") == "shared"
        trees, outputs = (1, self._n_trees) if shared else (self._n_trees, 1)
        p, numbers = self.n_columns, issubclass(learner, GradientBoostingRegressor)
        lines = numbers and settings["leaf"] != "constant"
        per_tree = 6e-5 + 3e-7 * leaves * p * outputs + n * (3.6e-8 * outputs + 3.7e-9 * p)
        per_tree += (1.5e-4 + 8e-7 * leaves * p + 3e-8 * n) * lines
        of_trees = TRIALS_OF_TREES if settings["max_leaf_nodes"] == "auto" else TRIALS
        trials = of_trees if settings["learning_rate"] == "auto" else 1.0
        rounds = settings["n_estimators"]
        return float(trials * (TYPICAL_ROUNDS if rounds == "auto" else rounds) * trees * per_tree)


def _drawn(settings: dict[str, Any], n: float) -> float:
    share = settings["max_samples"]
    return float(share * n if isinstance(share, float) else min(share or n, n))


# --- memory -----------------------------------------------------------------------------------------------------------

LEAST_DRAWN = 1000
_NODE = 50.0
"""Bytes of a tree node without its votes."""
_COMPACTING = 3.0
"""Bytes needed to find equal parts of a forest, as a multiple of its own."""


@dataclass(frozen=True)
class Needed:
    """Bytes that a candidate takes for good, and more during its training."""

    kept: float
    passing: float


@dataclass(frozen=True)
class FitMemory:
    """Estimate of the memory of a fit in bytes, fitted to measured peaks."""

    n: int
    row: float
    """Bytes of an encoded row."""
    n_columns: int
    n_scores: int
    n_folds: int
    n_trained: float
    """Rows of the largest training set of a fold."""
    n_threads: int

    @classmethod
    def of(cls, rows: Rows | TargetRows, n_scores: int, folds: Sequence[Fold], n_threads: int) -> FitMemory:
        n_folds, n_trained = len(folds), max(len(fold.train) for fold in folds)
        n, cells = len(rows), rows.cells
        if isinstance(cells, SparseMatrix):
            stored = sum(array.nbytes for array in vars(cells).values() if hasattr(array, "nbytes"))
            return cls(n, stored / n, max(1, round(stored / n / 8.0)), n_scores, n_folds, n_trained, n_threads)
        return cls(n, cells.nbytes / n, cells.shape[1], n_scores, n_folds, n_trained, n_threads)

    def needed(self, candidate: Candidate) -> Needed:
        if candidate.estimator is not None:  # as if it kept its rows, as nearest neighbours do
            rows, predictions = self.n_trained * (self.row + 32.0), self.n * 8.0 * self.n_scores
            return Needed(predictions + self.n_folds * rows, 3.0 * predictions + 3.0 * rows)
        fits = 1 if candidate.out_of_bag else self.n_folds
        n = self.n if candidate.out_of_bag else self.n_trained
        settings = candidate.settings
        predictions = self.n * 8.0 * self.n_scores
        copy = n * (self.row + 32.0)
        of_learner = self._of_learner(candidate.learner, settings, n)
        return Needed(predictions + fits * of_learner.kept, 3.0 * predictions + copy + of_learner.passing)

    def _of_learner(self, learner: type[Any], settings: dict[str, Any], n: float) -> Needed:
        # one fit on n rows: its voters, and what training them takes beyond a copy of the rows
        K, p, threads = self.n_scores, self.n_columns, self.n_threads
        node = _NODE + 8.0 * K
        if issubclass(learner, ForestEstimator):
            drawn = _drawn(settings, n)
            different = n * -np.expm1(-drawn / n)  # of rows drawn with replacement
            per_row = min(2.1, 0.5 + 0.1 * K) if issubclass(learner, RandomForestClassifier) else 2.1
            nodes = settings["n_estimators"] * different * per_row
            return Needed(nodes * node, nodes * node * _COMPACTING + n * (2.0 * p + 16.0 * K) + threads * drawn * 64.0)
        if issubclass(learner, SBPMTClassifier):
            drawn = _drawn(settings, n)
            kept = settings["n_estimators"] * drawn * 20.0 * K
            return Needed(kept, threads * drawn * (5.0 * self.row + 40.0 * K) + n * (2.0 * p + 16.0 * K))
        if issubclass(learner, LogitBoostClassifier):
            return Needed(8.0 * p * K, n * (2.0 * self.row + 60.0 + 40.0 * K))
        if issubclass(learner, GradientBoosting):
            leaves = settings["max_leaf_nodes"]
            leaves = most_leaves(n) if leaves == "auto" else leaves
            rounds = settings["n_estimators"]
            trees = (MOST_ROUNDS if rounds == "auto" else rounds) * (K if K > 2 else 1)
            nodes = trees * min(2.0 * leaves, 2.0 * n / settings["min_samples_leaf"])
            lines = issubclass(learner, GradientBoostingRegressor) and settings["leaf"] != "constant"
            kept = nodes * (190.0 if lines else 60.0)
            return Needed(kept, _COMPACTING * kept + n * (2.0 * p + 150.0 + 40.0 * K))
        if issubclass(learner, AdaBoostClassifier):
            nodes = settings["n_estimators"] * 2.0 ** (settings["max_depth"] + 1)
            return Needed(nodes * node, nodes * node + n * (2.0 * p + 100.0 + 16.0 * K))
        return Needed(0.0, n * self.row)

    @property
    def _of_rows(self) -> float:
        return self.n * (self.row + 40.0 + 16.0 * self.n_folds)  # the encoded table, its targets and weights, the folds

    def peak_with_second_layer(self, candidates: Sequence[Candidate]) -> float:
        kept = self._of_rows + sum(self.needed(one).kept for one in candidates)
        n_columns = len(candidates) * self.n_scores
        # predictions, columns, the columns of a fit, and boosting
        return kept + self.n * (34.0 * n_columns + 150.0 + 40.0 * self.n_scores)

    def peak(self, candidates: Sequence[Candidate]) -> float:
        kept = self._of_rows
        most = kept + self.n * (self.row + 100.0)  # while rows are dealt to folds
        largest = 0.0
        for one in candidates:
            needed = self.needed(one)
            kept, largest = kept + needed.kept, max(largest, needed.kept)
            most = max(most, kept + needed.passing)
        most = max(most, kept + _COMPACTING * largest)  # while members are measured and made smaller
        # while members are weighed: their predictions, and losses with and without each
        return max(most, kept + self.n * 8.0 * len(candidates) * (2.0 * self.n_scores + 4.0))

    def within(self, limit: float, candidates: Sequence[Candidate]) -> tuple[list[Candidate], list[LeftOut]]:
        """Candidates that fit into a memory limit, some with smaller draws or fewer rounds, and the others."""
        if not candidates or self.peak(candidates) <= limit:
            return list(candidates), []
        chosen = [self._smallest(one) for one in candidates]
        left_out: list[LeftOut] = []
        while self.peak(chosen) > limit:
            largest = max(chosen, key=lambda one: self.peak([one]))
            if len(chosen) == 1:
                raise ValueError(
                    f"memory_limit leaves no candidate room on {self.n} rows of {self.n_columns} cells: the least "
                    f"that a fit needs is {byte_text(self.peak(chosen))}, by estimate. Give that much, or fewer rows."
                )
            chosen.remove(largest)
            left_out.append(LeftOut(largest.name, "memory"))
        whole = {one.name: one for one in candidates}
        for k, small in enumerate(chosen):
            if small is not whole[small.name]:
                chosen[k] = self._largest_draws(limit, chosen, k, whole[small.name])
        return chosen, left_out

    def _largest_draws(self, limit: float, chosen: Sequence[Candidate], k: int, whole: Candidate) -> Candidate:
        def fits(one: Candidate) -> bool:
            return self.peak([*chosen[:k], one, *chosen[k + 1 :]]) <= limit

        if fits(whole):
            return whole
        if issubclass(whole.learner, GradientBoosting):
            return chosen[k]
        few, many = LEAST_DRAWN, self._drawn(whole)
        while many - few > max(1, few // 100):
            middle = (few + many) // 2
            few, many = (middle, many) if fits(_with(whole, max_samples=middle)) else (few, middle)
        return _with(whole, max_samples=few)

    def _drawn(self, candidate: Candidate) -> int:
        return round(_drawn(candidate.settings, self.n))

    def _smallest(self, candidate: Candidate) -> Candidate:
        if issubclass(candidate.learner, GradientBoosting):
            return replace(candidate, parameters={"n_estimators": FEWEST_ROUNDS} | candidate.parameters)
        if "max_samples" not in candidate.settings or self._drawn(candidate) <= LEAST_DRAWN:
            return candidate
        return _with(candidate, max_samples=LEAST_DRAWN)
