"""Weighted votes: the base class of committees, and functions of class scores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, Self, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.utils.validation import check_array

from committee.data.matrices import as_sparse_matrix, is_sparse, reject_sparse
from committee.data.rows import GivenRows, check_scores, checked_offset
from committee.data.table_schema import TableSchema
from committee.data.text import byte_text, pluralize
from committee.data.typed_json import NamedParameters, field
from committee.files.documents import Document, Header, Tensors, header_bytes
from committee.files.kinds import VOTERS, describe_part, rebuild_part
from committee.files.store import Storable
from committee.voters.forest import Forest, ImportanceKind
from committee.voters.protocol import VoterIndex, Voters, voter_numbers

Scores: TypeAlias = NDArray[np.float64]


_CACHED = ("total_weight", "file_bytes", "column_bytes")
_ENTRY = 75
"""Bytes of an array's entry in the header of a file, without its name."""


def stored_bytes(document: Document, arrays: Mapping[str, NDArray[Any]]) -> int:
    """Bytes of a document and arrays in a model file."""
    header = header_bytes(document) + sum(len(name) + _ENTRY for name in arrays)
    return header + sum(array.nbytes for array in arrays.values())


def signed(F: NDArray[Any]) -> Scores:
    """Scores ``(..., 1)`` or ``(..., 2)`` of two classes as one signed score, second minus first."""
    return F[..., 0] if F.shape[-1] == 1 else F[..., 1] - F[..., 0]


def elected(F: Scores) -> NDArray[np.intp]:
    """Index of the class that each row elects, the first on ties; `F` is ``(n,)``, ``(n, 1)`` or ``(n, K)``."""
    if F.ndim == 1 or F.shape[1] == 1:
        return (F.reshape(-1) > 0).astype(np.intp)
    return np.asarray(F.argmax(axis=1))


def lead(F: Scores, truth: NDArray[np.intp]) -> Scores:
    """Score of the true class minus the best other score, ``(n,)``."""
    rows = np.arange(len(F))
    rivals = F.copy()
    rivals[rows, truth] = -np.inf
    return np.asarray(F[rows, truth] - rivals.max(axis=1))


