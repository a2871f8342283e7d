"""Every learner, in several configurations, against the capabilities of checks.py."""

import multiprocessing
import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import committee as c
from tests.checks import answers_of_child, yield_checks_of_all
from tests.gradient_cases import PLAIN
from tests.small_portfolio import use_small_members
from tests.subjects import Subject

TREE = c.TreeVoter(max_depth=2)
FEW: dict[str, Any] = {"n_estimators": 8, "min_samples_leaf": 1, "max_leaf_nodes": 6}
DRAWN = {"integer_weights": False}
"""Rows are drawn as a whole, whatever they weigh."""
SAMPLED = DRAWN | {"draws_columns": True}


def subjects(*models: Any, **promises: Any) -> list[Subject]:
    """Subjects with the same promises; learners that draw get a seed."""
    for model in models:
        if "random_state" in model.get_params():
            model.set_params(random_state=0)
    return [Subject(model, **promises) for model in models]


def gradient(**params: Any) -> c.GradientBoostingClassifier:
    return c.GradientBoostingClassifier(**PLAIN | FEW | params)


def gradient_of_numbers(**params: Any) -> c.GradientBoostingRegressor:
    return c.GradientBoostingRegressor(**PLAIN | FEW | params)


def subagged(estimator: Any = None, **params: Any) -> c.SubaggingClassifier:
    return c.SubaggingClassifier(estimator, 5, **params)


def sbpmt(*args: Any, **params: Any) -> c.SBPMTClassifier:
    return c.SBPMTClassifier(*args, **{"min_samples_leaf": 8, "max_features": None} | params)


