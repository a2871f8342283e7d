"""Joint refit of all leaf values of some trees: a penalised regression on the leaves that rows fall into."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.optimize import minimize
from scipy.sparse.linalg import LinearOperator, cg
from scipy.special import expit, log_expit, logsumexp, softmax

from committee import _core
from committee.data.number_types import F64, Index, Mask

FREEDOM = 10.0  # standard deviation of the scaled columns of the trees' own scores, so that their penalty is negligible

TOLERANCE = 1e-7  # largest derivative of the mean loss at which the search ends
LOOSE_TOLERANCE = 1e-5  # tolerance with more than `MANY_LEAVES`

NEWTON_TOLERANCE = 1e-6  # relative, of the last step; values of the objective determine votes to about eight digits

QUADRATIC_TOLERANCE = 1e-9  # accuracy of the only step for a quadratic loss

MANY_LEAVES = 5_000_000  # leaves of rows, n times K, above which the search ends earlier

MAX_STEPS = 400  # if leaves separate the classes, extreme weights or `C` move the optimum to infinity

BLOCK = 4096  # rows whose columns are looked up at a time
LEAST_C, LARGEST_C = 1e-150, 1e150  # limits of `C` times the rows' weight, beyond which votes do not change


# --- losses ----------------------------------------------------------------------------------------------------------


class VoteLoss(ABC):
    """A convex loss of scores ``(n, D)``."""

    is_quadratic: ClassVar[bool] = False

    @abstractmethod
    def of(self, score: F64, y: Index | F64) -> tuple[F64, F64]:
        """Return the loss of each row ``(n,)``, and its derivatives ``(n, D)``."""

    @abstractmethod
    def curved(self, score: F64, y: Index | F64, direction: F64) -> F64:
        """Return the Hessian's product with a direction of the scores, ``(n, D)``."""

    @abstractmethod
    def curvature(self, n_scores: int) -> float:
        """Return a typical second derivative of the loss by one score, for scaling."""


class Logistic(VoteLoss):
    """Logistic loss of one score, multinomial of several; `y` has class numbers, or class shares ``(n, K)``."""

    def of(self, score: F64, y: Index | F64) -> tuple[F64, F64]:
        if y.ndim == 2:
            return self._of_shares(score, np.asarray(y, dtype=np.float64))
        if score.shape[1] == 1:
            sign = np.where(y == 1, 1.0, -1.0)
            log_right = log_expit(sign * score[:, 0])
            return -log_right, (sign * np.expm1(log_right))[:, None]
        rows = np.arange(len(y))
        log_share = score - logsumexp(score, axis=1, keepdims=True)
        slope = np.exp(log_share)
        slope[rows, y] -= 1.0
        return -log_share[rows, y], slope

    def _of_shares(self, score: F64, share: F64) -> tuple[F64, F64]:
        if score.shape[1] == 1:
            second = share[:, 1:]
            return (np.logaddexp(0.0, score) - second * score)[:, 0], expit(score) - second
        log_sum = logsumexp(score, axis=1, keepdims=True)
        return log_sum[:, 0] - (share * score).sum(axis=1), np.exp(score - log_sum) - share

    def curved(self, score: F64, y: Index | F64, direction: F64) -> F64:
        if score.shape[1] == 1:
            share = expit(score)
            return share * expit(-score) * direction
        share = softmax(score, axis=1)
        return np.asarray(share * (direction - (share * direction).sum(axis=1, keepdims=True)))

    def curvature(self, n_scores: int) -> float:
        return 1.0 / max(4, n_scores)


class HalfSquares(VoteLoss):
    is_quadratic: ClassVar[bool] = True

    def of(self, score: F64, y: Index | F64) -> tuple[F64, F64]:
        off = score - y
        return 0.5 * (off**2).sum(axis=1), off

    def curved(self, score: F64, y: Index | F64, direction: F64) -> F64:
        return direction.copy()

    def curvature(self, n_scores: int) -> float:
        return 1.0


@dataclass(frozen=True)
class SmoothPinball(VoteLoss):
    """Pinball loss of a quantile of the numbers `y` ``(n, 1)``, averaged over residuals within `width` of a row's.

    M. Fernandes, E. Guerre, E. Horta (2021), Smoothing quantile regressions, J. of Business & Economic Statistics 39.
    """

    quantile: float
    width: float

    def of(self, score: F64, y: Index | F64) -> tuple[F64, F64]:
        off = y - score
        near = np.minimum(np.abs(off), self.width)
        # |r| where it is large, a parabola that meets it where it is small
        absolute = np.abs(off) - near + (near**2 + self.width**2) / (2.0 * self.width)
        loss = (self.quantile - 0.5) * off + 0.5 * absolute
        slope = 0.5 - self.quantile - 0.5 * np.clip(off / self.width, -1.0, 1.0)
        return loss.sum(axis=1), slope

    def curved(self, score: F64, y: Index | F64, direction: F64) -> F64:
        return np.asarray(np.where(np.abs(y - score) < self.width, direction / (2.0 * self.width), 0.0))

    def curvature(self, n_scores: int) -> float:
        return 1.0 / (2.0 * self.width)


