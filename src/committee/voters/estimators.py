"""Fitted scikit-learn estimators as voters."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from operator import attrgetter
from typing import Any, ClassVar

import numpy as np
from joblib import delayed
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import is_regressor

from committee.data.columns import is_frame
from committee.data.number_types import F64
from committee.data.parallel import in_parallel
from committee.data.table_schema import TableSchema
from committee.data.typed_json import encode_array, field
from committee.files.documents import Document, Tensors, read_sorted_classes
from committee.files.kinds import cannot_save_message, describe_learners, rebuild_learners
from committee.voters.protocol import UnitSpread, VoteKind, VoterIndex, tree_numbers, voter_numbers, voter_weights

Votes = NDArray[np.int16] | F64


class OwnTables:
    """Base of voters whose members encode their input themselves."""

    @property
    def learners(self) -> Sequence[Any]:
        raise NotImplementedError

    def check_columns(self, table: TableSchema | None) -> None:
        if table is None:
            return
        for number, member in enumerate(self.learners):
            own: TableSchema | None = getattr(getattr(member, "committee_", None), "table", None)
            for column, categories in enumerate(() if own is None else own.source.categories):
                if categories and isinstance(categories[0], str):
                    raise ValueError(f"member {number} needs text in column {column}; the committee gives it numbers")


class _Members(OwnTables):
    estimators: Sequence[Any]
    learners = property(attrgetter("estimators"))

    def __len__(self) -> int:
        return len(self.estimators)

    @property
    def n_nodes(self) -> NDArray[np.int64]:
        return np.array([count_nodes(member) for member in self.estimators], dtype=np.int64)

    @property
    def nbytes(self) -> int:
        buffers: list[pickle.PickleBuffer] = []
        stream = pickle.dumps(self.estimators, protocol=5, buffer_callback=buffers.append)
        return len(stream) + sum(buffer.raw().nbytes for buffer in buffers)

    def _vote(self, t: int, X: Any) -> Any:
        raise NotImplementedError

    def _votes_in_order(self, X: Any, n_threads: int) -> Iterator[Any]:
        if n_threads == 1 or len(self) == 1:
            yield from (self._vote(t, X) for t in range(len(self)))
            return
        with in_parallel((delayed(self._vote)(t, X) for t in range(len(self))), min(n_threads, len(self))) as votes:
            yield from votes


@dataclass(frozen=True, eq=False)
class EstimatorVoters(_Members, UnitSpread):
    """T fitted classifiers that vote by ``predict`` (hard) or ``predict_proba`` (soft)."""

    estimators: Sequence[Any]
    classes: NDArray[Any]  # (K,): labels that the members predict, in the committee's order
    soft: bool = False
    features: Sequence[NDArray[np.intp]] | None = None  # columns that each member was fitted on; None: all
    as_array: bool = False  # pass members an array where X is a data frame
    names: Sequence[str] | None = None  # column names required of a data frame
    n_features: int | None = None  # required width of X; None: without `features` the first member's, if it has one
    _index: dict[Any, int] = dataclass_field(init=False, repr=False)
    _coded: bool = dataclass_field(init=False, repr=False)

    def __post_init__(self) -> None:
        estimators = tuple(self.estimators)
        classes = np.asarray(self.classes)
        if not estimators:
            raise ValueError("estimators is empty; a vote needs at least one member.")
        if classes.ndim != 1 or not len(classes) or len(set(classes.tolist())) < len(classes):
            raise ValueError(f"classes is {classes!r}; it must be a vector of one or more different labels.")
        if self.features is not None and len(self.features) != len(estimators):
            raise ValueError(f"features is for {len(self.features)} members; there are {len(estimators)}.")
        if self.soft:
            for t, member in enumerate(estimators):
                if not hasattr(member, "predict_proba"):
                    raise ValueError(
                        f"estimators[{t}] ({type(member).__name__}) has no predict_proba, which a soft vote "
                        "needs. Use hard votes, or members with probabilities."
                    )
        set_field = object.__setattr__
        set_field(self, "estimators", estimators)
        set_field(self, "classes", classes)
        set_field(self, "_index", {label: k for k, label in enumerate(classes.tolist())})
        set_field(self, "_coded", classes.tolist() == list(range(len(classes))))
        if self.n_features is None and self.features is None:
            set_field(self, "n_features", getattr(estimators[0], "n_features_in_", None))

    def __getitem__(self, index: VoterIndex) -> EstimatorVoters:
        chosen = voter_numbers(index, len(self))
        return EstimatorVoters(
            [self.estimators[t] for t in chosen],
            self.classes,
            self.soft,
            None if self.features is None else [self.features[t] for t in chosen],
            self.as_array,
            self.names,
            self.n_features,
        )

    @property
    def kind(self) -> VoteKind:
        return "score" if self.soft else "label"

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    n_outputs = property(attrgetter("n_classes"))  # of two classes 2, as p_1 - p_0 would lose digits and ties

    def tally(self, X: Any, weights: F64 | None = None, n_threads: int = 1) -> F64:
        weights = voter_weights(weights, len(self))
        F: F64 | None = None
        for weight, vote in zip(weights, self._votes_in_order(self._checked(X), n_threads), strict=True):
            if F is None:
                F = np.zeros((len(vote), self.n_classes))
            if vote.ndim == 2:
                F += weight * vote
            else:
                F[np.arange(len(vote)), vote.astype(np.intp)] += weight
        assert F is not None  # there is at least one member
        return F

    def votes(self, X: Any, n_threads: int = 1) -> Votes:
        H: Votes | None = None
        for t, vote in enumerate(self._votes_in_order(self._checked(X), n_threads)):
            if H is None:
                shape = (len(vote), len(self), *vote.shape[1:])
                H = np.empty(shape, dtype=np.float64 if self.soft else np.int16)
            H[:, t] = vote
        assert H is not None
        return H

    def to_document(self, tensors: Tensors) -> Document:
        if self.features is not None:
            raise TypeError(cannot_save_message(self))
        return {
            "kind": "estimators",
            "soft": bool(self.soft),
            "as_array": bool(self.as_array),
            "classes": encode_array(self.classes, "classes"),
            "members": describe_learners(self.estimators, tensors),
        }

    @classmethod
    def from_document(cls, document: Document, tensors: Tensors) -> EstimatorVoters:
        classes = read_sorted_classes(field(document, "classes", dict))
        known = set(classes.tolist())

        def fault(member: Any) -> str | None:
            if is_regressor(member):
                return "is a regressor, which votes for no class"
            return None if set(member.classes_.tolist()) <= known else "has classes that the committee does not have"

        members = read_members(document, tensors, fault)
        return cls(members, classes, soft=field(document, "soft", bool), as_array=field(document, "as_array", bool))

    def _checked(self, X: Any) -> Any:
        as_array = self.as_array or self.features is not None
        if as_array and issparse(X):
            sparse: Any = X
            # the other formats cannot give a selection of columns
            X = sparse if sparse.format in ("csr", "csc") else sparse.tocsr()
        elif as_array:
            if self.names is not None and is_frame(X):
                given = getattr(X, "column_names", None) or X.columns  # the first is an attribute of Arrow tables
                if list(given) != list(self.names):
                    raise ValueError(f"X has the columns {list(given)}; the members need {list(self.names)}.")
            X = np.asarray(X)
        width = X.shape[1] if len(getattr(X, "shape", ())) == 2 else None
        if None not in (width, self.n_features) and width != self.n_features:
            raise ValueError(f"X has {width} columns; the members need {self.n_features}.")
        return X

    def _vote(self, t: int, X: Any) -> Votes:
        member = self.estimators[t]
        if self.features is not None:
            X = X[:, self.features[t]]
        if not self.soft:
            return self._class_index(np.asarray(member.predict(X)).reshape(-1), t).astype(np.int16)
        p = np.asarray(member.predict_proba(X), dtype=np.float64)
        labels = getattr(member, "classes_", self.classes)
        if p.ndim != 2 or p.shape[1] != len(labels):
            raise ValueError(
                f"predict_proba of estimators[{t}] has shape {p.shape}; its {len(labels)} classes need as many columns."
            )
        columns = self._class_index(np.asarray(labels), t)
        if np.array_equal(columns, np.arange(self.n_classes)):
            return p
        aligned = np.zeros((len(p), self.n_classes))
        aligned[:, columns] = p
        return aligned

    def _class_index(self, labels: NDArray[Any], t: int) -> NDArray[np.intp]:
        whole = self._coded and labels.size > 0 and np.issubdtype(labels.dtype, np.integer)
        if whole and labels.min() >= 0 and labels.max() < self.n_classes:
            return labels.astype(np.intp)
        distinct, inverse = np.unique(labels, return_inverse=True)
        index = np.array([self._index.get(label, -1) for label in distinct.tolist()], dtype=np.intp)
        if (index < 0).any():
            unknown = distinct[np.argmin(index)]
            raise ValueError(
                f"estimators[{t}] ({type(self.estimators[t]).__name__}) votes for {unknown!r}, which is not "
                f"among the classes {self.classes.tolist()}."
            )
        return index[inverse]


@dataclass(frozen=True, eq=False)
class SignedVoters(OwnTables, UnitSpread):
    """T two-class classifiers; classifier t adds +1 (second class) or -1 to score ``output[t]``."""

    kind: ClassVar[VoteKind] = "score"
    learners = property(attrgetter("voters.estimators"))
    voters: EstimatorVoters
    output: NDArray[np.intp]  # (T,): score of each classifier
    n_outputs: int

    def __post_init__(self) -> None:
        if self.voters.kind != "label" or self.voters.n_classes != 2:
            raise ValueError("SignedVoters need voters that name one of two classes.")
        object.__setattr__(self, "output", _checked_output(self.output, len(self.voters), self.n_outputs))

    def __len__(self) -> int:
        return len(self.voters)

    def __getitem__(self, index: VoterIndex) -> SignedVoters:
        chosen = voter_numbers(index, len(self))
        return SignedVoters(self.voters[chosen], self.output[chosen], self.n_outputs)

    n_classes = property(attrgetter("n_outputs"))
    n_features = property(attrgetter("voters.n_features"))
    n_nodes = property(attrgetter("voters.n_nodes"))

    @property
    def nbytes(self) -> int:
        return self.voters.nbytes + self.output.nbytes

    def tally(self, X: F64, weights: F64 | None = None, n_threads: int = 1) -> F64:
        weights = voter_weights(weights, len(self))
        signs = self._signs(X, n_threads)
        tally = np.zeros((len(signs), self.n_outputs))
        for k in range(self.n_outputs):
            tally[:, k] = signs[:, self.output == k] @ weights[self.output == k]
        return tally

    def votes(self, X: F64, n_threads: int = 1) -> F64:
        signs = self._signs(X, n_threads)
        votes = np.zeros((*signs.shape, self.n_outputs))
        votes[:, np.arange(len(self)), self.output] = signs
        return votes

    def to_document(self, tensors: Tensors) -> Document:
        tensors.put(output=self.output.astype(np.int64))
        members = self.voters.to_document(tensors.part("members"))
        return {"kind": "signed", "n_outputs": int(self.n_outputs), "members": members}

    @classmethod
    def from_document(cls, document: Document, tensors: Tensors) -> SignedVoters:
        members = field(document, "members", dict)
        if field(members, "kind", str) != "estimators":
            raise ValueError("the members of signed voters must be classifiers")
        output = tensors.take("output", np.int64, 1)
        voters = EstimatorVoters.from_document(members, tensors.part("members"))
        return cls(voters, output, field(document, "n_outputs", int))

    def _signs(self, X: F64, n_threads: int) -> F64:
        label = self.voters.votes(X, n_threads)
        return np.where(label < 0, 0.0, 2.0 * label - 1.0)


@dataclass(frozen=True, eq=False)
class RegressorVoters(_Members):
    """T fitted regressors; regressor t adds its prediction to score ``output[t]``."""

    kind: ClassVar[VoteKind] = "score"
    bounded: ClassVar[bool] = False  # votes on new rows may exceed `spread`, so that bounds do not apply
    estimators: Sequence[Any]
    output: NDArray[np.intp]  # (T,): score of each regressor
    spread: F64  # (T,): largest absolute prediction on training rows, the unit of margins
    n_outputs: int
    n_classes: int  # D, or 2 if one score separates two classes

    def __post_init__(self) -> None:
        estimators, T = tuple(self.estimators), len(self.estimators)
        spread = np.array(self.spread, dtype=np.float64)
        if not estimators:
            raise ValueError("estimators is empty; a vote needs at least one member.")
        output = _checked_output(self.output, T, self.n_outputs)
        if spread.shape != (T,) or not (np.isfinite(spread) & (spread >= 0.0)).all():
            raise ValueError(f"spread has shape {spread.shape}; it must hold {T} finite numbers >= 0.")
        if self.n_classes != self.n_outputs and (self.n_outputs, self.n_classes) != (1, 2):
            raise ValueError(f"n_classes is {self.n_classes}, and n_outputs {self.n_outputs}; they must agree.")
        spread.flags.writeable = False
        object.__setattr__(self, "estimators", estimators)
        object.__setattr__(self, "output", output)
        object.__setattr__(self, "spread", spread)

    def __getitem__(self, index: VoterIndex) -> RegressorVoters:
        chosen = voter_numbers(index, len(self))
        members = [self.estimators[t] for t in chosen]
        return RegressorVoters(members, self.output[chosen], self.spread[chosen], self.n_outputs, self.n_classes)

    @property
    def n_features(self) -> int | None:
        return getattr(self.estimators[0], "n_features_in_", None)

    @property
    def nbytes(self) -> int:
        return super().nbytes + self.output.nbytes + self.spread.nbytes

    def tally(self, X: F64, weights: F64 | None = None, n_threads: int = 1) -> F64:
        weights = voter_weights(weights, len(self))
        self._check_width(X)
        tally = np.zeros((len(X), self.n_outputs))
        for weight, k, vote in zip(weights, self.output, self._votes_in_order(X, n_threads), strict=True):
            tally[:, k] += weight * vote
        return tally

    def votes(self, X: F64, n_threads: int = 1) -> F64:
        self._check_width(X)
        votes = np.zeros((len(X), len(self), self.n_outputs))
        for t, vote in enumerate(self._votes_in_order(X, n_threads)):
            votes[:, t, self.output[t]] = vote
        return votes

    def to_document(self, tensors: Tensors) -> Document:
        tensors.put(output=self.output.astype(np.int64), spread=self.spread)
        members = describe_learners(self.estimators, tensors)
        counts = {"n_outputs": int(self.n_outputs), "n_classes": int(self.n_classes)}
        return {"kind": "regressors", **counts, "members": members}

    @classmethod
    def from_document(cls, document: Document, tensors: Tensors) -> RegressorVoters:
        output, spread = tensors.take("output", np.int64, 1), tensors.take("spread", np.float64, 1)

        def fault(member: Any) -> str | None:
            one_number = is_regressor(member) and member.committee_.voters.n_outputs == 1
            return None if one_number else "does not predict one number"

        members = read_members(document, tensors, fault)
        n_outputs, n_classes = field(document, "n_outputs", int), field(document, "n_classes", int)
        return cls(members, output.astype(np.intp), spread, n_outputs, n_classes)

    def _check_width(self, X: F64) -> None:
        if self.n_features not in (None, X.shape[1]):
            raise ValueError(f"X has {X.shape[1]} columns; the members need {self.n_features}.")

    def _vote(self, t: int, X: F64) -> F64:
        return predict_numbers(self.estimators[t], X)


@dataclass(frozen=True, eq=False)
class RegressorRounds(OwnTables):
    """T rounds of D regressors: regressor ``t D + k`` belongs to round t and adds to score k."""

    kind: ClassVar[VoteKind] = "score"
    bounded: ClassVar[bool] = False
    regressors: RegressorVoters

    def __post_init__(self) -> None:
        output, D = self.regressors.output, self.n_outputs
        if len(output) % D or (output.reshape(-1, D) != np.arange(D)).any():
            raise ValueError(f"{len(output)} regressors do not form whole rounds of {D}, one for each score in turn.")

    def __len__(self) -> int:
        return len(self.regressors) // int(self.n_outputs)

    def __getitem__(self, index: VoterIndex) -> RegressorRounds:
        return RegressorRounds(self.regressors[tree_numbers(index, len(self), self.n_outputs)])

    learners = property(attrgetter("regressors.estimators"))
    n_outputs = property(attrgetter("regressors.n_outputs"))
    n_classes = property(attrgetter("regressors.n_classes"))
    n_features = property(attrgetter("regressors.n_features"))

    @property
    def n_nodes(self) -> NDArray[np.int64]:
        return np.asarray(self.regressors.n_nodes.reshape(len(self), self.n_outputs).sum(axis=1))

    nbytes = property(attrgetter("regressors.nbytes"))

    @property
    def spread(self) -> F64:
        # the two largest predictions of a round together, which no row needs to have at once
        each = np.sort(self.regressors.spread.reshape(len(self), self.n_outputs), axis=1)
        return np.asarray(each[:, -2:].sum(axis=1))

    def tally(self, X: F64, weights: F64 | None = None, n_threads: int = 1) -> F64:
        return self.regressors.tally(X, np.repeat(voter_weights(weights, len(self)), self.n_outputs), n_threads)

    def votes(self, X: F64, n_threads: int = 1) -> F64:
        votes = np.empty((len(X), len(self), self.n_outputs))
        for t in range(len(self)):
            votes[:, t] = self[t : t + 1].tally(X, None, n_threads)
        return votes

    def to_document(self, tensors: Tensors) -> Document:
        return {"kind": "regressor_rounds", "regressors": self.regressors.to_document(tensors.part("regressors"))}

    @classmethod
    def from_document(cls, document: Document, tensors: Tensors) -> RegressorRounds:
        regressors = field(document, "regressors", dict)
        if field(regressors, "kind", str) != "regressors":
            raise ValueError("the regressors of rounds must be of kind 'regressors'")
        return cls(RegressorVoters.from_document(regressors, tensors.part("regressors")))


def read_members(document: Document, tensors: Tensors, fault: Callable[[Any], str | None]) -> list[Any]:
    members = rebuild_learners(field(document, "members", list), tensors)
    for number, member in enumerate(members):
        if (found := fault(member)) is not None:
            raise ValueError(f"{tensors.prefix}{number} {found}")
        if member.n_features_in_ != members[0].n_features_in_:
            raise ValueError(f"{tensors.prefix}{number} is for other columns than the first voter")
    return members


def predict_numbers(member: Any, X: F64) -> F64:
    numbers = np.asarray(member.predict(X), dtype=np.float64)
    if numbers.shape not in ((len(X),), (len(X), 1)):
        raise ValueError(f"{member!r} predicts an array of shape {numbers.shape}; {len(X)} rows need a number each.")
    if not np.isfinite(numbers).all():
        raise ValueError(f"{member!r} predicts numbers that are not finite, which cannot be votes.")
    return numbers.reshape(-1)


def count_nodes(member: Any) -> int:
    if hasattr(member, "committee_"):
        return int(member.committee_.n_nodes)
    if hasattr(member, "tree_"):
        return int(member.tree_.node_count)
    if hasattr(member, "steps"):
        return count_nodes(member.steps[-1][1])
    parts = getattr(member, "estimators_", ())
    if isinstance(parts, np.ndarray):  # gradient boosting: one row per round, one column per class
        parts = parts.ravel().tolist()
    return sum(count_nodes(part) for part in parts)


def _checked_output(given: Any, n_voters: int, n_outputs: int) -> NDArray[np.intp]:
    output = np.array(given, dtype=np.intp)
    if output.shape != (n_voters,):
        raise ValueError(f"output has shape {output.shape}; {n_voters} voters need one each.")
    if n_outputs < 1 or (output < 0).any() or (output >= n_outputs).any():
        raise ValueError(f"output must lie in [0, {n_outputs}).")
    output.flags.writeable = False
    return output
