"""Committees of ensembles: the vote, held-out figures, candidates that fail, few rows, contributions."""

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, log_loss, r2_score
from sklearn.model_selection import KFold, StratifiedKFold

from committee import (
    CommitteeClassifier,
    CommitteeRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    TreeVoter,
)
from committee.data.rows import Rows
from committee.data.table_schema import TableSchema
from committee.data.text import byte_text
from committee.learners.base.row_sampling import Folds, copied_rows
from committee.learners.blend import portfolio
from committee.learners.blend.candidates import Candidate
from committee.learners.blend.out_of_fold import oob_is_held_out
from committee.learners.blend.portfolio import candidates
from committee.learners.blend.weights import WeightedVote
from tests.small_portfolio import BOTH, FAST, answers, out_of_fold, rows_for
from tests.subjects import noisy_scores, numbers, weights
from tests.vote.explain.mixed_table import mixed_table

pytestmark = pytest.mark.usefixtures("small_members")


def only(monkeypatch, *names, **changes):
    """Leave these candidates alone, with changes."""
    for table, of in (("_CLASSES", "_OF_CLASSES"), ("_NUMBERS", "_OF_NUMBERS")):
        known = {name: replace(one, **changes) for name, one in getattr(portfolio, table).items()}
        monkeypatch.setattr(portfolio, table, known)
        left = tuple(name for name in names if name in known)
        monkeypatch.setattr(portfolio, of, dict.fromkeys(getattr(portfolio, of), left))


class Broken(TreeVoter):
    def fit(self, X, y, sample_weight=None):
        raise ValueError(f"{len(X)} rows are too good")


def test_fits_on_other_folds_take_what_the_trials_of_the_first_chose(monkeypatch):
    only(monkeypatch, "boosting", parameters={"max_leaf_nodes": 7})
    X = np.array(list(np.ndindex(3, 4, 3, 4, 3)), dtype=float)
    y = (X[:, 0] + X[:, 1] > 3) ^ ((X[:, 2] == 1) & (X[:, 3] > 1))
    model = CommitteeClassifier("best", cv=2, max_size=None, random_state=0).fit(X, y)
    first, second = model.committee_.voters.members
    assert first.n_voters == second.n_voters > 200
    assert_allclose(first.weights, second.weights[0])


# --- the vote --------------------------------------------------------------------------------------------------------


KINDS = pytest.mark.parametrize(
    ("kind", "n_classes"), [(CommitteeClassifier, 2), (CommitteeClassifier, 3), (CommitteeRegressor, 1)]
)


@KINDS
def test_the_vote_is_the_weighted_mean_of_the_members(kind, n_classes):
    X, y = rows_for(kind, n_classes=n_classes)
    model = kind("best", min_gain=0.0, cv=3, random_state=0).fit(X, y)
    assert len(model.member_names_) > 1
    weights = np.repeat(model.member_weights_ / model.member_sizes_, model.member_sizes_)
    fits = zip(weights, model.committee_.voters.members, strict=True)
    assert_allclose(answers(model, X), sum(w * answers(one, X) for w, one in fits), atol=1e-12)
    members = [model.member(name) for name in model.member_names_]
    assert [len(member) for member in members] == model.member_sizes_.tolist()
    mean = sum(w * answers(member, X) for member, w in zip(members, model.member_weights_, strict=True))
    assert_allclose(answers(model, X), mean)
    if kind is CommitteeClassifier:
        assert_array_equal(model.predict(X), model.classes_[mean.argmax(axis=1)])
    name = model.member_names_[-1]
    with pytest.raises(ValueError, match=f"there is no member 'the {name}'; did you mean .*{name}"):
        model.member(f"the {name}")


