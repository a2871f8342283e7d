"""Protocol of the collections that hold a committee's voters."""

from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

VoteKind: TypeAlias = Literal["label", "score"]
"""Kind of vote: for one class or none ("label"), or with a real number per output ("score")."""

VoterIndex: TypeAlias = int | slice | NDArray[np.integer] | NDArray[np.bool_] | list[int]
"""Selection of voters from a collection; the result is always a collection again."""


@runtime_checkable
class Voters(Protocol):
    """T voters that share their inputs and classes.

    `Forest` (flat trees, native), `Rounds` (a tree for each of several scores), `EstimatorVoters` (fitted
    scikit-learn classifiers) and the model trees are its kinds; a committee knows them only through this protocol.
    ``X`` is always the encoded matrix: C-contiguous float64 ``(n, p)``, categories as codes, NaN where a value is
    missing; where a class says ``takes_sparse`` it may be sparse. In regression every output is a class of its own.
    """

    @property
    def kind(self) -> VoteKind:
        """``"label"``: each voter names a class or abstains; ``"score"``: it gives one number per output."""

    @property
    def n_classes(self) -> int:
        """Number of classes K that the voters choose from, or of numbers D that they predict."""

    @property
    def n_outputs(self) -> int:
        """Columns of a tally: K for labels; for scores K, or 1 where one signed score tells two classes apart."""

    @property
    def n_features(self) -> int | None:
        """Width p of the encoded matrix; None where the members alone know what they take."""

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

    def tally(self, X: Any, weights: NDArray[np.float64] | None = None, n_threads: int = 1) -> NDArray[np.float64]:
        """Sum of the weighted votes: ``(n, n_classes)`` for labels, ``(n, D)`` for scores."""

    def votes(self, X: Any, n_threads: int = 1) -> NDArray[np.int16] | NDArray[np.float64]:
        """Every vote: class indices ``(n, T)``, -1 abstaining, for labels; ``(n, T, D)`` for scores."""
