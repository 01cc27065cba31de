"""Who takes part: how each is installed, started and read. Nothing here goes into the project's own environment."""

import json
import os
import subprocess
import sys
import venv
from abc import ABC, abstractmethod
from dataclasses import dataclass
from hashlib import sha1
from pathlib import Path

import gossamer
from benchmarks.peers.wishes import Wishes
from gossamer.backends.warc.reader import WarcArchive
from gossamer.reports.readback import document_in, read_response
from gossamer.version import __version__

HERE = Path(__file__).parent
INSTALLED = HERE / ".installed"
_INSTALL_SECONDS = 400


class CannotInstall(Exception):
    """The peer is left out of this run, and named as not measured."""


class Kept(ABC):
    """The pages that a crawl has stored: `url in kept`, and their bodies."""

    def __contains__(self, url: object) -> bool:
        return isinstance(url, str) and self.body(url) is not None

    @abstractmethod
    def body(self, url: str) -> bytes | None:
        """As it was stored: the bytes that the server sent, or its text in UTF-8."""


class HashedFiles(Kept):
    """A file per page, named by the SHA-1 of its URL; whatever its ending."""

    def __init__(self, folder: Path) -> None:
        self._files = {path.name.partition(".")[0]: path for path in sorted(folder.glob("*"), reverse=True)}

    def body(self, url: str) -> bytes | None:
        path = self._files.get(sha1(url.encode()).hexdigest())
        return path.read_bytes() if path is not None else None


