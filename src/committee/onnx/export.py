"""Export of fitted models to ONNX, and converters for skl2onnx."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from committee.data.packages import require_package
from committee.onnx.graph import (
    INPUTS,
    MACHINE_LEARNING,
    Graph,
    Inputs,
    Node,
    Rows,
    Value,
    Width,
    encoded_columns,
    encoded_rows,
    joined,
    text_columns,
)
from committee.onnx.voters import class_outputs, prediction_outputs
from committee.vote.committee import Committee, RegressionCommittee, as_committee

if TYPE_CHECKING:
    from onnx import ModelProto


OPSETS: dict[Width, dict[str, int]] = {
    "float64": {"": 21, MACHINE_LEARNING: 5},
    "float32": {"": 18, MACHINE_LEARNING: 3},
}

Entry: TypeAlias = tuple[str, type[np.generic], int]
"""Input: name, cell type, number of columns."""

_FORMATS: dict[Width, int] = {"float64": 10, "float32": 8}
"""File format version by row type."""


def to_onnx(estimator: Any, *, inputs: Inputs = "auto", dtype: Width = "float64") -> ModelProto:
    """Export a fitted model to ONNX.

    Outputs are ``label`` and ``probabilities`` of a classifier, ``prediction`` of a regressor.

    Parameters
    ----------
    estimator : fitted learner, committee, or ensemble of another library
        Any learner of this library, and ensembles that `Committee.from_estimator` or
        `RegressionCommittee.from_estimator` accept.
    inputs : {"auto", "matrix", "columns", "encoded"}, default="auto"
        "matrix": one input ``X`` of numbers ``(n, p)``, with numeric categories as they are. "columns": one input
        ``(n, 1)`` per column, named after the column; text for text categories, with "" for a missing value.
        "encoded": ``X`` is ``committee_.encode(table)``. "auto": "columns" if a column has text categories, otherwise
        "matrix".
    dtype : {"float64", "float32"}, default="float64"
        Type of inputs and outputs. "float32" is for runtimes without the trees of ``ai.onnx.ml`` version 5; float32
        rows reach the same leaves as in this library.

    Returns
    -------
    onnx.ModelProto

    Raises
    ------
    MissingExtraError
        If the package onnx is not installed.
    NotFittedError
        If `estimator` is not fitted.
    TypeError
        If `estimator` is not supported, `inputs` or `dtype` does not suit its columns, or a part has no ONNX nodes:
        derived or left-out columns (unless "encoded"), sampled paths, voters that draw random votes, second layers,
        members of other libraries without a committee, prediction sets and intervals.
    ValueError
        If `inputs` or `dtype` is unknown, or a column has the name of an output.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import committee
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = committee.RandomForestClassifier(10, random_state=0).fit(X, y)
    >>> model = committee.to_onnx(forest)
    >>> [each.name for each in model.graph.output]
    ['label', 'probabilities']
    """
    require_package("onnx", "to_onnx")
    if inputs not in INPUTS:
        raise ValueError(f"inputs is {inputs!r}; it must be one of {', '.join(map(repr, INPUTS))}.")
    if dtype not in OPSETS:
        raise ValueError(f"dtype is {dtype!r}; it must be 'float64' or 'float32'.")
    committee = as_committee(estimator, "ONNX")
    graph = Graph(dtype, 5 if dtype == "float64" else 3)
    if inputs == "auto":
        inputs = "columns" if text_columns(committee.table) else "matrix"
    rows, entries = _entry(graph, committee, inputs)
    return _model(graph, entries, answers(rows, committee), committee)


def answers(rows: Rows, committee: Committee | RegressionCommittee) -> dict[str, Value]:
    graph = rows.X.graph
    if isinstance(committee, RegressionCommittee):
        prediction = prediction_outputs(rows, committee)
        prediction = prediction.reshape(-1) if committee.n_outputs == 1 else prediction
        return {"prediction": prediction.cast(np.dtype(graph.width).type)}
    index, p = class_outputs(rows, committee)
    labels = graph.constant(label_array(committee.classes)).take(index, axis=0)
    return {"label": labels, "probabilities": p.cast(np.dtype(graph.width).type)}


def label_array(classes: NDArray[Any]) -> NDArray[Any]:
    if classes.dtype.kind in "iu":
        return classes.astype(np.int64)
    if classes.dtype.kind in "bf":
        return classes.astype(bool if classes.dtype.kind == "b" else np.float64)
    return np.array([str(label) for label in classes.tolist()], dtype=object)


def _entry(graph: Graph, committee: Committee | RegressionCommittee, inputs: Inputs) -> tuple[Rows, list[Entry]]:
    table, width = committee.table, np.dtype(graph.width).type
    if inputs == "columns":
        if table is None:
            raise TypeError('the model has no column schema; leave inputs at "auto", or give "matrix".')
        names = [table.column(j) for j in range(table.n_features)]
        text = set(text_columns(table))
        columns = {j: graph.value(name) for j, name in enumerate(names)}
        entries: list[Entry] = [(name, np.str_ if j in text else width, 1) for j, name in enumerate(names)]
        return encoded_columns(columns, table), entries
    p = committee.voters.n_features if table is None else table.n_features
    if p is None:
        raise TypeError(
            f"{type(committee.voters).__name__} have no fixed number of columns; export a model fitted on a table."
        )
    rows = Rows(graph.value("X"), None)
    return rows if inputs == "encoded" else encoded_rows(rows, table), [("X", width, p)]


def _model(
    graph: Graph,
    entries: list[Entry],
    outputs: dict[str, Value],
    committee: Committee | RegressionCommittee,
) -> ModelProto:
    from onnx import checker, helper

    for name, value in outputs.items():
        graph.nodes.append(Node("Identity", (value.name,), (name,), "", {}))
    taken = {name for name, *_ in entries} & set(outputs)
    if taken:
        raise ValueError(f'the column {taken.pop()!r} has the name of an output; rename it, or give inputs="encoded".')
    width = np.dtype(graph.width).type
    kinds = {"label": label_array(committee.classes).dtype.type} if isinstance(committee, Committee) else {}
    shapes = output_shapes(committee).items()
    outs = [helper.make_tensor_value_info(name, _type(kinds.get(name, width)), shape) for name, shape in shapes]
    ins = [helper.make_tensor_value_info(name, _type(kind), [None, p]) for name, kind, p in entries]
    nodes, constants = protos(graph)
    made = helper.make_graph(nodes, "committee", ins, outs, constants)
    versions = [helper.make_opsetid(domain, version) for domain, version in OPSETS[graph.width].items()]
    model = helper.make_model(
        made, opset_imports=versions, producer_name="committee", producer_version=version("committee")
    )
    model.ir_version = _FORMATS[graph.width]
    checker.check_model(model)
    return model


def output_shapes(committee: Committee | RegressionCommittee) -> dict[str, list[int | None]]:
    if isinstance(committee, Committee):
        return {"label": [None], "probabilities": [None, committee.n_classes]}
    return {"prediction": [None] if committee.n_outputs == 1 else [None, committee.n_outputs]}


def _type(kind: type[np.generic]) -> int:
    from onnx import TensorProto, helper

    text = kind in (np.object_, np.str_)
    return int(TensorProto.STRING if text else helper.np_dtype_to_tensor_dtype(np.dtype(kind)))


def protos(graph: Graph) -> tuple[list[Any], list[Any]]:
    from onnx import helper, numpy_helper

    nodes = [
        helper.make_node(
            node.kind,
            list(node.inputs),
            list(node.outputs),
            domain=node.domain,
            **{name: proto_attribute(value) for name, value in node.attributes.items()},
        )
        for node in graph.nodes
    ]
    return nodes, [numpy_helper.from_array(array, name) for name, array in graph.constants.items()]


def proto_attribute(value: Any) -> Any:
    from onnx import helper, numpy_helper

    if isinstance(value, np.dtype):
        return helper.np_dtype_to_tensor_dtype(value)
    return numpy_helper.from_array(value) if isinstance(value, np.ndarray) else value


def register_converters() -> None:
    """Register converters of all learners with skl2onnx, for pipelines that end in a learner.

    Outputs are the tensors ``label`` and ``probabilities``, or ``prediction``. Inputs are numbers.
    Trees are those of ``ai.onnx.ml`` version 3, the latest of skl2onnx, with thresholds and sums in double.

    Raises
    ------
    MissingExtraError
        If skl2onnx is not installed.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skl2onnx import to_onnx
    >>> from committee import AdaBoostClassifier
    >>> from committee.onnx import register_converters
    >>> register_converters()
    >>> X, y = load_iris(return_X_y=True)
    >>> pipeline = make_pipeline(StandardScaler(), AdaBoostClassifier(n_estimators=5)).fit(X, y)
    >>> [each.name for each in to_onnx(pipeline, X[:1]).graph.output]
    ['label', 'probabilities']
    """
    require_package("skl2onnx", "a converter of pipelines")
    from skl2onnx import update_registered_converter

    package = import_module("committee")
    for name in package.LEARNERS:
        update_registered_converter(
            package.learner(name), f"Committee{name}", _shapes, _convert, parser=_outputs, overwrite=True
        )


def _outputs(scope: Any, model: Any, inputs: list[Any], custom_parsers: Any = None) -> Any:
    from skl2onnx.common.data_types import DoubleTensorType, Int64TensorType, StringTensorType

    operator = scope.declare_local_operator(f"Committee{type(model).__name__}", model)
    operator.inputs = inputs
    committee = as_committee(model, "ONNX")
    kinds: dict[str, Any] = {"label": Int64TensorType}
    if isinstance(committee, Committee) and label_array(committee.classes).dtype == object:
        kinds["label"] = StringTensorType
    for name in output_shapes(committee):
        operator.outputs.append(scope.declare_local_variable(name, kinds.get(name, DoubleTensorType)()))
    return operator.outputs


def _shapes(operator: Any) -> None:
    shapes = output_shapes(as_committee(operator.raw_operator, "ONNX"))
    for output, (name, shape) in zip(operator.outputs, shapes.items(), strict=True):
        output.type.shape = [None, 1] if name == "prediction" and len(shape) == 1 else shape


def _convert(scope: Any, operator: Any, container: Any) -> None:
    committee = as_committee(operator.raw_operator, "ONNX")
    graph = Graph(trees=3, prefix=scope.get_unique_operator_name("committee"))
    parts = [graph.value(each.full_name).cast(np.float64) for each in operator.inputs]
    made = answers(encoded_rows(Rows(joined(parts), None), committee.table), committee)
    if "prediction" in made and getattr(committee, "n_outputs", 1) == 1:
        made["prediction"] = made["prediction"].reshape(-1, 1)
    for value, output in zip(made.values(), operator.outputs, strict=True):
        graph.nodes.append(Node("Identity", (value.name,), (output.full_name,), "", {}))
    container.initializers.extend(protos(graph)[1])
    for number, node in enumerate(graph.nodes):
        attributes = {name: proto_attribute(value) for name, value in node.attributes.items()}
        container.add_node(
            node.kind,
            list(node.inputs),
            list(node.outputs),
            op_domain=node.domain,
            op_version=3 if node.domain == MACHINE_LEARNING else container.target_opset,
            name=f"{graph.prefix}{number}",
            **attributes,
        )
