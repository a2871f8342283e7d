"""`class_weight` of every classifier: the same fit as with weights that are multiplied, bit for bit."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.class_weight import compute_sample_weight

import committee
from committee import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    LeafReweighter,
    MarginReweighter,
    RandomForestClassifier,
    SBPMTClassifier,
    SubaggingClassifier,
    TreeVoter,
)
from committee.learners.bagging.subsamples import RowDraw
from committee.learners.reweighting.leaf_cuts import LeafRows
from committee.learners.trained_ensembles import for_sbpmt
from tests.learners.base.test_capabilities import SUBJECTS, words
from tests.subjects import assert_same_bits, numbers, weights

NAMES = np.array(["ant", "bee", "cow"])
CLASSIFIERS = [subject for subject in SUBJECTS if is_classifier(subject.model)]
BALANCED = [subject for subject in CLASSIFIERS if not subject.model.get_params().get("reserve")]
"""A reserve's labels must have no part in the fit, and "balanced" counts all."""


each_classifier = pytest.mark.parametrize("subject", CLASSIFIERS, ids=lambda subject: words(subject.model))
quiet = pytest.mark.filterwarnings("ignore::UserWarning")


def table(n_classes: int, seed: int = 0):
    """A table with a rare class, labels of text."""
    X, y = numbers(n_classes, 160, seed)
    keep = (y != 1) | (np.arange(160) % 3 == 0)
    return X[keep], NAMES[y[keep]]


def balanced_by_hand(y, w):
    """Weights times sum_j W_j / (K W_k), in the order of sums that scikit-learn has."""
    number = np.unique(y, return_inverse=True)[1]
    totals = np.bincount(number, w)
    return w * (totals.sum() / (len(totals) * totals))[number]


@pytest.mark.one_in(8)
@quiet
@pytest.mark.parametrize("n_classes", [2, 3])
@each_classifier
def test_same_bits_as_multiplied_weights(subject, n_classes):
    X, y = table(n_classes)
    w = weights(len(y))
    given = {"ant": 0.3, "bee": 4}
    factors = compute_sample_weight(given, y)
    assert_same_bits(subject.fit(X, y, class_weight=given), subject.fit(X, y, factors), X)
    assert_same_bits(subject.fit(X, y, w, class_weight=given), subject.fit(X, y, w * factors), X)


@pytest.mark.one_in(8)
@quiet
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("subject", BALANCED, ids=lambda subject: words(subject.model))
def test_same_bits_as_balanced_by_hand(subject, n_classes):
    X, y = table(n_classes)
    w = weights(len(y))
    balanced = subject.fit(X, y, balanced_by_hand(y, w))
    assert_same_bits(subject.fit(X, y, w, class_weight="balanced"), balanced, X)
    w[y == "bee"] = 0.0
    absent = y != "bee"
    fewer = subject.fit(X[absent], y[absent], w[absent], class_weight="balanced")
    assert_same_bits(subject.fit(X, y, w, class_weight="balanced"), fewer, X)


@pytest.mark.one_in(3)
@quiet
@each_classifier
def test_only_ratios_matter_also_of_class_weights(subject):
    X, y = table(2)
    w = np.random.default_rng(0).choice([0.5, 1.0, 1.5], len(y))
    model = subject.fit(X, y, w, class_weight={"ant": 2, "bee": 4})
    assert_same_bits(subject.fit(X, y, w / 256, class_weight={"ant": 2, "bee": 4}), model, X)
    assert_same_bits(subject.fit(X, y, w, class_weight={"ant": 0.25, "bee": 0.5}), model, X)


@pytest.mark.parametrize(
    "model",
    [
        GradientBoostingClassifier(n_estimators=5, random_state=0),
        RandomForestClassifier(5, random_state=0),
        AdaBoostClassifier(5),
    ],
    ids=words,
)
def test_many_categories_are_numbered_under_the_same_weights(model):
    X, y = table(3)
    levels = np.random.default_rng(0).integers(0, 40, len(y))
    X[:, 0] = levels
    given = {"ant": 0.3, "bee": 4}
    model = clone(model).set_params(categorical_features=[0])
    weighted = clone(model).set_params(class_weight=given).fit(X, y)
    assert_same_bits(weighted, clone(model).fit(X, y, compute_sample_weight(given, y)), X)
    assert not np.array_equal(weighted.predict_proba(X), clone(model).fit(X, y).predict_proba(X))