class Archive(Kept):
    """Gossamer's own: by its list of pages, read from the WARC files."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "gossamer", "pages", "--dir", str(folder), "--json", "--state", "stored"]
        listed = subprocess.run(command, capture_output=True, text=True, timeout=120)
        if listed.returncode:
            raise RuntimeError(f"{' '.join(command)}: {listed.stderr}")
        rows = map(json.loads, listed.stdout.splitlines())
        self._places = {str(row["url"]): row["warc"] for row in rows if row["warc"] is not None}
        self._archive = WarcArchive(folder / "warc")

    def body(self, url: str) -> bytes | None:
        place = self._places.get(url)
        if place is None:
            return None
        response = read_response(self._archive, place["file"], place["offset"], place["length"])
        return document_in(response).body if response is not None else None


@dataclass(frozen=True, slots=True)
class Crawler(ABC):
    name: str
    about: str

    @abstractmethod
    def install(self) -> None:
        """Make it ready to start; does nothing the second time. Raises `CannotInstall`."""

    @abstractmethod
    def version(self) -> str: ...

    @abstractmethod
    def command(self, order: Path, wishes: Wishes) -> list[str]:
        """What starts it, and resumes it; `order` is the file with the wishes."""

    @abstractmethod
    def kept(self, place: Path) -> Kept: ...

    def environment(self, place: Path) -> dict[str, str]:
        return dict(os.environ)


class Gossamer(Crawler):
    def install(self) -> None:
        pass  # it runs from where it is

    def version(self) -> str:
        return __version__

    def command(self, order: Path, wishes: Wishes) -> list[str]:
        toml = order.with_suffix(".toml")
        toml.write_text(
            f"[fetch]\nhead_timeout = {wishes.timeout}\nidle_timeout = {wishes.timeout}\n"
            # Tries of a host that never answers end after four or five such delays.
            f"[retry]\nmax_tries = {wishes.retries + 1}\ndelay = {wishes.host_patience / 10}\n",
            encoding="utf-8",
        )
        options = ["--config", str(toml), "--dir", f"{wishes.place}/crawl", "--scope", "tld:test", "--allow-private"]
        options += ["--dns", wishes.dns, "--delay", str(wishes.delay), "--delay-factor", "0", "--quiet"]
        options += ["--concurrency", str(wishes.concurrency), "--user-agent", wishes.user_agent]
        return [sys.executable, "-m", "gossamer", "crawl", *wishes.seeds, *options]

    def kept(self, place: Path) -> Kept:
        return Archive(place / "crawl")

    def environment(self, place: Path) -> dict[str, str]:
        # The one that judges is the one that is judged, wherever it is started.
        return {**os.environ, "PYTHONPATH": str(Path(gossamer.__file__).resolve().parents[1])}


@dataclass(frozen=True, slots=True)
class PythonPeer(Crawler):
    """A package of PyPI in an environment of its own."""

    package: str
    requirement: str
    spider: str
    folder: str

    def install(self) -> None:
        home = INSTALLED / self.name
        if not (home / "ready").exists():
            venv.create(home, with_pip=True, clear=True)
            _call([str(home / "bin" / "pip"), "install", "--quiet", self.requirement])
            (home / "ready").touch()

    def version(self) -> str:
        code = f"import importlib.metadata as m; print(m.version({self.package!r}))"
        return _call([self._python(), "-c", code]).strip()

    def command(self, order: Path, wishes: Wishes) -> list[str]:
        return [self._python(), str(HERE / "spiders" / self.spider), str(order)]

    def kept(self, place: Path) -> Kept:
        return HashedFiles(place / self.folder)

    def environment(self, place: Path) -> dict[str, str]:
        return {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}

    def _python(self) -> str:
        return str(INSTALLED / self.name / "bin" / "python")


@dataclass(frozen=True, slots=True)
class NodePeer(Crawler):
    """Packages of npm in a directory of their own; the first is the one whose version counts."""

    packages: tuple[str, ...]
    spider: str
    folder: str

    def install(self) -> None:
        home = INSTALLED / self.name
        if not (home / "ready").exists():
            home.mkdir(parents=True, exist_ok=True)
            (home / "package.json").write_text('{"private": true}')
            _call(["npm", "install", "--no-audit", "--no-fund", "--prefix", str(home), *self.packages])
            (home / "ready").touch()

    def version(self) -> str:
        name = "/".join(part.partition("@")[0] or part for part in self._name().split("/"))
        found = json.loads((INSTALLED / self.name / "node_modules" / name / "package.json").read_text())
        return str(found["version"])

    def command(self, order: Path, wishes: Wishes) -> list[str]:
        return ["node", str(HERE / "spiders" / self.spider), str(order), str(INSTALLED / self.name)]

    def kept(self, place: Path) -> Kept:
        return HashedFiles(place / self.folder)

    def environment(self, place: Path) -> dict[str, str]:
        return {**os.environ, "CRAWLEE_STORAGE_DIR": str(place)}

    def _name(self) -> str:
        return self.packages[0].rpartition("@")[0]


def _call(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_INSTALL_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotInstall(str(error)) from error
    if done.returncode:
        raise CannotInstall(done.stderr.strip()[-400:])
    return done.stdout


GOSSAMER = Gossamer("gossamer", "this project")
CRAWLERS: tuple[Crawler, ...] = (
    GOSSAMER,
    PythonPeer("scrapy", "Scrapy", "scrapy", "scrapy==2.19.0", "scrapy_spider.py", "pages"),
    PythonPeer(
        "crawlee", "Crawlee for Python", "crawlee", "crawlee[httpx,parsel]==1.11.0", "crawlee_spider.py",
        "key_value_stores/default",
    ),
    NodePeer(
        "crawlee-js", "Crawlee for JavaScript", ("@crawlee/cheerio@3.18.1",), "crawlee_spider.mjs",
        "key_value_stores/default",
    ),
    NodePeer(
        "spider-rs", "spider (Rust), by its package for Node",
        ("@spider-rs/spider-rs@0.0.163", "@spider-rs/spider-rs-linux-x64-gnu@0.0.163"), "spider_rs_spider.mjs", "pages",
    ),
)  # fmt: skip

NOT_MEASURED = {
    "Heritrix, Nutch, StormCrawler, BUbiNG": "need a JVM and Maven's repositories, which cannot be reached from here",
    "Colly": "needs a Go toolchain and module proxy, which cannot be reached from here",
}
