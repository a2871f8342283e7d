"""New votes of the leaves of some trees, all at once: a logistic regression on the leaves that rows fall into."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.optimize import minimize
from scipy.sparse.linalg import LinearOperator, cg

from committee import _core
from committee.data.number_types import F64, Index, Mask
from committee.learners.trained.vote_loss import LOGISTIC, VoteLoss

FREEDOM = 10.0
"""Standard deviation of the columns that hold the trees' own scores: their coefficients are hardly penalised."""

TOLERANCE = 1e-7
"""Largest derivative of the mean loss at which the search ends."""

EARLIER = 1e-5
"""The same of very many rows."""

LAST_STEP = 1e-6
"""Accuracy of the last step, Newton's: values of the objective give votes to some eight digits, derivatives to all."""

ONE_STEP = 1e-9
"""The same where one step leads to the optimum, as squares do."""

MANY = 5_000_000
"""Leaves of rows, n times K, beyond which the search ends earlier and without the last step: what is left then changes
votes by less than their own errors."""

MOST_STEPS = 400
"""Steps of one regression; where leaves tell the rows apart, under wild weights or a wild `C`, none is last."""

BLOCK = 4096
"""Rows whose places are looked up at a time."""

WEAKEST, STRONGEST = 1e-150, 1e150
"""Limits of `C` times the rows' weight; beyond them votes change no more."""


@dataclass(frozen=True, eq=False)
class LeafColumns:
    """The leaves of K trees as columns, a tree after the other, with one more for each tree that stands for no leaf."""

    node: Index
    """``(M,)``: node of each column's leaf, numbered through all trees; -1 for none."""
    start: NDArray[np.int64]
    """``(K + 1,)``: columns of tree t are ``start[t]:start[t + 1]``; its last stands for none."""
    place: Index
    """``(N,)``: by node, the number of its column within its tree; of nodes that are no leaf any number."""

    @classmethod
    def of(cls, leaves: list[Index], n_nodes: int) -> LeafColumns:
        """The columns of the leaves ``leaves[t]`` of each tree, by node."""
        sizes = np.array([len(own) + 1 for own in leaves], dtype=np.int64)
        place = np.zeros(n_nodes, dtype=np.intp)
        for own in leaves:
            place[own] = np.arange(len(own))
        node = np.concatenate([np.append(own, -1) for own in leaves])
        return cls(node.astype(np.intp), np.concatenate([[0], np.cumsum(sizes)]), place)

    @property
    def n_trees(self) -> int:
        """K."""
        return len(self.start) - 1

    def values(self, of_node: F64) -> F64:
        """``(M, D)`` of the columns, from those of the nodes ``(N, D)``; 0 where there is no leaf."""
        return np.ascontiguousarray(np.where(self.node[:, None] >= 0, of_node[self.node], 0.0))

    def places(self, leaf: NDArray[np.signedinteger], seen: Mask | None = None) -> _core.LeafPlaces:
        """Where rows are that reach nodes ``(n, K)``; those of trees that have `seen` them ``(n, K)`` are none."""
        none = np.diff(self.start) - 1
        code = np.uint16 if none.max() < 2**16 else np.uint32
        codes = np.empty(leaf.shape[::-1], dtype=code)
        place = self.place.astype(code)
        for begin in range(0, len(leaf), BLOCK):  # these rows of all trees stay in the cache
            rows = slice(begin, begin + BLOCK)
            for t in range(self.n_trees):
                codes[t, rows] = place[leaf[rows, t]]
                if seen is not None:
                    codes[t, rows][seen[rows, t]] = none[t]
        return _core.LeafPlaces(codes, self.start)

    def mean(self, leaf: NDArray[np.signedinteger], unseen: Mask | None, value: F64, n_threads: int = 1) -> F64:
        """Mean of the values ``(M, D)`` of a row's leaves over the trees that have not seen it, ``(n, D)``."""
        return self.means(leaf, unseen, [value], n_threads)[0]

    def means(
        self, leaf: NDArray[np.signedinteger], unseen: Mask | None, values: list[F64], n_threads: int = 1
    ) -> list[F64]:
        """The same of several values."""
        places = self.places(leaf, None if unseen is None else ~unseen)
        count = self.n_trees if unseen is None else unseen.sum(axis=1)[:, None]
        return [places.scores(value, n_threads) / np.maximum(count, 1) for value in values]


class Point(NamedTuple):
    """Where a regression is: deviations ``(M, D)``, coefficients of the versions ``(V,)``, intercepts ``(D,)``."""

    deviation: F64
    version: F64
    intercept: F64


