from committee.onnx.export import to_onnx as to_onnx
from committee.onnx.pipelines import register_converters as register_converters
