from committee.onnx.export import register_converters as register_converters
from committee.onnx.export import to_onnx as to_onnx
