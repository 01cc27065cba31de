"""One crawler in one round: serve, run, judge."""

import platform
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers.crawlers import Crawler, Kept
from benchmarks.peers.judge import Expected, Finding, judge, tally
from benchmarks.peers.rounds import Round, Stop
from benchmarks.peers.running import Usage, run
from benchmarks.peers.serving import Served
from benchmarks.peers.trouble import DAMAGED, DAMAGES, FAILING, LOOPS, SILENT, pages
from benchmarks.peers.wishes import Wishes
from gossamer.lab.simweb.server import Request


@dataclass(frozen=True, slots=True)
class Result:
    """What came of it. `stored` counts the documents of the web that lie on disk, of `documents` that there are."""

    crawler: str
    round: str
    usage: Usage
    requests: int
    documents: int
    findings: Counter[Finding]
    asked: Counter[str]  # requests to each host in trouble
    whole_texts: int  # of the damaged pages, those stored as they were sent or as a browser reads them

    @property
    def stored(self) -> int:
        return self.documents - self.findings[Finding.MISSED] - self.findings[Finding.SHUT_OUT]

    @property
    def per_cpu_second(self) -> float:
        return self.stored / self.usage.cpu_seconds


def play(crawler: Crawler, match: Round, log_to: Path | None = None) -> Result:
    """Play a round. With `log_to`, what the crawler said and the server's record are left there."""
    place = Path(tempfile.mkdtemp(prefix="gossamer-peers-"))
    try:
        return _play(crawler, match, place)
    finally:
        if log_to is not None:
            folder = log_to / f"{crawler.name}-{match.name.replace(' ', '-')}"
            folder.mkdir(parents=True, exist_ok=True)
            for path in (place / "server.log", place / "output.txt"):
                if path.exists():
                    shutil.copy(path, folder)
        shutil.rmtree(place, ignore_errors=True)


def best(results: Iterable[Result]) -> Result:
    """The one with the least CPU: what else a shared machine does only ever adds."""
    return min(results, key=lambda result: result.usage.cpu_seconds)


def machine() -> str:
    """What kind of machine this is."""
    cpu = platform.processor() or platform.machine()
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            cpu = line.partition(":")[2].strip()
            break
    return f"{cpu}, {platform.system()} {platform.release()}, Python {platform.python_version()}"


def _play(crawler: Crawler, match: Round, place: Path) -> Result:
    kept_in = place / "kept"
    kept_in.mkdir()
    with Served(match.config, place / "server.log") as served:
        web = served.web
        expected = match.expected(web)
        (place / "hosts").write_text(served.hosts_file(), encoding="ascii")
        wishes = Wishes(
            match.seeds(web), match.delay, str(kept_in), served.dns, resume=match.stop is Stop.KILL_AND_RESUME
        )
        wishes.write(place / "wishes.json")
        usage = _run(crawler, match, wishes, place, served)
    requests = served.requests()
    return _judged(crawler, match, usage, requests, crawler.kept(kept_in), expected, web.config.port)


def _run(crawler: Crawler, match: Round, wishes: Wishes, place: Path, served: Served) -> Usage:
    def once(until_requests: int = 0, kill: bool = False) -> Usage:
        return run(
            crawler.command(place / "wishes.json", wishes),
            hosts=place / "hosts",
            cwd=Path(wishes.place),
            output=place / "output.txt",
            environment=crawler.environment(Path(wishes.place)),
            limit=match.limit,
            until=(lambda: served.count() >= until_requests) if until_requests else None,
            kill=kill,
        )

    match match.stop:
        case Stop.NEVER:
            return once()
        case Stop.AT_REQUESTS:
            return once(match.requests)
        case Stop.KILL_AND_RESUME:
            return once(match.requests, kill=True).plus(once())


def _judged(
    crawler: Crawler, match: Round, usage: Usage, requests: list[Request], kept: Kept, expected: Expected, port: int
) -> Result:
    asked = Counter(str(request.host) for request in requests)
    return Result(
        crawler=crawler.name,
        round=match.name,
        usage=usage,
        requests=len(requests),
        documents=expected.documents,
        findings=tally(judge(requests, kept, expected)),
        asked=Counter({host: asked[host] for host in (FAILING, SILENT, LOOPS)}) if match.troubled else Counter(),
        whole_texts=sum(_whole(kept, number, port) for number in range(1, len(DAMAGES) + 1)) if match.troubled else 0,
    )


def _whole(kept: Kept, number: int, port: int) -> bool:
    body, text = pages()[f"/{number}"]
    return kept.body(f"http://{DAMAGED}:{port}/{number}") in (body, text.encode())
