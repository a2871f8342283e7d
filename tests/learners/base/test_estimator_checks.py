"""scikit-learn's own checks of its interface, on every learner in several configurations."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from sklearn.base import BaseEstimator
from sklearn.datasets import load_iris
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import (
    check_class_weight_classifiers,
    check_param_validation,
    estimator_checks_generator,
)

import committee
from tests.checks import is_among_the_first
from tests.small_portfolio import use_small_members

# few voters: the checks are of manners; but enough for those of three blobs, which must be told apart
LEARNERS = [
    committee.AdaBoostClassifier(3),
    committee.AdaBoostClassifier(3, max_depth=2),
    committee.AdaBoostClassifier(3, max_depth=None, max_leaf_nodes=4, learning_rate=0.5, criterion="entropy"),
    committee.AdaBoostClassifier(3, vote="confidence"),
    committee.AdaBoostClassifier(10, vote="abstaining"),
    committee.AdaBoostClassifier(3, voter=DecisionTreeClassifier(max_depth=1)),
    committee.AdaBoostClassifier(3, voter=LogisticRegression()),
    committee.AdaBoostClassifier(3, early_stopping=True, validation_fraction=0.3, n_iter_no_change=2),
    committee.SubaggingClassifier(n_estimators=3),
    committee.SubaggingClassifier(committee.AdaBoostClassifier(5), n_estimators=3),
    committee.SubaggingClassifier(n_estimators=3, voting="soft"),
    committee.SubaggingClassifier(n_estimators=3, bootstrap=True),
    committee.SubaggingClassifier(LogisticRegression(), n_estimators=3),
    committee.TreeVoter(),
    committee.TreeVoter(max_depth=3, criterion="entropy", max_bins=8),
    committee.AbstainingStump(),
    committee.ProbitModelTreeClassifier(10),
    committee.ProbitModelTreeClassifier(5, tree="per_class", min_samples_leaf=1),
    committee.ProbitModelTreeClassifier(5, link="logit", selection="likelihood"),
    committee.SBPMTClassifier(3, 2, 10),
    committee.SBPMTClassifier(3, 2, 10, voting="soft", emphasis="samme", min_samples_leaf=5),
    committee.SBPMTClassifier(3, 2, 10, tree="per_class", link="logit", min_samples_leaf=5, emphasis="mh"),
    committee.SBPMTClassifier(2, 2, 10, leaf_steps="gradient", emphasis="m2", min_samples_leaf=5),
    committee.ProbitBoostClassifier(10),
    committee.ProbitBoostClassifier(5, learner="stump"),
    committee.ProbitBoostClassifier(5, learner="stump", steps="gradient"),
    committee.LogitBoostClassifier(10, selection="likelihood"),
    committee.LogitBoostClassifier(5, learner="stump"),
    committee.LPBoostClassifier(0.2),
    committee.LPBoostClassifier(0.2, dictionary="all_stumps"),
    committee.LPBoostClassifier(0.2, dictionary="trees"),
    committee.LPBoostClassifier(dictionary=GaussianNB(), tol=0.05),
    committee.ArcGVClassifier(10),
    committee.ArcGVClassifier(5, max_depth=2),
    committee.ArcGVClassifier(5, early_stopping=True, validation_fraction=0.3, n_iter_no_change=2),
    committee.MDBoostClassifier(),
    committee.MDBoostClassifier(5.0, max_depth=None, max_leaf_nodes=4),
    committee.MDBoostClassifier(voter=GaussianNB()),
    committee.DOOMBoostClassifier(n_estimators=8, n_start=4),
    committee.DOOMBoostClassifier(n_estimators=3, n_start=2, voter=GaussianNB()),
    committee.QuadBoostClassifier(n_estimators=20),
    committee.QuadBoostClassifier(
        "l2", n_estimators=20, dictionary="all_stumps", reweight="every_k", fit_intercept=False
    ),
    committee.QuadBoostClassifier("linf", n_estimators=20, dictionary="trees"),
    committee.QuadBoostClassifier(None, n_estimators=3, dictionary=LogisticRegression()),
    committee.QuadBoostClassifier(n_estimators=20, early_stopping=True, validation_fraction=0.3, n_iter_no_change=5),
    committee.QuadBoostClassifierCV(n_alphas=5, cv=2),
    committee.QuadBoostClassifierCV("linf", n_alphas=3, n_estimators=[5, 20], cv=2),
    committee.QuadBoostRegressor(n_estimators=50),
    committee.QuadBoostRegressor("l2", alpha=0.1, n_estimators=20, dictionary="trees", reweight="fully_corrective"),
    committee.ProbabilisticAdaBoostClassifier(10),
    committee.ProbabilisticAdaBoostClassifier(3, voter=GaussianNB(), method="likely_path"),
    committee.ProbabilisticAdaBoostClassifier(14, method="majority", n_paths=20),
    committee.BoostingTreeClassifier(12),
    committee.BoostingTreeClassifier(12, choose="drop", method="majority"),
    committee.BoostingTreeClassifier(12, softness=0.0, method="sampled"),
    committee.MatryoshkaClassifier(),
    committee.MatryoshkaClassifier("greedy", max_voters=12),
    committee.MatryoshkaClassifier([3, 2], collect="sign", n_draws=5),
    committee.TreeRegressor(),
    committee.TreeRegressor(max_depth=3, max_bins=8),
    committee.GradientBoostingClassifier(n_estimators=5, min_samples_leaf=1, random_state=0),
    committee.GradientBoostingClassifier(
        "probit", 5, min_samples_leaf=1, growth="depth", max_depth=3, leaf_l0=0.01, random_state=0
    ),
    committee.GradientBoostingClassifier(
        n_estimators=5, min_samples_leaf=1, tree="shared", line_search=True, random_state=0
    ),
    committee.GradientBoostingRegressor(n_estimators=5, learning_rate=0.5, min_samples_leaf=1, random_state=0),
    committee.GradientBoostingRegressor(
        "absolute_error", 10, learning_rate=0.5, min_samples_leaf=1, subsample=0.7, random_state=0
    ),
    committee.GradientBoostingRegressor(
        n_estimators=5, extra_trees=True, interaction_constraints="pairwise", min_samples_leaf=1, random_state=0
    ),
    committee.FunctionalGradientBoostingClassifier(n_estimators=5, learning_rate=0.5),
    committee.FunctionalGradientBoostingClassifier(base=LinearRegression(), n_estimators=3),
    committee.FunctionalGradientBoostingRegressor(n_estimators=5, learning_rate=0.5),
    committee.RandomForestClassifier(5),
    committee.RandomForestClassifier(5, bootstrap=False, max_samples=0.6, voting="hard"),
    committee.RandomForestClassifier(5, reserve=0.1, random_state=0),
    committee.RandomForestRegressor(5),
    committee.CommitteeClassifier("fast", cv=2, random_state=0),
    committee.CommitteeRegressor("fast", cv=2, random_state=0),
    committee.CommitteeRegressor("fast", cv=2, loss="quantile", random_state=0),
    committee.ConformalClassifier(committee.RandomForestClassifier(8, max_samples=0.3), 0.2, random_state=0),
    committee.ConformalClassifier(LogisticRegression(), cv=2, nonconformity="aps"),
    committee.ConformalRegressor(committee.TreeRegressor(max_depth=3), cv=2),
]

OF_THE_INTERFACE = {
    f"check_{name}"
    for name in (
        *("estimator_cloneable", "estimator_tags_renamed", "valid_tag_types", "estimator_repr", "mixin_order"),
        *("no_attributes_set_in_init", "do_not_raise_errors_in_init_or_set_params", "parameters_default_constructible"),
        *("get_params_invariance", "set_params", "fit_score_takes_y", "estimators_fit_returns_self", "requires_y_none"),
        *("estimators_unfitted", "fit_check_is_fitted", "n_features_in", "n_features_in_after_fitting", "fit1d"),
        *("fit2d_predict1d", "readonly_memmap_input", "complex_data", "dtype_object", "array_api_input"),
        *("estimators_empty_data_messages", "estimator_sparse_tag", "estimator_sparse_array"),
        *("estimator_sparse_matrix", "classifier_data_not_an_array", "regressor_data_not_an_array"),
        *("sample_weights_pandas_series", "sample_weights_not_an_array", "sample_weights_list"),
        *("all_zero_sample_weights_error", "sample_weights_shape", "positive_only_tag_during_fit"),
        *("classifiers_regression_target", "supervised_y_no_nan", "estimators_partial_fit_n_features"),
        "regressors_no_decision_function",
    )
}
"""Checks of what all configurations of a learner share: they run on its first, and where a voter is the user's."""