class WeightedVotes(Storable, ABC):
    """T voters h_t with weights w_t and an intercept: F(x) = F_0 + sum_t w_t h_t(x)."""

    voters: Voters
    weights: NDArray[np.float64]
    link: Any
    table: TableSchema | None
    intercept: NDArray[np.float64] | None
    read_link: ClassVar[Callable[..., Any]]
    """Function that rebuilds a link from its ``to_json``."""

    def _check_parts(self) -> None:
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

    @property
    def n_voters(self) -> int:
        """Number of voters T."""
        return len(self.voters)

    @property
    def n_nodes(self) -> int:
        """Nodes of the trees and graphs of all voters; other voters count 0."""
        return int(self.voters.n_nodes.sum())

    @property
    def nbytes(self) -> int:
        """Size of the voters, their weights and the intercept in bytes."""
        return self.voters.nbytes + self.weights.nbytes + (0 if self.intercept is None else self.intercept.nbytes)

    def _representation(self, outputs: str) -> str:
        # with the size of ensembles of ensembles, which are the large ones
        of_members = isinstance(getattr(self.voters, "members", None), tuple)
        size = f", {byte_text(self.nbytes)} in memory" if of_members else ""
        return f"{type(self).__name__}({pluralize(self.n_voters, 'voter')}, {outputs}, {self.link.name} link{size})"

    @cached_property
    def file_bytes(self) -> int:
        """Bytes of the model file to within 10 %, 1 % if large; ``TypeError`` if a file cannot hold the voters."""
        arrays: dict[str, NDArray[Any]] = {}
        return stored_bytes(self.to_document(Tensors(arrays)), arrays)

    @cached_property
    def column_bytes(self) -> int:
        """Bytes of the model file that hold names, categories and texts of the columns, and the classes."""
        return header_bytes(self._header.to_document())

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of each feature in the weighted split gain, ``(p,)``; only for native trees."""
        if not _are_native_trees(self.voters):
            raise AttributeError(
                "feature_importances_ needs voters that are native trees (a Forest, Rounds or LinearLeaves)."
            )
        importances: NDArray[np.float64] = cast("Any", self.voters).feature_importances(self.weights)
        return importances

    def feature_importances(self, kind: ImportanceKind = "gain") -> NDArray[np.float64]:
        """Return the share of each feature in the splits of all trees, ``(p,)``.

        Parameters
        ----------
        kind : {"gain", "count", "cover"}, default="gain"
            Measure of a split: its gain (`feature_importances_`), 1, or the weight of the training rows that reached
            it. Trees count with the absolute value of their weight; lines in leaves are not splits.

        Returns
        -------
        float64 array (p,)
            Sums to 1; all zeros if no split has a positive measure.

        Raises
        ------
        TypeError
            If the voters are not native trees; for "gain" ``AttributeError``, also if they are model trees.
        ValueError
            If `kind` is unknown, or "cover" needs weights of training rows that the trees do not have.
        """
        from committee.voters.tree_voters import MemberTrees

        if kind == "gain":
            return self.feature_importances_
        trees = MemberTrees.of(self.voters, self.weights, f"feature_importances({kind!r})")
        return trees.forest.feature_importances(trees.weights, kind)

    @cached_property
    def total_weight(self) -> float:
        """Weight of the voters, sum_t |w_t|, plus 1 for an intercept."""
        return self._total(self.weights)

    def __getstate__(self) -> dict[str, Any]:
        return {name: part for name, part in self.__dict__.items() if name not in _CACHED}

    def apply(self, X: Any, *, n_threads: int = 1) -> NDArray[np.int32]:
        """Return the leaf that each row reaches in each tree.

        Parameters
        ----------
        X : table or array-like (n, p)
            Rows.
        n_threads : int, default=1
            Largest number of threads; the result does not depend on it.

        Returns
        -------
        int32 array (n, trees), or (n, rounds, scores) for rounds of one tree per score
            Node numbers within each tree.

        Raises
        ------
        TypeError
            If the voters are not native trees.
        """
        from committee.voters.tree_voters import MemberTrees

        trees = MemberTrees.of(self.voters, self.weights, "apply")
        return trees.apply(self.encode(X), n_threads)

    def decision_path(self, X: Any, *, n_threads: int = 1) -> tuple[csr_array, NDArray[np.int64]]:
        """Return the nodes that each row passes in each tree.

        Parameters
        ----------
        X : table or array-like (n, p)
            Rows.
        n_threads : int, default=1
            Largest number of threads; the result does not depend on it.

        Returns
        -------
        indicator : sparse array (n, nodes)
            1 where a row passes a node, from the root to the leaf.
        n_nodes_ptr : int64 array (trees + 1,)
            Tree t has the columns ``n_nodes_ptr[t]:n_nodes_ptr[t + 1]``, in the node numbers of `apply`.

        Raises
        ------
        TypeError
            If the voters are not native trees.
        """
        from committee.voters.tree_voters import MemberTrees

        return MemberTrees.of(self.voters, self.weights, "decision_path").paths(self.encode(X), n_threads)

    def decision_function(self, X: Any, *, offset: ArrayLike | None = None, n_threads: int = 1) -> Scores:
        """Return the scores F(x) = F_0 + sum_t w_t h_t(x), before the link.

        Equation: vote (docs/theory.md).

        Parameters
        ----------
        X : table or array-like (n, p)
            Rows to vote on.
        offset : array-like (n,) for one score, or (n, D), default=None
            Numbers that are added to the scores, such as logarithms of exposures.
        n_threads : int, default=1
            Largest number of threads; the result does not depend on it.

        Returns
        -------
        float64 array
            ``(n,)`` for two classes (positive: the second) and for one number, else ``(n, D)``.

        Raises
        ------
        ValueError
            If `X` has other columns than the training table, the offset is not finite or has another shape than the
            scores, or there is an offset and the link averages votes.
        """
        return self._scores(self._tally(self.encode(X), n_threads, offset))

    def predict(self, X: Any, *, offset: ArrayLike | None = None, n_threads: int = 1) -> NDArray[Any]:
        """Return the elected classes ``(n,)``, the first on ties, or the predicted numbers ``(n,)`` or ``(n, D)``.

        Parameters and errors are those of `decision_function`.
        """
        return self._answer(self.decision_function(X, offset=offset, n_threads=n_threads), self.total_weight)

    def staged_decision_function(
        self, X: Any, *, offset: ArrayLike | None = None, n_threads: int = 1
    ) -> Iterator[Scores]:
        """Yield the scores of the first 1, 2, ..., T voters, as `decision_function`; each votes once."""
        return (self._scores(tally) for tally, _ in self._stages(self.encode(X), n_threads, offset))

    def staged_predict(self, X: Any, *, offset: ArrayLike | None = None, n_threads: int = 1) -> Iterator[NDArray[Any]]:
        """Yield the predictions of the first 1, 2, ..., T voters, as `predict`; each votes once."""
        stages = self._stages(self.encode(X), n_threads, offset)
        return (self._answer(self._scores(tally), total) for tally, total in stages)

    def select(
        self, indices: VoterIndex, weights: ArrayLike | None = None, *, link: NamedParameters | None = None
    ) -> Self:
        """Return a committee of selected voters, with other weights if given; the intercept stays.

        Parameters
        ----------
        indices : int, slice, index array or mask (T,)
            Voters to select, in this order.
        weights : array-like, default=None
            Their weights; None keeps the present ones.
        link : Link or MeanLink, default=None
            Another link, as for negative weights in place of `Share`; None keeps the present one.

        Returns
        -------
        Committee or RegressionCommittee

        Raises
        ------
        ValueError
            If no voter is selected, or `weights` or `link` do not suit the selected voters.
        """
        chosen = voter_numbers(indices, self.n_voters)
        if not len(chosen):
            raise ValueError("indices selects no voter; a committee needs at least one.")
        smaller: Self = replace(
            cast("Any", self),  # the subclasses are dataclasses
            voters=self.voters[chosen],
            weights=self.weights[chosen] if weights is None else np.asarray(weights, dtype=np.float64),
            link=self.link if link is None else link,
        )
        return smaller

    def __len__(self) -> int:
        """Number of voters."""
        return self.n_voters

    def __getitem__(self, indices: VoterIndex) -> Self:
        """Return a committee of selected voters; see `select`."""
        return self.select(indices)

    @property
    def takes_sparse(self) -> bool:
        """True if the voters accept sparse rows, as `Forest`, `Rounds` and committees of committees do."""
        return bool(getattr(self.voters, "takes_sparse", False))

    def encode(self, X: Any) -> Any:
        """Return the rows as the voters take them: a checked matrix, `X` itself, or both as `GivenRows`."""
        if self.table is not None:
            if is_sparse(X) and not self.takes_sparse:
                reject_sparse(X, f"a committee of {type(self.voters).__name__}")
            cells = self.table.encode_sparse(as_sparse_matrix(X)) if is_sparse(X) else self.table.encode(X)
            if not getattr(self.voters, "reads_tables", False):
                return cells
            return GivenRows.of(X, cells, getattr(self.table, "left_out", ()))
        if not _are_native_trees(self.voters):
            return X  # the members check it
        data = check_array(X, dtype=np.float64, order="C", ensure_all_finite="allow-nan", input_name="X")
        if data.shape[1] != self.voters.n_features:
            raise ValueError(f"X has {data.shape[1]} columns; the voters need {self.voters.n_features}.")
        return data

    def _tally(self, data: Any, n_threads: int, offset: ArrayLike | None = None) -> Scores:
        return self._settled(self.voters.tally(data, self.weights, n_threads), offset)

    def _settled(self, votes: Scores, offset: ArrayLike | None = None) -> Scores:
        return self._settle(self._started(votes, offset), self.total_weight)

    def _stages(self, data: Any, n_threads: int, offset: ArrayLike | None = None) -> Iterator[tuple[Scores, float]]:
        votes: Scores | None = None
        for t in range(self.n_voters):
            vote = self.voters[t : t + 1].tally(data, self.weights[t : t + 1], n_threads)
            # a new array each time: what was handed out stays as it was
            votes = vote if votes is None else votes + vote
            total = self._total(self.weights[: t + 1])
            yield self._settle(self._started(votes, offset), total), total

    def _started(self, votes: Scores, offset: ArrayLike | None) -> Scores:
        started = votes if self.intercept is None else votes + self.intercept
        if offset is None:
            return started
        self._check_addable("offset")
        numbers = checked_offset(offset, len(votes))
        check_scores(numbers, votes.shape[1])
        return started + numbers.reshape(votes.shape)

    def _check_addable(self, name: str) -> None:
        if self.link.averages:
            raise ValueError(f"{self.link} averages votes, and takes no {name}; use another link, or no {name}.")

    def _settle(self, tally: Scores, total: float) -> Scores:
        return tally

    def _total(self, weights: NDArray[np.float64]) -> float:
        return float(np.abs(weights).sum()) + (self.intercept is not None)

    @abstractmethod
    def _scores(self, tally: Scores) -> Scores: ...

    @abstractmethod
    def _answer(self, F: Scores, total: float) -> NDArray[Any]: ...

    @classmethod
    @abstractmethod
    def read_header(cls, document: Document) -> Header: ...

    def to_document(self, tensors: Tensors) -> Document:
        """Return the document of a model file; its arrays are put into `tensors`."""
        votes = self.votes_to_document(tensors)
        return {"class": type(self).__name__, **self._header.to_document(), **votes}

    @property
    def _header(self) -> Header:
        source = None if self.table is None else self.table.source
        names = getattr(self.voters, "names", None) if source is None else source.names
        return Header(
            self.voters.n_features or 0 if source is None else source.n_features,
            None if names is None else np.array(names, dtype=object),
            getattr(self, "classes", None),
            self.table,
        )

    @classmethod
    def from_document(cls, document: Document, tensors: Tensors) -> Self:
        """Read and check a committee of a model file."""
        header = cls.read_header(document)
        committee: Any = cls.votes_from_document(document, tensors, header)
        if header.table is not None or header.names is None:
            return cast("Self", committee)
        if not hasattr(committee.voters, "names"):
            raise ValueError("feature_names belong to a table, which is null")
        # without a table, the voters store the names that a frame must have
        return cast("Self", replace(committee, voters=replace(committee.voters, names=tuple(header.names))))

    def votes_to_document(self, tensors: Tensors) -> Document:
        """Return the part of the document that describes link, voters and intercept; their arrays go into `tensors`."""
        tensors.put(weights=self.weights)
        document = {
            "link": self.link.to_json(),
            "voters": describe_part(self.voters, VOTERS, tensors.part("voters")),
        }
        if self.intercept is not None:
            tensors.put(intercept=self.intercept)
            document["intercept"] = True
        return document

    @classmethod
    def votes_from_document(cls, document: Document, tensors: Tensors, header: Header) -> Self:
        """Read and check voters, weights, link and intercept for the columns and classes of `header`."""
        voters = rebuild_part(field(document, "voters", dict), VOTERS, tensors.part("voters"), "voters")
        if header.classes is not None and voters.n_classes != len(header.classes):
            raise ValueError(f"the voters are for {voters.n_classes} classes; there are {len(header.classes)}")
        if voters.n_features != header.width:
            raise ValueError(f"the voters are for {voters.n_features} columns; the matrix has {header.width}")
        voters.check_columns(header.table)
        weights = tensors.take_numbers("weights", len(voters), "one for each voter")
        link = cls.read_link(field(document, "link", dict))
        # a graph multiplies its votes by the weights, and a mean divides by their sum
        with np.errstate(over="ignore", invalid="ignore"):
            if not np.isfinite(weights * voters.spread).all():
                raise ValueError("weights times votes exceed the largest float64 number")
        if link.name == "average" and not weights.sum() > 0.0:
            raise ValueError("the sum of the weights of a mean vote must be above 0")
        intercept = None
        if "intercept" in document:
            if field(document, "intercept", bool) is not True:
                raise ValueError("'intercept' is false; it must be true or absent")
            intercept = tensors.take_numbers("intercept", voters.n_outputs, "one for each score")
        parts = {"voters": voters, "weights": weights, "link": link, "table": header.table, "intercept": intercept}
        return cls(**parts if header.classes is None else parts | {"classes": header.classes})


def _are_native_trees(voters: Voters) -> bool:
    from committee.voters.rounds import LinearLeaves, Rounds

    return isinstance(voters, (Forest, Rounds, LinearLeaves))


def _refuse_infinite(name: str, numbers: NDArray[np.float64]) -> None:
    if not np.isfinite(numbers).all():
        at = int(np.argmin(np.isfinite(numbers)))
        raise ValueError(f"{name}[{at}] is {numbers[at]}; {name} must be finite.")
