"""The network as ONNX operators."""
