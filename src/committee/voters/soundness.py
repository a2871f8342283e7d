"""What makes flat trees safe to walk: no walk leaves the arrays, and every walk ends."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from committee.voters.forest import Forest
    from committee.voters.rounds import Rounds

MAX_CLASSES = int(np.iinfo(np.int16).max)
"""Votes are class indices in 16 bits, one of them negative for "abstains"."""
MAX_FEATURES = 2**29 - 1
"""The native node keeps its feature in 29 bits."""


def check_forest(forest: "Forest") -> None:
    """Look at every value of a forest, trusting none; `Forest.check` is this function.

    Parameters
    ----------
    forest : Forest
        Its arrays have the right types and sizes, as its construction made sure.

    Raises
    ------
    ValueError
        Naming the array, the tree and the node at fault.

    Examples
    --------
    ``check_forest(forest)`` returns nothing for a forest that training made.
    """
    if not 1 <= forest.n_features <= MAX_FEATURES:
        raise ValueError(f"n_features is {forest.n_features}; it must be within 1 and {MAX_FEATURES}.")
    if not 1 <= forest.n_classes <= MAX_CLASSES:
        raise ValueError(f"n_classes is {forest.n_classes}; it must be within 1 and {MAX_CLASSES}.")
    check_extents("offset", forest.offset, len(forest.feature), least=1)
    check_extents("category_offset", forest.category_offset, len(forest.category_bits), least=0)
    _check_structure(forest)
    _check_votes(forest)
    _check_record(forest)


def check_rounds(rounds: "Rounds") -> None:
    """Look at every value of the rounds of a booster; `Rounds.check` is this function.

    Parameters
    ----------
    rounds : Rounds
        Whole rounds of single numbers, as their construction made sure.

    Raises
    ------
    ValueError
        Naming what is wrong.

    Examples
    --------
    ``check_rounds(rounds)`` returns nothing for rounds that training made.
    """
    if rounds.n_outputs > MAX_CLASSES:
        raise ValueError(f"n_outputs is {rounds.n_outputs}; it must be within 1 and {MAX_CLASSES}.")
    check_forest(rounds.forest)


def check_extents(name: str, extents: NDArray[np.int64], end: int, least: int) -> None:
    """Refuse extents that do not start at 0, rise (strictly if `least`) and stop at `end`; differences could wrap."""
    if extents[0] != 0:
        raise ValueError(f"{name} starts at {extents[0]}; it must start at 0.")
    fallen = extents[1:] < extents[:-1] if least == 0 else extents[1:] <= extents[:-1]
    if fallen.any():
        at = int(np.argmax(fallen))
        raise ValueError(f"{name} goes from {extents[at]} to {extents[at + 1]} at {at}; it must rise.")
    if extents[-1] != end:
        raise ValueError(f"{name} ends at {extents[-1]}; it must end at {end}.")


def _check_structure(forest: "Forest") -> None:
    """Each node but the root has exactly one parent, and that one comes before it."""
    feature, left, leaf = forest.feature, forest.left, forest.feature < 0
    size = np.repeat(forest.n_nodes, forest.n_nodes)
    first = np.repeat(forest.offset[:-1], forest.n_nodes)
    number = np.arange(len(feature)) - first
    outside = (feature < -1) | (feature >= forest.n_features)
    _refuse(forest, "feature", outside, f"not within -1 and {forest.n_features - 1}")
    _refuse(forest, "left", leaf & (left != -1), "not -1 at a leaf")
    _refuse(forest, "left", ~leaf & (left <= number), "not after its parent")
    # the right child is left + 1; in 64 bits, as a crafted file can hold the largest number of 32
    _refuse(forest, "left", ~leaf & (left.astype(np.int64) + 1 >= size), "beyond the end of its tree")
    child = (first + left)[~leaf]
    parents = np.bincount(np.concatenate([child, child + 1]), minlength=len(feature))
    _refuse(forest, "left", parents != (number > 0), "such that a node has not exactly one parent", parents)
    _refuse(forest, "missing_left", forest.missing_left > 1, "neither 0 nor 1")
    # +inf parts every value from the missing ones
    _refuse(forest, "threshold", ~(forest.threshold > -np.inf), "neither finite nor +inf")
    words = np.diff(forest.category_offset)
    _refuse(forest, "category_offset", leaf & (words > 0), "such that a leaf has category bits", words)


def _check_votes(forest: "Forest") -> None:
    """Leaves vote for classes that exist, or with numbers that are some."""
    if forest.label is not None:
        outside = (forest.label < -1) | (forest.label >= forest.n_classes)
        _refuse(forest, "label", outside, f"not within -1 and {forest.n_classes - 1}")
        _refuse(forest, "label", (forest.feature >= 0) & (forest.label != -1), "not -1 at an inner node")
    if forest.value is not None:
        D = forest.value.shape[1]
        if forest.n_classes != D and not (forest.n_classes == 2 and D == 1):
            raise ValueError(f"value has {D} columns for {forest.n_classes} classes.")
        _refuse(forest, "value", ~np.isfinite(forest.value).all(axis=1), "not finite")


def _check_record(forest: "Forest") -> None:
    """The training record holds numbers that a training could have left."""
    _refuse(forest, "gain", ~np.isfinite(forest.gain), "not finite")
    _refuse(forest, "weight", ~np.isfinite(forest.weight) | (forest.weight < 0), "not a finite number >= 0")
    _refuse(forest, "count", forest.count < 0, "negative")


def _refuse(
    forest: "Forest",
    name: str,
    bad: NDArray[np.bool_] | np.bool_,
    fault: str,
    shown: NDArray[Any] | None = None,
) -> None:
    """Raise for the first bad node, showing its value in array `name` or in `shown`."""
    if bad.any():
        node = int(np.argmax(bad))
        tree = int(np.searchsorted(forest.offset, node, side="right")) - 1
        found = (getattr(forest, name) if shown is None else shown)[node]
        raise ValueError(f"{name} is {fault} (found {found}) at node {node - forest.offset[tree]} of tree {tree}.")