LOGISTIC = Logistic()


# --- leaves as columns -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LeafColumns:
    """The leaves of K trees as columns, tree by tree; the last column of each tree stands for no leaf."""

    node: Index  # (M,): node of each column's leaf, numbered across all trees; -1 for no leaf
    start: NDArray[np.int64]  # (K + 1,): columns of tree t are start[t]:start[t + 1]
    place: Index  # (N,): by node, the number of its column within its tree; arbitrary for inner nodes

    @classmethod
    def of(cls, leaves: list[Index], n_nodes: int) -> LeafColumns:
        sizes = np.array([len(own) + 1 for own in leaves], dtype=np.int64)
        place = np.zeros(n_nodes, dtype=np.intp)
        for own in leaves:
            place[own] = np.arange(len(own))
        node = np.concatenate([np.append(own, -1) for own in leaves])
        return cls(node.astype(np.intp), np.concatenate([[0], np.cumsum(sizes)]), place)

    @property
    def n_trees(self) -> int:
        return len(self.start) - 1

    def values(self, of_node: F64) -> F64:
        return np.ascontiguousarray(np.where(self.node[:, None] >= 0, of_node[self.node], 0.0))

    def places(self, leaf: NDArray[np.signedinteger], seen: Mask | None = None) -> _core.LeafPlaces:
        """Return the columns of nodes ``(n, K)``, "no leaf" in trees that have `seen` the row."""
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

    def means(
        self, leaf: NDArray[np.signedinteger], unseen: Mask | None, values: list[F64], n_threads: int = 1
    ) -> list[F64]:
        """Return the means ``(n, D)`` of column values ``(M, D)`` over each row's `unseen` trees."""
        places = self.places(leaf, None if unseen is None else ~unseen)
        count = self.n_trees if unseen is None else unseen.sum(axis=1)[:, None]
        return [places.scores(value, n_threads) / np.maximum(count, 1) for value in values]


class Point(NamedTuple):
    deviation: F64  # (M, D)
    version: F64  # (V,): coefficients of the versions
    intercept: F64  # (D,)


@dataclass(frozen=True, eq=False)
class Preconditioner:
    """Coordinates in which the objective is about equally curved, so that few steps find its minimum."""

    deviation: F64
    version: F64  # (V, V): the transposed inverse of a lower triangle
    intercept: float

    @classmethod
    def of(cls, curvature: float, evidence: F64, products: F64, total: float) -> Preconditioner:
        triangle = np.linalg.cholesky(np.eye(len(products)) + curvature * products)
        return cls(
            1.0 / np.sqrt(1.0 + curvature * evidence),
            solve_triangular(triangle, np.eye(len(products)), lower=True).T,
            1.0 / np.sqrt(1.0 + curvature * FREEDOM**2 * total),
        )

    def out_of(self, at: F64, n_scores: int) -> Point:
        n_versions = len(self.version)
        free = at[len(at) - n_versions - n_scores :]
        deviation = at[: len(at) - len(free)].reshape(-1, n_scores) * self.deviation
        return Point(deviation, self.version @ free[:n_versions], self.intercept * free[n_versions:])

    def into(self, point: Point) -> F64:
        version = np.linalg.solve(self.version, point.version)
        deviation = point.deviation / self.deviation
        return np.concatenate([deviation.ravel(), version, point.intercept / self.intercept])

    def slope(self, slope: Point) -> F64:
        of_deviation, of_version, of_intercept = slope
        return np.concatenate(
            [(self.deviation * of_deviation).ravel(), self.version.T @ of_version, self.intercept * of_intercept]
        )


