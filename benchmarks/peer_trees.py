"""Another library's boosted trees as ours, so that both sides of a race hold equal models."""

from __future__ import annotations

from typing import Any

import lightgbm
import numpy as np

from committee.voters.forest import Forest


def forest_of_lightgbm(booster: lightgbm.Booster) -> Forest:
    """The trees of a LightGBM model of one score on numbers without gaps; a row's tally is its raw score."""
    nodes: list[dict[str, Any]] = []
    left: list[int] = []
    offset = [0]
    for tree in booster.dump_model()["tree_info"]:
        level = [tree["tree_structure"]]
        for node in level:  # grows while it is walked: breadth first, children side by side
            left.append(len(level) if "left_child" in node else -1)
            level += [node[side] for side in ("left_child", "right_child") if side in node]
        nodes += level
        offset.append(len(nodes))

    def of(inner: str, leaf: str | None = None) -> list[float]:
        """One number of every node; 0 at leaves that have none."""
        return [node[inner] if inner in node else node.get(leaf, 0) for node in nodes]

    count = np.array(of("internal_count", "leaf_count"), dtype=np.int64)
    return Forest(
        n_features=booster.num_feature(),
        n_classes=2,
        offset=np.array(offset, dtype=np.int64),
        feature=np.array([node.get("split_feature", -1) for node in nodes], dtype=np.int32),
        threshold=np.array(of("threshold"), dtype=np.float64),
        left=np.array(left, dtype=np.int32),
        missing_left=np.zeros(len(nodes), dtype=np.uint8),
        category_offset=np.zeros(len(nodes) + 1, dtype=np.int64),
        category_bits=np.zeros(0, dtype=np.uint32),
        label=None,
        value=np.array([node.get("leaf_value", 0.0) for node in nodes])[:, None],
        gain=np.array(of("split_gain"), dtype=np.float64),
        weight=count.astype(np.float64),
        count=count,
    )