SUBJECTS = [
    *subjects(c.QuadBoostClassifier(n_estimators=20), tolerance=1e-7),
    *subjects(
        c.QuadBoostClassifier("l2", alpha=0.1, n_estimators=20, reweight="every_k"),
        c.QuadBoostClassifier("linf", n_estimators=12, dictionary="all_stumps", reweight="fully_corrective"),
        c.QuadBoostClassifier(None, n_estimators=8, dictionary="all_stumps", fit_intercept=False),
        c.QuadBoostClassifier(n_estimators=8, dictionary="trees"),
        c.QuadBoostClassifier(n_estimators=4, dictionary=TREE),
        c.QuadBoostRegressor(n_estimators=20),
        c.QuadBoostRegressor("l2", n_estimators=8, dictionary="trees", fit_intercept=False),
    ),
    *subjects(
        c.QuadBoostClassifier(n_estimators=4, dictionary=GaussianNB()),
        c.QuadBoostRegressor(n_estimators=3, dictionary=LinearRegression()),
        storable=False,
    ),
    *subjects(c.QuadBoostClassifier("l2", n_estimators=3, dictionary=c.TreeRegressor(max_depth=2)), tolerance=1e-8),
    *subjects(c.QuadBoostClassifierCV(n_alphas=6, cv=3, tol=1e-10), integer_weights=False, tolerance=1e-6),
    *subjects(c.ProbabilisticAdaBoostClassifier(8), c.ProbabilisticAdaBoostClassifier(2, voter=TREE), tolerance=1e-7),
    *subjects(c.ProbabilisticAdaBoostClassifier(2, voter=GaussianNB()), storable=False),
    *subjects(
        c.BoostingTreeClassifier(8),
        c.BoostingTreeClassifier(8, softness=0.0, method="likely_path"),
        c.BoostingTreeClassifier(8, choose="drop", method="majority"),
        c.MatryoshkaClassifier(levels=3),
        c.MatryoshkaClassifier("greedy", max_voters=8),
        c.MatryoshkaClassifier([2, 4], collect="sign"),
        tolerance=1e-6,
    ),
    *subjects(
        c.AdaBoostClassifier(8),
        c.AdaBoostClassifier(8, max_depth=2),
        c.AdaBoostClassifier(8, max_depth=None, max_leaf_nodes=4, criterion="entropy", learning_rate=0.5),
    ),
    *subjects(c.AdaBoostClassifier(8, max_depth=3, max_features=0.5), draws_columns=True),
    *subjects(
        c.AdaBoostClassifier(8, max_bins=6),
        c.AdaBoostClassifier(8, vote="confidence"),
        c.AdaBoostClassifier(8, vote="confidence", max_depth=2),
        c.AdaBoostClassifier(8, vote="abstaining"),
        c.AdaBoostClassifier(8, voter=TREE),
    ),
    *subjects(c.AdaBoostClassifier(8, voter=DecisionTreeClassifier(max_depth=1)), storable=False),
    # weights move which rows are drawn or held out, so they repeat rows in the mean only
    *subjects(c.AdaBoostClassifier(8, early_stopping=True, validation_fraction=0.2), integer_weights=False),
    *subjects(
        subagged(),
        subagged(voting="soft", max_samples=0.2, oob_score=True),
        subagged(bootstrap=True),
        subagged(subagged(c.TreeVoter(max_depth=3)).set_params(random_state=0)),
        **DRAWN,
    ),
    *subjects(subagged(c.AdaBoostClassifier(4, vote="confidence", random_state=0)), integer_weights=False),
    *subjects(subagged(GaussianNB()), integer_weights=False, storable=False),
    *subjects(
        c.TreeVoter(),
        c.TreeVoter(max_depth=4, criterion="entropy", max_bins=16),
        c.AbstainingStump(),
        c.TreeRegressor(),
        c.TreeRegressor(max_leaf_nodes=6, max_bins=16),
        c.TreeRegressor(criterion="absolute_error"),
    ),
    *subjects(c.TreeRegressor(), several_targets=True),
    *subjects(c.TreeRegressor(max_depth=3, max_features=0.5), draws_columns=True),
    *subjects(c.ProbitModelTreeClassifier(10, min_samples_leaf=1)),
    *subjects(c.ProbitModelTreeClassifier(10, tree="per_class", min_samples_leaf=8), integer_weights=False),
    *subjects(
        c.ProbitModelTreeClassifier(8, link="logit", selection="likelihood", min_samples_leaf=1),
        c.ProbitModelTreeClassifier(8, link="logit", tree="per_class", min_samples_leaf=1),
    ),
    *subjects(sbpmt(3, 2, 10, min_samples_leaf=1), integer_weights=False),
    *subjects(sbpmt(3, 2, 8, voting="hard", emphasis="half", link="logit"), **DRAWN),
    *subjects(sbpmt(3, 2, 8, tree="per_class", max_features=0.6), integer_weights=False, draws_columns=True),
    *subjects(
        sbpmt(5, 2, 8, tree="per_class", max_samples=0.2, oob_score=True, min_samples_leaf=20),
        sbpmt(3, 2, 8, emphasis="m2", leaf_steps="gradient"),
        integer_weights=False,
    ),
    *subjects(
        c.ProbitBoostClassifier(20),
        c.ProbitBoostClassifier(20, steps="gradient"),
        c.ProbitBoostClassifier(8, learner="stump"),
        c.LogitBoostClassifier(10, selection="likelihood"),
        c.LogitBoostClassifier(8, learner="stump", max_bins=16),
        # of equally good row weights a program gives some, and which ones depends on the voters' order; trained
        # voters follow them. The dictionaries that are listed have one best vote here
        c.LPBoostClassifier(0.8, tol=0.03),
        c.LPBoostClassifier(0.8, dictionary="all_stumps", max_bins=16, tol=0.05),
    ),
    *subjects(
        c.LPBoostClassifier(0.7, dictionary="trees", tol=0.05),
        c.LPBoostClassifier(0.7, dictionary=TREE, tol=0.05),
        draws_columns=True,
    ),
    *subjects(c.LPBoostClassifier(0.9, dictionary=GaussianNB(), tol=0.05), draws_columns=True, storable=False),
    *subjects(
        c.ArcGVClassifier(10),
        c.ArcGVClassifier(6, max_depth=2, max_bins=16),
        c.ArcGVClassifier(2, voter=TREE),
        c.MDBoostClassifier(2.0, n_estimators=1000, tol=0.3),
        c.MDBoostClassifier(5.0, n_estimators=1000, max_depth=2, tol=0.3),
    ),
    *subjects(c.ArcGVClassifier(8, early_stopping=True, validation_fraction=0.2), integer_weights=False),
    *subjects(
        c.DOOMBoostClassifier(n_estimators=6, n_start=3),
        c.DOOMBoostClassifier(5.0, n_estimators=6, n_start=3, max_depth=2),
    ),
    *subjects(
        c.ArcGVClassifier(2, voter=GaussianNB()),
        c.MDBoostClassifier(2.0, voter=GaussianNB(), tol=0.3),
        c.DOOMBoostClassifier(n_estimators=3, n_start=2, voter=GaussianNB()),
        storable=False,
    ),
    *subjects(
        gradient(),
        gradient(loss="exponential", max_depth=2, growth="depth", leaf_l0=0.1, leaf_l1=0.1),
        gradient(tree="shared", line_search=True),
        gradient(newton=False, line_search=True),
        gradient(leaf="linear"),
    ),
    *subjects(
        gradient(subsample=0.6, max_features_tree=0.7, max_features=0.8),
        gradient(early_stopping=True, validation_fraction=0.2),
        c.GradientBoostingClassifier(**FEW),
        c.GradientBoostingRegressor(**FEW),
        draws_columns=True,
    ),
    *subjects(
        gradient_of_numbers(),
        gradient_of_numbers(leaf="linear"),
        gradient_of_numbers(loss="absolute_error"),
        gradient_of_numbers(line_search=True, leaf_l1=0.1),
        gradient_of_numbers(loss="huber", max_bins=16, max_depth=2),
    ),
    *subjects(
        gradient_of_numbers(leaf="linear", tree="shared"),
        gradient_of_numbers(tree="shared"),
        gradient_of_numbers(tree="per_target", loss="absolute_error"),
        several_targets=True,
    ),
    *subjects(
        c.RandomForestClassifier(8),
        c.RandomForestClassifier(8, criterion="entropy", bootstrap=False, max_samples=0.5, max_depth=4),
        c.RandomForestClassifier(8, voting="hard", max_features_tree=0.7, min_samples_leaf=3, max_leaf_nodes=12),
        c.RandomForestClassifier(8, reserve=0.2),
        c.RandomForestRegressor(8),
        c.RandomForestRegressor(4, criterion="absolute_error"),
        c.CommitteeClassifier("fast", cv=2),
        **SAMPLED,
    ),
    *subjects(c.RandomForestRegressor(8), **SAMPLED, several_targets=True),
    *subjects(
        c.CommitteeRegressor("fast", cv=2),
        c.CommitteeRegressor("fast", cv=2, loss="quantile", quantile=0.8),
        integer_weights=False,
        draws_columns=True,
    ),
    *subjects(
        c.FunctionalGradientBoostingClassifier(n_estimators=3),
        c.FunctionalGradientBoostingRegressor("huber", n_estimators=4),
    ),
    *subjects(c.FunctionalGradientBoostingClassifier(base=LinearRegression(), n_estimators=3), storable=False),
    *subjects(c.FunctionalGradientBoostingRegressor(n_estimators=3, line_search=False), several_targets=True),
    *subjects(
        c.ConformalClassifier(c.RandomForestClassifier(8, max_samples=0.3, min_weight_leaf=0.05)),
        **SAMPLED,
        in_pieces=False,
    ),
    *subjects(c.ConformalRegressor(c.TreeRegressor(max_depth=3), cv=2), in_pieces=False),
]
FIRST = {type(subject.model): subject.model for subject in reversed(SUBJECTS)}
"""The first subject of each learner."""


