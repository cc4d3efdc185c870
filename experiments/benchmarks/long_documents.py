"""How time and memory grow with a document's length, on one core, at the paper's Yelp sizes.

    python experiments/benchmarks/long_documents.py

Each length runs in its own process, to measure its own peak memory. "x linear" compares with the shortest
document scaled up: 1.00 is exactly linear, less is better.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

LENGTHS = (6_250, 12_500, 25_000, 50_000)
VOCABULARY, CLASSES = 20_000, 5


def measure(n: int) -> dict[str, float]:
    """Seconds forward and backward, and memory above the idle network in MB."""
    import torch  # not above: the parent process must stay small

    from limelight.config.presets import preset
    from limelight.network.torch.attention import penalty
    from limelight.network.torch.network import Network

    torch.set_num_threads(1)  # one document is too small to share among cores
    torch.manual_seed(0)
    network = Network(preset("yelp").model, VOCABULARY, CLASSES)
    for parameter in network.parameters():
        parameter.grad = torch.zeros_like(parameter)  # the same size for short and long documents
    ids, lengths = torch.randint(1, VOCABULARY, (1, n)), torch.tensor([n])
    idle = peak_megabytes()
    start = time.perf_counter()
    output = network(ids, lengths)
    loss = torch.nn.functional.cross_entropy(output.logits, torch.tensor([0])) + penalty(output.A)
    middle = time.perf_counter()
    loss.backward()
    end = time.perf_counter()
    return {
        "forward": middle - start,
        "backward": end - middle,
        "idle": idle,
        "memory": peak_megabytes() - idle,
    }


def peak_megabytes() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)  # macOS counts bytes, Linux kilobytes


def measure_apart(n: int) -> dict[str, float]:
    run = subprocess.run([sys.executable, __file__, str(n)], capture_output=True, text=True, check=True)
    result: dict[str, float] = json.loads(run.stdout)
    return result


def table() -> None:
    print(
        f"{'words':>7} {'forward s':>10} {'backward s':>11} {'x linear':>9} {'memory MB':>10} {'x linear':>9}"
    )
    first: dict[str, float] = {}
    for n in LENGTHS:
        found = measure_apart(n)
        found["seconds"] = found["forward"] + found["backward"]
        first = first or found
        scale = n / LENGTHS[0]
        seconds, memory = (found[key] / (first[key] * scale) for key in ("seconds", "memory"))
        print(
            f"{n:>7,} {found['forward']:>10.2f} {found['backward']:>11.2f} {seconds:>9.2f}"
            f" {found['memory']:>10,.0f} {memory:>9.2f}",
            flush=True,
        )
    print(f"the idle network and its gradients take {first['idle']:,.0f} MB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("words", type=int, nargs="?", help="measure this length alone, as JSON")
    words = parser.parse_args().words
    if words:
        print(json.dumps(measure(words)))
    else:
        table()
