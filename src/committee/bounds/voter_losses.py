"""Losses of each voter, and of each pair of voters, on rows that they were not trained on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import log
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.bounds.result import Bound
from committee.data.number_types import F64
from committee.objectives.margins.tandem_bound import PairLosses, loss_blocks

ROUNDING = 1e-12  # a Gibbs loss of at least 1/2 minus this counts as 1/2 or more


@dataclass(frozen=True, eq=False)
class VoterLosses:
    """Losses of T voters on n rows; rows that a voter was trained on do not count for it.

    The loss of voter t on row i is l_it = (1 - s_it) / 2, with s_it the least lead that its vote gives the row's class
    over another class, in units of its spread (`Voters.spread`): 1 where a label voter names a wrong class, 0 where it
    names the right one, 1/2 where it abstains. With weights rho that sum to one the row's Gibbs loss is W_i = sum_t
    rho_t l_it, and **a row that the vote gets wrong has W_i >= 1/2**. With two classes the converse holds too, but for
    ties. Except `held_out_errors` and `unlabelled_margins`, all bounds by these losses are bounds on P[W >= 1/2].

    Parameters
    ----------
    least : int8 or float64 array (n, T)
        s.
    unseen : bool array (n, T) or None
        Rows that count for a voter: those that it was not trained on. None: all.
    weights : float64 array (T,)
        rho of the ensemble itself: absolute weights, summing to one.
    turned : bool, default=False
        True if some voters have negative weights and are replaced by their opposites. The prior is then 1 / (2 T).
    n_classes : int, default=2
        Number of classes.
    untouched : bool array (n,), default=None
        Rows that are out of bag for all voters and were not used to choose them; None: unknown.
    n_candidates : int, default=None
        Number of voters from which the T were chosen by means of these rows; the prior is uniform over them. None: T.
    wrong : bool array (n,), default=None
        Rows that the vote itself gets wrong; None: those with W >= 1/2, ties included.
    names_classes : bool, default=False
        True if every voter names one class on every possible row, so that W is a sum of some of the weights.

    Examples
    --------
    >>> from committee.bounds import VoterLosses
    >>> losses = VoterLosses(np.array([[1, -1], [1, 1]]), None, np.array([0.5, 0.5]))
    >>> losses.risk.tolist(), losses.tandem.tolist()
    ([0.0, 0.5], [[0.0, 0.0], [0.0, 0.5]])
    """

    least: NDArray[np.int8] | F64
    unseen: NDArray[np.bool_] | None
    weights: F64
    turned: bool = False
    n_classes: int = 2
    untouched: NDArray[np.bool_] | None = None
    n_candidates: int | None = None
    wrong: NDArray[np.bool_] | None = None
    names_classes: bool = False

    def of_untouched(self) -> VoterLosses:
        """Return the losses on the rows of `untouched`, as held-out rows; held-out losses are returned as they are.

        Raises
        ------
        ValueError
            If the losses are out of bag and no row is known to be untouched.
        """
        if self.unseen is None:
            return self
        if self.untouched is None or not self.untouched.any():
            raise ValueError(
                "No row is known to be new to all voters; use on='validation', or an ensemble with a reserve."
            )
        wrong = None if self.wrong is None else self.wrong[self.untouched]
        return replace(
            self, least=self.least[self.untouched], unseen=None, untouched=None, n_candidates=None, wrong=wrong
        )

    @property
    def errors(self) -> NDArray[np.bool_]:
        """True for rows that the vote gets wrong, ``(n,)``; raise a ValueError for out-of-bag losses."""
        W = self.gibbs()
        return W >= 0.5 - ROUNDING if self.wrong is None else self.wrong

    @property
    def error(self) -> float:
        """Share of rows whose Gibbs loss, of the voters that count for the row, is 1/2 or more.

        For two classes that is the held-out or out-of-bag error of the vote if ties count as wrong, for more classes at
        least that. Rows without such a voter are left out; NaN if all are. Out of bag it is an estimate, from which no
        bound follows.
        """
        shares: list[F64] = []
        for loss, counts in loss_blocks(self.least, self.unseen):
            weight = np.full(len(loss), self.weights.sum()) if counts is None else counts @ self.weights
            known = weight > 0.0
            shares.append((loss @ self.weights)[known] / weight[known])
        W = np.concatenate(shares)
        return float((W >= 0.5 - ROUNDING).mean()) if len(W) else float("nan")

    @property
    def n_rows(self) -> int:
        """Number of rows n."""
        return len(self.least)

    @property
    def n_voters(self) -> int:
        """Number of voters T."""
        return int(self.least.shape[1])

    @property
    def ln_prior(self) -> float:
        """Minus the logarithm of a voter's prior: ln T, or ln 2 T with opposites; T counts the candidates, if any."""
        n = self.n_candidates or self.n_voters
        return log(2 * n if self.turned else n)

    @cached_property
    def pairs(self) -> PairLosses:
        """Mean losses of voters and pairs, each over the rows that count for it."""
        return PairLosses.of(self.least, self.unseen)

    @property
    def risk(self) -> F64:
        """Mean loss of each voter, ``(T,)``; NaN if no row counts for it."""
        return self.pairs.risk

    @property
    def tandem(self) -> F64:
        """Mean of l_t l_u over the rows that count for both, ``(T, T)``; NaN if there are none."""
        return self.pairs.tandem

    @property
    def disagreement(self) -> F64:
        """Mean of l_t (1 - l_u) + l_u (1 - l_t) over the rows that count for both, ``(T, T)``."""
        return self.pairs.disagreement

    @property
    def pair_rows(self) -> F64:
        """Number of rows that count for both of two voters, ``(T, T)``."""
        return self.pairs.rows

    @property
    def rows(self) -> F64:
        """Number of rows that count for a voter, ``(T,)``."""
        return np.diagonal(self.pairs.rows)

    def bound(
        self,
        name: str,
        value: float,
        terms: dict[str, float],
        delta: float,
        advice: str,
        remarks: tuple[str, ...] = (),
        **inputs: Any,
    ) -> Bound:
        """Return a `Bound` on the error of the vote on new rows, vacuous from 1 - 1 / K on."""
        return Bound(
            name=name,
            statement=f"error of the vote on new rows is at most the value, with probability {1.0 - delta:g}",
            value=value,
            terms=terms,
            advice=advice,
            inputs={"losses": self, **inputs, "delta": delta},
            remarks=remarks,
            trivial=1.0 - 1.0 / self.n_classes,
        )

    @property
    def more_rows(self) -> str:
        """Advice on how to increase the number of common rows of two voters."""
        return "more rows." if self.unseen is None else "more rows, or a smaller max_samples."

    def gibbs(self, weights: F64 | None = None) -> F64:
        """Return the Gibbs loss W of each row, ``(n,)``; raise a ValueError for out-of-bag losses."""
        if self.unseen is not None:
            raise ValueError(
                "Out-of-bag rows give no losses of the whole vote, as some voters were trained on them; use "
                "on='validation', or of_untouched() of an ensemble with a reserve."
            )
        rho = self.posterior(weights)
        # a sum of weights may pass 1 by a rounding
        return np.asarray(np.clip(np.concatenate([loss @ rho for loss, _ in loss_blocks(self.least, None)]), 0.0, 1.0))

    def posterior(self, weights: ArrayLike | None = None) -> F64:
        """Return the weights, by default those of the ensemble, divided by their sum.

        Raises
        ------
        ValueError
            If they are negative, not finite, all zero or not one for each voter.
        """
        if weights is None:
            return self.weights
        w = np.asarray(weights, dtype=np.float64)
        if w.shape != (self.n_voters,) or not np.isfinite(w).all() or (w < 0.0).any() or not w.any():
            raise ValueError(
                f"weights must be {self.n_voters} numbers, one for each voter: finite, not negative, not all zero."
            )
        return np.asarray(w / w.sum())