# --- what must be refused --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ({"dog": 2.0}, "class_weight has the key 'dog', which is not a class of y"),
        ({"ant": 0.0}, r"class_weight\['ant'\] is 0.0; it must be a finite number above 0"),
        ({"ant": 1e300}, "leaves class 'bee' less than 1e-150 of all weight"),
        ({"ant": 1e-200}, "leaves class 'ant' less than 1e-150 of all weight"),
        ("balanced_subsample", "'class_weight' parameter of AdaBoostClassifier must be"),
    ],
)
def test_refused(class_weight, message):
    X, y = table(2)
    model = AdaBoostClassifier(3, class_weight=class_weight)
    before = dict(vars(model))
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert vars(model) == before


def test_weights_that_do_not_fit_the_rows_are_refused_by_their_own_name():
    X, y = table(2)
    model = AdaBoostClassifier(3, class_weight="balanced")
    for message, rows, w in (
        (r"sample_weight\[2\] is -1.0", X, np.where(np.arange(len(y)) == 2, -1.0, 1.0)),
        ("sample_weight", X, np.ones(len(y) - 1)),
        ("inconsistent numbers of samples", X[1:], None),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(rows, y, w)
    neighbours = SubaggingClassifier(KNeighborsClassifier(), class_weight="balanced")
    with pytest.raises(ValueError, match=r"class_weight is given, but the fit of estimator=KNeigh.* no sample_weight"):
        neighbours.fit(X, y)
    neighbours.set_params(class_weight=None).fit(X, y)


# --- held-out and out-of-bag rows ------------------------------------------------------------------------------------


@pytest.mark.parametrize("class_weight", ["balanced", {"ant": 0.3, "bee": 4.0}])
def test_the_users_held_out_rows_weigh_as_the_classes_of_training(class_weight):
    X, y = table(2)
    X_val, y_val = table(2, seed=3)
    w = weights(len(y))
    factor = dict(zip(["ant", "bee"], committee.data.rows.ClassWeights.of(class_weight, y, w).factors, strict=True))
    model = AdaBoostClassifier(12, class_weight=class_weight, early_stopping=True)
    model.fit(X, y, w, X_val=X_val, y_val=y_val)
    of_row = np.array([factor[label] for label in y_val.tolist()])
    errors = [np.average(labels != y_val, weights=of_row) for labels in model.staged_predict(X_val)]
    assert_array_equal(model.validation_errors_, errors)


def test_out_of_bag_figures_are_of_weighted_rows():
    X, y = table(2)
    w = weights(len(y))
    forest = RandomForestClassifier(60, oob_score=True, class_weight="balanced", random_state=0).fit(X, y, w)
    votes = forest.oob_decision_function_
    right = forest.classes_[votes.argmax(axis=1)] == y
    assert forest.oob_score_ == pytest.approx(np.average(right, weights=balanced_by_hand(y, w)))


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(6, random_state=0, oob_score=True),
        RandomForestClassifier(6, random_state=0, max_leaf_nodes=8),
        SubaggingClassifier(TreeVoter(max_depth=2), 4, random_state=0, bootstrap=True, voting="soft"),
        SBPMTClassifier(3, 2, 8, min_samples_leaf=8, random_state=0),
    ],
    ids=words,
)
@pytest.mark.filterwarnings("ignore:.* rows are in every draw")
def test_balanced_subsample_takes_back_what_classes_weighed_before(model):
    X, y = table(3)
    subsampled = clone(model).set_params(class_weight="balanced_subsample").fit(X, y)
    weighed = clone(model).set_params(class_weight="balanced").fit(X, y)
    assert not np.array_equal(subsampled.predict_proba(X), weighed.predict_proba(X))
    again = clone(model).set_params(class_weight="balanced_subsample").fit(X, y, 3.0 * (1 + (y == "bee")))
    assert_allclose(again.predict_proba(X), subsampled.predict_proba(X), atol=1e-8)


class Recording(LogisticRegression):
    """Records the weights of the classes."""

    def fit(self, X, y, sample_weight=None):
        self.totals_ = np.bincount(np.unique(y, return_inverse=True)[1], sample_weight)
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("bootstrap", [False, True])
def test_the_classes_of_each_draw_weigh_alike(bootstrap):
    X, y = table(3)
    settings = {"class_weight": "balanced_subsample", "bootstrap": bootstrap, "random_state": 0}
    model = SubaggingClassifier(Recording(), 5, **settings).fit(X, y, weights(len(y)))
    for voter in model.committee_.voters.estimators:
        assert_allclose(voter.totals_, voter.totals_.mean())