@cache
def words(model: Any) -> str:
    return " ".join(repr(model).split())


def test_every_learner_is_checked():
    # three take what is trained already: test_reweighter_checks.py
    trained_first = {"MarginReweighter", "LeafReweighter", "LeafReweighterRegressor"}
    assert {kind.__name__ for kind in FIRST} == set(c.LEARNERS) - trained_first


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("subject", "check"),
    [
        pytest.param(
            subject,
            check,
            id=f"{words(subject.model)}{', two targets' * subject.several_targets}-{check.__name__}",
            marks=[] if first else pytest.mark.slow,
        )
        for subject, check, first in yield_checks_of_all(SUBJECTS)
    ],
)
def test_capability(subject, check, monkeypatch):
    use_small_members(monkeypatch)
    check(subject)


def _fit_with_threads(subject):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        X, y = subject.numbers(2)
        return subject.answers(subject.fit(X, y, n_jobs=2), X)


@pytest.mark.slow
def test_worker_of_a_pool_is_quiet():
    """Workers of multiprocessing may start no processes, and joblib warns of that; threads are another matter."""
    storable = [subject for subject in SUBJECTS if subject.storable]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        for subject, said in zip(storable, pool.map(_fit_with_threads, storable), strict=True):
            assert_array_equal(said, _fit_with_threads(subject))


@pytest.mark.slow
def test_spawned_child_says_and_learns_the_same():
    """A process that inherits nothing, as on systems without fork."""
    models = [subject.fit(*subject.numbers(2)) for subject in SUBJECTS]
    jobs = [(subject, model, *subject.numbers(2)) for subject, model in zip(SUBJECTS, models, strict=True)]
    for (subject, model, X, _), (said, learned) in zip(jobs, answers_of_child("spawn", jobs), strict=True):
        answers = subject.answers(model, X)
        assert_array_equal(said, answers)
        assert_array_equal(learned, answers)
        assert np.isfinite(answers).all()
