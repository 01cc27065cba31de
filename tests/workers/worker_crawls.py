"""Crawls by several workers, as a user runs them, and ways to disturb their processes."""

import json
import os
import signal
from collections import Counter
from pathlib import Path

from gossamer.lab.simweb.audit import ground_truth
from tests.integration.crawl_checks import archived_urls, check_outcomes
from tests.integration.crawl_process import Command, Json, Scene, gossamer, wait_until

WORKERS = 3


def events(stage: Scene) -> list[Json]:
    """What the supervisor has noted so far."""
    path = stage.dir / "crawl.log"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def processes(stage: Scene) -> dict[int, int]:
    """The process of each worker, as it was started last."""
    return {int(str(e["worker"])): int(str(e["process"])) for e in events(stage) if e["event"] == "worker.started"}


def kill_worker(stage: Scene, worker: int) -> int:
    """End a worker at once, by the id that its supervisor has noted. Returns that id."""
    process = processes(stage)[worker]
    os.kill(process, signal.SIGKILL)
    return process


def is_gone(process: int) -> bool:
    """Whether a process has ended, buried or not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def wait_for_workers(stage: Scene, crawler: Command) -> None:
    wait_until(lambda: len(processes(stage)) == WORKERS or not crawler.runs, "the workers")
    assert crawler.runs, crawler.ended().err


def pages_of_parts(directory: Path) -> list[Json]:
    """`gossamer pages --json` of each part."""
    found: list[Json] = []
    for part in sorted(directory.glob("worker-*")):
        ended = gossamer("pages", "--dir", part, "--json")
        assert ended.status == 0, ended.err
        found += ended.lines
    return found


def check_crawl(stage: Scene) -> None:
    """Every URL of the web is known to one worker, in its state, and each document is in one archive, once."""
    truth = ground_truth(stage.web.web())
    pages = pages_of_parts(stage.dir)
    check_outcomes(truth, pages)
    archived: Counter[str] = Counter()
    for part in sorted(stage.dir.glob("worker-*")):
        archived += archived_urls(part)
    assert archived == Counter(str(page["url"]) for page in pages if page["state"] == "stored")