WEIGHTS = "check_sample_weight_equivalence_on_dense_data"
CLASS_WEIGHTS = "check_class_weight_classifiers"
OF_A_CLASS_THAT_WEIGHS_NOTHING = (
    "No voter beats chance",
    "The committee has no voter of any weight",
    "The path ran out of its",
)
WITH_A_CLASS_OF_ONE_ROW = (
    "check_dont_overwrite_parameters",
    "check_f_contiguous_array_estimator",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_dict_unchanged",
    "check_fit2d_predict1d",
    WEIGHTS,
)


def has_leaves_of_light_rows(learner: Any) -> bool:
    """Whether a leaf or a stump's side of rows of the light class alone predicts that class, whatever it weighs."""
    if isinstance(learner, committee.ConformalClassifier):
        return has_leaves_of_light_rows(learner.estimator)
    if isinstance(learner, committee.SubaggingClassifier):
        return not isinstance(learner.estimator, LogisticRegression)
    if isinstance(learner, committee.LPBoostClassifier):
        return isinstance(learner.dictionary, str)
    if isinstance(learner, committee.AdaBoostClassifier) and isinstance(learner.voter, LogisticRegression):
        return False
    if isinstance(learner, committee.MDBoostClassifier | committee.DOOMBoostClassifier):
        return learner.voter is None
    if isinstance(learner, committee.ArcGVClassifier):
        return not learner.early_stopping
    if isinstance(learner, committee.FunctionalGradientBoostingClassifier):
        return learner.base is None
    return (
        isinstance(learner, committee.TreeVoter | committee.RandomForestClassifier)
        or (isinstance(learner, committee.AdaBoostClassifier) and learner.vote == "discrete")
        or getattr(learner, "learner", None) == "stump"
        or getattr(learner, "softness", None) == 0.0
    )


