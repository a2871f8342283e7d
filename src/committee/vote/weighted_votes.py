"""Voters, their weights and the sum of their votes: the part that committees share, whatever they predict."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array

from committee.vote.scores import Scores
from committee.vote.stored_votes import StoredVotes
from committee.voters.forest import Forest
from committee.voters.protocol import VoterIndex, Voters
from committee.voters.rounds import Rounds

if TYPE_CHECKING:
    from committee.data.frames import TableSchema


class WeightedVotes(StoredVotes):
    """T voters h_t with weights w_t, and where their sum starts: F(x) = F_0 + sum_t w_t h_t(x).

    `Committee` makes classes of F, `RegressionCommittee` numbers. An intercept F_0 counts as a voter of weight 1
    that says the same of every row: wherever the committee's total weight matters, it is sum_t |w_t| + 1.
    """

    voters: Voters
    weights: NDArray[np.float64]
    table: "TableSchema | None"
    intercept: NDArray[np.float64] | None

    def _check_parts(self) -> None:
        """Look at voters, weights and intercept; the arrays become read-only copies, as a committee does not change."""
        weights = np.array(self.weights, dtype=np.float64)
        if not len(self.voters):
            raise ValueError("voters is empty; a committee needs at least one voter.")
        if weights.shape != (len(self.voters),):
            raise ValueError(f"weights has shape {weights.shape}; {len(self.voters)} voters need one each.")
        _refuse_infinite("weights", weights)
        weights.flags.writeable = False
        object.__setattr__(self, "weights", weights)
        if self.intercept is None:
            return
        intercept = np.array(self.intercept, dtype=np.float64)
        if intercept.shape != (self.voters.n_outputs,):
            raise ValueError(f"intercept has shape {intercept.shape}; it must be ({self.voters.n_outputs},).")
        _refuse_infinite("intercept", intercept)
        intercept.flags.writeable = False
        object.__setattr__(self, "intercept", intercept)

    # -- size ---------------------------------------------------------------------------------------------

    @property
    def n_voters(self) -> int:
        """Number of voters T."""
        return len(self.voters)

    @property
    def n_nodes(self) -> int:
        """Tree nodes of all voters together; voters that are no trees count 0."""
        return int(self.voters.n_nodes.sum())

    @property
    def nbytes(self) -> int:
        """Bytes held by the voters, their weights and the intercept."""
        return self.voters.nbytes + self.weights.nbytes + (0 if self.intercept is None else self.intercept.nbytes)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of the weighted split gain that each feature earned, ``(p,)``; only for native trees."""
        if not isinstance(self.voters, (Forest, Rounds)):
            raise AttributeError("feature_importances_ needs voters that are native trees (a Forest or Rounds).")
        return self.voters.feature_importances(self.weights)

    # -- the steps ----------------------------------------------------------------------------------------

    def encode(self, X: Any) -> Any:
        """Matrix that the voters take, checked; X itself for estimators that check it themselves."""
        if self.table is not None:
            return self.table.encode(X)
        if not isinstance(self.voters, (Forest, Rounds)):
            return X  # the members check it
        data = check_array(X, dtype=np.float64, order="C", ensure_all_finite="allow-nan", input_name="X")
        if data.shape[1] != self.voters.n_features:
            raise ValueError(f"X has {data.shape[1]} columns; the voters need {self.voters.n_features}.")
        return data

    def _tally(self, data: Any, n_threads: int) -> Scores:
        """F_0 and all votes, ``(n, D)``."""
        votes = self.voters.tally(data, self.weights, n_threads)
        return self._settle(self._started(votes), self._total(self.weights))

    def _stages(self, data: Any, n_threads: int) -> Iterator[tuple[Scores, float]]:
        """Tally and total weight of the first 1, 2, ..., T voters."""
        votes: Scores | None = None
        for t in range(self.n_voters):
            vote = self.voters[t : t + 1].tally(data, self.weights[t : t + 1], n_threads)
            # a new array each time: what was handed out stays as it was
            votes = vote if votes is None else votes + vote
            total = self._total(self.weights[: t + 1])
            yield self._settle(self._started(votes), total), total

    def _started(self, votes: Scores) -> Scores:
        """The sum of votes on top of the intercept."""
        return votes if self.intercept is None else votes + self.intercept

    def _settle(self, tally: Scores, total: float) -> Scores:
        """The tally as it is handed out."""
        return tally

    def _total(self, weights: NDArray[np.float64]) -> float:
        return float(np.abs(weights).sum()) + (self.intercept is not None)

    def _chosen(self, indices: VoterIndex) -> NDArray[np.intp]:
        """Numbers of the voters that a selection keeps."""
        chosen: NDArray[np.intp] = np.atleast_1d(np.arange(self.n_voters)[indices])
        if not len(chosen):
            raise ValueError("indices selects no voter; a committee needs at least one.")
        return chosen


def _refuse_infinite(name: str, numbers: NDArray[np.float64]) -> None:
    if not np.isfinite(numbers).all():
        at = int(np.argmin(np.isfinite(numbers)))
        raise ValueError(f"{name}[{at}] is {numbers[at]}; {name} must be finite.")
