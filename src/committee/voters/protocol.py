"""What a committee asks of the collection that holds its voters."""

from typing import Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

VoteKind: TypeAlias = Literal["label", "score"]
"""How voters vote: for one class or none ("label"), or with a real number per output ("score")."""

VoterIndex: TypeAlias = int | slice | NDArray[np.integer] | NDArray[np.bool_] | list[int]
"""What picks voters out of a collection; the answer is always a collection again."""


@runtime_checkable
class Voters(Protocol):
    """T voters that share their inputs and classes.

    `Forest` (flat trees, native) and `EstimatorVoters` (fitted scikit-learn classifiers) are the two kinds;
    a `Committee` knows them only through this protocol. ``X`` is always the encoded matrix: C-contiguous
    float64 ``(n, p)``, categories as codes, NaN where a value is missing.
    """

    @property
    def kind(self) -> VoteKind:
        """``"label"``: each voter names a class or abstains; ``"score"``: it gives one number per output."""

    @property
    def n_nodes(self) -> NDArray[np.int64]:
        """Number of tree nodes of each voter, ``(T,)``; 0 where a voter is no tree."""

    @property
    def nbytes(self) -> int:
        """Bytes held by the voters."""

    @property
    def spread(self) -> NDArray[np.float64]:
        """The most that each voter can change a margin, ``(T,)``: 1 for label voters."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: VoterIndex) -> "Voters": ...

    def tally(
        self, X: NDArray[np.float64], weights: NDArray[np.float64] | None = None, n_threads: int = 1
    ) -> NDArray[np.float64]:
        """Sum of the weighted votes: ``(n, n_classes)`` for labels, ``(n, D)`` for scores."""

    def votes(self, X: NDArray[np.float64], n_threads: int = 1) -> NDArray[np.int16] | NDArray[np.float64]:
        """Every vote: class indices ``(n, T)``, -1 abstaining, for labels; ``(n, T, D)`` for scores."""
