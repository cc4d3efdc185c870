"""The runs of the experiments: their recipes are the paper's, and what is done is not done again."""

from __future__ import annotations

import contextlib
import json
import signal
from pathlib import Path

import pytest
from experiments.paper import (
    claims,
    experiment,
    figure_heatmaps,
    figure_rows,
    ingredients,
    results,
    table1,
    table2,
    table3,
    table4,
)
from experiments.paper.__main__ import main
from experiments.paper.experiment import run_experiment
from experiments.paper.plan import Data, Plan

from experiments_small import plan, run, save_reviews
from limelight.config.options import RENAMED
from limelight.config.presets import preset
from limelight.storage.locks import locked
from limelight.training.step import Stepper
from refusing import refuses

YELP, AGE, SNLI = (Data(task, task, Path(task)) for task in ("yelp", "age", "snli"))


@pytest.fixture(scope="module")
def reviews(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_reviews(tmp_path_factory.mktemp("data") / "reviews")


def named(module, *data, seeds=(0,)):
    return {run.name: run.recipe for run in module.runs(Plan(Path("out"), data, seeds=seeds))}


def test_table_1_has_the_papers_settings():
    recipes = named(table1, YELP, AGE, seeds=(0, 7))
    assert len(recipes) == 2 * 3 * 2
    for name, recipe in recipes.items():
        model, training = recipe.model, recipe.training
        assert (model.word_size, model.hidden, model.attention_hidden, model.rows) == (100, 300, 350, 30)
        assert (model.head, model.dropout) == ("full", 0.5)
        assert (training.optimizer, training.learning_rate, training.weight_decay) == ("sgd", 0.06, 1e-4)
        assert (training.penalty, training.penalty_scale, model.author_code) == (1.0, "author", True)
        assert (training.clip_norm, training.clip_gates) == (0.0, 0.5)
        assert training.batch_size == (32 if "yelp" in name else 16)
        assert training.seed == (7 if name.endswith("seed7") else 0)
    found = {name: ((r.model.encoder, r.model.pooling), r.model.head_hidden) for name, r in recipes.items()}
    assert {name: each for name, each in found.items() if name.endswith("seed0")} == {
        "yelp-max-seed0": (("bilstm", "max"), 3000),
        "yelp-cnn-seed0": (("cnn", "max"), 3000),
        "yelp-self-attention-seed0": (("bilstm", "self-attention"), 3000),
        "age-max-seed0": (("bilstm", "max"), 3000),
        "age-cnn-seed0": (("cnn", "max"), 3000),
        "age-self-attention-seed0": (("bilstm", "self-attention"), 2000),
    }


def test_table_2_has_the_papers_settings():
    recipes = named(table2, SNLI)
    assert list(recipes) == ["snli-self-attention-seed0", "snli-literal-seed0"]
    for recipe in recipes.values():
        model, training = recipe.model, recipe.training
        assert (model.word_size, model.hidden, model.attention_hidden, model.rows) == (300, 300, 150, 30)
        assert (model.pair, model.head_hidden) == ("gated", 4000)
        assert (training.optimizer, training.learning_rate, training.batch_size, training.weight_decay) == (
            "adagrad",
            0.01,
            50,
            0,
        )
    told = [(r.training.penalty, r.training.penalty_scale, r.model.dropout) for r in recipes.values()]
    assert told == [(0.3, "author", 0.0), (0.3, "paper", 0.0)]


def test_claims_are_of_the_same_models_with_three_recipes():
    recipes = named(claims, YELP, SNLI)
    assert [name for name in recipes if name.endswith("+literal-seed0")] == [
        f"{data}-{model}+literal-seed0"
        for data, models in {
            "yelp": ("self-attention", "max", "cnn", "no-penalty", "r1", "pruned"),
            "snli": ("self-attention", "no-penalty", "r1", "pruned"),
        }.items()
        for model in models
    ]
    literal = recipes["yelp-max+literal-seed0"]
    assert literal == preset("yelp-literal").override(pooling="max", seed=0)
    assert literal.training.clip_norm == 0.5
    adamw = recipes["yelp-self-attention+adamw-seed0"]
    assert (adamw.training.optimizer, adamw.training.clip_gates, adamw.model.author_code) == (
        "adamw",
        0.5,
        True,
    )


def test_each_ingredient_is_taken_away_alone():
    recipes = named(ingredients, YELP)
    full = recipes["yelp-self-attention-seed0"].values()
    changed = {
        name.removesuffix("-seed0"): {key for key, value in recipe.values().items() if value != full[key]}
        for name, recipe in recipes.items()
    }
    assert changed == {
        "yelp-self-attention": set(),
        "yelp-norm-clipped": {"clip_norm", "clip_gates"},
        "yelp-plain-start": {"author_code"},
        "yelp-unscaled-penalty": {"penalty_scale"},
        "yelp-adagrad": {"optimizer", "learning_rate"},
        "yelp-literal": {"clip_norm", "clip_gates", "author_code", "penalty_scale"},
    }


def test_table_3_differs_in_the_penalty_alone():
    recipes = named(table3, YELP, AGE, SNLI)
    penalties = {name: recipe.training.penalty for name, recipe in recipes.items()}
    assert penalties == {
        "yelp-self-attention-seed0": 1.0,
        "yelp-no-penalty-seed0": 0.0,
        "age-self-attention-seed0": 1.0,
        "age-no-penalty-seed0": 0.0,
        "snli-self-attention-seed0": 0.3,
        "snli-no-penalty-seed0": 0.0,
    }
    for task in ("yelp", "age", "snli"):
        with_it, without = recipes[f"{task}-self-attention-seed0"], recipes[f"{task}-no-penalty-seed0"]
        assert with_it.override(penalty=0.0) == without


def test_table_4_has_the_papers_units():
    found = {
        name: (r.model.head, r.model.head_hidden if r.model.head == "full" else None)
        + ((r.model.row_units, r.model.column_units) if r.model.head == "pruned" else ())
        for name, r in named(table4, YELP, AGE, SNLI).items()
    }
    assert found == {
        "yelp-self-attention-seed0": ("full", 3000),
        "yelp-pruned-seed0": ("pruned", None, 150, 10),
        "age-b4000-seed0": ("full", 4000),
        "age-pruned-seed0": ("pruned", None, 25, 20),
        "snli-self-attention-seed0": ("full", 4000),
        "snli-pruned-seed0": ("pruned", None, 300, 10),
    }


def test_the_figures_runs():
    rows = named(figure_rows, AGE, SNLI)
    assert len(rows) == 20
    assert [recipe.model.rows for recipe in list(rows.values())[:10]] == [1, 4, 7, 10, 13, 16, 20, 23, 26, 30]
    assert {recipe.training.patience for recipe in rows.values()} == {0}
    assert all(run.curve for run in figure_rows.runs(Plan(Path("out"), (AGE,))))
    # the heat maps are of the first seed of table 3
    assert named(figure_heatmaps, YELP, seeds=(3, 4)) == named(table3, YELP, seeds=(3,))


def test_a_run_leaves_its_result_and_no_checkpoints(tmp_path, reviews):
    asked = plan(tmp_path, ("yelp", "yelp", reviews))
    run(table3, asked)
    folder = tmp_path / "yelp-self-attention-seed0"
    assert sorted(path.name for path in folder.iterdir()) == ["history.jsonl", "readings.json", "result.json"]
    found = json.loads((folder / "result.json").read_text())
    assert found["data"]["rows"] == {"train": 48, "dev": 12, "test": 20}
    assert (found["seed"], found["steps"], found["best_epoch"], found["device"]) == (0, 3, 1, "cpu")
    assert found["parameters"]["hidden"] == 3 * 8 * 5
    assert found["recipe"]["model"]["rows"] == 3
    assert found["seconds"] > 0
    quarters = found["by_length"]
    assert [each["rows"] for each in quarters] == [5, 5, 5, 5]
    assert sum(each["accuracy"] for each in quarters) / 4 == pytest.approx(found["accuracy"]["test"])
    assert 0 <= found["accuracy"]["test"] <= 1


def test_a_finished_run_is_not_run_again(tmp_path, reviews, monkeypatch):
    asked = plan(tmp_path, ("yelp", "yelp", reviews))
    runs, seen = table3.runs(asked), []
    run_experiment(asked, runs, seen.append)
    before = (tmp_path / "yelp-no-penalty-seed0" / "result.json").stat().st_mtime_ns
    monkeypatch.setattr(experiment, "train", lambda *args: pytest.fail("trained again"))
    run_experiment(asked, runs, seen.append)
    assert (tmp_path / "yelp-no-penalty-seed0" / "result.json").stat().st_mtime_ns == before
    assert [len(results) for results in seen] == [1, 2, 2, 2]
    assert seen[1] == seen[3]


def test_experiments_in_one_folder_share_their_runs(tmp_path, reviews, monkeypatch):
    asked = plan(tmp_path, ("yelp", "yelp", reviews))
    run(table3, asked)
    trained = []
    real = experiment.train
    monkeypatch.setattr(experiment, "train", lambda *args: trained.append(args[1].name) or real(*args))
    run(table4, asked)
    run(figure_heatmaps, asked)
    assert trained == ["yelp-pruned-seed0"]


def test_an_interrupted_run_goes_on_to_the_same_end(tmp_path, reviews, monkeypatch):
    data = ("age", "age", reviews)
    whole, broken = (plan(tmp_path / name, data, options={"epochs": 3}) for name in ("whole", "broken"))
    for asked in (whole, broken):
        del asked.options["rows"]  # the figure has its own
    run = figure_rows.runs(whole)[1]
    run_experiment(whole, [run], lambda results: None)
    with monkeypatch.context() as patch:
        step = Stepper.step

        def interrupting(self, rows, number):
            if number == 4:  # in the second of three epochs of three steps
                signal.raise_signal(signal.SIGINT)
            step(self, rows, number)

        patch.setattr(Stepper, "step", interrupting)
        with pytest.raises(KeyboardInterrupt):
            run_experiment(broken, [run], lambda results: None)
    folder = tmp_path / "broken" / run.name
    assert not (folder / "result.json").exists()
    numbers = []
    monkeypatch.setattr(Stepper, "step", lambda self, rows, n: numbers.append(n) or step(self, rows, n))
    run_experiment(broken, [run], lambda results: None)
    assert numbers == [5, 6, 7, 8]
    found, expected = (
        json.loads((tmp_path / name / run.name / "result.json").read_text()) for name in ("broken", "whole")
    )
    assert found["seconds"] > 0
    assert {**found, "seconds": 0} == {**expected, "seconds": 0}
    assert [set(record) >= {"dev_accuracy", "test_accuracy"} for record in found["history"]] == [True] * 3
    assert not (folder / "seconds.json").exists()


def test_another_recipe_is_not_taken_for_the_same_run(tmp_path, reviews):
    asked = plan(tmp_path, ("yelp", "yelp", reviews))
    run_experiment(asked, table3.runs(asked)[:1], lambda results: None)
    other = plan(tmp_path, ("yelp", "yelp", reviews), options={"learning_rate": 0.5})
    with refuses("result-differs"):
        run_experiment(other, table3.runs(other)[:1], lambda results: None)


@pytest.mark.parametrize(
    "changes", [{"seeds": (0, 1)}, {"seeds": (1,)}, {"seeds": (0, 1), "only": ("*-seed1",)}]
)
@pytest.mark.parametrize("module", [table3, table4])
def test_results_of_other_options_stop_it_before_anything(module, changes, tmp_path, reviews):
    data = ("yelp", "yelp", reviews)
    run(module, plan(tmp_path, data))
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    with refuses("result-differs") as found:
        run(module, plan(tmp_path, data, options={"learning_rate": 0.5}, **changes))
    assert "-seed0/result.json" in str(found.value)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_seeds_may_be_added(tmp_path, reviews):
    data = ("yelp", "yelp", reviews)
    run(table3, plan(tmp_path, data, seeds=(0,)))
    run(table3, plan(tmp_path, data, seeds=(0, 1), only=("*-seed1",)))
    cells = json.loads((tmp_path / "table3.json").read_text())["accuracy"]["yelp"]
    assert [cells[model]["seeds"] for model in table3.MODELS] == [[0, 1], [0, 1]]


def test_a_result_from_before_an_option_existed_still_counts(tmp_path, reviews, monkeypatch):
    asked = plan(tmp_path, ("yelp", "yelp", reviews))
    run = table3.runs(asked)[0]
    run_experiment(asked, [run], lambda results: None)
    path = tmp_path / run.name / "result.json"
    older = json.loads(path.read_text())
    del older["recipe"]["model"]["max_row"]
    path.write_text(json.dumps(older))
    monkeypatch.setattr(experiment, "train", None)  # it would be called
    run_experiment(asked, [run], lambda results: None)


def test_a_result_of_version_0_1_still_counts(tmp_path, reviews, monkeypatch):
    asked = plan(tmp_path, ("yelp", "yelp", reviews))
    run = table3.runs(asked)[0]
    run_experiment(asked, [run], lambda results: None)
    path = tmp_path / run.name / "result.json"
    older = json.loads(path.read_text())
    old_names = {new: old for old, new in RENAMED.items()}
    for section, options in older["recipe"].items():
        older["recipe"][section] = {old_names.get(name, name): value for name, value in options.items()}
    older["recipe"]["training"]["label_smoothing"] = 0.0
    path.write_text(json.dumps(older))
    monkeypatch.setattr(experiment, "train", None)  # it would be called
    run_experiment(asked, [run], lambda results: None)


def test_one_failure_does_not_stop_the_others(tmp_path, reviews):
    asked = plan(tmp_path, ("yelp", "yelp", reviews))
    (tmp_path / "yelp-self-attention-seed0").write_text("in the way")
    with refuses("runs-failed") as found:
        run(table3, asked)
    assert "1 of 2 runs failed: yelp-self-attention-seed0" in str(found.value)
    assert (tmp_path / "yelp-no-penalty-seed0" / "result.json").exists()


def test_a_run_of_another_process_is_passed_over(tmp_path, reviews, capsys):
    asked = plan(tmp_path, ("yelp", "yelp", reviews))
    name, other = "yelp-self-attention-seed0", "yelp-no-penalty-seed0"
    with locked(tmp_path / f".{name}.lock", "taken"):
        run(table3, asked)
    err = capsys.readouterr().err
    assert f"[1/2] {name}\n  skipped: it is being trained by another process\n" in err
    assert err.splitlines()[-1].startswith("1 of 2 runs are still being trained by another process")
    assert "| with penalty (1.0) | - |" in (tmp_path / "table3.md").read_text()
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == [other]
    run(table3, asked)
    assert [(tmp_path / each / "result.json").is_file() for each in (name, other)] == [True, True]
    assert list(tmp_path.glob(".*")) == []


@pytest.mark.parametrize("finishes", [True, False])
def test_what_another_process_was_training_is_looked_at_again(finishes, tmp_path, reviews, monkeypatch):
    """It has finished it while we trained the others, or was stopped."""
    asked = plan(tmp_path, ("yelp", "yelp", reviews))
    theirs, ours = table3.runs(asked)
    real, trained = experiment._train, []
    lock = contextlib.ExitStack()
    lock.enter_context(locked(tmp_path / f".{theirs.name}.lock", "taken"))

    def train(plan, run, dataset):
        if run == ours:
            if finishes:
                real(plan, theirs, dataset)
            lock.close()
        trained.append(run.name)
        return real(plan, run, dataset)

    monkeypatch.setattr(experiment, "_train", train)
    run(table3, asked)
    assert trained == ([ours.name] if finishes else [ours.name, theirs.name])
    assert list(json.loads((tmp_path / "table3.json").read_text())["runs"]) == [theirs.name, ours.name]


def test_all_runs_are_another_processs(tmp_path, reviews, capfd):
    argv = ["table1", "--data", f"yelp={reviews}", "--out", str(tmp_path), "--seeds", "0"]
    name = "yelp-cnn-seed0"
    with locked(tmp_path / f".{name}.lock", "taken"):
        assert main([*argv, "--only", name]) == 0
    out, err = capfd.readouterr()
    assert "- yelp: no finished runs.\n" in out
    assert err.splitlines()[-1].startswith("1 of 1 runs are still being trained by another process")


def test_what_another_process_has_just_done_is_not_done_again(tmp_path, reviews, monkeypatch):
    asked = plan(tmp_path, ("yelp", "yelp", reviews))
    run = table3.runs(asked)[0]
    dataset = results.open_data(run.data)
    done = experiment.train(asked, run, dataset)
    monkeypatch.setattr(experiment, "_train", lambda *args: pytest.fail("trained again"))
    assert experiment.train(asked, run, dataset) == json.loads(json.dumps(done))


@pytest.mark.parametrize("given", ["yelp", "yelp=", "hotels=DIR", "imdb:hotels=DIR", "yelp:../x=DIR"])
def test_bad_data(given):
    with refuses("option-value"):
        Data.parse(given)


@pytest.mark.parametrize(
    ("module", "name", "own", "task"),
    [
        (table1, "table1", {"pooling": "max"}, "yelp"),
        (table2, "table2", {"pooling": "max"}, "snli"),
        (table3, "table3", {"penalty": 0.5}, "yelp"),
        (table4, "table4", {"head": "full"}, "yelp"),
        (table4, "table4", {"head": "full"}, None),
        (figure_rows, "figure-rows", {"rows": 3}, "age"),
        (figure_heatmaps, "figure-heatmaps", {"penalty": 0.5}, "yelp"),
    ],
)
def test_what_is_compared_is_not_changed(module, name, own, task, tmp_path):
    data = (Data(task, task, tmp_path),) if task else ()
    option = next(iter(own))
    with refuses("option-fixed") as found:
        run(module, Plan(tmp_path, data, options=own))
    assert str(found.value).startswith(f"{name} sets {option}")
    assert list(tmp_path.iterdir()) == []


def test_data_that_does_not_fit(tmp_path, reviews):
    with refuses("data-task"):
        run(table2, plan(tmp_path, ("snli", "snli", reviews)))
    with refuses("data-task") as found:
        run(table1, plan(tmp_path, ("snli", "snli", reviews)))
    assert "yelp and age" in str(found.value)
    with refuses("needs-data"):
        run(table1, plan(tmp_path))
    with refuses("run-unknown"):
        run(table3, plan(tmp_path, ("yelp", "yelp", reviews), only=("nothing",)))
