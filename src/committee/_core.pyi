"""Signatures of the native kernels (``core/``): loops over rows, bins and nodes.

Long loops release the GIL. Arrays must be C-contiguous unless stated otherwise, and results are new NumPy arrays unless
an argument is changed in place. Arrays of a grown tree are mostly read-only views of it, made at each access.
``n_threads`` is an upper limit: small work stays on one thread, and every result has the same bits for any value.
"""

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

F64: TypeAlias = NDArray[np.float64]
F32: TypeAlias = NDArray[np.float32]
I64: TypeAlias = NDArray[np.int64]
I32: TypeAlias = NDArray[np.int32]
I8: TypeAlias = NDArray[np.int8]
U64: TypeAlias = NDArray[np.uint64]
U32: TypeAlias = NDArray[np.uint32]
U16: TypeAlias = NDArray[np.uint16]
U8: TypeAlias = NDArray[np.uint8]
Codes: TypeAlias = U8 | U16
Nodes: TypeAlias = tuple[I32, I32, I32, U8, I64, U32, F64, I64, F64]
Criterion: TypeAlias = Literal[
    "gini", "entropy", "error", "confidence", "abstaining", "squared_error", "absolute_error", "poisson"
]

source_digest: str
"""Digest of the kernels' sources without comments, 16 hexadecimal digits."""

# --- lane_types.hpp ----------------------------------------------------------------------------------------

def lane_bytes() -> int:
    """Bytes of the vectors that kernels use: 64, 32 or 16, by default the widest of the processor."""

def use_lane_bytes(bytes: int) -> None:
    """Limit the vectors of all threads to this width; every result has the same bits."""

def work_per_thread() -> int:
    """Number of elementary operations for which a call starts another thread."""

def use_work_per_thread(work: int) -> None:
    """Set `work_per_thread`; every result has the same bits."""

# --- bins.hpp ----------------------------------------------------------------------------------------------

def bin_edges(
    X: F64, weights: F64 | None, n_categories: I32, max_bins: int, max_sample: int, n_threads: int
) -> tuple[F64, I64]:
    """Edges of every column's bins: ``edges[offset[j]:offset[j + 1]]``, strictly increasing.

    A value x falls into bin ``b`` = number of edges < x, so ``x <= edges[b]`` means bin <= b. Columns with
    ``n_categories[j] > 0`` get no edges. A column with at most ``max_bins`` distinct values gets one bin per value
    (edges half-way between); others get edges at weighted quantiles of at most ``max_sample`` rows, chosen by a hash of
    their numbers (`sample_levels`). Rows of weight 0 do not count.
    """

def bin_codes(X: F64, edges: F64, offset: I64, n_categories: I32, wide: bool, n_threads: int) -> Codes:
    """Bin numbers, row-major, ``uint16`` when ``wide``.

    NaN, and a category code out of range, gets the bin after the last.
    """

# --- column_assembly.hpp -----------------------------------------------------------------------------------

def put_together(columns: Sequence[F64 | F32], matrix: F64, first: int, n_threads: int) -> bool:
    """Fill the columns ``first, first + 1, ...`` of a matrix, in place; True if one of their cells is infinite.

    The `columns` ``(n,)`` may have strides.
    """

# --- sampled_rows.hpp, distinct_values.hpp -----------------------------------------------------------------

def sample_levels(first: int, n: int) -> U8:
    """Number of trailing zero bits of the hash of each row number ``first, ..., first + n - 1``; 64 of a zero hash."""

def distinct_values(known: F64, column: F64, most: int) -> F64 | None:
    """Sorted distinct values of both arrays together, without NaN; None if there are more than ``most``."""

# --- sparse_bins.hpp ---------------------------------------------------------------------------------------

def sparse_bin_edges(
    start: I64,
    column: I32,
    value: F64,
    n_columns: int,
    weights: F64 | None,
    max_bins: int,
    max_sample: int,
    n_threads: int,
) -> tuple[F64, I64]:
    """`bin_edges` of a sparse table: row i has the cells ``start[i]:start[i + 1]``; all others are 0.

    Columns ascend within a row.
    """

class SparseCodes:
    """Bin numbers of a sparse table, which stores only the cells outside the bin of 0."""

    shape: tuple[int, int]
    nbytes: int
    def __init__(self, start: I64, column: I32, value: F64, edges: F64, offset: I64, n_threads: int) -> None: ...
    def __len__(self) -> int: ...
    def column(self, feature: int) -> U16:
        """Bin numbers of one column, ``(n,)``."""

def dense_rows(
    start: I64, column: I32, value: F64, place: I32, n_places: int, first: int, last: int, n_threads: int
) -> F64:
    """Rows ``first:last`` with all cells, ``(last - first, n_places)``; column j is at ``place[j]``; -1 omits it."""

# --- histogram.hpp -----------------------------------------------------------------------------------------

def class_histogram(
    codes: Codes, n_bins: I32, labels: U16, n_classes: int, weights: F64, rows: I32 | None, n_threads: int
) -> tuple[F64, I64]:
    """Weight and row count per (class, cell): two arrays ``(n_classes, sum(n_bins + 1))``.

    ``n_bins[j]`` counts the value bins of feature j; its cells are followed by one for missing values.
    Weights are summed as fixed-point integers, hence exactly and in any order; each is rounded to
    2**-(63 - bit_length(n)) of the largest possible total.
    """

def histogram_seconds(
    codes: Codes, n_bins: I32, labels: U16, n_classes: int, weights: F64, rows: I32 | None, repeats: int, n_threads: int
) -> F64:
    """Wall seconds of `class_histogram`'s kernel alone, ``(repeats,)``, for benchmarks."""

# --- table_grower.hpp --------------------------------------------------------------------------------------

