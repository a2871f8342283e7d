"""Every learner, in several configurations, against the capabilities of checks.py."""

import multiprocessing
import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import committee
from tests.checks import answers_of_child, yield_checks_of_all
from tests.gradient_cases import PLAIN
from tests.small_portfolio import use_small_members
from tests.subjects import Subject


def boosted(n_estimators: int = 8, **params: object) -> committee.AdaBoostClassifier:
    return committee.AdaBoostClassifier(n_estimators, random_state=0, **params)  # type: ignore[arg-type]


def subagged(estimator: object = None, **params: object) -> committee.SubaggingClassifier:
    return committee.SubaggingClassifier(estimator, 5, random_state=0, **params)  # type: ignore[arg-type]


def gradient(**params: object) -> committee.GradientBoostingClassifier:
    settings = PLAIN | {"n_estimators": 8, "min_samples_leaf": 1, "max_leaf_nodes": 6, "random_state": 0} | params
    return committee.GradientBoostingClassifier(**settings)  # type: ignore[arg-type]


def gradient_of_numbers(**params: object) -> committee.GradientBoostingRegressor:
    settings = PLAIN | {"n_estimators": 8, "min_samples_leaf": 1, "max_leaf_nodes": 6, "random_state": 0} | params
    return committee.GradientBoostingRegressor(**settings)  # type: ignore[arg-type]