class LeafRegression:
    """Refit of the leaf votes of K trees to rows, after S. Ren, X. Cao, Y. Wei, J. Sun (2015), CVPR.

    A row's score is

        f_i = b + sum_v a_v m_iv + (1 / K) sum_t d(leaf of row i in tree t),

    with the means m_iv of the nodes' votes, in several versions v, over the trees that have *not* seen the row, and
    deviations d of the leaves in *all* trees. The objective is

        C sum_i w_i loss(y_i, f_i) + (1 / K) |d|^2 / 2 + small penalties of a and b.
    """

    def __init__(
        self,
        columns: LeafColumns,
        leaf: NDArray[np.signedinteger],  # (n, K): nodes that the rows reach, numbered across all trees
        unseen: Mask | None,  # (n, K); None: all trees count for every row
        versions: F64,  # (V, N, D): votes of the nodes
        y: Index | F64,  # class numbers (n,), class shares (n, n_classes), or numbers (n, 1)
        sample_weight: F64 | None = None,
        n_threads: int = 1,
        loss: VoteLoss = LOGISTIC,
    ) -> None:
        self.columns: LeafColumns = columns
        self.y: Index | F64 = y
        self._threads = n_threads
        self._loss = loss
        self._places = columns.places(leaf)
        self._versions = [columns.values(version) for version in versions]
        self._weight = np.ones(len(y)) if sample_weight is None else sample_weight
        self._n_scores = versions.shape[2]
        means = np.stack(columns.means(leaf, unseen, self._versions, n_threads))
        # at a large spread the penalty hardly affects a coefficient; a constant version (of stubs) adds nothing to
        # the intercept
        self._centre = np.average(means, axis=1, weights=self._weight)
        means -= self._centre[:, None]
        spread = np.sqrt(np.average((means**2).mean(axis=2), axis=1, weights=self._weight))
        self._scale = np.divide(FREEDOM, spread, out=np.zeros_like(spread), where=spread > 1e-12)
        self._means = means * self._scale[:, None, None]
        apart = self._means if self._n_scores == 1 else self._means - self._means.mean(axis=2, keepdims=True)
        self._products = np.einsum("vnd,n,und->vu", apart, self._weight, apart)
        self._evidence = self._places.sums(self._weight[:, None] / columns.n_trees, n_threads)
        self._start = Point(
            np.zeros((len(columns.node), self._n_scores)), np.zeros(len(versions)), np.zeros(self._n_scores)
        )

    def votes(self, C: float, tol: float = TOLERANCE) -> F64:
        """Return new votes ``(N, D)`` of the leaves, 0 elsewhere."""
        if len(self.y) * self.columns.n_trees > MANY_LEAVES:
            tol = max(tol, LOOSE_TOLERANCE)
        total = float(self._weight.sum())
        C = min(max(C, LEAST_C / total), LARGEST_C / total)
        units = Preconditioner.of(C * self._loss.curvature(self._n_scores), self._evidence, self._products, total)
        found = units.into(self._start)
        if self._loss.is_quadratic:
            found = self._newton(found, C, units, QUADRATIC_TOLERANCE if tol <= TOLERANCE else tol)
        else:
            options: Any = {"maxiter": MAX_STEPS, "maxfun": 2 * MAX_STEPS, "gtol": tol * C * total, "ftol": 0.0}
            found = minimize(self._objective, found, args=(C, units), jac=True, method="L-BFGS-B", options=options).x
            if tol <= TOLERANCE:
                found = self._newton(found, C, units, NEWTON_TOLERANCE)
        self._start = units.out_of(found, self._n_scores)
        theta, a, b = self._start
        value = np.sqrt(self.columns.n_trees) * theta + FREEDOM * b
        for of_version, centre, version in zip(a * self._scale, self._centre, self._versions, strict=True):
            value += of_version * (version - centre)
        votes = np.zeros((len(self.columns.place), self._n_scores))
        there = self.columns.node >= 0
        votes[self.columns.node[there]] = value[there]
        return votes

    def fitted_scores(self) -> F64:
        return self._scores(self._start)

    def _scores(self, point: Point) -> F64:
        theta, a, b = point
        return self._share * self._places.scores(theta, self._threads) + np.tensordot(a, self._means, 1) + FREEDOM * b

    @property
    def _share(self) -> float:
        return float(1.0 / np.sqrt(self.columns.n_trees))

    def _objective(self, at: F64, C: float, units: Preconditioner) -> tuple[float, F64]:
        point = units.out_of(at, self._n_scores)
        theta, a, b = point
        loss, slope = self._loss.of(self._scores(point), self.y)
        slope *= C * self._weight[:, None]
        value = C * float(self._weight @ loss) + 0.5 * float((theta**2).sum() + a @ a + b @ b)
        return value, self._slope(slope, point, units)

    def _slope(self, of_scores: F64, point: Point, units: Preconditioner) -> F64:
        theta, a, b = point
        of_leaves = self._share * self._places.sums(of_scores, self._threads) + theta
        of_versions = np.tensordot(self._means, of_scores, 2) + a
        return units.slope(Point(of_leaves, of_versions, FREEDOM * of_scores.sum(axis=0) + b))

    def _newton(self, at: F64, C: float, units: Preconditioner, rtol: float) -> F64:
        slope = self._objective(at, C, units)[1]
        score = self._scores(units.out_of(at, self._n_scores))

        def curved(direction: F64) -> F64:
            towards = units.out_of(direction, self._n_scores)
            change = C * self._weight[:, None] * self._loss.curved(score, self.y, self._scores(towards))
            return self._slope(change, towards, units)

        operator = LinearOperator((len(at), len(at)), matvec=curved, dtype=np.float64)
        step, _ = cg(operator, -slope, rtol=rtol, maxiter=MAX_STEPS)
        found: F64 = at + step
        # where the curvature changes much, as at saturated scores, the step may lead away
        nearer = np.abs(self._objective(found, C, units)[1]).max() < np.abs(slope).max()
        return found if nearer else at
