"""Do children answer that are forked while other threads predict?

    python experiments/benchmarks/forks.py path/to/model --forks 1000

Two threads embed texts without a pause while the main thread forks; a child embeds the same texts. One that
takes longer than 20 seconds counts as hanging.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading

import limelight

TEXTS = ["The soup was cold but the waiter was lovely and kind."] * 40 + ["good"] * 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("model", help="a saved folder, or: reader")
    parser.add_argument("--forks", type=int, default=1000)
    args = parser.parse_args()
    wrong = 0
    for threads in (1, 2):
        hung, failed = fork_many(limelight.load(args.model, threads=threads), args.forks)
        print(f"{threads} threads: {hung} of {args.forks} children hang, {failed} fail", flush=True)
        wrong += hung + failed
    sys.exit(bool(wrong))


def fork_many(model: limelight.Model | limelight.Reader, forks: int) -> tuple[int, int]:
    """How many children hang, and how many fail."""
    done = threading.Event()

    def work() -> None:
        while not done.is_set():
            model.embed(TEXTS)

    model.embed(TEXTS)
    workers = [threading.Thread(target=work) for _ in range(2)]
    for worker in workers:
        worker.start()
    codes = [_answer_in_child(model) for _ in range(forks)]
    done.set()
    for worker in workers:
        worker.join()
    return codes.count(-signal.SIGALRM), sum(code not in (0, -signal.SIGALRM) for code in codes)


def _answer_in_child(model: limelight.Model | limelight.Reader) -> int:
    """The exit code of a child that embeds the texts."""
    pid = os.fork()
    if pid == 0:
        signal.alarm(20)
        code = 1
        try:
            model.embed(TEXTS)
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


if __name__ == "__main__":
    main()
