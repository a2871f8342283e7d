"""Committees of scikit-learn's ensembles: the same votes, to the last bit where that is defined."""

from typing import Any

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csc_array
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from committee.vote.adapters.sklearn_trees import float64_threshold, forest_of_trees
from committee.vote.committee import Committee
from committee.vote.links.probability import Share, Softmax
from committee.voters.estimators import EstimatorVoters
from committee.voters.forest import Forest
from tests.oracles import votes as oracle

Tree = DecisionTreeClassifier


def tables() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    X, y = load_breast_cancer(return_X_y=True)
    digits, digit = load_digits(return_X_y=True)
    iris, flower = load_iris(return_X_y=True)
    return {
        "breast_cancer": (X, np.array(["malignant", "benign"])[y]),
        "iris": (iris, flower - 1),
        "digits": (digits[:600], digit[:600]),
    }


TABLES = tables()
logistic = make_pipeline(StandardScaler(), LogisticRegression())
few = (("trees", Tree(max_depth=3)), ("bayes", GaussianNB(var_smoothing=1e-3)), ("logistic", logistic))

ENSEMBLES = {
    "forest": RandomForestClassifier(12, random_state=0),
    "shallow forest": RandomForestClassifier(9, max_depth=2, random_state=0),
    "extra trees": ExtraTreesClassifier(10, min_samples_leaf=3, random_state=0),
    "bagged trees": BaggingClassifier(Tree(max_depth=4), 8, random_state=0),
    "bagged on subsets": BaggingClassifier(Tree(), 8, max_features=0.5, max_samples=0.2, random_state=0),
    "bagged on repeated columns": BaggingClassifier(Tree(), 6, bootstrap_features=True, random_state=0),
    "bagged extra trees": BaggingClassifier(ExtraTreeClassifier(max_depth=5), 8, random_state=0),
    "bagged logistic": BaggingClassifier(logistic, 4, max_features=0.7, random_state=0),
    "bagged votes": BaggingClassifier(make_pipeline(StandardScaler(), Perceptron()), 6, random_state=0),
    # a pipeline takes no sample_weight, so it sees the drawn rows only, and not always every class
    "few rows": BaggingClassifier(make_pipeline(StandardScaler(), Tree()), 7, max_samples=5, random_state=4),
    "few rows, trees": BaggingClassifier(Tree(), 7, max_samples=5, random_state=4),
    "boosted stumps": AdaBoostClassifier(Tree(max_depth=1), n_estimators=15, random_state=0),
    "boosted trees": AdaBoostClassifier(Tree(max_depth=3), n_estimators=10, learning_rate=0.5, random_state=0),
    "boosted bayes": AdaBoostClassifier(GaussianNB(var_smoothing=1e-3), n_estimators=5, random_state=0),
    "hard vote": VotingClassifier(list(few)),
    "soft vote": VotingClassifier(list(few), voting="soft"),
    "weighted hard vote": VotingClassifier(list(few), weights=[0.1, 0.2, 0.3]),
    "weighted soft vote": VotingClassifier(list(few), voting="soft", weights=[2, 1, 1.5]),
    "vote of trees": VotingClassifier([(f"t{d}", Tree(max_depth=d)) for d in (1, 2, 3, 4)], weights=[1, 2, 1, 2]),
    "soft vote of trees": VotingClassifier([(f"t{d}", Tree(max_depth=d)) for d in (1, 2, 3)], voting="soft"),
    "vote without one": VotingClassifier([*few, ("gone", "drop")], weights=[1, 1, 2, 9]),
}
NATIVE = {name for name in ENSEMBLES if any(word in name for word in ("tree", "forest", "stump", "subsets", "columns"))}
EXACT = {name for name in ENSEMBLES if "boosted" not in name}
NO_PROBABILITY = {"hard vote", "weighted hard vote", "vote of trees", "vote without one"}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("name", ENSEMBLES)
def test_the_committee_votes_as_the_original(name, table):
    X, y = TABLES[table]
    original = clone(ENSEMBLES[name]).fit(X[::2], y[::2])
    before = joblib.hash(original)
    committee = Committee.from_estimator(original)
    assert joblib.hash(original) == before
    assert isinstance(committee.voters, Forest if name in NATIVE else EstimatorVoters)
    if isinstance(committee.voters, Forest):
        committee.voters.check()
    assert_array_equal(committee.classes, original.classes_)
    assert_array_equal(committee.predict(X), original.predict(X))
    p = committee.predict_proba(X)
    if name not in NO_PROBABILITY:
        close = assert_array_equal if name in EXACT else assert_allclose
        close(p, original.predict_proba(X), **({} if name in EXACT else {"rtol": 1e-9}))
    assert_array_equal(committee.classes[np.argmax(p, axis=1)], committee.predict(X))
    m = committee.margins(X, y)
    assert (np.abs(m) <= 1).all()
    assert (committee.predict(X) == y)[m > 0].all() and (committee.predict(X) != y)[m < 0].all()
    with pytest.raises(ValueError, match=f"{X.shape[1] + 1} (features|columns)"):
        committee.predict(np.column_stack([X, X[:, 0]]))


