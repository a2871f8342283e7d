"""Tables in leaves for the boosting kernel, what it returns for them, and how it is called."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import hypothesis.strategies as st
import numpy as np
from numpy.typing import NDArray

from committee import _core
from tests.oracles import linear_boost as oracle
from tests.oracles.linear_boost import Settings

Floats = NDArray[np.float64]
LINKS = ("probit", "logit")
seeds = st.integers(0, 2**32 - 1)


class Result(NamedTuple):
    """What the kernel returns, for L leaves and O outputs."""

    intercept: Floats
    coefficient: Floats
    scores: Floats
    path: NDArray[np.int32]
    risk: Floats


@dataclass(frozen=True)
class Problem:
    """A table in leaves."""

    D: Floats
    labels: NDArray[np.uint16]
    weights: Floats
    rows: NDArray[np.int32]
    start: NDArray[np.int64]
    n_outputs: int

    def boost(
        self,
        settings: Settings = Settings(),  # noqa: B008
        record: bool = True,
        n_threads: int = 1,
        most_classes: int = 0,
    ) -> Result:
        s = settings
        return Result(
            *_core.linear_boost(
                self.D,
                self.rows,
                self.start,
                self.labels,
                self.weights,
                self.n_outputs,
                s.link,  # type: ignore[arg-type]
                s.n_steps,
                s.tol,
                s.cap,
                s.by_likelihood,
                record,
                n_threads,
                most_classes,
            )
        )

    def oracle(self, settings: Settings) -> list[oracle.Fit]:
        return oracle.boost_leaves(self.D, self.rows, self.start, self.labels, self.weights, self.n_outputs, settings)


def one_leaf(D: Any, labels: Any, weights: Any = None, n_outputs: int = 1) -> Problem:
    D = np.ascontiguousarray(D, dtype=np.float64)
    return Problem(
        D.reshape(len(labels), -1),
        np.asarray(labels, dtype=np.uint16),
        np.ones(len(labels)) if weights is None else np.asarray(weights, dtype=np.float64),
        np.arange(len(labels), dtype=np.int32),
        np.array([0, len(labels)]),
        n_outputs,
    )


def random_problem(
    seed: int, n: int = 120, q: int = 4, n_outputs: int = 1, n_leaves: int = 3, noise: float = 1.0
) -> Problem:
    """Rows in any order, some in no leaf; labels that lean on the columns; columns of very different scales."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, q))
    score = X @ rng.normal(size=q) + noise * rng.normal(size=n)
    K = max(2, n_outputs)
    labels = np.searchsorted(np.quantile(score, np.arange(1, K) / K), score).astype(np.uint16)
    rows = rng.permutation(n)[: n - n // 10].astype(np.int32)
    cuts = np.sort(rng.choice(np.arange(1, len(rows)), n_leaves - 1, replace=False))
    D = X * 10.0 ** rng.integers(-3, 4, q) + rng.integers(-5, 6, q)
    return Problem(D, labels, rng.exponential(size=n) + 0.01, rows, np.array([0, *cuts, len(rows)]), n_outputs)


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    return random_problem(
        draw(seeds),
        n=draw(st.integers(12, 90)),
        q=draw(st.integers(1, 9)),
        n_outputs=draw(st.sampled_from([1, 1, 3, 4])),
        n_leaves=draw(st.integers(1, 3)),
        noise=draw(st.sampled_from([0.3, 1.0, 4.0])),
    )


def in_user_units(problem: Problem, result: Result) -> Floats:
    """The scores of `rows` by intercept and coefficient."""
    F = np.empty_like(result.scores)
    for leaf, (a, b) in enumerate(zip(problem.start[:-1], problem.start[1:], strict=True)):
        F[a:b] = problem.D[problem.rows[a:b]] @ result.coefficient[leaf].T + result.intercept[leaf]
    return F


def random_table(n: int, q: int, seed: int = 0) -> tuple[Floats, NDArray[np.uint16]]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, q))
    return X, (X[:, 0] + rng.normal(size=n) > 0.3).astype(np.uint16)
