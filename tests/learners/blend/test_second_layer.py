"""Second layer of a committee of ensembles: boosting on the held-out probabilities of the candidates."""

from __future__ import annotations

import pickle
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize_scalar
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier

from committee import CommitteeClassifier, GradientBoostingClassifier, load
from committee.data.rows import inner_weights
from committee.learners.blend import second_layer
from committee.learners.blend.second_layer import SecondLayer
from committee.learners.blend.training import CandidateRun
from committee.learners.blend.weights import log_loss_weights
from tests.model_files import assert_loaded_is_saved
from tests.subjects import assert_same_bits, weights

pytestmark = pytest.mark.usefixtures("small_members")

SETTINGS: dict[str, Any] = {"cv": 3, "second_layer": True, "random_state": 0, "n_jobs": 1}
CANDIDATES = ["boosting", "forest", "lines"]
CLASSES = pytest.mark.parametrize("n_classes", [2, 3])


def products(n_classes: int = 3, n: int = 300) -> tuple[Any, Any]:
    """Rows whose class follows from a difference of products, which no candidate finds alone."""
    X = np.random.default_rng(0).normal(size=(n, 4))
    return X, np.digitize(X[:, 0] * X[:, 1] - X[:, 2] * X[:, 3], [-0.3, 0.3] if n_classes == 3 else [0.0])


@cache
def joined(n_classes: int = 3, **changes: Any) -> CommitteeClassifier:
    """A vote with a second layer, which reads members and candidates without weight."""
    model = CommitteeClassifier(candidates=CANDIDATES, **SETTINGS | changes).fit(*products(n_classes))
    assert "second_layer" in model.member_names_ and len(model.member_names_) > 1 and model.left_out_
    return model