@pytest.mark.parametrize("table", ["breast_cancer", "iris"])
def test_stages_of_adaboost(table):
    X, y = TABLES[table]
    original = clone(ENSEMBLES["boosted stumps"]).fit(X, y)
    committee = Committee.from_estimator(original)
    assert committee.link == Softmax(original.n_classes_ / (original.n_classes_ - 1) ** 2, normalized=True)
    for labels, expected in zip(committee.staged_predict(X), original.staged_predict(X), strict=True):
        assert_array_equal(labels, expected)
    for p, expected in zip(committee.staged_predict_proba(X), original.staged_predict_proba(X), strict=True):
        assert_allclose(p, expected, rtol=1e-9)
    scores = zip(committee.staged_decision_function(X), original.staged_decision_function(X), strict=True)
    for t, (F, expected) in enumerate(scores, 1):
        # the original's score has -1/(K-1) where a tally has 0, over the weight so far
        K, W = original.n_classes_, original.estimator_weights_[:t].sum()
        mean = F / W
        assert_allclose(2 * mean if K == 2 else (K * mean - 1) / (K - 1), expected, atol=1e-12)


def test_adaboost_that_stopped_early():
    X = np.arange(8.0)[:, None]
    original = AdaBoostClassifier(Tree(max_depth=1), n_estimators=10).fit(X, X[:, 0] > 3)
    assert len(original.estimators_) < len(original.estimator_weights_)
    committee = Committee.from_estimator(original)
    assert committee.n_voters == len(original.estimators_)
    assert_array_equal(committee.predict(X), original.predict(X))
    assert_allclose(committee.predict_proba(X), original.predict_proba(X))


small_tables = st.tuples(st.integers(4, 14), st.integers(1, 3), st.integers(2, 4)).flatmap(
    lambda shape: st.tuples(
        hnp.arrays(np.float64, shape[:2], elements=st.integers(0, 3).map(float)),
        hnp.arrays(np.int64, shape[0], elements=st.integers(0, shape[2] - 1)),
    )
)


@given(small_tables, st.integers(1, 8), st.integers(0, 100), st.data())
@settings(max_examples=120)
def test_ties_go_as_in_the_original(table, T, seed, data):
    X, y = table
    leaf, depth = data.draw(st.integers(1, 3)), data.draw(st.sampled_from([None, 1, 2]))
    limits = {"max_depth": depth, "min_samples_leaf": leaf}
    original = data.draw(
        st.sampled_from(
            [
                RandomForestClassifier(T, random_state=seed, **limits),
                ExtraTreesClassifier(T, random_state=seed, bootstrap=True, **limits),
                BaggingClassifier(Tree(**limits), T, max_samples=3, random_state=seed),
                BaggingClassifier(Tree(**limits), T, max_features=0.7, random_state=seed),
                *(
                    VotingClassifier(
                        [(str(t), ExtraTreeClassifier(random_state=seed + t, **limits)) for t in range(T)],
                        voting=voting,
                        weights=weights,
                    )
                    for voting in ("hard", "soft")
                    for weights in (None, [(1.0, 0.1, 0.2, 0.3)[t % 4] for t in range(T)])
                ),
            ]
        )
    ).fit(X, y)
    committee = Committee.from_estimator(original)
    grid = np.vstack([X, X + 0.5])
    assert_array_equal(committee.predict(grid), original.predict(grid))
    if hasattr(original, "predict_proba"):
        expected = original.predict_proba(grid)
        if getattr(original, "weights", None) is None:
            assert_array_equal(committee.predict_proba(grid), expected)
        else:
            assert_allclose(committee.predict_proba(grid), expected, rtol=1e-12, atol=1e-15)


