"""`limelight pretrain`: texts and a teacher in, a reader's folder out."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..config.pretrain_recipe import ReaderRecipe
from ..errors import LimelightError, conflict
from ._jobs import add_run, print_resume, run_job
from ._output import print_result
from ._parser import add_flag, add_section, add_shared, on_bad

if TYPE_CHECKING:
    from ..training.pretrain_job import PretrainJob

HELP = "make a reader from texts without labels and a sentence encoder"
USAGE = "%(prog)s [TEXTS ...] [--pairs TABLE] --teacher T --out DIR [options]"
DESCRIPTION = """\
Teach a reader the vectors of a sentence encoder: it then gives nearly the same, many times faster, in a few
megabytes and without PyTorch. TEXTS are tables (csv, tsv, jsonl, parquet) or files with one text per line
(.txt), also compressed; they need no labels. The teacher is a sentence-transformers model (folder or name),
or a .npy file with a vector per text.

  limelight pretrain texts.txt --teacher sentence-transformers/all-MiniLM-L6-v2 --out reader
  limelight embed reader new.csv --text text --out vectors.npy --vector
  limelight pretrain --pairs translations.parquet --teacher all-MiniLM-L6-v2 --out reader
  limelight pretrain --resume reader      resume an interrupted run
  torchrun --nproc-per-node 4 -m limelight pretrain texts.parquet --teacher vectors.npy --out reader"""


def arguments(parser: argparse.ArgumentParser) -> None:
    add_flag(parser, "texts", "TEXTS", "table or lines of text; several are joined", nargs="*")
    add_flag(parser, "--teacher", "T", "sentence-transformers model, or .npy file of vectors")
    add_flag(parser, "--out", "DIR", "folder to write; DIR.run is used while training")
    add_flag(parser, "--text", "COLUMN", "column of the texts, for tables (default: guessed)")
    pairs = "table of translations, with columns english and other: both learn the English text's vector"
    add_flag(parser, "--pairs", "TABLE", pairs)
    vectors = "GloVe or word2vec file to start the words from, for a teacher that is a .npy file"
    add_flag(parser, "--word-vectors", "FILE", vectors)
    add_flag(parser, "--skip-bad", "", "skip rows that cannot be used")
    add_shared(parser, "--encoding")
    add_run(parser)
    add_section(parser, "reader options", "Defaults are in [brackets].", ReaderRecipe(), hide=True)


def run(args: argparse.Namespace) -> int:
    job = _job(args)
    facts = run_job(args, job)
    if facts is None:
        return print_resume(job)
    if facts:
        print_result(args, {"out": str(job.out), **facts}, _summary(job, facts))
    return 0


def _job(args: argparse.Namespace) -> PretrainJob:
    from ..training.pretrain_job import PretrainJob

    names = {"embedding", *(f.name for f in dataclasses.fields(ReaderRecipe))}
    options = {name: value for name, value in vars(args).items() if name in names}
    given = {"--teacher": args.teacher, "--out": args.out}
    if args.resume:
        if options or any(
            (*given.values(), args.texts, args.text, args.pairs, args.word_vectors, args.overwrite)
        ):
            raise conflict("--resume takes texts and options from the interrupted run; give nothing else")
        return PretrainJob.load(args.resume)
    missing = [name for name, value in given.items() if not value]
    if not args.texts and not args.pairs:
        missing = ["TEXTS or --pairs"]
    if missing:
        fault = f"pretrain needs {missing[0]} (see limelight pretrain --help)"
        raise LimelightError(fault, code="argument-missing")
    return PretrainJob(
        out=Path(args.out), recipe=ReaderRecipe().override(**options), texts=args.texts, teacher=args.teacher,
        text=args.text, pairs=args.pairs or "", word_vectors=args.word_vectors or "", on_bad=on_bad(args),
        overwrite=args.overwrite,
    )  # fmt: skip


def _summary(job: PretrainJob, facts: dict[str, Any]) -> str:
    lines = [f"saved {job.out}: a reader of {facts['texts']['rows']:,} texts"]
    if "cosine" in facts:
        lines.append(
            f"on {facts['held_out']:,} held-out texts: cosine to the teacher {facts['cosine']:.3f}, "
            f"overlap of rows {facts['overlap']:.3f}; {job.out}/README.md says what each row reads"
        )
    return "\n".join(lines)
