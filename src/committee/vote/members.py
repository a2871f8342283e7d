"""Committees as voters."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from pkgutil import resolve_name
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from committee.data.matrices import Matrix, SparseMatrix
from committee.data.number_types import F64
from committee.data.rows import GivenRows, encoded_cells
from committee.data.table_schema import TableSchema
from committee.data.typed_json import field
from committee.files.documents import Arrays, Document, Tensors, header_bytes
from committee.files.kinds import COMMITTEES, MAX_DEPTH, VOTERS, describe_part, rebuild_part
from committee.vote.committee import Committee, RegressionCommittee
from committee.vote.weighted_votes import stored_bytes
from committee.voters.estimators import EstimatorVoters, RegressorVoters
from committee.voters.protocol import VoteKind, VoterIndex, Voters

_REFERENCES = None
"""Key in `Tensors.shared` of the number of references so far.

None of these leads to a committee with references of its own: a small file could then hold a vote of any size.
"""


@dataclass(frozen=True, eq=False)
class MemberCommittees:
    """M committees that vote with their probabilities, or with their predicted numbers."""

    takes_sparse: ClassVar[bool] = True
    members: Sequence[Committee | RegressionCommittee]

    def __post_init__(self) -> None:
        members = tuple(self.members)
        if not members:
            raise ValueError("members is empty; a vote needs at least one.")
        if len({type(one) for one in members}) > 1:
            raise ValueError("members vote for classes and for numbers; all must do the same.")
        if len({_answers(one) for one in members}) > 1:
            raise ValueError("members have different classes or numbers of outputs; all must have the same.")
        object.__setattr__(self, "members", members)

    def __len__(self) -> int:
        return len(self.members)

    def __reduce__(self) -> tuple[Any, ...]:
        # as files hold them, which takes a sixth to a ninth of the bytes of the arrays
        arrays: Arrays = {}
        try:
            document = self.to_document(Tensors(arrays))
        except TypeError:  # members that a file cannot hold
            return MemberCommittees, (self.members,)
        return _of_document, (document, arrays)

    def __getitem__(self, index: VoterIndex) -> MemberCommittees:
        return MemberCommittees([self.members[t] for t in np.atleast_1d(np.arange(len(self))[index])])

    @property
    def kind(self) -> VoteKind:
        return "score"

    @property
    def n_classes(self) -> int:
        first = self.members[0]
        return first.n_classes if isinstance(first, Committee) else first.n_outputs

    n_outputs = property(attrgetter("n_classes"))

    @property
    def n_features(self) -> int | None:
        own = next((one for one in self.members if not reads_tables(one)), self.members[0])
        return own.voters.n_features if own.table is None else own.table.n_features

    @property
    def reads_tables(self) -> bool:
        return any(map(reads_tables, self.members))

    @property
    def n_nodes(self) -> NDArray[np.int64]:
        return np.array([one.n_nodes for one in self.members], dtype=np.int64)

    @property
    def nbytes(self) -> int:
        return sum(self.member_nbytes)

    @property
    def member_nbytes(self) -> list[int]:
        """Bytes of each member in memory, without committees of a second layer that an earlier member has."""
        sizes, known = list[int](), set[int]()
        for one in self.members:
            first = one.voters.first.members if isinstance(one.voters, StackedVoters) else ()
            sizes.append(one.nbytes - sum(each.nbytes for each in first if id(each) in known))
            known.update(map(id, (one, *first)))
        return sizes

    @property
    def spread(self) -> F64:
        return np.ones(len(self))

    def tally(self, X: Matrix | GivenRows, weights: F64 | None = None, n_threads: int = 1) -> F64:
        w = np.ones(len(self)) if weights is None else np.asarray(weights, dtype=np.float64)
        total = np.zeros((len(X), self.n_outputs))
        voting = [t for t, weight in enumerate(w.tolist()) if weight != 0.0]
        for t, answer in zip(voting, self.answers(voting, X, n_threads), strict=True):
            total += w[t] * answer
        return total

    def votes(self, X: Matrix | GivenRows, n_threads: int = 1) -> F64:
        return np.stack(list(self.answers(range(len(self)), X, n_threads)), axis=1)

    def answers(self, chosen: Iterable[int], rows: Matrix | GivenRows, n_threads: int) -> Iterator[F64]:
        X = encoded_cells(rows)
        encoded = _EncodedRows(X)
        chosen = list(chosen)
        stacked = {t: voters for t in chosen if isinstance(voters := self.members[t].voters, StackedVoters)}
        # committees that are members too vote once
        layers = {voters.key: _FirstLayer(voters, len(X)) for voters in stacked.values()}
        for t in chosen:
            one = self.members[t]
            if t in stacked:
                columns = layers[stacked[t].key].columns(rows, n_threads)
                yield replace(one, voters=stacked[t].second).answer_of(columns, n_threads)
                continue
            if isinstance(rows, GivenRows) and reads_tables(one):
                answer = one.answer_of(rows.table, n_threads)
            elif isinstance(X, SparseMatrix) and not one.takes_sparse:
                blocks = X.blocks(np.arange(X.n_columns), n_threads)
                answer = np.concatenate([one.answer_of(one.encode(block), n_threads) for block in blocks])
            else:
                answer = one.answer_of(encoded.by(one), n_threads)
            for layer in layers.values():
                layer.add(one, answer)
            yield answer

    def to_document(self, tensors: Tensors) -> Document:
        members, first = list[Document](), dict[str, int]()
        for number, one in enumerate(self.members):
            own = tensors.member(number)
            if (place := tensors.shared.setdefault(id(one), own.prefix)) != own.prefix:
                members.append({"same": place})
                tensors.shared[_REFERENCES] = tensors.shared.get(_REFERENCES, 0) + 1
                continue
            references = tensors.shared.get(_REFERENCES)
            described = one.to_document(own)
            if tensors.shared.get(_REFERENCES) != references:
                del tensors.shared[id(one)]
            if described["table"] is not None:  # equal ones are stored once
                place = first.setdefault(json.dumps(described["table"]), number)
                described["table"] = described["table"] if place == number else place
            members.append(described)
        return {"kind": "members", "members": members}

    @property
    def file_bytes(self) -> list[int | None]:
        """Bytes of each member in a model file, None if it cannot hold the member."""
        tables, sizes, shared = set[str](), list[int | None](), dict[Any, Any]()
        for number, one in enumerate(self.members):
            table = {} if one.table is None else one.table.to_json()
            text, arrays = json.dumps(table), dict[str, NDArray[Any]]()
            if isinstance(one.voters, StackedVoters):  # without what the file holds already
                document = one.to_document(Tensors(arrays, f"{number}.", shared=shared))
                size: int | None = stored_bytes(document, arrays)
            else:
                size = bytes_in_file(one)
            shared[id(one)] = ""
            # tables that members share are stored once
            sizes.append(size - header_bytes(table) if size is not None and text in tables else size)
            tables.add(text)
        return sizes

    @classmethod
    def from_document(cls, document: Document, tensors: Tensors) -> MemberCommittees:
        if tensors.depth >= MAX_DEPTH:
            raise ValueError(f"committees are nested more than {MAX_DEPTH} deep")
        members: list[Any] = []
        for number, described in enumerate(field(document, "members", list)):
            if type(described) is dict and "same" in described:
                if (place := field(described, "same", str)) not in tensors.shared:
                    raise ValueError(f"member {number} is that at {place!r}, and the file holds none there")
                members.append(tensors.shared[place])
                tensors.shared[_REFERENCES] = tensors.shared.get(_REFERENCES, 0) + 1
                continue
            if type(described) is dict and type(place := described.get("table")) is int:
                if not 0 <= place < number or members[place].table is None:
                    raise ValueError(f"member {number} names the table of member {place}, no earlier member with one")
                described = described | {"table": members[place].table}
            name = field(described, "class", str) if type(described) is dict else None
            if name not in COMMITTEES:
                raise ValueError(f"member {number} is not a committee")
            kind = resolve_name(COMMITTEES[name])
            own = tensors.member(number)
            references = tensors.shared.get(_REFERENCES)
            members.append(kind.from_document(described, own))
            if tensors.shared.get(_REFERENCES) == references:
                tensors.shared[own.prefix] = members[-1]
        return cls(members)

    def check_columns(self, table: TableSchema | None) -> None:
        width = self.n_features if table is None else table.n_features
        for number, one in enumerate(self.members):
            own = one.voters.n_features if one.table is None else one.table.n_features
            if own != width:
                raise ValueError(f"member {number} takes {own} columns; the committee has {width}")


LEAST_SHARE = 1e-4
"""Least probability in a column of a second layer."""
SECOND = {kind: place for kind, place in VOTERS.items() if kind not in ("members", "stacked")}
"""Voters that a second layer may have."""


def stacked_columns(p: F64) -> F64:
    """Columns of a second layer of probabilities ``(n, M, K)``: logarithms ``(n, M K)``, or log-odds of two classes.

    Equation: second-layer (docs/theory.md).
    """
    logs = np.log(np.maximum(p, LEAST_SHARE))
    return logs[:, :, 1] - logs[:, :, 0] if p.shape[2] == 2 else logs.reshape(len(p), -1)


@dataclass(frozen=True, eq=False)
class StackedVoters:
    """Voters of a second layer, whose columns are the probabilities of M candidates, each a mean of committees."""

    takes_sparse: ClassVar[bool] = True
    first: MemberCommittees
    sizes: NDArray[np.int64]  # (M,): committees of each candidate, which stand one after another
    second: Voters

    kind = property(attrgetter("second.kind"))
    n_classes = property(attrgetter("second.n_classes"))
    n_outputs = property(attrgetter("second.n_outputs"))
    n_features = property(attrgetter("first.n_features"))
    n_nodes = property(attrgetter("second.n_nodes"))
    spread = property(attrgetter("second.spread"))

    def __len__(self) -> int:
        return len(self.second)

    def __reduce__(self) -> tuple[Any, ...]:
        return _stacked, (self.first.members, self.sizes, self.second)  # members that are shared stay so

    def __getitem__(self, index: VoterIndex) -> StackedVoters:
        return replace(self, second=self.second[index])

    @property
    def key(self) -> tuple[int, ...]:
        return tuple(map(id, self.first.members))

    @property
    def nbytes(self) -> int:
        return self.first.nbytes + self.second.nbytes

    def tally(self, X: Any, weights: F64 | None = None, n_threads: int = 1) -> F64:
        return self.second.tally(self.columns(X, n_threads), weights, n_threads)

    def votes(self, X: Any, n_threads: int = 1) -> Any:
        return self.second.votes(self.columns(X, n_threads), n_threads)

    def columns(self, X: Any, n_threads: int = 1) -> F64:
        return _FirstLayer(self, len(X)).columns(X, n_threads)

    def to_document(self, tensors: Tensors) -> Document:
        tensors.put(sizes=self.sizes)
        return {
            "kind": "stacked",
            "first": self.first.to_document(tensors.part("first")),
            "second": describe_part(self.second, VOTERS, tensors.part("second")),
        }

    @classmethod
    def from_document(cls, document: Document, tensors: Tensors) -> StackedVoters:
        sizes = tensors.take("sizes", np.int64, 1)
        first = MemberCommittees.from_document(field(document, "first", dict), tensors.part("first"))
        second = rebuild_part(field(document, "second", dict), SECOND, tensors.part("second"), "voters")
        second.check_columns(None)
        if len(set(map(id, first.members))) < len(first):
            raise ValueError("a first layer holds a committee twice")
        if not len(sizes) or sizes.min() < 1 or sizes.max() > len(first) or sizes.sum() != len(first):
            raise ValueError(f"{tensors.prefix}sizes do not count the {len(first)} committees of a first layer")
        K = first.n_classes
        if not isinstance(first.members[0], Committee) or second.n_classes != K:
            raise ValueError("a second layer votes for other classes than the first")
        width = len(sizes) * (1 if K == 2 else K)
        if second.n_features != width:
            raise ValueError(f"a second layer takes {second.n_features} columns, and the first has {width}")
        return cls(first, sizes, second)

    def check_columns(self, table: TableSchema | None) -> None:
        self.first.check_columns(table)


def refuse_second_layer(voters: Any, what: str, error: type[Exception] = TypeError) -> None:
    """Refuse a second layer, or committees with one, for `what` needs members that read the columns."""
    members = voters.members if isinstance(voters, MemberCommittees) else ()
    if isinstance(voters, StackedVoters) or any(isinstance(one.voters, StackedVoters) for one in members):
        alone = all(isinstance(one.voters, StackedVoters) for one in members)
        remedy = "Train" if alone else "Use model.without('second_layer'), or train"
        raise error(
            f"{what}, and the member 'second_layer' reads the probabilities of the others. {remedy} with "
            "second_layer=False."
        )


class _FirstLayer:
    """Columns of a second layer, from answers of its committees that are given or computed."""

    def __init__(self, voters: StackedVoters, n: int) -> None:
        self._voters = voters
        self._total = np.zeros((n, len(voters.sizes), voters.n_classes))
        candidate = np.repeat(np.arange(len(voters.sizes)), voters.sizes)
        self._wanted = {id(one): int(k) for one, k in zip(voters.first.members, candidate, strict=True)}
        self._columns: F64 | None = None

    def add(self, one: Any, answer: F64) -> None:
        if (k := self._wanted.pop(id(one), None)) is not None:
            self._total[:, k] += answer / self._voters.sizes[k]

    def columns(self, rows: Any, n_threads: int) -> F64:
        if self._columns is None:  # the same for every fit of the layer
            members = self._voters.first.members
            left = [t for t, one in enumerate(members) if id(one) in self._wanted]
            for t, answer in zip(left, self._voters.first.answers(left, rows, n_threads), strict=True):
                self.add(members[t], answer)
            self._columns = stacked_columns(self._total)
        return self._columns


class _EncodedRows:
    """Rows as the tables of members encode them; a result of `by` is valid until its next call."""

    def __init__(self, X: Any) -> None:
        self._X = X
        self._whole: dict[TableSchema | None, Any] = {}
        self._columns: dict[tuple[Any, ...], F64] = {}
        self._encoders: list[tuple[Any, ...]] = []  # of the columns that the matrix holds
        self._matrix: F64 = np.empty((0, 0))

    def by(self, member: Committee | RegressionCommittee) -> Any:
        table, X = member.table, self._X
        if type(table) is not TableSchema or type(X) is not np.ndarray or X.dtype != np.float64:
            if table not in self._whole:
                self._whole[table] = member.encode(X)
            return self._whole[table]
        encoders = _encoders(table)
        if len(encoders) != len(self._encoders):  # the first, or a table of another width, which is refused
            self._matrix, self._encoders = member.encode(X), encoders
            return self._matrix
        for j, (own, held) in enumerate(zip(encoders, self._encoders, strict=True)):
            if own != held:
                self._write(j, own, table)
        self._encoders = encoders
        return self._matrix

    def _write(self, j: int, encoder: tuple[Any, ...], table: TableSchema) -> None:
        if self._matrix is self._X:
            self._matrix = self._X.copy()
        if (j, self._encoders[j]) not in self._columns:
            self._columns[j, self._encoders[j]] = self._matrix[:, j].copy()
        if (j, encoder) not in self._columns:
            self._columns[j, encoder] = table.encode_column(self._X[:, j], j)
        self._matrix[:, j] = self._columns[j, encoder]


def _encoders(table: TableSchema) -> list[tuple[Any, ...]]:
    # equal ones encode a column of numbers alike
    values = table.values or (None,) * table.n_features
    pairs = zip(table.categories, values, strict=True)
    return [(each, numbers, each and (table.refuses_unknown, table.rounding)) for each, numbers in pairs]


def bytes_in_file(member: Committee | RegressionCommittee) -> int | None:
    try:
        return member.file_bytes
    except TypeError:
        return None


def reads_tables(member: Committee | RegressionCommittee) -> bool:
    """True if the member takes the rows as the user gives them."""
    return member.table is None and isinstance(member.voters, EstimatorVoters | RegressorVoters)


def _of_document(document: Document, arrays: Arrays) -> MemberCommittees:
    return MemberCommittees.from_document(document, Tensors(arrays))


def _stacked(first: Sequence[Any], sizes: NDArray[np.int64], second: Voters) -> StackedVoters:
    return StackedVoters(MemberCommittees(first), sizes, second)


def _answers(one: Committee | RegressionCommittee) -> Any:
    return tuple(one.classes.tolist()) if isinstance(one, Committee) else one.n_outputs
