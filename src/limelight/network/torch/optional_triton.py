"""Triton, by which kernels for a GPU are written in Python; None where a CPU build of PyTorch lacks it."""

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = tl = None

__all__ = ["tl", "triton"]