@BOTH
def test_the_table_of_members(kind):
    X, y = rows_for(kind)
    model = kind("best", cv=3, min_gain=0.0, random_state=0).fit(X, y)
    table = model.members_
    assert table.columns == [
        *("member", "weight", "fits", "loss", "gain", "seconds"),
        *("nodes", "nbytes", "file_bytes", "predict_us", "left_out"),
    ]
    assert_allclose(table["weight"].sum(), 1.0)
    assert (table["weight"].diff().drop_nulls() <= 0).all()
    assert table["fits"].sum() == model.committee_.n_voters
    assert table["nodes"].sum() == model.committee_.voters.n_nodes.sum()
    assert (table["seconds"] > 0).all()
    assert (table["loss"] >= model.oof_loss_).all()
    wanted = [one.name for one in candidates(kind is CommitteeRegressor, "best")]
    assert sorted(table["member"]) == sorted(wanted)
    left_out = pl.col("left_out").is_not_null()
    members, others = table.filter(~left_out), table.filter(left_out)
    assert set(members["fits"]) <= {1, 3} and model.n_folds_ == 3
    assert (members["gain"] > 0).all() or len(members) == 1
    assert sorted(members["member"]) == sorted(model.member_names_)
    assert others["weight"].sum() == 0.0
    assert dict(others.select("member", "left_out").iter_rows()) == model.left_out_
    assert model.left_out_ == {name: "no weight" for name in wanted if name not in model.member_names_}
    assert others["loss"].is_sorted() and others["gain"].null_count() == len(others)
    assert (others.select("fits", "nodes", "nbytes", "file_bytes").sum_horizontal() == 0).all()
    assert others["predict_us"].null_count() == len(others)
    committee = model.committee_
    assert table["nbytes"].sum() == committee.nbytes - committee.weights.nbytes
    assert table["file_bytes"].sum() == pytest.approx(committee.file_bytes, rel=0.1)
    assert (members["predict_us"] > 0).all()
    assert byte_text(committee.nbytes) in repr(committee)


def test_the_loss_of_a_candidate_without_weight_is_that_of_a_member():
    X, y = noisy_scores()
    few, all_of_them = (CommitteeRegressor(**FAST | {"min_gain": gain}).fit(X, y).members_ for gain in (1e9, 0.0))
    assert few["left_out"].null_count() == 1
    same = few.join(all_of_them, on="member", suffix="_again")
    assert len(same) == len(few) and same["loss"].equals(same["loss_again"])


@pytest.mark.filterwarnings("ignore:y holds one class only")
def test_a_model_of_one_class_has_a_table_without_rows():
    X, y = numbers(2)
    one, two = (CommitteeClassifier(**FAST).fit(X, target) for target in (np.zeros(len(y)), y))
    assert one.members_.is_empty() and one.members_.schema == two.members_.schema
    assert not hasattr(one, "member_names_") and not hasattr(one, "oof_loss_")
    with pytest.raises(ValueError, match="there is no member 'forest'; rows of one class have none"):
        one.member("forest")


@pytest.mark.filterwarnings("ignore:The number of unique classes")
def test_an_identifier_as_target_is_refused_with_its_name():
    frame = pl.DataFrame({"x": np.arange(60.0), "customer": [f"c{k}" for k in range(60)]})
    with pytest.raises(ValueError, match=r"the target 'customer' has 60 different values in 60 rows, as an identifier"):
        CommitteeClassifier(**FAST).fit(frame, "customer")
    with pytest.raises(ValueError, match=r"y has 31 different values in 60 rows.* use a regressor .* groups"):
        CommitteeClassifier(**FAST).fit(frame[["x"]], np.arange(60) % 31)
    # as many rows by weights as by copies
    rows = CommitteeClassifier().training_rows(frame[["x"]][:31], np.arange(31), np.full(31, 2.0))
    assert rows.count == 62.0


@BOTH
def test_members_that_add_too_little_go(kind):
    X, y = rows_for(kind)
    sizes = [len(kind("best", cv=3, min_gain=g, random_state=0).fit(X, y).member_names_) for g in (0.0, 1.0, 1e9)]
    assert sizes == sorted(sizes, reverse=True) and sizes[-1] == 1


# --- rows that a fit has not seen ------------------------------------------------------------------------------------


@KINDS
@pytest.mark.parametrize("weighted", [False, True])
def test_figures_are_those_of_fits_without_the_rows(kind, n_classes, weighted):
    X, y = rows_for(kind, n_classes=n_classes)
    w = weights() if weighted else None
    folds = list((StratifiedKFold if kind is CommitteeClassifier else KFold)(3).split(X, y))
    model = kind(**FAST | {"cv": folds, "min_gain": 0.0}).fit(X, y, w)
    assert model.n_folds_ == 3 and set(model.member_sizes_) == {3}
    mean = out_of_fold(model, folds, X)
    row = np.concatenate([test for _, test in folds])
    y, of = y[row], None if w is None else w[row]
    if kind is CommitteeClassifier:
        assert_allclose(model.oof_loss_, log_loss(y, mean, sample_weight=of), rtol=1e-9)
        assert_allclose(model.oof_score_, accuracy_score(y, mean.argmax(axis=1), sample_weight=of))
    else:
        assert_allclose(model.oof_loss_, np.average((mean - y) ** 2, weights=of))
        assert_allclose(model.oof_score_, r2_score(y, mean, sample_weight=of))