class TreeNodes:
    """One tree as flat arrays over its N nodes; node 0 is the root, children are adjacent."""

    def __init__(self, nodes: Nodes) -> None:
        """Rebuild a tree from its `nodes`; ``ValueError`` for arrays that are not those of a tree."""
    def nodes(self) -> Nodes:
        """All arrays, in the order below."""
    feature: I32
    """Feature split on, -1 for a leaf."""
    bin: I32
    """Bins <= ``bin`` go left; -1 for leaves and categorical splits."""
    left: I32
    """Left child (the right one is ``left + 1``), -1 for a leaf."""
    missing_left: U8
    category_offset: I64
    """``category_bits[category_offset[i]:category_offset[i + 1]]``: bit c set: category c goes left."""
    category_bits: U32
    gain: F64
    """0 for leaves."""
    count: I64
    """Training rows that reached the node."""
    sums: F64
    n_classes: int
    """Number of classes if the tree has `leaf_sums`, else 0."""
    def leaf_sums(self) -> tuple[I64, U16, F64, F64] | None:
        """Classes at the leaves of a deep tree of more than two classes; None for other trees.

        Leaf i holds the classes ``label[offset[i]:offset[i + 1]]``, ascending, with the weights ``sum``. ``total`` has
        the weight of every node, with the bits of ``sums.sum(axis=1)``. The order is offset, label, sum, total.
        """

def joined_nodes(trees: Sequence[TreeNodes]) -> tuple[I64, I32, I32, I32, U8, I64, U32, F64, I64]:
    """Nodes of all trees end to end: the number of nodes of each tree, then the arrays of `TreeNodes.nodes` but sums.

    Children keep their numbers within the tree; category offsets count over all trees.
    """

class GrownTree(TreeNodes):
    """Tree of `Grower` or `DeepGrower`. ``gain``: increase of the criterion's score by the split.

    ``sums``: ``(N, planes)`` sufficient statistics: class weights; (no, yes) weights per class for "confidence" with
    several outputs; of targets as in `Grower.grow_targets`.
    """

    def __init__(self, nodes: Nodes, leaf_of_row: I32 | None) -> None: ...

    leaf_of_row: I32
    """``(n,)``: leaf of every row in ``rows``; -1 elsewhere. None after `forget_rows`."""
    def forget_rows(self) -> None:
        """Free ``leaf_of_row``, the only array with an entry for each row of the table."""

class Grower:
    """Grower of trees on one binned table. It holds the buffers that all trees of a boosting run share."""

    def __init__(
        self,
        codes: Codes | SparseCodes,
        n_bins: I32,
        categorical: U8,
        criterion: Criterion,
        n_classes: int,
        *,
        max_depth: int,
        max_leaf_nodes: int,
        min_samples_leaf: int,
        min_weight_leaf: float,
        min_gain: float,
        max_features: int,
        max_features_tree: int = 0,
        feature_weights: U32 | None = None,
        n_threads: int,
    ) -> None:
        """0 means no limit for ``max_depth`` and ``max_leaf_nodes``, and all columns for the other ``max_`` arguments.

        ``min_weight_leaf`` and ``min_gain`` are shares of the total weight. Each tree draws ``max_features_tree``
        columns, and each node ``max_features`` of these.
        """
    def grow_classes(self, labels: U16, weights: F64, rows: I32 | None, seed: int) -> GrownTree:
        """Grow a tree on class labels, by a criterion for classes.

        ``weights`` is ``(n,)``, or ``(n, n_classes)`` for AdaBoost.MH ("confidence" only).
        """
    def grow_targets(self, targets: F64, weights: F64, rows: I32 | None, seed: int) -> GrownTree:
        """Grow a tree on targets ``(n,)``, or ``(n, q)`` whose errors are summed, by "squared_error" or "poisson".

        ``sums``: ``(N, 1 + q)``, the weight of each node's rows and their weighted targets.
        """

# --- deep/grower.hpp ---------------------------------------------------------------------------------------

class DeepGrower:
    """Grower of the deep trees of forests on one binned table, depth-first, in time proportional to a node's rows.

    Splits are those of `Grower`. One grower may be used from many threads at once; each call runs on the thread that
    makes it.
    """

    def __init__(
        self,
        codes: Codes | SparseCodes,
        n_bins: I32,
        categorical: U8,
        criterion: Literal["gini", "entropy", "squared_error", "absolute_error", "poisson"],
        n_classes: int,
        *,
        max_depth: int,
        min_samples_leaf: int,
        min_weight_leaf: float,
        min_gain: float,
        max_features: int,
        max_features_tree: int = 0,
        feature_weights: U32 | None = None,
        n_threads: int,
    ) -> None:
        """Parameters as for `Grower`; ``n_threads`` is used to lay out the table."""
    def grow_classes(self, labels: U16, weights: F64, rows: I32 | None, seed: int) -> GrownTree: ...
    def grow_targets(self, targets: F64, weights: F64, rows: I32 | None, seed: int) -> GrownTree: ...

def walk_codes(codes: Codes | SparseCodes, n_bins: I32, tree: TreeNodes, rows: I32) -> I32:
    """Leaf of each row ``rows[i]`` of a binned table in a tree, ``(len(rows),)``."""

# --- gradient/first_splits.hpp -----------------------------------------------------------------------------

def first_split_gains(
    codes: Codes | SparseCodes,
    n_bins: I32,
    categorical: U8,
    gradient: F64,
    hessian: F64,
    rows: I32 | None,
    least: int,
    l2: float,
    n_threads: int,
) -> F64:
    """Gain of the best split of the rows on each column, ``(p,)``; -inf where none leaves `least` rows on both sides.

    With the sums G and H of gradients and hessians ``(D, n)`` of each side a split gains sum_d [G_d^2 / (H_d + l2)],
    left plus right. A numeric column is split at a threshold, missing values on the right; a categorical one between a
    category and the others.
    """

# --- gradient/grower.hpp -----------------------------------------------------------------------------------

