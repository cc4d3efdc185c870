"""Where a model runs: by ONNX Runtime on the CPU, or by PyTorch on a GPU."""

import ctypes
import importlib.util
import os
from typing import TypedDict

from ..errors import check_choice
from .folder import Parts
from .onnx_runner import OnnxRunner
from .runner import Runner

PRECISIONS = {"cpu": ("float32", "int8"), "cuda": ("bf16", "float32")}  # the first one is the default


def choose_device(device: str, precision: str | None) -> tuple[str, str]:
    """The device, cpu or cuda, and the precision; "auto" is a GPU if PyTorch is installed and sees one.

    >>> choose_device("cpu", None), choose_device("cuda", None)
    (('cpu', 'float32'), ('cuda', 'bf16'))
    """
    check_choice("device", device, (*PRECISIONS, "auto"))
    if device == "auto":
        device = "cuda" if _sees_gpu() else "cpu"
    found = precision or PRECISIONS[device][0]
    check_choice(f"on the device {device!r}, precision", found, PRECISIONS[device])
    return device, found


class DeviceOptions(TypedDict, total=False):
    """Where and how a model runs; the precision is "float32" or "int8" on the CPU, "bf16" or "float32" on a
    GPU, by default the first.
    """

    precision: str | None
    threads: int | None  # by default as many as there are cores
    device: str  # "cpu", "cuda" (a GPU, by PyTorch) or "auto"


def start_runner(
    parts: Parts, *, precision: str | None = None, threads: int | None = None, device: str = "cpu"
) -> Runner:
    if parts.modules:
        check_choice("with a part of your own, precision", precision, (None, "float32"))
        precision = "float32"
    device, precision = choose_device(device, precision)
    if device == "cpu" and not parts.modules:
        return OnnxRunner(parts, precision, threads)
    from .gpu import ModuleRunner, TorchRunner

    return ModuleRunner(parts, device, threads) if parts.modules else TorchRunner(parts, precision, threads)


def _sees_gpu() -> bool:
    """Import PyTorch only where there is a driver: it takes seconds."""
    try:
        ctypes.CDLL("nvcuda.dll" if os.name == "nt" else "libcuda.so.1")
    except OSError:
        return False
    if importlib.util.find_spec("torch") is None:
        return False
    return bool(importlib.import_module("torch").cuda.is_available())
