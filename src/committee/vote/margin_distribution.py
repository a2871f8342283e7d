"""Margins of a vote and of its voters, and their distribution."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.data.number_types import F64
from committee.vote.committee import Committee
from committee.vote.weighted_votes import elected, lead


@dataclass(frozen=True)
class VoterMargins:
    margins: F64  # (n,): margin among the voters of the row
    voter_margins: F64  # (n,): weighted mean margin of these voters
    elected: NDArray[np.intp]  # (n,): class number that these voters elect

    @classmethod
    def of(
        cls, committee: Committee, X: Any, truth: NDArray[np.intp], counted: NDArray[np.bool_] | None, n_threads: int
    ) -> VoterMargins:
        """Compute the margins of each row among its voters in `counted` ``(n, T)``, or among all voters."""
        data = committee.encode(X)
        weights, spread = committee.weights, np.abs(committee.weights) * committee.voters.spread
        n = len(truth)
        F, alone, total, weight = np.zeros((n, committee.n_classes)), np.zeros(n), np.zeros(n), np.zeros((n, 1))
        if committee.intercept is not None:
            F += _columns(committee.intercept[None, :])
            alone += lead(F, truth)
            total += committee.intercept_spread
            weight += 1.0
        for t in range(committee.n_voters):
            vote = _columns(committee.voters[t : t + 1].tally(data, weights[t : t + 1], n_threads))
            if len(vote) != n:
                raise ValueError(f"y has {n} labels; X has {len(vote)} rows.")
            counts: NDArray[Any] = np.ones(n) if counted is None else counted[:, t]
            F += vote * counts[:, None]
            alone += lead(vote, truth) * counts
            total += spread[t] * counts
            weight[:, 0] += np.abs(weights[t]) * counts
        some = np.where(total > 0.0, total, 1.0)
        # sums in different orders: a quotient may pass 1 by a rounding
        margins, own = np.clip(lead(F, truth) / some, -1.0, 1.0), np.clip(alone / some, -1.0, 1.0)
        if committee.voters.kind == "score":
            F = committee.link.settle(F, weight)
        return cls(margins, own, elected(F))


def _columns(vote: F64) -> F64:
    return np.hstack([np.zeros_like(vote), vote]) if vote.shape[1] == 1 else vote


_SHOWN_QUANTILES = {0.05: "5%", 0.25: "25%", 0.5: "median", 0.75: "75%"}
_SHOWN_THETAS = (0.0, 0.1, 0.25, 0.5)
_ROUNDING = 1e-12
"""Tolerance of a cumulative sum of row weights."""


@dataclass(frozen=True, eq=False, repr=False)
class MarginDistribution:
    """Margins of a vote on labelled rows, and the errors of its single voters.

    m_i is the margin of row i (`Committee.margins`). With row weights p_i that sum to 1, nu(theta) = sum_i p_i [m_i <=
    theta] is the cumulative curve; mean, variance and second moment are those of this distribution.

    The Gibbs quantities refer to voters drawn by their weight, rho_t = |w_t| s_t / sum_u |w_u| s_u with the spread s_t.
    Voter t has the margin s_it in units of its spread (label voters: +1 right, -1 wrong, 0 abstains). With g_i = sum_t
    rho_t s_it and W_i = (1 - g_i) / 2 [1]_ [2]_,

        Gibbs risk    = sum_i p_i W_i                 a drawn voter errs,
        joint error   = sum_i p_i W_i^2               two drawn voters both err,
        disagreement  = sum_i p_i 2 W_i (1 - W_i)     exactly one of the two errs.

    For **two classes** g_i = m_i, so that mean = 1 - 2 Gibbs risk and second moment = 1 - 2 disagreement. For **more
    classes** g_i <= m_i; two voters that name different wrong classes both err. In any case error <= 2 Gibbs risk and
    error <= 4 joint error.

    Parameters
    ----------
    margins : array-like (n,)
        m_i, in [-1, 1].
    row_weight : array-like (n,), default=None
        Non-negative weights of the rows, divided by their sum. Rows of weight 0 are left out. None: equal weights.
    voter_margins : array-like (n,), default=None
        g_i, the mean margin of the single voters. None: the Gibbs quantities are unknown.
    wrong : bool array-like (n,), default=None
        Rows with a wrong vote, which decides ties. None: rows with a margin of at most 0.
    rows : array-like of int (n,), default=None
        Row numbers. None: 0, 1, 2, ...

    Raises
    ------
    ValueError
        If there is no row, a number is out of range, or sizes differ.

    References
    ----------
    .. [1] P. Germain, A. Lacasse, F. Laviolette, M. Marchand, J.-F. Roy (2015). Risk bounds for the majority vote.
       Journal of Machine Learning Research 16. (Two classes.)
    .. [2] A. Masegosa, S. Lorenzen, C. Igel, Y. Seldin (2020). Second order PAC-Bayesian bounds for the weighted
       majority vote. NeurIPS 33. (The tandem loss is the joint error.)

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from committee import AdaBoostClassifier
    >>> from committee.vote.margin_distribution import MarginDistribution
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> margins = MarginDistribution.of(AdaBoostClassifier(50).fit(X, y), X, y)
    >>> abs(margins.mean - (1 - 2 * margins.gibbs_risk)) < 1e-12
    True
    """

    margins: F64
    row_weight: F64 = None  # type: ignore[assignment]
    voter_margins: F64 | None = None
    wrong: NDArray[np.bool_] = None  # type: ignore[assignment]
    rows: NDArray[np.intp] = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        m = _within_one("margins", self.margins)
        n = len(m)
        weight = _row_weight(self.row_weight, n)
        alone = None if self.voter_margins is None else _within_one("voter_margins", self.voter_margins)
        wrong = m <= 0.0 if self.wrong is None else np.asarray(self.wrong, dtype=bool)
        rows = np.arange(n) if self.rows is None else np.asarray(self.rows, dtype=np.intp)
        for name, given in (("voter_margins", alone), ("wrong", wrong), ("rows", rows)):
            if given is not None and given.shape != (n,):
                raise ValueError(f"{name} has shape {given.shape}; there are {n} margins, give one for each.")
        counts = weight > 0.0
        fields: dict[str, NDArray[Any] | None] = {
            "margins": m[counts],
            "row_weight": weight[counts] / weight.sum(),
            "voter_margins": None if alone is None else alone[counts],
            "wrong": wrong[counts],
            "rows": rows[counts],
        }
        for name, values in fields.items():
            if values is not None:
                values.flags.writeable = False
            object.__setattr__(self, name, values)

    @classmethod
    def of(
        cls,
        model: Any,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        asked: ArrayLike | None = None,
        n_threads: int = 1,
    ) -> MarginDistribution:
        """Compute the margins of a vote on labelled rows.

        Parameters
        ----------
        model : fitted classifier or Committee
            A learner of this library, or an argument of `Committee.from_estimator`.
        X : table or array-like (n, p)
            Rows, as the classifier takes them.
        y : array-like (n,)
            Their classes.
        sample_weight : array-like (n,), default=None
            Their weights; None: equal weights.
        asked : bool array-like (n, T), default=None
            Voters of each row, such as the out-of-bag ones. Rows without a voter are left out. None: all voters.
        n_threads : int, default=1
            Largest number of threads.

        Returns
        -------
        MarginDistribution
            For more than two classes g_i needs the votes of each voter, which is slower.

        Raises
        ------
        TypeError
            If `model` is not a classifier with known voters.
        NotFittedError
            If it is not fitted.
        ValueError
            If `y`, `sample_weight` or `asked` do not match the rows, or `y` has an unknown class.
        """
        committee = model if isinstance(model, Committee) else Committee.from_estimator(model)
        # learners of this library check names, and take lists
        named = model.validate_rows(X) if hasattr(model, "validate_rows") else X
        truth = committee.class_indices(y)
        weight = _row_weight(sample_weight, len(truth))
        if asked is not None:
            mask = np.asarray(asked)
            if mask.dtype != np.bool_ or mask.shape != (len(truth), committee.n_voters):
                raise ValueError(
                    f"asked is a {mask.dtype} array of shape {mask.shape}; give a boolean one of {len(truth)} rows and "
                    f"{committee.n_voters} voters."
                )
            if not (mask.any(axis=1) & (weight > 0.0)).any():
                raise ValueError(
                    "asked holds no True in a row with weight; give at least one voter for one of these rows."
                )
            vote = VoterMargins.of(committee, named, truth, mask, n_threads)
            margins, wrong = vote.margins, vote.elected != truth
            return cls(margins, weight * mask.any(axis=1), vote.voter_margins, wrong)
        margins = committee.margins(named, y, n_threads=n_threads)
        alone = margins
        if committee.n_classes > 2:
            alone = VoterMargins.of(committee, named, truth, None, n_threads).voter_margins
        wrong = margins < 0.0
        if (margins == 0.0).any():  # the vote decides ties
            wrong = committee.class_indices(committee.predict(named, n_threads=n_threads)) != truth
        return cls(margins, weight, alone, wrong)

    @classmethod
    def out_of_bag(cls, model: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> MarginDistribution:
        """Compute the margins on training rows by the voters that were not trained on them.

        The vote is ``oob_decision_function_``: shares without weights. Rows without out-of-bag voters are left out.

        Parameters
        ----------
        model : fitted classifier
            With ``oob_decision_function_``: forests, `SubaggingClassifier`, `SBPMTClassifier`, and scikit-learn's
            forests and bagging, fitted with ``oob_score=True``.
        y : array-like (n,)
            The training labels, in the same order.
        sample_weight : array-like (n,), default=None
            Weights of the rows.

        Returns
        -------
        MarginDistribution
            Without Gibbs quantities for more than two classes; `of` with ``asked`` has them.

        Raises
        ------
        ValueError
            If the classifier has no out-of-bag vote, or `y` has another length or an unknown class.
        """
        kind = type(model).__name__
        share = getattr(model, "oob_decision_function_", None)
        if share is None:
            raise ValueError(
                f"model is a {kind} without an out-of-bag vote; fit it with oob_score=True where it has that "
                "parameter, or take rows that it was not trained on: MarginDistribution.of(model, X, y)."
            )
        labels = np.asarray(y)
        if labels.shape != share.shape[:1]:
            raise ValueError(f"y has shape {labels.shape}; the {kind} was trained on {len(share)} rows.")
        classes = np.asarray(model.classes_)
        truth = np.argmax(labels[:, None] == classes, axis=1)
        if (classes[truth] != labels).any():
            unknown = labels[classes[truth] != labels][0]
            raise ValueError(f"y holds {unknown!r}, which is no class of the {kind}: {classes.tolist()}.")
        has_vote = np.isfinite(share).all(axis=1) & share.any(axis=1)
        if not has_vote.any():
            raise ValueError(
                f"Every voter of the {kind} was trained on all rows; fit it with bootstrap, or on a share of the rows."
            )
        weight = np.where(has_vote, _row_weight(sample_weight, len(labels)), 0.0)
        votes = np.where(has_vote[:, None], share, 0.0)
        margins = lead(votes, truth)
        return cls(margins, weight, margins if len(classes) == 2 else None, np.argmax(votes, axis=1) != truth)

    @property
    def n_rows(self) -> int:
        """Number of rows with weight."""
        return len(self.margins)

    @property
    def mean(self) -> float:
        """Mean margin."""
        return float(self.row_weight @ self.margins)

    @property
    def minimum(self) -> float:
        """Smallest margin."""
        return float(self.margins.min())

    @property
    def median(self) -> float:
        """Median margin, ``quantile(0.5)``."""
        return self.quantile(0.5)

    @property
    def second_moment(self) -> float:
        """Mean square of the margins."""
        return float(self.row_weight @ self.margins**2)

    @property
    def variance(self) -> float:
        """Mean squared distance from the mean."""
        return float(self.row_weight @ (self.margins - self.mean) ** 2)

    @property
    def error(self) -> float:
        """Share of the row weight with a wrong vote."""
        return float(self.row_weight @ self.wrong)

    @overload
    def nu(self, theta: float) -> float: ...
    @overload
    def nu(self, theta: NDArray[Any] | list[float]) -> F64: ...
    def nu(self, theta: Any) -> Any:
        """Return the share of the row weight with a margin of at most `theta` (float or array-like).

        Equation: margin-curve (docs/theory.md).
        """
        values, share = self.curve()
        below = np.searchsorted(values, np.asarray(theta, dtype=np.float64), side="right")
        found = np.concatenate([[0.0], share])[below]
        return float(found) if np.ndim(theta) == 0 else found

    @overload
    def quantile(self, q: float) -> float: ...
    @overload
    def quantile(self, q: NDArray[Any] | list[float]) -> F64: ...
    def quantile(self, q: Any) -> Any:
        """Return the smallest margin theta with nu(theta) >= q, for q (float or array-like) in [0, 1]."""
        shares = np.asarray(q, dtype=np.float64)
        if not ((shares >= 0.0) & (shares <= 1.0)).all():
            raise ValueError(f"q is {q!r}; quantiles are for shares between 0 and 1.")
        values, share = self.curve()
        found = values[np.searchsorted(share, shares - _ROUNDING, side="left")]
        return float(found) if np.ndim(q) == 0 else found

    def curve(self) -> tuple[F64, F64]:
        """Return the distinct margins theta, ascending, and nu(theta), ``(d,)`` each."""
        return self._curve

    @cached_property
    def _curve(self) -> tuple[F64, F64]:
        order = np.argsort(self.margins, kind="stable")
        values = self.margins[order]
        share = np.cumsum(self.row_weight[order])
        last = np.flatnonzero(np.append(values[1:] != values[:-1], True))
        steps = np.minimum(share[last], 1.0)
        steps[-1] = 1.0
        return values[last], steps

    @property
    def gibbs_risk(self) -> float:
        """Mean error of a voter drawn by its weight."""
        return float(self.row_weight @ self._gibbs)

    @property
    def joint_error(self) -> float:
        """Probability that two drawn voters both err on a row."""
        return float(self.row_weight @ self._gibbs**2)

    @property
    def disagreement(self) -> float:
        """Probability that exactly one of two drawn voters errs on a row."""
        return float(self.row_weight @ (2.0 * self._gibbs * (1.0 - self._gibbs)))

    @property
    def _gibbs(self) -> F64:
        if self.voter_margins is None:
            raise ValueError(
                "The margins of single voters are unknown; compute them by MarginDistribution.of(model, X, y), out of "
                "bag with asked=... For two classes give the margins themselves as voter_margins."
            )
        return 0.5 * (1.0 - self.voter_margins)

    def __repr__(self) -> str:
        lines = [f"Margins of {self.n_rows:,} row{'s' * (self.n_rows != 1)}", *self._lines()]
        return "\n".join(lines)

    def _lines(self) -> Iterator[str]:
        def row(name: str, *values: str) -> str:
            return f"  {name:<19}" + "".join(f"{value:>9}" for value in values)

        yield row("mean", f"{self.mean:.3f}")
        yield row("standard deviation", f"{self.variance**0.5:.3f}")
        yield row("smallest", f"{self.minimum:.3f}")
        yield row("quantiles", *_SHOWN_QUANTILES.values())
        yield row("", *(f"{self.quantile(q):.3f}" for q in _SHOWN_QUANTILES))
        yield row("at or below", *(f"{theta:g}" for theta in _SHOWN_THETAS))
        yield row("", *(f"{self.nu(theta):.1%}" for theta in _SHOWN_THETAS))
        yield row("error of the vote", f"{self.error:.1%}")
        if self.voter_margins is not None:
            yield row("of a drawn voter", f"{self.gibbs_risk:.1%}") + "   (Gibbs risk)"
            yield row("two drawn: one errs", f"{self.disagreement:.1%}") + "   (disagreement)"
            yield row("two drawn: both", f"{self.joint_error:.1%}") + "   (joint error)"


def _within_one(name: str, given: ArrayLike) -> F64:
    values = np.array(given, dtype=np.float64)
    if values.ndim != 1 or not values.size:
        raise ValueError(f"{name} has shape {values.shape}; give a number for each row, of one row at least.")
    bad = ~(np.abs(values) <= 1.0 + 1e-9)
    if bad.any():
        at = int(bad.argmax())
        raise ValueError(f"{name}[{at}] is {values[at]}; margins are numbers in [-1, 1].")
    return np.clip(values, -1.0, 1.0)


def _row_weight(given: ArrayLike | None, n: int) -> F64:
    weight = np.ones(n) if given is None else np.asarray(given, dtype=np.float64)
    if weight.shape != (n,):
        raise ValueError(f"The weights of the rows have shape {weight.shape}; there are {n} rows.")
    if not np.isfinite(weight).all() or (weight < 0.0).any() or not weight.any():
        raise ValueError("The weights of the rows must be finite, not negative, and above zero in a row with a vote.")
    return weight
