"""Every command that reads or changes a crawl gives the same for three workers as for one."""

import json
import shutil
import signal
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from gossamer.backends.sqlite.driver import connect
from gossamer.backends.warc.reader import read_record
from gossamer.config.overrides import HostOverrides, Overrides
from gossamer.lab.simweb.run import SimwebProcess
from gossamer.model.units import HostKey
from tests.integration.crawl_process import Command, Ended, Json, gossamer, small_web, wait_until

pytestmark = pytest.mark.service

WORKERS = 3
NOWHERE = [f"http://nowhere{n}.test/" for n in range(6)]
TOML = "[retry]\ndelay = 0.05\n"
SAME_TOTALS = (
    *("pages", "fetched", "bytes", "discovered", "queued", "errors", "excluded", "dead", "hosts", "finished", "states"),
    *("statuses", "dead_by_reason", "domains", "seeds", "robots_fetched"),
)


@dataclass(frozen=True)
class Crawls:
    """The same web, crawled to its end by one worker and by three."""

    one: Path
    three: Path

    def each(self, *arguments: object) -> tuple[Ended, Ended]:
        """The same command on both."""
        ended = [gossamer(*arguments, "--dir", directory) for directory in (self.one, self.three)]
        assert [each.status for each in ended] == [0, 0], ended
        return ended[0], ended[1]

    def lines(self, *arguments: object) -> tuple[list[Json], list[Json]]:
        one, three = self.each(*arguments, "--json")
        return one.lines, three.lines


def command(web: SimwebProcess, folder: Path, directory: Path, workers: int) -> list[object]:
    config = folder / "gossamer.toml"
    config.write_text(TOML)
    seeds = [*web.seeds, *NOWHERE]
    where = ["--dir", directory, "--config", config, "--dns", web.dns_address, "--workers", workers]
    return ["crawl", *seeds, *where, "--allow-private", "--scope", "tld:test", "--delay-factor", 0]


@pytest.fixture(scope="module")
def crawls(tmp_path_factory: pytest.TempPathFactory) -> Crawls:
    folder = tmp_path_factory.mktemp("crawls")
    # What is a duplicate depends on who comes first, and each worker sees to its own.
    calm = {"duplicate_rate": 0.0, "fault_rate": 0.0, "crawl_delay_hosts": 0.0, "slow_hosts": 0.0}
    # Few links, of which many lead away: long ways through all parts.
    far = {"seed_hosts": 1, "links_per_page": 7, "nav_links": 2, "external_links": 0.5}
    found = Crawls(folder / "one", folder / "three")
    with SimwebProcess(small_web(**calm, **far)) as web:
        for directory, workers in ((found.one, 1), (found.three, WORKERS)):
            ended = gossamer(*command(web, folder, directory, workers), "--delay", 0, "--quiet", "--json")
            assert (ended.status, ended.report["finished"]) == (0, True), ended.err
    return found


@pytest.fixture
def three(crawls: Crawls, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(crawls.three, tmp_path / "crawl"))


def rows(directory: Path, statement: str) -> list[list[tuple[object, ...]]]:
    """What each worker's database answers."""
    found = []
    for number in range(WORKERS):
        with closing(connect(directory / f"worker-{number + 1}" / "crawl.db", read_only=True)) as db:
            found.append(db.execute(statement).fetchall())
    return found


def at(found: object, *names: str) -> object:
    """What stands there in nested objects."""
    for name in names:
        assert isinstance(found, dict), found
        found = found[name]
    return found


def by_url(pages: list[Json], *names: str) -> dict[object, tuple[object, ...]]:
    found = {page["url"]: tuple(page[name] for name in names) for page in pages}
    assert len(found) == len(pages)
    return found


# --- status ------------------------------------------------------------------------------------------------


def test_the_totals_are_those_of_one_worker(crawls: Crawls) -> None:
    one, three = (each.report for each in crawls.each("status", "--json"))

    assert three.keys() == one.keys()
    assert {name: three[name] for name in SAME_TOTALS} == {name: one[name] for name in SAME_TOTALS}
    for name in ("in_flight", "due", "ready_hosts", "resting_hosts", "retries", "recrawls", "missing", "for"):
        assert at(three, "waits", name) == at(one, "waits", name), name


def test_the_status_for_people_has_the_same_rows_and_the_options_of_the_whole_crawl(crawls: Crawls) -> None:
    one, three = (each.out.splitlines() for each in crawls.each("status"))

    assert three[0] == f"Crawl in {crawls.three}: stopped, nothing left to do"
    assert [line for line in three if line.split() == ["workers", "3"]]
    assert [line[:19] for line in three if "workers" not in line][1:] == [line[:19] for line in one][1:]