class GradientTree(TreeNodes):
    """Tree of `GradientGrower`. ``gain``: gain of the split in the second-order objective.

    ``sums``: ``(N, 2 D)``, G_1 .. G_D, H_1 .. H_D over the rows of each node, in full precision.
    """

    def __init__(self, nodes: Nodes, value: F64, bounds: F64, weight: F64 | None = None) -> None: ...

    value: F64
    """``(N, D)``: the regularised weight of every node, within its bounds."""
    bounds: F64
    """``(N, 2)``: least and largest weight that monotone constraints leave; infinite without them."""
    weight: F64 | None
    """``(N,)``: weight of the rows of each node; None if rows have no weights."""

class GradientGrower:
    """Grower of trees on gradients and hessians of one binned table. It holds the buffers of all trees of a run.

    Splits maximise V(left) + V(right) - V(node). With s = max(0, |G| - l1)^2 / (2 (H + l2)) the value V of a node is
    the sum over the outputs of max(0, s - l0) - or, with ``l0_per_leaf`` (XGBoost's gamma), of s - l0.
    """

    def __init__(
        self,
        codes: Codes | SparseCodes | None,
        n_bins: I32,
        categorical: U8,
        *,
        n_outputs: int,
        max_depth: int,
        max_leaf_nodes: int,
        min_samples_leaf: int,
        min_hessian_leaf: float,
        leaf_l0: float,
        leaf_l1: float,
        leaf_l2: float,
        l0_per_leaf: bool,
        min_gain: float,
        max_features: int,
        growth: Literal["leaf", "depth"],
        monotone: NDArray[np.int8] | None,
        max_interaction: int,
        interaction_groups: list[I32],
        draw_thresholds: float,
        max_weight: float = ...,
        feature_weights: U32 | None = None,
        n_threads: int,
    ) -> None:
        """0 means no limit for ``max_depth``, ``max_leaf_nodes``, ``max_features`` and ``max_interaction``.

        Without codes trees are grown on shards, by `grow_on_shards` alone. Both sides of a split have
        ``min_samples_leaf`` rows and ``min_hessian_leaf`` hessian (summed over outputs). A path splits on at most
        ``max_interaction`` columns, all in one of the ``interaction_groups`` (ascending); without groups, on any.
        ``max_features`` are drawn for each node, or the same share of the columns that it may use. ``monotone`` has a
        row of signs for each score, or one for all. Nodes of a share ``draw_thresholds`` of the trees, drawn by their
        seeds, try one random threshold or category of each feature. Leaf weights are within +-``max_weight``.
        ``feature_weights`` ``(p,)``: the next feature that is drawn has a probability proportional to its weight.
        """
    def grow(
        self,
        gradient: F64,
        hessian: F64,
        rows: I32 | None,
        features: I32 | None,
        seed: int,
        score: int = 0,
        weights: F64 | None = None,
    ) -> GradientTree:
        """Grow a tree on gradients and hessians, ``(n,)`` or ``(D, n)``; ``rows`` and ``features`` ascend.

        The tree follows the signs of row ``score`` of ``monotone``, or of its only row. ``weights`` ``(n,)`` are the
        row weights that both already contain: a row of whole weight k adds to the bit what k rows add.
        """
    def grow_on_shards(
        self,
        scale: RoundScale,
        layout: WordLayout,
        root: U64,
        features: I32 | None,
        seed: int,
        score: int,
        largest_weight: float | None,
        part: Callable[[I32, I32, I32, U8, U8], U64],
        leaf_sums: Callable[[I32, I32, int], I64],
    ) -> GradientTree:
        """Grow the tree that `grow` would give for all rows in one table, from sums over `GradientShard`.

        ``root`` is the histogram of all rows. ``part`` and ``leaf_sums`` call the shards' methods of that name and
        return the sum of what these return; ``largest_weight`` is None if rows have no weights.
        """
    @property
    def n_outputs(self) -> int: ...
    @property
    def leaf_of_row(self) -> I32:
        """``(n,)``: leaf of every row of the table in the tree grown last; the next tree overwrites it."""

# --- gradient_round.hpp ----------------------------------------------------------------------------------

class BoostingRounds:
    """Rounds of boosting of rows that weigh alike, one call each; scores `F` ``(D, n)`` move in place.

    The rows of a round are all, the listed `rows`, or `rows_below` of `place`. With `X` leaves have lines along its
    ``numeric`` columns, as `LineSums.lines` of `l2`.
    """

    def __init__(
        self,
        grower: GradientGrower,
        loss: Literal["logistic", "softmax", "squared"],
        y: NDArray[np.generic],
        F: F64,
        step: float,
        rows: I32 | None,
        place: F64 | None,
        bound: int,
        among: U8 | None,
        X: F64 | None,
        numeric: U8,
        l2: float,
    ) -> None: ...
    def advance(
        self, row_seed: int, tree_seed: int
    ) -> tuple[list[GradientTree], list[tuple[I64, I32, F64, F64, F64, F64]], float]:
        """Grow the trees of a round; tree k has the seed ``tree_seed + k``. Return them, with `X` their lines as
        `lines_of_sums`, and the largest |value|; trees after one with a value that is not finite are missing.
        """

# --- gradient/shard.hpp ------------------------------------------------------------------------------------

WordLayout: TypeAlias = tuple[bool, bool, int, int, int, int, float, float]
"""Layout of a gradient, a hessian and a count in one word, or in two (gradient_words.hpp)."""
Begun: TypeAlias = tuple[int, float, float, bool, float, float, int, int, float]
"""Summary of a shard's rows in a tree: their number, the largest gradient and hessian, True if all are
numbers and no hessian is negative; the largest per unit of weight, the number of units (0: weights are not whole
numbers), the most units of a row, and the largest weight."""