def expected_failures(learner: Any) -> dict[str, str]:
    """The checks that a learner fails because of what it is, and why."""
    if not has_leaves_of_light_rows(learner):
        return failures_by_nature(learner)
    # scikit-learn sets min_weight_fraction_leaf of its own trees first, and its AdaBoost would fail too
    reason = "a class 10^7 times lighter keeps the leaves that it has alone; see min_weight_leaf below (2026-11-22)"
    return failures_by_nature(learner) | {CLASS_WEIGHTS: reason}


def failures_by_nature(learner: Any) -> dict[str, str]:
    """The checks that a learner fails because of how it draws, holds out or breaks ties, and why."""
    if isinstance(learner, committee.ConformalClassifier):
        return failures_by_nature(learner.estimator)
    if isinstance(learner, committee.SubaggingClassifier | committee.SBPMTClassifier):
        # scikit-learn expects the same of its own BaggingClassifier
        return {
            WEIGHTS: "a row is drawn or not as a whole: weights repeat rows in the mean over draws only (2026-11-20)"
        }
    if isinstance(learner, committee.RandomForestClassifier | committee.RandomForestRegressor):
        # and of its own forests
        return {WEIGHTS: "rows are drawn as a whole, however much they weigh (2026-11-21)"}
    if isinstance(learner, committee.CommitteeClassifier | committee.CommitteeRegressor):
        return {WEIGHTS: "members of bags draw rows as a whole, as forests do (2026-11-22)"}
    if getattr(learner, "n_draws", None) is not None:
        return {WEIGHTS: "answers are drawn for rows, and a row of weight k is asked once (2026-11-21)"}
    if not isinstance(
        learner, committee.AdaBoostClassifier | committee.ArcGVClassifier | committee.QuadBoostClassifier
    ):
        return {}
    if isinstance(getattr(learner, "voter", None), DecisionTreeClassifier):
        # and of its own AdaBoostClassifier; test_capabilities.py has this check on a table without ties
        return {
            WEIGHTS: "11 rows have many equally good stumps, and scikit-learn's trees choose by rounding (2026-11-20)"
        }
    if learner.early_stopping:
        reason = (
            "a class of one row cannot be on both sides of the split that early stopping needs; refused (2026-11-20)"
        )
        return dict.fromkeys(WITH_A_CLASS_OF_ONE_ROW, reason)
    return {}