def test_a_url_that_is_on_its_way_keeps_the_crawl_from_being_finished(three: Path) -> None:
    with closing(connect(three / "worker-2" / "crawl.db")) as db:
        db.execute("INSERT INTO outbox (part, url, depth, hops, via, sitemap) VALUES (0, 'http://x.test/', 1, 1, 1, 0)")

    status = gossamer("status", "--dir", three, "--json").report

    assert status["finished"] is False
    assert (at(status, "waits", "due"), at(status, "waits", "for")) == (1, "a start of the crawl")


def test_a_running_crawl_is_read_from_all_workers_and_cannot_be_changed(tmp_path: Path) -> None:
    with SimwebProcess(small_web(slow_hosts=0.8, slow_seconds=0.5)) as web:
        arguments = command(web, tmp_path, tmp_path / "crawl", WORKERS)
        with Command(*arguments, "--delay", 0.5, "--quiet") as crawler:
            seen: dict[str, Json] = {}

            def in_flight() -> bool:
                assert crawler.runs, crawler.ended()
                ended = gossamer("status", "--dir", tmp_path / "crawl", "--json")
                if ended.status == 0:  # the workers are there
                    seen["status"] = ended.report
                waits = seen.get("status", {}).get("waits")
                return isinstance(waits, dict) and bool(waits["in_flight"])

            wait_until(in_flight, "visits in flight")
            requeued = gossamer("dead", "requeue", "--dir", tmp_path / "crawl")
            verified = gossamer("verify", "--dir", tmp_path / "crawl", "--json")
            people = gossamer("status", "--dir", tmp_path / "crawl").out
            crawler.strike(signal.SIGINT)
            crawler.ended()
    after = gossamer("status", "--dir", tmp_path / "crawl", "--json").report

    assert (seen["status"]["running"], seen["status"]["state"]) == (True, "running")
    assert seen["status"]["load"] is not None
    assert people.splitlines()[0].endswith(f": running (process {crawler.process.pid})")
    assert (requeued.status != 0, "is in use by process" in requeued.err) == (True, True)
    assert verified.report["sound"] is True
    assert (after["running"], after["state"], at(after, "waits", "in_flight")) == (False, "at rest", 0)


# --- pages and hosts -----------------------------------------------------------------------------------------


def test_the_pages_are_the_same_and_each_once(crawls: Crawls) -> None:
    one, three = crawls.lines("pages")
    names = ("state", "status", "host", "size", "digest", "redirect_to", "reason", "mime", "title", "language")

    assert by_url(three, *names) == by_url(one, *names)
    assert all(page.keys() == one[0].keys() for page in three)


def test_pages_come_in_the_order_of_their_discovery(crawls: Crawls) -> None:
    _, three = crawls.lines("pages")
    found_at = {url: at for part in rows(crawls.three, "SELECT url, found_at FROM urls") for url, at in part}

    moments = [float(str(found_at[page["url"]])) for page in three]

    assert moments == sorted(moments)
    assert len({str(at(page, "warc", "file"))[:8] for page in three[:40] if page["warc"]}) > 1


@pytest.mark.parametrize("options", [("--state", "missing"), ("--state", "stored"), ("--host", "portal.test")])
def test_pages_are_filtered_as_with_one_worker(crawls: Crawls, options: tuple[str, ...]) -> None:
    one, three = crawls.lines("pages", *options)

    assert one
    assert by_url(three, "state", "status") == by_url(one, "state", "status")


def test_a_limit_of_pages_is_one_of_all_workers_together(crawls: Crawls) -> None:
    _, every = crawls.lines("pages")
    _, first = crawls.lines("pages", "--limit", 25)
    _, stored = crawls.lines("pages", "--state", "stored", "--limit", 7)
    _, none = crawls.lines("pages", "--limit", 0)

    assert first == every[:25]
    assert stored == [page for page in every if page["state"] == "stored"][:7]
    assert none == []


def test_every_page_that_is_no_seed_says_on_which_page_it_was_found(crawls: Crawls) -> None:
    _, three = crawls.lines("pages")
    urls = {page["url"] for page in three}

    assert {page["url"] for page in three if page["found_on"] is None} == {p["url"] for p in three if p["depth"] == 0}
    assert {page["found_on"] for page in three} <= urls | {None}