class GradientShard:
    """Part of a table's rows. The tree is grown elsewhere; a shard partitions its rows and returns histograms."""

    def __init__(self, codes: Codes, n_bins: I32, *, n_outputs: int, n_threads: int) -> None: ...
    def begin(self, gradient: F64, hessian: F64, weights: F64 | None, rows: I32 | None, features: I32 | None) -> Begun:
        """Begin a tree; the arguments are those of `GradientGrower.grow`, and ``rows`` may be empty."""
    def pack(self, layout: WordLayout, by_units: bool) -> tuple[int, int]:
        """Round gradients and hessians, and return the sums of |gradient| and of hessian as whole numbers."""
    def root(self, narrow: bool) -> U64:
        """Histogram of the tree's rows: words (`narrow`), or wide planes."""
    def part(self, place: I32, left: I32, feature: I32, flags: U8, is_left: U8) -> U64:
        """Partition the rows of nodes, given by their places, and return the chosen histograms end to end.

        The root has place 0; children have the places ``left`` and ``left + 1``. ``flags``: 1 if a child is counted,
        + 2 the left one, + 4 in words. ``is_left``: a flag for each bin of each node's feature, end to end.
        """
    def leaf_sums(
        self,
        places: I32,
        ids: I32,
        n_nodes: int,
        largest_gradient: float,
        largest_hessian: float,
        largest_weight: float | None,
    ) -> I64:
        """``(n_nodes, 2 D [+ 1], 4)``: sums over the leaves, as whole numbers that can be added up (`sums_of_limbs`).

        From then on `leaf_of_row` has the leaves' ``ids``.
        """
    @property
    def leaf_of_row(self) -> I32:
        """``(n,)``: leaf of every row, -1 for rows that the tree was not grown on; the next tree overwrites it."""

class RoundScale:
    """Maxima and numbers of rows and of units of weight over all rows of a tree, which determine its `WordLayout`."""

    def __init__(
        self,
        largest_gradient: float,
        largest_hessian: float,
        sound: bool,
        units: int,
        most_units: int,
        n_rows: int,
        n_outputs: int,
    ) -> None:
        """The largest gradient and hessian are per unit of weight if there are ``units``."""
    def layout(self) -> WordLayout:
        """Layout in words, or `wide` if the numbers do not fit; `fine_enough` checks it once rows are packed."""
    def wide(self) -> WordLayout:
        """Layout in two wide planes instead of words."""
    def fine_enough(self, layout: WordLayout, gradients: int, hessians: int) -> bool:
        """True if words with these sums leave enough digits to the mean gradient and hessian."""
    def is_narrow(self, layout: WordLayout) -> bool:
        """True if the histogram of all rows is one of words."""
    @property
    def by_units(self) -> bool:
        """True if weights are whole numbers, so that a row of weight k adds to the bit what k rows add."""
    @property
    def largest_gradient(self) -> float:
        """Upper bound on the |gradient| of a row; exact without units."""
    @property
    def largest_hessian(self) -> float:
        """Upper bound on the hessian of a row; exact without units."""

def node_sums(terms: F64, node: I32, n_nodes: int, largest: F64) -> I64:
    """``(n_nodes, k, 4)``: sums of terms ``(k, n)`` over the rows of each node, independent of the order of the rows.

    Terms are at most ``largest`` ``(k,)``; rows of node -1 count nowhere. See `sums_of_limbs`.
    """

def sums_of_limbs(limbs: I64, largest: F64) -> F64:
    """``(N, k)``: results of `node_sums`, or of adding several of them, as float64."""

def largest_size(values: F64) -> float:
    """Largest absolute value, 0 for an empty array; NaN if any value is NaN."""

def add_leaf_values(scores: F64, leaf_of_row: I32, value: F64, n_threads: int) -> None:
    """``scores[i] += value[leaf_of_row[i]]`` in place; rows of leaf -1 stay unchanged."""

# --- traverse.hpp ------------------------------------------------------------------------------------------

class Trees:
    """T flat trees ready to be walked; arrays are those of `committee.voters.flat_trees.FlatTrees`.

    All are checked before anything is built; ``ValueError`` names the fault.
    """

    def __init__(
        self,
        n_features: int,
        offset: I64,
        feature: I32,
        threshold: F64,
        left: I32,
        missing_left: U8,
        category_offset: I64,
        category_bits: U32,
    ) -> None: ...
    def apply(self, X: F64, n_threads: int) -> I32:
        """``(n, T)``: leaf that each row reaches, numbered within its tree."""
    def tally_labels(self, X: F64, label: I32, weights: F64, n_classes: int, n_threads: int) -> F64:
        """``(n, n_classes)``: sum of the weights of the trees whose leaf votes for each class; label -1 abstains."""
    def sum_values(self, X: F64, value: F64, weights: F64, n_threads: int) -> F64:
        """``(n, D)``: weighted sum over the trees of ``value[leaf]``, value ``(N, D)``."""
    def sum_shares(
        self, X: F64, offset: I64, label: U16, share: F64, weights: F64, n_classes: int, n_threads: int
    ) -> F64:
        """``(n, n_classes)``: as `sum_values`; node i has the shares ``offset[i]:offset[i + 1]`` of their labels."""
    def sum_outputs(self, X: F64, value: F64, weights: F64, n_outputs: int, n_threads: int) -> F64:
        """``(n, n_outputs)``: tree ``t * n_outputs + k`` adds ``weights[t] * value[leaf]`` to output k.

        ``value`` is ``(N,)``, ``weights`` one for every round of ``n_outputs`` trees; summed in the order of the trees.
        """

# --- tree_shap.hpp -----------------------------------------------------------------------------------------

