"""The GPU kernels, run by Triton's interpreter on the CPU, against their twins in PyTorch.

Triton does not come with a CPU build of PyTorch. Where it is installed, these tests need no GPU: they run
in a process of their own, since the interpreter is switched on before Triton is imported.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("triton") is None, reason="Triton is not installed (pip install triton)"
)

LSTM = """
import torch
from limelight.model.lstm.recurrence import by_recurrence
from limelight.model.lstm.triton_kernels import by_triton

torch.manual_seed(0)
torch.backends.cudnn.allow_tf32 = False
for batch, n, d, u, clip in [(3, 5, 7, 4, 0.0), (5, 6, 3, 20, 0.0), (4, 4, 3, 5, 0.05), (17, 3, 4, 17, 0.0)]:
    lengths = torch.randint(1, n + 1, (batch,))
    S = torch.randn(batch, n, d, requires_grad=True)
    W = [(torch.randn(*shape) / 2).requires_grad_() for shape in [(2, 4 * u, d), (2, 4 * u, u), (2, 4 * u)]]
    H = by_triton(S, lengths, *W, clip)
    twin = by_recurrence(S, lengths, *W, clip)
    torch.testing.assert_close(H, twin, rtol=1e-5, atol=1e-6)
    upstream = torch.randn_like(H)
    for mine, theirs in zip(*(torch.autograd.grad((x * upstream).sum(), [S, *W]) for x in (H, twin))):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-5)
"""

UPDATE = """
import torch
from limelight.training import kernels

torch.manual_seed(0)
for dtype, tolerance in ((torch.float32, 1e-6), (torch.float64, 1e-14)):
    for rule, states in (("sgd", 0), ("adagrad", 1), ("adam", 2), ("adamw", 2)):
        start = torch.randn(5000, dtype=dtype)
        ways = {}
        for way in (kernels._in_plain_operations, lambda *x: kernels._on_gpu(*x, None)):
            torch.manual_seed(1)
            w, state = start.clone(), [torch.zeros_like(start) for _ in range(states)]
            for t in range(1, 6):
                numbers = torch.tensor([0.01, 0.5, t, 1 - 0.9**t, 1 - 0.999**t, 0.01, 1e-8]).double()
                way(rule, w, torch.randn(5000, dtype=dtype), state, numbers)
            ways[way] = w
        first, second = ways.values()
        torch.testing.assert_close(first, second, rtol=0, atol=tolerance)
        assert not torch.equal(first, start)
"""


@pytest.mark.parametrize("program", [LSTM, UPDATE], ids=["lstm", "update"])
def test_kernel_equals_its_twin(program):
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