@dataclass(frozen=True, eq=False)
class Units:
    """Units in which the objective is about as steep along all coordinates, so that few steps find its least.

    Those of the deviations and intercepts come from the largest curvature that the loss can have, those of the
    versions, which are much alike, from all of their products.
    """

    deviation: F64
    version: F64
    """``(V, V)``: the inverse of a lower triangle, transposed."""
    intercept: float

    @classmethod
    def of(cls, curvature: float, evidence: F64, products: F64, total: float) -> Units:
        """Units for penalties of 1, and losses with this curvature in a score."""
        triangle = np.linalg.cholesky(np.eye(len(products)) + curvature * products)
        return cls(
            1.0 / np.sqrt(1.0 + curvature * evidence),
            solve_triangular(triangle, np.eye(len(products)), lower=True).T,
            1.0 / np.sqrt(1.0 + curvature * FREEDOM**2 * total),
        )

    def out_of(self, at: F64, n_scores: int) -> Point:
        """The point at these coordinates."""
        n_versions = len(self.version)
        free = at[len(at) - n_versions - n_scores :]
        deviation = at[: len(at) - len(free)].reshape(-1, n_scores) * self.deviation
        return Point(deviation, self.version @ free[:n_versions], self.intercept * free[n_versions:])

    def into(self, point: Point) -> F64:
        """The coordinates of a point."""
        version = np.linalg.solve(self.version, point.version)
        deviation = point.deviation / self.deviation
        return np.concatenate([deviation.ravel(), version, point.intercept / self.intercept])

    def slope(self, slope: Point) -> F64:
        """Derivatives along the coordinates."""
        of_deviation, of_version, of_intercept = slope
        return np.concatenate(
            [(self.deviation * of_deviation).ravel(), self.version.T @ of_version, self.intercept * of_intercept]
        )


