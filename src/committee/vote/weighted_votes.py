"""Voters, their weights and the sum of their votes: the part that committees share, whatever they predict."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_array

from committee.data.matrices import as_sparse_matrix, is_sparse, reject_sparse
from committee.data.typed_json import NamedParameters, field
from committee.files.store import Storable
from committee.vote.scores import Scores
from committee.voters.forest import Forest, ImportanceKind
from committee.voters.protocol import VoterIndex, Voters

if TYPE_CHECKING:
    from committee.data.frames import TableSchema
    from committee.files.documents import Document, Header, Tensors


class WeightedVotes(Storable, ABC):
    """T voters h_t with weights w_t, and where their sum starts: F(x) = F_0 + sum_t w_t h_t(x).

    `Committee` makes classes of F, `RegressionCommittee` numbers. An intercept F_0 counts as a voter of weight 1
    that says the same of every row: wherever the committee's total weight matters, it is sum_t |w_t| + 1.
    """

    voters: Voters
    weights: NDArray[np.float64]
    link: Any
    table: "TableSchema | None"
    intercept: NDArray[np.float64] | None
    read_link: ClassVar[Callable[..., Any]]
    """Reader of what ``link.to_json`` wrote."""

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
        from committee.voters.linear_leaves import LinearLeaves
        from committee.voters.rounds import Rounds

        if not isinstance(self.voters, (Forest, Rounds, LinearLeaves)):
            raise AttributeError("feature_importances_ needs voters that are native trees (a Forest or Rounds).")
        return self.voters.feature_importances(self.weights)

    def feature_importances(self, kind: ImportanceKind = "gain") -> NDArray[np.float64]:
        """Share of each feature in what the splits of the trees are counted by, ``(p,)``.

        Parameters
        ----------
        kind : {"gain", "count", "cover"}, default="gain"
            What a split counts: what it gained (`feature_importances_`), once, or the training weight of the rows that
            came to it. A tree counts with the absolute value of its weight; lines in leaves are no splits.

        Returns
        -------
        float64 array (p,)
            Sums to one; all zeros if there is no split.

        Raises
        ------
        TypeError
            If the voters are no native trees.
        ValueError
            If `kind` is unknown, or the trees hold no weights of their training rows, as "cover" asks for.

        Examples
        --------
        ``committee.feature_importances("count") * n_splits`` is the number of splits on each feature of a forest
        whose trees have ``n_splits`` in all.
        """
        from committee.voters.member_trees import MemberTrees

        if kind == "gain":
            return self.feature_importances_
        trees = MemberTrees.of(self.voters, self.weights, f"feature_importances({kind!r})")
        return trees.forest.feature_importances(trees.weights, kind)

    @cached_property
    def total_weight(self) -> float:
        """Weight of the voters, sum_t |w_t|; an intercept counts 1."""
        return self._total(self.weights)

    def __getstate__(self) -> dict[str, Any]:
        return {name: part for name, part in self.__dict__.items() if name != "total_weight"}

    def apply(self, X: Any, *, n_threads: int = 1) -> NDArray[np.int32]:
        """Leaf that each row reaches in each tree.

        Parameters
        ----------
        X : table or array-like (n, p)
            Rows.
        n_threads : int, default=1
            Ceiling on the number of threads; the result does not depend on it.

        Returns
        -------
        int32 array (n, number of trees), or (n, rounds, scores)
            Node numbers within each tree; the latter where a round has a tree for each of several scores.

        Raises
        ------
        TypeError
            If the voters are no native trees.

        Examples
        --------
        ``committee.apply(X)[:, 0] == committee.apply(X)[0, 0]`` are the rows in the first row's leaf of the first tree.
        """
        from committee.voters.member_trees import MemberTrees

        trees = MemberTrees.of(self.voters, self.weights, "apply")
        return trees.apply(self.encode(X), n_threads)

    # -- the vote -----------------------------------------------------------------------------------------

    def decision_function(self, X: Any, *, n_threads: int = 1) -> Scores:
        """Scores F(x) = F_0 + sum_t w_t h_t(x), before the link.

        Equation: vote (docs/theory.md).

        Parameters
        ----------
        X : table or array-like (n, p)
            Rows to vote on.
        n_threads : int, default=1
            Ceiling on the number of threads; the result does not depend on it.

        Returns
        -------
        float64 array
            ``(n,)`` for two classes, positive for the second one, and for a single number. Otherwise ``(n, D)``, one
            score for each class or number.

        Raises
        ------
        ValueError
            If `X` does not have the columns that the voters were trained on.

        Examples
        --------
        ``committee.decision_function(X)`` is ``committee.votes(X) @ committee.weights`` for two classes or one number,
        and the intercept if there is one.
        """
        return self._scores(self._tally(self.encode(X), n_threads))

    def predict(self, X: Any, *, n_threads: int = 1) -> NDArray[Any]:
        """Answers of the vote: the class that each row elects, or the numbers that the link makes of its scores.

        Parameters and errors are those of `decision_function`.

        Returns
        -------
        array (n,), or float64 array (n, D) of several numbers
            The largest score elects its class, the first one on ties.

        Examples
        --------
        ``(committee.predict(X) == y).mean()`` is the accuracy of a vote for classes,
        ``np.mean((committee.predict(X) - y) ** 2)`` the mean squared error of one for numbers.
        """
        return self._answer(self.decision_function(X, n_threads=n_threads), self.total_weight)

    # -- one voter after the other ------------------------------------------------------------------------

    def staged_decision_function(self, X: Any, *, n_threads: int = 1) -> Iterator[Scores]:
        """Scores of the first 1, 2, ..., T voters; each votes once.

        Parameters and errors are those of `decision_function`.

        Yields
        ------
        float64 array
            As `decision_function`; the last one is its result.

        Examples
        --------
        ``list(committee.staged_decision_function(X))[-1]`` is ``committee.decision_function(X)``.
        """
        return (self._scores(tally) for tally, _ in self._stages(self.encode(X), n_threads))

    def staged_predict(self, X: Any, *, n_threads: int = 1) -> Iterator[NDArray[Any]]:
        """Answers of the first 1, 2, ..., T voters; each votes once.

        Parameters and errors are those of `decision_function`.

        Yields
        ------
        array
            As `predict`; the last one is its result.

        Examples
        --------
        ``[(p == y).mean() for p in committee.staged_predict(X)]`` is the accuracy as voters are added.
        """
        stages = self._stages(self.encode(X), n_threads)
        return (self._answer(self._scores(tally), total) for tally, total in stages)

    # -- another vote of the same voters ------------------------------------------------------------------

    def select(
        self, indices: VoterIndex, weights: ArrayLike | None = None, *, link: NamedParameters | None = None
    ) -> Self:
        """A committee of some of the voters, or of all with other weights; the intercept stays.

        Parameters
        ----------
        indices : int, slice, index array or mask (T,)
            The voters to select, in this order.
        weights : array-like, default=None
            Their weights; None leaves the present ones.
        link : Link or MeanLink, default=None
            Another link, as when new weights are negative and the present link is `Share`; None leaves it.

        Returns
        -------
        Committee or RegressionCommittee

        Raises
        ------
        ValueError
            If no voter is left, or `weights` is not one per voter selected.

        Examples
        --------
        ``committee.select(chosen)`` is ``committee[chosen]``: some of the voters, as ``committee[:10]`` are the first
        ten; ``committee.select(slice(None), new_weights)`` is the same committee re-weighted.
        """
        chosen: NDArray[np.intp] = np.atleast_1d(np.arange(self.n_voters)[indices])
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
        """A committee of some of the voters: those of a slice, an index array or a mask, or a single one; see `select`.

        Examples
        --------
        ``committee[:10]`` are the first ten voters, ``committee[0]`` the first alone, and
        ``committee[committee.weights > 0]`` those of positive weight.
        """
        return self.select(indices)

    # -- the steps ----------------------------------------------------------------------------------------

    @property
    def takes_sparse(self) -> bool:
        """Whether rows may come as a sparse table: native trees take it, and committees of whole committees."""
        return bool(getattr(self.voters, "takes_sparse", False))

    def encode(self, X: Any) -> Any:
        """Matrix that the voters take, checked; X itself for estimators that check it themselves."""
        if self.table is not None and not is_sparse(X):
            return self.table.encode(X)
        from committee.voters.linear_leaves import LinearLeaves
        from committee.voters.rounds import Rounds

        if self.table is not None:
            if not self.takes_sparse:
                reject_sparse(X, f"a committee of {type(self.voters).__name__}")
            return self.table.encode_sparse(as_sparse_matrix(X))
        if not isinstance(self.voters, (Forest, Rounds, LinearLeaves)):
            return X  # the members check it
        data = check_array(X, dtype=np.float64, order="C", ensure_all_finite="allow-nan", input_name="X")
        if data.shape[1] != self.voters.n_features:
            raise ValueError(f"X has {data.shape[1]} columns; the voters need {self.voters.n_features}.")
        return data

    def _tally(self, data: Any, n_threads: int) -> Scores:
        """F_0 and all votes, ``(n, D)``."""
        return self._settled(self.voters.tally(data, self.weights, n_threads))

    def _settled(self, votes: Scores) -> Scores:
        """The sum of all voters' votes on top of the intercept, as it is handed out."""
        return self._settle(self._started(votes), self.total_weight)

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

    @abstractmethod
    def _scores(self, tally: Scores) -> Scores:
        """F of a tally, a vector where one score says all."""

    @abstractmethod
    def _answer(self, F: Scores, total: float) -> NDArray[Any]:
        """The prediction of scores, behind which there is so much weight."""

    # -- the file -----------------------------------------------------------------------------------------

    @classmethod
    @abstractmethod
    def read_header(cls, document: "Document") -> "Header":
        """Columns and classes of a document."""

    def to_document(self, tensors: "Tensors") -> "Document":
        """Write the committee into a model file."""
        from committee.files.documents import Header

        votes = self.votes_to_document(tensors)
        names = getattr(self.voters, "names", None) if self.table is None else self.table.names
        header = Header(
            self.voters.n_features or 0,
            None if names is None else np.array(names, dtype=object),
            getattr(self, "classes", None),
            self.table,
        )
        return {"class": type(self).__name__, **header.to_document(), **votes}

    @classmethod
    def from_document(cls, document: "Document", tensors: "Tensors") -> Self:
        """Read what `to_document` wrote, trusting no value."""
        header = cls.read_header(document)
        committee: Any = cls.votes_from_document(document, tensors, header)
        if header.table is not None or header.names is None:
            return cast("Self", committee)
        if not hasattr(committee.voters, "names"):
            raise ValueError("feature_names are of a table, which is null")
        # without a table, classifiers that were fitted on arrays know the names that a frame must have
        return cast("Self", replace(committee, voters=replace(committee.voters, names=tuple(header.names))))

    def votes_to_document(self, tensors: "Tensors") -> "Document":
        """Write voters, weights, link and intercept into a model file."""
        from committee.files.kinds import VOTERS, describe_part

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
    def votes_from_document(cls, document: "Document", tensors: "Tensors", header: "Header") -> Self:
        """Read what `votes_to_document` wrote, trusting no value.

        Parameters
        ----------
        document : dict
            As read from JSON.
        tensors : Tensors
            Its arrays.
        header : Header
            The columns and classes that the voters must be for.

        Raises
        ------
        ValueError
            Saying what is wrong, or does not fit.
        """
        from committee.files.kinds import VOTERS, rebuild_part

        voters = rebuild_part(field(document, "voters", dict), VOTERS, tensors.part("voters"), "voters")
        if header.classes is not None and voters.n_classes != len(header.classes):
            raise ValueError(f"the voters are for {voters.n_classes} classes; there are {len(header.classes)}")
        if voters.n_features != header.n_features:
            raise ValueError(f"the voters are for {voters.n_features} columns; n_features is {header.n_features}")
        voters.check_columns(header.table)
        weights = tensors.take_numbers("weights", len(voters), "one for each voter")
        link = cls.read_link(field(document, "link", dict))
        # a graph multiplies its votes by the weights, and a mean divides by their sum
        with np.errstate(over="ignore", invalid="ignore"):
            if not np.isfinite(weights * voters.spread).all():
                raise ValueError("weights times votes are larger than numbers can be")
        if link.name == "average" and not weights.sum() > 0.0:
            raise ValueError("weights have no sum above zero, which a mean vote needs")
        intercept = None
        if "intercept" in document:
            if field(document, "intercept", bool) is not True:
                raise ValueError("'intercept' is false; it must be true or absent")
            intercept = tensors.take_numbers("intercept", voters.n_outputs, "one for each score")
        parts = {"voters": voters, "weights": weights, "link": link, "table": header.table, "intercept": intercept}
        return cls(**parts if header.classes is None else parts | {"classes": header.classes})


def _refuse_infinite(name: str, numbers: NDArray[np.float64]) -> None:
    if not np.isfinite(numbers).all():
        at = int(np.argmin(np.isfinite(numbers)))
        raise ValueError(f"{name}[{at}] is {numbers[at]}; {name} must be finite.")