@pytest.mark.filterwarnings("ignore:.* in every draw")
def test_figures_of_a_forest_are_those_out_of_bag(monkeypatch):
    only(monkeypatch, "forest", parameters={"n_estimators": 7})
    forest = {"n_estimators": 7, "oob_score": True, "random_state": np.random.RandomState(0).randint(2**30)}
    X, y = noisy_scores()
    predicted = RandomForestRegressor(**forest).fit(X, y).oob_prediction_
    known = np.isfinite(predicted)
    assert not known.all()  # few trees have all rows out of a bag
    assert_allclose(CommitteeRegressor(**FAST).fit(X, y).oof_loss_, np.mean((predicted - y)[known] ** 2))
    X, y = numbers(3)
    p = RandomForestClassifier(**forest).fit(X, y).oob_decision_function_
    known = np.isfinite(p[:, 0])
    assert_allclose(CommitteeClassifier(**FAST).fit(X, y).oof_score_, np.mean(p.argmax(axis=1)[known] == y[known]))


def test_categories_that_name_rows_tell_nothing_of_their_classes():
    """Numbers that stand for levels are learned by each fit: learned from all rows, they would give the class away."""
    losses, scores = [], []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        y = rng.permutation(np.arange(240) % 2)
        name = np.char.add("row ", (rng.permutation(240) % 110).astype(str))
        X = pl.DataFrame({"name": name, "size": rng.normal(size=240)})
        losses.append(CommitteeClassifier(**FAST).fit(X, y).oof_loss_)
        scores.append(CommitteeRegressor(**FAST).fit(X, rng.normal(size=240)).oof_score_)
    assert np.mean(losses) > np.log(2) - 0.01
    assert np.mean(scores) < 0.01


def test_identifiers_alone_tell_nothing():
    """Their numbers are means of all rows of a level, so that no draw leaves a row out that its trees do not know."""
    rng = np.random.default_rng(0)
    X = pl.DataFrame({"id": [f"u{k}" for k in range(300)], "same": np.ones(300)})
    kept: dict[str, Any] = {**FAST, "keep_identifiers": True}
    assert CommitteeClassifier(**kept).fit(X, np.arange(300) % 2).oof_loss_ > np.log(2) - 0.01
    assert CommitteeRegressor(**kept).fit(X, rng.normal(size=300)).oof_score_ < 0.01


def test_rows_that_all_come_again_are_judged_by_what_has_not_seen_them():
    X, y = numbers(2, 240)
    y = np.where(np.random.default_rng(0).random(240) < 0.2, 1 - y, y)
    once = CommitteeClassifier(**FAST).fit(X, y)
    with pytest.warns(UserWarning, match="240 of 480 rows are copies"):
        again = CommitteeClassifier(**FAST).fit(np.tile(X, (2, 1)), np.tile(y, 2))
    assert again.oof_score_ < 0.9
    assert_allclose(again.oof_loss_, once.oof_loss_, atol=0.05)


@pytest.mark.parametrize(
    ("times", "weights", "unseen"),
    [
        (np.ones(60, int), np.ones(60), True),
        (np.ones(60, int), np.full(60, 3.0), True),  # one row, whatever it weighs, is drawn or left out
        (np.full(60, 3), np.ones(180), False),
        (np.where(np.arange(60) % 2, 1, 3), np.ones(120), False),  # one class has been repeated
        (np.where(np.arange(60) < 5, 2, 1), np.ones(65), True),  # what has come twice may come again
    ],
)
def test_rows_out_of_bag_are_unseen_unless_all_of_a_class_come_again(times, weights, unseen):
    rng = np.random.default_rng(0)
    row = np.repeat(np.arange(60), times)
    rows = Rows(rng.normal(size=(60, 3))[row], (row % 2).astype(np.uint16), weights, bool((weights == 1.0).all()))
    table = TableSchema(None, (None, None, None))
    assert oob_is_held_out(rows, table, sum(fold.n_test for fold in Folds.of(rows, 4))) == unseen
    assert (copied_rows(rows, 1) is None) == unseen


def test_figures_are_those_of_new_rows_where_categories_tell():
    rng = np.random.default_rng(0)
    level = rng.integers(0, 60, 1200)
    y = (rng.random(1200) < np.linspace(0.1, 0.9, 60)[rng.permutation(60)][level]).astype(int)
    X = pl.DataFrame({"name": np.char.add("level ", level.astype(str)), "size": rng.normal(size=1200)})
    model = CommitteeClassifier(**FAST).fit(X[:600], y[:600])
    assert abs(model.oof_score_ - model.score(X[600:], y[600:])) < 0.06
    assert model.score(X[600:], y[600:]) > 0.6  # 0.7 is the best there is
    assert_array_equal(model.predict(X[600:601]), model.predict(X[600:])[:1])


