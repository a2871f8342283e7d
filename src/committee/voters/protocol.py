"""Protocol of the collections that hold a committee's voters."""

from typing import Any, Literal, Protocol, TypeAlias, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

VoteKind: TypeAlias = Literal["label", "score"]
"""A class or an abstention ("label"), or one number per output ("score")."""

VoterIndex: TypeAlias = int | slice | NDArray[np.integer] | NDArray[np.bool_] | list[int]


@runtime_checkable
class Voters(Protocol):
    """T voters with the same classes; ``X`` is as `WeightedVotes.encode` returns it."""

    @property
    def kind(self) -> VoteKind: ...

    @property
    def n_classes(self) -> int:
        """Number of classes K, or of predicted numbers D."""

    @property
    def n_outputs(self) -> int:
        """Number of columns of a tally: K, or 1 for one signed score of two classes."""

    @property
    def n_features(self) -> int | None:
        """Width p of the encoded matrix, or None if it is not recorded."""

    @property
    def n_nodes(self) -> NDArray[np.int64]:
        """Number of nodes of each voter's trees or graph, ``(T,)``."""

    @property
    def nbytes(self) -> int: ...

    @property
    def spread(self) -> NDArray[np.float64]:
        """Bound on the lead that a vote gives a class on training rows, ``(T,)``."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: VoterIndex) -> "Voters": ...

    def tally(self, X: Any, weights: NDArray[np.float64] | None = None, n_threads: int = 1) -> NDArray[np.float64]:
        """Weighted sum of the votes, ``(n, n_outputs)``."""

    def votes(self, X: Any, n_threads: int = 1) -> NDArray[np.int16] | NDArray[np.float64]:
        """Class indices ``(n, T)``, -1 for abstentions, or scores ``(n, T, n_outputs)``."""


class UnitSpread:
    @property
    def spread(self) -> NDArray[np.float64]:
        return np.ones(len(cast("Voters", self)))


def voter_numbers(index: VoterIndex, n_voters: int) -> NDArray[np.intp]:
    return np.atleast_1d(np.arange(n_voters)[index])


def tree_numbers(index: VoterIndex, n_voters: int, per_voter: int) -> NDArray[np.intp]:
    return (voter_numbers(index, n_voters)[:, None] * per_voter + np.arange(per_voter)).ravel()


def voter_weights(weights: Any, n_voters: int) -> NDArray[np.float64]:
    checked = np.ones(n_voters) if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
    if checked.shape != (n_voters,):
        raise ValueError(f"weights has shape {checked.shape}; {n_voters} voters need ({n_voters},).")
    return checked


def class_indicators(labels: NDArray[Any], n_classes: int) -> NDArray[np.float64]:
    return np.asarray(labels[..., None] == np.arange(n_classes), dtype=np.float64)