float32s = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(st.one_of(st.floats(allow_nan=False, allow_infinity=False), float32s), st.integers(-3, 3))
@settings(max_examples=500)
def test_thresholds(threshold, ulps):
    """No float64 on either side of the limit goes another way than its float32 rounding."""
    limit = float(float64_threshold(np.array([threshold]))[0])
    assert np.isfinite(limit)
    x = limit
    for _ in range(abs(ulps)):
        x = np.nextafter(x, np.copysign(np.inf, ulps))
    with np.errstate(over="ignore"):
        assert (x <= limit) == oracle.goes_left(x, threshold, np.float32)


@given(float32s, st.integers(-2, 2))
@settings(max_examples=300)
def test_thresholds_between_neighbours(value, step):
    """Thresholds as trees have them: half-way between two float32 values, where rounding is a tie."""
    g = np.float32(value)
    with np.errstate(over="ignore"):
        above = np.nextafter(g, np.float32(np.inf))
    if not np.isfinite(above):
        return
    middle = float(g) / 2 + float(above) / 2
    for threshold in (middle, float(g), float(above), np.nextafter(middle, -np.inf), np.nextafter(middle, np.inf)):
        limit = float64_threshold(np.array([threshold]))[0]
        x = middle
        for _ in range(abs(step)):
            x = np.nextafter(x, np.copysign(np.inf, step))
        for point in (x, float(g), float(above)):
            with np.errstate(over="ignore"):
                assert (point <= limit) == oracle.goes_left(point, threshold, np.float32)


def test_thresholds_without_end():
    """Infinite: every number goes left, only missing values go right."""
    largest = np.finfo(np.float64).max
    assert_array_equal(float64_threshold(np.array([np.inf, -np.inf])), [largest, -largest])


def test_rows_between_two_float32_values():
    """Training values one float32 apart, and rows at every float64 that could be rounded either way."""
    for base in (1.0, 0.1, 3e-39, 1e20, 7.0):
        low = np.float32(base)
        values = [low]
        for _ in range(5):
            values.append(np.nextafter(values[-1], np.float32(np.inf)))
        X = np.array(values)[:, None]
        tree = Tree().fit(X, [0, 1, 0, 1, 0, 1])
        forest = forest_of_trees([tree], n_features=1, classes=np.array([0, 1]), soft=False)
        exact = X[:, 0].astype(np.float64)
        middles = (exact[:-1] + exact[1:]) / 2
        rows = np.concatenate([exact, middles, np.nextafter(middles, -np.inf), np.nextafter(middles, np.inf)])[:, None]
        assert_array_equal(forest.votes(rows)[:, 0], tree.predict(rows))
        # not merely the same votes: the same leaves, by the rows that share them
        shared = tree.apply(rows)[:, None] == tree.apply(rows)
        assert_array_equal(forest.apply(rows) == forest.apply(rows).T, shared)


