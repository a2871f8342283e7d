"""Ensembles at the end of pipelines, whose trees are made to look at the pipeline's own columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from committee.data.categories import Category, pack_category_bits, unpack_category_bits
from committee.data.frames import TableSchema
from committee.data.number_types import F64
from committee.vote.adapters.column_maps import ColumnMap, maps_after
from committee.vote.adapters.parts import CommitteeParts, RegressionParts
from committee.voters.flat_trees import extents
from committee.voters.forest import Forest
from committee.voters.rounds import Rounds

Parts = TypeVar("Parts", CommitteeParts, RegressionParts)


def is_pipeline(estimator: Any) -> bool:
    """Whether an estimator is a pipeline of scikit-learn, its last step an estimator of another library.

    Examples
    --------
    >>> from committee.vote.adapters.pipelines import is_pipeline
    >>> is_pipeline(3)
    False
    """
    return isinstance(estimator, Pipeline) and not hasattr(estimator[-1], "committee_")


def on_input_of(pipeline: Pipeline, parts: Parts | None) -> Parts:
    """Parts of the committee of a pipeline's last step, changed so that they take what the pipeline takes.

    A split of what a transformation gives becomes one of what it takes: a threshold moves to the largest number whose
    transform is not above it, a column of 0 and 1 or of codes becomes a split of categories, and what is missing goes
    where the value goes that an imputer puts there. If the pipeline sends categories that training has not seen
    another way than missing values, they are an error here.

    Parameters
    ----------
    pipeline : Pipeline
        Fitted.
    parts : CommitteeParts, RegressionParts or None
        Of its last step; None: it is not known.

    Raises
    ------
    TypeError
        If the voters are no trees, or a step mixes columns, or is not known.
    ValueError
        If a step has a setting that is not read, or a column is taken both as numbers and as categories.

    Examples
    --------
    ``Committee.from_estimator(make_pipeline(StandardScaler(), RandomForestClassifier()).fit(X, y))``
    """
    if parts is None:
        raise TypeError(_remedy(f"there is no adapter for its last step {pipeline[-1]!r}"))
    voters = parts.voters
    first = pipeline.steps[0][1]
    check_is_fitted(first)
    if not isinstance(voters, (Forest, Rounds)):
        raise TypeError(_remedy(f"its last step has {type(voters).__name__} for voters, which are no plain trees"))
    assert parts.table is not None  # as trees have
    try:
        maps = [ColumnMap(j) for j in range(pipeline.n_features_in_)]
        for _, step in pipeline.steps[:-1]:
            maps = maps_after(step, maps)
        table = _table(pipeline, maps, parts.table)
        forest = voters if isinstance(voters, Forest) else voters.forest
        moved, apart = _moved(forest, maps, parts.table, table)
    except TypeError as error:
        raise TypeError(_remedy(str(error))) from error
    except ValueError as error:
        raise ValueError(_remedy(str(error))) from error
    if apart:  # here they would count as missing
        table = replace(table, refuses_unknown=True)
    return parts._replace(voters=moved if isinstance(voters, Forest) else replace(voters, forest=moved), table=table)


def _remedy(reason: str) -> str:
    return (
        f"estimator is a Pipeline that is not read as a whole: {reason.rstrip('.')}. Take its last step, "
        "from_estimator(pipeline[-1]), whose rows are pipeline[:-1].transform(X)."
    )


def _table(pipeline: Pipeline, maps: Sequence[ColumnMap], inner: TableSchema) -> TableSchema:
    """Columns that the pipeline takes; those that nothing looks at may hold anything."""
    names = getattr(pipeline, "feature_names_in_", None)
    categories: list[tuple[Category, ...] | None] = [() for _ in range(pipeline.n_features_in_)]
    taken: dict[int, tuple[Category, ...] | None] = {}
    for k, column in enumerate(maps):
        levels = column.levels
        if levels is None and not column.steps and inner.categories[k] is not None:
            levels = inner.categories[k]  # the last step's own categories
        if taken.setdefault(column.source, levels) != levels:
            raise ValueError(f"column {column.source} is taken in two ways, as numbers and as categories")
        categories[column.source] = levels
    refuses = [column.refuses_unknown for column in maps if column.levels is not None]
    return TableSchema(
        None if names is None else tuple(map(str, names)),
        tuple(categories),
        refuses_unknown=bool(refuses) and all(refuses),
    )


# -- splits ---------------------------------------------------------------------------------------------------


def _moved(forest: Forest, maps: Sequence[ColumnMap], inner: TableSchema, table: TableSchema) -> tuple[Forest, bool]:
    """The same trees, on the columns that are taken; and whether unknown categories go apart from missing ones."""
    feature, threshold = forest.feature.copy(), forest.threshold.copy()
    missing_left = forest.missing_left.copy()
    words: dict[int, NDArray[np.uint32]] = {}
    n_words, apart = np.diff(forest.category_offset), False
    for k in np.unique(forest.feature[forest.feature >= 0]).tolist():
        column, nodes = maps[k], np.flatnonzero(forest.feature == k)
        feature[nodes] = column.source
        if column.values is not None:
            for node in nodes.tolist():
                words[node], missing_left[node], alike = _by_category(forest, node, column, inner.categories[k])
                apart |= not alike
                threshold[node] = 0.0
        elif inner.categories[k] is not None:
            if column.steps or column.filled is not None:
                raise ValueError(f"column {column.source} is transformed before the last step takes its categories")
            for node in nodes[n_words[nodes] > 0].tolist():
                words[node] = _words(forest, node)
        else:
            if not np.isnan(column.missing):
                missing_left[nodes] = column.missing <= threshold[nodes]
            threshold[nodes] = largest_below(column, threshold[nodes])
    sizes = np.zeros(len(feature), dtype=np.int64)
    for node, found in words.items():
        sizes[node] = len(found)
    moved = replace(
        forest,
        n_features=table.n_features,
        feature=feature,
        threshold=threshold,
        missing_left=missing_left,
        category_offset=extents(sizes),
        category_bits=np.concatenate([np.zeros(0, dtype=np.uint32), *(words[node] for node in sorted(words))]),
    )
    return moved, apart


def _words(forest: Forest, node: int) -> NDArray[np.uint32]:
    bits: NDArray[np.uint32] = forest.category_bits[forest.category_offset[node] : forest.category_offset[node + 1]]
    return bits


def _by_category(
    forest: Forest, node: int, column: ColumnMap, inner: tuple[Category, ...] | None
) -> tuple[NDArray[np.uint32], bool, bool]:
    """Which categories go left at a split of their numbers, whether missing ones do, and unknown ones as these."""
    assert column.values is not None
    numbers = np.append(column.values, [column.missing, column.unknown])
    if inner is None:
        left = np.where(np.isnan(numbers), bool(forest.missing_left[node]), numbers <= forest.threshold[node])
    else:
        code, named = (
            {level: k for k, level in enumerate(inner)},
            set(unpack_category_bits(_words(forest, node)).tolist()),
        )
        absent = bool(forest.missing_left[node])
        left = np.array([code[number] in named if number in code else absent for number in numbers.tolist()])
    return pack_category_bits(left[:-2]), bool(left[-2]), bool(left[-1] == left[-2])


_LARGEST = np.finfo(np.float64).max


def largest_below(column: ColumnMap, limit: F64) -> F64:
    """Return the largest number whose transform is at most a limit, for each of several; the least where none is.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.vote.adapters.column_maps import ColumnMap
    >>> from committee.vote.adapters.pipelines import largest_below
    >>> largest_below(ColumnMap(0, steps=(lambda x: (x - 1.0) / 2.0,)), np.array([3.0])).tolist()
    [7.0]
    """
    if not column.steps:
        return limit
    low, high = (np.full(len(limit), _rank(np.array([end]))[0]) for end in (-_LARGEST, _LARGEST))
    while (low < high).any():
        # the mean of two ranks, rounded up, without a sum that is too large; of ranks, so that this ends after 64 steps
        middle = (low | high) - ((low ^ high) >> 1)
        number = _number(middle)
        with np.errstate(over="ignore", invalid="ignore"):
            for step in column.steps:
                number = step(number)
        fits = number <= limit
        low, high = np.where(fits, middle, low), np.where(fits, high, middle - 1)
    return _number(low)


def _rank(number: F64) -> NDArray[np.int64]:
    """Whole numbers in the order of the numbers."""
    bits = number.view(np.int64)
    return np.where(bits < 0, np.int64(-(2**63)) - bits, bits)


def _number(rank: NDArray[np.int64]) -> F64:
    bits: NDArray[np.int64] = np.where(rank < 0, np.int64(-(2**63)) - rank, rank)
    return bits.view(np.float64)
