"""Files of committees of ensembles: round trips, crafted files that are refused, and the limit of their size."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import committee
from committee import CommitteeClassifier, CommitteeRegressor, load
from committee.files.store import read_contents
from committee.learners.blend.model_size import OWN_BYTES, OWN_SHARE, MemberParts, SizeLimit, default_limit
from committee.learners.blend.out_of_fold import Member
from committee.learners.blend.weights import WeightedVote
from committee.report.members import members_grid
from committee.vote.committee import Committee, RegressionCommittee
from committee.vote.links.mean import Identity
from committee.vote.links.probability import Share
from committee.vote.members import MemberCommittees
from committee.voters.forest import Forest
from tests.model_files import craft, forget, lose, put, refused, swap, tell
from tests.small_portfolio import BOTH, FAST, answers, products, rows_for, with_second_layer
from tests.subjects import assert_same_bits, noisy_scores, numbers

pytestmark = pytest.mark.usefixtures("small_members")

GOLDEN = Path(__file__).parents[2] / "golden" / "committee.safetensors"


@pytest.mark.filterwarnings("ignore:n_samples = 2")
def test_a_model_with_nothing_to_judge_by_is_stored(tmp_path):
    X, y = np.array([[0.0], [1.0]]), np.array([0, 1])
    model = CommitteeClassifier(random_state=0).fit(X, y)
    model.save(tmp_path / "model")
    twin = load(tmp_path / "model")
    assert_same_bits(twin, model, X)
    assert np.isnan(twin.oof_loss_) and np.isnan(twin.member_losses_).all()
    assert twin.members_["loss"].to_list() == [None]


def test_files_without_figures_of_those_left_out_are_read():
    model = load(GOLDEN)
    assert not hasattr(model, "left_out_losses_") and model.left_out_
    others = model.members_.filter(weight=0.0)
    assert others["member"].to_list() == list(model.left_out_)
    assert others["loss"].null_count() == others["seconds"].null_count() == len(others)


@pytest.mark.parametrize("name", ["left_out_losses_", "left_out_seconds_"])
def test_crafted_figures_of_those_left_out_are_refused(name, tmp_path):
    model = CommitteeClassifier("fast", cv=2, min_gain=1e9, random_state=0).fit(*numbers(2))
    model.save(tmp_path / "model")
    assert len(load(tmp_path / "model").left_out_) == 3
    content = (tmp_path / "model").read_bytes()
    for figures in (np.zeros(1), np.zeros(3, dtype=np.float32), np.zeros((3, 1))):
        change = swap(f"attributes.{name}", lambda _, figures=figures: figures)
        refused(tmp_path / "model", craft(content, change), name)


def add_a_column(document, _):
    document["model"]["voters"]["members"][0]["table"]["categories"].append(None)
    document["model"]["voters"]["members"][0]["n_features"] += 1


def nest_deeper(document, _):
    voters = document["model"]["voters"]
    for _level in range(20):
        voters["members"] = [{**voters["members"][0], "voters": copy.deepcopy(voters)}]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("attributes.member_sizes_", 0, 2), "member_sizes_ do not count 4 voters"),
        (
            put("attributes.member_sizes_", 0, -(2**62)),
            "member_sizes_ holds -4611686018427387904, which is not between",
        ),
        (swap("attributes.member_sizes_", lambda a: a.astype(np.int32)), "member_sizes_ is int32"),
        (swap("attributes.member_weights_", lambda a: a[:1]), r"member_weights_ is float64 of shape \(1,\)"),
        (swap("attributes.member_losses_", lambda a: a[:, None]), r"member_losses_ is float64 of shape \(3, 1\)"),
        (swap("attributes.member_seconds_", lambda a: a.astype(np.float32)), "member_seconds_ is float32"),
        (lose("attributes.member_gains_"), "array 'attributes.member_gains_' is absent"),
        (forget("attributes", "member_names_"), "'member_names_' is absent"),
        (forget("attributes", "oof_loss_"), "'oof_loss_' is absent"),
        (tell("attributes", "member_names_", value=7), "'member_names_' is a int"),
        (tell("attributes", "member_names_", value={"list": [1, "a", "b"]}), "hold values that are not text"),
        (tell("attributes", "left_out_", value={"dict": [["lines", 3]]}), "hold values that are not text"),
        (tell("attributes", "left_out_", value={"dict": [["lines", "\ud800"]]}), "hold values that are not text"),
        (tell("attributes", "oof_score_", value="high"), "'oof_score_' is a str"),
        (tell("attributes", "n_folds_", value=True), "'n_folds_' is a bool"),
        (tell("voters", "members", value=[]), "members is empty"),
        (tell("voters", "members", 0, value=None), "member 0 is not a committee"),
        (tell("voters", "members", 1, "class", value=["Committee"]), "'class' is a list"),
        (tell("voters", "members", 1, "class", value="RandomForestClassifier"), "member 1 is not a committee"),
        (tell("voters", "members", 1, "class", value="RegressionCommittee"), "member|classes|link"),
        (forget("voters", "members", 2), "weights are not 3 finite"),
        (tell("voters", "members", 2, "classes", "values", value=[0, 1, 7]), "members have different classes"),
        (tell("voters", "members", 1, "table", value=1), "member 1 names the table of member 1, no earlier member"),
        (tell("voters", "members", 1, "table", value=-1), "member 1 names the table of member -1"),
        (tell("voters", "members", 1, "table", value=True), "'table' is a bool"),
        (add_a_column, "columns|features"),
        (nest_deeper, "nested more than|absent"),
    ],
)
def test_crafted_files_are_refused(change, message, tmp_path):
    refused(tmp_path / "model", craft(GOLDEN.read_bytes(), change), message)


def test_losses_that_no_fit_takes_are_refused(tmp_path):
    CommitteeRegressor(**FAST, loss="huber").fit(*noisy_scores()).save(tmp_path / "model")
    assert load(tmp_path / "model").number_loss.name == "huber"
    content = (tmp_path / "model").read_bytes()
    for value, message in (("quantiles", "is of several numbers"), ("log_loss", "it must be one of"), (3, "'loss'")):
        refused(tmp_path / "model", craft(content, tell("params", "loss", value=value)), message)


def test_equal_tables_of_members_are_stored_once(tmp_path):
    X, y = noisy_scores()
    X = X.copy()
    X[:, 0] = np.arange(len(X)) % 23  # target statistics, which differ between folds
    fits = [
        committee.TreeRegressor(max_depth=k, categorical_features=[0]).fit(X[k % 2 :], y[k % 2 :]) for k in range(1, 5)
    ]
    voters = MemberCommittees([one.committee_ for one in fits])
    model = RegressionCommittee(voters, np.full(4, 0.25), Identity())
    model.save(tmp_path / "model")
    stored = read_contents(tmp_path / "model")[0]["model"]["voters"]["members"]
    assert [one["table"] for one in stored[2:]] == [0, 1] and stored[0]["table"] != stored[1]["table"]
    twin = load(tmp_path / "model")
    assert [one.table for one in twin.voters.members] == [one.table for one in voters.members]
    assert_array_equal(twin.predict(X), model.predict(X))
    assert model.column_bytes + sum(voters.file_bytes) == pytest.approx(model.file_bytes, rel=0.1)


def test_figures_of_members_that_are_not_there_are_refused(tmp_path):
    X = np.zeros((4, 1))
    with pytest.warns(UserWarning, match="one class only"):
        model = CommitteeClassifier().fit(X, np.zeros(4, dtype=int))
    model.save(tmp_path / "model")
    content = (tmp_path / "model").read_bytes()
    assert_array_equal(load(tmp_path / "model").predict(X), np.zeros(4))
    change = tell("attributes", "member_names_", value={"list": ["forest"]})
    refused(tmp_path / "model", craft(content, change), "member_names_ is stored, but a model of one class")


# --- size -------------------------------------------------------------------------------------------------------------


def forest_of(n_trees: int, n_splits: int, seed: int = 0) -> Committee:
    """Trees that are chains of splits, with shares that differ."""
    rng = np.random.default_rng(seed)
    N = 2 * n_splits + 1
    inner = np.arange(N) % 2 == 0
    inner[-1] = False
    share = rng.integers(0, 2**24, n_trees * N) / 2**24
    count = np.tile(np.concatenate([np.repeat(np.arange(n_splits, 0, -1) + 1, 2), [1]]), n_trees)
    every = np.tile(inner, n_trees)
    forest = Forest(
        n_features=3,
        n_classes=2,
        offset=np.arange(n_trees + 1, dtype=np.int64) * N,
        feature=np.where(every, rng.integers(0, 3, n_trees * N), -1).astype(np.int32),
        threshold=np.where(every, rng.normal(size=n_trees * N), 0.0),
        left=np.where(every, np.tile(np.arange(N) + 1, n_trees), -1).astype(np.int32),
        missing_left=np.zeros(n_trees * N, dtype=np.uint8),
        category_offset=np.zeros(n_trees * N + 1, dtype=np.int64),
        category_bits=np.zeros(0, dtype=np.uint32),
        label=None,
        value=np.column_stack([share, 1.0 - share]),
        gain=np.zeros(n_trees * N),
        weight=count.astype(np.float64),
        count=count.astype(np.int64),
    )
    return Committee(forest, np.ones(n_trees), np.array([0, 1]), Share())


def vote_of(*members: tuple[str, list[Committee]]) -> WeightedVote:
    found = [Member(name, fits, np.zeros((0, 2)), 0.0) for name, fits in members]
    n = len(found)
    return WeightedVote(found, np.full(n, 1.0 / n), np.zeros(n), np.zeros(n), 0.0, 0.0)


def file_bytes(vote: WeightedVote) -> float:
    return sum(one.file_bytes for member in vote.members for one in member.committees)


def n_parts(vote: WeightedVote) -> list[int]:
    return [len(MemberParts(one.name, one.committees).nodes) for one in vote.members]


def test_a_forest_gives_way_first_down_to_the_trees_of_an_out_of_bag_row():
    fits = [forest_of(9, 4, seed) for seed in range(4)]
    vote = vote_of(("forest", [forest_of(300, 10)]), ("boosting", fits))
    whole = OWN_SHARE * file_bytes(vote) + OWN_BYTES
    assert n_parts(SizeLimit(1.01 * whole).within(vote)) == [300, 4]
    some = SizeLimit(0.7 * whole).within(vote)
    assert 111 < n_parts(some)[0] < 300 and n_parts(some)[1] == 4
    few = SizeLimit(0.3 * whole).within(vote)
    assert n_parts(few)[0] < 111 and n_parts(few)[1] < 4
    for share, small in ((0.7, some), (0.3, few)):
        assert 0.5 * share * whole < file_bytes(small) + OWN_BYTES <= share * whole
    one = SizeLimit(1.0, given=False).within(vote)
    assert [len(member.committees) for member in one.members] == [1, 1] and n_parts(one)[0] == 1


def test_the_member_of_the_least_gain_per_byte_goes_if_its_gain_is_noise():
    members = vote_of(
        ("large", [forest_of(60, 40)]), ("small", [forest_of(9, 4, k) for k in (1, 2)]), ("third", [forest_of(9, 9)])
    ).members
    limit = SizeLimit(24_000.0)
    gains, errors = np.array([0.02, 0.01, 0.05]), np.array([0.03, 0.005, 0.2])
    assert limit.too_large(members, gains, errors) == 0
    assert limit.too_large(members, gains, 0.1 * errors) is None  # each counts, and smaller parts fit
    assert SizeLimit(100.0).too_large(members, gains, 0.1 * errors) == 0
    assert SizeLimit(1e9).too_large(members, gains, errors) is None
    assert [one.name for one in SizeLimit(24_000.0).fitting(members)] == ["large", "small", "third"]
    least = OWN_SHARE * MemberParts("small", members[1].committees).file_bytes[0] + OWN_BYTES
    assert "large" in [one.name for one in SizeLimit(least + 1.0).fitting(members)]
    with pytest.raises(
        ValueError, match=r"max_size=0.1 kB leaves no member room: a file with the smallest part of 'third' takes"
    ):
        SizeLimit(100.0).check(members)
    SizeLimit(100.0, given=False).check(members)
    SizeLimit(24_000.0).check(members)


@BOTH
@pytest.mark.parametrize("share", [0.8, 0.3])
def test_the_file_is_within_the_limit(kind, share, tmp_path):
    X, y = rows_for(kind, 200)
    whole = kind(**FAST | {"min_gain": 0.0, "max_size": None}).fit(X, y)
    whole.save(tmp_path / "whole")
    limit = share * (tmp_path / "whole").stat().st_size
    model = kind(**FAST | {"min_gain": 0.0, "max_size": limit}).fit(X, y)
    assert model.committee_.file_bytes <= limit
    assert_allclose(model.committee_.weights.sum(), 1.0)
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert (tmp_path / "m").stat().st_size <= limit
    assert again.max_size == limit
    assert_array_equal(answers(again, X), answers(model, X))
    table = model.members_
    assert table["file_bytes"].sum() <= limit
    known: Any = set(whole.member_names_) | set(whole.left_out_)
    assert set(model.member_names_) | set(model.left_out_) == known
    assert set(model.left_out_.values()) <= {"size", "no weight"}


def test_a_second_layer_that_is_too_large_is_left_out(tmp_path):
    whole = with_second_layer()
    whole.save(tmp_path / "whole")
    least = clone(whole).set_params(max_size=0.9 * (tmp_path / "whole").stat().st_size).fit(*products())
    assert least.member_names_ == ["lines"] and least.left_out_ == {"second_layer": "size"}
    assert least.members_["loss"].null_count() == 0


@BOTH
def test_sizes_that_are_none_and_those_that_fit_nothing_are_refused(kind):
    X, y = rows_for(kind)
    for size in ("3 apples", "-1", "automatic"):
        with pytest.raises(ValueError, match=f"max_size='{size}' is no number of bytes"):
            kind(**FAST | {"max_size": size}).fit(X, y)
    with pytest.raises(
        ValueError, match=r"max_size=0\.01 kB leaves no member room: a file with the smallest part of '\w+' takes"
    ):
        kind(**FAST | {"max_size": 10}).fit(X, y)
    with pytest.raises(ValueError, match="The 'max_size' parameter"):
        kind(**FAST | {"max_size": 0}).fit(X, y)


def texts(n: int = 120) -> tuple[pl.DataFrame, Any]:
    """Columns of words that resemble each other, as text with components."""
    r = np.random.default_rng(0)
    words = [f"{a}{b}" for a in ("étage", "cour", "rue", "mer") for b in ("", "s", "ine", "ette")]
    columns = {f"c{k}": [" ".join(r.choice(words, 4)) for _ in range(n)] for k in range(2)}
    return pl.DataFrame(columns | {"x": np.arange(n) * 0.5}), np.array([text < "d" for text in columns["c0"]])


def test_the_announced_size_is_that_of_the_file_with_its_texts(tmp_path):
    X, y = texts()
    model = CommitteeClassifier(**FAST).fit(X, y)
    model.save(tmp_path / "m")
    size, announced = (tmp_path / "m").stat().st_size, model.committee_.file_bytes
    assert announced == pytest.approx(size, rel=0.05)
    columns = model.committee_.column_bytes
    assert columns > 0.5 * size  # which the default limit does not count, and another does
    assert model.members_["file_bytes"].sum() + columns == pytest.approx(size, rel=0.05)
    assert members_grid(model).rows[-1][0] == "(columns)"
    with pytest.raises(ValueError, match=r"smallest part of '\w+' takes .* of it for categories and texts of columns"):
        CommitteeClassifier(**FAST | {"max_size": 0.9 * columns}).fit(X, y)


def test_default_sizes_follow_rows_and_classes():
    limits = [default_limit("default", n, 1) for n in (10, 2500, 12_000, 10**7)]
    assert [one.wanted for one in limits] == [1e6, 1e6, 4e6, 15e6] and {one.size for one in limits} == {15e6}
    assert default_limit("default", 10, 3).wanted == 1.5e6
    assert default_limit("default", 10, 100).size == 50e6
    assert default_limit("fast", 36_600, 2).size == 3e6
    assert default_limit("best", 36_600, 2).wanted > 3e6


def test_only_what_loses_nothing_goes_above_the_size_that_is_wanted():
    vote = vote_of(("forest", [forest_of(300, 10)]), ("boosting", [forest_of(9, 4, seed) for seed in range(4)]))
    whole = OWN_SHARE * file_bytes(vote) + OWN_BYTES
    assert n_parts(SizeLimit(2.0 * whole, 1.01 * whole).within(vote)) == [300, 4]
    assert 111 < n_parts(SizeLimit(2.0 * whole, 0.7 * whole).within(vote))[0] < 300
    assert n_parts(SizeLimit(2.0 * whole, 0.1 * whole).within(vote)) == [111, 4]
    assert n_parts(SizeLimit(0.3 * whole, 0.1 * whole).within(vote)) == n_parts(SizeLimit(0.3 * whole).within(vote))


def test_lines_in_leaves_count():
    X, y = rows_for(CommitteeRegressor)
    wanted = {"candidates": ["boosted_lines"], "max_size": None, "n_jobs": None, "random_state": 0}
    whole = CommitteeRegressor(**wanted).fit(X, y)
    limit = 0.6 * whole.committee_.file_bytes
    small = CommitteeRegressor(**wanted | {"max_size": limit}).fit(X, y)
    assert len(small.member_names_) == 1 and small.committee_.file_bytes <= limit
    assert small.member_sizes_[0] < whole.member_sizes_[0]


def test_a_default_limit_changes_no_small_model():
    X, y = rows_for(CommitteeRegressor)
    models = [CommitteeRegressor(**FAST | {"max_size": size}).fit(X, y) for size in (None, "auto", "1 MB")]
    for model in models[1:]:
        assert_array_equal(model.predict(X), models[0].predict(X))
