"""`gossamer crawl --workers N` without `--store`: workers on a private server in the crawl's directory."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

import pytest

import gossamer as library
from gossamer.backends.postgres.private_server import PrivateServer
from gossamer.cli.crawl import files_of
from gossamer.crawl.run.location import CrawlLocation
from gossamer.lab.simweb.audit import ground_truth
from tests.backends.postgres.postgres_databases import PostgresDatabases
from tests.integration.crawl_checks import CONTRACT_KEYS
from tests.integration.crawl_process import (
    RETRY,
    Command,
    Json,
    Scene,
    gossamer,
    scene,
    small_web,
    wait_for_requests,
    wait_until,
)
from tests.integration.test_shared_crawl import OPTIONS, TTL, check_whole, facts, violations
from tests.postgres_server import is_running, kill_server

pytestmark = pytest.mark.service

WEB = small_web(seed=31, hosts=16, pages=240, duplicate_rate=0.0, fault_rate=0.0, shared_address_hosts=0.5)
READING = (
    ("status",),
    ("hosts",),
    ("pages", "--limit", 3),
    ("explain", "http://portal.test/"),
    ("dead",),
    ("verify",),
    ("index",),
    ("workers", "--all"),
)


@contextmanager
def several(folder: Path, workers: int, *options: object) -> Iterator[Scene]:
    with scene(folder / "web", WEB, [*OPTIONS, "--workers", workers, *options], RETRY + TTL) as stage:
        yield stage


def events(stage: Scene) -> list[Json]:
    """What the supervisor has logged so far."""
    path = stage.dir / "crawl.log"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def processes(stage: Scene) -> dict[int, int]:
    """The process of each worker that was started last."""
    return {int(str(e["worker"])): int(str(e["process"])) for e in events(stage) if e["event"] == "worker.started"}


def server_of(stage: Scene) -> int:
    """Process id of the server, or that of the last one; 0 while it is started."""
    return int((stage.dir / "postgres" / "server.lock").read_text() or 0)


def children(process: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def waiting_lines(crawler: Command, reason: str) -> list[str]:
    """The first two lines of the display that name what the crawl waits for."""
    assert crawler.process.stderr is not None
    return list(islice((line for line in crawler.process.stderr if reason in line), 2))


def check_nothing_runs(stage: Scene) -> None:
    """No worker, and no server: nobody holds its lock. After a kill that takes a moment."""
    for process in (*processes(stage).values(), server_of(stage)):
        wait_until(lambda: not is_running(process), f"the end of process {process}")  # noqa: B023
    server = PrivateServer(stage.dir)
    try:
        assert not server.is_running()
    finally:
        server.close()


def test_a_crawl_that_runs_is_shown_and_not_started_twice(server_path: Path) -> None:
    with several(server_path, 2, "--keep-fresh") as stage, Command(*stage.command) as crawler:  # it does not end
        wait_for_requests(stage, crawler, 20)
        running = gossamer("status", "--dir", stage.dir, "--json")
        assert running.report["running"] is True, running.err
        busy = gossamer("crawl", *stage.resume)
        assert "is in use" in busy.err
        crawler.process.send_signal(signal.SIGTERM)
        assert crawler.ended().status == 143
        check_nothing_runs(stage)


def test_several_workers_store_what_one_does_and_every_command_reads_it(server_path: Path) -> None:
    with several(server_path, 3) as stage:
        alone = Scene(server_path / "alone", stage.web, OPTIONS, RETRY)
        assert gossamer(*alone.command).report["finished"] is True
        ended = gossamer(*stage.command)
        assert ended.status == 0, ended.err
        report = ended.report
        assert set(report) >= CONTRACT_KEYS
        assert (report["finished"], report["politeness_violations"]) == (True, 0)
        assert report["pages"] == report["run_pages"] == ground_truth(stage.web.web()).documents
        assert report["seeds"] == {"given": 3, "stored": 3, "failed": {}}
        check_nothing_runs(stage)

        pages = check_whole(stage)
        assert {str(p["url"]): facts(p) for p in pages} == {str(p["url"]): facts(p) for p in alone.pages()}
        for command in READING:
            read = gossamer(*command, "--dir", stage.dir)
            assert (read.status, bool(read.out or read.err)) == (0, True), (command, read.err)
        exported = gossamer("export", "--dir", stage.dir, "--what", "pages", "--output", server_path / "pages.jsonl")
        assert exported.status == 0, exported.err
        found = files_of(CrawlLocation(stage.dir))
        warcs = list((stage.dir / "warc").iterdir())
        assert (found.archive_files, found.archive_bytes) == (len(warcs), sum(each.stat().st_size for each in warcs))
        stray = stage.dir / "warc" / "gossamer-worker-9-20260101000000-00001.warc.gz"
        stray.write_bytes(b"")
        assert stray.name in gossamer("verify", "--dir", stage.dir).out
        with library.open(stage.dir) as stored:
            assert stored.status()["pages"] == report["pages"]
            assert sum(1 for _ in stored.pages()) == report["pages"]
        check_nothing_runs(stage)
    assert violations(stage) == []


def test_kills_of_a_worker_the_server_and_the_supervisor_lose_nothing(server_path: Path) -> None:
    with several(server_path, 3) as stage:
        with Command(*stage.command) as crawler:
            wait_for_requests(stage, crawler, 40)
            worker = processes(stage)[2]
            os.kill(worker, signal.SIGKILL)
            wait_until(lambda: processes(stage)[2] != worker or not crawler.runs, "another worker")
            server = server_of(stage)
            kill_server(server)
            wait_until(lambda: server_of(stage) not in (0, server) or not crawler.runs, "another server")
            wait_for_requests(stage, crawler, 90)
            crawler.process.kill()
            crawler.process.wait()
        check_nothing_runs(stage)

        # Nobody was told to stop; one worker goes on where three were, then three again: each cuts off what it had
        # written to its WARC file and not committed.
        before = int(str(gossamer("status", "--dir", stage.dir, "--json").report["pages"]))
        limited = gossamer("crawl", *stage.resume, "--workers", 1, "--more", 10)
        assert (limited.status, limited.report["pages"]) == (0, before + 10), limited.err
        rest = gossamer("crawl", *stage.resume, "--workers", 3)
        assert (rest.status, rest.report["finished"]) == (0, True), rest.err
        assert len(processes(stage)) == 3
        check_whole(stage)
        assert gossamer("verify", "--dir", stage.dir).out.startswith("no problems")
        check_nothing_runs(stage)
    assert violations(stage) == []


def test_an_interrupt_ends_all_and_a_hangup_starts_all_again_with_other_rules(server_path: Path) -> None:
    with several(server_path, 2) as stage:
        with Command(*stage.command) as crawler:
            wait_for_requests(stage, crawler, 30)
            before = processes(stage)
            stage.toml.write_text(f"max_depth = 2\n{RETRY}{TTL}")
            crawler.strike(signal.SIGHUP)
            wait_until(
                lambda: not set(processes(stage).values()) & set(before.values()) or not crawler.runs, "other workers"
            )
            crawler.strike(signal.SIGINT)
            ended = crawler.ended()
        assert (ended.status, ended.report["finished"]) == (130, False), ended.err
        check_nothing_runs(stage)
        resumed = gossamer("crawl", "--dir", stage.dir, "--config", stage.toml, "--json", "--quiet", "--delay", 0.05)
        assert (resumed.status, resumed.report["finished"]) == (0, True), resumed.err
        assert [e["workers"] for e in events(stage) if e["event"] == "workers.started"] == [2, 2, 2]
        options = gossamer("status", "--dir", stage.dir, "--json").report["options"]
        assert isinstance(options, dict) and (options["workers"], options["max_depth"]) == (2, 2)
        check_nothing_runs(stage)


def test_a_service_and_a_crawl_in_python_go_on_with_it(server_path: Path) -> None:
    with several(server_path, 2, "--max-pages", 30) as stage:
        assert gossamer(*stage.command).report["pages"] == 30
        options = [option for option in stage.resume if option not in ("--json", "--quiet", "--workers", 2)]
        options[options.index("--max-pages") + 1] = 60
        with Command("serve", *options, "--port", 0, "--no-keep-fresh", "--json") as service:
            log = stage.dir / "crawl.log"
            wait_until(lambda: "service.started" in log.read_text() or not service.runs, "the service")
            assert service.runs, service.ended()
            server = server_of(stage)
            kill_server(server)
            wait_until(lambda: server_of(stage) not in (0, server) or not service.runs, "another server")
            service.strike(signal.SIGTERM)
            ended = service.ended()
        assert ended.status == 0, ended.err
        check_nothing_runs(stage)
        assert library.run(library.Crawl(dir=stage.dir, max_pages=90, delay=0.05)).pages == 90
        check_nothing_runs(stage)


def test_a_server_that_hangs_is_shown_and_the_second_interrupt_ends_the_crawl(server_path: Path) -> None:
    with several(server_path, 2, "--keep-fresh") as stage:
        options = [option for option in stage.command if option != "--quiet"]
        with Command(*options) as crawler:
            wait_for_requests(stage, crawler, 20)
            server = server_of(stage)
            frozen = [server, *children(server)]
            for process in frozen:
                os.kill(process, signal.SIGSTOP)
            try:
                hung = waiting_lines(crawler, "waiting for the store, which does not answer")
                crawler.strike(signal.SIGINT)
                crawler.strike(signal.SIGINT)
                ended = crawler.ended()
            finally:
                for process in reversed(frozen):
                    with suppress(ProcessLookupError):
                        os.kill(process, signal.SIGCONT)
        assert ended.status == 1
        assert "the store does not answer" in ended.err
        assert hung[0].split()[0] < hung[1].split()[0]  # the clock
        check_nothing_runs(stage)
        assert gossamer("verify", "--dir", stage.dir).out.startswith("no problems")


def test_a_worker_that_cannot_start_ends_the_crawl_with_its_error(server_path: Path) -> None:
    with several(server_path, 2, "--max-pages", 30) as stage:
        assert gossamer(*stage.command).status == 0
        lost = min((stage.dir / "warc").iterdir())
        lost.rename(server_path / lost.name)
        failed = gossamer("crawl", *stage.resume, "--max-pages", 60)
        assert (failed.status, f"cannot start: {lost} is missing" in failed.err) == (1, True), failed.err
        reasons = [str(event["error"]) for event in events(stage) if event["event"] == "worker.lost"]
        assert [reason.startswith(f"{lost} is missing") for reason in reasons] == [True]
        check_nothing_runs(stage)


def test_a_directory_with_a_private_server_is_not_used_for_a_store_elsewhere(
    server_path: Path, postgres_databases: PostgresDatabases
) -> None:
    with several(server_path, 2, "--max-pages", 20) as stage, postgres_databases.one() as url:
        assert gossamer(*stage.command).report["pages"] == 20
        other = ("--store", url, "--unsafe-store")
        alone = Scene(server_path / "alone", stage.web, [*OPTIONS, *other, "--max-pages", 5], RETRY)
        assert gossamer(*alone.command).report["pages"] == 5
        for refused in (
            gossamer("crawl", *stage.resume, *other, "--workers", 1, "--max-pages", 40),
            gossamer("worker", *other, "--dir", stage.dir, "--name", "another"),
        ):
            assert (refused.status, f"{stage.dir} holds a crawl of its own" in refused.err) == (1, True), refused.err
        assert not (stage.dir / "another").exists()

        elsewhere = gossamer("status", "--store", url, "--dir", stage.dir)
        assert elsewhere.out.startswith("Crawl in postgresql://"), elsewhere.out
        assert gossamer("status", "--dir", stage.dir, "--json").report["pages"] == 20


def test_a_crawl_by_one_worker_is_not_continued_by_several(tmp_path: Path) -> None:
    with scene(tmp_path, WEB, ["--max-pages", 20]) as stage:
        assert gossamer(*stage.command).status == 0
        refused = gossamer(*stage.command, "--workers", 2)
        assert (refused.status, (stage.dir / "postgres").exists()) == (1, False)
        assert "holds a crawl by one worker, not by 2" in refused.err


@pytest.mark.parametrize(("given", "told"), [("0", "at least 1, not 0"), ("65", "at most 64, not 65")])
def test_an_impossible_number_of_workers_is_refused_by_name(given: str, told: str, tmp_path: Path) -> None:
    ended = gossamer("crawl", "http://one.test/", "--dir", tmp_path / "crawl", "--workers", given)
    assert ended.status == 2
    assert "--workers" in ended.err
    assert told in ended.err
    assert not (tmp_path / "crawl").exists()


def test_without_programs_the_error_names_both_remedies(server_path: Path) -> None:
    code = (
        "import sys; from gossamer.backends.postgres import private_server; private_server.binary_places = list;"
        "from gossamer.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )
    crawl = ("crawl", "http://one.test/", "--dir", str(server_path / "crawl"), "--workers", "2")
    ended = subprocess.run([sys.executable, "-c", code, *crawl], capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "apt install postgresql" in ended.stderr
    assert "gossamer[workers]" in ended.stderr
    assert not (server_path / "crawl" / "crawl.lock").exists()


@pytest.mark.parametrize("name", ["crawl", "crawl/worker-1"])
@pytest.mark.parametrize("command", ["crawl", "serve", "status", "pages", "verify"])
def test_a_crawl_with_a_database_for_each_worker_is_refused(tmp_path: Path, command: str, name: str) -> None:
    """As earlier versions made them."""
    (tmp_path / "crawl" / "worker-1").mkdir(parents=True)
    (tmp_path / "crawl" / "worker-1" / "crawl.db").touch()
    (tmp_path / "crawl" / "workers.json").write_text('{"workers": 2, "made": true, "options": {"workers": 2}}')
    refused = gossamer(command, "--dir", tmp_path / name)
    assert refused.status == 1
    assert "several workers of an earlier version" in refused.err
    assert "another --dir" in refused.err
    assert sorted(path.name for path in (tmp_path / "crawl").iterdir()) == ["worker-1", "workers.json"]
