"""Size of a committee of ensembles: the limit holds, what gives way first, and limits that are too small."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from committee import CommitteeClassifier, CommitteeRegressor, load
from committee.learners.blend.members import Member
from committee.learners.blend.model_size import OWN_BYTES, OWN_SHARE, MemberParts, SizeLimit, default_limit
from committee.learners.blend.weights import WeightedVote
from committee.report.members import members_grid
from committee.vote.committee import Committee
from committee.vote.links.probability import Share
from committee.voters.forest import Forest
from tests.small_portfolio import BOTH, FAST, answers, rows_for

pytestmark = pytest.mark.usefixtures("small_members")


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


@BOTH
def test_sizes_that_are_none_and_those_that_fit_nothing_are_refused(kind):
    X, y = rows_for(kind)
    for size in ("3 apples", "-1", "automatic"):
        with pytest.raises(ValueError, match=f"max_size='{size}' is no amount of memory"):
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