def test_every_learner_is_checked():
    assert {type(learner).__name__ for learner in LEARNERS} == set(committee.LEARNERS) - {
        "MarginReweighter",
        "LeafReweighter",
        "LeafReweighterRegressor",  # they take what is trained already: test_reweighter_checks.py
    }


def yield_checks() -> Iterator[Any]:
    """Each learner with the checks that it must pass, or is expected to fail."""
    earlier = Counter[type]()
    for learner in LEARNERS:
        among = earlier[type(learner)]
        earlier[type(learner)] += 1
        known = among > 0 and not any(isinstance(value, BaseEstimator) for value in vars(learner).values())
        for place, (checked, check) in enumerate(estimator_checks_generator(learner)):
            name = check.func.__name__
            if known and name in OF_THE_INTERFACE:
                continue
            # sparse rows are the dense ones, to the last bit
            reason = expected_failures(learner).get(name.replace("_on_sparse_data", "_on_dense_data"))
            marks = [] if reason is None else [pytest.mark.xfail(reason=reason)]
            if not is_among_the_first(among, place):
                marks.append(pytest.mark.slow)
            if name == CLASS_WEIGHTS:  # where one class has nearly all weight
                marks += [pytest.mark.filterwarnings(f"ignore:{text}") for text in OF_A_CLASS_THAT_WEIGHS_NOTHING]
            words = " ".join(repr(learner).split())
            details = "".join(f",{key}={value}" for key, value in check.keywords.items())
            yield pytest.param(checked, check, marks=marks, id=f"{words}-{name}{details}")


def test_checks_of_the_interface_have_their_names():
    every = {check.func.__name__ for learner in LEARNERS for _, check in estimator_checks_generator(learner)}
    assert not OF_THE_INTERFACE - every


# labels drawn at random are no news to anyone
@pytest.mark.filterwarnings(
    "ignore:nu=.* is too small", "ignore:The least populated class in y", "ignore:y holds one class only"
)
@pytest.mark.parametrize(("estimator", "check"), list(yield_checks()))
def test_scikit_learn(estimator, check, monkeypatch):
    use_small_members(monkeypatch)
    check(estimator)


@pytest.mark.parametrize(
    "learner",
    [
        committee.TreeVoter(min_weight_leaf=0.01),
        committee.RandomForestClassifier(5, min_weight_leaf=0.01),
        committee.RandomForestClassifier(5, min_weight_leaf=0.01, max_samples=0.5, bootstrap=False),
        committee.SubaggingClassifier(committee.TreeVoter(min_weight_leaf=0.01), n_estimators=3),
        committee.AdaBoostClassifier(10, min_weight_leaf=0.01),
        committee.AdaBoostClassifier(10, max_depth=2, min_weight_leaf=0.01),
    ],
    ids=lambda learner: " ".join(repr(learner).split()),
)
def test_class_weights_decide_where_every_leaf_has_weight(learner):
    check_class_weight_classifiers(type(learner).__name__, learner)


@pytest.mark.parametrize("name", committee.LEARNERS)
def test_parameters_are_refused_as_scikit_learn_does(name):
    """This check is none of those above: it is for classes that declare constraints."""
    X, y = load_iris(return_X_y=True)
    kind = getattr(committee, name)
    of = {"ensemble": committee.RandomForestClassifier(3, random_state=0).fit(X, y)}
    check_param_validation(name, kind(**{key: of[key] for key in kind.declared_parameters.keys() & of}))
