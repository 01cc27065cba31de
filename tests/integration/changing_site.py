"""A site whose pages change when a test says so, and whose validators are honest, missing or lies."""

import threading
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from warcio.archiveiterator import ArchiveIterator

from tests.integration.crawl_process import Ended, gossamer
from tests.integration.small_server import NOTHING, Answer, SmallServer


class Validators(Enum):
    """What the server says of its documents."""

    HONEST = "an ETag that changes with the document; asked with it, 304"
    DATED = "an honest Last-Modified; asked with it, 304"
    NONE = "nothing"
    RESTLESS = "another ETag with every answer"
    STIFF = "one ETag for ever; asked with it, 304, whatever the document is"


@dataclass
class Document:
    """A page of the site."""

    text: str
    validators: Validators = Validators.NONE
    links: tuple[str, ...] = ()
    version: int = 0
    status: int = 200
    answered: list[int] = field(default_factory=list)  # statuses
    conditions: list[dict[str, str]] = field(default_factory=list)  # of each request

    @property
    def body(self) -> str:
        links = "".join(f'<a href="{link}">{link}</a>' for link in self.links)
        return f"<!DOCTYPE html><title>{self.text}</title><p>{self.text}, version {self.version}{links}"


class ChangingSite:
    """Documents by path, on one host, so that one request comes after the other."""

    def __init__(self, documents: dict[str, Document]) -> None:
        self.documents = documents
        self.server = SmallServer(self._answer)
        self._hold_after = -1
        self._holding, self._go_on = threading.Event(), threading.Event()

    def __enter__(self) -> "ChangingSite":
        self.server.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._go_on.set()
        self.server.__exit__(None, None, None)

    def __getitem__(self, path: str) -> Document:
        return self.documents[path]

    def visits(self, path: str) -> int:
        return self.server.paths().count(path)

    def hold_after(self, requests: int) -> None:
        """Do not answer the request after so many, before `let_go`."""
        self._hold_after = requests

    @property
    def holds(self) -> bool:
        return self._holding.is_set()

    def let_go(self) -> None:
        self._go_on.set()

    def _answer(self, path: str, before: int) -> Answer:
        if len(self.server.asked) == self._hold_after + 1:
            self._holding.set()
            self._go_on.wait()
        document = self.documents.get(path)
        if document is None:
            return NOTHING
        asked = self.server.asked[-1].headers
        sent = {name: asked[name] for name in ("If-None-Match", "If-Modified-Since") if name in asked}
        answer = _answer_of(document, before, sent)
        document.conditions.append(sent)
        document.answered.append(answer.status)
        return answer


def _answer_of(document: Document, before: int, sent: dict[str, str]) -> Answer:
    if document.status != 200:
        return Answer("no", document.status)
    headers = {}
    match document.validators:
        case Validators.HONEST:
            headers = {"ETag": f'"{document.version}"'}
        case Validators.DATED:
            headers = {"Last-Modified": f"Mon, 0{document.version + 1} Jan 2024 10:00:00 GMT"}
        case Validators.RESTLESS:
            headers = {"ETag": f'"{before}"'}
        case Validators.STIFF:
            headers = {"ETag": '"always"'}
    known = (sent.get("If-None-Match"), sent.get("If-Modified-Since"))
    if any(value is not None and value in known for value in headers.values()):
        return Answer("", 304, headers)
    return Answer(document.body, 200, headers)


SOON = "[recrawl]\ninterval = 0.05\nshortest = 0.01\nlongest = 0.2\n"
"""Everything is due again at once, as people reckon."""


class Copy:
    """A crawl of a site: its directory and the command."""

    def __init__(self, folder: Path, site: ChangingSite, toml: str = SOON, *options: object) -> None:
        self.dir = folder / "crawl"
        self.toml = folder / "gossamer.toml"
        self.toml.write_text(toml)
        self._site = site
        self._options = options

    @property
    def command(self) -> list[object]:
        fixed = ["crawl", self._site.server.base + "/", "--dir", self.dir, "--config", self.toml, "--allow-private"]
        return [*fixed, "--json", "--quiet", "--delay", 0, "--delay-factor", 0, *self._options]

    def run(self) -> Ended:
        ended = gossamer(*self.command)
        assert ended.status == 0, ended.err
        return ended

    def pages(self) -> dict[str, dict[str, object]]:
        """What `gossamer pages` says, by path."""
        ended = gossamer("pages", "--dir", self.dir, "--json")
        assert ended.status == 0, ended.err
        return {str(page["url"]).removeprefix(self._site.server.base): page for page in ended.lines}

    def records(self, path: str) -> list[str]:
        """The records of a page in the order of the archive: responses, and revisits by their profile."""
        found = []
        for file in sorted((self.dir / "warc").iterdir()):
            with file.open("rb") as stream:
                for record in ArchiveIterator(stream, check_digests="raise"):
                    fields = record.rec_headers
                    record.content_stream().read()
                    if fields.get_header("WARC-Target-URI") != self._site.server.base + path:
                        continue
                    if record.rec_type == "revisit":
                        found.append(str(fields.get_header("WARC-Profile")).rpartition("/")[2])
                    elif record.rec_type == "response":
                        found.append("response")
        return found
