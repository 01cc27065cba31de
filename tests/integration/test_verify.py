"""Real crawls, damaged in every way we could think of: the right words, and a repair that a crawl completes."""

import gzip
import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.integration.crawl_process import Json, gossamer
from tests.integration.small_server import Answer, SmallServer, links, page
from tests.warc_checking import check_warcs

pytestmark = pytest.mark.service

PATHS = [f"/{n}" for n in range(8)]
SITE = {"/": links(*PATHS, "/copy"), **{path: page(f"page {path}") for path in PATHS}, "/copy": page("page /3")}


class Crawl:
    """A finished crawl that a test may damage, and the server that can answer again."""

    def __init__(self, directory: Path, server: SmallServer) -> None:
        self.dir = directory
        self.server = server
        [self.warc] = (directory / "warc").glob("*.warc.gz")

    def sql(self, statement: str, *values: object) -> list[tuple[object, ...]]:
        with closing(sqlite3.connect(self.dir / "crawl.db", isolation_level=None)) as db:
            return db.execute(statement, values).fetchall()

    def place(self, path: str) -> tuple[int, int]:
        """Where the record of a page lies."""
        [(offset, length)] = self.sql(
            "SELECT warc_offset, warc_length FROM visits v JOIN urls u ON u.id = v.url_id WHERE u.url = ?",
            self.server.base + path,
        )
        assert isinstance(offset, int) and isinstance(length, int)
        return offset, length

    def change(self, change: Callable[[bytearray], None]) -> None:
        data = bytearray(self.warc.read_bytes())
        change(data)
        self.warc.write_bytes(data)

    def verify(self, *options: str) -> Json:
        ended = gossamer("verify", "--dir", self.dir, "--json", *options)
        found = ended.report
        assert ended.status == (0 if found["sound"] or found["repaired"] else 1), ended.err
        return found

    def kinds(self) -> dict[str, int]:
        problems = self.verify()["problems"]
        assert isinstance(problems, dict)
        return {kind: told["number"] for kind, told in problems.items()}

    def examples(self, kind: str) -> str:
        problems = self.verify()["problems"]
        assert isinstance(problems, dict)
        return "\n".join(problems[kind]["examples"])

    def repaired(self) -> int:
        """Repair, check that nothing is wrong any more, crawl again, and check that every page is archived. Returns how
        many URLs were queued again."""
        queued = self.verify("--repair")["queued_again"]
        assert self.kinds() == {}
        ended = gossamer(*crawl_command(self.dir, self.server), "--json", "--quiet")
        assert ended.status == 0, ended.err
        assert self.sql("SELECT state, count(*) FROM urls GROUP BY state") == [(1, 9), (2, 1)]
        assert self.kinds() == {}
        assert isinstance(queued, int)
        return queued


def crawl_command(directory: Path, server: SmallServer) -> list[object]:
    return ["crawl", server.base + "/", "--dir", directory, "--allow-private", "--delay", 0.01, "--order", "bfs"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, SmallServer]]:
    directory = tmp_path_factory.mktemp("verify") / "crawl"
    with SmallServer(dict[str, Answer](SITE)) as server:
        ended = gossamer(*crawl_command(directory, server), "--quiet")
        assert ended.status == 0, ended.err
        yield directory, server


@pytest.fixture
def crawl(finished: tuple[Path, SmallServer], tmp_path: Path) -> Crawl:
    directory, server = finished
    shutil.copytree(directory, tmp_path / "crawl")
    return Crawl(tmp_path / "crawl", server)


def test_a_crawl_that_nobody_touched_is_sound(crawl: Crawl) -> None:
    found = crawl.verify()

    assert found["sound"] is True
    assert (found["urls"], found["captures"], found["files"]) == (10, 10, 1)
    assert check_warcs(crawl.dir / "warc") == found["records"] == 21


