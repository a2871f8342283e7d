"""One small model file for every learner, and for every kind of voters, link, loss and column that a file can hold.

The files beside this module and the answers in ``answers.npz`` were written with committee 0.1.0, file schema 1. Later
versions must load them and answer the same. So they are written anew only when the schema's version changes, and the
new ones then stand beside the old; a kind that is added gets a file of its own: ``python -m tests.golden.write NAME``
writes the models named, or all of them.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from sklearn.base import is_regressor
from sklearn.ensemble import AdaBoostClassifier as TheirAdaBoost
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.ensemble import RandomForestClassifier as TheirForest

from committee import (
    AbstainingStump,
    AdaBoostClassifier,
    ArcGVClassifier,
    BoostingTreeClassifier,
    Committee,
    CommitteeClassifier,
    CommitteeRegressor,
    ConformalClassifier,
    ConformalRegressor,
    DOOMBoostClassifier,
    FunctionalGradientBoostingClassifier,
    FunctionalGradientBoostingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    LeafReweighter,
    LeafReweighterRegressor,
    LogitBoostClassifier,
    LPBoostClassifier,
    MarginReweighter,
    MatryoshkaClassifier,
    MDBoostClassifier,
    ProbabilisticAdaBoostClassifier,
    ProbitBoostClassifier,
    ProbitModelTreeClassifier,
    QuadBoostClassifier,
    QuadBoostClassifierCV,
    QuadBoostRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    SBPMTClassifier,
    SubaggingClassifier,
    TreeRegressor,
    TreeVoter,
    prune,
)
from committee.files.documents import Estimate, Provenance
from committee.learners.reweighting.leaf_cuts import share_subtrees
from committee.objectives.losses import Huber, Quantile, Quantiles, Tweedie
from committee.report.provenance import row_sketch
from committee.vote.links.probability import Share
from committee.vote.members import MemberCommittees, StackedVoters, stacked_columns
from committee.voters.rounds import Rounds
from committee.voters.shared_forest import SharedForest
from tests.small_portfolio import use_small_members

FOLDER = Path(__file__).parent
ANSWERS = FOLDER / "answers.npz"
N_ASKED = 24
"""Rows of each table that the answers are about."""

Columns = Mapping[str, NDArray[Any]]


def columns(kind: str, n: int) -> dict[str, NDArray[Any]]:
    """Columns of a table, and its target "y"; text "" and NaN are missing values."""
    rng = np.random.default_rng(len(kind))
    noise, missing = rng.normal(size=n), rng.random((3, n)) < 0.12
    if kind == "mixed":
        size, old, count = rng.normal(size=n), rng.random(n) < 0.4, rng.integers(0, 9, n)
        colour, place = rng.integers(0, 3, n), rng.integers(0, 40, n)
        return {
            "size": np.where(missing[0], np.nan, size),
            "colour": np.where(missing[1], "", np.array(["red", "green", "blue"])[colour]),
            "place": np.char.add("p", place.astype(str)),
            "old": np.where(missing[2], "", old.astype(str)),
            "count": count,
            "y": size + (colour == 1) + (place % 3 == 0) + 0.3 * old * count + 0.3 * noise,
        }
    X = np.round(rng.normal(size=(n, 4)), 1)
    y = X[:, 0] + X[:, 1] * (X[:, 2] > 0) + 0.3 * noise
    if kind == "gaps":
        X[:, :3][missing.T] = np.nan
    return {**{f"x{j}": X[:, j] for j in range(4)}, "y": y}


def table(stored: Columns) -> Any:
    """Columns as learners take them: an array if all are numbers, else a frame."""
    given = {name: column for name, column in stored.items() if name != "y"}
    if all(column.dtype == np.float64 for column in given.values()):
        return np.column_stack(list(given.values()))
    text = {
        name: [value or None for value in column.tolist()] for name, column in given.items() if column.dtype.kind == "U"
    }
    frame = pl.DataFrame({**given, **text})
    return frame.with_columns(pl.col("old").replace_strict({"True": True, "False": False}, default=None))


CLASSES: dict[str, NDArray[Any]] = {
    "text": np.array(["ant", "bee", "cow"]),
    "integers": np.array([-7, 0, 300]),
    "floats": np.array([-1.0, 1.0, 2.0]),
    "truth": np.array([False, True]),
    "many": np.arange(10),
}


def target(y: NDArray[np.float64], of: str) -> NDArray[Any]:
    """The number itself, its exponential, a count, or as many classes of about the same size."""
    if of == "amount":
        return np.exp(0.5 * y)
    if of == "count":
        return np.floor(np.exp(0.5 * y))
    if of == "number":
        return y
    kind, n_classes = of.rsplit(" ", 1)
    inner = np.arange(1, int(n_classes)) / int(n_classes)
    return CLASSES[kind][np.searchsorted(np.quantile(y, inner), y)]


Make = Callable[[Any, NDArray[Any]], Any]
MODELS: dict[str, tuple[str, str, Make]] = {}
"""Name of the file, kind of table, target, and how the model is fitted."""


def add(name: str, kind: str, of: str, model: Any) -> None:
    """A model to be fitted, or a function that makes a fitted one of a table and its target."""
    MODELS[name] = (kind, of, model.fit if hasattr(model, "fit") else model)


def reweighted(ensemble: Any, *args: Any, **options: Any) -> Make:
    return lambda X, y: MarginReweighter(ensemble.fit(X, y), *args, **options).fit(X, y)


def selected(model: Any) -> Make:
    def make(X: Any, y: Any) -> Any:
        model.fit(X, y)
        model.committee_ = model.committee_.select([2, 0, 2], [0.5, 2.0, -1.0])
        return model

    return make


def gradient(loss: Any, of: str, **params: Any) -> Any:
    learner = GradientBoostingClassifier if of[-1].isdigit() else GradientBoostingRegressor
    return learner(**({"loss": loss, "n_estimators": 3, "max_leaf_nodes": 4, "random_state": 0} | params))


def xgboost(X: Any, y: NDArray[np.int64]) -> Any:
    from xgboost import XGBClassifier  # for writing alone

    return reweighted(XGBClassifier(n_estimators=4, max_depth=2, n_jobs=1), "soft_margin")(X, y)


def lightgbm(X: Any, y: NDArray[np.int64]) -> Any:
    from lightgbm import LGBMClassifier

    return reweighted(LGBMClassifier(n_estimators=3, max_depth=2, n_jobs=1, verbose=-1), "doom")(X, y)


def traced(model: Any) -> Make:
    """A model that knows where it comes from."""

    def make(X: Any, y: Any) -> Any:
        model.fit(X, y)
        model.provenance_ = Provenance(
            "kind",
            "animals.csv",
            len(y),
            date(2026, 11, 23),
            {"Python": "3.11.7", "committee": "0.1.0"},
            Estimate("5 folds", len(y), {"accuracy": 0.75, "log_loss": 0.5}),
            row_sketch(model, X),
        )
        return model

    return make


SMALL = {"max_depth": 2, "random_state": 0}
HALF = {"softness": 0.5, "random_state": 0}

# forests of labels and of values
add("adaboost", "plain", "text 2", AdaBoostClassifier(4, vote="discrete", random_state=0))
add("adaboost_three", "mixed", "text 3", AdaBoostClassifier(4, vote="discrete", learning_rate=0.5, **SMALL))
add("adaboost_confidence", "gaps", "integers 3", AdaBoostClassifier(4, vote="confidence", **SMALL))
add("adaboost_abstaining", "mixed", "truth 2", AdaBoostClassifier(4, vote="abstaining"))
add("arc_gv", "gaps", "truth 2", ArcGVClassifier(5, random_state=0))
add("mdboost", "plain", "floats 2", MDBoostClassifier(2.0, n_estimators=6, tol=0.01, random_state=0))
add("doomboost", "mixed", "text 2", DOOMBoostClassifier(n_estimators=4, n_start=3, random_state=0))
add("lpboost", "plain", "text 2", LPBoostClassifier(0.8, tol=0.05, n_estimators=6, random_state=0))
add("lpboost_three", "gaps", "text 3", LPBoostClassifier(0.8, dictionary="trees", n_estimators=4, random_state=0))
add("tree", "mixed", "integers 3", TreeVoter(max_depth=3))
add("provenance", "mixed", "text 3", traced(TreeVoter(max_depth=2)))
add("tree_regressor", "mixed", "number", TreeRegressor(max_leaf_nodes=6))
add("abstaining_stump", "gaps", "floats 2", AbstainingStump())
add("forest", "mixed", "text 3", RandomForestClassifier(3, max_depth=3, random_state=0))
add("arc_gv_three", "gaps", "text 3", ArcGVClassifier(5, random_state=0))
add("forest_many", "gaps", "many 10", RandomForestClassifier(3, max_depth=4, random_state=0))
add("forest_calibrated", "mixed", "text 3", RandomForestClassifier(9, max_depth=3, random_state=0))
add("forest_oob", "plain", "text 2", RandomForestClassifier(4, oob_score=True, reserve=0.2, **SMALL))
add("forest_auto", "gaps", "text 2", RandomForestClassifier("oob", max_estimators=8, **SMALL))
add("forest_regressor", "gaps", "number", RandomForestRegressor(4, oob_score=True, **SMALL))
add("selection", "plain", "text 2", selected(AdaBoostClassifier(4, vote="discrete", random_state=0)))

# rounds, intercepts, losses
for _loss in ("log_loss", "exponential", "probit", "squared_hinge"):
    add(f"gradient_{_loss}", "gaps", "text 2", gradient(_loss, "text 2"))
add("gradient_three", "mixed", "floats 3", gradient("log_loss", "floats 3", line_search=True))
add("gradient_shared", "plain", "integers 3", gradient("log_loss", "integers 3", tree="shared", leaf_l0=0.1))
add("gradient_names", "mixed", "truth 2", gradient("log_loss", "truth 2", monotonic_constraints={"size": 1}))
for _loss in ("squared_error", "absolute_error", "quantile", "huber"):
    add(f"gradient_{_loss}", "mixed", "number", gradient(_loss, "number", line_search=_loss == "squared_error"))
for _loss in ("poisson", "tweedie"):
    add(f"gradient_{_loss}", "gaps", "count", gradient(_loss, "count"))
AUTO = dict.fromkeys(("max_leaf_nodes", "subsample", "max_features"), "auto") | {"n_estimators": 4}
add("gradient_trials", "mixed", "text 2", gradient("log_loss", "text 2", **AUTO))
add("gradient_trials_regressor", "gaps", "number", gradient("squared_error", "number", **AUTO | {"max_features": 0.5}))
add("gradient_linear", "mixed", "number", gradient("squared_error", "number", leaf="linear"))
add("gradient_linear_three", "gaps", "text 3", gradient("log_loss", "text 3", leaf="linear"))
add("gradient_gamma", "plain", "amount", gradient("gamma", "amount", early_stopping=True, n_iter_no_change=1))
add("gradient_quantiles", "gaps", "number", gradient("quantile", "number", quantile=[0.1, 0.5, 0.9]))
for _given in (Huber(delta=0.5), Tweedie(power=1.2), Quantile(0.3), Quantiles((0.2, 0.7))):
    add(f"gradient_object_{_given.name}", "plain", "count", gradient(_given, "count"))

# rounds of learners that predict numbers
add("functional_three", "mixed", "text 3", FunctionalGradientBoostingClassifier(n_estimators=2, random_state=0))
add("functional_rounds", "mixed", "text 3", FunctionalGradientBoostingClassifier(n_estimators=3, random_state=0))
add("functional_regressor", "gaps", "number", FunctionalGradientBoostingRegressor("huber", n_estimators=3))

# sums of squares: stumps, trees and learners as signed voters
add("quadboost", "mixed", "text 2", QuadBoostClassifier(n_estimators=6, random_state=0))
add("quadboost_three", "gaps", "text 3", QuadBoostClassifier("l2", n_estimators=5, reweight="every_k", random_state=0))
add("quadboost_trees", "mixed", "text 3", QuadBoostClassifier("linf", n_estimators=3, dictionary="trees"))
add("quadboost_plain", "plain", "truth 2", QuadBoostClassifier(None, n_estimators=4, fit_intercept=False))
add("quadboost_learners", "gaps", "text 3", QuadBoostClassifier(n_estimators=2, dictionary=TreeVoter(**SMALL)))
add("quadboost_of_numbers", "gaps", "text 3", QuadBoostClassifier(n_estimators=2, dictionary=TreeRegressor(**SMALL)))
add("quadboost_cv", "plain", "text 3", QuadBoostClassifierCV(n_alphas=3, cv=2))
add("quadboost_regressor", "mixed", "number", QuadBoostRegressor(n_estimators=6, random_state=0))
add("quadboost_regressor_trees", "gaps", "number", QuadBoostRegressor("l2", n_estimators=4, dictionary="trees"))
add("quadboost_regressor_learners", "gaps", "number", QuadBoostRegressor(n_estimators=2, dictionary=TreeVoter(**SMALL)))

# learners as voters
add(
    "adaboost_of_trees",
    "mixed",
    "text 3",
    AdaBoostClassifier(2, vote="discrete", voter=TreeVoter(**SMALL), random_state=0),
)
add("subagging", "mixed", "text 3", SubaggingClassifier(None, 2, oob_score=True, max_samples=0.5, random_state=0))
add(
    "subagging_soft",
    "gaps",
    "integers 3",
    SubaggingClassifier(TreeVoter(max_depth=2), 2, voting="soft", random_state=0),
)
add(
    "subagging_nested",
    "plain",
    "text 2",
    SubaggingClassifier(SubaggingClassifier(AdaBoostClassifier(2, vote="discrete"), 2), 2, random_state=0),
)
add(
    "subagging_of_rounds",
    "gaps",
    "text 3",
    SubaggingClassifier(gradient("log_loss", "text 3", n_estimators=1), 2, voting="soft", random_state=0),
)

# linear models: in leaves, in committees, alone
add("model_tree", "mixed", "text 3", ProbitModelTreeClassifier(5, min_samples_leaf=12, random_state=0))
add(
    "model_tree_per_class",
    "gaps",
    "text 3",
    ProbitModelTreeClassifier(4, link="logit", tree="per_class", min_samples_leaf=20, random_state=0),
)
add("sbpmt", "mixed", "text 2", SBPMTClassifier(2, 2, 4, min_samples_leaf=15, random_state=0))
add(
    "sbpmt_hard",
    "gaps",
    "text 3",
    SBPMTClassifier(2, 2, 4, voting="hard", link="logit", oob_score=True, random_state=0),
)
add("sbpmt_shares", "plain", "truth 2", SBPMTClassifier(2, 2, 4, voting="shares", emphasis="half", random_state=0))
add("probit_boost", "mixed", "text 3", ProbitBoostClassifier(5, random_state=0))
add("probit_boost_stumps", "gaps", "text 2", ProbitBoostClassifier(4, learner="stump", random_state=0))
add("logit_boost", "gaps", "text 2", LogitBoostClassifier(5, selection="likelihood", random_state=0))
add("logit_boost_stumps", "mixed", "text 3", LogitBoostClassifier(3, learner="stump", random_state=0))

# graphs of soft stumps and of learners, walked in every way
add("probabilistic", "gaps", "text 2", ProbabilisticAdaBoostClassifier(4, **HALF))
add(
    "probabilistic_learners",
    "gaps",
    "text 2",
    ProbabilisticAdaBoostClassifier(2, voter=TreeVoter(**SMALL), random_state=0),
)
add("boosting_tree", "mixed", "text 3", BoostingTreeClassifier(4, method="likely_path", **HALF))
add("boosting_tree_sampled", "plain", "truth 2", BoostingTreeClassifier(4, choose="drop", method="sampled", **HALF))
add("boosting_tree_majority", "gaps", "text 3", BoostingTreeClassifier(4, method="majority", n_paths=50, **HALF))
add("matryoshka", "mixed", "text 2", MatryoshkaClassifier([2, 2], **HALF))
add("matryoshka_greedy", "plain", "integers 3", MatryoshkaClassifier("greedy", max_voters=4, collect="sign", **HALF))
add(
    "matryoshka_learners",
    "plain",
    "text 3",
    MatryoshkaClassifier(
        levels=1, voter=TreeVoter(**SMALL), estimate="ml", method="majority", n_paths=50, random_state=0
    ),
)

# ensembles trained already
FOREST = RandomForestClassifier(5, max_depth=3, random_state=0)
for _objective in ("uniform", "rank", "percentile"):
    add(f"reweighted_{_objective}", "gaps", "text 2", reweighted(FOREST, _objective, slack=0.2))
for _objective in ("variance", "min_margin", "soft_margin", "mincq", "doom"):
    add(f"reweighted_{_objective}", "gaps", "text 2", reweighted(FOREST, _objective))
add("reweighted_range", "gaps", "text 2", reweighted(FOREST, "range", xi=0.005))
add("reweighted_tandem", "gaps", "text 2", reweighted(FOREST, "tandem", on="oob"))
add(
    "reweighted_free",
    "plain",
    "integers 3",
    reweighted(AdaBoostClassifier(4, vote="discrete", **SMALL), "variance", form="free"),
)
add("reweighted_rounds", "mixed", "text 3", reweighted(gradient("log_loss", "text 3"), "doom", steepness=3.0))
add("reweighted_quad", "plain", "text 2", reweighted(QuadBoostClassifier(n_estimators=6), "mincq"))
add("reweighted_theirs", "plain", "text 3", reweighted(TheirForest(5, max_depth=3, random_state=0), "soft_margin"))
add("reweighted_samme", "plain", "text 3", reweighted(TheirAdaBoost(n_estimators=4, random_state=0), "doom"))
add(
    "reweighted_learners",
    "plain",
    "text 2",
    reweighted(VotingClassifier([("a", TreeVoter(max_depth=3)), ("b", TreeVoter(max_depth=1))]), "doom"),
)
add(
    "reweighted_bagging",
    "plain",
    "text 3",
    reweighted(BaggingClassifier(TreeVoter(**SMALL), 3, random_state=0), "mincq"),
)
add("reweighted_xgboost", "plain", "integers 2", lambda X, y: xgboost(X, (y == 0).astype(int)))
add("reweighted_lightgbm", "gaps", "integers 3", lightgbm)
add("pruned_voters", "mixed", "text 2", lambda X, y: prune(FOREST.fit(X, y), X, y, level="voter", max_voters=2))
add("pruned_leaves", "mixed", "text 3", lambda X, y: prune(FOREST.fit(X, y), X, y, max_nodes=0.5))
add(
    "leaves_of_numbers",
    "gaps",
    "number",
    lambda X, y: LeafReweighterRegressor(
        RandomForestRegressor(5, max_depth=3, random_state=0).fit(X, y), max_nodes=0.5, cv=3
    ).fit(X, y),
)
add("leaves_once", "gaps", "text 2", lambda X, y: LeafReweighter(FOREST.fit(X, y), max_nodes=0.5, cv=3).fit(X, y))
add("leaves", "gaps", "text 2", lambda X, y: LeafReweighter(FOREST.fit(X, y), max_nodes=0.5, cv=3).fit(X, y))


def shared(model: Any) -> Make:
    """The committee alone, its equal sub-trees stored once."""

    def make(X: Any, y: Any) -> Any:
        voters = model.fit(X, y).committee_.voters
        rounds = isinstance(voters, Rounds)
        forest = SharedForest.of(voters.forest if rounds else voters)
        return replace(model.committee_, voters=replace(voters, forest=forest) if rounds else forest)

    return make


# equal sub-trees stored once
add("shared_labels", "mixed", "text 2", shared(AdaBoostClassifier(5, vote="discrete", max_depth=2, random_state=0)))
add("shared_shares", "gaps", "text 3", shared(RandomForestClassifier(6, max_depth=3, random_state=0)))
add("shared_many", "gaps", "many 10", shared(RandomForestClassifier(3, max_depth=4, random_state=0)))
add("shared_rounds", "mixed", "text 3", shared(gradient("log_loss", "text 3")))


def recorded(model: Any) -> Make:
    """The committee alone, its equal sub-trees stored once, with all nodes and their training record."""
    return lambda X, y: share_subtrees(model.fit(X, y).committee_)


add("recorded_shares", "gaps", "text 3", recorded(RandomForestClassifier(6, max_depth=3, random_state=0)))
add("recorded_rounds", "mixed", "text 3", recorded(gradient("log_loss", "text 3")))


# ensembles as members
def with_small_members(model: Any) -> Make:
    def make(X: Any, y: Any) -> Any:
        with pytest.MonkeyPatch.context() as monkeypatch:
            use_small_members(monkeypatch)
            return model.fit(X, y)

    return make


ALL_MEMBERS = {"effort": "best", "cv": 2, "min_gain": 0.0, "random_state": 0}
add("committee", "mixed", "text 3", with_small_members(CommitteeClassifier(**ALL_MEMBERS)))
add("committee_two", "gaps", "truth 2", with_small_members(CommitteeClassifier(**ALL_MEMBERS)))
add("committee_regressor", "mixed", "number", with_small_members(CommitteeRegressor(**ALL_MEMBERS)))

add("committee_compact", "mixed", "text 3", with_small_members(CommitteeClassifier(**ALL_MEMBERS)))
add("committee_compact_regressor", "mixed", "number", with_small_members(CommitteeRegressor(**ALL_MEMBERS)))


def stacked(X: Any, y: Any) -> Committee:
    """A committee alone, of a forest, boosting, and a second layer that reads both."""
    members = [model.fit(X, y).committee_ for model in (FOREST, gradient("log_loss", "text 3"))]
    Z = stacked_columns(np.stack([one.predict_proba(X) for one in members], axis=1))
    second = gradient("log_loss", "text 3").fit(Z, y).committee_
    voters = StackedVoters(MemberCommittees(members), np.ones(2, dtype=np.int64), second.voters)
    fits = MemberCommittees([*members, replace(second, voters=voters, table=None)])
    return Committee(fits, np.array([0.5, 0.25, 0.25]), second.classes, Share())


add("committee_stacked", "plain", "text 3", stacked)

# sets and intervals
add(
    "conformal_sets",
    "mixed",
    "text 3",
    ConformalClassifier(
        TreeVoter(max_depth=2), 0.3, cv=2, nonconformity="aps", randomised=True, per_class=True, random_state=0
    ),
)
add(
    "conformal_bag",
    "gaps",
    "text 2",
    ConformalClassifier(RandomForestClassifier(8, max_samples=0.5, max_depth=2), method="plus", random_state=0),
)
add("conformal_folds", "gaps", "number", ConformalRegressor(TreeRegressor(**SMALL), cv=2, method="plus"))
add(
    "conformal_normalised",
    "gaps",
    "number",
    ConformalRegressor(TreeRegressor(**SMALL), cv=2, nonconformity="normalised", difficulty=TreeRegressor(**SMALL)),
)


def answers(model: Any, X: Any) -> dict[str, NDArray[Any]]:
    """Everything that a model says of a table's rows, by the name of the method."""
    numbers = not isinstance(model, Committee) and is_regressor(model)
    methods = ["predict"] if numbers else ["predict", "decision_function", "predict_proba"]
    methods += [method for method in ("predict_interval", "p_values") if hasattr(model, method)]
    return {method: getattr(model, method)(X) for method in methods}


def write(names: list[str]) -> None:
    """Fit the models of these names, and add their files and answers."""
    stored = dict(np.load(ANSWERS)) if ANSWERS.exists() else {}
    for name in names:
        kind, of, fit = MODELS[name]
        given = columns(kind, 80 + N_ASKED)
        y = target(given["y"], of)[:-N_ASKED]
        model = fit(table({key: column[:-N_ASKED] for key, column in given.items()}), y)
        model.save(FOLDER / f"{name}.safetensors")
        asked = {key: column[-N_ASKED:] for key, column in given.items() if key != "y"}
        stored |= {f"rows/{kind}/{key}": column for key, column in asked.items()}
        said = answers(model, table(asked))
        stored |= {f"answers/{name}/{kind}/{method}": answer for method, answer in said.items()}
    np.savez_compressed(ANSWERS, allow_pickle=False, **stored)


if __name__ == "__main__":
    write(sys.argv[1:] or list(MODELS))
