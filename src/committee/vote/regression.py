"""The vote on numbers: voters that each add to a score, and the prediction that follows from it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.files.header import Header
from committee.files.tensors import Document
from committee.vote.links.mean import MeanLink
from committee.vote.links.mean import from_json as link_from_json
from committee.vote.scores import Scores
from committee.vote.weighted_votes import WeightedVotes
from committee.voters.protocol import VoterIndex, Voters

if TYPE_CHECKING:
    from committee.data.frames import TableSchema


@dataclass(frozen=True, eq=False, repr=False)
class RegressionCommittee(WeightedVotes):
    """T voters h_t with weights w_t, and the number that they predict together.

    The score is where it starts and the weighted sum of the votes,

        F(x) = F_0 + sum_t w_t h_t(x),

    and the link makes the prediction of it: F itself, exp(F), the weighted mean of the votes, or several
    quantiles in order. It is to regression what `Committee` is to classification, and as immutable.

    Parameters
    ----------
    voters : Voters
        T score voters of D outputs: a `Forest` whose ``n_classes`` is D, or `Rounds`.
    weights : array-like (T,)
        Weight of each voter, finite.
    link : MeanLink
        From scores to predictions: `Identity`, `Log`, `Average` or `Ordered` of `committee.vote.links.mean`.
    table : TableSchema, default=None
        How a user's table becomes the voters' matrix. None: numeric arrays, coded as in training.
    intercept : array-like (D,), default=None
        F_0. It counts as a voter of weight 1 in the total weight that the `Average` link divides by; None is no
        voter, and F starts at zero.

    Raises
    ------
    ValueError
        If there is no voter, the voters name classes instead of numbers, the weights are not T finite numbers or
        the intercept is not D of them.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from committee import TreeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> committee = TreeRegressor(max_depth=2).fit(X, y).committee_
    >>> committee
    RegressionCommittee(1 voter, 1 output, identity link)
    >>> committee.predict(X[:2]).round(1).tolist()
    [225.9, 96.3]
    """

    voters: Voters
    weights: NDArray[np.float64]
    link: MeanLink
    table: "TableSchema | None" = None
    intercept: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        voters = self.voters
        if voters.kind != "score" or voters.n_classes != voters.n_outputs:
            raise ValueError(
                f"voters cast votes for {voters.n_classes} classes; regression needs scores, one number per output. "
                "Use Committee for classes."
            )
        self._check_parts()

    @classmethod
    def read_link(cls, stored: Document) -> MeanLink:
        """The link that ``link.to_json`` wrote."""
        return link_from_json(stored)

    @classmethod
    def read_header(cls, document: Document) -> Header:
        """Columns of a document."""
        return Header.from_document(document, None)

    @property
    def n_outputs(self) -> int:
        """Numbers predicted for each row, D."""
        return self.voters.n_outputs

    def __repr__(self) -> str:
        voters, outputs = (
            f"{n} {what}" + "s" * (n != 1) for n, what in ((self.n_voters, "voter"), (self.n_outputs, "output"))
        )
        return f"RegressionCommittee({voters}, {outputs}, {self.link.name} link)"

    # -- the vote -----------------------------------------------------------------------------------------

    def decision_function(self, X: Any, *, n_threads: int = 1) -> Scores:
        """Scores F(x) = F_0 + sum_t w_t h_t(x), before the link.

        Parameters
        ----------
        X : table or array-like (n, p)
            Rows to predict.
        n_threads : int, default=1
            Ceiling on the number of threads; the result does not depend on it.

        Returns
        -------
        float64 array
            ``(n,)`` for one output, otherwise ``(n, D)``.

        Raises
        ------
        ValueError
            If `X` does not have the columns that the voters were trained on.

        Examples
        --------
        ``committee.decision_function(X)`` is ``committee.votes(X) @ committee.weights`` and the intercept, for one
        output.
        """
        return self._scores(self._tally(self.encode(X), n_threads))

    def predict(self, X: Any, *, n_threads: int = 1) -> Scores:
        """Predictions: the link of the scores.

        Parameters
        ----------
        X, n_threads
            As for `decision_function`, which also says what is raised.

        Returns
        -------
        float64 array
            ``(n,)`` for one output, otherwise ``(n, D)``.

        Examples
        --------
        ``np.mean((committee.predict(X) - y) ** 2)`` is the mean squared error.
        """
        return self.link.mean(self.decision_function(X, n_threads=n_threads), self._total(self.weights))

    def votes(self, X: Any, *, n_threads: int = 1) -> Scores:
        """The vote matrix H: what each voter says about each row; the intercept is none of them.

        Parameters
        ----------
        X, n_threads
            As for `decision_function`, which also says what is raised.

        Returns
        -------
        float64 array
            ``(n, T)`` for one output, otherwise ``(n, T, D)``.

        Examples
        --------
        ``committee.votes(X).std(axis=1)`` is how far the trees of a forest disagree on each row.
        """
        H = self.voters.votes(self.encode(X), n_threads).astype(np.float64, copy=False)
        return H[:, :, 0] if H.shape[2] == 1 else H

    # -- one voter after the other ------------------------------------------------------------------------

    def staged_decision_function(self, X: Any, *, n_threads: int = 1) -> Iterator[Scores]:
        """Scores of the first 1, 2, ..., T voters; each voter is asked once.

        Parameters
        ----------
        X, n_threads
            As for `decision_function`, which also says what is raised.

        Yields
        ------
        float64 array
            As `decision_function`; the last one is its result.

        Examples
        --------
        ``list(committee.staged_decision_function(X))[-1]`` is ``committee.decision_function(X)``.
        """
        return (self._scores(tally) for tally, _ in self._stages(self.encode(X), n_threads))

    def staged_predict(self, X: Any, *, n_threads: int = 1) -> Iterator[Scores]:
        """Predictions of the first 1, 2, ..., T voters; each voter is asked once.

        Parameters
        ----------
        X, n_threads
            As for `decision_function`, which also says what is raised.

        Yields
        ------
        float64 array
            As `predict`; the last one is its result.

        Examples
        --------
        ``[np.mean((p - y) ** 2) for p in committee.staged_predict(X)]`` is the error as voters are added.
        """
        stages = self._stages(self.encode(X), n_threads)
        return (self.link.mean(self._scores(tally), total) for tally, total in stages)

    # -- another vote of the same voters ------------------------------------------------------------------

    def select(
        self, indices: VoterIndex, weights: ArrayLike | None = None, *, link: MeanLink | None = None
    ) -> "RegressionCommittee":
        """A committee of some of the voters, or of all with other weights; the intercept stays.

        Parameters
        ----------
        indices : int, slice, index array or mask (T,)
            The voters to keep, in this order.
        weights : array-like, default=None
            Their weights; None keeps the present ones.
        link : MeanLink, default=None
            Another link; None keeps the present one.

        Returns
        -------
        RegressionCommittee

        Raises
        ------
        ValueError
            If no voter is left, or `weights` is not one per voter kept.

        Examples
        --------
        ``committee.select(slice(10))`` are the first ten voters.
        """
        chosen = self._chosen(indices)
        return RegressionCommittee(
            self.voters[chosen],
            self.weights[chosen] if weights is None else np.asarray(weights, dtype=np.float64),
            self.link if link is None else link,
            self.table,
            self.intercept,
        )

    def _scores(self, tally: Scores) -> Scores:
        """F of a tally: a vector for one output."""
        return tally[:, 0] if tally.shape[1] == 1 else tally