class LeafRegression:
    """Votes of the leaves of K trees that are likeliest on some rows, each unseen by at least one of the trees.

    A row's score is

        f_i = b + sum_v a_v m_iv + (1 / K) sum_t d(leaf of row i in tree t),

    where m_iv are the means over the trees that have *not* seen the row of what they say, in several versions v, and
    the deviations d of the leaves count in *all* trees. So what trees say of rows that they know by heart counts for
    nothing, and the deviations learn what is left of an honest score, as a ridge regression on the leaves does. A new
    row is unseen by all trees. Least is

        C sum_i w_i loss(y_i, f_i) + (1 / K) |d|^2 / 2 + small penalties of a and b,

    with the logistic loss for two classes (one score), and for K of them the multinomial one (a score each; the a_v
    are common to all classes); for numbers with half the squared error, or pinball loss. Without evidence a leaf keeps
    its say.

    Parameters
    ----------
    columns : LeafColumns
        The leaves.
    leaf : int array (n, K)
        Nodes that the rows reach, numbered through all trees.
    unseen : bool array (n, K) or None
        Trees that have not seen a row; None: all count as such.
    versions : float64 array (V, N, D)
        What the nodes say.
    y : intp array (n,) or float64 array (n, K)
        Class numbers, or shares of the classes; numbers ``(n, 1)`` where `loss` is of numbers.
    sample_weight : float64 array (n,) or None
        Row weights.
    n_threads : int
        Threads of each sum.
    loss : VoteLoss
        What a score costs.

    References
    ----------
    S. Ren, X. Cao, Y. Wei, J. Sun (2015). Global refinement of random forest. CVPR (there without what trees say, and
    with a penalty on the votes themselves).
    """

    def __init__(
        self,
        columns: LeafColumns,
        leaf: NDArray[np.signedinteger],
        unseen: Mask | None,
        versions: F64,
        y: Index | F64,
        sample_weight: F64 | None = None,
        n_threads: int = 1,
        loss: VoteLoss = LOGISTIC,
    ) -> None:
        self.columns: LeafColumns = columns
        self.y: Index | F64 = y
        self._threads = n_threads
        self._loss = loss
        self._places = columns.places(leaf)
        self._said = [columns.values(version) for version in versions]
        self._weight = np.ones(len(y)) if sample_weight is None else sample_weight
        self._n_scores = versions.shape[2]
        means = np.stack(columns.means(leaf, unseen, self._said, n_threads))
        # at a large spread the penalty hardly touches a coefficient; a version of no spread (of stubs) says nothing
        # beside the intercept
        self._centre = np.average(means, axis=1, weights=self._weight)
        means -= self._centre[:, None]
        spread = np.sqrt(np.average((means**2).mean(axis=2), axis=1, weights=self._weight))
        self._scale = np.divide(FREEDOM, spread, out=np.zeros_like(spread), where=spread > 1e-12)
        self._means = means * self._scale[:, None, None]
        apart = self._means if self._n_scores == 1 else self._means - self._means.mean(axis=2, keepdims=True)
        self._products = np.einsum("vnd,n,und->vu", apart, self._weight, apart)
        # leaves' deviations are found in units of their own curvature, in which all are about as steep
        self._evidence = self._places.sums(self._weight[:, None] / columns.n_trees, n_threads)
        self._start = Point(
            np.zeros((len(columns.node), self._n_scores)), np.zeros(len(versions)), np.zeros(self._n_scores)
        )

    def votes(self, C: float, tol: float = TOLERANCE) -> F64:
        """New votes ``(N, D)`` of the nodes of the columns, 0 elsewhere; the next call begins where this one ended."""
        if len(self.y) * self.columns.n_trees > MANY:
            tol = max(tol, EARLIER)
        total = float(self._weight.sum())
        C = min(max(C, WEAKEST / total), STRONGEST / total)
        units = Units.of(C * self._loss.curvature(self._n_scores), self._evidence, self._products, total)
        found = units.into(self._start)
        if self._loss.is_quadratic:
            found = self._newton(found, C, units, ONE_STEP if tol <= TOLERANCE else tol)
        else:
            found = self._descended(found, C, units, tol * C * total)
            if tol <= TOLERANCE:
                found = self._newton(found, C, units, LAST_STEP)
        self._start = units.out_of(found, self._n_scores)
        theta, a, b = self._start
        value = np.sqrt(self.columns.n_trees) * theta + FREEDOM * b
        for of_version, centre, said in zip(a * self._scale, self._centre, self._said, strict=True):
            value += of_version * (said - centre)
        votes = np.zeros((len(self.columns.place), self._n_scores))
        there = self.columns.node >= 0
        votes[self.columns.node[there]] = value[there]
        return votes

    def fitted_scores(self) -> F64:
        """Scores ``(n, D)`` of the rows by the last votes, in which seen trees only deviate."""
        return self._scores(self._start)

    def _scores(self, point: Point) -> F64:
        theta, a, b = point
        return self._share * self._places.scores(theta, self._threads) + np.tensordot(a, self._means, 1) + FREEDOM * b

    @property
    def _share(self) -> float:
        """A row's indicators have norm 1, however many trees there are."""
        return float(1.0 / np.sqrt(self.columns.n_trees))

    def _descended(self, start: F64, C: float, units: Units, slope: float) -> F64:
        """Search for the least objective until no derivative is larger than `slope`."""
        found: F64 = minimize(
            self._objective,
            start,
            args=(C, units),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": MOST_STEPS, "maxfun": 2 * MOST_STEPS, "gtol": slope, "ftol": 0.0},
        ).x
        return found

    def _objective(self, at: F64, C: float, units: Units) -> tuple[float, F64]:
        point = units.out_of(at, self._n_scores)
        theta, a, b = point
        loss, slope = self._loss.of(self._scores(point), self.y)
        slope *= C * self._weight[:, None]
        value = C * float(self._weight @ loss) + 0.5 * float((theta**2).sum() + a @ a + b @ b)
        return value, self._slope(slope, point, units)

    def _slope(self, of_scores: F64, point: Point, units: Units) -> F64:
        """Derivatives along the coordinates, from those of the scores ``(n, D)`` and the penalties at a point."""
        theta, a, b = point
        of_leaves = self._share * self._places.sums(of_scores, self._threads) + theta
        of_versions = np.tensordot(self._means, of_scores, 2) + a
        return units.slope(Point(of_leaves, of_versions, FREEDOM * of_scores.sum(axis=0) + b))

    def _newton(self, at: F64, C: float, units: Units, rtol: float) -> F64:
        """One step of Newton's method, by conjugate gradients, if it leads nearer to the optimum."""
        slope = self._objective(at, C, units)[1]
        score = self._scores(units.out_of(at, self._n_scores))

        def curved(direction: F64) -> F64:
            towards = units.out_of(direction, self._n_scores)
            change = C * self._weight[:, None] * self._loss.curved(score, self.y, self._scores(towards))
            return self._slope(change, towards, units)

        operator = LinearOperator((len(at), len(at)), matvec=curved, dtype=np.float64)
        step, _ = cg(operator, -slope, rtol=rtol, maxiter=MOST_STEPS)
        found: F64 = at + step
        # where the loss bends much, as far from any doubt, the step may lead astray
        nearer = np.abs(self._objective(found, C, units)[1]).max() < np.abs(slope).max()
        return found if nearer else at
