"""History of weights: those that each round changed, enough to go back to the committee after any round."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64

Voters = NDArray[np.intp]


class WeightHistory:
    """Rounds of a run, each a few voters with their new weights.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.learners.quadboost.weight_history import WeightHistory
    >>> history = WeightHistory()
    >>> history.add_rounds(np.array([7, 3]), np.array([0.5, 0.25]))
    >>> history.add(np.array([7]), np.array([0.4]))
    >>> history.after(2), history.after(3)
    ((array([7, 3]), array([0.5 , 0.25])), (array([7, 3]), array([0.4 , 0.25])))
    """

    def __init__(self) -> None:
        self._ends = np.zeros(1, dtype=np.intp)
        self._voter = np.empty(0, dtype=np.intp)
        self._weight = np.empty(0)
        self._new: list[tuple[Voters, F64, Voters]] = []
        self._n_rounds = self._n_changes = 0

    def __len__(self) -> int:
        return self._n_rounds

    def add(self, voter: Voters, weight: F64) -> None:
        """Add one round that changed these weights."""
        self._append(voter, weight, np.array([len(voter)]))

    def add_rounds(self, voter: Voters, weight: F64) -> None:
        """Rounds of one change each."""
        self._append(voter, weight, np.arange(1, len(voter) + 1))

    def _append(self, voter: Voters, weight: F64, ends: Voters) -> None:
        self._new.append((np.asarray(voter, dtype=np.intp), np.asarray(weight), ends + self._n_changes))
        self._n_rounds += len(ends)
        self._n_changes += len(voter)

    def _settle(self) -> None:
        """Join what was added since the last look."""
        if self._new:
            voters, weights, ends = zip(*self._new, strict=True)
            self._voter = np.concatenate([self._voter, *voters])
            self._weight = np.concatenate([self._weight, *weights])
            self._ends = np.concatenate([self._ends, *ends])
            self._new.clear()

    def changes(self, round: int) -> tuple[Voters, F64]:
        """Voters whose weights a round changed, and their new weights."""
        self._settle()
        here = slice(int(self._ends[round]), int(self._ends[round + 1]))
        return self._voter[here], self._weight[here]

    def after(self, n_rounds: int) -> tuple[Voters, F64]:
        """Voters in the order of their entry, and their weights, after the first `n_rounds` rounds."""
        self._settle()
        end = int(self._ends[min(n_rounds, self._n_rounds)])
        voter, weight = self._voter[:end], self._weight[:end]
        entered = voter[np.sort(np.unique(voter, return_index=True)[1])]
        last = len(voter) - 1 - np.unique(voter[::-1], return_index=True)[1]  # in the order of their numbers
        rank = np.argsort(np.argsort(entered, kind="stable"), kind="stable")
        return entered, weight[last][rank]