SUBJECTS = [
    Subject(committee.QuadBoostClassifier(n_estimators=20, random_state=0), tolerance=1e-7),
    Subject(committee.QuadBoostClassifier("l2", alpha=0.1, n_estimators=20, reweight="every_k", random_state=0)),
    Subject(
        committee.QuadBoostClassifier(
            "linf", n_estimators=12, dictionary="all_stumps", reweight="fully_corrective", random_state=0
        )
    ),
    Subject(
        committee.QuadBoostClassifier(
            None, n_estimators=8, dictionary="all_stumps", fit_intercept=False, random_state=0
        )
    ),
    Subject(committee.QuadBoostClassifier(n_estimators=8, dictionary="trees", random_state=0)),
    Subject(committee.QuadBoostClassifier(n_estimators=4, dictionary=committee.TreeVoter(max_depth=2), random_state=0)),
    Subject(committee.QuadBoostClassifier(n_estimators=4, dictionary=GaussianNB(), random_state=0), storable=False),
    Subject(
        committee.QuadBoostClassifier(
            "l2", n_estimators=3, dictionary=committee.TreeRegressor(max_depth=2), random_state=0
        ),
        tolerance=1e-8,
    ),
    Subject(committee.QuadBoostClassifierCV(n_alphas=6, cv=3, tol=1e-10), integer_weights=False, tolerance=1e-6),
    Subject(committee.QuadBoostRegressor(n_estimators=20, random_state=0)),
    Subject(
        committee.QuadBoostRegressor("l2", n_estimators=8, dictionary="trees", fit_intercept=False, random_state=0)
    ),
    Subject(
        committee.QuadBoostRegressor(n_estimators=3, dictionary=LinearRegression(), random_state=0), storable=False
    ),
    Subject(committee.ProbabilisticAdaBoostClassifier(8, random_state=0), tolerance=1e-7),
    Subject(
        committee.ProbabilisticAdaBoostClassifier(2, voter=committee.TreeVoter(max_depth=2), random_state=0),
        tolerance=1e-7,
    ),
    Subject(committee.ProbabilisticAdaBoostClassifier(2, voter=GaussianNB(), random_state=0), storable=False),
    Subject(committee.BoostingTreeClassifier(8, random_state=0), tolerance=1e-6),
    Subject(committee.BoostingTreeClassifier(8, softness=0.0, method="likely_path", random_state=0), tolerance=1e-6),
    Subject(committee.BoostingTreeClassifier(8, choose="drop", method="majority", random_state=0), tolerance=1e-6),
    Subject(committee.MatryoshkaClassifier(levels=3, random_state=0), tolerance=1e-6),
    Subject(committee.MatryoshkaClassifier("greedy", max_voters=8, random_state=0), tolerance=1e-6),
    Subject(committee.MatryoshkaClassifier([2, 4], collect="sign", random_state=0), tolerance=1e-6),
    Subject(boosted(), scale_free=True),
    Subject(boosted(max_depth=2), scale_free=True),
    Subject(boosted(max_depth=None, max_leaf_nodes=4, criterion="entropy", learning_rate=0.5), scale_free=True),
    Subject(boosted(max_depth=3, max_features=0.5), draws_columns=True),
    Subject(boosted(max_bins=6)),
    Subject(boosted(vote="confidence")),
    Subject(boosted(vote="confidence", max_depth=2)),
    Subject(boosted(vote="abstaining")),
    Subject(boosted(voter=DecisionTreeClassifier(max_depth=1)), storable=False),
    Subject(boosted(voter=committee.TreeVoter(max_depth=2))),
    # weights move which rows are drawn or held out, so they repeat rows in the mean only
    Subject(boosted(early_stopping=True, validation_fraction=0.2), integer_weights=False),
    Subject(subagged(), integer_weights=False, scale_free=True),
    Subject(subagged(voting="soft", max_samples=0.2, oob_score=True), integer_weights=False, scale_free=True),
    Subject(subagged(bootstrap=True), integer_weights=False, scale_free=True),
    Subject(subagged(boosted(4, vote="confidence")), integer_weights=False),
    Subject(subagged(subagged(committee.TreeVoter(max_depth=3))), integer_weights=False, scale_free=True),
    Subject(subagged(GaussianNB()), integer_weights=False, storable=False),
    Subject(committee.TreeVoter(random_state=0), scale_free=True),
    Subject(committee.TreeVoter(max_depth=4, criterion="entropy", max_bins=16, random_state=0), scale_free=True),
    Subject(committee.AbstainingStump(), scale_free=True),
    Subject(committee.ProbitModelTreeClassifier(10, min_samples_leaf=1, random_state=0)),
    Subject(
        committee.ProbitModelTreeClassifier(10, tree="per_class", min_samples_leaf=8, random_state=0),
        integer_weights=False,
    ),
    Subject(
        committee.ProbitModelTreeClassifier(
            8, link="logit", selection="likelihood", min_samples_leaf=1, random_state=0
        ),
        scale_free=True,
    ),
    Subject(
        committee.ProbitModelTreeClassifier(8, link="logit", tree="per_class", min_samples_leaf=1, random_state=0),
        scale_free=True,
    ),
    Subject(
        committee.SBPMTClassifier(3, 2, 10, min_samples_leaf=1, max_features=None, random_state=0),
        integer_weights=False,
    ),
    Subject(
        committee.SBPMTClassifier(
            3, 2, 8, voting="hard", emphasis="half", link="logit", min_samples_leaf=8, max_features=None, random_state=0
        ),
        integer_weights=False,
        scale_free=True,
    ),
    Subject(
        committee.SBPMTClassifier(3, 2, 8, tree="per_class", max_features=0.6, min_samples_leaf=8, random_state=0),
        integer_weights=False,
        draws_columns=True,
    ),
    Subject(
        committee.SBPMTClassifier(
            5, 2, 8, tree="per_class", max_features=None, max_samples=0.2, oob_score=True, random_state=0
        ),
        integer_weights=False,
    ),
    Subject(
        committee.SBPMTClassifier(
            3, 2, 8, emphasis="m2", leaf_steps="gradient", min_samples_leaf=8, max_features=None, random_state=0
        ),
        integer_weights=False,
    ),
    Subject(committee.ProbitBoostClassifier(20, random_state=0)),
    Subject(committee.ProbitBoostClassifier(20, steps="gradient", random_state=0)),
    Subject(committee.ProbitBoostClassifier(8, learner="stump", random_state=0)),
    Subject(committee.LogitBoostClassifier(10, selection="likelihood", random_state=0)),
    Subject(committee.LogitBoostClassifier(8, learner="stump", max_bins=16, random_state=0)),
    # of equally good row weights a program gives some, and which ones depends on the voters' order; trained voters
    # follow them. The dictionaries that are listed have one best vote here
    Subject(committee.LPBoostClassifier(0.8, tol=0.03, random_state=0)),
    Subject(committee.LPBoostClassifier(0.8, dictionary="all_stumps", max_bins=16, tol=0.05, random_state=0)),
    Subject(committee.LPBoostClassifier(0.7, dictionary="trees", tol=0.05, random_state=0), draws_columns=True),
    Subject(
        committee.LPBoostClassifier(0.7, dictionary=committee.TreeVoter(max_depth=2), tol=0.05, random_state=0),
        draws_columns=True,
    ),
    Subject(
        committee.LPBoostClassifier(0.9, dictionary=GaussianNB(), tol=0.05, random_state=0),
        draws_columns=True,
        storable=False,
    ),
    Subject(committee.ArcGVClassifier(10, random_state=0)),
    Subject(committee.ArcGVClassifier(6, max_depth=2, max_bins=16, random_state=0)),
    Subject(committee.ArcGVClassifier(2, voter=committee.TreeVoter(max_depth=2), random_state=0)),
    Subject(committee.ArcGVClassifier(2, voter=GaussianNB(), random_state=0), storable=False),
    Subject(
        committee.ArcGVClassifier(8, early_stopping=True, validation_fraction=0.2, random_state=0),
        integer_weights=False,
    ),
    Subject(committee.MDBoostClassifier(2.0, n_estimators=1000, tol=0.3, random_state=0)),
    Subject(committee.MDBoostClassifier(5.0, n_estimators=1000, max_depth=2, tol=0.3, random_state=0)),
    Subject(committee.MDBoostClassifier(2.0, voter=GaussianNB(), tol=0.3, random_state=0), storable=False),
    Subject(committee.DOOMBoostClassifier(n_estimators=6, n_start=3, random_state=0), scale_free=True),
    Subject(
        committee.DOOMBoostClassifier(5.0, n_estimators=6, n_start=3, max_depth=2, random_state=0), scale_free=True
    ),
    Subject(
        committee.DOOMBoostClassifier(n_estimators=3, n_start=2, voter=GaussianNB(), random_state=0), storable=False
    ),
    Subject(committee.TreeRegressor(random_state=0), scale_free=True),
    Subject(committee.TreeRegressor(max_leaf_nodes=6, max_bins=16, random_state=0), scale_free=True),
    Subject(committee.TreeRegressor(random_state=0), scale_free=True, several_targets=True),
    Subject(
        committee.TreeRegressor(max_depth=3, max_features=0.5, random_state=0), draws_columns=True, scale_free=True
    ),
    Subject(gradient()),
    Subject(gradient(loss="exponential", max_depth=2, growth="depth", leaf_l0=0.1, leaf_l1=0.1)),
    Subject(gradient(tree="shared", line_search=True)),
    Subject(gradient(newton=False, line_search=True)),
    Subject(gradient(subsample=0.6, max_features_tree=0.7, max_features=0.8), draws_columns=True),
    Subject(gradient(early_stopping=True, validation_fraction=0.2), draws_columns=True),
    Subject(
        committee.GradientBoostingClassifier(n_estimators=8, min_samples_leaf=1, max_leaf_nodes=6, random_state=0),
        draws_columns=True,
    ),
    Subject(
        committee.GradientBoostingRegressor(n_estimators=8, min_samples_leaf=1, max_leaf_nodes=6, random_state=0),
        draws_columns=True,
    ),
    Subject(gradient_of_numbers()),
    Subject(gradient_of_numbers(leaf="linear")),
    Subject(gradient_of_numbers(leaf="linear", tree="shared"), several_targets=True),
    Subject(gradient(leaf="linear")),
    Subject(gradient_of_numbers(loss="absolute_error")),
    Subject(gradient_of_numbers(line_search=True, leaf_l1=0.1)),
    Subject(gradient_of_numbers(loss="huber", max_bins=16, max_depth=2)),
    Subject(gradient_of_numbers(tree="shared"), several_targets=True),
    Subject(gradient_of_numbers(tree="per_target", loss="absolute_error"), several_targets=True),
    Subject(
        committee.RandomForestClassifier(8, random_state=0), integer_weights=False, draws_columns=True, scale_free=True
    ),
    Subject(
        committee.RandomForestClassifier(
            8, criterion="entropy", bootstrap=False, max_samples=0.5, max_depth=4, random_state=0
        ),
        integer_weights=False,
        draws_columns=True,
        scale_free=True,
    ),
    Subject(
        committee.RandomForestClassifier(
            8, voting="hard", max_features_tree=0.7, min_samples_leaf=3, max_leaf_nodes=12, random_state=0
        ),
        integer_weights=False,
        draws_columns=True,
        scale_free=True,
    ),
    Subject(
        committee.RandomForestClassifier(8, reserve=0.2, random_state=0),
        integer_weights=False,
        draws_columns=True,
        scale_free=True,
    ),
    Subject(
        committee.RandomForestRegressor(8, random_state=0), integer_weights=False, draws_columns=True, scale_free=True
    ),
    Subject(
        committee.RandomForestRegressor(8, random_state=0),
        integer_weights=False,
        draws_columns=True,
        scale_free=True,
        several_targets=True,
    ),
    Subject(committee.FunctionalGradientBoostingClassifier(n_estimators=3, random_state=0)),
    Subject(
        committee.FunctionalGradientBoostingClassifier(base=LinearRegression(), n_estimators=3, random_state=0),
        storable=False,
    ),
    Subject(committee.FunctionalGradientBoostingRegressor("huber", n_estimators=4, random_state=0)),
    Subject(
        committee.FunctionalGradientBoostingRegressor(n_estimators=3, line_search=False, random_state=0),
        several_targets=True,
    ),
    Subject(
        committee.CommitteeClassifier("fast", cv=2, random_state=0),
        integer_weights=False,
        draws_columns=True,
        scale_free=True,
    ),
    Subject(
        committee.CommitteeRegressor("fast", cv=2, random_state=0),
        integer_weights=False,
        draws_columns=True,
    ),
    Subject(
        committee.CommitteeRegressor("fast", cv=2, loss="quantile", quantile=0.8, random_state=0),
        integer_weights=False,
        draws_columns=True,
    ),
    Subject(
        committee.ConformalClassifier(
            committee.RandomForestClassifier(8, max_samples=0.3, min_weight_leaf=0.05), random_state=0
        ),
        integer_weights=False,
        draws_columns=True,
        scale_free=True,
        in_pieces=False,
    ),
    Subject(committee.ConformalRegressor(committee.TreeRegressor(max_depth=3), cv=2, random_state=0), in_pieces=False),
]


def test_every_learner_is_checked():
    assert {type(subject.model).__name__ for subject in SUBJECTS} == set(committee.LEARNERS) - {
        "MarginReweighter",
        "LeafReweighter",
        "LeafReweighterRegressor",  # they take what is trained already: test_reweighter_checks.py
    }


@pytest.mark.parametrize(
    ("subject", "check"),
    [
        pytest.param(
            subject,
            check,
            id=f"{' '.join(repr(subject.model).split())}{', two targets' * subject.several_targets}-{check.__name__}",
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
    subjects = [subject for subject in SUBJECTS if subject.storable]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        for subject, said in zip(subjects, pool.map(_fit_with_threads, subjects), strict=True):
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
