"""Committees of ensembles distilled to one learner, and pruned."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.metrics import accuracy_score, log_loss, mean_squared_error, r2_score

from committee import CommitteeClassifier, CommitteeRegressor, load, prune
from committee.learners.blend import distillation as module
from committee.learners.blend import model_size, portfolio
from committee.learners.blend.distillation import STUDENTS, Boosting, ClassDistillation, munged_rows, students
from committee.learners.blend.model_size import MemberParts, counts_of_parts, most_nodes
from tests.small_portfolio import BOTH, FAST, answers, rows_for
from tests.subjects import noisy_scores, numbers


@pytest.fixture(autouse=True)
def small(small_members, monkeypatch):
    monkeypatch.setattr(module, "ROWS_WITH_COPIES", 300)
    monkeypatch.setattr(model_size, "LEAST_NODES", 3)


def fitted(kind, n=160, **changes):
    X, y = rows_for(kind, n, n_classes=3)
    return kind(**FAST | changes).fit(X, y), X, y


@BOTH
@pytest.mark.parametrize("max_nodes", [0.3, 60])
def test_it_has_no_more_nodes_than_are_allowed_and_answers_the_like(kind, max_nodes):
    model, X, _ = fitted(kind)
    small = model.distil(X, max_nodes=max_nodes)
    most = max_nodes if max_nodes > 1 else max_nodes * model.committee_.n_nodes
    assert small.nodes == small.model.committee_.n_nodes <= most
    assert small.nodes_before == model.committee_.n_nodes
    new = rows_for(kind, 100, seed=1, n_classes=3)[0]
    if kind is CommitteeClassifier:
        assert np.mean(small.model.predict(new) == model.predict(new)) > 0.8
        assert_array_equal(small.model.classes_, model.classes_)
    else:
        assert r2_score(model.predict(new), small.model.predict(new)) > 0.6


@BOTH
def test_estimates_are_the_committees_own_and_by_how_much_they_get_worse(kind):
    model, X, _ = fitted(kind)
    small = model.distil(X, max_nodes=0.3)
    assert not small.measured
    assert (small.loss_before, small.score_before) == (model.oof_loss_, model.oof_score_)
    assert small.loss == model.oof_loss_ + small.tried[small.student]
    assert small.tried[small.student] == min(small.tried.values()) > 0.0
    assert small.score < small.score_before
    assert 0.5 < small.agreement < 1.0
    assert small.table["model"].to_list() == ["committee", small.student]
    assert small.table["nodes"].to_list() == [small.nodes_before, small.nodes]
    assert small.table["loss"].to_list() == [small.loss_before, small.loss]
    assert str(small).startswith(f"{small.student}: {small.nodes} nodes in place of {small.nodes_before}; estimated: ")
    assert repr(small) == str(small)


@BOTH
def test_validation_rows_measure_both(kind):
    model, X, _ = fitted(kind)
    X_val, y_val = rows_for(kind, 100, seed=1, n_classes=3)
    small = model.distil(X, X_val=X_val, y_val=y_val, max_nodes=0.3)
    assert small.measured
    for one, loss, score in ((model, small.loss_before, small.score_before), (small.model, small.loss, small.score)):
        if kind is CommitteeClassifier:
            assert_allclose(loss, log_loss(y_val, one.predict_proba(X_val)))
            assert score == accuracy_score(y_val, one.predict(X_val))
        else:
            assert_allclose(loss, mean_squared_error(y_val, one.predict(X_val)))
            assert_allclose(score, r2_score(y_val, one.predict(X_val)))


def mixed(n, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            "kind": pd.Categorical(rng.choice(["p", "q", "r"], n)),
            "town": rng.choice([f"town {j}" for j in range(25)], n),
            "nothing": pd.Series([None] * n, dtype="str"),
        }
    )
    return frame, frame["size"].fillna(0.0) + (frame["kind"] == "q") - 0.1 * rng.normal(size=n)


@BOTH
def test_it_takes_the_tables_that_the_committee_takes(kind, tmp_path):
    frame, score = mixed(200)
    score = score * np.where(frame["kind"] == "r", -1.0, 1.0)
    model = kind(**FAST).fit(frame, np.where(score > 0.3, "yes", "no") if kind is CommitteeClassifier else score)
    part = frame[(frame["kind"] != "p") | (frame.index < 3)].iloc[3:]  # without the first level
    small = model.distil(part.reset_index(drop=True), max_nodes=0.4).model
    assert_array_equal(small.feature_names_in_, model.feature_names_in_)
    assert small.table_.names == model.table_.names
    assert small.table_.categories[1] == ("q", "r")
    assert small.table_.categories[3] == ()
    new = mixed(80, seed=1)[0]
    alike = small.predict(new) == model.predict(new)
    assert (
        np.mean(alike) > 0.85 if kind is CommitteeClassifier else r2_score(model.predict(new), small.predict(new)) > 0.5
    )
    small.save(tmp_path / "small.model")
    assert_array_equal(load(tmp_path / "small.model").predict(new), small.predict(new))


def test_of_a_committee_of_lines_one_is_left(monkeypatch):
    monkeypatch.setitem(portfolio._OF_CLASSES, "fast", ("lines",))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    model = CommitteeClassifier(**FAST).fit(X, X.sum(axis=1) + rng.logistic(size=300) > 0.0)
    small = model.distil(X)
    assert small.nodes <= 3
    assert small.agreement > 0.9


@pytest.mark.parametrize(
    ("limit", "n_nodes", "most"), [(0.01, 50_000, 500.0), (0.01, 2000, 100.0), (0.5, 60, 60.0), (7, 2000, 7.0)]
)
def test_a_share_is_a_hundred_nodes_at_least_but_no_more_than_there_are(limit, n_nodes, most):
    model = SimpleNamespace(committee_=SimpleNamespace(n_nodes=n_nodes))
    assert most_nodes(model, limit, 100) == most


@BOTH
def test_rows_of_no_weight_are_absent_and_weights_have_no_unit_nor_threads_a_say(kind):
    model, X, _ = fitted(kind)
    weights = np.arange(len(X)) % 3.0
    one = model.distil(X, sample_weight=weights, max_nodes=0.3)
    for other in (
        model.distil(X[weights > 0], sample_weight=weights[weights > 0] / 8.0, max_nodes=0.3),
        model.set_params(n_jobs=2).distil(X, sample_weight=weights, max_nodes=0.3),
    ):
        assert one.tried == other.tried
        assert_array_equal(one.model.predict(X), other.model.predict(X))


def test_sparse_rows_are_to_be_made_dense():
    model, X, y = fitted(CommitteeClassifier)
    with pytest.raises(ValueError, match=r"X is sparse, .*give X.toarray\(\)"):
        model.distil(csr_array(X))
    small = model.distil(X, X_val=csr_array(X), y_val=y, max_nodes=0.3)
    assert small.score == accuracy_score(y, small.model.predict(X))


def test_of_many_rows_some_are_drawn(monkeypatch):
    model, X, _ = fitted(CommitteeClassifier)
    seen = []
    monkeypatch.setattr(module, "MOST_ROWS", 40)
    train = ClassDistillation.trained
    monkeypatch.setattr(ClassDistillation, "trained", lambda self, *of: seen.append(len(self.X)) or train(self, *of))
    model.distil(X, max_nodes=0.3)
    assert set(seen) == {40}


@pytest.mark.parametrize("max_nodes", [0, 0.0, -1, 1.5, True, "small", None, float("nan")])
def test_a_limit_that_is_none_is_refused(max_nodes):
    with pytest.raises(ValueError, match="must be a share in"):
        most_nodes(None, max_nodes, 100)


def test_what_cannot_be_distilled_is_refused():
    model, X, y = fitted(CommitteeRegressor)
    with pytest.raises(ValueError, match=r"allows 2 of the committee's \d+ nodes, and no learner is so small; allow"):
        model.distil(X, max_nodes=2)
    with pytest.raises(ValueError, match="X_val and y_val go together"):
        model.distil(X, X_val=X)
    with pytest.raises(ValueError, match="X has 7 rows of weight, too few"):
        model.distil(X[:7])
    with pytest.raises(TypeError):
        model.distil(X, y)  # labels are no weights
    with pytest.warns(UserWarning, match="one class"):
        constant = CommitteeClassifier(**FAST).fit(X, np.zeros(len(X)))
    with pytest.raises(ValueError, match="rows of one class; there is nothing to distil"):
        constant.distil(X)
    with pytest.raises(ValueError, match="there is nothing to prune"):
        constant.prune()


@pytest.mark.parametrize("name", list(STUDENTS))
@pytest.mark.parametrize("n_classes", [None, 2, 5])
def test_students_are_made_as_small_as_is_allowed(name, n_classes):
    if name not in students(n_classes):
        return
    learner = students(n_classes)[name].learner(n_classes, 200.0, 300)
    X, y = numbers(n_classes, 300) if n_classes else noisy_scores(300)
    n_nodes = learner.fit(X, y).committee_.n_nodes
    assert n_nodes <= 200
    if isinstance(STUDENTS[name], Boosting):
        assert n_nodes > 60


@given(st.integers(0, 10**6))
def test_of_calibrated_answers_loss_and_error_rise_by_what_is_given_away(seed):
    rng = np.random.default_rng(seed)
    p, q = rng.dirichlet(np.ones(4), (2, 3))
    loss, error = ClassDistillation.increases(None, p, q)
    assert_allclose(loss, -(p * np.log(q)).sum(axis=1) + (p * np.log(p)).sum(axis=1))
    assert (loss >= -1e-12).all() and (error >= 0.0).all()
    wrong = [(1.0 - p[i, q[i].argmax()]) - (1.0 - p[i].max()) for i in range(3)]
    assert_allclose(error, wrong, atol=1e-12)


@given(st.integers(0, 10**6), st.integers(2, 12))
def test_swapped_rows_have_cells_of_a_row_and_of_the_nearest_other(seed, n):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=n), rng.integers(0, 3, n), rng.normal(size=n)])
    X[rng.random((n, 3)) < 0.1] = np.nan
    levels = np.array([0, 3, 0], dtype=np.int32)
    made = munged_rows(X, levels, 2, np.random.RandomState(0)).reshape(2, n, 3)
    for i in range(n):
        cells = [(made[:, i] == X[j]) | (np.isnan(made[:, i]) & np.isnan(X[j])) for j in range(n)]
        assert any((cells[i] | cells[j]).all() for j in range(n) if j != i)


def test_swapped_rows_go_to_the_nearest():
    X = np.array([[0.0, 0.0, 0.0], [0.1, 29.0, 0.1], [5.0, 0.0, 5.0], [5.1, 29.0, 5.1]])
    made = munged_rows(X, np.array([0, 30, 0], dtype=np.int32), 50, np.random.RandomState(0)).reshape(50, 4, 3)
    for i, other in enumerate([1, 0, 3, 2]):
        assert set(made[:, i, 1]) == {X[i, 1], X[other, 1]}
        assert set(made[:, i, 0]) == {X[i, 0], X[other, 0]}
    assert munged_rows(X[:1], np.zeros(3, dtype=np.int32), 3, np.random.RandomState(0)).shape == (0, 3)
    alike = np.zeros((4, 2))
    assert_array_equal(munged_rows(alike, np.zeros(2, dtype=np.int32), 1, np.random.RandomState(0)), alike)


# --- pruned ----------------------------------------------------------------------------------------------------------


def with_four_fits(kind):
    return fitted(kind, 200, cv=4, min_gain=0.0)


def fits_of_members(model):
    """Name, weight, and fits of each member."""
    fits = [model.member(name).voters.members for name in model.member_names_]
    return list(zip(model.member_names_, model.member_weights_, fits, strict=True))


@BOTH
@pytest.mark.parametrize("max_nodes", [0.8, 0.5, 0.34])
def test_fewer_nodes_and_the_same_members_of_the_same_weights(kind, max_nodes):
    model, X, _ = with_four_fits(kind)
    before = answers(model, X)
    small = model.prune(max_nodes)
    assert small.committee_.n_nodes <= max_nodes * model.committee_.n_nodes
    assert small.committee_.n_nodes > 0.3 * max_nodes * model.committee_.n_nodes
    assert type(small) is kind and small.get_params() == model.get_params()
    assert small.member_names_ == model.member_names_ and len(small.member_names_) > 1
    assert_allclose(small.member_weights_, model.member_weights_)
    assert_allclose(small.committee_.weights.sum(), 1.0)
    assert (small.member_sizes_ <= model.member_sizes_).all()
    if kind is CommitteeClassifier:
        assert np.mean(small.predict(X) == model.predict(X)) > 0.85
    else:
        assert np.corrcoef(small.predict(X), before)[0, 1] > 0.97
    assert_array_equal(answers(model, X), before)


@BOTH
def test_it_votes_by_the_first_or_smallest_parts_of_each_member(kind):
    model, X, _ = with_four_fits(kind)
    small, expected = model.prune(0.5), 0.0
    for (name, weight, fits), kept in zip(fits_of_members(model), small.member_sizes_, strict=True):
        smallest = sorted(range(len(fits)), key=lambda k: fits[k].n_nodes)[:kept]
        parts = [fits[k] for k in sorted(smallest)]
        if name in ("forest", "sbpmt"):
            n_voters = small.member(name).voters.members[0].n_voters
            assert n_voters < fits[0].n_voters
            parts = [fits[0][:n_voters]]
        expected = expected + weight * np.mean([answers(one, X) for one in parts], axis=0)
    assert_allclose(answers(small, X), expected)
    if kind is CommitteeRegressor:
        assert np.isnan([small.oof_loss_, small.oof_score_]).all()
    assert_array_equal(answers(model.prune(1.0), X), answers(model, X))
    assert model.prune(1.0).committee_.n_nodes == model.committee_.n_nodes


@pytest.mark.parametrize("large", [100, 103])
def test_half_of_the_nodes_keeps_two_of_four_fits(large):
    # the first half of a forest's trees may have more than half of its nodes
    sizes = [np.array([7] * 50 + [5] * 50), np.array([97, 98, 101, large])]
    most = 0.5 * sum(int(one.sum()) for one in sizes)
    for weights in (np.array([0.6, 0.4]), np.array([0.1, 0.9])):
        trees, fits = counts_of_parts(sizes, weights, most)
        assert fits == 2 and 40 <= trees <= 50
        assert most - 7 < sizes[0][:trees].sum() + sizes[1][:fits].sum() <= most
    assert counts_of_parts(sizes, weights, 103) is None
    assert counts_of_parts(sizes, weights, 104) == [1, 1]
    assert counts_of_parts(sizes, weights, 2 * most) == [100, 4]
    assert counts_of_parts([np.full(3, 9)], np.ones(1), 27) == [3]


@BOTH
def test_members_go_where_one_part_of_each_is_too_much(kind, tmp_path):
    model, X, _ = with_four_fits(kind)
    least = sum(int(MemberParts(name, fits).nodes[0]) for name, _, fits in fits_of_members(model))
    assert model.prune(least).member_names_ == model.member_names_
    small = model.prune(least - 1)
    gone = [name for name in model.member_names_ if name not in small.member_names_]
    assert gone[0] == model.member_names_[int(np.argmin(model.member_weights_))]
    assert {name: small.left_out_[name] for name in gone} == dict.fromkeys(gone, "pruned")
    assert "pruned" not in model.left_out_.values()
    assert len(small.left_out_losses_) == len(small.left_out_seconds_) == len(small.left_out_)
    assert small.members_.filter(small.members_["member"] == gone[0])["weight"].item() in (0.0, None)
    assert_allclose(small.member_weights_.sum(), 1.0)
    small.save(tmp_path / "small")
    assert_array_equal(answers(load(tmp_path / "small"), X), answers(small, X))


def test_what_cannot_be_pruned_is_refused():
    model, X, y = with_four_fits(CommitteeClassifier)
    with pytest.raises(ValueError, match=r"allows 1 nodes, and a part of the member '\w+' has \d+; allow more, or"):
        model.prune(1)
    with pytest.raises(ValueError, match=r"max_nodes=2\.0 must be a share"):
        model.prune(2.0)
    with pytest.raises(TypeError, match=r"is a CommitteeClassifier, .* call its own prune"):
        prune(model, X, y, on="train")
    with pytest.raises(TypeError, match=r"is a CommitteeRegressor, .* call its own prune"):
        prune(with_four_fits(CommitteeRegressor)[0], X, y, level="voter")


def test_rows_that_it_has_not_seen_drop_whole_fits():
    model = with_four_fits(CommitteeClassifier)[0]
    X, y = numbers(3, 300, seed=1)
    small = prune(model, X, y, level="voter", on="validation", max_voters=3)
    assert small.committee_.n_voters <= 3
    assert small.score(X, y) > 0.5