def tree_contributions(
    X: F64,
    n_features: int,
    offset: I64,
    feature: I32,
    threshold: F64,
    left: I32,
    missing_left: U8,
    category_offset: I64,
    category_bits: U32,
    cover: F64,
    value: F64,
    weights: F64,
    n_outputs: int,
    n_threads: int,
) -> F64:
    """``(n, n_features + 1, n_outputs)``: path-dependent Shapley values of the weighted sum; last its expected value.

    Trees as for `Trees`; ``cover`` ``(N,)`` is the weight of the training rows in each node. ``value`` is ``(N, D)``
    with ``D == n_outputs``, or ``(N, 1)``: then tree ``t * n_outputs + k`` is for output k, as in `Trees.sum_outputs`.
    """

# --- interventional.hpp ------------------------------------------------------------------------------------

def interventional_contributions(
    X: F64,
    Z: F64,
    n_features: int,
    offset: I64,
    feature: I32,
    threshold: F64,
    left: I32,
    missing_left: U8,
    category_offset: I64,
    category_bits: U32,
    value: F64,
    weights: F64,
    n_outputs: int,
    line_start: I64,
    line_column: I32,
    line_slope: F64,
    line_centre: F64,
    line_low: F64,
    line_high: F64,
    n_threads: int,
) -> F64:
    """``(n, n_features + 1, n_outputs)``: Shapley values of the weighted sum; left-out features have the values of Z.

    They are means over the rows of Z ``(m, n_features)``; last is the mean score of these rows. Lines are those of
    `LineTrees`; with an empty ``line_start`` there are none. All else as for `tree_contributions`.
    """

# --- shap/interactions.hpp ---------------------------------------------------------------------------------

def tree_interactions(
    X: F64,
    n_features: int,
    offset: I64,
    feature: I32,
    threshold: F64,
    left: I32,
    missing_left: U8,
    category_offset: I64,
    category_bits: U32,
    cover: F64,
    value: F64,
    weights: F64,
    n_outputs: int,
    n_threads: int,
) -> F64:
    """``(n, n_features, n_features, n_outputs)``: path-dependent interaction values for i < j, zero elsewhere.

    Arguments as for `tree_contributions`.
    """

# --- emphasis.hpp ------------------------------------------------------------------------------------------

def scale_rows(weights: F64, leaf_of_row: I32, labels: U16, factor: F64, n_threads: int) -> float:
    """``weights[i] *= factor[leaf_of_row[i], labels[i]]`` in place (leaf -1: unchanged); returns the new sum.

    With ``weights`` ``(n, K)`` (AdaBoost.MH) and factor ``(N, 2K)``:
    ``weights[i, l] *= factor[leaf, 2 l + (labels[i] == l)]``.
    """

# --- row_digests.hpp ---------------------------------------------------------------------------------------

def row_digests(X: F64, column_number: U64, n_threads: int) -> U64:
    """Sums of hashes of each row's cells in single precision, mixed with their columns' numbers; zeros add nothing."""

def column_digests(X: F64, row_number: U64) -> U64:
    """Sums of hashes of each column's cells, mixed with their rows' numbers, as for `row_digests`."""

def stored_row_digests(start: I64, column: I32, value: F64, column_number: U64, n_threads: int) -> U64:
    """`row_digests` of sparse rows: row i has the cells ``start[i]:start[i + 1]``; all others are 0."""

def stored_column_digests(start: I64, column: I32, value: F64, row_number: U64, n_columns: int) -> U64:
    """`column_digests` of sparse rows, as for `stored_row_digests`."""

# --- linear_boost.hpp --------------------------------------------------------------------------------------

def newton_terms(link: Literal["probit", "logit"], x: F64, rough: bool = False) -> tuple[F64, F64, F64]:
    """-Q'(x), Q''(x) and Q(x) of the margin loss: -ln Phi(x) for probit, ln(1 + exp(-x)) for logit.

    Rough ones, of probit alone, are computed in single precision, and their third array is 0.
    """

def linear_boost(
    D: F64,
    rows: I32,
    start: I64,
    labels: U16,
    weights: F64,
    n_outputs: int,
    link: Literal["probit", "logit"],
    n_steps: int,
    tol: float,
    cap: float,
    by_likelihood: bool,
    record: bool,
    n_threads: int,
    most_classes: int = 0,
) -> tuple[F64, F64, F64, I32, F64]:
    """Component-wise Newton boosting of a linear score in every leaf; leaf l has ``rows[start[l]:start[l + 1]]``.

    ``n_outputs`` 1: two classes, positive for label 1; otherwise output k is "class k or not". Weights must be
    positive. No training score passes ``cap``; a step is halved until the risk decreases, and boosting stops when it
    decreases by less than ``tol`` per unit of weight. Returns intercepts ``(L, O)``, coefficients ``(L, O, q)``, the
    scores of ``rows`` ``(m, O)``, the feature of every step ``(L, O, B)`` (-1: the intercept alone, -2: not taken) and
    the mean risk before and after every step ``(L, O, B + 1)``. Without ``record``: no features, and the last risk.

    In a leaf of more than ``most_classes`` classes an output is boosted on the rows of its class and a sample of the
    others; 0: on all rows. Sampled outputs have no record.
    """

def joint_boost(
    D: F64,
    rows: I32,
    start: I64,
    labels: U16,
    weights: F64,
    n_outputs: int,
    link: Literal["probit", "logit"],
    n_steps: int,
    tol: float,
    cap: float,
    n_threads: int,
) -> tuple[F64, F64, F64, I32, F64, F64]:
    """Component-wise gradient boosting of the scores of all classes together, in every leaf; as `linear_boost`.

    The model is Psi(F_k) over its sum, Psi = Phi or sigma. Risks ``(L, O, B + 1)`` are each class's part of the mean
    negative log-likelihood: their sum over the outputs is the risk. Returns the lines of the steps, too, ``(L, O, B,
    2)``: their intercepts and slopes.
    """

