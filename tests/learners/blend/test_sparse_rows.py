"""Committees of ensembles on sparse tables."""

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal

import committee
from committee import CommitteeClassifier, CommitteeRegressor
from committee.data import matrices
from committee.learners.blend.portfolio import candidates
from tests.small_portfolio import BOTH, FAST, use_members_of_sparse_rows
from tests.subjects import assert_same_bits

pytestmark = pytest.mark.usefixtures("small_members")


def rows_for(kind, n=150, seed=0):
    """A table of ten columns, a third of whose cells are stored, some of them missing, and what is to be predicted."""
    rng = np.random.default_rng(seed)
    X = scipy.sparse.random_array((n, 10), density=0.3, format="csr", rng=rng)
    target = X @ rng.normal(size=10) + 0.1 * rng.normal(size=n)
    X.data[rng.random(len(X.data)) < 0.05] = np.nan
    return X, (target if kind is CommitteeRegressor else np.digitize(target, [-0.3, 0.3]))


@pytest.mark.one_in(2)
@BOTH
@pytest.mark.parametrize("effort", ["fast", "default", "best"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_dense_table_gives_the_same_bits_once_candidates_are_alike(kind, effort, weighted, monkeypatch):
    X, y = rows_for(kind)
    w = np.random.default_rng(1).exponential(size=len(y)) if weighted else None
    model = kind(effort, cv=3, min_gain=0.0, random_state=0).fit(X, y, w)
    use_members_of_sparse_rows(monkeypatch)
    dense = kind(effort, cv=3, min_gain=0.0, random_state=0).fit(X.toarray(), y, w)
    assert_same_bits(model, dense, X.toarray())
    assert model.member_names_ == dense.member_names_ and len(model.member_names_) > 1
    assert_array_equal(model.member_weights_, dense.member_weights_)
    assert model.oof_loss_ == dense.oof_loss_ and model.oof_score_ == dense.oof_score_
    assert_array_equal(model.feature_importances_, dense.feature_importances_)
    for rows in (X, X.tocsc(), X[:1]):
        assert_array_equal(model.predict(rows), dense.predict(rows.toarray()))


@BOTH
def test_candidates_for_dense_rows_are_left_out_with_the_reason(kind):
    X, y = rows_for(kind)
    model = kind("best", cv=2, min_gain=0.0, random_state=0).fit(X, y)
    if kind is CommitteeClassifier:
        reasons = {"sbpmt": "takes no sparse rows", "lines": "takes no sparse rows"}
    else:
        reasons = {"boosted_lines": "has no lines in its leaves on sparse rows"}
    assert {name: reason for name, reason in model.left_out_.items() if reason != "no weight"} == reasons
    wanted = {one.name for one in candidates(kind is CommitteeRegressor, "best")}
    assert {*model.member_names_, *model.left_out_} == wanted


def test_boosting_has_constants_where_lines_were_wanted():
    X, y = rows_for(CommitteeRegressor)
    model = CommitteeRegressor(**FAST | {"min_gain": 0.0}).fit(X, y)
    assert {*model.member_names_, *model.left_out_} == {"forest", "boosting", "boosted_lines", "small_trees"}


@BOTH
@pytest.mark.parametrize("cells", [2**21, 30])
def test_a_model_of_dense_rows_takes_sparse_ones(kind, cells, monkeypatch):
    """Members that take none are given some rows at a time, made dense."""
    monkeypatch.setattr(matrices, "_BLOCK", cells)
    X, y = rows_for(kind)
    model = kind(**FAST | {"min_gain": 0.0, "effort": "default"}).fit(X.toarray(), y)
    assert {"sbpmt", "lines", "boosted_lines"} & {*model.member_names_}
    assert_array_equal(model.predict(X), model.predict(X.toarray()))
    assert_array_equal(model.committee_.votes(X.tocsc()), model.committee_.votes(X.toarray()))
    if kind is CommitteeClassifier:
        assert_array_equal(model.predict_proba(X), model.predict_proba(X.toarray()))
        for ours, theirs in zip(model.staged_predict(X), model.staged_predict(X.toarray()), strict=True):
            assert_array_equal(ours, theirs)


@BOTH
def test_a_file_and_a_checkpoint(kind, tmp_path):
    X, y = rows_for(kind)
    model = kind(**FAST).fit(X, y, checkpoint=tmp_path / "fit")
    assert_same_bits(kind(**FAST).fit(X, y, checkpoint=tmp_path / "fit"), model, X.toarray())
    model.save(tmp_path / "model.safetensors")
    loaded = committee.load(tmp_path / "model.safetensors")
    assert_array_equal(loaded.predict(X), model.predict(X.toarray()))
    assert loaded.left_out_ == model.left_out_


@pytest.mark.filterwarnings("ignore:n_samples")
def test_few_rows_give_a_forest():
    X, _ = rows_for(CommitteeClassifier, n=3)
    model = CommitteeClassifier(random_state=0).fit(X, np.arange(3))
    assert model.member_names_ == ["forest"]
    assert_array_equal(model.predict(X), model.predict(X.toarray()))


def test_contributions_ask_for_dense_rows():
    X, y = rows_for(CommitteeRegressor)
    model = CommitteeRegressor(**FAST).fit(X, y)
    with pytest.raises(TypeError, match=r"Contributions to a sparse X would be a dense array; pass X.toarray"):
        model.contributions(X)
    assert_allclose(model.contributions(X.toarray()).sum(axis=1), model.predict(X), rtol=1e-9)
