"""Models to use without Python: a page with the model inside. Never imports PyTorch."""