def added(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Record the arguments of `SecondLayer.added_to`."""
    calls, add = list[Any](), SecondLayer.added_to
    monkeypatch.setattr(SecondLayer, "added_to", lambda *given: calls.append(given) or add(*given))
    return calls


def columns(p: Any) -> Any:
    """Logarithms of the probabilities of candidates, or log-odds."""
    logs = np.log(np.clip(p, 1e-4, None))
    return np.hstack([one[:, [1]] - one[:, [0]] if one.shape[1] == 2 else one for one in logs])


def powers(p: Any, exponent: float) -> Any:
    q = p**exponent
    return q / q.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(("n_classes", "n", "weighted"), [(2, 300, False), (3, 300, True), (3, 150, False)])
def test_it_is_boosting_on_held_out_probabilities(n_classes, n, weighted, monkeypatch):
    X, y = products(n_classes, n)
    w, calls = weights(len(y)) if weighted else np.ones(len(y)), added(monkeypatch)
    model = CommitteeClassifier(candidates=CANDIDATES, min_gain=0.0, **SETTINGS).fit(X, y, w if weighted else None)
    ((layer, vote, candidates),) = calls
    names = [one.name for one in vote.members]
    before = {one.name: one.temperature for one in candidates}
    factor = before[names[0]] / vote.members[0].temperature  # all candidates are as sharp as the members
    assert_allclose([before[one.name] / one.temperature for one in vote.members], factor)
    known = np.isfinite([one.predictions for one in candidates]).all(axis=(0, 2))  # few trees leave out every row
    row = np.concatenate([fold.test for fold in layer.validation.folds])[known]
    fold = np.concatenate([np.full(len(each.test), k) for k, each in enumerate(layer.validation.folds)])[known]
    assert 0.9 * n < len(np.unique(row)) == len(row) < n
    p, y, v = {one.name: powers(one.predictions[known], factor) for one in candidates}, y[row], w[row] / w[row].sum()
    n, place, held_out, fits = w[row].sum() / w.sum() * n, np.arange(len(row)), np.empty((len(row), n_classes)), []
    read = columns(list(p.values()))
    for k in range(3):
        boosting = GradientBoostingClassifier(
            n_estimators=100, learning_rate=0.1, max_leaf_nodes=4, early_stopping=False, random_state=layer.seed + k
        )
        train = fold != k
        fits.append(boosting.fit(read[train], y[train], inner_weights(w[row][train]) if weighted else None))
        held_out[~train] = boosting.predict_proba(read[~train])

    def loss(step: float) -> Any:
        logs = np.log(powers(held_out, 2.0**-step))
        return -v @ logs[place, y] - v @ logs.mean(axis=1) / round(n)

    step = minimize_scalar(loss, (-1.0, 1.0), tol=1e-9).x
    temperature = 2.0 ** (np.floor(16.0 * step) / 16.0)  # the sixteenth of a factor of two below the best
    q = np.stack([*(p[name] for name in names), powers(held_out, 1.0 / temperature)])[:, place, y]
    of_members = log_loss_weights(q, v * n)
    falls = np.log(of_members @ q) - np.log(vote.weights @ q[:-1])
    if not v @ falls > np.sqrt((v**2).sum() * (v @ (falls - v @ falls) ** 2)):  # a standard error
        assert v @ falls > 0.0 and model.left_out_["second_layer"] == "no weight" and model.member_names_ == names
        return
    assert model.member_names_ == [*names, "second_layer"] and len(y) > 200
    assert_allclose(model.member_weights_, of_members, atol=1e-6)
    assert_allclose([model.oof_loss_, model.member_losses_[-1]], [-v @ np.log(of_members @ q), -v @ np.log(q[-1])])
    X = np.random.default_rng(2).normal(size=(50, 4))
    used = {one.name: one.committees for one in [layer_of(one, factor) for one in candidates] + list(vote.members)}
    means = {name: np.mean([each.predict_proba(X) for each in used[name]], axis=0) for name in p}
    read = columns(list(means.values()))
    means["second_layer"] = np.mean([powers(each.predict_proba(read), 1.0 / temperature) for each in fits], axis=0)
    assert_allclose(model.member("second_layer").predict_proba(X), means["second_layer"], rtol=1e-6, atol=1e-12)
    expected = sum(w * means[name] for w, name in zip(of_members, model.member_names_, strict=True))
    assert_allclose(model.predict_proba(X), expected, atol=1e-6)


def layer_of(candidate: Any, factor: float) -> Any:
    """Two fits of a candidate without weight, as sharp as the members."""
    return replace(candidate.sharpened(factor), committees=candidate.sharpened(factor).committees[:2])


@CLASSES
def test_same_bits_for_any_number_of_threads_and_in_files(n_classes, tmp_path):
    model, (X, y) = joined(n_classes), products(n_classes)
    assert_same_bits(joined(n_classes, n_jobs=2), model, X)
    assert_array_equal(model.predict_proba(X[7:8]), model.predict_proba(X)[7:8])
    assert_loaded_is_saved(model, X, y, tmp_path)
    assert_same_bits(pickle.loads(pickle.dumps(model)), model, X)
    committee, table = model.committee_, model.members_
    for size in (table["file_bytes"].sum(), (tmp_path / "model").stat().st_size):
        assert size == pytest.approx(committee.file_bytes, rel=0.1)
    assert table["nbytes"].sum() == committee.nbytes - committee.weights.nbytes


def test_rows_without_weight_are_absent_and_whole_weights_are_repeated_rows():
    X, y = products(n=400)
    w = np.random.default_rng(3).integers(0, 4, len(y))
    learner = CommitteeClassifier(candidates=["boosting", "lines"], **SETTINGS)
    weighed = clone(learner).fit(X, y, w)
    assert "second_layer" in weighed.member_names_
    fewer = clone(learner).fit(X[w > 0], y[w > 0], w[w > 0])
    assert_same_bits(fewer, weighed, X)
    with pytest.warns(UserWarning, match="copies of other rows"):
        repeated = clone(learner).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    assert repeated.member_names_ == weighed.member_names_
    assert_allclose(repeated.oof_loss_, weighed.oof_loss_, rtol=1e-4)
    assert_allclose(repeated.member_weights_, weighed.member_weights_, atol=1e-3)


def test_copies_of_rows_in_folds_that_a_candidate_has_no_fit_for(monkeypatch):
    X = np.array(list(np.ndindex(4, 4, 4, 4)), dtype=float)
    X = np.concatenate([X, X[::3], X[::7]])  # columns of few values, whose copies are dealt out to the folds
    y = np.sign((X[:, 0] + 1) * (X[:, 1] + 1) - (X[:, 2] + 1) * (X[:, 3] + 1))
    monkeypatch.setattr(CandidateRun, "_has_time", lambda _, one, number, __: one.name != "boosting" or number < 2)
    model = CommitteeClassifier(candidates=["boosting", "lines"], keep_oof=True, **SETTINGS).fit(X, y)
    assert "second_layer" in model.member_names_ and 0 < np.isnan(model.oof_decision_function_[:, 0]).sum() < len(y)


def test_tables_with_text_gaps_and_labels_of_text(tmp_path):
    X, y = products()
    table = pd.DataFrame(X, columns=list("abcd"))
    table["side"] = np.where(X[:, 0] > 0, "right", "left")
    table.loc[::9, "b"], table.loc[::11, "side"] = np.nan, None
    labels = np.array(["low", "middle", "high"])[y]
    model = CommitteeClassifier(candidates=CANDIDATES, **SETTINGS).fit(table, labels)
    assert "second_layer" in model.member_names_ and set(model.predict(table)) == set(labels)
    model.save(tmp_path / "model")
    for twin in (load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert_array_equal(twin.predict_proba(table[::-1]), model.predict_proba(table)[::-1])
    table["side"] = "elsewhere"
    assert np.isfinite(model.predict_proba(table)).all()


def test_sparse_rows_give_the_bits_of_dense_ones():
    X, y = products()
    X = np.where(np.abs(X) < 0.2, 0.0, X)
    model = CommitteeClassifier(candidates=["boosting", "forest"], **SETTINGS)
    sparse, dense = clone(model).fit(csr_array(X), y), model.fit(X, y)
    assert sparse.member_names_ == dense.member_names_ and "second_layer" in dense.member_names_
    assert_array_equal(sparse.predict_proba(csr_array(X[::2])), dense.predict_proba(X[::2]))


@pytest.mark.filterwarnings("ignore:candidates has .*, of other libraries")
def test_candidates_of_other_libraries_are_not_read():
    X, y = products()
    X = pd.DataFrame(X, columns=list("abcd"))
    model = CommitteeClassifier(candidates=[KNeighborsClassifier(), "boosting"], min_gain=0.0, **SETTINGS).fit(X, y)
    assert model.member_names_ == ["kneighborsclassifier", "boosting", "second_layer"]
    twin = pickle.loads(pickle.dumps(model))
    assert_array_equal(twin.predict_proba(X), model.predict_proba(X))
    for one in (model, twin):  # the members are read, not copies of them
        members = one.committee_.voters.members
        assert set(map(id, members[-1].voters.first.members)) == set(map(id, members[3:6]))
    alone = CommitteeClassifier(candidates=[KNeighborsClassifier()], **SETTINGS).fit(X, y)
    assert alone.left_out_ == {"second_layer": "no member of the vote is one of committee's own learners"}


def test_it_is_left_out_with_the_reason(monkeypatch):
    calls, (X, y) = added(monkeypatch), products()
    noise = np.random.default_rng(0).integers(0, 2, len(y))
    useless = CommitteeClassifier(candidates=CANDIDATES, **SETTINGS).fit(X, noise)
    assert useless.left_out_["second_layer"] == "no weight"
    without = CommitteeClassifier(candidates=CANDIDATES, **SETTINGS | {"second_layer": False}).fit(X, noise)
    assert "second_layer" not in without.left_out_
    assert_same_bits(useless, without, X)
    rare = np.where(np.arange(len(y)) < 2, 2, noise)
    splits = [(np.r_[0, 2:150, 150:200], np.r_[1, 200:300]), (np.r_[0, 200:300], np.arange(2, 200))]
    lacking = CommitteeClassifier(candidates=["boosting"], **SETTINGS | {"cv": splits}).fit(X, rare)
    assert lacking.left_out_["second_layer"] == "the held-out rows of a class are all in one part of the folds"
    single = CommitteeClassifier(candidates=["boosting"], **SETTINGS).fit(X, np.where(np.arange(len(y)) < 1, 2, noise))
    assert single.left_out_["second_layer"] == "a class has no held-out rows"
    CommitteeClassifier(candidates=["boosting"], time_limit=600.0, **SETTINGS).fit(X, y)
    layer, vote, candidates = calls[-1]
    by_heart = replace(layer, seconds=None, training_losses=lambda vote: np.full(len(layer.labels), 9.0))
    assert by_heart.added_to(vote, candidates).left_out[-1].reason == "worse on training rows"
    (late,) = replace(layer, seconds=0.0).added_to(vote, candidates).left_out
    assert 0.0 < layer.seconds < 600.0 and late.reason.startswith("no time")


def test_auto_is_the_best_effort_from_500_rows_that_are_no_copies(monkeypatch):
    X, y = products(n=500)
    monkeypatch.setattr(second_layer, "SETTINGS", second_layer.SETTINGS | {"n_estimators": 2})
    calls = added(monkeypatch)
    best: dict[str, Any] = {"effort": "best", "candidates": ["lines"], "cv": 2, "random_state": 0}
    CommitteeClassifier(**best).fit(X, y)
    assert len(calls) == 1
    CommitteeClassifier(**best).fit(X[1:], y[1:])
    CommitteeClassifier(**best | {"effort": "default"}).fit(X, y)
    with pytest.warns(UserWarning, match="copies of other rows"):
        CommitteeClassifier(**best).fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    assert len(calls) == 1


def test_what_needs_the_columns_names_the_remedy():
    model, (X, _) = joined(), products()
    left = model.without("second_layer")
    for use in (lambda one: one.contributions(X), lambda one: one.feature_importances_, lambda one: one.prune(0.5)):
        with pytest.raises((TypeError, AttributeError), match=r"Use model.without\('second_layer'\), or train with"):
            use(model)
        use(left)
    assert_allclose(left.contributions(X).sum(axis=1), left.predict_proba(X))
    assert model.distil(X[:100], max_nodes=0.5).nodes_before == model.committee_.n_nodes
    rest = model.without(*(name for name in model.member_names_ if name != "second_layer"))
    assert rest.member_names_ == ["second_layer"]
    assert_array_equal(rest.predict_proba(X), model.member("second_layer").predict_proba(X))
    assert_array_equal(pickle.loads(pickle.dumps(rest)).predict_proba(X), rest.predict_proba(X))