@BOTH
def test_fits_of_folds_share_no_row_with_what_they_judge(kind, fits):
    X, y = rows_for(kind)
    kind(**FAST | {"cv": 4}).fit(X, y)
    whole = {name for name, index in fits if len(index) == len(X)}
    assert whole == {one.name for one in candidates(kind is CommitteeRegressor, "fast") if one.out_of_bag}
    for name in {name for name, _ in fits} - whole:
        absent = np.concatenate([np.setdiff1d(np.arange(len(X)), index) for one, index in fits if one == name])
        assert_array_equal(np.sort(absent), np.arange(len(X)))


@BOTH
def test_repeated_rows_are_rows_of_weight(kind, monkeypatch):
    """Of members that are trained on folds; copies share one."""
    only(monkeypatch, "lines", "boosting", out_of_bag=False)
    X, y = rows_for(kind)
    times = np.random.default_rng(0).integers(0, 4, len(y))
    model = kind(**FAST | {"cv": 3}).fit(X, y, times)
    with pytest.warns(UserWarning, match="copies of other rows"):
        repeated = kind(**FAST | {"cv": 3}).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert_allclose(model.oof_loss_, repeated.oof_loss_, rtol=1e-6)
    assert_allclose(model.member_weights_, repeated.member_weights_, atol=1e-5)


# --- members that are not to be --------------------------------------------------------------------------------------


@BOTH
def test_a_candidate_that_fails_is_left_out_with_the_reason(kind, monkeypatch):
    others = [one for one in candidates(kind is CommitteeRegressor, "fast") if one.name != "lines"]
    wanted = [Candidate("broken", Broken), *others]
    monkeypatch.setattr(portfolio, "candidates", lambda *_: wanted)
    X, y = rows_for(kind)
    model, reason = kind(**FAST).fit(X, y), "60 rows are too good"
    assert model.left_out_["broken"] == reason
    assert "broken" not in model.member_names_ and model.committee_.n_voters
    (broken,) = model.members_.filter(member="broken").iter_rows(named=True)
    assert broken["loss"] is None and broken["weight"] == 0.0 and broken["seconds"] > 0.0
    assert broken["left_out"] == reason and model.members_["member"][-1] == "broken"
    # nor is it the member of a fit without time
    with pytest.warns(UserWarning, match="leaves no candidate its time"):
        late = kind(**FAST | {"time_limit": 1e-9}).fit(X, y)
    assert late.member_names_ and late.left_out_["broken"].startswith((reason, "no time"))


@BOTH
def test_without_members_there_is_no_model(kind, monkeypatch):
    only(monkeypatch, "forest", "large_trees", learner=Broken, out_of_bag=False, parameters={})
    X, y = rows_for(kind)
    model = kind(**FAST)
    with pytest.raises(ValueError, match=r"on 120 rows \(forest: 60 rows .*; large_trees: 60 rows are too good\)"):
        model.fit(X, y)
    assert not hasattr(model, "committee_")


# --- few rows, few classes -------------------------------------------------------------------------------------------


def test_a_class_of_one_row_is_always_trained_on():
    X, y = numbers(2)
    y[0] = 2
    model = CommitteeClassifier(**FAST).fit(X, y)
    assert model.classes_.tolist() == [0, 1, 2] and np.isfinite(model.oof_loss_)
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize("n", [2, 3])
def test_classes_of_one_row_each_give_a_forest(n):
    X = np.arange(float(n))[:, None]
    with pytest.warns(UserWarning, match=f"n_samples = {n} rows are too few to compare members on held") as warned:
        model = CommitteeClassifier(random_state=0).fit(X, np.arange(n))
    assert [each.filename for each in warned] == [__file__]
    assert model.member_names_ == ["forest"] and model.n_folds_ == 0 and np.isnan(model.oof_loss_)
    assert model.predict_proba(X).shape == (n, n)


def test_a_constant_target_is_predicted():
    X, _ = noisy_scores()
    model = CommitteeRegressor(**FAST).fit(X, np.full(len(X), 7.5))
    assert_allclose(model.predict(X), 7.5)
    assert model.oof_loss_ < 1e-12
    assert_allclose(model.member_weights_.sum(), 1.0)


# --- company ---------------------------------------------------------------------------------------------------------


@BOTH
def test_seeds_decide_what_members_draw(kind):
    X, y = rows_for(kind)
    models = (kind(random_state=seed).fit(X, y) for seed in (0, 1))
    one, other = (model.members_.sort("member")["loss"].to_list() for model in models)
    assert one != other


