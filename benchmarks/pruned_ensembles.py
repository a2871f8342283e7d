"""Forests and boosters for `bench_pruning`, each fitted to one split of one table, and what rivals need of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from benchmarks.default_tables import Problem, problems
from committee.learners.reweighting.leaf_cuts import TreeNodes, node_votes, score_trees
from committee.vote.committee import Committee
from committee.voters.forest import Forest

F64 = NDArray[np.float64]
Index = NDArray[np.intp]

MOST_ROWS = 3_000
"""Rows of a table that are taken, drawn at random, so that slow rivals end."""
LEAST_OF_A_CLASS = 6
"""Rows of a class; those of rarer ones are left out, as both parts of a split must have some."""


def _xgboost(rounds: int, seed: int) -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=rounds, random_state=seed, n_jobs=1, verbosity=0)


def _lightgbm(rounds: int, seed: int) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=rounds, random_state=seed, n_jobs=1, verbose=-1)


@dataclass(frozen=True)
class Ensemble:
    """What is pruned."""

    make: Callable[[int], Any]
    """Unfitted classifier with a seed."""
    splits: int
    """Splits of each table."""
    drawn: bool
    """Whether trees have rows that they have not seen."""


ENSEMBLES: dict[str, Ensemble] = {
    "RF(500)": Ensemble(lambda seed: RandomForestClassifier(500, random_state=seed), 2, True),
    "RF(100)": Ensemble(lambda seed: RandomForestClassifier(100, random_state=seed), 3, True),
    "RF(100), depth 15": Ensemble(lambda seed: RandomForestClassifier(100, max_depth=15, random_state=seed), 1, True),
    "RF(50), depth 10": Ensemble(lambda seed: RandomForestClassifier(50, max_depth=10, random_state=seed), 1, True),
    "XGBoost(100)": Ensemble(lambda seed: _xgboost(100, seed), 2, False),
    "LightGBM(100)": Ensemble(lambda seed: _lightgbm(100, seed), 2, False),
    "XGBoost(10)": Ensemble(lambda seed: _xgboost(10, seed), 1, False),
}


@dataclass(frozen=True, eq=False)
class Trained:
    """An ensemble trained on 70 % of the rows of a table."""

    ensemble: Any
    kind: Ensemble
    seed: int
    X: F64
    y: Index
    """Training rows."""
    X_new: F64
    y_new: Index
    """Test rows."""

    @cached_property
    def committee(self) -> Committee:
        """The ensemble as a committee."""
        return Committee.from_estimator(self.ensemble)

    @cached_property
    def forest(self) -> Forest:
        """Its trees, each with votes for all classes."""
        return score_trees(self.committee)[0]

    @cached_property
    def nodes(self) -> TreeNodes:
        """The nodes of its trees."""
        return TreeNodes.of(self.forest)

    @cached_property
    def votes(self) -> F64:
        """What the nodes say ``(N, D)``."""
        return node_votes(self.forest, self.nodes)

    @cached_property
    def twin(self) -> Trained:
        """The same kind of ensemble trained on four fifths of the training rows; the others are its test rows."""
        return _trained(self.kind, self.X, self.y, 0.2, self.seed)

    @property
    def drawn(self) -> bool:
        """Whether trees have rows that they have not seen."""
        return self.kind.drawn

    @property
    def n_classes(self) -> int:
        """K."""
        return self.committee.n_classes

    def leaves(self, X: F64) -> Index:
        """Leaves of rows in all trees ``(n, T)``, counted through."""
        return (self.forest.apply(self.committee.encode(X)) + self.forest.offset[:-1]).astype(np.intp)


def tables(folder: Path, half: str) -> Iterator[tuple[str, F64, Index]]:
    """Tables of classes of a half, as scikit-learn's forests take them."""
    for problem in problems(folder, half):
        if not problem.numbers:
            yield problem.name, *_rows(problem)


def _rows(problem: Problem) -> tuple[F64, Index]:
    """Categories as columns of 0 and 1, medians for missing numbers; rare classes left out."""
    columns = []
    for values, categorical in zip(problem.X.T, problem.categorical, strict=True):
        there = values[~np.isnan(values)]
        if categorical:
            columns += [(values == code).astype(np.float64) for code in np.unique(there)]
        else:
            columns.append(np.where(np.isnan(values), np.median(there) if len(there) else 0.0, values))
    rows = np.random.default_rng(0).permutation(len(problem.y))[:MOST_ROWS]
    rows = rows[np.bincount(problem.y[rows])[problem.y[rows]] >= LEAST_OF_A_CLASS]
    y = np.unique(problem.y[rows], return_inverse=True)[1]
    return np.column_stack(columns)[rows], y.astype(np.intp)


def trained(name: str, X: F64, y: Index, split: int) -> Trained:
    """Train an ensemble on one split of a table."""
    return _trained(ENSEMBLES[name], X, y, 0.3, split)


def _trained(kind: Ensemble, X: F64, y: Index, share: float, seed: int) -> Trained:
    rows = np.arange(len(y))
    train, test = train_test_split(rows, test_size=share, random_state=seed, stratify=y)
    ensemble = kind.make(seed).fit(X[train], y[train])
    return Trained(ensemble, kind, seed, X[train], y[train], X[test], y[test])
