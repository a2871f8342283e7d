"""Any fitted scikit-learn classifiers as voters."""

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from joblib import delayed
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import is_regressor

from committee.data.columns import is_frame
from committee.data.frames import TableSchema
from committee.data.parallel import in_parallel
from committee.data.typed_json import encode_array
from committee.data.typed_json import field as entry
from committee.files.documents import Document, Tensors, read_sorted_classes
from committee.files.kinds import cannot_save_message, describe_learners, rebuild_learners
from committee.voters.protocol import VoteKind, VoterIndex

Votes = NDArray[np.int16] | NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class EstimatorVoters:
    """T fitted classifiers that vote by ``predict`` (hard) or by ``predict_proba`` (soft).

    A member may know fewer classes than the committee, as after a subsample without one of them: its
    probability for the others is zero. Members predict, and are never changed. They get `X` as the caller gives it,
    so what they were fitted on (a matrix, a data frame) is what they need, unless `as_array` is set.

    Parameters
    ----------
    estimators : sequence of fitted classifiers
        The members; the library's own learners are as welcome as scikit-learn's.
    classes : array-like (K,)
        The labels that members use, in the committee's order. Where members were fitted on encoded labels
        these are the codes.
    soft : bool, default=False
        False: each member votes for one class. True: it votes with its class probabilities, a score per class
        even for two classes (p_1 - p_0 alone would lose digits, and with them exact ties).
    features : sequence of index arrays, default=None
        The columns of `X` that each member was fitted on; None for all.
    as_array : bool, default=False
        Hand members a plain array where `X` is a data frame: for members fitted on arrays inside an
        estimator that was itself given a frame. Implied by `features`.
    names : sequence of str, default=None
        Column names that a data frame must have, for the frames that members get as arrays.
    n_features : int, default=None
        Width that `X` must have. None takes the members' own ``n_features_in_`` where `features` is None, and
        leaves the check to the members if they have none.

    Raises
    ------
    ValueError
        If there are no members, `classes` is not a vector of different labels, `features` is not one index
        array per member, or a member of a soft vote has no ``predict_proba``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from committee.voters.estimators import EstimatorVoters
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array(["a", "a", "b"])
    >>> voters = EstimatorVoters([DecisionTreeClassifier().fit(X, y)], classes=["a", "b"])
    >>> voters.votes(X).ravel().tolist()
    [0, 0, 1]
    """

    estimators: Sequence[Any]
    classes: NDArray[Any]
    soft: bool = False
    features: Sequence[NDArray[np.intp]] | None = None
    as_array: bool = False
    names: Sequence[str] | None = None
    n_features: int | None = None
    _index: dict[Any, int] = field(init=False, repr=False)
    _coded: bool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        estimators = tuple(self.estimators)
        classes = np.asarray(self.classes)
        if not estimators:
            raise ValueError("estimators is empty; a vote needs at least one member.")
        if classes.ndim != 1 or not len(classes) or len(set(classes.tolist())) < len(classes):
            raise ValueError(f"classes is {classes!r}; it must be a vector of different labels.")
        if self.features is not None and len(self.features) != len(estimators):
            raise ValueError(f"features is for {len(self.features)} members; there are {len(estimators)}.")
        if self.soft:
            for t, member in enumerate(estimators):
                if not hasattr(member, "predict_proba"):
                    raise ValueError(
                        f"estimators[{t}] ({type(member).__name__}) has no predict_proba, which a soft vote "
                        "needs. Vote hard, or choose members with probabilities."
                    )
        set_field = object.__setattr__
        set_field(self, "estimators", estimators)
        set_field(self, "classes", classes)
        set_field(self, "_index", {label: k for k, label in enumerate(classes.tolist())})
        set_field(self, "_coded", classes.tolist() == list(range(len(classes))))
        if self.n_features is None and self.features is None:
            set_field(self, "n_features", getattr(estimators[0], "n_features_in_", None))

    def __len__(self) -> int:
        return len(self.estimators)

    def __getitem__(self, index: VoterIndex) -> "EstimatorVoters":
        chosen = np.atleast_1d(np.arange(len(self))[index])
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
        """``"label"`` for hard votes, ``"score"`` for soft ones."""
        return "score" if self.soft else "label"

    @property
    def n_classes(self) -> int:
        """Number of classes K."""
        return len(self.classes)

    @property
    def n_outputs(self) -> int:
        """Columns of a tally: K for hard and soft votes alike."""
        return len(self.classes)

    @property
    def n_nodes(self) -> NDArray[np.int64]:
        """Tree nodes of each member, ``(T,)``; all its trees together, 0 where it has none."""
        return np.array([count_nodes(member) for member in self.estimators], dtype=np.int64)

    @property
    def nbytes(self) -> int:
        """Bytes of the members when pickled, the one size that every estimator has."""
        return pickled_bytes(self.estimators)

    @property
    def spread(self) -> NDArray[np.float64]:
        """The most that each member can change a margin, ``(T,)``: 1, for labels and for probabilities."""
        return np.ones(len(self))

    def tally(self, X: Any, weights: NDArray[np.float64] | None = None, n_threads: int = 1) -> NDArray[np.float64]:
        """Weighted sum of the votes, F(x) = sum_t w_t h_t(x), ``(n, K)``, added in the order of the members.

        `X` is what the members take. Weights are float64 ``(T,)``; None counts each member once. `n_threads` members
        predict at a time; the bits of the result do not depend on it.

        Raises
        ------
        ValueError
            If `X` has the wrong width, there is not one weight per member, or a member predicts a label that
            is not in `classes`.

        Examples
        --------
        ``voters.tally(X).argmax(axis=1)`` is the plain vote of the members.
        """
        weights = np.ones(len(self)) if weights is None else np.asarray(weights, dtype=np.float64)
        if weights.shape != (len(self),):
            raise ValueError(f"weights has shape {weights.shape}; {len(self)} members need ({len(self)},).")
        F: NDArray[np.float64] | None = None
        for weight, vote in zip(weights, self._in_turn(X, n_threads), strict=True):
            if F is None:
                F = np.zeros((len(vote), self.n_classes))
            if vote.ndim == 2:
                F += weight * vote
            else:
                F[np.arange(len(vote)), vote.astype(np.intp)] += weight
        assert F is not None  # there is at least one member
        return F

    def votes(self, X: Any, n_threads: int = 1) -> Votes:
        """Vote of every member on every row; parameters and errors are those of `tally`.

        Returns
        -------
        int16 array (n, T) or float64 array (n, T, K)
            Class indices for hard votes, class probabilities for soft ones.

        Examples
        --------
        ``(voters.votes(X) == k).mean(axis=1)`` is the share of members that vote for class k.
        """
        H: Votes | None = None
        for t, vote in enumerate(self._in_turn(X, n_threads)):
            if H is None:
                shape = (len(vote), len(self), *vote.shape[1:])
                H = np.empty(shape, dtype=np.float64 if self.soft else np.int16)
            H[:, t] = vote
        assert H is not None
        return H

    def to_document(self, tensors: Tensors) -> Document:
        """Write the members into a model file; they must be learners of this library that see all columns."""
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
    def from_document(cls, document: Document, tensors: Tensors) -> "EstimatorVoters":
        """Read what `to_document` wrote, trusting no value."""
        classes = read_sorted_classes(entry(document, "classes", dict))
        members = rebuild_learners(entry(document, "members", list), tensors)
        for number, member in enumerate(members):
            if is_regressor(member):
                raise ValueError(f"{tensors.prefix}{number} is a regressor, which votes for no class")
            if not set(member.classes_.tolist()) <= set(classes.tolist()):
                raise ValueError(f"{tensors.prefix}{number} knows classes that the committee does not")
            if member.n_features_in_ != members[0].n_features_in_:
                raise ValueError(f"{tensors.prefix}{number} is for other columns than the first voter")
        return cls(members, classes, soft=entry(document, "soft", bool), as_array=entry(document, "as_array", bool))

    def check_columns(self, table: TableSchema | None) -> None:
        """Refuse nothing: every member has its own table."""

    def _in_turn(self, X: Any, n_threads: int) -> Iterator[Votes]:
        """Votes of the members one after the other, whoever is done first."""
        if self.as_array or self.features is not None:
            X = self._array(X)
        width = X.shape[1] if len(getattr(X, "shape", ())) == 2 else None
        if None not in (width, self.n_features) and width != self.n_features:
            raise ValueError(f"X has {width} columns; the members need {self.n_features}.")
        if n_threads == 1 or len(self) == 1:
            return (self._vote(t, X) for t in range(len(self)))
        return self._in_threads(X, n_threads)

    def _in_threads(self, X: Any, n_threads: int) -> Iterator[Votes]:
        with in_parallel((delayed(self._vote)(t, X) for t in range(len(self))), min(n_threads, len(self))) as votes:
            yield from votes

    def _array(self, X: Any) -> Any:
        """X without column names, once these are found right; sparse matrices stay what they are."""
        if issparse(X):
            sparse: Any = X
            # the other formats cannot give a selection of columns
            return sparse if sparse.format in ("csr", "csc") else sparse.tocsr()
        if self.names is not None and is_frame(X):
            given = getattr(X, "column_names", None) or X.columns  # the first is what Arrow tables have
            if list(given) != list(self.names):
                raise ValueError(f"X has the columns {list(given)}; the members need {list(self.names)}.")
        return np.asarray(X)

    def _vote(self, t: int, X: Any) -> Votes:
        member = self.estimators[t]
        if self.features is not None:
            X = X[:, self.features[t]]
        if not self.soft:
            return self._to_index(np.asarray(member.predict(X)).reshape(-1), t).astype(np.int16)
        p = np.asarray(member.predict_proba(X), dtype=np.float64)
        labels = getattr(member, "classes_", self.classes)
        if p.ndim != 2 or p.shape[1] != len(labels):
            raise ValueError(
                f"predict_proba of estimators[{t}] has shape {p.shape}; its {len(labels)} classes need as many columns."
            )
        columns = self._to_index(np.asarray(labels), t)
        if np.array_equal(columns, np.arange(self.n_classes)):
            return p
        aligned = np.zeros((len(p), self.n_classes))
        aligned[:, columns] = p
        return aligned

    def _to_index(self, labels: NDArray[Any], t: int) -> NDArray[np.intp]:
        """Class indices of labels; one look-up per distinct label, not per row."""
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


def pickled_bytes(estimators: Sequence[Any]) -> int:
    """Bytes of estimators when pickled."""
    buffers: list[pickle.PickleBuffer] = []
    stream = pickle.dumps(estimators, protocol=5, buffer_callback=buffers.append)
    return len(stream) + sum(buffer.raw().nbytes for buffer in buffers)


def count_nodes(member: Any) -> int:
    """Nodes of a tree, of a committee's trees, or of the trees inside another ensemble or a pipeline."""
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
