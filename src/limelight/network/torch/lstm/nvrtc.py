"""CUDA C++ compiled at run time: NVRTC comes with PyTorch's CUDA builds, so no compiler need be installed."""

import ctypes
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

_SHARED_MEMORY, _LARGE_CLUSTERS, _CLUSTER_SIZE = 8, 14, 4  # attributes in CUDA's driver interface


class _Attribute(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int), ("value", ctypes.c_uint * 17)]


class _Launch(ctypes.Structure):
    _fields_ = [
        ("blocks", ctypes.c_uint * 3), ("threads", ctypes.c_uint * 3), ("shared_memory", ctypes.c_uint),
        ("stream", ctypes.c_void_p), ("attributes", ctypes.POINTER(_Attribute)), ("count", ctypes.c_uint),
    ]  # fmt: skip


class Kernel:
    """A function on the GPU, run by clusters of thread blocks."""

    def __init__(self, function: ctypes.c_void_p, shared_memory: int, threads: int, cluster: int) -> None:
        self.function, self.shared_memory, self.threads = function, shared_memory, threads
        self.context = ctypes.c_void_p()
        _check(_driver().cuCtxGetCurrent(ctypes.byref(self.context)))
        _check(_driver().cuFuncSetAttribute(function, _SHARED_MEMORY, shared_memory))
        _check(_driver().cuFuncSetAttribute(function, _LARGE_CLUSTERS, 1))
        self.clusters = self._clusters(cluster)

    def _clusters(self, cluster: int) -> int:
        """How many clusters the GPU runs at once."""
        size = _Attribute(_CLUSTER_SIZE, (0, cluster, 1, 1))
        launch = _Launch(
            (cluster, 1, 1), (self.threads, 1, 1), self.shared_memory, None, ctypes.pointer(size), 1
        )
        found = ctypes.c_int()
        driver = _driver()
        _check(driver.cuOccupancyMaxActiveClusters(ctypes.byref(found), self.function, ctypes.byref(launch)))
        return found.value

    def __call__(self, blocks: int, *arguments: Tensor | int | float | None) -> None:
        """Launch on PyTorch's current stream; a CUDA graph can capture it."""
        values = [_as_c(x) for x in arguments]
        pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(x) for x in values))
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        sizes = (blocks, 1, 1, self.threads, 1, 1, self.shared_memory)
        _check(_driver().cuCtxSetCurrent(self.context))  # autograd's own threads start without one
        _check(_driver().cuLaunchKernel(self.function, *sizes, stream, pointers, None))


def compile_kernels(
    source: str, shared_memory: dict[str, int], threads: dict[str, int], cluster: int, architecture: str
) -> dict[str, Kernel]:
    """The kernels of a CUDA source by name, each with the bytes of shared memory and the threads it needs."""
    module = ctypes.c_void_p()
    torch.cuda.current_stream()  # there must be a context to load into
    _check(_driver().cuModuleLoadData(ctypes.byref(module), _compile(source, architecture)))
    found = {}
    for name, size in shared_memory.items():
        function = ctypes.c_void_p()
        _check(_driver().cuModuleGetFunction(ctypes.byref(function), module, name.encode()))
        found[name] = Kernel(function, size, threads[name], cluster)
    return found


def compiles(build: Callable[[], dict[str, Kernel]]) -> bool:
    """Whether kernels can be had: not from a PyTorch without NVRTC, or with a driver too old for it."""
    try:
        return bool(build())
    except (OSError, RuntimeError):
        return False


def _compile(source: str, architecture: str) -> bytes:
    nvrtc, program, size = _nvrtc(), ctypes.c_void_p(), ctypes.c_size_t()
    options = [f"--gpu-architecture={architecture}".encode(), b"--std=c++17", b"--use_fast_math"]
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"limelight.cu", 0, None, None)
    failed = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    if failed:
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        raise RuntimeError(f"NVRTC could not compile a kernel:\n{log.value.decode()}")
    nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
    binary = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetCUBIN(program, binary)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return binary.raw


def _nvrtc() -> ctypes.CDLL:
    name = f"libnvrtc.so.{str(torch.version.cuda).split('.')[0]}"
    beside_torch = Path(torch.__file__).parents[1] / "nvidia"
    for candidate in (name, *map(str, beside_torch.rglob(name))):
        try:
            return ctypes.CDLL(candidate)
        except OSError:
            continue
    raise OSError(f"{name} not found; it comes with PyTorch's CUDA builds")


@functools.cache  # every launch asks for it
def _driver() -> ctypes.CDLL:
    return ctypes.CDLL("libcuda.so.1")


def _check(status: int) -> None:
    if status:
        message = ctypes.c_char_p()
        _driver().cuGetErrorString(status, ctypes.byref(message))
        raise RuntimeError(f"CUDA: {(message.value or b'unknown error').decode()}")


def _as_c(x: Tensor | int | float | None) -> Any:
    if x is None or isinstance(x, Tensor):
        return ctypes.c_void_p(None if x is None else x.data_ptr())
    return ctypes.c_int(x) if isinstance(x, int) else ctypes.c_float(x)