@pytest.mark.parametrize("limits", [{"max_depth": 4}, {"max_leaf_nodes": 9}])
def test_nodes_keep_their_record(limits):
    """Depth-first growth gives siblings that are no neighbours; their record moves with them."""
    X, y = TABLES["iris"]
    original = Tree(random_state=0, **limits).fit(X, y)
    tree = original.tree_
    inner = tree.children_left >= 0
    if "max_depth" in limits:
        assert (tree.children_right[inner] != tree.children_left[inner] + 1).any()
    forest = forest_of_trees([original] * 2, n_features=4, classes=np.unique(y), soft=True)
    forest.check()
    assert forest.n_nodes.tolist() == [tree.node_count] * 2
    for one in (forest[0], forest[1]):
        pairs = [(0, 0)]
        for ours, theirs in pairs:
            assert one.count[ours] == tree.n_node_samples[theirs]
            assert one.weight[ours] == tree.weighted_n_node_samples[theirs]
            assert_array_equal(one.value[ours], tree.value[theirs, 0])
            children = tree.children_left[theirs], tree.children_right[theirs]
            if one.left[ours] < 0:
                assert children == (-1, -1) and one.gain[ours] == 0 and one.feature[ours] == -1
                continue
            worth = tree.weighted_n_node_samples * tree.impurity
            gain = worth[theirs] - worth[children[0]] - worth[children[1]]
            assert one.gain[ours] == pytest.approx(gain, abs=1e-12)
            assert one.feature[ours] == tree.feature[theirs]
            pairs += [(one.left[ours], children[0]), (one.left[ours] + 1, children[1])]
        assert len(pairs) == tree.node_count
    assert_allclose(forest.feature_importances(), original.feature_importances_)


@pytest.mark.parametrize("trained_with_missing", [False, True])
@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
def test_missing_values(kind, trained_with_missing):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(200, 4))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    holes = rng.random(X.shape) < 0.3
    # one column tells the class by being known or not: a split "missing or not", with an infinite threshold
    holes[:, 3] = y == 1
    X[:, 3] = 1.0
    with_holes = np.where(holes, np.nan, X)
    original = kind(20, random_state=0).fit(with_holes if trained_with_missing else X, y)
    infinite = any(np.isinf(tree.tree_.threshold).any() for tree in original.estimators_)
    assert infinite == (trained_with_missing and kind is RandomForestClassifier)
    committee = Committee.from_estimator(original)
    for rows in (X, with_holes, np.full((1, 4), np.nan)):
        assert_array_equal(committee.predict_proba(rows), original.predict_proba(rows))
        assert_array_equal(committee.predict(rows), original.predict(rows))


def test_trees_that_know_other_classes():
    tree = Tree().fit([[0.0], [1.0]], ["c", "a"])
    forest = forest_of_trees([tree], n_features=1, classes=np.array(["a", "b", "c"]), soft=True)
    assert_array_equal(forest.votes(np.array([[0.0], [1.0]]))[:, 0], [[0, 0, 1], [1, 0, 0]])
    with pytest.raises(ValueError, match=r"trees\[0\] votes for .*'c'"):
        forest_of_trees([tree], n_features=1, classes=np.array(["a", "b"]), soft=True)


def test_two_classes_keep_two_columns():
    """Signed shares 2 p - 1 would lose digits of p; H is signed all the same, and F = H w."""
    X, y = TABLES["breast_cancer"]
    committee = Committee.from_estimator(RandomForestClassifier(7, max_depth=3, random_state=0).fit(X, y))
    assert isinstance(committee.voters, Forest) and committee.voters.n_outputs == 2
    assert committee.link == Share()
    H = committee.votes(X)
    assert H.shape == (len(X), 7) and H.dtype == np.float64
    assert_allclose(H @ committee.weights, committee.decision_function(X), atol=1e-12)


@pytest.mark.parametrize(
    "name", ["forest", "bagged on subsets", "bagged logistic", "boosted bayes", "soft vote", "weighted hard vote"]
)
def test_frames(name):
    X, y = TABLES["iris"]
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    original = clone(ENSEMBLES[name]).fit(frame, y)
    committee = Committee.from_estimator(original)
    assert_array_equal(committee.predict(frame), original.predict(frame))
    if name in ("forest", "bagged logistic"):
        assert_array_equal(committee.predict(pl.from_pandas(frame)), original.predict(frame))
        assert_array_equal(committee.predict(pl.from_pandas(frame).to_arrow()), original.predict(frame))
    with pytest.raises(ValueError, match=r"order|columns"):
        committee.predict(frame[["b", "a", "c", "d"]])
    with pytest.raises(ValueError, match=r"columns|3 features"):
        committee.predict(frame[["a", "b", "c"]])


