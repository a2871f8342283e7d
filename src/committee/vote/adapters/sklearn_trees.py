"""scikit-learn's decision trees as a native `Forest`, leaf for leaf."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor

from committee.data.number_types import F64, Index
from committee.vote.adapters.linked_trees import LinkedTrees
from committee.voters.flat_trees import extents
from committee.voters.forest import Forest
from committee.voters.node_order import breadth_first


def are_trees(members: Sequence[Any]) -> bool:
    """Whether all members, fitted, are scikit-learn trees with one output, hence `forest_of_trees` takes them.

    Subclasses from elsewhere are none, as they may vote in another way.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> from committee.vote.adapters.sklearn_trees import are_trees
    >>> are_trees([DummyClassifier().fit([[0.0]], [1])])
    False
    """
    exact = (DecisionTreeClassifier, ExtraTreeClassifier)
    return all(type(member) in exact and member.n_outputs_ == 1 for member in members)


def are_regression_trees(members: Sequence[Any]) -> bool:
    """Whether all members, fitted, are scikit-learn trees of one number, hence `forest_of_trees` takes them.

    Examples
    --------
    >>> are_regression_trees([DecisionTreeRegressor().fit([[0.0]], [1.0])])
    True
    """
    return all(type(each) in (DecisionTreeRegressor, ExtraTreeRegressor) and each.n_outputs_ == 1 for each in members)


def forest_of_trees(
    trees: Sequence[Any],
    *,
    n_features: int,
    classes: NDArray[Any] | None,
    soft: bool,
    features: Sequence[Index] | None = None,
) -> Forest:
    """Copy fitted scikit-learn trees into one forest that sends every row to the same leaves.

    Parameters
    ----------
    trees : sequence of DecisionTreeClassifier, ExtraTreeClassifier or their regressors
        Fitted, with one output.
    n_features : int
        Columns of the matrix that the forest will be given.
    classes : array (K,)
        The labels that the trees use, in the order wanted. A tree may know fewer. None: the trees are regressors.
    soft : bool
        True: leaves hold class shares (``value``, K columns also for two classes: 2 p - 1 would lose digits
        of p, and with them ties). False: leaves vote for their largest class, the first one on ties
        (``label``).
    features : sequence of index arrays, default=None
        The columns that each tree was fitted on; None for all.

    Returns
    -------
    Forest
        Nodes are renumbered breadth-first, since scikit-learn's siblings need not be neighbours. Thresholds
        are moved to where float64 inputs go the way their float32 roundings go there (`float64_threshold`).

    Raises
    ------
    ValueError
        If a tree knows a class that is not in `classes`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from committee.vote.adapters.sklearn_trees import forest_of_trees
    >>> tree = DecisionTreeClassifier().fit([[0.0], [1.0]], ["no", "yes"])
    >>> forest = forest_of_trees([tree], n_features=1, classes=np.array(["no", "yes"]), soft=False)
    >>> forest.votes(np.array([[0.2], [0.8]])).tolist()
    [[0], [1]]
    """
    inner = [_of_numbers(member) for member in trees]
    offset, left, right, split = _children(inner)
    start = np.repeat(offset[:-1], np.diff(offset))
    order, position, _ = breadth_first(left, right, split, offset[:-1])

    columns = _joined(inner, "feature")
    if features is not None:
        columns = np.concatenate([_renamed(tree.feature, subset) for tree, subset in zip(inner, features, strict=True)])
    weight = _joined(inner, "weighted_n_node_samples")
    gain = _gain(inner, weight, left, right, split)
    if classes is None:
        shares = np.concatenate([member.tree_.value[:, 0, :1] for member in trees])
    else:
        shares = np.concatenate([_shares(member, classes, t) for t, member in enumerate(trees)])
    label = np.where(split, -1, np.argmax(shares, axis=1))
    threshold = float64_threshold(np.where(split, _joined(inner, "threshold"), 0.0))
    missing_left = split & _joined(inner, "missing_go_to_left").astype(bool)
    return Forest(
        n_features=n_features,
        n_classes=shares.shape[1],
        offset=offset,
        feature=np.where(split, columns, -1)[order].astype(np.int32),
        threshold=np.where(split, threshold, 0.0)[order],
        left=np.where(split, position[left] - start, -1)[order].astype(np.int32),
        missing_left=missing_left[order].astype(np.uint8),
        category_offset=np.zeros(len(order) + 1, dtype=np.int64),
        category_bits=np.zeros(0, dtype=np.uint32),
        label=None if soft else label[order].astype(np.int32),
        value=shares[order] if soft else None,
        gain=gain[order],
        weight=weight[order],
        count=_joined(inner, "n_node_samples")[order].astype(np.int64),
    )


def linked_trees(trees: Sequence[Any], factor: float) -> LinkedTrees:
    """Return scikit-learn's trees of one number as `LinkedTrees`, their leaves times a factor.

    Thresholds are moved as in `forest_of_trees`.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from committee.vote.adapters.sklearn_trees import linked_trees
    >>> linked_trees([DecisionTreeRegressor().fit([[0.0], [1.0]], [2.0, 4.0])], 0.5).value.tolist()
    [1.5, 1.0, 2.0]
    """
    inner = [_of_numbers(member) for member in trees]
    offset, left, right, split = _children(inner)
    weight = _joined(inner, "weighted_n_node_samples")
    return LinkedTrees(
        root=offset[:-1].astype(np.intp),
        feature=np.where(split, _joined(inner, "feature"), -1),
        threshold=np.where(split, float64_threshold(np.where(split, _joined(inner, "threshold"), 0.0)), 0.0),
        left=np.where(split, left, -1),
        right=np.where(split, right, -1),
        missing_left=split & _joined(inner, "missing_go_to_left").astype(bool),
        value=_joined(inner, "value")[:, 0, 0] * factor,
        gain=_gain(inner, weight, left, right, split),
        weight=weight,
        count=_joined(inner, "n_node_samples").astype(np.int64),
        codes={},
    )


def _of_numbers(member: Any) -> Any:
    """The nodes of a tree, which split on numbers; versions of scikit-learn after 1.9 may split on categories, too."""
    n_categories = np.asarray(getattr(member.tree_, "n_categories", 0))
    if (n_categories > 0).any():
        raise ValueError(
            f"a {type(member).__name__} splits on the categories of column {int(np.argmax(n_categories > 0))}, which "
            "are not read from scikit-learn's decision trees; train with one-hot columns, or HistGradientBoosting*, "
            "whose categories are read."
        )
    return member.tree_


def _children(inner: Sequence[Any]) -> tuple[Index, Index, Index, NDArray[np.bool_]]:
    """Extents of the trees among all nodes, the children of each among them, and which have any."""
    offset = extents([tree.node_count for tree in inner])
    start = np.repeat(offset[:-1], np.diff(offset))
    left, right = (_joined(inner, side) for side in ("children_left", "children_right"))
    split = left >= 0
    left, right = left + start, right + start
    _check_children(left, right, split, offset)
    return offset, left, right, split


def _gain(inner: Sequence[Any], weight: F64, left: Index, right: Index, split: NDArray[np.bool_]) -> F64:
    """What the impurity, weighted by its rows, decreases by at each split."""
    worth = weight * _joined(inner, "impurity")
    return np.where(split, worth - worth[left] - worth[right], 0.0)


def _check_children(left: Index, right: Index, split: NDArray[np.bool_], offset: Index) -> None:
    """Refuse nodes that are no trees, as a crafted file may hold: scikit-learn's children come after their parent."""
    node, end = np.arange(len(left)), np.repeat(offset[1:], np.diff(offset))
    nearest, furthest = np.minimum(left, right), np.maximum(left, right)
    if (split & ((nearest <= node) | (furthest >= end))).any():
        raise ValueError("a tree has nodes whose children are not among those after them; it is no tree")


