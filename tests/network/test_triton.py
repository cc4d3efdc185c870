"""The GPU kernels, run by Triton's interpreter on the CPU; and that a CPU has no other use for Triton."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from limelight.network.torch import attention
from limelight.network.torch.lstm import bilstm
from limelight.training import fit, optimiser, step
from training import toys

TESTS = Path(__file__).parents[1]


@pytest.mark.skipif(
    importlib.util.find_spec("triton") is None, reason="Triton is not installed (pip install triton)"
)
def test_the_kernels_give_what_float64_gives():
    """In a process of its own: the interpreter is switched on before Triton is imported."""
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-rs",
        "interpreted.py",
        "network/test_attention_kernels.py",
    ]
    done = subprocess.run(command, cwd=TESTS, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "skipped" not in done.stdout, done.stdout


def test_a_cpu_never_uses_the_kernels(monkeypatch):
    """Whether Triton is installed or not, a CPU trains with PyTorch alone."""

    def refuse(*_):
        raise AssertionError("a kernel was called")

    monkeypatch.setattr(bilstm, "by_triton", refuse)
    monkeypatch.setattr(optimiser, "_on_gpu", refuse)
    monkeypatch.setattr(optimiser, "_in_plain_operations", refuse)
    monkeypatch.setattr(step, "_gather_by_kernel", refuse)
    monkeypatch.setattr(attention, "attend", refuse)
    recipe = toys.recipe(clip_gates=0.1, epochs=1, penalty=0.1)
    assert len(fit(toys.dataset(rows=20), recipe, device="cpu", show=False).history) == 1
