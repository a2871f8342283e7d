"""Voters that a row meets one after the other, by chance: sums, trees, and trees nested in trees."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.number_types import F64
from committee.data.typed_json import field
from committee.files.documents import Document, Tensors
from committee.files.kinds import GRAPH_VOTERS, describe_part, rebuild_part
from committee.voters.oracles import OracleVoters, read_seed
from committee.voters.protocol import VoteKind, VoterIndex
from committee.voters.soft_stumps import SoftStumps

if TYPE_CHECKING:
    from committee.data.frames import TableSchema

Walk: TypeAlias = Literal["expected", "likely_path", "sampled"]
"""Ways of a row through a graph."""

WALKS: tuple[Walk, ...] = ("expected", "likely_path", "sampled")

_BLOCK = 2**22
"""Probabilities held at a time where voters are no stumps."""


@dataclass(frozen=True, eq=False)
class VoteGraph:
    """T voters that answer at random, and where each answer leads.

    A row begins at a graph's first node. There a voter answers + with probability q(x); the answer adds its vote to
    the score H and leads to the next node, until an answer leads nowhere. All answers leading on to the next voter is a
    sum (AdaBoost), each to a voter of its own a tree, and several to one a tree whose leaves were collected
    (matryoshka). The score H(x) is a random number; the graph votes with what it is expected to be, or with what it is
    on one path.

    Parameters
    ----------
    voters : SoftStumps or OracleVoters
        Who answers at the T nodes.
    next : int32 array (T, 2)
        Where + and - lead: a later node, or -1, which ends the path.
    vote : float64 array (T, 2)
        What + and - add to the score.
    start : int64 array (D + 1,)
        Score d has the nodes ``start[d]`` to ``start[d + 1]`` and begins at the first of them.
    n_classes : int
        K: of two classes there is one score, positive for the second; of more, one for each.
    walk : {"expected", "likely_path", "sampled"}
        "expected": E[H(x)]. "likely_path": H along the likelier answer at each node. "sampled": H on one path, drawn
        with `seed` and the row's values, so that the same row takes the same path wherever it stands.
    seed : int
        Of the sampled paths.
    counted : intp array or None
        Nodes whose votes count, for a selection of voters; None: all. The others only show the way.

    Raises
    ------
    ValueError
        If the graph is none: lengths differ, an edge leads back, a number is not finite.

    References
    ----------
    E. Grossmann, A theory of probabilistic boosting, decision trees and matryoshki, eqs. 4, 5 and 7.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.voters.soft_stumps import SoftStumps
    >>> from committee.voters.vote_graph import VoteGraph
    >>> stump = SoftStumps.of([(0, 0.0, 1.0, True, 0.5, None)], n_features=1)
    >>> graph = VoteGraph(stump, np.array([[-1, -1]], np.int32), np.array([[1.0, -1.0]]), np.array([0, 1]), 2)
    >>> graph.tally(np.array([[0.0], [3.0]])).ravel().round(3).tolist()
    [0.0, 0.997]
    """

    kind: ClassVar[VoteKind] = "score"
    voters: SoftStumps | OracleVoters
    next: NDArray[np.int32]
    vote: F64
    start: NDArray[np.int64]
    n_classes: int
    walk: Walk = "expected"
    seed: int = 0
    counted: NDArray[np.intp] | None = None

    def __post_init__(self) -> None:
        T = len(self.voters)
        if self.next.shape != (T, 2) or self.vote.shape != (T, 2):
            raise ValueError(f"next and vote have shapes {self.next.shape} and {self.vote.shape}; both need ({T}, 2).")
        if self.n_outputs != len(self.start) - 1:
            raise ValueError(
                f"start has {len(self.start)} entries; {self.n_classes} classes need {self.n_outputs + 1}."
            )
        if self.walk not in WALKS:
            raise ValueError(f"walk is {self.walk!r}; it must be one of {', '.join(WALKS)}.")
        # refuses edges that lead back and numbers that are not finite
        _core.MatrixGraph(self.next, self.vote, self.start)

    def __len__(self) -> int:
        return len(self.next) if self.counted is None else len(self.counted)

    def __getitem__(self, index: VoterIndex) -> VoteGraph:
        every = np.arange(len(self.next)) if self.counted is None else self.counted
        return replace(self, counted=np.atleast_1d(every[index]))

    @property
    def n_outputs(self) -> int:
        """1 for two classes, else a score for each."""
        return 1 if self.n_classes == 2 else self.n_classes

    @property
    def n_features(self) -> int | None:
        """Width of the encoded matrix."""
        return self.voters.n_features

    @property
    def n_nodes(self) -> NDArray[np.int64]:
        """1 for each voter: a node of the graph."""
        return np.ones(len(self), dtype=np.int64)

    @property
    def nbytes(self) -> int:
        """Bytes of the voters and of the graph."""
        return self.voters.nbytes + self.next.nbytes + self.vote.nbytes + self.start.nbytes

    @property
    def spread(self) -> F64:
        """The most that each voter can change a margin: its larger vote."""
        spread: F64 = np.abs(self.vote).max(axis=1)
        return spread if self.counted is None else spread[self.counted]

    def tally(self, X: F64, weights: F64 | None = None, n_threads: int = 1) -> F64:
        """The scores, ``(n, D)``, each node's votes times its weight."""
        counted = np.arange(len(self.next)) if self.counted is None else self.counted
        factor = np.zeros(len(self.next))
        # a node may be counted more than once, as any voter may be selected twice
        np.add.at(factor, counted, 1.0 if weights is None else np.asarray(weights, dtype=np.float64))
        graph = self._walker(self.vote * factor[:, None])
        parts = [self._scores(graph, X[rows], n_threads) for rows in self._blocks(X)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def votes(self, X: F64, n_threads: int = 1) -> F64:
        """Vote of every voter in its score, expected or on the path taken, ``(n, T, D)``."""
        counted = np.arange(len(self.next)) if self.counted is None else self.counted
        output = np.searchsorted(self.start, counted, side="right") - 1  # the score that each node belongs to
        votes = np.zeros((len(X), len(counted), self.n_outputs))
        if self.walk == "expected":
            reach, q = self.reach(X, n_threads), self.voters.probabilities(X, n_threads)
            added = reach * (q * self.vote[:, 0] + (1.0 - q) * self.vote[:, 1])
            votes[:, np.arange(len(counted)), output] = added[:, counted]
        else:
            # a path's score is a sum over the voters met: with one node counted, it is that voter's part
            for number in range(len(counted)):
                votes[:, number] = self[[number]].tally(X, n_threads=n_threads)
        return votes

    def reach(self, X: F64, n_threads: int = 1) -> F64:
        """Probability that each row meets each of the graph's nodes, ``(n, T)``."""
        return np.concatenate([self._whole.reach(self._source(X[rows]), n_threads) for rows in self._blocks(X)])

    def cost(self, X: F64, n_threads: int = 1) -> F64:
        """Number of voters that each row meets, ``(n,)``: expected, or on the path taken."""
        parts: list[F64] = []
        for rows in self._blocks(X):
            if self.walk == "expected":
                parts.append(self._whole.expected(self._source(X[rows]), n_threads)[1])
            elif self.walk == "likely_path":
                parts.append(self._whole.likely(self._source(X[rows]), n_threads)[1].astype(np.float64))
            else:
                parts.append(self._sampled(self._whole, X[rows], 1, n_threads)[2])
        return np.concatenate(parts)

    def positive_paths(self, X: F64, n_paths: int, n_threads: int = 1) -> NDArray[np.int64]:
        """On how many of `n_paths` sampled paths each score is above 0, ``(n, D)``."""
        return np.concatenate([self._sampled(self._whole, X[rows], n_paths, n_threads)[1] for rows in self._blocks(X)])

    @cached_property
    def _whole(self) -> Any:
        """The kernel's graph with all votes as they are."""
        return self._walker(self.vote)

    def _walker(self, vote: F64) -> Any:
        if isinstance(self.voters, SoftStumps):
            arrays = self.voters.arrays
            return _core.StumpGraph(self.voters.n_features, *arrays, self.next, vote, self.start)
        return _core.MatrixGraph(self.next, vote, self.start)

    def _source(self, X: F64) -> F64:
        """Input of the kernel's graph: the rows themselves, or the probabilities of all voters on them."""
        return X if isinstance(self.voters, SoftStumps) else self.voters.probabilities(X)

    def _scores(self, graph: Any, X: F64, n_threads: int) -> F64:
        scores: F64
        if self.walk == "expected":
            scores = graph.expected(self._source(X), n_threads)[0]
        elif self.walk == "likely_path":
            scores = graph.likely(self._source(X), n_threads)[0]
        else:
            scores = self._sampled(graph, X, 1, n_threads)[0]
        return scores

    def _sampled(self, graph: Any, X: F64, n_paths: int, n_threads: int) -> Any:
        """Scores of the last of `n_paths` paths, how many ended above 0, and the mean number of voters met."""
        return graph.sampled(self._source(X), _core.row_keys(X, self.seed, n_threads), n_paths, n_threads)

    def _blocks(self, X: F64) -> list[slice]:
        """Rows taken at a time."""
        if isinstance(self.voters, SoftStumps) or not len(X):
            return [slice(None)]
        step = max(1, _BLOCK // len(self.next))
        return [slice(begin, begin + step) for begin in range(0, len(X), step)]

    # -- the file ---------------------------------------------------------------------------------------------

    def to_document(self, tensors: Tensors) -> Document:
        """Write the graph and its voters into a model file; ``TypeError`` if only some of the nodes count."""
        if self.counted is not None:
            raise TypeError("A selection of a graph's voters cannot be saved; save the learner with all of them.")
        tensors.put_fields(self, ("next", "vote", "start"))
        return {
            "kind": "graph",
            "n_classes": int(self.n_classes),
            "walk": self.walk,
            "seed": int(self.seed),
            "voters": describe_part(self.voters, GRAPH_VOTERS, tensors),
        }

    @classmethod
    def from_document(cls, document: Document, tensors: Tensors) -> VoteGraph:
        """Read what `to_document` wrote, trusting no value."""
        following, vote = tensors.take("next", np.int32, 2), tensors.take("vote", np.float64, 2)
        start = tensors.take("start", np.int64, 1)
        voters = rebuild_part(field(document, "voters", dict), GRAPH_VOTERS, tensors, "the graph's voters")
        walk, n_classes = field(document, "walk", str), field(document, "n_classes", int)
        if walk not in WALKS:
            raise ValueError(f"walk is {walk!r}; it must be one of {', '.join(WALKS)}")
        if not 2 <= n_classes <= len(start):
            raise ValueError(f"n_classes is {n_classes}; it does not suit the graph")
        return cls(voters, following, vote, start, n_classes, walk, read_seed(document))

    def check_columns(self, table: TableSchema | None) -> None:
        """Refuse columns that the voters cannot use."""
        self.voters.check_columns(table)
