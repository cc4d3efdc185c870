"""How faithful what decided is beside other ways to find out, on the bundled development sentences.

limelight demo --out demo && python experiments/benchmarks/decided.py demo/model
"""

from __future__ import annotations

import argparse

import numpy as np

from limelight.bundled import sentences
from limelight.explain import measure_trust
from limelight.runtime.model import Model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", help="folder of a model of single texts")
    parser.add_argument("--texts", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    texts = sentences("dev")[0]
    some = np.random.default_rng(args.seed).permutation(len(texts))[: args.texts]
    found = measure_trust(Model.load(args.model), [texts[k] for k in some], seed=args.seed, rows=False)
    for each in found.attributions:
        f = each.to_dict()
        compr, suff = (
            f"{f[kind]:6.3f} ± {f[f'{kind}_error']:.3f}" for kind in ("comprehensiveness", "sufficiency")
        )
        print(f"{each.name:24} comprehensiveness {compr}   sufficiency {suff}")


if __name__ == "__main__":
    main()