def test_the_archive_of_a_page_is_named_from_the_directory_of_the_crawl(crawls: Crawls) -> None:
    _, three = crawls.lines("pages", "--state", "stored")

    for page in three:
        warc = page["warc"]
        assert isinstance(warc, dict)
        record = read_record(crawls.three / warc["file"], warc["offset"], warc["length"])
        assert record.target_uri == page["url"]


@pytest.mark.parametrize("options", [(), ("--sort", "fetched", "--limit", 5), ("--host", "*.test", "--sort", "host")])
def test_hosts_are_sorted_and_limited_over_all_workers(crawls: Crawls, options: tuple[object, ...]) -> None:
    one, three = crawls.lines("hosts", *options)
    names = ("host", "domain", "state", "queued", "fetched", "stored", "known", "excluded")

    assert [[host[name] for name in names] for host in three] == [[host[name] for name in names] for host in one]


# --- explain ---------------------------------------------------------------------------------------------------


def ways(directory: Path) -> dict[str, list[str]]:
    """The way of each URL back to its seed, by what `gossamer pages` tells."""
    pages = gossamer("pages", "--dir", directory, "--json").lines
    found_on = {str(page["url"]): page["found_on"] for page in pages}
    found: dict[str, list[str]] = {}
    for url in found_on:
        way: list[str] = []
        page = found_on[url]
        while page is not None:
            way.append(str(page))
            page = found_on[str(page)]
        found[url] = way
    return found


def verdicts(story: Json) -> list[tuple[object, object]]:
    """What each rule says, without the figures: how deep a URL lies depends on who found it first."""
    found = story["verdicts"]
    assert isinstance(found, list)
    return [(at(verdict, "rule"), at(verdict, "reason")) for verdict in found]


def test_the_way_back_of_a_url_goes_from_worker_to_worker(crawls: Crawls) -> None:
    owners = {url: number for number, part in enumerate(rows(crawls.three, "SELECT url FROM urls")) for (url,) in part}

    def changes(url: str, way: list[str]) -> int:
        owned = [owners[each] for each in (url, *way)]
        return sum(a != b for a, b in pairwise(owned))

    every = ways(crawls.three)
    url, way = max(every.items(), key=lambda item: changes(*item))
    story = gossamer("explain", url, "--dir", crawls.three, "--json").report
    finding = story["finding"]
    assert isinstance(finding, dict)

    assert changes(url, way) >= 2
    assert [step["url"] for step in finding["way"]] == way
    assert finding["way"][-1]["seed"] is not None


