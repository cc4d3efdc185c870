"""Tables from given results, to the letter, and the sizes of the pruning table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from experiments.paper import claims, table1, table2, table3, table4
from experiments.paper.plan import Data, Plan, setting

from experiments_small import result, results


def written(module, plan, found):
    module.write(plan, found)
    name = module.__name__.rsplit(".", 1)[1]
    return (plan.out / f"{name}.md").read_text(), json.loads((plan.out / f"{name}.json").read_text())


def test_table_1(tmp_path):
    plan = Plan(
        tmp_path,
        (Data("yelp", "yelp", Path()), Data("blogs", "age", Path())),
        options={"epochs": 3},
        note="A tenth of the reviews.",
    )
    found = results(
        result("yelp", "yelp", "self-attention", 0, 0.60),
        result("yelp", "yelp", "self-attention", 1, 0.62),
        result("yelp", "yelp", "cnn", 0, 0.58),
    )
    text, content = written(table1, plan, found)
    assert (
        text
        == """\
## Table 1: self-attention and the baselines

|  | yelp | the paper's yelp | blogs | the paper's age |
|---|---|---|---|---|
| BiLSTM + max pooling + MLP | - | 61.99 | - | 77.40 |
| CNN + max pooling + MLP | 58.00 | 62.05 | - | 78.15 |
| Structured self-attention | 61.00 ± 1.41 | 64.21 | - | 80.45 |

