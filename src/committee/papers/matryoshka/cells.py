"""Settings and cells of the comparison of nested trees: a setting, fitted on a split of a table and measured."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log2
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from committee import AdaBoostClassifier, BoostingTreeClassifier, MatryoshkaClassifier, ProbabilisticAdaBoostClassifier
from committee.data.number_types import F64
from committee.files.journal import Cell
from committee.papers.shared.cells import timed
from committee.papers.shared.pages import packed
from committee.papers.shared.tables import Fold, Folder, NamedTable, read_from_folder
from committee.vote.committee import Committee
from committee.voters.vote_graph import VoteGraph

ADABOOST, TREE, BINARY, GREEDY = "AdaBoost", "boosting tree", "2-matryoshka", "greedy matryoshka"
REFERENCE = "hard AdaBoost"
PROBABILISTIC = (ADABOOST, TREE, BINARY, GREEDY)  # the document's algorithms, whose voters vote at random
METHODS = (*PROBABILISTIC, REFERENCE)  # those, and confidence-rated AdaBoost on ordinary stumps

SOFTNESS = 0.25  # of the stumps, unless it is varied

NAMES = (
    "sonar", "ionosphere", "horse_colic", "diabetes_early", "credit", "transfusion", "pima", "fourclass", "tic_tac_toe",
    "german", "banknote", "spambase",
)  # fmt: skip
QUICK_NAMES = ("sonar", "transfusion")
SMALL_NAMES = ("wdbc",)  # not one of the twelve, but bundled

Draws: TypeAlias = int | str | None
Choose: TypeAlias = Literal["mass", "drop", "entropy"]


@dataclass(frozen=True)
class Setting:
    method: str  # out of `METHODS`
    voters: int  # T: the most voters there may be
    softness: float = SOFTNESS  # of the stumps, in standard deviations of their column
    n_draws: Draws = None  # votes drawn to estimate probabilities; None: they are known
    estimate: str = "map"  # estimate of the probabilities: "map" or "ml"
    choose: Choose = "mass"  # criterion of the leaf at which the boosting tree grows next

    @property
    def key(self) -> tuple[Any, ...]:
        return tuple(self.place.values())

    @property
    def place(self) -> dict[str, Any]:
        varied = {"softness": self.softness, "n_draws": self.n_draws, "estimate": self.estimate}
        return {"method": self.method, "asked": self.voters, **varied, "choose": self.choose}

    def fits(self, rows: int) -> bool:
        # a 2-matryoshka needs as many rows as voters
        return self.method != BINARY or self.voters <= rows

    def make(self, seed: int) -> Any:
        if self.method == REFERENCE:
            return AdaBoostClassifier(self.voters, vote="confidence", calibrate=None, random_state=seed, n_jobs=1)
        drawn = {"n_draws": self.n_draws, "estimate": self.estimate}
        options: dict[str, Any] = {"softness": self.softness, **drawn, "random_state": seed, "n_jobs": 1}
        options["calibrate"] = None  # the paper's probabilities
        if self.method == ADABOOST:
            return ProbabilisticAdaBoostClassifier(self.voters, **options)
        if self.method == TREE:
            return BoostingTreeClassifier(self.voters, choose=self.choose, **options)
        if self.method == GREEDY:
            return MatryoshkaClassifier("greedy", max_voters=self.voters, **options)
        return MatryoshkaClassifier(levels=round(log2(self.voters)), **options)


def setting_of(method: str, T: int) -> Setting:
    return Setting(method, T, 0.0 if method == REFERENCE else SOFTNESS)


@dataclass(frozen=True)
class NestingPlan:
    sizes: tuple[int, ...]  # numbers of voters T that all methods are compared at; powers of two
    base: int  # T where another parameter is varied; one of `sizes`
    softness: tuple[float, ...]  # softnesses tried with the probabilistic methods
    draws: tuple[int | str, ...]  # votes drawn to estimate probabilities
    drawn: tuple[str, ...]  # methods compared over `draws`
    choices: tuple[Choose, ...]  # criteria of the leaf at which the boosting tree grows
    clocks: tuple[str, ...]  # values of `n_draws` of AdaBoost: the document's rules by which draws end
    n_paths: int  # paths sampled for each row if the graph has too many to sum over

    def by_size(self) -> list[Setting]:
        return [setting_of(method, T) for T in self.sizes for method in METHODS]

    def by_softness(self) -> list[Setting]:
        return [Setting(method, self.base, s) for method in PROBABILISTIC for s in self.softness]

    def by_draws(self) -> list[Setting]:
        ways: list[tuple[Draws, str]] = [(None, "map"), *((R, how) for how in ("map", "ml") for R in self.draws)]
        return [Setting(method, self.base, SOFTNESS, R, how) for method in self.drawn for R, how in ways]

    def by_choice(self) -> list[Setting]:
        return [Setting(TREE, self.base, choose=choose) for choose in self.choices]

    def by_clock(self) -> list[Setting]:
        return [Setting(ADABOOST, self.base, n_draws=way) for way in (None, "first_rise", *self.clocks)]

    def of_growth(self) -> list[Setting]:
        usual = (Setting(method, self.base) for method in PROBABILISTIC)
        return list(dict.fromkeys([*usual, *self.by_choice(), *self.by_clock()]))

    def settings(self) -> list[Setting]:
        return list(dict.fromkeys([*self.by_size(), *self.by_softness(), *self.by_draws(), *self.of_growth()]))


_DRAWN = (ADABOOST, TREE, BINARY)
_CHOICES: tuple[Choose, ...] = ("mass", "drop", "entropy")
_CLOCKS = ("stopwatch", "look_ahead")
FULL = NestingPlan(
    (16, 64, 256), 64, (0.0, 0.1, 0.25, 0.5, 1.0), (1, 4, 16, 64, "first_rise"), _DRAWN, _CHOICES, _CLOCKS, 200
)
QUICK = NestingPlan((4, 8), 8, (0.0, 0.25), (2, "first_rise"), _DRAWN, _CHOICES, _CLOCKS, 50)
MOST_QUICK_REPEATS = 2


EXPECTED, LIKELY, MAJORITY = "expected", "likely_path", "majority"
WALKS = (EXPECTED, LIKELY, MAJORITY)
"""Predictions of a committee: by E[H], by H along the likeliest path, by the majority of paths."""

RARE = 0.001  # voters that a row meets with a smaller probability add little to its E[H]


def read_named(name: str, folder: Folder) -> NamedTable:
    table = read_from_folder(name, folder)
    if len(table.labels.classes) != 2:
        raise ValueError(
            f"table {name!r} has {len(table.labels.classes)} classes, but must have two; name other tables with"
            " --tables"
        )
    return NamedTable(name, table)


def nesting_cell(fold: Fold, setting: Setting, n_paths: int | None) -> Cell:
    model = setting.make(fold.seed + fold.repeat).set_params(categorical_features=fold.categorical)
    X, y = fold.rows[0], fold.positive[0]
    _, seconds = timed(lambda: model.fit(X, y))
    return {
        "training_rows": len(y),
        "test_rows": len(fold.positive[1]),
        "fit_seconds": round(seconds, 5),
        **(_of_reference(model, fold) if setting.method == REFERENCE else measured(model, fold, n_paths)),
    }


def measured(model: Any, fold: Fold, n_paths: int | None) -> dict[str, Any]:
    (X_train, X_test), (y_train, y_test) = fold.rows, fold.positive
    graph = model.graph_
    on_likely = replace(graph, walk=LIKELY)
    likely = Committee(on_likely, np.ones(len(graph)), model.classes_, model.committee_.link, model.table_)
    encoded = model.table_.encode(X_test)
    right, log_loss = {}, {}
    for walk, committee in ((EXPECTED, model.committee_), (LIKELY, likely)):
        P = committee.predict_proba(X_test)[:, 1]
        right[walk] = packed((P > 0.5) == y_test)
        log_loss[walk] = mean_log_loss(P, y_test, 0.0)
    train_error = path_error = None  # expected errors of one sampled path
    if n_paths is not None:
        model.set_params(n_paths=n_paths)
        on_train, P = model.vote_probability(X_train)[0], model.vote_probability(X_test)[0]
        train_error = float(np.abs(y_train - on_train).mean())
        path_error = float(np.abs(y_test - P).mean())
        right[MAJORITY] = packed((P > 0.5) == y_test)
        log_loss[MAJORITY] = mean_log_loss(P, y_test, 0.25 / len(y_train))
    return {
        "voters": len(graph),
        "bound": model.bound_,
        "true_bound": exponential_loss(graph, model.table_.encode(X_train), y_train),  # with known probabilities
        "train_error": train_error,
        "path_error": path_error,
        "right": right,
        "log_loss": log_loss,
        # voters that a test row meets: on a sampled path, on the likeliest one, with probability `RARE` or more
        "met": float(model.cost(X_test).mean()),
        "steps": float(on_likely.cost(encoded).mean()),
        "needed": float((graph.reach(encoded) >= RARE).sum(axis=1).mean()),
        "draws": float(model.n_draws_.mean()),
        **course(model.bounds_, model.edges_),
        **entropy_course(model.entropies_, model.edges_),
    }


def _of_reference(model: Any, fold: Fold) -> dict[str, Any]:
    (X_train, X_test), (y_train, y_test) = fold.rows, fold.positive
    P = model.predict_proba(X_test)[:, 1]
    right, voters = (P > 0.5) == y_test, len(model.normalisers_)
    bounds = np.cumprod(model.normalisers_)
    margins = np.where(y_train, 1.0, -1.0) * model.decision_function(X_train)
    return {
        "voters": voters,
        "bound": float(bounds[-1]),
        "true_bound": float(np.exp(-margins).mean()),
        "train_error": float((model.predict(X_train) != y_train).mean()),
        "path_error": float(1.0 - right.mean()),
        "right": {EXPECTED: packed(right)},
        "log_loss": {EXPECTED: mean_log_loss(P, y_test, 0.0)},
        "met": float(voters),
        "steps": float(voters),
        "needed": float(voters),
        "draws": 0.0,
        **course(bounds, 0.5 - model.estimator_errors_),
    }


def exponential_loss(graph: VoteGraph, X: F64, positive: NDArray[np.bool_]) -> float:
    """Return the mean of E exp(-H(x_i) y_i) over rows, by one forward pass through the graph (Grossmann, eq. 7)."""
    q = np.ascontiguousarray(graph.voters.probabilities(X).T)
    y = np.where(positive, 1.0, -1.0)
    weight = np.zeros((len(graph.next), len(X)))  # sum of p exp(-H y) over the paths to a node
    weight[0] = 1.0
    left = np.zeros(len(X))
    for t, (following, votes) in enumerate(zip(graph.next.tolist(), graph.vote.tolist(), strict=True)):
        for onward, vote, chance in zip(following, votes, (q[t], 1.0 - q[t]), strict=True):
            here = left if onward < 0 else weight[onward]
            here += weight[t] * chance * np.exp(-vote * y)
    return float(left.mean())


def course(bounds: F64, edges: F64) -> dict[str, Any]:
    """Summarize the bounds and edges of a run."""
    ends = [2**k for k in range(len(bounds).bit_length())]
    medians = [float(np.median(edges[end // 2 : end])) for end in ends]
    return {
        "bounds": [round(float(bounds[end - 1]), 6) for end in ends],
        "edges": [round(median, 6) for median in medians],
        "edge_first": round(float(edges[0]), 6),
        "edge_median": round(float(np.median(edges)), 6),
        "edge_least": round(float(edges.min()), 6),
    }


def entropy_course(entropies: F64, edges: F64) -> dict[str, Any]:
    ends = [2**k for k in range(len(entropies).bit_length())]
    medians = [round(float(np.median(entropies[end // 2 : end])), 6) for end in ends]
    varied = len(edges) > 2 and np.ptp(edges) > 0.0 and np.ptp(entropies) > 0.0
    rho = round(float(spearmanr(entropies, edges).statistic), 6) if varied else None
    return {"entropies": medians, "edge_by_entropy": rho}


def mean_log_loss(P: F64, positive: NDArray[np.bool_], floor: float) -> float:
    given = np.where(positive, P, 1.0 - P)
    return float(-np.log(np.maximum(given, max(floor, np.finfo(np.float64).eps))).mean())
