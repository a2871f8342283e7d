"""What is known of a vote of subsamples from the record of the draws."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from committee.bounds.subsample_overlap import unpacked
from committee.data.number_types import F64
from committee.data.parallel import n_threads
from committee.learners.bagging.vote_variance import VoteVariance, infinitesimal_jackknife
from committee.learners.base.calibration import CalibratedClassifier
from committee.learners.base.parameters import fitted, with_parameters

CELLS = 4_000_000
"""Votes, or covariances of rows and votes, that are held at a time."""


@with_parameters
class SubsampledVote(CalibratedClassifier):
    """Base of committees whose voters are trained on subsamples of the rows."""

    draws_: NDArray[np.uint8] = fitted(
        """Which rows each voter was trained on, one bit a row as in `numpy.packbits`. With ``bootstrap=True`` and of
        one class there is none, nor what follows from it.""",
        "uint8 array (n_estimators, ceil(n / 8))",
    )
    n_samples_fit_: int = fitted("Training rows of positive weight.", "int")
    complete_: bool = fitted("""Whether these are all subsamples there are, as with ``n_estimators="all"``.""", "bool")

    n_estimators: int | Literal["all"]
    n_jobs: Any

    def _most_tasks(self, X: Any) -> int | None:
        return None if self.n_estimators == "all" else self.n_estimators

    @property
    def estimators_samples_(self) -> list[NDArray[np.int64]]:
        """Row numbers of each voter's training rows, ascending."""
        return [np.flatnonzero(np.unpackbits(drawn)) for drawn in self._record()]

    def vote_variance(self, X: Any) -> VoteVariance:
        """How far the shares of votes would vary with other training rows, and with other draws.

        The first is the infinitesimal jackknife over the draws (Wager, Hastie, Efron 2014; Ghosal and Hooker 2021 for
        subsamples), which costs no further fit. In the mean it is not too small, and the further above the variance the
        larger `max_samples` is: hardly for a fifth of the rows, twice to four times for 0.7. It needs many voters, some
        hundreds rather than 21; ``noise`` says whether there are enough. It is about the vote as it is counted, without
        the temperature of `calibrate`, and about rows, each drawn as a whole, whatever they weigh.

        Parameters
        ----------
        X : table or array-like (n, p)
            Rows to vote on.

        Returns
        -------
        VoteVariance
            ``rows``, ``draws``, ``noise`` and ``standard_error``, arrays ``(n, n_classes)``.

        Raises
        ------
        AttributeError
            If the model has no record of its draws: it was trained on rows of one class, by a bootstrap, or by a
            release that kept none.
        ValueError
            If no row was left out of a draw, or there is one voter only.
        """
        record = self._record()
        encoded = self.table_.encode(self.validate_rows(X))
        drawn, n = unpacked(record), self.n_samples_fit_
        complete = getattr(self, "complete_", False)  # models of earlier releases do not have it
        step = max(1, CELLS // (max(drawn.shape) * len(self.classes_)))
        blocks = [
            infinitesimal_jackknife(drawn, self._votes(encoded[a : a + step]), n_samples=n, complete=complete)
            for a in range(0, len(encoded), step)
        ]
        return VoteVariance(*(np.concatenate([getattr(b, f.name) for b in blocks]) for f in fields(VoteVariance)))

    def _record(self) -> NDArray[np.uint8]:
        check_is_fitted(self)
        if not hasattr(self, "draws_"):
            raise AttributeError(
                "this model has no record of subsamples: it was trained on rows of one class, with bootstrap=True, or "
                "by a release that kept none."
            )
        return self.draws_

    def _votes(self, encoded: F64) -> F64:
        """Share that each voter gives each class, ``(M, n, K)``."""
        voters, threads = self.committee_.voters, n_threads(self.n_jobs)
        return np.stack([voters[m].tally(encoded, n_threads=threads) for m in range(len(voters))])
