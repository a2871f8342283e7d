"""Rows that another thread writes to while kernels read them: answers are anyone's, but every walk ends at a leaf."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[2]


def of_leaves(with_categories: bool) -> None:
    """Walk trees of many shapes through rows that change all the while."""
    import threading
    import time

    import numpy as np

    from committee.voters.forest import Forest

    rng = np.random.default_rng(0)
    writing = True
    X = rng.normal(size=(512, 3))
    values = [np.nan, 0.0, 1.0, 5.0, 1e300, -np.inf, np.inf, 62.0, 63.0, 64.0]

    def write() -> None:
        while writing:
            X[:] = values[rng.integers(len(values))]
            X[:, rng.integers(3)] = rng.normal(size=512)

    def chain(depth: int, last: bool) -> Forest:
        """A tree that goes on at one side, the deepest leaf last, so that a step from there leaves the tree."""
        n = 2 * depth + 1
        feature = np.full(n, -1, np.int32)
        left = np.full(n, -1, np.int32)
        inner = [0, *(2 * k + 1 + last for k in range(depth - 1))]
        for k, node in enumerate(inner):
            feature[node], left[node] = k % 3, 2 * k + 1
        words = np.where((feature == 1) & with_categories, 2, 0)
        offset = np.concatenate([[0], np.cumsum(words)]).astype(np.int64)
        return Forest(
            3, 2, np.array([0, n]), feature, np.zeros(n), left, np.zeros(n, np.uint8), offset,
            np.full(offset[-1], 2**31 + 5, np.uint32), np.where(feature < 0, 0, -1).astype(np.int32), None,
            np.zeros(n), np.ones(n), np.ones(n, np.int64),
        )  # fmt: skip

    forest = Forest.concatenate([chain(depth, last) for depth in (1, 2, 5, 9, 90) for last in (False, True)])
    leaf = forest.feature < 0
    thread = threading.Thread(target=write)
    thread.start()
    try:
        end = time.monotonic() + 2.0
        while time.monotonic() < end:
            at = forest.trees.apply(X, 1) + forest.offset[:-1]
            assert ((at >= 0) & (at < len(leaf))).all(), "a walk left the forest"
            assert leaf[at].all(), "a walk ended inside of a tree"
    finally:
        writing = False
        thread.join()


@pytest.mark.slow
@pytest.mark.parametrize("with_categories", [False, True])
def test_a_walk_ends_at_a_leaf_while_its_rows_are_written_to(with_categories):
    code = f"from tests.core.test_shared_rows import of_leaves; of_leaves({with_categories})"
    command = [sys.executable, "-c", code]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", timeout=PATIENCE)
    assert ended.returncode == 0, ended.stderr[-2000:]
