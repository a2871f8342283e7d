"""Boosting on shards of the rows: the same trees and scores as on one table, to the bit."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from committee import _core
from committee.data.bins import Binned, Bins
from committee.learners.base.row_sampling import RowUnits
from committee.learners.gradient.leaf_values import LeafPenalty, LineFit
from committee.learners.gradient.rounds import Draws, GradientRun, RowsInMemory
from committee.learners.gradient.shards import RowsOnShards, Shard, Shards, sum_of
from committee.learners.gradient.target import Target
from committee.objectives.losses import Logistic, Squared
from tests.core.checked_tree import DEFAULTS

LIMITS = DEFAULTS | {"max_leaf_nodes": 8, "min_samples_leaf": 2, "min_hessian_leaf": 1e-3, "leaf_l2": 1.0}


class Problem:
    def __init__(self, seed, n, loss, weights, limits, *, shared=False, lines=False):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, 4))
        X[:, 1] = rng.integers(0, 3, n)
        X[:, 2] = rng.integers(0, 5, n)
        X[rng.random((n, 4)) < 0.05] = np.nan
        n_categories = np.array([0, 0, 5, 0], dtype=np.int32)
        bins = Bins.learn(X, None, n_categories, 255)
        self.binned = Binned(bins, bins.encode(X))
        self.X = X
        self.line_fit = LineFit((n_categories == 0).astype(np.uint8), 1.0) if lines else None
        clean = np.nan_to_num(X)
        self.n_scores = 3 if loss == "softmax" else 1
        if loss in ("squared", "heavy"):
            y = clean[:, 0] ** 2 + clean[:, 2] + rng.normal(size=n)
            if loss == "heavy":  # too heavy for one word
                y = y + np.exp(6.0 * rng.normal(size=n))
        else:
            y = np.digitize(clean[:, 0] + clean[:, 1], [1.0] if loss == "logistic" else [0.3, 1.5]).astype(np.uint16)
        kinds = {"whole": lambda: rng.integers(1, 40, n).astype(float), "any": lambda: rng.uniform(0.1, 2.0, n)}
        w = kinds.get(weights, lambda: None)()
        self.n, self.seed, self.w = n, seed, w
        self.target = Target(Squared() if loss in ("squared", "heavy") else Logistic(), y, w)
        self.outputs = self.n_scores if shared else 1
        self.intercept = np.linspace(-0.2, 0.3, self.n_scores)
        self.limits = LIMITS | {"n_outputs": self.outputs} | limits
        place = rng.random(n)
        self.units = RowUnits(np.arange(n), None, place, n)
        if weights == "whole":
            assert w is not None
            row = np.repeat(np.arange(n), np.minimum(w, 3).astype(int))
            self.units = RowUnits(row, w[row] / np.minimum(w, 3)[row], rng.random(len(row)), n)

    def draws(self, share, *, held, of_tree, by_node):
        training = np.random.default_rng(self.seed + 1).random(len(self.units.row)) < 0.8 if held else None
        units = self.units if share < 1.0 or held else None
        return Draws(self.seed, 4, share, of_tree, by_node, units, training)

    def run(self, scored, draws):
        return GradientRun(
            self.target,
            scored,
            self.binned.bins,
            max(2, self.n_scores),
            intercept=self.intercept,
            earlier=None,
            shared=self.outputs > 1 or self.n_scores == 1,
            draws=draws,
            learning_rate=0.3,
            search=None,
        )

    def grower(self, codes):
        bins = self.binned.bins
        return _core.GradientGrower(codes, bins.n_bins, bins.categorical, **self.limits)

    def in_memory(self, draws):
        F = self.target.first_scores(self.intercept)
        scored = RowsInMemory(self.target, self.grower(self.binned.codes), F, self.binned, self.line_fit, self.X, 1)
        return self.run(scored, draws)

    def on_shards(self, shards, draws, number=0):
        scored = RowsOnShards(shards, number, self.target, self.grower(None), self.intercept, draws, self.line_fit)
        return self.run(scored, draws)

    def shards(self, cuts):
        found = []
        for rows in [slice(*ends) for ends in pairwise([0, *cuts, self.n])]:
            if rows.start == rows.stop:
                continue
            target = self.target.part(rows)
            codes = np.ascontiguousarray(self.binned.codes[rows])
            X = np.ascontiguousarray(self.X[rows])
            found.append(Shard(codes, self.binned.bins.n_bins, target, self.outputs, 1, X))
        return found


def assert_same(run, other):
    for a, b in zip(of_run(run), of_run(other), strict=True):
        assert_array_equal(a, b)


def of_run(run):
    trees = [one.tree for one in run.grown]
    found = [part for tree in trees for part in (*tree.nodes(), tree.value, tree.bounds)]
    found += [np.empty(0) if tree.weight is None else tree.weight for tree in trees]
    found += [array for one in run.grown if one.lines is not None for array in one.lines.arrays]
    return [*found, *(one.value for one in run.grown), run.scored.scores(np.arange(run.scored.n_rows))]


problems = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10_000),
        "n": st.sampled_from([5, 40, 700, 9_500]),
        "loss": st.sampled_from(["squared", "heavy", "logistic", "softmax"]),
        "weights": st.sampled_from(["none", "whole", "any"]),
        "limits": st.fixed_dictionaries(
            {
                "growth": st.sampled_from(["leaf", "depth"]),
                "max_leaf_nodes": st.sampled_from([0, 2, 3, 8, 31]),
                "max_depth": st.sampled_from([0, 3]),
                "max_features": st.sampled_from([0, 2]),
                "feature_weights": st.sampled_from([None, np.array([1, 2, 0, 1], dtype=np.uint32)]),
                "max_weight": st.sampled_from([np.inf, 0.3]),
                "draw_thresholds": st.sampled_from([0.0, 0.5, 1.0]),
            }
        ),
        "shared": st.booleans(),
        "lines": st.booleans(),
    }
)
drawn = st.fixed_dictionaries(
    {
        "share": st.sampled_from([1.0, 0.7, 0.001]),
        "held": st.booleans(),
        "of_tree": st.sampled_from([4, 2]),
        "by_node": st.booleans(),
    }
)


@given(problem=problems, drawn=drawn, data=st.data())
@examples(max_examples=120, deadline=None)
def test_shards_grow_the_trees_of_one_table(problem, drawn, data):
    one = Problem(**problem)
    cuts = sorted(data.draw(st.lists(st.integers(0, one.n), max_size=6)))
    assert_same_rounds(one, ShardsHere(one.shards(cuts)), one.draws(**drawn))


def assert_same_rounds(one, shards, draws):
    whole, parted = one.in_memory(draws), one.on_shards(shards, draws)
    for _ in range(3):
        whole.advance()
        parted.advance()
    assert_same(whole, parted)
    for run in (whole, parted):
        run.replay(one.target, LeafPenalty(0.0, 0.0, 1.0), one.intercept / 2, 2)
    assert_same(whole, parted)


class ShardsHere(Shards):
    def __init__(self, shards):
        super().__init__([len(shard) for shard in shards])
        self.shards = list(shards)

    def _replies(self, calls):
        return [[call.made(shard, i) for call in calls][-1] for i, shard in enumerate(self.shards)]

    def _sum(self, calls):
        return sum_of(self._replies(calls))


class LosesShards(ShardsHere):
    """Forgets a shard before some calls, and makes it anew from its rows and the journal: more rarely if it is long."""

    def __init__(self, make, seed):
        super().__init__(make())
        self.make, self.random = make, np.random.default_rng(seed)

    def _replies(self, calls):
        if self.random.random() < 3.0 / (10 + len(self.journal)):
            lost = int(self.random.integers(len(self.shards)))
            self.shards[lost] = self.make()[lost]
            for call in self.journal:
                answer = call.made(self.shards[lost], lost)
            others = [i for i in range(len(self.shards)) if i != lost]
            replies = {i: [call.made(self.shards[i], i) for call in calls][-1] for i in others}
            if calls[-1] is not self.journal[-1]:
                answer = calls[-1].made(self.shards[lost], lost)
            return [replies.get(i, answer) for i in range(len(self.shards))]
        return super()._replies(calls)


@given(problem=problems, drawn=drawn, seed=st.integers(0, 100))
@examples(max_examples=60, deadline=None)
def test_a_shard_that_is_lost_is_made_again(problem, drawn, seed):
    one = Problem(**problem)
    shards = LosesShards(lambda: one.shards([one.n // 3, one.n // 2]), seed)
    assert_same_rounds(one, shards, one.draws(**drawn))


def test_two_runs_take_turns_on_the_same_shards():
    one = Problem(3, 500, "softmax", "none", {})
    draws, shards = one.draws(0.7, held=False, of_tree=4, by_node=False), ShardsHere(one.shards([100, 130]))
    alone, runs = one.in_memory(draws), [one.on_shards(shards, draws, number) for number in range(2)]
    for _ in range(3):
        alone.advance()
        for run in runs:
            run.advance()
    for run in runs:
        assert_same(alone, run)


def test_the_journal_keeps_what_a_shard_needs_and_no_more():
    one = Problem(0, 300, "logistic", "none", {})
    draws = one.draws(1.0, held=False, of_tree=4, by_node=False)
    shards = ShardsHere(one.shards([100]))
    run = one.on_shards(shards, draws)
    for _ in range(4):
        run.advance()
    assert [call.method for call in shards.journal] == ["open", *["catch_up"] * 3, "begin", "catch_up"]


@pytest.mark.parametrize(
    ("method", "arguments", "message"),
    [
        ("pack", ((True, True, 5, 0, 8, 8, 1.0, 1.0), False), "fields that do not fit"),
        ("pack", ((True, True, 5, 8, 8, 8, 1.0, 1.0), True), "no units without weights"),
        ("part", tuple(np.zeros(1, t) for t in (np.int32, np.int32, np.int32, np.uint8, np.uint8)), "each bin"),
        ("part", (*(np.full(1, 9, np.int32),) * 3, np.zeros(1, np.uint8), np.zeros(1, np.uint8)), "not have"),
        ("leaf_sums", (np.full(1, 5, np.int32), np.zeros(1, np.int32), 1, 1.0, 1.0, None), "a place"),
        ("leaf_sums", (np.zeros(1, np.int32), np.full(1, 5, np.int32), 1, 1.0, 1.0, None), "none of the tree's"),
        ("leaf_sums", (np.zeros(0, np.int32), np.zeros(0, np.int32), 1, 1.0, 1.0, None), "of a whole tree"),
        ("leaf_sums", (np.zeros(2, np.int32), np.zeros(2, np.int32), 1, 1.0, 1.0, None), "of a whole tree"),
    ],
)
def test_bad_orders_are_refused(method, arguments, message):
    one = Problem(0, 30, "logistic", "none", {})
    (shard,) = one.shards([])
    shard.open(0, np.zeros(1), None, None)
    shard.begin(0, 1.0, 0)
    shard.tree(0, 0, None)
    scale = _core.RoundScale(1.0, 1.0, True, 0, 0, 30, 1)
    if method != "pack":
        shard.packed(scale.layout(), False, True)
    with pytest.raises(ValueError, match=message):
        getattr(shard.kernel, method)(*arguments)


def test_nothing_is_asked_of_a_shard_before_its_tree_has_begun():
    kernel, scale = Problem(0, 30, "logistic", "none", {}).shards([])[0].kernel, (1.0, 1.0, True, 0, 0, 30, 1)
    for call, message in (
        (lambda: kernel.pack(_core.RoundScale(*scale).layout(), False), "no tree has begun"),
        (lambda: kernel.root(True), "packed first"),
        (lambda: _core.RoundScale(*scale[:2], False, *scale[3:]), "must be finite"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