def test_sparse_members():
    X, y = TABLES["digits"]
    original = BaggingClassifier(LogisticRegression(), 3, max_features=0.5, random_state=0).fit(csc_array(X / 16), y)
    committee = Committee.from_estimator(original)
    for data in (csc_array(X / 16), X / 16):
        assert_array_equal(committee.predict_proba(data), original.predict_proba(data))


def test_committees_of_one_class():
    X = np.arange(5.0)[:, None]
    for original in (RandomForestClassifier(3), BaggingClassifier(Tree(), 3), AdaBoostClassifier(Tree())):
        original.fit(X, ["only"] * 5)
        committee = Committee.from_estimator(original)
        assert_array_equal(committee.predict(X), original.predict(X))
        assert_array_equal(committee.predict_proba(X), original.predict_proba(X))


class Learner(ClassifierMixin, BaseEstimator):
    """Stands for a learner of this library: what it is known by is its committee."""

    def fit(self, X: Any, y: Any) -> "Learner":
        self.committee_ = Committee.from_estimator(RandomForestClassifier(5, random_state=0).fit(X, y))
        self.classes_ = self.committee_.classes
        return self

    def predict(self, X: Any) -> Any:
        return self.committee_.predict(X)

    def predict_proba(self, X: Any) -> Any:
        return self.committee_.predict_proba(X)


def test_own_learners():
    X, y = TABLES["iris"]
    learner = Learner().fit(X, y)
    assert Committee.from_estimator(learner) is learner.committee_
    original = VotingClassifier([("a", Learner()), ("b", Tree(max_depth=2))], voting="soft").fit(X, y)
    committee = Committee.from_estimator(original)
    assert_array_equal(committee.predict_proba(X), original.predict_proba(X))
    assert committee.n_nodes == sum(int(m) for m in committee.voters.n_nodes)
    assert committee.voters.n_nodes[0] == original.estimators_[0].committee_.n_nodes


def test_sizes_of_members():
    X, y = TABLES["iris"]
    members = [
        RandomForestClassifier(3, random_state=0),
        make_pipeline(StandardScaler(), Tree(max_depth=1)),
        GradientBoostingClassifier(n_estimators=2, max_depth=1),
        GaussianNB(),
    ]
    original = VotingClassifier([(str(k), member) for k, member in enumerate(members)]).fit(X, y)
    committee = Committee.from_estimator(original)
    forest = sum(tree.tree_.node_count for tree in original.estimators_[0].estimators_)
    assert committee.voters.n_nodes.tolist() == [forest, 3, 18, 0]
    assert committee.nbytes > 1000


@pytest.mark.parametrize("name", ENSEMBLES)
def test_not_fitted(name):
    with pytest.raises(NotFittedError):
        Committee.from_estimator(clone(ENSEMBLES[name]))


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (RandomForestRegressor(2), "regressor"),
        (RandomForestClassifier, "must be a fitted classifier"),
        ("forest", "must be a fitted classifier"),
        (GaussianNB(), "GaussianNB, for which there is no adapter. Supported are RandomForestClassifier"),
        (IsolationForest(), "no adapter"),
    ],
)
def test_no_committee(estimator, message):
    with pytest.raises(TypeError, match=message):
        Committee.from_estimator(estimator)


def test_several_outputs():
    X, y = TABLES["iris"]
    original = RandomForestClassifier(3).fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="2 outputs"):
        Committee.from_estimator(original)


def test_members_with_and_without_probabilities_cannot_vote_alike():
    X, y = load_iris(return_X_y=True)
    bagged = BaggingClassifier(Tree(max_depth=2), 3, random_state=0).fit(X, y)
    bagged.estimators_[1] = Perceptron().fit(X, y)
    with pytest.raises(ValueError, match="mixes members with and without predict_proba; they cannot vote alike"):
        Committee.from_estimator(bagged)


def test_negative_weights():
    X, y = TABLES["iris"]
    original = VotingClassifier(list(few), weights=[1, -1, 1]).fit(X, y)
    with pytest.raises(ValueError, match=r"weights\[1\] is -1"):
        Committee.from_estimator(original)