- Test accuracy in per cent at the best development epoch: mean ± standard deviation over seeds.
- yelp: 1,000 / 200 / 400 train / dev / test rows (the paper's yelp: 500,000 / 2,000 / 2,000); \
vectors: none; seeds: 0, 1; one standard error of an accuracy on this test set: 2.45 points.
- blogs: no finished runs.
- Changed from the paper's settings: epochs = 3.
- A tenth of the reviews.
"""
    )
    cell = content["accuracy"]["yelp"]["self-attention"]
    assert (cell["seeds"], round(cell["mean"], 6), round(cell["spread"], 6)) == ([0, 1], 0.61, 0.014142)
    assert round(cell["standard_error"], 6) == 0.024387
    assert cell["paper"] == 64.21
    assert list(content["runs"]) == list(found)


def test_no_standard_error_where_all_is_right(tmp_path):
    plan = Plan(tmp_path, (Data("yelp", "yelp", Path()),))
    text, _ = written(table1, plan, results(result("yelp", "yelp", "cnn", 0, 1.0)))
    assert "(the paper's yelp: 500,000 / 2,000 / 2,000); vectors: none; seeds: 0.\n" in text
    assert "standard error" not in text


def test_table_1_by_length():
    def quarters(*accuracies):
        return [{"words": [10 * k, 10 * k + 9], "rows": 5, "accuracy": a} for k, a in enumerate(accuracies)]

    found = results(
        result("yelp", "yelp", "max", 0, 0.5, by_length=quarters(0.5, 0.4)),
        result("yelp", "yelp", "cnn", 0, 0.5, by_length=quarters(0.6, 0.3)),
        result("yelp", "yelp", "self-attention", 0, 0.5, by_length=quarters(0.5, 0.5)),
        result("yelp", "yelp", "self-attention", 1, 0.5, by_length=quarters(0.6, 0.6)),
    )
    assert (
        table1.lengths(found, Data("yelp", "yelp", Path()))
        == """\
| yelp, words | BiLSTM + max pooling + MLP | CNN + max pooling + MLP | Structured self-attention |
|---|---|---|---|
| 0 to 9 | 50.00 | 60.00 | 55.00 |
| 10 to 19 | 40.00 | 30.00 | 55.00 |"""
    )
    assert table1.lengths(found, Data("age", "age", Path())) == ""


@pytest.mark.parametrize(
    ("lengths", "rows"),
    [
        ([11, 11, 11, 11], []),
        ([8, 11, 11, 11], ["| 8 to 8 | 80.00 | 80.00 | 80.00 |", "| 11 to 11 | 50.00 | 50.00 | 50.00 |"]),
    ],
)
def test_table_1_has_each_length_once(lengths, rows):
    parts = [
        {"words": [n, n], "rows": count, "accuracy": accuracy}
        for n, count, accuracy in zip(lengths, (3, 2, 2, 1), (0.8, 0.4, 0.6, 0.5), strict=True)
    ]
    found = results(*(result("yelp", "yelp", m, 0, 0.5, by_length=parts) for m in table1.MODELS))
    assert table1.lengths(found, Data("yelp", "yelp", Path())).splitlines()[2:] == rows


def test_table_2(tmp_path):
    plan = Plan(tmp_path, (Data("snli", "snli", Path()),), note="Trained on 22% of the training set.")
    text, _ = written(table2, plan, results(result("snli", "snli", "self-attention", 0, 0.75)))
    lines = text.splitlines()
    assert lines[2:4] == ["|  | snli | published |", "|---|---|---|"]
    assert "| 300D NSE encoders (Munkhdalai and Yu, 2016b) |  | 84.6 |" in lines
    assert "| The paper's own model |  | 84.4 |" in lines
    assert "| Structured self-attention, as its author ran it | 75.00 |  |" in lines
    assert lines[-1] == "- Trained on 22% of the training set."


def test_table_3(tmp_path):
    plan = Plan(tmp_path, (Data("age", "age", Path()),))
    found = results(
        result("age", "age", "self-attention", 0, 0.61), result("age", "age", "no-penalty", 0, 0.6)
    )
    text, _ = written(table3, plan, found)
    assert text.splitlines()[2:6] == [
        "|  | age | the paper's age |",
        "|---|---|---|",
        "| with penalty (1.0) | 61.00 | 80.45 |",
        "| without penalty (0.0) | 60.00 | 79.27 |",
    ]


def of_rows(model: str, seed: int, right: str) -> dict[str, Any]:
    """A run on eight test rows, of which it has these right."""
    found = result("hotels", "yelp", model, seed, right.count("1") / 8)
    found["data"]["rows"]["test"] = 8
    return found | {"right": f"{int(right, 2):02x}"}


def test_a_claim_is_judged_by_seeds_and_rows(tmp_path):
    better = [of_rows("self-attention", seed, "11111100") for seed in (0, 1)]
    for worse, verdict in {
        "00000000": "reproduced",  # six of eight rows: +0.75, error sqrt(0.1875 / 8) = 0.153
        "00111111": "not reproduced",
        "11111000": "not reproduced",  # one row: +0.125, error sqrt(0.109 / 8) = 0.117
        "11111111": "not reproduced",
    }.items():
        assert claims.verdict(better, [of_rows("max", seed, worse) for seed in (0, 1)], 0.0) == verdict
    assert claims.verdict([of_rows("max", 0, "00000000")], better, 0.0) == "reversed"
    assert claims.verdict([of_rows("max", 0, "00000000")], better, 0.1) == "not reproduced"  # sqrt(0.15)
    worse = [of_rows("max", 0, "11100000"), of_rows("max", 1, "11111000")]
    spread = claims.seed_variance([*better, *worse], Data("hotels", "yelp", Path()))
    assert spread == pytest.approx((0 + 2 * 0.125**2) / 2)  # pooled: one degree of freedom for each model
    gain, error = claims.difference(better, worse, spread)
    by_row = np.array([0, 0, 0, 0.5, 0.5, 1, 0, 0])
    assert gain == pytest.approx(0.25)
    assert error == pytest.approx(np.sqrt(by_row.var() / 8 + 2 * spread / 2))


def test_the_table_of_claims_is_made_of_the_results_in_a_folder(tmp_path):
    runs = [of_rows("self-attention", seed, "11111100") for seed in (0, 1)]
    for run in [*runs, of_rows("max", 0, "00000000")]:
        folder = tmp_path / f"hotels-{run['model']}-seed{run['seed']}"
        folder.mkdir()
        (folder / "result.json").write_text(json.dumps(run))
    text, _ = written(claims, Plan(tmp_path), {})
    claim = "| self-attention is ahead of max pooling | 64.21, 61.99 |"
    assert f"{claim} 75.00 ± 0.00, 0.00 (1 seed): reproduced | - | - |" in text.splitlines()
    assert "| self-attention | 75.00 ± 0.00 | 75.00, 75.00 |" in text.splitlines()


def test_the_results_that_are_kept_are_of_the_presets():
    for path in sorted(Path("experiments/paper/measured").glob("*/result.json")):
        found = json.loads(path.read_text())
        recipe = setting(found["data"]["task"], found["model"]).override(seed=found["seed"]).to_dict()
        if found["data"]["name"] == "hotels-200k":
            recipe["training"]["epochs"] = 5
        kept = {key: found["recipe"][key] for key in ("model", "training")}
        recipe["training"]["precision"] = "bf16"
        assert kept == {key: recipe[key] for key in kept}, path


def test_table_4_counts_without_training(tmp_path):
    text, content = written(table4, Plan(tmp_path), {})
    sizes = {name: row["parameters"] for name, row in content["sizes"].items()}
    hidden_and_softmax = {name: (row["hidden"], row["softmax"]) for name, row in sizes.items()}
    assert hidden_and_softmax == {
        "yelp, original": (54_000_000, 15_000),
        "yelp, pruned": (2_890_500, 52_500),
        "age, original": (72_000_000, 20_000),
        "age, pruned": (822_750, 63_750),
        "snli, original": (72_000_000, 12_000),
        "snli, pruned": (5_595_000, 45_000),
    }
    assert sizes["yelp, pruned"]["other"] == 1_182_900 + 350 + 30  # the attention's biases
    assert sizes["snli, pruned"]["other"] == 21_600_000 + 1_442_400 + 94_500 + 150 + 30
    assert sizes["yelp, pruned"]["total"] == 2_890_500 + 52_500 + 5 + 1_182_900 + 380
    assert (
        "| yelp, pruned, p=150 q=10 | 2,890,500 | 2.7M | 52,500 | 52.5K | 1,183,280 | 1.3M | "
        "4,126,285 | 4.1M | - | 63.86 |"
    ) in text.splitlines()


def test_table_4_counts_what_was_trained(tmp_path):
    plan = Plan(tmp_path, (Data("yelp", "yelp", Path()),))
    parts = dict.fromkeys(
        ("words", "encoder", "attention", "gate", "hidden", "hidden biases", "softmax", "softmax biases"), 10
    )
    text, _ = written(table4, plan, results(result("yelp", "yelp", "pruned", 0, 0.5, parameters=parts)))
    assert (
        "| yelp, pruned, p=150 q=10 | 20 | 2.7M | 10 | 52.5K | 30 | 1.3M | 70 | 4.1M | 50.00 | 63.86 |"
        in text
    )