@pytest.mark.parametrize("factor", [1e-9, 1e9])
def test_the_unit_of_weights_has_no_say_in_folds_and_draws(factor):
    X, y = rows_for(CommitteeClassifier)
    weights = np.random.default_rng(3).uniform(0.5, 2.0, len(y))
    model = CommitteeClassifier("fast", random_state=0).fit(X, y, factor * weights)
    assert model.n_folds_ == 4
    assert not any("out of bag" in reason for reason in model.left_out_.values())


def test_a_member_that_no_row_is_out_of_bag_of_is_left_out(monkeypatch):
    X, y = rows_for(CommitteeClassifier)
    real = {one.name: one for one in candidates(False, "fast")}
    forest = replace(real["forest"], parameters={"n_estimators": 1, "max_samples": 1000})
    monkeypatch.setattr(portfolio, "candidates", lambda *_: [forest, real["lines"]])
    model = CommitteeClassifier(**FAST).fit(X[:20], y[:20])
    assert "no row is out of bag" in model.left_out_["forest"]
    assert model.member_names_ == ["lines"]


# --- contributions and importances -----------------------------------------------------------------------------------


@pytest.fixture
def fitted(monkeypatch):
    """Fit classifiers whose members all count alike, so that none goes."""

    def alike(self, members, rows, judged):
        nothing = np.zeros(len(members))
        return WeightedVote(members, np.full(len(members), 1.0 / len(members)), nothing, nothing, 0.0, 0.0)

    monkeypatch.setattr(CommitteeClassifier, "_weighed", alike)
    return lambda X, y, effort="best": CommitteeClassifier(**FAST | {"effort": effort}).fit(X, y)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_contributions_add_up_to_the_probabilities(n_classes, fitted):
    X, y = mixed_table(n_classes=n_classes)
    model = fitted(X, y)
    assert len(model.member_names_) == 7
    shares = model.contributions(X)
    assert shares.shape == (len(X), 5, n_classes)
    assert_allclose(shares.sum(axis=1), model.predict_proba(X), atol=1e-12)
    assert_allclose(shares[:, :-1].sum(axis=2), 0.0, atol=1e-12)
    score = model.contributions(X, output="score")
    assert_allclose(score.sum(axis=1), model.decision_function(X), atol=1e-12)
    assert score.shape == ((len(X), 5) if n_classes == 2 else shares.shape)


def test_contributions_of_categories_of_many_levels(fitted):
    rng = np.random.default_rng(0)
    town, x = rng.integers(0, 90, 1200), rng.normal(size=1200)
    y = (x + 3.0 * (town % 2) > 1.5).astype(int)
    X = pl.DataFrame({"town": [f"t{t}" for t in town], "x": x}, schema={"town": pl.Categorical, "x": pl.Float64})
    model = fitted(X, y)
    shares = model.contributions(X)
    assert model.table_.n_levels[0] == 90
    assert_allclose(shares.sum(axis=1), model.predict_proba(X), atol=1e-12)
    assert np.abs(shares[:, 0]).mean() > 0.01


def test_a_column_that_no_member_looks_at_adds_nothing(fitted):
    X, y = numbers(2)
    X = np.column_stack([X, np.ones(len(X))])
    model = fitted(X, y)
    assert not model.contributions(X)[:, 5].any()
    assert model.feature_importances_[5] == 0.0


def test_lines_count_in_the_importances(fitted):
    model = fitted(*numbers(3), "fast")
    of_members = [one.voters.record.risk_decrease.sum(axis=0) for one in model.member("lines").voters.members]
    lines = np.mean([each / each.sum() for each in of_members], axis=0)
    assert lines.sum() == pytest.approx(1.0)
    assert (model.feature_importances_ >= lines / 4.0 - 1e-12).all()
    assert model.feature_importances_.sum() == pytest.approx(1.0)


def test_contributions_that_cannot_be(fitted):
    X, y = numbers(2)
    with pytest.raises(NotFittedError):
        CommitteeClassifier().contributions(X)
    model = fitted(X, y, "fast")
    with pytest.raises(ValueError, match="output='prediction' is not available for a classifier; give 'probability'"):
        model.contributions(X, output="prediction")
    with pytest.raises(TypeError, match="sparse"):
        model.contributions(csr_array(X))


@pytest.mark.filterwarnings("ignore:n_samples")
def test_contributions_of_a_forest_alone():
    X = numbers(2)[0]
    few = CommitteeClassifier(random_state=0).fit(X[:2], [0, 1])
    assert_allclose(few.contributions(X).sum(axis=1), few.predict_proba(X), atol=1e-12)
