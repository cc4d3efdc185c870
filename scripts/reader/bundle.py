"""Write src/limelight/bundled/reader.safetensors from a trained and packed reader.

    python scripts/reader/bundle.py PACKED.safetensors WORDS.txt.xz

PACKED has the tensors that training wrote: words and spellings in 4 bits, two to a byte, with a float16 scale
for each 32; matrices in int8 with a float16 scale for each output; biases in float16. Here they only get the
names of the runtime, both directions of the LSTM become one tensor, and the words join them.
"""

from __future__ import annotations

import lzma
import sys
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

OUT = Path(__file__).parents[2] / "src" / "limelight" / "bundled" / "reader.safetensors"
NAMES = {
    "words": "words.weight",
    "grams": "grams.weight",
    "s1": "pooling.W_s1",
    "s2": "pooling.W_s2",
    "shared": "vector.W_shared",
    "maps": "vector.W_rows",
}


def both_directions(packed: dict[str, np.ndarray], name: str) -> np.ndarray:
    return np.stack([packed[name], packed[name.replace("_l0", "_l0_reverse")]])


def main() -> None:
    packed = load_file(sys.argv[1])
    words = lzma.decompress(Path(sys.argv[2]).read_bytes())
    out = {"vocabulary": np.frombuffer(words, np.uint8)}
    for old, new in NAMES.items():
        out[new], out[f"{new}.scale"] = packed[old], packed[f"{old}.scale"]
    for side in ("ih", "hh"):
        for suffix in ("", ".scale"):
            out[f"encoder.W_{side}_0{suffix}"] = both_directions(packed, f"lstm.weight_{side}_l0{suffix}")
    biases = (both_directions(packed, f"lstm.bias_{side}_l0").astype(np.float32) for side in ("ih", "hh"))
    out["encoder.b_0"] = sum(biases)
    save_file(out, OUT)
    print(f"{OUT}: {OUT.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