def test_a_byte_that_was_changed_is_found_and_its_page_fetched_again(crawl: Crawl) -> None:
    offset, length = crawl.place("/5")
    crawl.change(lambda data: data.__setitem__(offset + length // 2, data[offset + length // 2] ^ 1))

    assert crawl.kinds() == {"record_damaged": 1}
    assert crawl.server.base + "/5: " in crawl.examples("record_damaged")
    assert crawl.repaired() == 1
    assert crawl.verify()["set_aside"] == 1


def test_a_damaged_request_costs_no_page(crawl: Crawl) -> None:
    offset, length = crawl.place("/5")
    crawl.change(lambda data: data.__setitem__(offset + length + 40, data[offset + length + 40] ^ 1))

    assert crawl.kinds() == {"record_damaged": 1}
    assert crawl.repaired() == 0


def test_a_record_that_was_forged_with_its_checksum_is_found_by_its_digest(crawl: Crawl) -> None:
    offset, length = crawl.place("/5")

    def forge(data: bytearray) -> None:
        plain = gzip.decompress(data[offset : offset + length])
        assert b"page /5" in plain
        for level in range(10):  # some level packs it into the same number of bytes, or it is padded
            forged = gzip.compress(plain.replace(b"page /5", b"page /X"), level, mtime=0)
            if len(forged) <= length:
                break
        # A header field of the gzip member takes up the rest: its name.
        room = length - len(forged)
        assert room >= 0
        named = bytearray(forged)
        if room:
            named[3] |= 0x08
            named[10:10] = b"x" * (room - 1) + b"\0"
        data[offset : offset + length] = named

    crawl.change(forge)

    assert crawl.kinds() == {"digest_wrong": 1}
    assert "the block is not what it was" in crawl.examples("digest_wrong")
    assert crawl.repaired() == 1


def test_a_document_with_another_digest_than_its_row_is_found(crawl: Crawl) -> None:
    crawl.sql("UPDATE visits SET digest = zeroblob(20) WHERE url_id = (SELECT id FROM urls WHERE url LIKE '%/5')")

    assert crawl.kinds() == {"digest_wrong": 1, "content_missing": 1}
    assert "another digest than its row" in crawl.examples("digest_wrong")


def test_the_row_of_a_record_that_was_dropped_is_made_again(crawl: Crawl) -> None:
    offset, _ = crawl.place("/5")
    rows = (
        "SELECT warc_file, warc_offset, warc_length, url_id, revisit, payload_digest FROM captures ORDER BY warc_offset"
    )
    before = crawl.sql(rows)
    crawl.sql("DELETE FROM captures WHERE warc_offset = ?", offset)

    assert crawl.kinds() == {"record_without_row": 1, "stored_without_record": 1, "content_dangling": 1}
    assert crawl.server.base + "/5" in crawl.examples("record_without_row")
    assert crawl.repaired() == 0
    assert crawl.sql(rows) == before


def test_a_visit_that_was_dropped_makes_its_page_due_again(crawl: Crawl) -> None:
    crawl.sql("DELETE FROM visits WHERE url_id = (SELECT id FROM urls WHERE url LIKE '%/5')")

    assert crawl.kinds() == {"stored_without_record": 1}
    assert crawl.repaired() == 1


def test_a_url_that_was_dropped_leaves_a_record_without_meaning(crawl: Crawl) -> None:
    crawl.sql("DELETE FROM urls WHERE url LIKE '%/5'")

    assert crawl.kinds() == {"url_wrong": 1, "visit_without_url": 1, "content_dangling": 1, "counters": 3}
    crawl.verify("--repair")
    assert crawl.kinds() == {}


def test_a_file_that_was_cut_loses_its_last_pages_and_no_other(crawl: Crawl) -> None:
    [(last, length)] = crawl.sql("SELECT warc_offset, warc_length FROM captures ORDER BY warc_offset DESC LIMIT 1")
    assert isinstance(last, int) and isinstance(length, int)
    crawl.change(lambda data: data.__delitem__(slice(last + length // 2, None)))

    assert crawl.kinds() == {"file_short": 1, "record_lost": 1}
    assert "bytes are gone" in crawl.examples("file_short")
    refused = gossamer(*crawl_command(crawl.dir, crawl.server), "--quiet")
    assert refused.status == 1 and "is damaged" in refused.err and "gossamer verify" in refused.err
    assert crawl.repaired() >= 1
    check_warcs(crawl.dir / "warc")


def test_a_file_that_was_cut_after_the_last_document_loses_only_its_request(crawl: Crawl) -> None:
    crawl.change(lambda data: data.__delitem__(slice(len(data) - 10, None)))

    assert crawl.kinds() == {"file_short": 1}
    assert crawl.repaired() == 0
    check_warcs(crawl.dir / "warc")


def test_a_file_that_is_gone_costs_all_its_pages(crawl: Crawl) -> None:
    crawl.warc.unlink()

    assert crawl.kinds() == {"file_missing": 1, "record_lost": 10}
    refused = gossamer(*crawl_command(crawl.dir, crawl.server))
    assert refused.status == 1 and f"{crawl.warc} is missing" in refused.err
    assert f"gossamer verify --repair --dir {crawl.dir}" in refused.err
    for words in (["status"], ["pages"], ["hosts"], ["dead"], ["explain", crawl.server.base], ["export"]):
        read = gossamer(*words, "--dir", crawl.dir, "--json" if words != ["export"] else "--quiet")
        assert read.status == 0 and (read.lines or words == ["dead"]), read.err
    texts = gossamer("export", "--what", "text", "--dir", crawl.dir)
    assert texts.status == 1 and f"skipped: {crawl.warc.name}" in texts.err
    assert crawl.repaired() == 10


def test_bytes_behind_the_end_are_cut_off(crawl: Crawl) -> None:
    whole = crawl.warc.read_bytes()
    crawl.change(lambda data: data.extend(b"half a record"))

    assert crawl.kinds() == {"file_tail": 1}
    assert "13 bytes too many" in crawl.examples("file_tail")
    assert crawl.repaired() == 0
    assert crawl.warc.read_bytes() == whole


def test_a_record_that_stands_twice_is_set_aside(crawl: Crawl) -> None:
    offset, length = crawl.place("/5")
    crawl.change(lambda data: data.extend(data[offset : offset + length]))
    crawl.sql("UPDATE warc_files SET committed = ?", crawl.warc.stat().st_size)

    assert crawl.kinds() == {"record_twice": 1}
    assert f"also at byte {offset}" in crawl.examples("record_twice")
    assert crawl.repaired() == 0
    assert crawl.verify()["set_aside"] == 1


def test_a_row_that_points_into_nothing_is_found(crawl: Crawl) -> None:
    crawl.sql("UPDATE captures SET warc_offset = warc_offset + 1 WHERE warc_offset = ?", crawl.place("/5")[0])

    found = crawl.kinds()
    assert found["row_without_record"] == found["record_without_row"] == 1
    crawl.repaired()


def test_a_file_that_the_database_does_not_know_is_put_out_of_harms_way(crawl: Crawl) -> None:
    stranger = crawl.warc.with_name("gossamer-20200101000000-00042.warc.gz")
    stranger.write_bytes(crawl.warc.read_bytes())

    assert crawl.kinds() == {"file_unknown": 1}
    assert crawl.repaired() == 0
    assert stranger.with_name(stranger.name + ".unknown").exists()


def test_counters_fronts_and_contents_are_held_against_what_they_index(crawl: Crawl) -> None:
    crawl.sql("UPDATE counters SET value = value + 3 WHERE name = 'state:stored'")
    crawl.sql("DELETE FROM contents WHERE url_id = (SELECT id FROM urls WHERE url LIKE '%/5')")
    crawl.sql("UPDATE urls SET state = 0, place = 1.0, available_at = 1.0 WHERE url LIKE '%/6'")
    crawl.sql("UPDATE counters SET value = value - 1 WHERE name = 'state:stored'")
    crawl.sql("UPDATE counters SET value = value + 1 WHERE name = 'state:queued'")
    crawl.sql("DELETE FROM fronts")

    assert crawl.kinds() == {"counters": 2, "content_missing": 1, "fronts": 1}
    assert "state:stored: 11, but there are 8" in crawl.examples("counters")
    assert "host_counts: wrong for 1 of the hosts" in crawl.examples("counters")
    assert crawl.repaired() == 0


def test_a_damaged_database_is_named_and_left_alone(crawl: Crawl) -> None:
    crawl.sql("PRAGMA wal_checkpoint(TRUNCATE)")
    [(root,)] = crawl.sql("SELECT rootpage FROM sqlite_master WHERE name = 'urls_identity'")
    assert isinstance(root, int)
    with (crawl.dir / "crawl.db").open("r+b") as file:
        file.seek((root - 1) * 8192 + 8)
        file.write(b"\xff" * 64)

    ended = gossamer("verify", "--dir", crawl.dir, "--repair", "--json")

    assert ended.status == 1
    if ended.out:  # it may be too damaged even to be examined
        assert "database" in json.loads(ended.out)["problems"]
    else:
        assert "malformed" in ended.err


def test_the_words_for_people_name_the_kind_the_example_and_the_cure(crawl: Crawl) -> None:
    crawl.warc.unlink()

    ended = gossamer("verify", "--dir", crawl.dir)

    assert ended.status == 1
    assert ended.out.startswith("problems found: 10 URLs")
    assert "file_missing (1): a WARC file is missing" in ended.out
    assert "with --repair: its URLs are queued again" in ended.out
    assert "and 5 more" in ended.out


def test_a_repair_waits_for_the_crawl_to_end(crawl: Crawl) -> None:
    import fcntl

    with (crawl.dir / "crawl.lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ended = gossamer("verify", "--dir", crawl.dir, "--repair")

    assert ended.status == 1
    assert "is in use" in ended.err