@pytest.mark.parametrize("bootstrap", [False, True])
def test_trees_that_balance_their_own_rows_are_those_of_balanced_draws(bootstrap):
    X, y = table(3)
    settings = {"bootstrap": bootstrap, "voting": "soft", "random_state": 0, "calibrate": None}
    own = SubaggingClassifier(TreeVoter(max_depth=2, class_weight="balanced"), 5, **settings).fit(X, y)
    draws = SubaggingClassifier(TreeVoter(max_depth=2), 5, class_weight="balanced_subsample", **settings).fit(X, y)
    plain = SubaggingClassifier(TreeVoter(max_depth=2), 5, **settings).fit(X, y)
    assert_allclose(own.predict_proba(X), draws.predict_proba(X), atol=1e-12)
    assert np.abs(own.predict_proba(X) - plain.predict_proba(X)).max() > 0.05


def test_a_tree_of_balanced_draws_is_that_of_balanced_weights():
    X, y = table(3)
    forest = RandomForestClassifier(5, max_features=None, class_weight="balanced_subsample", random_state=4).fit(X, y)
    for t, seed in enumerate(np.random.RandomState(4).randint(2**31 - 1, size=5)):
        times = RowDraw(len(y), len(y), True).times(int(seed)).astype(float)
        drawn = times > 0
        root = forest.committee_.voters[t].tally(X)[drawn]
        # leaves' shares add up to the balanced root's
        assert_allclose(np.average(root, axis=0, weights=balanced_by_hand(y[drawn], times[drawn])), 1 / 3, atol=1e-9)


# --- files, checkpoints, trained ensembles ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "class_weight",
    ["balanced", {"ant": 2, "bee": 0.5}, {np.str_("bee"): np.float32(0.5)}],
    ids=["balanced", "dict", "numpy"],
)
def test_files_keep_it(tmp_path, class_weight):
    X, y = table(2)
    model = GradientBoostingClassifier(n_estimators=4, class_weight=class_weight, random_state=0).fit(X, y)
    model.save(tmp_path / "model.safetensors")
    again = committee.load(tmp_path / "model.safetensors")
    assert again.class_weight == class_weight
    assert_same_bits(again.fit(X, y), model, X)


@pytest.mark.parametrize("on", ["train", "oob"])
def test_trained_ensembles_are_reweighted_by_classes(on):
    X, y = load_breast_cancer(return_X_y=True)
    forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    w = np.random.default_rng(0).exponential(size=len(y))
    given = {0: 3.0, 1: 0.25}
    multiplied = w * compute_sample_weight(given, y)
    weighted = MarginReweighter(forest, on=on, class_weight=given).fit(X, y, w)
    plain = MarginReweighter(forest, on=on).fit(X, y, multiplied)
    assert_same_bits(weighted, plain, X)
    limits = {"max_nodes": 0.2, "X": X, "y": y, "level": "leaf"}
    assert_same_bits(weighted.prune(sample_weight=w, **limits), plain.prune(sample_weight=multiplied, **limits), X)
    if on == "oob":  # with "train" the votes are fitted to shares of classes, which they weigh: see the next test
        leaves = LeafReweighter(forest, on=on, class_weight=given).fit(X, y, w)
        assert_same_bits(leaves, LeafReweighter(forest, on=on).fit(X, y, multiplied), X)


def test_classes_weigh_the_shares_that_votes_are_fitted_to():
    # a row of shares p is K rows, one of each class, of weight w c_k p_k
    random = np.random.default_rng(1)
    share, w, c = random.dirichlet(np.ones(3), 50), random.exponential(size=50), np.array([0.5, 2.0, 30.0])
    y = random.integers(3, size=50)
    rows = LeafRows(np.zeros((50, 1), np.intp), None, y, w * c[y]).towards(share, c)
    assert_allclose(rows.weight[:, None] * rows.target, w[:, None] * c * share, rtol=1e-12)
    assert_allclose(rows.target.sum(axis=1), 1.0, rtol=1e-12)


def test_a_tree_of_one_class_alone():
    X, y = table(2)
    with pytest.warns(UserWarning, match="one class only"):
        model = TreeVoter(class_weight="balanced").fit(X, np.full(len(y), "ant"))
    assert set(model.predict(X)) == {"ant"}


def test_theorems_that_count_rows_are_refused_of_weighted_classes():
    X, y = table(2)
    model = SBPMTClassifier(3, 2, 4, class_weight="balanced", random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="class_weight='balanced', and these theorems count every row once"):
        for_sbpmt(model, X, y)
