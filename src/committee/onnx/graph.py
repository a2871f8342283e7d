"""ONNX graph under construction: nodes, constants, and values with arithmetic operators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Width: TypeAlias = Literal["float64", "float32"]
"""Type of the rows and of the numbers in trees."""

TreeVersion: TypeAlias = Literal[5, 3]
"""Version of the tree operators: 5 sums in double; 3 returns leaf indices, whose values are looked up."""

MACHINE_LEARNING = "ai.onnx.ml"
"""Domain of trees and look-up tables."""


@dataclass(frozen=True)
class Node:
    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    domain: str
    attributes: dict[str, Any]


@dataclass
class Graph:
    """Nodes in order of evaluation, and constants."""

    width: Width = "float64"  # of the rows and of the numbers in trees; all other arithmetic is float64
    trees: TreeVersion = 5
    prefix: str = "/"  # of all names
    nodes: list[Node] = field(default_factory=list)
    constants: dict[str, NDArray[Any]] = field(default_factory=dict)
    _known: dict[Any, str] = field(default_factory=dict, repr=False)

    def value(self, name: str) -> Value:
        return Value(self, name)

    def constant(self, array: Any) -> Value:
        """Return a constant; equal constants are shared."""
        made = np.ascontiguousarray(array) if np.ndim(array) else np.asarray(array)
        key = (made.dtype.str, made.shape, tuple(made.tolist()) if made.dtype == object else made.tobytes())
        if key not in self._known:
            self._known[key] = f"{self.prefix}c{len(self.constants)}"
            self.constants[self._known[key]] = made
        return Value(self, self._known[key])

    def add(self, kind: str, *inputs: Any, domain: str = "", n_outputs: int = 1, **attributes: Any) -> Value:
        """Add a node and return its first output; arguments that are not values become constants.

        An equal node without array attributes is reused.
        """
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
    """Output of a node, or an input; operators add nodes, and make numbers float64 constants."""

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
