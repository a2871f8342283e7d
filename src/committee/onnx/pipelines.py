"""Converters for skl2onnx: pipelines whose steps are learners of this library become ONNX models."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from committee.data.extras import needed
from committee.onnx.export import answers, label_array, proto_attribute, protos
from committee.onnx.graph import MACHINE_LEARNING, Graph
from committee.onnx.rows import Rows, encoded_rows
from committee.vote.committee import Committee
from committee.vote.committee_in import committee_in


def register_converters() -> None:
    """Teach skl2onnx every learner of this library, so that it converts pipelines that end with one.

    A learner gives ``label`` and ``probabilities`` as tensors, or ``prediction``. It takes numbers: steps before it
    make numbers of text. Trees are those of ``ai.onnx.ml`` version 3, the latest that skl2onnx takes: their
    thresholds are double, and what leaves add is looked up and added in double.

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
    needed("skl2onnx", "a converter of pipelines")
    from skl2onnx import update_registered_converter

    package = import_module("committee")
    for name in package.LEARNERS:
        update_registered_converter(
            package.learner(name), f"Committee{name}", _shapes, _convert, parser=_outputs, overwrite=True
        )


def _outputs(scope: Any, model: Any, inputs: list[Any], custom_parsers: Any = None) -> Any:
    """Declare what a learner gives."""
    from skl2onnx.common.data_types import DoubleTensorType, Int64TensorType, StringTensorType

    operator = scope.declare_local_operator(f"Committee{type(model).__name__}", model)
    operator.inputs = inputs
    committee = committee_in(model, "ONNX")
    if isinstance(committee, Committee):
        label = StringTensorType() if label_array(committee.classes).dtype == object else Int64TensorType()
        declared = [("label", label), ("probabilities", DoubleTensorType())]
    else:
        declared = [("prediction", DoubleTensorType())]
    for name, kind in declared:
        operator.outputs.append(scope.declare_local_variable(name, kind))
    return operator.outputs


def _shapes(operator: Any) -> None:
    """Set the shapes of what a learner gives."""
    committee = committee_in(operator.raw_operator, "ONNX")
    if isinstance(committee, Committee):
        operator.outputs[0].type.shape = [None]
        operator.outputs[1].type.shape = [None, committee.n_classes]
    else:
        operator.outputs[0].type.shape = [None, committee.n_outputs]


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the nodes of a learner to those of the pipeline."""
    committee = committee_in(operator.raw_operator, "ONNX")
    graph = Graph(trees=3, prefix=scope.get_unique_operator_name("committee"))
    parts = [graph.value(each.full_name).cast(np.float64) for each in operator.inputs]
    X = parts[0] if len(parts) == 1 else graph.add("Concat", *parts, axis=1)
    made = answers(encoded_rows(Rows(X, None), committee.table), committee)
    if "prediction" in made and getattr(committee, "n_outputs", 1) == 1:
        made["prediction"] = made["prediction"].matrix()
    for value, output in zip(made.values(), operator.outputs, strict=True):
        graph.add("Identity", value)
        graph.nodes[-1] = graph.nodes[-1].named(output.full_name)
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
