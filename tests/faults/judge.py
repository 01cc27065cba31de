"""Is a crawl whole after all that has happened to it? Judged by the web's own log, the database and the archive."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gossamer.lab.simweb.audit import Truth, forbidden_requests, ground_truth
from tests.faults.fleet import Fleet
from tests.faults.surroundings import DELAY, DELAY_FACTOR, MAX_ADAPTIVE_DELAY, Surroundings
from tests.integration.crawl_checks import archived_urls, check_outcomes, page_requests
from tests.integration.crawl_process import gossamer
from tests.integration.shared_crawls import short_gaps

_LONGEST = 1_000
"""Characters of a problem that are shown."""
_ORPHAN = "file_unknown"
"""An object that was put for a transaction that did not come to its end. `verify --repair` deletes it."""


class Judge:
    """Collects what is wrong. `problems` is empty if nothing is."""

    def __init__(self, around: Surroundings, fleet: Fleet) -> None:
        self._around, self._fleet = around, fleet
        self.problems: list[str] = []
        self.copies = 0
        """Documents that two workers have stored because they met them at the same time."""
        self.orphans = 0
        """Objects that no row refers to."""
        self.fetched_again = 0
        """Answers to requests for pages that had been answered before: what was not committed."""
        self.requests = 0
        self.documents = 0

    def judge_crawl(self) -> None:
        """While the servers still run."""
        truth = ground_truth(self._around.stage.web.web())
        with self._checking("outcomes"):
            pages = self._around.stage.pages()
            states = {str(page["url"]): str(page["state"]) for page in pages}
            lost = sorted(truth.all_urls() - states.keys())
            assert lost == [], f"{len(lost)} URLs are not known: {lost[:5]}"
            other = [f"{url} is {states[url]}" for url in sorted(truth.stored) if states[url] != "stored"]
            assert other == [], f"{len(other)} pages are not stored: {other[:5]}"
            check_outcomes(truth, pages, copies=True)
            stored = {str(page["url"]) for page in pages if page["state"] == "stored"}
            self.documents, self.copies = len(stored), len(stored) - truth.documents
            self._check_archive(stored)
        with self._checking("verify"):
            self._verify()
        with self._checking("database"):
            self._check_rows()
        with self._checking("spools"):
            assert {w.name: w.spooled for w in self._fleet.workers if w.spooled} == {}

    def judge_requests(self) -> None:
        """When the web has stopped and its log is complete."""
        web = self._around.stage.web
        truth, requests = ground_truth(web.web()), web.requests()
        self.requests = len(requests)
        found = short_gaps(
            self._around.stage,
            min_delay=DELAY,
            delay_factor=DELAY_FACTOR,
            max_adaptive_delay=MAX_ADAPTIVE_DELAY,
        )
        self.problems += found[:20] + ([f"and {len(found) - 20} short gaps more"] if len(found) > 20 else [])
        self.problems += [f"forbidden: {r.host}{r.target}" for r in forbidden_requests(requests, truth)]
        asked = Counter((str(r.host), r.target) for r in page_requests(requests) if r.status == 200)
        self.fetched_again = asked.total() - len(asked)
        self._check_asked(truth, asked)

    def _check_asked(self, truth: Truth, asked: Counter[tuple[str, str]]) -> None:
        wanted = {url.partition("://")[2].partition("/") for url in truth.stored}
        missing = [f"{host}/{path}" for host, _, path in wanted if not asked[host.partition(":")[0], f"/{path}"]]
        if missing:
            self.problems.append(f"never fetched: {len(missing)} pages, {', '.join(missing[:5])}")

    @contextmanager
    def _checking(self, what: str) -> Iterator[None]:
        try:
            yield
        except AssertionError as error:
            self.problems.append(f"{what}: {' '.join(str(error).split())[:_LONGEST] or 'not as it should be'}")

    def _where(self) -> list[object]:
        return ["--dir", self._around.stage.dir, "--store", self._around.store]

    def _check_archive(self, stored: set[str]) -> None:
        """Every stored page has one record, read by readers that are not ours."""
        folder = Path(self._around.stage.dir).parent / "exported"
        exported = gossamer("export", "--what", "warc", "-o", folder / "warc", *self._where())
        assert exported.status == 0, exported.err
        archived = archived_urls(folder)
        assert {url: n for url, n in archived.items() if n > 1} == {}, "stored twice"
        lost = sorted(stored - archived.keys())
        assert lost == [], f"{len(lost)} without a record: {lost[:5]}"
        assert archived.keys() - stored == set()

    def _verify(self) -> None:
        ended = gossamer("verify", *self._where(), "--json")
        assert ended.out, ended.err
        problems = ended.report["problems"]
        assert isinstance(problems, dict)
        self.orphans = int(problems.pop(_ORPHAN, {"number": 0})["number"])
        assert problems == {}, json.dumps(problems)

    def _check_rows(self) -> None:
        """Nothing is left to be done, and nobody is left who would do it."""
        for table in ("queue", "inbox", "uncounted", "spooled_warcs"):
            assert self._fleet.rows(f"SELECT count(*) FROM {table}") == [(0,)], f"{table} is not empty"
        assert self._fleet.rows("SELECT count(*) FROM fence WHERE alive") == [(0,)], "a worker has not left"
        twice = self._fleet.rows(
            "SELECT url, array_agg(revisit) FROM captures JOIN urls ON id = url_id GROUP BY url HAVING count(*) > 1"
        )
        assert twice == [], f"{len(twice or ())} pages have several captures: {(twice or ())[:5]}"