def held_out_errors(
    D: F64,
    rows: I32,
    begin: I64,
    end: I64,
    labels: U16,
    weights: F64,
    held_out: U8,
    n_outputs: int,
    link: Literal["probit", "logit"],
    n_steps: int,
    cap: float,
    most_rows: int,
    n_threads: int,
    most_classes: int = 0,
) -> F64:
    """Weight of the held-out rows that each node's own scores misclassify; node v has ``rows[begin[v]:end[v]]``.

    The scores are boosted as by `linear_boost` on those of its rows that are not held out, at most ``most_rows`` of
    them at even distances in the list, and with samples of these if they have more than ``most_classes`` classes. A
    node without such rows misclassifies all.
    """

def leaf_products(D: F64, rows: I32, start: I64, values: F64) -> F64:
    """Sums of ``values`` ``(m, O)`` times the rows of ``D`` less the leaf's first row, ``(L, O, q)``.

    Leaf l has ``rows[start[l]:start[l + 1]]``, and ``values`` are in the order of ``rows``.
    """

# --- leaf_models.hpp ---------------------------------------------------------------------------------------

class LeafModelTrees:
    """Trees as `Trees`, whose leaves hold linear scores: row ``model[leaf]`` of intercept and coefficient."""

    def __init__(
        self,
        n_features: int,
        offset: I64,
        feature: I32,
        threshold: F64,
        left: I32,
        missing_left: U8,
        category_offset: I64,
        category_bits: U32,
        model: I32,
        intercept: F64,
        coefficient: F64,
    ) -> None: ...
    def scores(self, X: F64, D: F64, n_threads: int) -> F64:
        """``(n, T, O)``: trees split on the rows of X, leaf models use those of D."""
    def votes(self, X: F64, D: F64, n_threads: int) -> NDArray[np.int16]:
        """``(n, T)`` class numbers: the sign of one output, or the (first) largest of several."""
    def tally_probabilities(
        self, X: F64, D: F64, weights: F64, link: Literal["probit", "logit"], n_threads: int
    ) -> F64:
        """``(n, K)``: sum over the trees of their weight times their class probabilities."""
    def tally_committees(
        self, X: F64, D: F64, weights: F64, start: I64, n_classes: int, hard: bool, n_threads: int
    ) -> F64:
        """``(n, n_classes)``: sum over committees m, the trees ``start[m]:start[m + 1]`` with their weights.

        Each adds a vote for its winner (`hard`), or its classes' shares of its weight.
        """

# --- leaf_index.hpp ----------------------------------------------------------------------------------------

class LeafPlaces:
    """Rows in the leaves of T trees: ``codes[t, i]`` is row i's leaf in tree t, one of ``start[t + 1] - start[t]``."""

    def __init__(self, codes: NDArray[np.uint16] | NDArray[np.uint32], start: I64) -> None: ...
    def scores(self, value: F64, n_threads: int) -> F64:
        """``(n, D)``: sum over the trees of the values ``(leaves, D)`` of a row's leaves."""
    def sums(self, value: F64, n_threads: int) -> F64:
        """``(leaves, D)``: sum over the rows in a leaf of their values ``(n, D)``."""

# --- line_fit.hpp, leaf_lines.hpp --------------------------------------------------------------------------

class LineSums:
    """Sums over `rows` for the lines of one tree's leaves; the tree was grown on `n_rows` rows.

    A leaf where ``lines`` is 1 has lines along the ``numeric`` columns that the path to it splits on. Gradients g and
    hessians h are ``(D, n)``; t is (x - low) / (high - low) of a line's column, u is t less its mean in the leaf.
    """

    def __init__(
        self,
        X: F64,
        leaf_of_row: I32,
        rows: I32 | None,
        gradient: F64,
        hessian: F64,
        feature: I32,
        left: I32,
        lines: U8,
        numeric: U8,
        n_rows: int,
        n_threads: int,
    ) -> None: ...
    def largest(self) -> F64:
        """Each line's -low and high, each node's largest abs(g) and h; of rows in parts take the maximum."""
    def weights(self, largest: F64) -> I64:
        """Sums of h and h t, given `largest` of all rows; the sums of several parts can be added."""
    def products(self, largest: F64, weights: I64) -> I64:
        """Sums of g u and h u u', given `largest` and `weights` of all rows; the sums of several parts can be added."""
    def lines(self, l2: float) -> tuple[I64, I32, F64, F64, F64, F64]:
        """`lines_of_sums`, if `rows` are all the rows."""

def lines_of_sums(
    feature: I32,
    left: I32,
    lines: U8,
    numeric: U8,
    n_outputs: int,
    n_rows: int,
    l2: float,
    largest: F64,
    weights: I64,
    products: I64,
) -> tuple[I64, I32, F64, F64, F64, F64]:
    """Start ``(N + 1,)``, column, slope, centre, low and high of one tree's lines, from the sums of `LineSums`."""

def add_leaf_lines(
    scores: F64,
    leaf_of_row: I32,
    X: F64,
    start: I64,
    column: I32,
    slope: F64,
    centre: F64,
    low: F64,
    high: F64,
    output: int,
    step: float,
    n_threads: int,
) -> None:
    """Add ``step`` times the lines of each row's leaf, at one output, to ``scores`` ``(n,)`` in place."""

class LineTrees:
    """Trees as `Trees`, whose leaves have a weight ``(N, D)`` and lines; a voter is `trees_per_voter` of them."""

    def __init__(
        self,
        n_features: int,
        offset: I64,
        feature: I32,
        threshold: F64,
        left: I32,
        missing_left: U8,
        category_offset: I64,
        category_bits: U32,
        value: F64,
        start: I64,
        column: I32,
        slope: F64,
        centre: F64,
        low: F64,
        high: F64,
        trees_per_voter: int,
    ) -> None: ...
    def tally(self, X: F64, weights: F64, n_threads: int) -> F64:
        """``(n, D)``: weighted sum over the voters; of K > 1 trees per voter tree ``t K + k`` adds to score k alone."""
    def shares(self, X: F64, weights: F64, n_threads: int) -> F64:
        """``(n, p, D)``: weighted sum of the lines along each column."""

