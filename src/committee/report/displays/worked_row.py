"""One row on its way through a small ensemble: the leaf that it reaches in each tree, and the sum of what these say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.data.frame_columns import is_frame, open_frame
from committee.data.number_types import F64
from committee.data.sparse import is_sparse
from committee.report.arguments import place
from committee.report.displays.base import percent
from committee.report.displays.ensemble_words import EnsembleWords, PlainTree
from committee.report.displays.leaf_says import plain_signed
from committee.report.row_explanation import values_in_words
from committee.voters.member_trees import MemberTrees

MOST_CLASSES = 2
"""Classes whose sums are written down."""


@dataclass(frozen=True, eq=False)
class WorkedRow:
    """A row, its ways, and its sum in words."""

    number: int
    ways: tuple[frozenset[int], ...]
    """Nodes that it comes through in each drawn tree, the leaf included."""
    values: tuple[str, ...]
    """What the tests on its ways ask for, such as ``age = 41``."""
    sums: tuple[str, ...]
    """What its leaves add up to, a line for each class that is shown, or one for all."""
    had_missing: NDArray[np.bool_]
    """Columns of the table that have missing values."""

    @classmethod
    def of(cls, words: EnsembleWords, estimator: Any, X: Any, row: int) -> WorkedRow:
        """Follow one row of a table.

        Raises
        ------
        TypeError
            If the table is sparse.
        ValueError
            If there is no such row, or its columns are not those of the training.
        """
        if is_sparse(X):
            raise TypeError("X is sparse, and a picture is of the values of one row; pass X[[row]].toarray()")
        every = _encoded(words, estimator, X)
        row = place("row", row, len(every))
        encoded = every[[row]]
        one = open_frame(X)[row : row + 1].to_native() if is_frame(X) else np.asarray(X)[[row]]
        forest = MemberTrees.of(words.votes.voters, words.votes.weights, "SmallEnsembleDisplay").forest
        leaf = forest.apply(encoded)[0]
        ways = tuple(_way(tree, int(leaf[tree.number])) for tree in words.trees)
        asked: dict[int, None] = {}
        for tree, way in zip(words.trees, ways, strict=True):
            inner = [node for node in sorted(way) if tree.children[node, 0] >= 0]
            asked |= dict.fromkeys(forest.feature[forest.offset[tree.number] + inner].tolist() if inner else [])
        known = values_in_words(encoded[0], words.table, one)
        said = np.array([tree.says[max(way)] for tree, way in zip(words.trees, ways, strict=True)])
        model: Any = estimator if hasattr(estimator, "predict") else words.votes
        answer = model.predict_proba(one)[0] if words.leaves.names else np.ravel(model.predict(one))
        return cls(
            row,
            ways,
            tuple(known[j] for j in asked),
            _sums(words, said, answer),
            np.asarray(np.isnan(every).any(axis=0)),
        )


def _encoded(words: EnsembleWords, estimator: Any, X: Any) -> F64:
    """Rows as numbers and codes."""
    if hasattr(estimator, "validate_rows") and getattr(estimator, "table_", None) is not None:
        rows: F64 = estimator.table_.encode(estimator.validate_rows(X))
        return rows
    encoded: F64 = words.votes.encode(X)
    return encoded


def _way(tree: PlainTree, leaf: int) -> frozenset[int]:
    """Nodes from the root to a leaf; children have later numbers."""
    above = {int(child): node for node, pair in enumerate(tree.children) for child in pair if child >= 0}
    way = [leaf]
    while way[-1]:
        way.append(above[way[-1]])
    return frozenset(way)


def _sums(words: EnsembleWords, said: F64, answer: F64) -> tuple[str, ...]:
    """The sum, with its answer: a probability or a number."""
    says = words.leaves
    if says.kind != "sums":
        return _means(words, said, answer)
    total = says.start + said.sum(axis=0)
    if not says.names:
        told = f"  (exp of it {float(answer[0]):.4g})" if says.is_log else ""
        start = f"{says.start[0]:.4g}" if says.start.any() else ""
        return (_sum(start, said[:, 0], f"{float(total[0]):.4g}") + told,)
    lines = []
    shown = np.argsort(-answer, kind="stable")[:MOST_CLASSES].tolist() if len(total) > 1 else [0]
    for d in shown:
        k, name, whose = (d, f"{says.names[d]}: ", "") if len(total) > 1 else (1, "", f" of {says.names[1]}")
        start = plain_signed(float(says.start[d])) if says.start.any() else ""
        summed = _sum(start, said[:, d], plain_signed(float(total[d])))
        lines.append(f"{name}{summed}  (probability{whose} {percent(answer[k])})")
    return tuple(lines)


def _sum(start: str, said: F64, total: str) -> str:
    """What is added, of many trees where it is not 0, and what it comes to."""
    terms = [f"tree {t} {plain_signed(float(v))}" for t, v in enumerate(said.tolist(), 1) if v or len(said) < 9]
    if start:
        terms.insert(0, f"start {start}")
    return terms[0] if len(terms) == 1 else f"{',  '.join(terms)} = {total}"


def _means(words: EnsembleWords, said: F64, answer: F64) -> tuple[str, ...]:
    """Means of shares or numbers, weighted where the trees' weights differ."""
    says, weight = words.leaves, np.array([tree.weight for tree in words.trees])
    mean = weight @ said / weight.sum() if weight.sum() > 0.0 else said.mean(axis=0)
    what = "" if len(weight) == 1 else "mean " if len(set(weight.tolist())) == 1 else "weighted mean "
    if not says.names:
        terms = ",  ".join(f"tree {t} {v:.4g}" for t, v in enumerate(said[:, 0].tolist(), 1))
        return (f"{terms};  {what or 'predicted '}{mean[0]:.4g}",)
    lines = []
    for k in np.argsort(-answer, kind="stable")[:MOST_CLASSES].tolist():
        terms = ",  ".join(f"tree {t} {v:.0%}" for t, v in enumerate(said[:, k].tolist(), 1))
        told = "" if abs(answer[k] - mean[k]) < 0.005 else f"  (probability {percent(answer[k])})"
        lines.append(f"{says.names[k]}: {terms};  {what}{mean[k]:.0%}{told}")
    return tuple(lines)