def test_a_story_is_the_same_as_with_one_worker_and_names_the_archive(crawls: Crawls) -> None:
    _, three = crawls.lines("pages", "--state", "stored")
    for page in (three[0], three[len(three) // 2], three[-1]):
        one, other = (each.report for each in crawls.each("explain", page["url"], "--json"))

        assert (other["state"], other["form"], verdicts(other)) == (one["state"], one["form"], verdicts(one))
        assert at(other, "content", "digest") == at(one, "content", "digest")
        for name in ("file", "offset"):
            assert at(other, "archive", name) == at(page, "warc", name)
        for name in ("sound", "problem"):
            assert at(other, "archive", name) == at(one, "archive", name)


def test_an_unknown_url_is_judged(crawls: Crawls) -> None:
    one, three = (each.report for each in crawls.each("explain", "http://portal.test/never-met", "--json"))

    assert (three["state"], verdicts(three)) == (one["state"], verdicts(one))


# --- dead letters ----------------------------------------------------------------------------------------------


def test_dead_letters_of_all_workers_are_listed(crawls: Crawls) -> None:
    one, three = crawls.lines("dead")

    assert by_url(three, "host", "reason", "tries") == by_url(one, "host", "reason", "tries")
    assert {letter["url"] for letter in three} == set(NOWHERE)
    assert len([part for part in rows(crawls.three, "SELECT 1 FROM urls WHERE state = 7") if part]) > 1


def test_dead_letters_of_all_workers_are_requeued_and_dropped(three: Path) -> None:
    dropped = gossamer("dead", "drop", "--host", "nowhere1.test", "--dir", three, "--json").report
    requeued = gossamer("dead", "requeue", "--dir", three, "--json").report

    assert (dropped, requeued) == ({"v": 1, "dropped": 1}, {"v": 1, "requeued": 5})
    assert gossamer("dead", "--dir", three).err == "no dead letters\n"
    status = gossamer("status", "--dir", three, "--json").report
    assert (status["queued"], status["dead"], status["finished"]) == (5, 0, False)
    assert at(status, "excluded", "dropped") == 1
    assert gossamer("verify", "--dir", three).status == 0


# --- export ----------------------------------------------------------------------------------------------------


def exported(crawls: Crawls, *options: object) -> tuple[list[str], list[str]]:
    one, three = crawls.each("export", "--quiet", *options)
    return one.out.splitlines(), three.out.splitlines()


def test_exported_pages_are_the_same_with_archives_that_are_there(crawls: Crawls) -> None:
    one, three = ([json.loads(line) for line in lines] for lines in exported(crawls))
    names = ("state", "status", "size", "digest", "title", "reason")

    assert by_url(three, *names) == by_url(one, *names)
    assert [page["found_at"] for page in three] == sorted(page["found_at"] for page in three)
    assert all((crawls.three / page["warc_file"]).is_file() for page in three if page["warc_file"])


def test_exported_links_and_texts_are_the_same(crawls: Crawls) -> None:
    links = exported(crawls, "--what", "links")
    texts = [[json.loads(line) for line in lines] for lines in exported(crawls, "--what", "text")]

    assert links[0] and Counter(links[0]) == Counter(links[1])
    assert by_url(texts[1], "text", "title", "digest") == by_url(texts[0], "text", "title", "digest")


def test_the_exported_graph_has_the_links_between_workers(crawls: Crawls) -> None:
    one, three = exported(crawls, "--what", "graph")
    only = exported(crawls, "--what", "graph", "--host", "portal.test")

    assert one and Counter(three) == Counter(one)
    assert only[0] and Counter(only[1]) == Counter(only[0])


def test_a_graph_by_number_is_the_graph_by_url(crawls: Crawls, tmp_path: Path) -> None:
    options = ("--dir", crawls.three, "--what", "graph", "--quiet")
    numbers = gossamer("export", *options, "--nodes", tmp_path / "nodes.tsv").out.splitlines()
    named = gossamer("export", *options).out.splitlines()
    pairs = [line.split("\t") for line in (tmp_path / "nodes.tsv").read_text().splitlines()]
    names = dict(pairs)

    assert len(names) == len(pairs) == len(set(names.values()))
    assert Counter("\t".join(names[end] for end in line.split("\t")) for line in numbers) == Counter(named)


def test_pages_are_exported_as_csv_and_parquet_too(crawls: Crawls, tmp_path: Path) -> None:
    import pyarrow.parquet

    csv = exported(crawls, "--format", "csv")
    parquet = gossamer("export", "--dir", crawls.three, "-o", tmp_path / "pages.parquet")

    assert len(csv[0]) == len(csv[1])
    assert parquet.status == 0, parquet.err
    assert pyarrow.parquet.read_table(tmp_path / "pages.parquet").num_rows == len(csv[0]) - 1


# --- the archive -------------------------------------------------------------------------------------------------


def test_all_archives_are_verified(crawls: Crawls) -> None:
    one, three = (each.report for each in crawls.each("verify", "--json"))

    assert [three[name] for name in ("sound", "urls", "captures")] == [
        one[name] for name in ("sound", "urls", "captures")
    ]
    assert (one["files"], three["files"]) == (1, WORKERS)


def test_a_problem_says_whose_it_is_and_is_repaired(three: Path) -> None:
    [warc] = (three / "worker-2" / "warc").glob("*.warc.gz")
    warc.unlink()

    found = gossamer("verify", "--dir", three, "--json")
    repaired = gossamer("verify", "--repair", "--dir", three, "--json")
    again = gossamer("verify", "--dir", three, "--json")

    assert (found.status, repaired.status, again.status) == (1, 0, 0)
    problems = found.report["problems"]
    assert isinstance(problems, dict)
    assert problems["file_missing"]["examples"][0].startswith("worker-2: ")
    assert repaired.report["queued_again"] == problems["record_lost"]["number"] > 0
    assert gossamer("status", "--dir", three, "--json").report["queued"] == repaired.report["queued_again"]


def test_an_index_covers_all_archives_and_keeps_no_crawl_from_going_on(three: Path, crawls: Crawls) -> None:
    ended = gossamer("index", "--dir", three, "--quiet")
    assert gossamer("index", "--dir", crawls.one, "--quiet", "-o", three.parent / "one.cdxj").status == 0
    lines = (three / "index.cdxj").read_text().splitlines()
    files = {json.loads(line.split(" ", 2)[2])["filename"] for line in lines}
    resumed = gossamer("crawl", "--dir", three, "--quiet", "--json")

    assert ended.status == 0, ended.err
    assert lines == sorted(lines)
    assert len(files) == WORKERS and all((three / file).is_file() for file in files)
    assert [line.split()[0] for line in lines] == [
        line.split()[0] for line in (three.parent / "one.cdxj").read_text().splitlines()
    ]
    assert (resumed.status, resumed.report["finished"]) == (0, True), resumed.err


def test_the_links_of_all_workers_are_simulated(crawls: Crawls) -> None:
    one, three = (
        gossamer("simulate", "--crawl", directory, "--order", "bfs", "--rest", 0)
        for directory in (crawls.one, crawls.three)
    )

    assert (one.status, three.status) == (0, 0), three.err
    # The number of pages, of links and of sites; where the curves run depends on the order of the pages as well.
    assert three.out.splitlines()[0].partition(":")[2] == one.out.splitlines()[0].partition(":")[2]


# --- the end of a crawl, and what cannot be ------------------------------------------------------------------------


def test_the_report_at_the_end_names_the_files_of_all_workers(three: Path) -> None:
    ended = gossamer("crawl", "--dir", three)

    assert ended.status == 0, ended.err
    for number in range(WORKERS):
        assert str(three / f"worker-{number + 1}" / "warc") in ended.out
        assert str(three / f"worker-{number + 1}" / "crawl.db") in ended.out


def test_overrides_for_hosts_of_any_worker_are_shown(three: Path) -> None:
    overrides = Overrides(hosts=HostOverrides(paused={HostKey("nowhere2.test")}))
    for number in range(WORKERS):
        if rows(three, "SELECT 1 FROM hosts WHERE host = 'nowhere2.test'")[number]:
            with closing(connect(three / f"worker-{number + 1}" / "crawl.db")) as db:
                db.execute("INSERT INTO facts (name, value) VALUES ('service', ?)", (overrides.to_text(),))
    assert gossamer("dead", "requeue", "--host", "nowhere2.test", "--dir", three).status == 0

    told = gossamer("hosts", "--host", "nowhere2.test", "--dir", three, "--json").lines
    status = gossamer("status", "--dir", three, "--json").report

    assert [host["paused"] for host in told] == [True]
    assert at(status, "ordered", "paused_hosts") == ["nowhere2.test"]


@pytest.mark.parametrize("options", [(), ("--workers", 1)])
def test_such_a_crawl_is_not_served(three: Path, options: tuple[object, ...]) -> None:
    before = sorted(three.iterdir())

    ended = gossamer("serve", "--dir", three, *options)

    assert ended.status != 0
    assert f"{three} holds a crawl by 3 workers, and gossamer serve crawls with one" in ended.err
    assert sorted(three.iterdir()) == before


@pytest.mark.parametrize(
    ("where", "options", "said"),
    [
        (".", ("--workers", 1), "holds a crawl by 3 workers, not by one; omit --workers"),
        ("worker-2", (), "is the part of one worker; the crawl is in"),
    ],
)
def test_a_worker_directory_cannot_be_crawled_alone(
    three: Path, where: str, options: tuple[object, ...], said: str
) -> None:
    ended = gossamer("crawl", "--dir", three / where, *options)

    assert (ended.status != 0, said in ended.err) == (True, True), ended.err
    assert not (three / "crawl.db").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        *(["status"], ["pages"], ["hosts"], ["dead"], ["dead", "requeue"], ["export"], ["verify"], ["index"]),
        ["verify", "--repair"],
    ],
)
def test_a_part_that_is_missing_is_named(three: Path, arguments: list[str]) -> None:
    (three / "worker-3" / "crawl.db").unlink()

    ended = gossamer(*arguments, "--dir", three)

    assert ended.status != 0
    assert f"the part of one worker is missing: {three}/worker-3/crawl.db does not exist" in ended.err
    assert not (three / "worker-3" / "crawl.db").exists()


@pytest.mark.parametrize("arguments", [["status"], ["pages"], ["hosts"], ["dead", "requeue"], ["verify"]])
def test_a_part_that_cannot_be_read_is_named(three: Path, arguments: list[str]) -> None:
    (three / "worker-1" / "crawl.db").write_bytes(b"this is no database at all, but it is long enough to be one " * 20)

    ended = gossamer(*arguments, "--dir", three)

    assert ended.status != 0
    assert f"{three}/worker-1/crawl.db is not a readable database" in ended.err