# --- loss_gradients.hpp ------------------------------------------------------------------------------------

def loss_gradients(
    name: Literal["logistic", "softmax", "squared"],
    y: F64 | U16,
    F: F64,
    weights: F64 | None,
    gradient: F64,
    hessian: F64,
    n_threads: int,
) -> None:
    """Gradients and hessians of a loss, times the rows' weights, written in place.

    "logistic" (y 0 or 1) and "softmax" (y below the number of outputs) take labels, "squared" float64 targets; scores
    and outputs are ``(n,)``, or ``(n_outputs, n)`` for "softmax". Hessians are at least 1e-16 of the weight.
    """

# --- cells.hpp ---------------------------------------------------------------------------------------------

class Cells:
    """Cells of a binned table; column j has ``n_bins[j] + 1`` cells, the last one for missing values."""

    def __init__(self, codes: Codes | SparseCodes, n_bins: I32, n_threads: int) -> None: ...
    def sums(self, values: F64) -> F64:
        """Sum of row values ``(n,)`` per cell, ``(C,)``; the same bits for any number of threads."""
    def pairs(self, weights: F64) -> F64:
        """Weight of the rows in both of two cells, ``(C, C)``."""
    @property
    def is_sparse(self) -> bool: ...
    def votes_apart(
        self, first: I64, missing: I64, low: I64, high: I64, vote: I8
    ) -> NDArray[np.uint16] | NDArray[np.uint32]:
        """Number of rows on which two stumps vote differently, ``(N, N)``; stumps as for `stump_gram`.

        No ``vote`` is 0, and the table is not sparse. uint16 up to 65,535 rows.
        """
    def scores(self, by_cell: F64) -> F64:
        """For each row the sum of ``by_cell`` ``(C, K)`` over its cells, ``(n, K)``."""
    def shift(self, values: F64, feature: int, by_bin: F64) -> None:
        """Add ``by_bin[bin of the row]`` to ``values`` ``(n,)``, in place."""

def stump_gram(
    pairs: F64, first: I64, missing: I64, low: I64, high: I64, vote: I8, mean: F64 | None, n_threads: int
) -> F64:
    """Products ``(N, N)`` of stumps from those of cells ``(C, C)``, less the products of the ``mean`` votes if given.

    Stump j votes -1 on the cells ``low[j]:high[j]``, ``vote[j]`` on ``missing[j]``, and +1 on the others from
    ``first[j]`` on. Stumps come column by column.
    """

# --- listed_rounds.hpp -------------------------------------------------------------------------------------

def listed_rounds(votes: I8, signs: I8, weights: F64, rounds: I64) -> tuple[F64, int]:
    """Discrete AdaBoost over N listed voters, votes ``(n, N)`` of -1 or +1; a round takes the best or its complement.

    Returns the voters' weights after each number of ``rounds``, which ascend, ``(len(rounds), N)``, and the number of
    rounds that ran: fewer if no voter beats chance, or after a voter without error.
    """

# --- coordinate_descent.hpp, best_stump.hpp, lasso_path.hpp --------------------------------------------------------

Penalty: TypeAlias = Literal["none", "l1", "l2", "linf"]

def greedy_rounds(
    gram: F64, c: F64, alpha: F64, penalty: Penalty, strength: float, as_new: bool, n_rounds: int, least_decrease: float
) -> tuple[I32, F64, F64]:
    """Rounds on the voter that lowers the penalised risk most; ``c`` and ``alpha`` are updated in place.

    With ``as_new`` a voter that is chosen again counts as one more voter, and the weights add up; else its weight is
    set anew. Returns each round's voter, its weight, and the decrease of the risk, the penalty not counted; fewer than
    ``n_rounds`` if no voter lowers the penalised risk by more than ``least_decrease``.
    """

def cyclic_sweeps(
    gram: F64, c: F64, alpha: F64, penalty: Penalty, strength: float, tol: float, max_sweeps: int
) -> tuple[int, float]:
    """Sweeps over all coordinates until 0 is within ``tol`` of every subdifferential; ``c`` and ``alpha`` in place.

    Returns the number of sweeps and the distance reached.
    """

def best_stump(
    sums: F64,
    total: float,
    first: I64,
    missing: I64,
    low: I64,
    high: I64,
    vote: I8,
    mean: F64 | None,
    eta: F64,
    alpha: F64 | None,
    penalty: Penalty,
    strength: float,
    tie: float,
) -> tuple[int, float]:
    """First stump within a share ``tie`` of the largest decrease of the penalised risk (-1: none), and its correlation.

    ``sums`` are those of the residual in each cell, ``total`` of all rows; stumps as for `stump_gram`.
    """

def lasso_path(
    gram: F64, b: F64, square: float, start: I64, lambdas: F64, tol: float, max_sweeps: int
) -> tuple[F64, F64, F64]:
    """Weights ``(S, N)`` of the LASSO at each of S lambdas (warm starts), duality gaps ``(S,)`` and risks ``(S,)``.

    Voters ``start[g]:start[g + 1]`` are similar and are updated together. Each lambda ends with a gap of at most
    ``tol``, or after ``max_sweeps`` sweeps. A risk is the mean square of the residual.
    """

def lasso_path_of_votes(
    apart: NDArray[np.uint16] | NDArray[np.uint32],
    mean: F64,
    unit: float,
    total: float,
    b: F64,
    square: float,
    start: I64,
    lambdas: F64,
    tol: float,
    max_sweeps: int,
) -> tuple[F64, F64, F64]:
    """`lasso_path` over the products ``total - 2 unit apart[j, k] - mean[j] mean[k]``."""

# --- soft_stump.hpp, stump_search.hpp, branch_weights.hpp ---------------------------------------------------

