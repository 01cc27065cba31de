"""The files in examples/, run as they are in fresh processes, except that the site is a simulated one."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gossamer.lab.simweb.run import SimwebProcess
from tests.integration.crawl_process import PATIENCE, small_web, wait_until
from tests.integration.small_server import Answer, SmallServer

pytestmark = pytest.mark.service

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture(scope="module")
def web() -> Iterator[SimwebProcess]:
    config = small_web(hosts=2, pages=60, crawl_delay_seconds=0.0, slow_seconds=0.0, fault_rate=0.0)
    with SimwebProcess(config) as served:
        yield served


def run(code: str, folder: Path) -> str:
    """What a Python process prints."""
    ended = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "GossamerWarning" not in ended.stderr
    return ended.stdout


def on(web: SimwebProcess, code: str) -> str:
    """The code with a site of the simulated web in place of the one that it names."""
    options: dict[str, Any] = {
        "dns": web.dns_address,
        "allow_private": True,
        "delay": 0.0,
        "delay_factor": 0.0,
        "retry": {"delay": 0.1},
    }
    named = [site for site in ('"https://example.org/"', '"https://docs.example.org/"') if site in code]
    assert len(named) == 1
    return code.replace(named[0], f"{web.seeds[0]!r}, **{options!r}")


class Kernel:
    """A Jupyter kernel in a process of its own."""

    def __init__(self, folder: Path) -> None:
        from jupyter_client.manager import KernelManager

        self._manager = KernelManager()
        self._folder = folder

    def __enter__(self) -> "Kernel":
        self._manager.start_kernel(cwd=str(self._folder))
        self._client = self._manager.blocking_client()
        self._client.start_channels()
        self._client.wait_for_ready(timeout=PATIENCE)
        return self

    def __exit__(self, *_: object) -> None:
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)

    def run(self, cell: str) -> str:
        """What a cell prints, and its value. Fails where it raises an exception or warns."""
        shown: list[str] = []

        def on_output(message: dict[str, Any]) -> None:
            content = message["content"]
            assert message["msg_type"] != "error", "\n".join(content["traceback"])
            text = content.get("text") or content.get("data", {}).get("text/plain", "")
            assert "GossamerWarning" not in text, text
            shown.append(text)

        self._client.execute_interactive(cell, output_hook=on_output, timeout=PATIENCE)
        return "".join(shown)


def test_titles_prints_the_heading_of_each_page(web: SimwebProcess, tmp_path: Path) -> None:
    lines = run(on(web, (EXAMPLES / "titles.py").read_text()), tmp_path).splitlines()

    assert 5 <= len(lines) <= 50 and lines[0].startswith(web.seeds[0])
    assert all(heading and heading != "-" for _, _, heading in (line.partition(" ") for line in lines))
    assert list(tmp_path.iterdir()) == []


def test_broken_links_lists_what_is_missing_with_its_sources(web: SimwebProcess, tmp_path: Path) -> None:
    summary, *links = run(on(web, (EXAMPLES / "broken_links.py").read_text()), tmp_path).splitlines()

    assert summary.startswith("<Summary finished, ")
    assert links and all(line.startswith("404 http") and " linked from http" in line for line in links)


def test_the_cells_of_the_notebook_give_the_same_when_they_are_run_again(web: SimwebProcess, tmp_path: Path) -> None:
    """In a Jupyter kernel: twice, and once more after a restart."""
    pytest.importorskip("ipykernel", reason="ipykernel is missing: install requirements/dev.txt")
    cells = [
        "".join(cell["source"])
        for cell in json.loads((EXAMPLES / "notebook.ipynb").read_text())["cells"]
        if cell["cell_type"] == "code"
    ]
    assert len(cells) == 2
    cells = [on(web, cells[0]), cells[1], "[(page.url, page.text) for page in pages]"]

    with Kernel(tmp_path) as kernel:
        first, second = ([kernel.run(cell) for cell in cells] for _ in range(2))
    with Kernel(tmp_path) as kernel:
        third = [kernel.run(cell) for cell in cells]

    assert "<StoredCrawl docs: " in first[1] and len(first[2]) > 5_000
    assert first == second == third


def test_the_first_interrupt_ends_a_blocking_run_with_a_summary(tmp_path: Path) -> None:
    def endless(path: str, _: int) -> Answer:
        if path != "/" and not path[1:].isdigit():
            return Answer("", 404)
        number = int(path[1:] or 0)
        return Answer(f"<title>{number}</title><a href=/{number + 1}>{'more ' * number}</a>")

    with SmallServer(endless) as server:
        code = (
            "import gossamer, signal\n"
            # A shell starts background jobs with the signal ignored, and processes inherit that.
            "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
            f"crawl = gossamer.Crawl({server.base + '/'!r}, dir='c', allow_private=True, delay=0.02, max_depth=10**6)\n"
            "print(gossamer.run(crawl), crawl.status().stopped)"
        )
        with subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
            wait_until(lambda: len(server.asked) > 5 or process.poll() is not None, "some requests")
            os.kill(process.pid, signal.SIGINT)
            try:
                out, _ = process.communicate(timeout=300)
            finally:
                process.kill()

    assert process.returncode == 0
    assert out.startswith("<Summary stopped: interrupted, ") and out.endswith(" interrupted\n")