def float64_threshold(threshold: NDArray[np.float64]) -> NDArray[np.float64]:
    """Largest float64 x whose float32 rounding is <= the threshold.

    scikit-learn's trees compare float32(x) <= threshold. With g the largest float32 <= threshold, x is
    rounded to g or less exactly when it lies below the midpoint of g and its successor, or on it if ties go
    to g, that is if g's last bit is zero (round half to even).

    Parameters
    ----------
    threshold : float64 array
        No NaN. Infinite ones (only missing values go right) become the largest finite number.

    Returns
    -------
    float64 array
        ``x <= float64_threshold(t)`` is float32(x) <= t for every float64 x within the range of float32.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.vote.adapters.sklearn_trees import float64_threshold
    >>> limit = float64_threshold(np.array([0.1]))[0]
    >>> above = np.nextafter(limit, 1.0)
    >>> float(np.float32(limit)) <= 0.1, float(np.float32(above)) <= 0.1
    (True, False)
    """
    with np.errstate(over="ignore"):
        nearest = threshold.astype(np.float32)
        below = np.where(nearest > threshold, np.nextafter(nearest, np.float32(-np.inf)), nearest)
        above = np.nextafter(below, np.float32(np.inf)).astype(np.float64)
    # beyond the largest float32 lies 2**128, as far as rounding is concerned
    above = np.where(np.isinf(above), np.copysign(2.0**128, above), above)
    even = (below.view(np.int32) & 1) == 0
    lower = np.clip(below.astype(np.float64), -(2.0**128), 2.0**128)
    middle = (lower + above) / 2.0  # exact: both have at most 24 bits and are neighbours
    limit = np.where(even, middle, np.nextafter(middle, -np.inf))
    largest = np.finfo(np.float64).max
    return np.where(np.isinf(threshold), np.copysign(largest, threshold), limit)


def _joined(trees: Sequence[Any], name: str) -> NDArray[Any]:
    return np.concatenate([getattr(tree, name) for tree in trees])


def _renamed(feature: Index, subset: Index) -> Index:
    """Columns of the whole matrix for columns of a tree's own subset; leaves (negative) as they are."""
    renamed = feature.copy()
    renamed[feature >= 0] = np.asarray(subset)[feature[feature >= 0]]
    return renamed


def _shares(member: Any, classes: NDArray[Any], t: int) -> NDArray[np.float64]:
    """Class shares of a tree's nodes, a column for every class."""
    place = {label: k for k, label in enumerate(classes.tolist())}
    columns = [place.get(label, -1) for label in member.classes_.tolist()]
    if -1 in columns:
        unknown = member.classes_[columns.index(-1)]
        raise ValueError(f"trees[{t}] votes for {unknown!r}, which is not among {classes.tolist()}.")
    own = member.tree_.value[:, 0, :]
    shares = np.zeros((len(own), len(classes)))
    shares[:, columns] = own
    return shares
