"""Where the nodes of a graph without circles go on a page: in layers by their longest path, few edges crossing."""

from __future__ import annotations

from bisect import bisect, insort
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

F64 = NDArray[np.float64]

_SWEEPS, _SETTLING = 12, 120
_PIN = 1e-3
"""How far apart the two ends of edges that leave one node count, against nodes one place apart."""


def layered(
    n_nodes: int, edges: Sequence[tuple[int, int, float]], width: float, lane: float
) -> tuple[F64, list[int], list[list[float]]]:
    """Places of nodes and the ways of edges.

    A node's layer is the length of the longest path to it. An edge over several layers has a lane in each one between.
    The order within layers goes by barycentres, up and down; then every node goes as near to the mean of its neighbours
    as its width allows.

    Parameters
    ----------
    n_nodes : int
        T nodes, 0 to T - 1.
    edges : sequence of (node, later node, side)
        `side`, -1 to 1, is where on its node the edge begins.
    width, lane : float
        Room for a node and for an edge that passes.

    Returns
    -------
    x : float64 array (T,)
        Middles of the nodes, 0 the leftmost.
    layer : list of int (T,)
        Their layers, 0 the top.
    lanes : list of list of float
        For each edge its x in every layer that it passes.

    References
    ----------
    K. Sugiyama, S. Tagawa, M. Toda (1981). Methods for visual understanding of hierarchical system structures. IEEE
    Transactions on Systems, Man, and Cybernetics 11.

    Examples
    --------
    >>> from committee.report.displays.layered_layout import layered
    >>> x, layer, lanes = layered(3, [(0, 1, -1.0), (0, 2, 1.0), (1, 2, 1.0)], 2.0, 1.0)
    >>> layer, [len(passed) for passed in lanes]
    ([0, 1, 2], [0, 1, 0])
    """
    layer = [0] * n_nodes
    for a, b, _ in sorted(edges):
        layer[b] = max(layer[b], layer[a] + 1)
    height, room = list(layer), [width] * n_nodes
    links: list[tuple[int, int, float]] = []
    passing: list[list[int]] = []
    for a, b, side in edges:
        way = [a]
        for between in range(layer[a] + 1, layer[b]):
            way.append(len(height))
            height.append(between)
            room.append(lane)
        passing.append(way[1:])
        way.append(b)
        links += [(p, q, side if p == a else 0.0) for p, q in pairwise(way)]
    rows = _ordered(height, links)
    x = _spread(rows, links, np.array(room), n_nodes)
    return x[:n_nodes], layer, [x[way].tolist() for way in passing]


def _ordered(height: list[int], links: list[tuple[int, int, float]]) -> list[list[int]]:
    """The layers, each from the left, in the order with the fewest crossings that sweeping found."""
    above: dict[int, list[tuple[int, float]]] = {item: [] for item in range(len(height))}
    below: dict[int, list[tuple[int, float]]] = {item: [] for item in range(len(height))}
    for p, q, side in links:
        above[q].append((p, side))
        below[p].append((q, -side))
    rows = _as_met(height, below)
    best, least = [list(row) for row in rows], _crossings(rows, links)
    for sweep in range(_SWEEPS):
        if not least:
            break
        down = sweep % 2 == 0
        for row in rows if down else rows[::-1]:
            at = {item: float(i) for each in rows for i, item in enumerate(each)}
            near = above if down else below
            mean = {
                item: np.mean([at[other] + _PIN * side for other, side in near[item]]) if near[item] else at[item]
                for item in row
            }
            row.sort(key=mean.__getitem__)
        if (crossings := _crossings(rows, links)) < least:
            best, least = [list(row) for row in rows], crossings
    return best


def _as_met(height: list[int], below: dict[int, list[tuple[int, float]]]) -> list[list[int]]:
    """Layers in the order of a walk that takes left edges first, in which no edges of a tree cross."""
    rows: list[list[int]] = [[] for _ in range(max(height, default=-1) + 1)]
    seen: set[int] = set()
    waiting = sorted(range(len(height)), key=lambda item: -height[item])
    while waiting:
        item = waiting.pop()
        if item in seen:
            continue
        seen.add(item)
        rows[height[item]].append(item)
        # sides are seen from below here: what leaves on the left is popped first
        waiting += [other for other, _ in sorted(below[item], key=lambda link: link[1])]
    return rows


def _crossings(rows: list[list[int]], links: list[tuple[int, int, float]]) -> int:
    place = {item: (number, i) for number, row in enumerate(rows) for i, item in enumerate(row)}
    between: list[list[tuple[float, int]]] = [[] for _ in rows]
    for p, q, side in links:
        between[place[p][0]].append((place[p][1] + _PIN * side, place[q][1]))
    found = 0
    for gap in between:
        ends: list[int] = []
        for _, end in sorted(gap):
            found += len(ends) - bisect(ends, end)
            insort(ends, end)
    return found


def _spread(rows: list[list[int]], links: list[tuple[int, int, float]], room: F64, n_nodes: int) -> F64:
    """Middles: the least squares to the neighbours' mean that keep the order and the room, layer by layer."""
    near: list[list[tuple[int, float, float]]] = [[] for _ in room]
    for p, q, side in links:
        reach = side * 0.25 * room[p] if p < n_nodes else 0.0
        # long edges go straight where they can
        stiff = (1.0, 2.0, 8.0)[int(p >= n_nodes) + int(q >= n_nodes)]
        near[q].append((p, reach, stiff))
        near[p].append((q, -reach, stiff))
    x = np.zeros(len(room))
    gaps = [np.concatenate([[0.0], np.cumsum(0.5 * (room[row[:-1]] + room[row[1:]]))]) for row in rows]
    for row, gap in zip(rows, gaps, strict=True):
        x[row] = gap - 0.5 * gap[-1]
    for sweep in range(_SETTLING):
        order = range(len(rows)) if sweep % 2 == 0 else range(len(rows) - 1, -1, -1)
        for number in order:
            row, gap = rows[number], gaps[number]
            wanted = np.array([_pulled(x, near[item], float(x[item])) for item in row])
            x[row] = isotonic_regression(wanted - gap).x + gap
    return np.asarray(x - x[:n_nodes].min())


def _pulled(x: F64, near: list[tuple[int, float, float]], alone: float) -> float:
    """Where neighbours want an item to be."""
    if not near:
        return alone
    return float(sum(stiff * (x[p] + by) for p, by, stiff in near) / sum(stiff for _, _, stiff in near))
