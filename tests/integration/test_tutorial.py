"""Every command of the tutorial, as it is written there, in its order, but on ports that nobody else uses."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hostile.dns_stage import free_port

pytestmark = pytest.mark.service

TUTORIAL = Path(__file__).resolve().parents[2] / "docs" / "TUTORIAL.md"
BLOCK = re.compile(r"^```(console|python|toml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run(command: str, folder: Path, path: str) -> str:
    environment = {**os.environ, "PATH": path, "COLUMNS": "120"}
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


def test_every_command_of_the_tutorial_does_what_it_says(tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    port, names = free_port(), free_port()
    seed = f"http://portal.test:{port}/"
    tutorial = TUTORIAL.read_text(encoding="utf-8").replace("18080", str(port)).replace("15300", str(names))
    blocks = BLOCK.findall(tutorial)
    (kind, text), *rest = blocks
    assert kind == "console"
    command = text.removeprefix("$ ").strip()
    printed: dict[str, str] = {}
    with subprocess.Popen(
        command.split(), cwd=tmp_path, env={**os.environ, "PATH": path}, stdout=subprocess.PIPE, text=True
    ) as simweb:
        try:
            assert simweb.stdout is not None
            assert seed in json.loads(simweb.stdout.readline())["seeds"]
            folder = tmp_path
            for kind, text in rest:
                if kind == "toml":
                    (folder / "gossamer.toml").write_text(text)
                elif kind == "python":
                    (folder / "snippet.py").write_text(text)
                    printed["python"] = run("python snippet.py", folder, path)
                else:
                    for line in text.splitlines():
                        assert line.startswith("$ "), line
                        if line.startswith("$ cd "):
                            folder = folder / line.removeprefix("$ cd ")
                            continue
                        number = sum(done.partition(" #")[0] == line for done in printed)
                        printed[f"{line} #{number + 1}"] = run(line[2:], folder, path)
        finally:
            simweb.terminate()

    assert "Stopped: page limit (100) reached" in printed[f"$ gossamer crawl {seed} --max-pages 100 #1"]
    assert "Finished: nothing left to crawl" in printed["$ gossamer crawl #1"]
    assert "stored" in printed["python"]
    assert seed in printed["python"]
    assert re.search(r"recrawled +[1-9]", printed["$ gossamer crawl #2"])
    assert re.search(r"[2-9] visits", printed[f"$ gossamer explain {seed} #2"])
    assert len((folder / "texts.jsonl").read_text().splitlines()) > 10
    assert len((folder / "pages.csv").read_text().splitlines()) > 290
    assert any((folder / "markdown").rglob("*.md"))
