"""The live explorer with many rows: time to open, filter, brush and find. Needs Chromium and Playwright.

limelight demo --out demo && python experiments/benchmarks/explorer.py demo/model --rows 100000
"""

from __future__ import annotations

import argparse
import itertools
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import uvicorn

from limelight.bundled import sentences
from limelight.runtime.model import Model
from limelight.serve.app import create_app
from limelight.serve.explorer.explored import ModelNeighbours, explore_data
from limelight.serve.server import configure, listen

TEXT = "The soup was cold but the waiter was lovely."
STEPS = {
    "another text": "() => limelight.show(limelight.fresh([text + (turn++ % 2 ? '!' : '?')]))",
    "filter by a class": "() => data.change({ truth: turn++ % 2 })",
    "sort by confidence": "() => data.change({ truth: -1, sort: turn++ % 2 ? 'least' : 'most' })",
    "find words": "() => data.change({ sort: '', find: turn++ % 2 ? 'soup' : 'film' })",
    "clear the filters": "() => data.change({ find: '', right: turn++ % 2 ? '' : 'right' })",
    "scroll the list": "() => { data.list.root.scrollTop += 5000; return data.list.paint() }",
    "draw the map": "() => { data.choose('map'); data.map.paint() }",
    "brush it": "() => data.change({ box: [-1, -1, turn++ % 2, 1] })",
    "nearest texts": "() => limelight.near.source.find([text + (turn++ % 2 ? '!' : '?')])",
}
TIME = """async ([text, step, rounds]) => {
    let turn = 0
    const { data } = limelight, act = eval(step), times = []
    for (let k = 0; k < rounds; k++) {
        const start = performance.now()
        await act()
        times.push(performance.now() - start)
    }
    times.sort((a, b) => a - b)
    return [times[rounds >> 1], times[0]]
}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", help="folder of a saved model of single texts")
    parser.add_argument("--rows", type=int, default=100_000, help="bundled sentences, repeated with a number")
    parser.add_argument("--rounds", type=int, default=11)
    args = parser.parse_args()
    model, texts = Model.load(args.model), sentences("train")[0]
    items = [(f"{text} {k}",) for k, text in zip(range(args.rows), itertools.cycle(texts), strict=False)]
    start = time.perf_counter()
    truth = np.arange(args.rows) % len(model.labels)
    data = explore_data([model], items, truth)
    print(
        f"{args.rows:,} rows read in {time.perf_counter() - start:.1f} s; {len(data.pack()):,} bytes to send"
    )
    with opened(
        create_app({"m": model}, data=data, near=ModelNeighbours(model, data), log_requests=False)
    ) as page:
        print("| | median, ms | best, ms |\n|---|---|---|")
        for name, step in STEPS.items():
            median, best = page.evaluate(TIME, [TEXT, step, args.rounds])
            print(f"| {name} | {median:.0f} | {best:.0f} |")


@contextmanager
def opened(app: Any) -> Iterator[Any]:
    """The page in a browser that lets a benchmark evaluate its steps."""
    from playwright.sync_api import sync_playwright

    listening = listen("127.0.0.1", 0)
    server = uvicorn.Server(configure(app))
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_context(bypass_csp=True).new_page()
        start = time.perf_counter()
        page.goto(f"http://127.0.0.1:{listening.getsockname()[1]}/")
        page.wait_for_selector(".item")
        page.wait_for_selector(".bars li", state="attached")
        print(f"opened in {time.perf_counter() - start:.2f} s")
        yield page
        browser.close()
    server.should_exit = True
    thread.join()


if __name__ == "__main__":
    main()
