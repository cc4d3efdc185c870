"""Table 2: entailment on SNLI beside the sentence encoders that the paper quotes.

python -m experiments.paper table2 --data snli=encoded/snli --note "22% of the training set" --out runs
"""

from __future__ import annotations

from . import markdown
from .plan import ExperimentRun, Plan
from .report import data_notes, figures, percent, write_table
from .results import ResultsByRun

MODELS = {
    "self-attention": "Structured self-attention, as its author ran it",
    "literal": "Structured self-attention, the text taken literally",
}
PUBLISHED = {  # test accuracy, trained on the whole of SNLI
    "300D LSTM encoders (Bowman et al., 2016)": 80.6,
    "600D (300+300) BiLSTM encoders (Liu et al., 2016)": 83.3,
    "300D tree-based CNN encoders (Mou et al., 2015)": 82.1,
    "300D SPINN-PI encoders (Bowman et al., 2016)": 83.2,
    "300D NTI-SLSTM-LSTM encoders (Munkhdalai and Yu, 2016a)": 83.4,
    "1024D GRU encoders with SkipThoughts pre-training (Vendrov et al., 2015)": 81.4,
    "300D NSE encoders (Munkhdalai and Yu, 2016b)": 84.6,
    "The paper's own model": 84.4,
}


def runs(plan: Plan) -> list[ExperimentRun]:
    """The model with the paper's settings, as its author applied them and literally, with each seed."""
    plan.require_tasks("table2", ("snli",))
    plan.forbid_options("table2", "encoder", "pooling")
    return plan.runs(tuple(MODELS))


def write(plan: Plan, results: ResultsByRun) -> None:
    """Write table2.md and table2.json."""
    cells = {data.name: {m: figures(results, data, m) for m in MODELS} for data in plan.data}
    published = [[name, *("" for _ in plan.data), f"{value:.1f}"] for name, value in PUBLISHED.items()]
    ours = [[title, *(percent(cells[d.name][m]) for d in plan.data), ""] for m, title in MODELS.items()]
    body = markdown.table(["", *(data.name for data in plan.data), "published"], [*published, *ours])
    content = {"accuracy": cells, "published": PUBLISHED, "note": plan.note, "runs": results}
    write_table(plan, "table2", "Table 2: SNLI", body, data_notes(plan, results), content)