RowWeights = TypeVar("RowWeights", bound=F32 | F64)

class StumpSearch:
    """Search for the stump of least Z on a binned table, for any number of vectors of row weights.

    A stump answers + with probability q; with W by answer and label, Z = 2 sqrt(W++ W+-) + 2 sqrt(W-+ W--). ``labels``
    are 0 or 1, 1 is +. ``positions`` has a value for each bin of every column, the missing ones left out, end to end;
    ``edges`` those between them; categories have positions (of no effect) and no edges. ``softness[j]`` is that of the
    column's stumps, q = Phi((position - edge) / softness), and 0 makes them hard. A soft stump tries all edges of its
    column, or 128 of them at even distances.
    """

    def __init__(
        self,
        codes: Codes,
        n_bins: I32,
        categorical: U8,
        labels: U8,
        positions: F64,
        edges: F64,
        edge_offset: I64,
        softness: F64,
        n_threads: int,
    ) -> None: ...
    def best(self, weights: F32 | F64) -> tuple[int, int, bool, float, float, U32 | None]:
        """Feature, edge, ascending, missing, Z and the words of the categories; of equal Z the first.

        ``edge`` counts within the column, and is -1 for categories; ``ascending`` is chosen so that + is the side of
        the positive class. ``missing`` is q of a missing value: 0 or 1 if there are any, else the share of the weight
        that is answered with +. Bit c of the words: category c is answered with +; categories without weight are
        answered as most of the weight is. Z is in units of weight. Feature -1: no stump has a smaller Z than that of
        one side.
        """

def stump_probabilities(
    X: F64,
    feature: I32,
    threshold: F64,
    softness: F64,
    ascending: U8,
    missing: F64,
    category_offset: I64,
    category_bits: U32,
    n_threads: int,
) -> F64:
    """q of T stumps on every row, ``(n, T)``, to 13 digits in both tails.

    Phi((x - c) / s), or Phi((c - x) / s) where it is not ascending; s = 0: 1 where x > c, else 0, or the other way.
    ``category_bits[category_offset[t]:category_offset[t + 1]]``: bit c set: category c has q = 1, all others 0, known
    or not, whatever ``ascending`` is. NaN has q = ``missing``.
    """

def branch_sums(weights: F32 | F64, q: F64, labels: U8, n_threads: int) -> F64:
    """[[W++, W+-], [W-+, W--]]: weight by answer, then by label."""

def branch_weights(
    weights: RowWeights, q: F64, labels: U8, factors: F64, n_threads: int
) -> tuple[RowWeights, RowWeights]:
    """Row weights after each answer: w q ``factors[0, y]`` and w (1 - q) ``factors[1, y]``.

    As in `branch_sums` the first column of ``factors`` is for rows of label 1, the second for those of label 0.
    """

def joined_weights(weights: RowWeights, q: F64, labels: U8, factors: F64, n_threads: int) -> RowWeights:
    """Sum of both `branch_weights`, for answers that lead to the same voter."""

# --- vote_graph.hpp, likely_path.hpp, path_draws.hpp --------------------------------------------------------

class StumpGraph:
    """Graphs of stumps end to end: score d has the nodes ``start[d]:start[d + 1]``, and begins at the first.

    Node t uses stump t; + adds ``vote[t, 0]`` and leads to ``next[t, 0]``, - adds ``vote[t, 1]`` and leads to ``next[t,
    1]``: a later node of the same score, or -1 at the end.
    """

    def __init__(
        self,
        n_features: int,
        feature: I32,
        threshold: F64,
        softness: F64,
        ascending: U8,
        missing: F64,
        category_offset: I64,
        category_bits: U32,
        next: I32,
        vote: F64,
        start: I64,
    ) -> None: ...
    def expected(self, X: F64, n_threads: int) -> tuple[F64, F64]:
        """Expected scores ``(n, D)`` over all paths, and the expected number of voters that a row meets ``(n,)``."""
    def reach(self, X: F64, n_threads: int) -> F64:
        """Probability that each row reaches each node, ``(n, T)``."""
    def likely(self, X: F64, n_threads: int) -> tuple[F64, I32]:
        """Scores ``(n, D)`` of the path that takes + where q > 1/2, else -, and its number of voters ``(n,)``.

        Stumps compare x with their threshold instead of q with 1/2, to which q may be rounded.
        """
    def sampled(self, X: F64, keys: U64, n_paths: int, n_threads: int) -> tuple[F64, I64, F64]:
        """Scores ``(n, D)`` of the last path, numbers ``(n, D)`` of paths with a score above 0, mean number of voters.

        A row takes + where u < q, with u = s(s(key + g (path + 1)) + g (node + 1)) / 2**64 cut to 53 bits, s the
        scrambling of SplitMix64 and g = 0x9e3779b97f4a7c15: a row's draws depend on nothing but its key.
        """

class MatrixGraph:
    """A `StumpGraph` whose voters' probabilities come as a matrix ``q`` ``(n, T)``."""

    def __init__(self, next: I32, vote: F64, start: I64) -> None: ...
    def expected(self, q: F64, n_threads: int) -> tuple[F64, F64]: ...
    def reach(self, q: F64, n_threads: int) -> F64: ...
    def likely(self, q: F64, n_threads: int) -> tuple[F64, I32]: ...
    def sampled(self, q: F64, keys: U64, n_paths: int, n_threads: int) -> tuple[F64, I64, F64]: ...

def row_keys(X: F64, seed: int, n_threads: int) -> U64:
    """A key for each row that depends on its values and the seed alone; -0.0 is 0.0, and all NaN are one."""

def rows_below(place: F64, seed: int, bound: int, among: U8 | None) -> I32:
    """Ascending indices of the rows whose upper 53 bits of ``row_keys(place[:, None], seed, 1)`` are below `bound`; if
    there are none, of those where they are least. Only rows that are not 0 in `among` count.
    """
