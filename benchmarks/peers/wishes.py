"""What every crawler is asked for. Spiders read it as JSON from the file that is their only argument."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

AGENT = "gossamer"
"""The name that all go by: the robots.txt files of the simulated web have rules for it."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """The order. Times are in seconds."""

    seeds: tuple[str, ...]  # the home page of every site
    delay: float  # between two requests to one host; 0: as fast as you can
    place: str  # a directory for whatever the crawler keeps
    dns: str  # HOST:PORT of a name server, for whom the hosts file will not do
    resume: bool  # go on where the directory's last crawl ended; be able to
    concurrency: int = 32  # requests at a time, one per host
    timeout: float = 5.0  # for an answer
    retries: int = 2  # after the first try
    host_patience: float = 20.0  # give up a host that never answers after about half of it
    user_agent: str = f"{AGENT}/1.0 (+https://example.org/crawler)"

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=1), encoding="utf-8")
