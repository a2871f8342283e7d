"""Losses of each voter on rows that it has not seen, and of each pair of voters together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import log
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.bounds.result import Bound
from committee.data.number_types import F64
from committee.objectives.margins.pair_losses import PairLosses, loss_blocks

ROUNDING = 1e-12
"""A Gibbs loss as near to 1/2 as this is counted as a tie."""


@dataclass(frozen=True, eq=False)
class VoterLosses:
    """Losses of T voters on n rows, the rows that a voter has seen left out.

    The loss of voter t on row i is l_it = (1 - s_it) / 2, s_it its least signed vote against another class in units of
    its spread: 1 where a label voter names a wrong class, 0 where it names the right one, 1/2 where it abstains. With
    weights rho that sum to one the row's Gibbs loss is W_i = sum_t rho_t l_it, and **a row that the vote gets wrong has
    W_i >= 1/2**: of two classes exactly those rows and ties, of more classes, or with scores, perhaps others too. All
    bounds on the vote but `held_out_errors` are bounds on P[W >= 1/2].

    Parameters
    ----------
    least : int8 or float64 array (n, T)
        s.
    unseen : bool array (n, T) or None
        Rows that count for a voter: those that it was not trained on. None: all.
    weights : float64 array (T,)
        rho of the ensemble itself: absolute weights, summing to one.
    turned : bool, default=False
        Some voters have negative weights and are counted the other way round. A prior then gives each voter and its
        opposite 1 / (2 T).
    n_classes : int, default=2
        Number of classes.
    untouched : bool array (n,), default=None
        Rows out of bag that no voter has seen and that chose none of them; None: none is known.
    n_candidates : int, default=None
        Number of voters that the T were chosen from by means of the rows themselves, which the prior has to share out
        its weight among; None: T.
    wrong : bool array (n,), default=None
        Rows that the vote itself gets wrong; None: those with W >= 1/2, ties among them.
    names_classes : bool, default=False
        Every voter names one class on every row there may be: none abstains or gives scores, so that W is a sum of some
        of the weights.

    Examples
    --------
    >>> import numpy as np
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
        """The losses on the rows that no voter has seen, as on held-out rows: all of them, unless out of bag.

        Raises
        ------
        ValueError
            If there is no such row.
        """
        if self.unseen is None:
            return self
        if self.untouched is None or not self.untouched.any():
            raise ValueError(
                "Every row out of bag has been seen by some of the voters; use on='validation', or a forest with a "
                "reserve."
            )
        wrong = None if self.wrong is None else self.wrong[self.untouched]
        return replace(
            self, least=self.least[self.untouched], unseen=None, untouched=None, n_candidates=None, wrong=wrong
        )

    @property
    def errors(self) -> NDArray[np.bool_]:
        """Rows that the vote gets wrong, ``(n,)``; for rows that no voter has seen."""
        W = self.gibbs()
        return W >= 0.5 - ROUNDING if self.wrong is None else self.wrong

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
        """Minus the logarithm of the prior of a voter: ln T, or ln 2 T with opposites; T the candidates, if any."""
        n = self.n_candidates or self.n_voters
        return log(2 * n if self.turned else n)

    @cached_property
    def pairs(self) -> PairLosses:
        """Mean losses of voters and pairs, over the rows that each has not seen."""
        return PairLosses.of(self.least, self.unseen)

    @property
    def risk(self) -> F64:
        """Mean loss of each voter, ``(T,)``; NaN without rows."""
        return self.pairs.risk

    @property
    def tandem(self) -> F64:
        """Mean of l_t l_u over the rows that neither t nor u has seen, ``(T, T)``; NaN without rows."""
        return self.pairs.tandem

    @property
    def disagreement(self) -> F64:
        """Mean of l_t (1 - l_u) + l_u (1 - l_t) over the same rows, ``(T, T)``: how often labels differ."""
        return self.pairs.disagreement

    @property
    def pair_rows(self) -> F64:
        """Number of rows that neither of two voters has seen, ``(T, T)``."""
        return self.pairs.rows

    @property
    def rows(self) -> F64:
        """Number of rows that a voter has not seen, ``(T,)``."""
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
        """Upper bound on the error of the vote on new rows; guessing reaches 1 - 1 / K, which makes it vacuous."""
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
        """Advice of how pairs of voters have more rows that neither has seen."""
        return "more rows." if self.unseen is None else "more rows, or a smaller max_samples."

    def gibbs(self, weights: F64 | None = None) -> F64:
        """W of every row, ``(n,)``; for rows that no voter has seen."""
        if self.unseen is not None:
            raise ValueError(
                "Rows out of bag have been seen by some of the voters, and say nothing of the whole vote; use "
                "on='validation', or of_untouched() of a forest with a reserve."
            )
        rho = self.posterior(weights)
        # a sum of weights may pass 1 by a rounding
        return np.asarray(np.clip(np.concatenate([loss @ rho for loss, _ in loss_blocks(self.least, None)]), 0.0, 1.0))

    def posterior(self, weights: ArrayLike | None = None) -> F64:
        """Weights made to sum to one; the ensemble's own, if none are given.

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
