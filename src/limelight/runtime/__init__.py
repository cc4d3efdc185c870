"""A trained model without PyTorch: the saved folder, ONNX graphs, prediction, embeddings, the hub."""
