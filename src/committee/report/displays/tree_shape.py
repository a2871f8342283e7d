"""Where the nodes of a tree stand, drawn from its root down: as near to each other as their texts let them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from committee.data.number_types import F64, Index


@dataclass(frozen=True, eq=False)
class TreeShape:
    """Places of a tree's nodes.

    `x` has the middle of each node, from the left edge of the leftmost on; `level` how many nodes are above it.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.report.displays.tree_shape import TreeShape
    >>> shape = TreeShape.of(np.array([[1, 2], [-1, -1], [-1, -1]]), np.array([3.0, 1.0, 1.0]), gap=0.5)
    >>> shape.x.tolist(), shape.level.tolist(), shape.width
    ([1.5, 0.75, 2.25], [0, 1, 1], 3.0)
    """

    x: F64
    level: Index
    width: float

    @classmethod
    def of(cls, children: Index, widths: F64, gap: float) -> TreeShape:
        """Place nodes ``(N, 2)``, -1 for leaves, of given widths; children stand after their parent."""
        level = np.zeros(len(widths), dtype=np.intp)
        for node, pair in enumerate(children.tolist()):
            if pair[0] >= 0:
                level[pair] = level[node] + 1
        shift = np.zeros(len(widths))  # of each node against the one above
        # of each sub-tree the left and right edges of its levels, from its root's middle
        outline: dict[int, tuple[list[float], list[float]]] = {}
        for node in range(len(widths) - 1, -1, -1):
            half = float(widths[node]) / 2.0
            left, right = int(children[node, 0]), int(children[node, 1])
            if left < 0:
                outline[node] = ([-half] * 2, [half] * 2)  # what a leaf says reaches to the next level
                continue
            (low_left, high_left), (low_right, high_right) = outline.pop(left), outline.pop(right)
            apart = gap + max(high - low for high, low in zip(high_left, low_right, strict=False))
            shift[left], shift[right] = -apart / 2.0, apart / 2.0
            low = _outer(low_left, low_right, apart, min)
            high = _outer(high_left, high_right, apart, max)
            outline[node] = ([-half, *low], [half, *high])
        x = shift.copy()
        for pair, above in zip(children.tolist(), range(len(widths)), strict=True):
            if pair[0] >= 0:
                x[pair] += x[above]
        low, high = outline[0]
        return cls(x - min(low), level, max(high) - min(low))


def _outer(
    of_left: list[float], of_right: list[float], apart: float, outer: Callable[[list[float]], float]
) -> list[float]:
    """Edges of two sub-trees beside each other, level by level."""
    edges = []
    for i in range(max(len(of_left), len(of_right))):
        both = [each[i] + shift for each, shift in ((of_left, -apart / 2.0), (of_right, apart / 2.0)) if i < len(each)]
        edges.append(outer(both))
    return edges
