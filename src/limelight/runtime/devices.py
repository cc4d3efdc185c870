"""Where a model runs: by ONNX Runtime on the CPU, or by PyTorch on a GPU."""

from __future__ import annotations

import ctypes
import importlib.util
import os

from ..errors import LimelightError
from .onnx_runner import OnnxRunner
from .runner import Runner

PRECISIONS = {"cpu": ("float32", "int8"), "cuda": ("bf16", "float32")}  # the first one is the default


def choose_device(device: str, precision: str | None) -> tuple[str, str]:
    """The device, cpu or cuda, and the precision; "auto" is a GPU if PyTorch is installed and sees one.

    >>> choose_device("cpu", None), choose_device("cuda", None)
    (('cpu', 'float32'), ('cuda', 'bf16'))
    """
    if device not in (*PRECISIONS, "auto"):
        raise LimelightError(f"device is {device!r}; it must be cpu, cuda or auto", code="option-value")
    if device == "auto":
        device = "cuda" if _sees_gpu() else "cpu"
    known = PRECISIONS[device]
    if precision is not None and precision not in known:
        raise LimelightError(
            f"precision is {precision!r}; it must be one of: {', '.join(known)} on the device {device!r}",
            code="option-value",
        )
    return device, precision or known[0]


def runner_on(device: str) -> type[Runner]:
    """The class that runs a network on a device.

    >>> runner_on("cpu").__name__
    'OnnxRunner'
    """
    if device == "cpu":
        return OnnxRunner
    from .gpu import TorchRunner

    return TorchRunner


def _sees_gpu() -> bool:
    """Import PyTorch only where there is a driver: it takes seconds."""
    try:
        ctypes.CDLL("nvcuda.dll" if os.name == "nt" else "libcuda.so.1")
    except OSError:
        return False
    if importlib.util.find_spec("torch") is None:
        return False
    return bool(importlib.import_module("torch").cuda.is_available())
