"""Random small tables to grow trees on, in every mixture the kernels must take."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import hypothesis.strategies as st
import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.voters.forest import Forest
from tests.oracles import grow as oracle

Codes = NDArray[np.uint8] | NDArray[np.uint16]
CLASS_CRITERIA = ("gini", "entropy", "error", "confidence", "confidence_mh", "abstaining")
OF_TARGETS = ("squared_error", "several_targets", "poisson")
CRITERIA = (*CLASS_CRITERIA, *OF_TARGETS)


@dataclass(frozen=True)
class Case:
    """One binned table with labels and targets; ``kind`` "confidence_mh" has (n, K) weights.

    "several_targets" is squared error of (n, K) targets.
    """

    kind: str
    codes: Codes
    n_bins: NDArray[np.int32]
    categorical: NDArray[np.uint8]
    labels: NDArray[np.uint16]
    n_classes: int
    targets: NDArray[np.float64]
    weights: NDArray[np.float64]
    rows: NDArray[np.int32] | None = None

    @property
    def criterion(self) -> str:
        return {"confidence_mh": "confidence", "several_targets": "squared_error"}.get(self.kind, self.kind)

    @property
    def table(self) -> oracle.Table:
        if self.kind in (*OF_TARGETS, "absolute_error"):
            statistics = oracle.target_statistics(self.targets, self.weights)
        else:
            statistics = oracle.class_statistics(self.labels, self.weights, self.n_classes)
        return oracle.Table(
            codes=self.codes,
            n_bins=self.n_bins,
            categorical=self.categorical,
            criterion=self.criterion,
            statistics=statistics,
            weights=self.weights if self.weights.ndim == 1 else self.weights.sum(1),
            rows=np.arange(len(self.codes)) if self.rows is None else np.asarray(self.rows, dtype=np.int64),
        )

    def limits(self, **limits: Any) -> oracle.Limits:
        if self.kind == "abstaining":
            limits["max_depth"] = 1
        return oracle.Limits(**limits)

    def grower(self, limits: oracle.Limits, max_features: int = 0, n_threads: int = 1) -> _core.Grower:
        settings = self._settings(limits, max_features, n_threads)
        return _core.Grower(**settings, max_leaf_nodes=limits.max_leaf_nodes)

    def deep_grower(self, limits: oracle.Limits, max_features: int = 0, n_threads: int = 1) -> _core.DeepGrower:
        return _core.DeepGrower(**self._settings(limits, max_features, n_threads))

    def _settings(self, limits: oracle.Limits, max_features: int, n_threads: int) -> dict[str, Any]:
        """The arguments that both growers have."""
        return {
            "codes": self.codes,
            "n_bins": self.n_bins,
            "categorical": self.categorical,
            "criterion": self.criterion,
            "n_classes": self.n_classes,
            "max_depth": limits.max_depth,
            "min_samples_leaf": limits.min_samples_leaf,
            "min_weight_leaf": limits.min_weight_leaf,
            "min_gain": limits.min_gain,
            "max_features": max_features,
            "n_threads": n_threads,
        }

    def grow_with(self, grower: _core.Grower | _core.DeepGrower, seed: int = 0) -> _core.GrownTree:
        if self.kind in (*OF_TARGETS, "absolute_error"):
            return grower.grow_targets(self.targets, self.weights, self.rows, seed)
        return grower.grow_classes(self.labels, self.weights, self.rows, seed)

    def grow(self, limits: oracle.Limits, max_features: int = 0, n_threads: int = 1, seed: int = 0) -> _core.GrownTree:
        return self.grow_with(self.grower(limits, max_features, n_threads), seed)


def random_weights(rng: np.random.Generator, shape: tuple[int, ...], kind: str) -> NDArray[np.float64]:
    if kind == "equal":
        return np.ones(shape)
    if kind == "integer":
        weights = rng.integers(0, 4, shape).astype(np.float64)
    elif kind == "some_zero":
        weights = rng.exponential(size=shape) * (rng.random(shape) < 0.7)
    else:
        weights = np.exp(rng.normal(size=shape) * 3.0)
    weights[0] = 1.0  # never all zero
    return weights


def random_case(
    rng: np.random.Generator,
    kind: str,
    n: int,
    p: int,
    n_classes: int = 2,
    max_bins: int = 6,
    weights: str = "equal",
    categorical: str = "mixed",
    missing: float = 0.1,
    wide: bool = False,
) -> Case:
    """Labels and targets lean on the first column, so that deeper trees have something to find."""
    if kind == "confidence":
        n_classes = 2
    n_bins = rng.integers(1, max_bins + 1, p).astype(np.int32)
    codes = rng.integers(0, n_bins, (n, p))
    codes = np.where(rng.random((n, p)) < missing, n_bins, codes)
    flags = {"none": np.zeros(p), "all": np.ones(p), "mixed": rng.integers(0, 2, p)}[categorical]
    guess = (codes[:, 0] * (1 + codes[:, -1])) % n_classes
    labels = np.where(rng.random(n) < 0.6, guess, rng.integers(0, n_classes, n)).astype(np.uint16)
    targets = codes[:, 0] - 2.0 + rng.normal(size=n)
    if kind == "several_targets":
        others = (codes[:, [-1]] + rng.normal(size=(n, n_classes - 1))) * 10.0 ** np.arange(n_classes - 1)
        targets = np.column_stack([targets, others])
    if kind == "poisson":
        targets = np.maximum(targets, 0.0)
    return Case(
        kind=kind,
        codes=codes.astype(np.uint16) if wide else codes.astype(np.uint8),
        n_bins=n_bins,
        categorical=flags.astype(np.uint8),
        labels=labels,
        n_classes=n_classes,
        targets=targets,
        weights=random_weights(rng, (n, n_classes) if kind == "confidence_mh" else (n,), weights),
    )


def one_column(codes: list[int], labels: list[int], n_bins: int, categorical: bool = False) -> Case:
    """Two classes, equal weights, Gini."""
    case = random_case(np.random.default_rng(0), "gini", len(codes), 1)
    return replace(
        case,
        codes=np.array(codes, dtype=np.uint8)[:, None],
        n_bins=np.array([n_bins], dtype=np.int32),
        categorical=np.array([categorical], dtype=np.uint8),
        labels=np.array(labels, dtype=np.uint16),
    )


def alternating_labels(n: int) -> Case:
    """Rows in the order of one column, of which no two neighbours are of one class."""
    return replace(
        random_case(np.random.default_rng(0), "gini", n, 1),
        codes=np.arange(n, dtype=np.uint16)[:, None],
        n_bins=np.array([n], dtype=np.int32),
        categorical=np.zeros(1, np.uint8),
        labels=(np.arange(n) % 2).astype(np.uint16),
        weights=np.ones(n),
    )


@st.composite
def cases(draw: st.DrawFn, /, kinds: tuple[str, ...] = CRITERIA, max_rows: int = 60, **fixed: Any) -> Case:
    """A few drawn sizes and kinds; the cells themselves come from a drawn seed: examples are cheap."""
    options: dict[str, Any] = {
        "kind": draw(st.sampled_from(kinds)),
        "n": draw(st.integers(2, max_rows)),
        "p": draw(st.integers(1, 4)),
        "n_classes": draw(st.integers(2, 4)),
        "weights": draw(st.sampled_from(["equal", "integer", "some_zero", "heavy"])),
        "missing": draw(st.sampled_from([0.0, 0.1, 0.5])),
        "wide": draw(st.booleans()),
    }
    options.update(fixed)
    return random_case(np.random.default_rng(draw(st.integers(0, 2**32 - 1))), **options)


def limits_for(case: Case, draw: st.DrawFn) -> oracle.Limits:
    return case.limits(
        max_depth=draw(st.integers(0, 4)),
        max_leaf_nodes=draw(st.sampled_from([0, 0, 2, 3, 5])),
        min_samples_leaf=draw(st.sampled_from([1, 1, 2, 5])),
        # odd shares: a child of exactly that weight would be a matter of rounding
        min_weight_leaf=draw(st.sampled_from([0.0, 0.0, 0.0314159, 0.1234567])),
        min_gain=draw(st.sampled_from([0.0, 0.0, 0.0123457])),
    )


@st.composite
def cases_with_limits(draw: st.DrawFn, /, **fixed: Any) -> tuple[Case, oracle.Limits]:
    case = draw(cases(**fixed))
    return case, limits_for(case, draw)


def each(**values: Iterable[Any]) -> list[dict[str, Any]]:
    """Changes of one argument at a time, to each of its values."""
    return [{name: value} for name, several in values.items() for value in several]


def refusals(changes: dict[str, list[dict[str, Any]]]) -> list[tuple[dict[str, Any], str]]:
    """Changed arguments, each with the message by which they are refused."""
    return [(change, message) for message, several in changes.items() for change in several]


def bad_weights(n: int) -> list[NDArray[np.float64]]:
    """Weights of n rows of a wrong length, all zero, negative, or not finite."""
    wrong = np.ones((3, n))
    wrong[:, 0] = -1.0, np.nan, np.inf
    return [np.ones(n - 1), np.ones(n + 1), np.zeros(n), *wrong]


def chain(depth: int, threshold: Any, n_features: int = 1, falls_left: bool = False, **fields: Any) -> Forest:
    """One tree with a leaf on every level, of splits on the features in turn; its nodes' values are their numbers."""
    n, split = 2 * depth + 1, np.arange(depth)
    parent = np.where(split == 0, 0, 2 * split - falls_left)
    feature, left, at = np.full(n, -1, np.int32), np.full(n, -1, np.int32), np.zeros(n)
    feature[parent], left[parent], at[parent] = split % n_features, 2 * split + 1, threshold
    nodes: dict[str, Any] = {
        "missing_left": np.zeros(n, np.uint8),
        "category_offset": np.zeros(n + 1, np.int64),
        "category_bits": np.zeros(0, np.uint32),
        "label": None,
        "value": np.arange(n, dtype=np.float64)[:, None],
        "gain": np.zeros(n),
        "weight": np.ones(n),
        "count": np.ones(n, np.int64),
    }
    return Forest(n_features, 2, np.array([0, n]), feature, at, left, **(nodes | fields))


THREADS = (1, 2, 5)
WIDEST = _core.lane_bytes()
NARROWER = [bytes for bytes in (16, 32) if bytes < WIDEST]


@contextmanager
def vectors_of(bytes: int) -> Iterator[None]:
    """Within it kernels use vectors of so many bytes."""
    _core.use_lane_bytes(bytes)
    try:
        yield
    finally:
        _core.use_lane_bytes(WIDEST)


def check_vectors(run: Callable[[], Iterable[NDArray[Any]]]) -> None:
    """Arrays are the same to the bit whatever the length of vectors."""
    expected = list(run())
    for bytes in NARROWER:
        with vectors_of(bytes):
            again = list(run())
        for mine, widest in zip(again, expected, strict=True):
            assert mine.tobytes() == widest.tobytes()


def check_threads(run: Callable[[int], Iterable[Any]]) -> list[Any]:
    """Arrays are the same to the bit for any number of threads; return them."""
    expected = list(run(1))
    for n_threads in THREADS[1:]:
        for mine, alone in zip(run(n_threads), expected, strict=True):
            np.testing.assert_array_equal(mine, alone)
    return expected
