"""The voters of QuadBoost: a run for each score, over products of stumps or on residuals, and their committee."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from committee import _core
from committee.data.number_types import F64, I8
from committee.learners.pools.pool import Candidate, Pool
from committee.learners.pools.stump_pool import StumpPool
from committee.learners.quadboost.score_runs import GramRun, ResidualRun, Schedule, ScoreRun
from committee.objectives.programs.counted_products import CountedProducts
from committee.objectives.programs.penalty import Penalty
from committee.voters.protocol import Voters
from committee.voters.stump_dictionary import StumpDictionary

MOST_CELLS = 3000
"""Cells of a table up to which all products of its stumps are kept: two matrices of 72 MB."""

GREEDY_ROUNDS = 1000
"""Rounds over products that are cheap enough to be run without a look at anything else."""


@dataclass(frozen=True, eq=False)
class ScoreTargets:
    """Targets of K scores of n rows."""

    y: F64
    """``(K, n)``: -1 or +1, or numbers."""
    weights: F64
    """``(n,)``: row weights that sum to one."""
    intercept: bool
    """Scores start at the targets' means, and votes are centred."""
    labels: bool
    """The one score elects one of two classes."""

    @property
    def n_outputs(self) -> int:
        """Number of scores K."""
        return len(self.y)


@dataclass(eq=False)
class QuadVoters:
    """Voters of a run per score; a voter goes by its number in its run."""

    target: ScoreTargets
    """What is fitted."""
    pools: Sequence[Pool]
    """Where the voters of each run are from; may be one pool for all."""
    runs: Sequence[ScoreRun]
    """The rounds of each score."""
    candidate: Callable[[int, int], Candidate]
    """Candidate behind the number of a voter in a run, given both."""
    rounds_at_once: int = 1
    """Rounds that are cheap enough to be run without a look at anything else."""

    @classmethod
    def on_products(
        cls, pool: StumpPool, target: ScoreTargets, penalty: Penalty, schedule: Schedule, n_threads: int
    ) -> QuadVoters:
        """Stumps of a dictionary small enough for all their products: a round costs N, whatever the rows."""
        products = products_of(pool.cells, pool.dictionary, target, n_threads)
        runs = [
            GramRun(products.gram, b, square, penalty, schedule)
            for b, square in zip(products.b, products.square.tolist(), strict=True)
        ]
        return cls(target, [pool] * len(runs), runs, lambda k, j: pool.listed(j), GREEDY_ROUNDS)

    @classmethod
    def on_residuals(
        cls, pools: Sequence[Pool], target: ScoreTargets, penalty: Penalty, schedule: Schedule
    ) -> QuadVoters:
        """Voters that are found for the residual, round by round."""
        runs = [
            ResidualRun(pool, y, target.weights, penalty, schedule, intercept=target.intercept)
            for pool, y in zip(pools, target.y, strict=True)
        ]
        return cls(target, pools, runs, lambda k, j: runs[k].candidates[j])

    def mean(self, k: int, voter: int) -> float:
        """Mean vote of a voter of run k; its weight moves the intercept by so much."""
        return self.candidate(k, voter).mean

    def read(self, X: F64) -> Any:
        """Return other rows as `votes_on` takes them."""
        return self.pools[0].read(X)

    def votes_on(self, held_out: Any, k: int, voter: int) -> I8 | F64:
        """Votes of a voter of run k on other rows, as `read` made them."""
        return self.pools[k].votes_on(held_out, self.candidate(k, voter))

    def committee(self, n_rounds: int) -> tuple[Voters, F64, F64]:
        """Voters, their weights and the intercepts (K,) after the first `n_rounds` rounds of each run.

        A voter of negative weight is turned round, so that all weights are positive, unless it has no complement. Where
        no voter is left, one of weight 0 stands for none.
        """
        candidates: list[Candidate] = []
        weights, output, start = [], [], np.zeros(self.target.n_outputs)
        for k, run in enumerate(self.runs):
            voter, alpha = run.history.after(n_rounds)
            counts = alpha != 0.0
            voter, alpha = voter[counts], alpha[counts]
            of_run = [self.candidate(k, j) for j in voter.tolist()]
            if self.target.intercept:
                means = np.array([one.mean for one in of_run])
                start[k] = self.target.weights @ self.target.y[k] - alpha @ means
            candidates += of_run
            weights.append(alpha)
            output.append(np.full(len(voter), k))
        pool, weight, of_score = self.pools[0], np.concatenate(weights), np.concatenate(output)
        if not candidates:
            candidates, weight, of_score = [pool.stand_in(self.target.weights)], np.zeros(1), np.zeros(1, dtype=np.intp)
        if pool.has_complements:
            candidates = [
                replace(one, sign=-1) if alpha < 0.0 else one
                for one, alpha in zip(candidates, weight.tolist(), strict=True)
            ]
            weight = np.abs(weight)
        target = self.target
        voters = pool.voters(candidates, *((None, 2) if target.labels else (of_score, target.n_outputs)))
        return voters, weight, start


@dataclass(frozen=True, eq=False)
class Products:
    """Weighted mean products of N stumps and K targets, centred where there is an intercept."""

    gram: Any
    """``(N, N)``: of the stumps with each other, as numbers or as `CountedProducts`."""
    b: F64
    """``(K, N)``: of the stumps with the targets."""
    square: F64
    """``(K,)``: of the targets with themselves."""


def products_of(
    cells: _core.Cells, dictionary: StumpDictionary, target: ScoreTargets, n_threads: int, *, counted: bool = False
) -> Products:
    """Return all products that rounds over a finite dictionary need, from one pass over pairs of cells.

    With `counted`, rows of one weight, and stumps that vote on every row, the stumps' products are counts of rows.
    """
    mean = dictionary.mean if target.intercept else None
    unit = float(target.weights[0])
    apart = dictionary.apart(cells) if counted and (target.weights == unit).all() else None
    gram: Any
    if apart is not None:
        centre = np.zeros(len(dictionary)) if mean is None else mean
        gram = CountedProducts(apart, centre, unit, unit * len(target.weights))
    else:
        # two stumps vote alike on all rows that are in the same pair of cells: a product needs the weight of each pair
        gram = dictionary.gram(cells.pairs(target.weights), mean, n_threads)
    y = target.y
    if target.intercept:  # before the products are taken, as numbers far from zero would leave few digits of them
        y = y - (y @ target.weights)[:, None]
    b = np.stack([dictionary.correlations(cells.sums(target.weights * of_run)) for of_run in y])
    if target.intercept:  # 0 but for rounding
        b -= np.outer(y @ target.weights, dictionary.mean)
    square = y**2 @ target.weights
    return Products(gram, b, square)


def products_pay(n: int, stumps: StumpDictionary, n_passes: int) -> bool:
    """Tell whether all products of the stumps cost less than the passes over n rows that they save.

    Products take n p^2 / 2 additions and some C^2 for C cells; a pass takes n p, and there is one a round and score.
    Subsets of categories have no list to take products of.
    """
    C, p = int(stumps.offset[-1]), len(stumps.offset) - 1
    listed = not (stumps.subsets and stumps.bins.categorical.any())
    return listed and C <= MOST_CELLS and n * p * p / 2 + 4 * C * C <= 1.0 * n * p * n_passes
