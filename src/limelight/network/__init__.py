"""The network: described once, in PyTorch and as ONNX operators."""
