"""A whole crawl of a hostile host by the command itself, with a healthy host beside it that must not notice."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from warcio.archiveiterator import ArchiveIterator

from tests.hostile.survival import check_memory
from tests.integration.crawl_process import GIVEN_UP_AT_ONCE, Constants, Ended, Json, gossamer
from tests.integration.small_server import SmallServer, links, page

RETRY = "[retry]\ndelay = 0.05\n"
"""Scaled down: what comes again comes soon."""

UNGUESSED = "[sitemaps]\nwell_known = false\n"
"""Scripts say what is asked for."""

NEIGHBOUR = "127.0.0.9"
_PAGES = 5


class SmallCrawl:
    """One crawl directory below `folder`. `run` again resumes it."""

    def __init__(self, folder: Path, toml: str = RETRY, constants: Constants = GIVEN_UP_AT_ONCE) -> None:
        folder.mkdir(exist_ok=True)
        self.dir = folder / "crawl"
        self._toml = folder / "gossamer.toml"
        self._toml.write_text(toml + UNGUESSED)
        self._constants = constants

    def command(self, seeds: Iterable[str], *options: object) -> list[object]:
        fixed = ["--dir", self.dir, "--config", self._toml, "--allow-private", "--delay", 0.02, "--json", "--quiet"]
        # First in, first out: with classes, chance decides which of two URLs is fetched first.
        return ["crawl", *seeds, *fixed, "--order", "bfs", *options, self._constants]

    def run(self, *seeds: str) -> Ended:
        """To its end. The process comes to a good one (G1) without growing (G3), it was polite by its own audit (G11),
        and the healthy host was crawled completely meanwhile (G5). What it leaves is checked by `survival`."""
        others = [f"/{n}" for n in range(1, _PAGES)]
        site = {"/": links(*others), **{path: page(f"page {path}") for path in others}}
        with SmallServer(site, NEIGHBOUR) as neighbour:
            again = ["--add-seeds"] if self.dir.exists() else []  # another neighbour than last time
            ended = gossamer(*self.command([*seeds, neighbour.base + "/"], *again))
            asked = sorted(set(neighbour.paths()))
        assert ended.status == 0, ended.err
        assert "Traceback" not in ended.err
        assert ended.report["politeness_violations"] == 0
        check_memory(ended.report)
        assert asked == sorted(["/robots.txt", "/", *others])
        return ended

    def pages(self) -> list[Json]:
        """What is known of the hostile hosts' URLs."""
        found = gossamer("pages", "--dir", self.dir, "--json").lines
        healthy = [each for each in found if each["host"] == NEIGHBOUR]
        assert [each["state"] for each in healthy] == ["stored"] * len(healthy)
        return [each for each in found if each["host"] != NEIGHBOUR]


def archived(directory: Path, kind: str) -> Iterator[dict[str, str]]:
    """The named fields of all WARC records of a kind that a crawl has written."""
    for path in sorted(directory.glob("warc/*.warc.gz")):
        with path.open("rb") as file:
            for record in ArchiveIterator(file, no_record_parse=True):
                if record.rec_type == kind:
                    yield dict(record.rec_headers.headers)
