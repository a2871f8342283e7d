"""Trees in a runtime beside a walk in Python: numbers at their thresholds, sets of categories, and what is missing."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from onnx import TensorProto, helper
from scipy.special import log_ndtr, ndtr

from committee.onnx.export import protos
from committee.onnx.graph import Graph, Value
from committee.onnx.links import log_upper, two_sided
from committee.onnx.trees import Ensemble, double_ensemble, leaf_ensemble, round_down_float32
from tests.onnx.parity import session

F64 = NDArray[np.float64]


def random_trees(rng: np.random.Generator, n_trees: int, n_categories: int, n_scores: int) -> Ensemble:
    """Trees on two columns, of which the second has categories; leaves add 1 or 2 to any score."""
    rows: dict[str, list[float]] = {name: [] for name in ("feature", "threshold", "missing", "true", "false")}
    target: list[int] = []
    number: list[float] = []
    members: dict[int, NDArray[np.int64]] = {}

    def grow(depth: int) -> int:
        if depth == 0 or rng.random() < 0.15:
            target.append(int(rng.integers(n_scores)))
            number.append(float(rng.choice([1.0, 1.0, 2.0])))
            return -len(number)
        me, is_set = len(rows["feature"]), rng.random() < 0.8
        size = int(rng.integers(0, n_categories))
        if is_set:
            members[me] = np.sort(rng.choice(n_categories, size, replace=False)).astype(np.int64)
        for name, cell in (("feature", int(is_set)), ("threshold", float(rng.integers(8))), ("missing", 0)):
            rows[name].append(cell)
        if not is_set:
            rows["missing"][me] = int(rng.integers(2))
        rows["true"].append(0)
        rows["false"].append(0)
        rows["true"][me], rows["false"][me] = grow(depth - 1), grow(depth - 1)
        return me

    roots = [grow(int(rng.integers(0, 6))) for _ in range(n_trees)]
    inner = [np.array(rows[name], dtype=np.int64) for name in ("missing", "true", "false")]
    feature = np.array(rows["feature"], dtype=np.int64)
    return Ensemble(
        np.array(roots), feature, np.array(rows["threshold"]), *inner, members, np.array(target), np.array(number)
    )


def leaf_of(trees: Ensemble, root: int, x: F64) -> int:
    at = root
    while at >= 0:
        value = x[trees.feature[at]]
        if at in trees.members:
            yes = value in trees.members[at]
        else:
            yes = bool(value <= trees.threshold[at]) or (bool(np.isnan(value)) and bool(trees.missing_true[at]))
        at = int(trees.true[at] if yes else trees.false[at])
    return -1 - at


def run(graph: Graph, output: Value, X: F64, version: int = 5) -> F64:
    versions = [helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", version)]
    ends = [helper.make_tensor_value_info(name, kind, None) for name, kind in (("X", 11), (output.name, 11))]
    if output.name.startswith("/Cast"):
        ends[1] = helper.make_tensor_value_info(output.name, TensorProto.INT64, None)
    nodes, constants = protos(graph)
    model = helper.make_model(helper.make_graph(nodes, "g", ends[:1], ends[1:], constants), opset_imports=versions)
    model.ir_version = 10
    return np.asarray(session(model).run(None, {"X": X})[0])


@pytest.mark.parametrize("n_categories", [3, 20, 70])
def test_trees_are_walked_as_they_stand(n_categories):
    rng = np.random.default_rng(n_categories)
    for _ in range(25):
        trees = random_trees(rng, int(rng.integers(1, 5)), n_categories, 3)
        X = np.column_stack([rng.integers(0, 9, 80), rng.integers(0, n_categories + 2, 80)]).astype(np.float64)
        X[rng.random(X.shape) < 0.1] = np.nan
        leaves = np.array([[leaf_of(trees, root, x) for root in trees.root.tolist()] for x in X])
        added = np.zeros((len(X), 3))
        np.add.at(added, (np.arange(len(X))[:, None], trees.target[leaves]), trees.number[leaves])
        graph = Graph()
        assert_array_equal(run(graph, double_ensemble(graph.value("X"), trees, 3), X), added)
        # the older operator: each leaf has a number, in the column of its tree
        owner = np.zeros(len(trees.number), dtype=np.int64)
        for t, root in enumerate(trees.root.tolist()):
            waiting = [root]
            while waiting:
                at = waiting.pop()
                if at < 0:
                    owner[-1 - at] = t
                else:
                    waiting += [int(trees.true[at]), int(trees.false[at])]
        numbered = Ensemble(
            *(getattr(trees, name) for name in ("root", "feature", "threshold", "missing_true", "true", "false")),
            trees.members,
            owner,
            np.arange(len(trees.number), dtype=np.float64),
        )
        graph = Graph(trees=3)
        assert_array_equal(run(graph, leaf_ensemble(graph.value("X"), numbered), X, version=3), leaves)


def test_thresholds_in_single_precision_part_the_same_numbers():
    rng = np.random.default_rng(0)
    thresholds = np.concatenate([rng.normal(size=500), [0.1, 0.7, np.inf, 1e300, -1e300]])
    with np.errstate(over="ignore"):
        near = thresholds.astype(np.float32)
    for x in (near, np.nextafter(near, np.float32(-np.inf)), np.nextafter(near, np.float32(np.inf))):
        assert_array_equal(x <= round_down_float32(thresholds), x.astype(np.float64) <= thresholds)


def test_the_normal_curve_is_exact_to_rounding():
    z = np.concatenate([np.linspace(-45.0, 45.0, 4001), [0.0, -0.0, 1e-300, 1e150, -1e150, np.inf, -np.inf]])[:, None]
    graph = Graph()
    found = run(graph, two_sided("probit", graph.value("X")), z)
    assert_allclose(found, np.hstack([ndtr(-z), ndtr(z)]), rtol=1e-12, atol=1e-300)
    graph = Graph()
    finite = z[np.isfinite(z[:, 0])]
    found = run(graph, log_upper("probit", graph.value("X")), finite)
    assert_allclose(found, log_ndtr(finite), rtol=1e-12, atol=1e-15)
