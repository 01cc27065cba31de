"""`kill -9` in the middle of commits: rows and records agree, and nothing that was confirmed is gone."""

import random
import shutil
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from gossamer.backends.sqlite.driver import SqliteDatabase, open_for_reading, open_for_writing, open_writer
from gossamer.backends.warc.writer import RepairKind, cut_back
from gossamer.clock import VirtualClock
from gossamer.frontier.orderings import ORDERINGS
from gossamer.model.facts import BIRTH_CREDIT, credit_per_link
from gossamer.model.units import Domain
from gossamer.store.table.metadata import Metadata
from gossamer.store.table.writer import TableWriter
from tests.backends.sqlite.committing_child import PAGES, links_of
from tests.backends.sqlite.sqlite_store import CapturesInMemory

CHILD = Path(__file__).with_name("committing_child.py")
KILLS = 5


def run_and_kill(directory: Path, seed: int, order: str, lines: int) -> int:
    """Let a child commit until it has confirmed some batches, kill it in the next; returns what it confirmed."""
    command = [sys.executable, str(CHILD), str(directory), str(seed), order]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        for _ in range(lines):
            assert child.stdout.readline(), "the child ended by itself"
        child.send_signal(signal.SIGKILL)
        rest = child.stdout.read().split()  # what it confirmed before the signal reached it
        child.wait()
    with closing(open_for_reading(directory / "crawl.db")) as db:
        known = int(db.execute("SELECT count(*) FROM urls").fetchone()[0])
    confirmed = int(rest[-1]) if rest else 0
    assert known >= confirmed
    return known


def archived_urls(path: Path, length: int) -> list[str]:
    with path.open("rb") as file:
        assert file.seek(0, 2) == length
        file.seek(0)
        records = [(r.rec_type, r.rec_headers.get_header("WARC-Target-URI")) for r in ArchiveIterator(file)]
    return [uri for kind, uri in records if kind == "response"]


def counted(directory: Path, order: str) -> dict[int, tuple[int, int, int]]:
    """Links, links from other domains, credit of each URL, when the next process has opened the database."""
    clock = VirtualClock(2e9)
    ordering = ORDERINGS[order]()
    database = open_writer(directory / "crawl.db")
    TableWriter(database, CapturesInMemory(), lambda h: (Domain(h), 0, "test"), ordering, clock).close()
    with closing(open_for_reading(directory / "crawl.db")) as db:
        return {row[0]: row[1:] for row in db.execute("SELECT id, links, links_from_others, credit FROM urls")}


def expected_counts(known: int) -> dict[int, tuple[int, int, int]]:
    """The same, from the links that the child makes: all but the URLs of the last batch have been fetched, in order."""
    links = dict.fromkeys(range(1, known + 1), 0)
    others, credit = dict(links), dict.fromkeys(links, BIRTH_CREDIT)
    for page in range(1, known - PAGES + 1):
        targets = links_of(page)
        part, credit[page] = credit_per_link(credit[page], len(targets)), 0
        for target in targets:
            links[target] += 1
            others[target] += target % 5 != page % 5
            credit[target] += part
    return {n: (links[n], others[n], credit[n]) for n in links}


@pytest.mark.parametrize("order", ["bfs", "mercator", "importance"])
def test_every_link_is_counted_exactly_once_whatever_was_killed(tmp_path: Path, order: str) -> None:
    chance = random.Random(13)
    (tmp_path / "warc").mkdir()
    for kill in range(4):
        known = run_and_kill(tmp_path, kill, order, lines=chance.randint(2, 9))
        copy = tmp_path / f"copy-{kill}"  # so that the next child finds uncounted links as this one left them
        copy.mkdir()
        for file in tmp_path.glob("crawl.db*"):
            shutil.copy(file, copy)

        assert counted(copy, order) == expected_counts(known)


def test_rows_and_records_agree_after_every_kill(tmp_path: Path) -> None:
    chance = random.Random(11)
    (tmp_path / "warc").mkdir()
    known = 0
    for kill in range(KILLS):
        grown = run_and_kill(tmp_path, kill, "mercator", lines=chance.randint(1, 6))
        assert grown > known
        known = grown

        with closing(open_for_writing(tmp_path / "crawl.db")) as db:
            assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            lengths = Metadata(SqliteDatabase(db)).warc_lengths()
            repairs = cut_back(tmp_path / "warc", lengths)
            assert RepairKind.DAMAGED not in [repair.kind for repair in repairs]
            sql = "SELECT u.url FROM urls u JOIN visits v ON v.url_id = u.id WHERE u.state = 1 ORDER BY u.id"
            stored = [url for (url,) in db.execute(sql)]
            counters = dict(db.execute("SELECT name, value FROM counters"))
            fronts = {tuple(row) for row in db.execute("SELECT host_id, front FROM fronts")}
            queued = {tuple(row) for row in db.execute("SELECT DISTINCT host_id, front FROM urls WHERE state = 0")}

        archived = [url for name, length in lengths.items() for url in archived_urls(tmp_path / "warc" / name, length)]
        assert sorted(archived) == sorted(stored)
        assert counters["state:stored"] == counters["fetched"] == len(stored)
        assert counters["state:queued"] + counters["state:stored"] == counters["discovered"] == known
        assert queued <= fronts, "a host with queued URLs that no front queue leads to"
