"""Learners on sparse tables and on rows in pieces: models have the bits of the whole table with all its cells."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.base import clone, is_regressor
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import committee
from committee import (
    AbstainingStump,
    AdaBoostClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    MarginReweighter,
    QuadBoostClassifier,
    QuadBoostRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    SBPMTClassifier,
    TreeRegressor,
    TreeVoter,
    scan,
)
from committee.data.bins import Bins
from committee.data.matrices import SparseMatrix
from committee.data.out_of_core.table_summary import TableSummary
from committee.data.table_schema import TableSchema
from tests.subjects import assert_same_bits
from tests.table_checks import cut, ends_of_pieces, sampled, saved, weights_of
from tests.table_checks import table as pieced_table

LEARNERS = [
    TreeVoter(),
    TreeVoter(max_depth=4, criterion="entropy", max_features=0.5, max_bins=5, random_state=1),
    TreeRegressor(max_leaf_nodes=9),
    TreeRegressor(criterion="absolute_error", max_depth=5),
    AbstainingStump(),
    AdaBoostClassifier(12),
    AdaBoostClassifier(5, max_depth=3, vote="confidence", max_bins=6),
    AdaBoostClassifier(8, vote="abstaining"),
    AdaBoostClassifier(8, max_leaf_nodes=5, max_depth=None, early_stopping=True, random_state=0),
    GradientBoostingClassifier(n_estimators=5, min_samples_leaf=2, random_state=0),
    GradientBoostingClassifier(3, loss="log_loss", min_samples_leaf=1, tree="shared", growth="depth", max_depth=4),
    GradientBoostingClassifier(n_estimators=4, min_samples_leaf=1, early_stopping=True, random_state=0),
    # leaves with lines are for dense rows
    GradientBoostingRegressor(
        5, loss="squared_error", leaf="constant", min_samples_leaf=1, subsample=0.6, max_features=0.7
    ),
    GradientBoostingRegressor(4, loss="absolute_error", min_samples_leaf=3, monotonic_constraints=[1, 0, -1, 0, 0, 1]),
    GradientBoostingRegressor(
        n_estimators=4, leaf="constant", extra_trees=True, interaction_constraints="pairwise", random_state=0
    ),
    RandomForestClassifier(4, oob_score=True, random_state=0),
    RandomForestClassifier(3, max_leaf_nodes=8, max_features=None, random_state=0),
    RandomForestClassifier("oob", reserve=0.1, max_estimators=12, criterion="entropy", max_bins=4, random_state=0),
    RandomForestRegressor(3, max_features=0.5, min_samples_leaf=2, oob_score=True, random_state=0),
    QuadBoostClassifier(n_estimators=15, early_stopping=True, random_state=0),
    QuadBoostClassifier("linf", n_estimators=15, dictionary="all_stumps", max_bins=5),
    QuadBoostRegressor(n_estimators=15, thresholds="even", n_thresholds=4, reweight="every_k"),
]
for _learner in LEARNERS:
    if _learner.get_params().get("random_state", 0) is None:
        _learner.set_params(random_state=0)
each_learner = pytest.mark.parametrize("learner", LEARNERS, ids=repr)
quiet = pytest.mark.filterwarnings("ignore::UserWarning")


def table(n: int, seed: int, *, density: float = 0.3, n_values: int = 5, missing: bool = True):
    """A sparse table of six columns that are hardly alike: values of one sign or two, missing ones, stored zeros."""
    rng = np.random.default_rng(seed)
    X = scipy.sparse.random_array((n, 6), density=density, format="csr", rng=rng)
    X.data = np.round(rng.normal(0.5, 1.0, size=len(X.data)) * n_values) / n_values
    if missing:
        X.data[rng.random(len(X.data)) < 0.1] = np.nan
    return X


def targets(X, seed: int, n_classes: int | None):
    rng = np.random.default_rng(seed)
    D = np.nan_to_num(X.toarray(), nan=2.0)
    t = D @ rng.normal(size=D.shape[1]) + D[:, 0] * D[:, 1] + 0.3 * rng.normal(size=len(D))
    if n_classes is None:
        return t
    y = rng.permutation(len(D)) % n_classes  # every class has rows
    y[: 3 * len(y) // 4] = np.digitize(t, np.quantile(t, np.arange(1, n_classes) / n_classes))[: 3 * len(y) // 4]
    return y


def fits(learner, X, y, w=None, **params):
    with np.errstate(all="ignore"):
        return clone(learner).set_params(**params).fit(X, y, w)


@pytest.mark.one_in(2)
@quiet
@each_learner
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(40, 120),
    density=st.floats(0.02, 1.0),
    n_values=st.integers(1, 60),
    n_classes=st.integers(2, 3),
    weights=st.sampled_from([None, "whole", "real"]),
    make=st.sampled_from([scipy.sparse.csr_array, scipy.sparse.csc_matrix]),
)
def test_models_have_the_bits_of_the_dense_table(learner, seed, n, density, n_values, n_classes, weights, make):
    X = table(n, seed, density=density, n_values=n_values)
    X.data[:2] = 1.0, 2.0  # some column varies
    y = targets(X, seed, None if is_regressor(learner) else n_classes)
    rng = np.random.default_rng(seed)
    w = {None: None, "whole": rng.integers(0, 4, n) + (np.arange(n) < 30.0), "real": rng.exponential(size=n)}[weights]
    dense, sparse = fits(learner, X.toarray(), y, w), fits(learner, make(X), y, w)
    assert_same_bits(dense, sparse, X.toarray())
    other = table(30, seed + 1, density=0.5)
    for rows in (X, other):
        assert_array_equal(dense.predict(rows.toarray()), sparse.predict(make(rows)))
        assert_array_equal(dense.predict(make(rows)), sparse.predict(rows.toarray()))
        if not is_regressor(learner):
            assert_array_equal(dense.predict_proba(rows.toarray()), sparse.predict_proba(make(rows)))
    if hasattr(dense, "oob_score_"):
        assert dense.oob_score_ == sparse.oob_score_
    for name in ("validation_errors_", "validation_losses_", "validation_risks_"):
        if getattr(dense, name, None) is not None:
            assert_array_equal(getattr(dense, name), getattr(sparse, name))


@pytest.mark.one_in(3)
@quiet
@each_learner
def test_any_number_of_threads(learner):
    X = scipy.sparse.random_array((30_000, 6), density=0.3, format="csr", rng=np.random.default_rng(0))
    X.data = np.round(X.data, 2)
    y = targets(X, 1, None if is_regressor(learner) else 2)
    few = {"n_estimators": 2} if isinstance(learner.get_params().get("n_estimators"), int) else {}
    one, four = (fits(learner, X, y, n_jobs=jobs, **few) for jobs in (1, 4))
    assert_same_bits(one, four, X)


@quiet
@each_learner
def test_columns_that_outnumber_the_rows(learner):
    """Most columns of a text matrix hold one value or none; neither is a split."""
    X = scipy.sparse.random_array((60, 900), density=0.01, format="csr", rng=np.random.default_rng(0))
    X.data = np.ceil(3 * X.data)
    y = targets(X, 1, None if is_regressor(learner) else 2)
    some = {"monotonic_constraints": None} if "monotonic_constraints" in learner.get_params() else {}
    assert_same_bits(fits(learner, X.toarray(), y, **some), fits(learner, X, y, **some), X.toarray())


def one_hot(n: int):
    """20 columns of 25 levels, frequent and rare ones, as 500 columns."""
    rng = np.random.default_rng(0)
    levels = (25 * rng.random((n, 20)) * rng.random((n, 20))).astype(int)
    return OneHotEncoder(categories=[np.arange(25)] * 20).fit_transform(levels)


def documents(n: int):
    """Counts of 20,000 words, the k-th of which comes up as often as 1 / k."""
    rng = np.random.default_rng(0)
    share = 1.0 / np.arange(1, 20_001)
    words = rng.choice(20_000, size=(n, 115), p=share / share.sum())
    return scipy.sparse.csr_array(
        scipy.sparse.coo_array((np.ones(words.size), (np.repeat(np.arange(n), 115), words.ravel())), shape=(n, 20_000))
    )


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("make", "n"), [(one_hot, 2_000), (documents, 400)])
@pytest.mark.parametrize(
    "learner",
    [
        GradientBoostingClassifier(n_estimators=5, random_state=0),
        RandomForestClassifier(2, random_state=0),
        AdaBoostClassifier(5),
    ],
    ids=repr,
)
def test_one_hot_columns_and_words(make, n, learner):
    X = make(n)
    y = (X @ np.random.default_rng(1).normal(size=X.shape[1]) > 0.0).astype(int)
    dense, sparse = fits(learner, X.toarray(), y), fits(learner, X, y)
    assert_same_bits(dense, sparse, X)
    codes = Bins.learn(SparseMatrix.read(X), None, np.zeros(X.shape[1], np.int32), 255).encode(SparseMatrix.read(X))
    assert codes.nbytes < 10 * X.nnz + 12 * (n + 1) + 20 * (X.shape[1] + 1)


def test_stages_and_a_held_out_table():
    X, X_val = table(200, 0), table(80, 1)
    y, y_val = targets(X, 0, 3), targets(X_val, 0, 3)
    model = GradientBoostingClassifier(n_estimators=8, min_samples_leaf=2, early_stopping=True, random_state=0)
    dense = clone(model).fit(X.toarray(), y, X_val=X_val.toarray(), y_val=y_val)
    for held_out in (X_val, X_val.toarray()):
        sparse = clone(model).fit(X, y, X_val=held_out, y_val=y_val)
        assert_array_equal(sparse.validation_losses_, dense.validation_losses_)
        assert_same_bits(dense, sparse, X.toarray())
    for ours, theirs in zip(sparse.staged_predict_proba(X), dense.staged_predict_proba(X.toarray()), strict=True):
        assert_array_equal(ours, theirs)
    assert_array_equal(dense.committee_.votes(X), dense.committee_.votes(X.toarray()))


def test_warm_starts_and_checkpoints(tmp_path):
    X = table(150, 0)
    y = targets(X, 0, 2)
    model = GradientBoostingClassifier(9, loss="log_loss", learning_rate=0.1, min_samples_leaf=2, random_state=0)
    whole = clone(model).fit(X, y, checkpoint=tmp_path / "fit")
    short = clone(model).set_params(n_estimators=4, warm_start=True).fit(X, y)
    assert_same_bits(short.set_params(n_estimators=9).fit(X, y), clone(model).fit(X.toarray(), y), X.toarray())
    assert_same_bits(clone(model).fit(X, y, checkpoint=tmp_path / "fit"), whole, X.toarray())
    other = X.copy()
    other.data[0] += 1.0
    with pytest.raises(committee.CheckpointError, match="other rows"):
        clone(model).fit(other, y, checkpoint=tmp_path / "fit")
    forest = RandomForestClassifier(30, oob_score=True, random_state=0)
    whole = clone(forest).fit(X, y, checkpoint=tmp_path / "forest")
    assert_same_bits(clone(forest).fit(X, y, checkpoint=tmp_path / "forest"), whole, X.toarray())


def test_a_frame_learns_names_that_sparse_rows_lack():
    X = table(60, 0)
    model = TreeVoter().fit(pd.DataFrame(X.toarray(), columns=list("abcdef")), targets(X, 0, 2))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        assert_array_equal(model.predict(X), model.predict(X.toarray()))


# --- refusals -----------------------------------------------------------------------------------------------


def test_wrong_widths_and_infinity():
    X = table(60, 0)
    model = TreeVoter().fit(X, targets(X, 0, 2))
    with pytest.raises(ValueError, match="X has 4 features, but TreeVoter is expecting 6 features"):
        model.predict(X[:, :4])
    with pytest.raises(ValueError, match="X has 4 features, but 6 features were learned"):
        model.committee_.predict(X[:, :4].tocsc())
    X.data[3] = -np.inf
    for call in (lambda: TreeVoter().fit(X, np.arange(60) % 2), lambda: model.predict(X)):
        with pytest.raises(ValueError, match=r"column 'x\d' holds infinity at row \d+; replace it"):
            call()
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        TreeVoter().fit(X, np.arange(59) % 2)


def test_categories_of_a_sparse_table_are_refused():
    X = table(60, 0, missing=False)
    with pytest.raises(ValueError, match=r"categorical_features names column 2 of a sparse table.*X.toarray"):
        TreeVoter(categorical_features=[2]).fit(X, targets(X, 0, 2))
    model = TreeVoter(categorical_features=[2]).fit(X.toarray(), targets(X, 0, 2))
    with pytest.raises(ValueError, match="X is sparse, but column 'x2' has categories"):
        model.predict(X)


@pytest.mark.parametrize(
    "learner",
    [
        SBPMTClassifier(n_estimators=2),
        AdaBoostClassifier(3, voter=LogisticRegression()),
        QuadBoostClassifier(n_estimators=5, dictionary="trees"),
    ],
    ids=repr,
)
def test_learners_without_sparse_rows_in_pipelines_of_one_hot_columns(learner):
    rng = np.random.default_rng(0)
    letters = rng.choice(list("abcd"), size=(200, 2))
    y = (letters[:, 0] == letters[:, 1]).astype(int) ^ (rng.random(200) < 0.1)
    message = rf"sparse csr_matrix, which {type(learner).__name__} .* OneHotEncoder\(sparse_"
    with pytest.raises(TypeError, match=message):
        make_pipeline(OneHotEncoder(), clone(learner)).fit(letters, y)
    remedied = make_pipeline(OneHotEncoder(sparse_output=False), clone(learner)).fit(letters, y)
    assert remedied.score(letters, y) > 0.5
    encode = ColumnTransformer([("letters", OneHotEncoder(), [0, 1])], sparse_threshold=1.0)
    boosting = GradientBoostingClassifier(n_estimators=20, min_samples_leaf=5, random_state=0)
    assert make_pipeline(encode, boosting).fit(letters, y).score(letters, y) > 0.8


def test_a_committee_of_other_voters_refuses_sparse_rows():
    X = table(60, 0, missing=False)
    model = SBPMTClassifier(n_estimators=2, random_state=0).fit(X.toarray(), targets(X, 0, 2))
    with pytest.raises(TypeError, match=r"sparse csr_array, which a committee of \w+ does not take; make it dense"):
        model.committee_.predict(X)
    with pytest.raises(TypeError, match=r"sparse csr_array, which SBPMTClassifier does not take"):
        model.predict(X)


def test_every_sparse_format_is_read():
    X = table(60, 0, missing=False)
    y = targets(X, 0, 2)
    model = GradientBoostingClassifier(n_estimators=3, min_samples_leaf=2, random_state=0)
    expected = clone(model).fit(X, y).decision_function(X)
    forms = ("coo", "lil", "dok", "bsr", "dia")
    kinds = [getattr(scipy.sparse, f"{form}_{of}") for form in forms for of in ("array", "matrix")]
    for rows in [*(kind(X) for kind in kinds), pd.DataFrame.sparse.from_spmatrix(X, columns=list("abcdef"))]:
        assert_array_equal(clone(model).fit(rows, y).decision_function(rows), expected)


def test_contributions_ask_for_dense_rows():
    X = table(60, 0)
    model = GradientBoostingClassifier(n_estimators=3, min_samples_leaf=2, random_state=0).fit(X, targets(X, 0, 2))
    with pytest.raises(TypeError, match=r"Contributions to a sparse X would be a dense array; pass X.toarray"):
        model.contributions(X)
    shares = model.contributions(X.toarray())
    assert abs(shares.sum(axis=1) - model.decision_function(X)).max() < 1e-9


def test_a_reweighter_takes_the_votes_on_sparse_rows():
    X = table(200, 0)
    y = targets(X, 0, 2)
    forest = RandomForestClassifier(8, random_state=0).fit(X, y)
    dense, sparse = (MarginReweighter(forest).fit(rows, y) for rows in (X.toarray(), X))
    assert_array_equal(dense.committee_.weights, sparse.committee_.weights)


# --- rows in pieces ---------------------------------------------------------------------------------------------------


BOOSTING = {"n_estimators": 4, "learning_rate": 0.3, "min_samples_leaf": 2, "max_leaf_nodes": 6, "random_state": 0}
MODELS = {
    "boosting": committee.GradientBoostingClassifier(**BOOSTING),
    "boosting, few bins": committee.GradientBoostingClassifier(**BOOSTING, max_bins=5, subsample=1.0),
    "boosting, stopped early": committee.GradientBoostingClassifier(
        **BOOSTING, early_stopping=True, validation_fraction=0.3, class_weight="balanced"
    ),
    "boosted numbers": committee.GradientBoostingRegressor(**BOOSTING),
    "boosted numbers, constant leaves": committee.GradientBoostingRegressor(**BOOSTING, leaf="constant"),
    "forest": committee.RandomForestClassifier(n_estimators=4, random_state=0, oob_score=True),
    "forest of numbers": committee.RandomForestRegressor(n_estimators=4, random_state=0),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=25, deadline=None)
@given(
    st.data(),
    st.integers(12, 150),
    st.integers(0, 2**32 - 1),
    st.sampled_from(["array", "frame", "many levels"]),
    st.sampled_from(["none", "whole", "tiny"]),
    st.sampled_from([10, 40, 1000]),
)
def test_models_of_pieces_have_the_bits_of_models_in_memory(name, data, n, seed, kind, weighted, most):
    X, weights, rng = pieced_table(n, seed, kind), weights_of(n, seed, weighted), np.random.default_rng(seed)
    y = rng.normal(size=n) if "numbers" in name else np.where(rng.random(n) < 0.5, "no", "yes")
    if "numbers" not in name:
        y[0], y[n - 1] = "no", "seen last"
    limit = data.draw(st.sampled_from([None, 1]))
    with sampled(most), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = clone(MODELS[name]).fit(X, y, weights)
        pieces = scan(cut(data.draw(ends_of_pieces(n)), X, y, weights), memory_limit=limit)
        found = clone(MODELS[name]).fit(pieces)
        assert saved(found) == saved(whole)
        assert found.table_ == whole.table_
        again = scan(cut(data.draw(ends_of_pieces(n)), X))
        np.testing.assert_array_equal(found.predict(again), whole.predict(X))


@settings(max_examples=40, deadline=None)
@given(
    st.data(),
    st.integers(4, 80),
    st.integers(0, 2**32 - 1),
    st.sampled_from(["array", "frame"]),
    st.sampled_from([3, 20, 1000]),
)
def test_looks_at_shares_of_a_table_merge_in_any_order(data, n, seed, kind, most):
    X = pieced_table(n, seed, kind)
    ends = data.draw(ends_of_pieces(n))
    with sampled(most):
        whole, looks = TableSummary(), []
        whole.add(X)
        for first, piece in zip([0, *ends[:-1]], cut(ends, X), strict=True):
            looks.append(TableSummary())
            looks[-1].add(piece, first)
        merged = TableSummary()
        for one in data.draw(st.permutations(looks)):
            merged = pickle.loads(pickle.dumps(merged.merged(one)))
        assert merged.schema == whole.schema == TableSchema.learn(X)
        expected = Bins.learn(whole.schema.encode(X), None, whole.schema.n_categories, 20)
        for look in (whole, merged):
            edges, offset = look.edges(20, None)
            np.testing.assert_array_equal(edges, expected.edges)
            np.testing.assert_array_equal(offset, expected.offset)
