"""ONNX graph under construction: nodes, constants, values with arithmetic operators, and encoded rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from committee.data.categories import Category, CategoryValues
from committee.data.table_schema import TableSchema

Width: TypeAlias = Literal["float64", "float32"]

TreeVersion: TypeAlias = Literal[5, 3]
"""Version of the tree operators: 5 sums in double; 3 returns leaf indices, whose values are looked up."""

MACHINE_LEARNING = "ai.onnx.ml"


@dataclass(frozen=True)
class Node:
    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    domain: str
    attributes: dict[str, Any]


@dataclass
class Graph:
    width: Width = "float64"  # of the rows and of the numbers in trees; all other arithmetic is float64
    trees: TreeVersion = 5
    prefix: str = "/"  # of all names
    nodes: list[Node] = field(default_factory=list)
    constants: dict[str, NDArray[Any]] = field(default_factory=dict)
    _known: dict[Any, str] = field(default_factory=dict, repr=False)

    def value(self, name: str) -> Value:
        return Value(self, name)

    def constant(self, array: Any) -> Value:
        made = np.ascontiguousarray(array) if np.ndim(array) else np.asarray(array)
        key = (made.dtype.str, made.shape, tuple(made.tolist()) if made.dtype == object else made.tobytes())
        if key not in self._known:
            self._known[key] = f"{self.prefix}c{len(self.constants)}"
            self.constants[self._known[key]] = made
        return Value(self, self._known[key])

    def add(self, kind: str, *inputs: Any, domain: str = "", n_outputs: int = 1, **attributes: Any) -> Value:
        names = tuple((each if isinstance(each, Value) else self.constant(each)).name for each in inputs)
        plain = not any(isinstance(each, np.ndarray) for each in attributes.values())
        key = (kind, names, domain, repr(sorted(attributes.items()))) if plain else None
        if key is not None and key in self._known:
            return Value(self, self._known[key])
        first = len(self.nodes)
        outputs = tuple(f"{self.prefix}{kind}{first}" + (f"_{k}" if k else "") for k in range(n_outputs))
        self.nodes.append(Node(kind, names, outputs, domain, attributes))
        if key is not None:
            self._known[key] = outputs[0]
        return Value(self, outputs[0])


def _number(other: Any) -> Any:
    return other if isinstance(other, Value) else np.asarray(other, dtype=np.float64)


def _unary(kind: str) -> Callable[[Value], Value]:
    return lambda value: value.graph.add(kind, value)


def _binary(kind: str) -> Callable[[Value, Any], Value]:
    return lambda value, other: value.graph.add(kind, value, _number(other))


def _reflected(kind: str) -> Callable[[Value, Any], Value]:
    return lambda value, other: value.graph.add(kind, _number(other), value)


@dataclass(frozen=True)
class Value:
    """Output of a node, or an input, whose operators add nodes."""

    graph: Graph
    name: str

    __add__ = _binary("Add")
    __radd__ = _reflected("Add")
    __sub__ = _binary("Sub")
    __rsub__ = _reflected("Sub")
    __mul__ = _binary("Mul")
    __rmul__ = _reflected("Mul")
    __truediv__ = _binary("Div")
    __matmul__ = _binary("MatMul")
    __neg__ = _unary("Neg")
    __gt__ = _binary("Greater")
    __ge__ = _binary("GreaterOrEqual")
    __le__ = _binary("LessOrEqual")
    equals = _binary("Equal")
    at_least = _binary("Max")
    at_most = _binary("Min")
    abs = _unary("Abs")
    exp = _unary("Exp")
    log = _unary("Log")
    sigmoid = _unary("Sigmoid")
    is_nan = _unary("IsNaN")

    def clip(self, low: float, high: float) -> Value:
        return self.graph.add("Clip", self, np.float64(low), np.float64(high))

    def where(self, yes: Any, no: Any) -> Value:
        return self.graph.add("Where", self, _number(yes), _number(no))

    def cast(self, kind: type[np.generic]) -> Value:
        return self.graph.add("Cast", self, to=np.dtype(kind))

    def sum(self, axis: int = -1) -> Value:
        return self.graph.add("ReduceSum", self, np.array([axis]), keepdims=1)

    def max(self) -> Value:
        return self.graph.add("ReduceMax", self, np.array([-1]), keepdims=1)

    def argmax(self) -> Value:
        return self.graph.add("ArgMax", self, axis=-1, keepdims=0)

    def take(self, places: Any, axis: int = 1) -> Value:
        return self.graph.add("Gather", self, places, axis=axis)

    def reshape(self, *shape: int) -> Value:
        """Reshape; 0 keeps a length, -1 is inferred."""
        return self.graph.add("Reshape", self, np.array(shape))

    def one_hot(self, n: int) -> Value:
        named = self.graph.add("Unsqueeze", self, np.array([-1]))
        return self.graph.add("Equal", named, np.arange(n)).cast(np.float64)


def joined(parts: list[Value], axis: int = 1) -> Value:
    return parts[0] if len(parts) == 1 else parts[0].graph.add("Concat", *parts, axis=axis)


Inputs: TypeAlias = Literal["auto", "matrix", "columns", "encoded"]
INPUTS: tuple[Inputs, ...] = ("auto", "matrix", "columns", "encoded")


@dataclass(frozen=True)
class Rows:
    X: Value  # (n, p), of type `Graph.width`
    n_categories: NDArray[np.int32] | None  # codes by column, (p,), 0 for numeric columns; None if unknown

    @property
    def wide(self) -> Value:
        return self.X if self.X.graph.width == "float64" else self.X.cast(np.float64)

    def only(self, columns: NDArray[np.intp]) -> Rows:
        known = None if self.n_categories is None else self.n_categories[columns]
        return Rows(self.X.take(np.asarray(columns, dtype=np.int64)), known)

    def coded(self, columns: NDArray[np.intp], p: int) -> Rows:
        """Set non-integers in category columns to NaN, since onnxruntime truncates values before the lookup."""
        if self.n_categories is not None or not len(columns):
            return self
        graph = self.X.graph
        nan = graph.constant(np.array(np.nan, dtype=graph.width))
        whole = graph.add("Equal", graph.add("Floor", self.X), self.X)
        others = graph.constant(~np.isin(np.arange(p), columns)[None])
        return Rows(graph.add("Where", graph.add("Or", whole, others), self.X, nan), None)


def text_columns(table: TableSchema | None) -> list[int]:
    found = () if table is None else table.categories
    return [j for j, levels in enumerate(found) if levels and isinstance(levels[0], str)]


def reject_derived(table: TableSchema | None, *, of_voter: bool = False) -> None:
    if table is not None and table.source is not table:
        what = f"uses the derived column {table.explained[-1]!r}, which has no ONNX nodes"
        remedy = "fit with derived_columns=None"
        if not table.n_derived:
            what, remedy = "leaves out columns that identify the rows", "fit without these"
        if of_voter:  # encodes rows itself
            raise TypeError(f"a voter {what}; {remedy}.")
        raise TypeError(
            f'the model {what}; {remedy}, or call committee.to_onnx with inputs="encoded" for rows of '
            "committee_.encode(table)."
        )


def encoded_columns(columns: Mapping[int, Value], table: TableSchema) -> Rows:
    reject_derived(table)
    parts = [_encoded(columns[j], table, j) for j in range(table.n_features)]
    return Rows(joined(parts), table.n_categories)


def encoded_rows(rows: Rows, table: TableSchema | None) -> Rows:
    reject_derived(table)
    if table is None or all(levels is None for levels in table.categories):
        return rows
    if text := text_columns(table):
        raise TypeError(
            f"column {table.column(text[0])!r} has categories of text, which a matrix of numbers cannot hold; call "
            'committee.to_onnx with inputs "auto", "columns" or "encoded".'
        )
    stays = [_stays(rows, table, j) for j in range(table.n_features)]
    if all(stays):
        return Rows(rows.X, table.n_categories)
    parts: list[Value] = []
    for kept, group in groupby(range(table.n_features), stays.__getitem__):
        columns = list(group)
        if kept:
            parts.append(rows.X.take(np.array(columns)))
        else:
            parts += [_encoded(rows.X.take(np.array([j])), table, j) for j in columns]
    return Rows(joined(parts), table.n_categories)


def _stays(rows: Rows, table: TableSchema, j: int) -> bool:
    levels = table.categories[j]
    if levels is None:
        return True
    known = 0 if rows.n_categories is None else int(rows.n_categories[j])
    own_codes = tuple(map(float, levels)) == tuple(map(float, range(len(levels))))
    return 0 < known <= len(levels) and own_codes and table.coded(j) is not None


def _encoded(column: Value, table: TableSchema, j: int) -> Value:
    levels, graph = table.categories[j], column.graph
    if levels is None:
        return column
    if not levels:
        nothing = graph.constant(np.array([[np.nan]], dtype=graph.width))
        return graph.add("Expand", nothing, graph.add("Shape", column))
    values = table.values[j] if table.values else None
    if values is not None and graph.width == "float32":
        raise TypeError(
            f"the categories of column {table.column(j)!r} are encoded as numbers that float32 may not tell apart; "
            'leave dtype at "float64".'
        )
    if table.rounding is not None and not isinstance(levels[0], str):
        sign, size = graph.add("Sign", column), graph.add("Abs", column)
        floor = graph.add("Floor", column if table.rounding == "floor" else size)
        column = floor if table.rounding == "floor" else graph.add("Mul", sign, floor)
    return _looked_up(column, levels, values, graph)


def _looked_up(column: Value, levels: tuple[Category, ...], values: CategoryValues | None, graph: Graph) -> Value:
    numbers = np.arange(len(levels), dtype=np.float64) if values is None else np.array(values.values)
    other = np.nan if values is None else values.unknown
    nan = np.array(np.nan, dtype=graph.width)
    if isinstance(levels[0], str):
        keys = list(map(str, levels))
        missing = [] if "" in keys else [""]  # ONNX has no missing text, so the empty text is a missing value
        table = np.concatenate([numbers, [np.nan] * len(missing), [other]]).astype(graph.width)
        place = graph.add(
            "LabelEncoder",
            column,
            domain=MACHINE_LEARNING,
            keys_strings=[*keys, *missing],
            values_int64s=list(range(len(table) - 1)),
            default_int64=len(table) - 1,
        )
        return graph.constant(table).take(place, axis=0)
    keys_of_numbers = np.array(levels, dtype=np.float64)
    if graph.trees == 5:
        found = graph.add(
            "LabelEncoder",
            column,
            domain=MACHINE_LEARNING,
            keys_tensor=keys_of_numbers,
            values_tensor=numbers,
            default_tensor=np.array([other]),
        )
    else:  # an older LabelEncoder takes no doubles
        same = column.cast(np.float64).equals(keys_of_numbers[None]).cast(np.float64)
        codes = same @ numbers[:, None]
        found = (same.sum() > 0.0).where(codes, other).cast(np.dtype(graph.width).type)
    return found if np.isnan(other) else graph.add("Where", column.is_nan(), nan, found)
