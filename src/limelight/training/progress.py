"""The progress of a run: a live bar on a terminal, plain lines elsewhere, and the logger `limelight`."""

import logging
import os
import sys
import time
from collections.abc import Callable
from typing import Any, TextIO

LOGGER = logging.getLogger("limelight")
LOGGER.addHandler(logging.NullHandler())  # a program decides itself whether and where to log
MEASURES = {"accuracy": ".2%", "f1": ".4f", "r2": ".4f", "cosine": ".4f"}  # in a record, one of them
FIRST_LINE, LINES_APART = 5, 30  # seconds, where there is no terminal


class Progress:
    """Shows epochs, steps and evaluations; with `show=False`, nothing.

    The same lines go to the logger, whether they are shown or not: notes and epochs as INFO, what went wrong
    as WARNING, and as DEBUG the figures of the steps, one second apart at least.
    """

    def __init__(self, show: bool = True, stream: TextIO | None = None, log: bool = True) -> None:
        self.show, self.log = show, log
        self.stream = stream or sys.stderr
        self.bar: Any = None
        self.live = show and self.stream.isatty()
        self.development = ""

    def note(self, line: str) -> None:
        if self.log:
            LOGGER.log(logging.WARNING if line.startswith("warning:") else logging.INFO, "%s", line.strip())
        if not self.show:
            return
        if self.bar is not None:
            self.bar.write(line, file=self.stream)
        else:
            print(line, file=self.stream, flush=True)

    def begin_epoch(self, epoch: int, epochs: int, rows: int, done: int, may_stop_early: bool) -> None:
        """An epoch starts, or resumes after `done` rows; it may be the last, by patience."""
        self.at_most = "at most " if may_stop_early else ""
        self.epoch, self.epochs, self.rows, self.done, self.begun = epoch, epochs, rows, done, done
        self.started = self.shown = time.monotonic()
        if epoch == 0 and not self.live:
            self.shown -= LINES_APART - FIRST_LINE  # how long it will take is said soon
        if self.live:
            from tqdm import tqdm

            self.bar = tqdm(
                total=rows, initial=done, unit="rows", unit_scale=True, file=self.stream, leave=False,
                desc=f"epoch {epoch + 1}/{epochs}", smoothing=0.1,
                dynamic_ncols="TQDM_NCOLS" not in os.environ,  # set by the user
                mininterval=0, miniters=1,
            )  # fmt: skip

    def step(self, rows: int, figures: Callable[[], dict[str, float]]) -> None:
        """A batch is done. `figures` may have to wait for the GPU, so it is called once a second at most."""
        self.done += rows
        now = time.monotonic()
        logged = self.log and LOGGER.isEnabledFor(logging.DEBUG)
        if not (self.show or logged) or now - self.shown < (1 if self.live or logged else LINES_APART):
            return
        self.shown = now
        found = figures()
        if logged:
            LOGGER.debug("%s/%s rows, %s", self.done, self.rows, _format_figures(found))
        if not self.show:
            return
        if self.live:
            line = f"{_format_figures(found)}{self.development}, all done in {self._time_left()}"
            self.bar.set_postfix_str(line, refresh=False)
            self.bar.update(self.done - self.bar.n)
        else:
            speed, left = f"{self._speed():,.0f} rows/s", f"{self._time_left()} left"
            self.note(f"  {self.done:,}/{self.rows:,} rows, {_format_figures(found)}, {speed}, {left}")

    def first(self, figures: dict[str, float]) -> None:
        """The classifier that was fitted before the first epoch was evaluated, if there are dev rows."""
        for measure, form in MEASURES.items():
            if f"dev_{measure}" in figures:
                self.note(f"the first classifier, before any epoch: dev {figures[f'dev_{measure}']:{form}} *")

    def end_epoch(self, record: dict[str, Any], better: bool) -> None:
        self.close()
        measure, form = next((name, form) for name, form in MEASURES.items() if name in record)
        development = f"  dev {record[f'dev_{measure}']:{form}}" if f"dev_{measure}" in record else ""
        if f"dev_weighted_{measure}" in record:
            development += f" (weighted {record[f'dev_weighted_{measure}']:{form}})"
        self.development = development and f",{development[1:]}"
        losses = f"loss {record['loss']:.4f}  penalty {record['penalty']:.4f}"
        chosen = " *" if better and "dev_loss" in record else "  "
        accuracies = f"train {record[measure]:{form}}{development}{chosen}"
        speed = f"  {self._speed():,.0f} rows/s" if self.done > self.begun else ""  # no rows were left
        self.note(f"epoch {record['epoch']}/{self.epochs}  {losses}  {accuracies}{speed}".rstrip())

    def close(self) -> None:
        """Leave the terminal tidy."""
        if self.bar is not None:
            self.bar.close()
            self.bar = None

    def _speed(self) -> float:
        return (self.done - self.begun) / max(time.monotonic() - self.started, 1e-9)

    def _time_left(self) -> str:
        rows = self.rows * (self.epochs - self.epoch) - self.done
        return f"{self.at_most}{_format_time(rows / max(self._speed(), 1e-9))}"


def _format_figures(figures: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.3f}" for name, value in figures.items())


def _format_time(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"
