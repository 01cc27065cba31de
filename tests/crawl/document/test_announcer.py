"""What of a crawl is announced, when, and with what text."""

from collections.abc import Sequence

import pytest

from gossamer.crawl.document import announcer as announcers
from gossamer.crawl.document.announcer import POSITION_KEY, DocumentAnnouncer
from gossamer.model.announcement import Announcement
from gossamer.model.batch import Batch, Committed
from gossamer.model.outcome import Response
from gossamer.model.settlement import Capture, Settlement
from gossamer.model.states import UrlState
from gossamer.model.task import Task, Visit
from gossamer.model.units import Fingerprint, HostId, HostKey, Instant, Seconds, Url

NOW = Instant(0.0)


class Log:
    """A `DocumentLog` that remembers."""

    def __init__(self) -> None:
        self.commits: list[tuple[int, list[Announcement | None]]] = []

    def position_after(self, documents: int) -> str:
        return f"1 {documents}"

    def announce(self, commit: int, documents: Sequence[Announcement | None]) -> None:
        self.commits.append((commit, list(documents)))

    def finish(self) -> None:
        pass

    def texts(self) -> list[str | None]:
        return [None if each is None else each.text for _, documents in self.commits for each in documents]


def settle(
    announcer: DocumentAnnouncer,
    number: int,
    state: UrlState = UrlState.STORED,
    *,
    body: bytes = b"<p>Some words",
    kept: bool = False,
    content_type: str = "text/html",
) -> None:
    url = Url(f"http://a.test/{number}")
    headers = {"content-type": content_type}
    response = Response(url, 200, b"", b"", body, headers, "192.0.2.1", NOW, Seconds(0.0))
    task = Task(number, Fingerprint(number), url, 0, 0.0, 0.0, 0, 0, 0)
    capture = Capture(response, b"d" * 20) if state is UrlState.STORED else None
    settlement = Settlement(
        HostId(1), number, 0, state, NOW, digest=bytes([number]) * 20, title=f"page {number}", capture=capture
    )
    visit = Visit(HostId(1), HostKey("a.test"), 1, task, None, 0.0)
    announcer.settled(visit, settlement._replace(kept=kept), None, True)


def commit(announcer: DocumentAnnouncer, number: int, *stored: int) -> Batch:
    batch = Batch()
    announcer.before_commit(batch, NOW)
    places = [(url_id, "a.warc.gz", 10 * url_id, 7) for url_id in stored]
    announcer.committed(Committed(number, [], [], [], [], [], 0, 0, 0, 0.0, captured=places))
    return batch


def test_what_a_commit_has_stored_is_announced_in_order_with_its_place() -> None:
    log = Log()
    announcer = DocumentAnnouncer(log)
    settle(announcer, 2)
    settle(announcer, 1)
    assert log.commits == []

    batch = commit(announcer, 5, 1, 2)

    ((number, found),) = log.commits
    assert number == 5 and batch.facts[POSITION_KEY] == "1 2"
    assert found == [
        Announcement(Url("http://a.test/2"), b"\2" * 20, "a.warc.gz", 20, 7, 200, NOW, "page 2"),
        Announcement(Url("http://a.test/1"), b"\1" * 20, "a.warc.gz", 10, 7, 200, NOW, "page 1"),
    ]


def test_what_was_not_stored_is_not_announced() -> None:
    log = Log()
    announcer = DocumentAnnouncer(log)
    settle(announcer, 1, UrlState.DEAD)
    settle(announcer, 2, UrlState.DUPLICATE)
    settle(announcer, 3, kept=True)

    batch = commit(announcer, 5)

    assert log.commits == [] and POSITION_KEY not in batch.facts


def test_what_is_settled_during_a_commit_is_announced_by_the_next() -> None:
    log = Log()
    announcer = DocumentAnnouncer(log)
    settle(announcer, 1)
    announcer.before_commit(Batch(), NOW)
    settle(announcer, 2)
    announcer.committed(Committed(1, [], [], [], [], [], 0, 0, 0, 0.0, captured=[(1, "a", 0, 7)]))
    commit(announcer, 2, 2)

    assert [(number, [each and each.url for each in found]) for number, found in log.commits] == [
        (1, ["http://a.test/1"]),
        (2, ["http://a.test/2"]),
    ]


def test_html_pages_that_are_not_large_have_their_text_if_that_is_wanted() -> None:
    log = Log()
    announcer = DocumentAnnouncer(log, texts=True)
    settle(announcer, 1)
    settle(announcer, 2, content_type="application/pdf", body=b"%PDF")
    settle(announcer, 3, body=b"<p>x" * 100_000)

    commit(announcer, 1, 1, 2, 3)

    assert log.texts() == ["Some words", None, None]


def test_a_text_is_extracted_with_its_document_and_not_after_the_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    extracted: list[Url] = []

    def text_of(response: Response) -> str:
        extracted.append(response.url)
        return "text"

    monkeypatch.setattr(announcers, "_text_of", text_of)
    log = Log()
    announcer = DocumentAnnouncer(log, texts=True)
    for number in range(1, 4):
        settle(announcer, number)
        assert len(extracted) == number

    commit(announcer, 1, 1, 2, 3)

    assert len(extracted) == 3 and log.texts() == ["text"] * 3


def test_a_page_whose_text_cannot_be_extracted_is_not_announced_and_ends_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def text_of(response: Response) -> str:
        if response.url.endswith("2"):
            raise RecursionError
        return "text"

    monkeypatch.setattr(announcers, "_text_of", text_of)
    log = Log()
    announcer = DocumentAnnouncer(log, texts=True)
    for number in range(1, 4):
        settle(announcer, number)

    batch = commit(announcer, 1, 1, 2, 3)

    assert batch.facts[POSITION_KEY] == "1 3"  # it has a number: its readers see a gap
    assert [each and each.url for each in log.commits[0][1]] == ["http://a.test/1", None, "http://a.test/3"]
