"""How long does `gossamer explain` take on a large crawl, process start included? One run for each situation.

`python -m benchmarks.bench_explain [--urls N --hosts N]` from the root of the repository: makes a crawl of 1,000,000
URLs on 50,000 hosts, asks for the story of a URL in each prepared situation, checks that it names the right reason, and
prints CPU and elapsed seconds, the worst last. `gossamer status` is measured beside it.
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.large_crawl import BIG, STORY, Row, make_crawl, url_of
from gossamer.model.states import UrlState
from gossamer.model.task import Via

GOAL = 1.0  # seconds


@dataclass(frozen=True, slots=True)
class Situation:
    """A URL to ask about, and words that its story must have."""

    name: str
    url: str
    said: str
    options: tuple[str, ...] = ()


def story_url(path: str) -> str:
    return url_of(STORY, path)


def prepared_rows(now: float, urls: int) -> list[Row]:
    """The host of the situations: a chain of pages from the seed, and a URL of every kind."""
    first = urls + 1
    chain: list[Row] = [{"url": story_url("/"), "state": UrlState.STORED, "via": Via.SEED, "found_on": 0, "depth": 0}]
    chain += [
        {"url": story_url(f"/chain/{n}"), "state": UrlState.STORED, "found_on": first + n - 1, "depth": n}
        for n in range(1, 30)
    ]
    later = {"available_at": now + 2000, "place": now + 2000}
    kinds: dict[str, Row] = {
        "/old": {"state": UrlState.REDIRECT},
        "/new": {"state": UrlState.STORED, "via": Via.REDIRECT, "found_on": first + len(chain), "hops": 1},
        "/private/x": {"state": UrlState.EXCLUDED, "reason": "robots_denied"},
        "/private/open": {"state": UrlState.STORED},
        "/copy": {"state": UrlState.DUPLICATE},
        "/none": {"state": UrlState.MISSING, "available_at": now + 80_000, "reason": "missing"},
        "/gone": {"state": UrlState.GONE},
        "/dead": {"state": UrlState.DEAD, "reason": "conn_refused", "tries": 3},
        "/waits": {"state": UrlState.QUEUED, "available_at": now - 100},
        "/again": {"state": UrlState.QUEUED, "reason": "server_error", "tries": 1, **later},
    }
    return [*chain, *({"url": story_url(path), **row} for path, row in kinds.items())]


def situations(urls: int) -> list[Situation]:
    last_of_big = urls - urls % 10
    big = url_of(BIG, f"/section{last_of_big % 7}/page-{last_of_big}.html")
    waits, never = story_url("/waits"), story_url("/never/seen?x=1")
    return [
        Situation("a seed", story_url("/"), "seed: seeds.txt, line 2"),
        Situation("a long way from its seed", story_url("/chain/29"), "the way to a seed is longer"),
        Situation("the source of a redirect", story_url("/old"), "redirect"),
        Situation("the target of a redirect", story_url("/new"), f"redirect from {story_url('/old')}"),
        Situation("denied by robots.txt", story_url("/private/x"), "denied: line 3, Disallow: /private/"),
        Situation("opened by a longer line", story_url("/private/open"), "allowed: line 4, Allow: /private/open"),
        Situation("stored, record checked", story_url("/chain/3"), "the record is there and its digest is right"),
        Situation("a duplicate", story_url("/copy"), "its document is stored already"),
        Situation("missing", story_url("/none"), "it answered 404: asked again at a start of the crawl"),
        Situation("gone", story_url("/gone"), "gone for good"),
        Situation("a dead letter", story_url("/dead"), "its tries are used up"),
        Situation("its host rests", waits, "its host is left alone until then: robots.txt Crawl-delay"),
        Situation("a retry", story_url("/again"), "try 2, after server_error"),
        Situation("behind 10,000 others", big, "more than 10,000 before it"),
        Situation("forbidden by now", waits, "depth_limit (2 hops, at most 1)", ("--max-depth", "1")),
        Situation("its domain had its share", waits, "domain_limit (2 page requests", ("--max-per-domain", "2")),
        Situation("never seen", never, "it would enter and be queued when a page links to it"),
        Situation("never seen, denied", story_url("/private/else"), "excluded when its turn comes: robots_denied"),
        Situation("never seen, unknown host", "http://new.unknown.test/", "its host was never met", ("--scope", "any")),
        Situation("out of the seeds' hosts", "http://a.elsewhere.test/", "out_of_scope"),
        Situation("out of the seeds' domains", "http://a.elsewhere.test/", "out_of_scope", ("--scope", "domain")),
        Situation("an ending not wanted", story_url("/film.mp4"), "it would not enter: extension"),
        Situation("another spelling", f"HTTP://WWW.H{STORY}.test:80/x/../chain/3#top", "the fragment is dropped"),
        Situation("no URL at all", "mailto:someone@h2.test", "no canonical form: bad_scheme"),
        Situation("priority by novelty", waits, "the sum of url 4.0000, domain 9.8200", ("--order", "novelty")),
        Situation("priority by balance", waits, "suffix -3580224.0000", ("--order", "balance")),
        Situation("priority by importance", waits, "the sum of url 0.3000, domain 0.3333", ("--order", "importance")),
        Situation("never seen, by balance", "http://x.new.test/", "suffix -3580224.0000", ("--order", "balance")),
    ]


def measured(directory: Path, *words: str) -> tuple[float, float, str]:
    """CPU and elapsed seconds of a command, and what it says."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    command = [sys.executable, "-m", "gossamer", *words, "--dir", str(directory)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=directory, env=dict(os.environ))
    elapsed = time.monotonic() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(words)}: {done.stderr}")
    return cpu, elapsed, done.stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--urls", type=int, default=1_000_000)
    parser.add_argument("--hosts", type=int, default=50_000)
    arguments = parser.parse_args()
    found = []
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder) / "crawl"
        now, began = time.time(), time.process_time()
        make_crawl(directory, arguments.urls, arguments.hosts, now, prepared_rows(now, arguments.urls))
        size = (directory / "crawl.db").stat().st_size
        print(f"{arguments.urls:,} URLs on {arguments.hosts:,} hosts, {size / 1e6:,.0f} MB", end="")
        print(f", made in {time.process_time() - began:.0f} s of CPU; Python {platform.python_version()}")
        for situation in situations(arguments.urls):
            words = ("explain", situation.url, *situation.options)
            cpu, elapsed, text = measured(directory, *words)
            if situation.said not in text:
                raise SystemExit(f"{situation.name}: {situation.said!r} is not in\n{text}")
            json.loads(measured(directory, *words, "--json")[2])
            found.append((cpu, elapsed, situation.name))
        for cpu, elapsed, name in sorted(found):
            print(f"  {name:<28} {cpu:6.3f} s CPU {elapsed:6.3f} s elapsed")
        worst = max(cpu for cpu, _, _ in found)
        print(f"{len(found)} situations, the worst {worst:.3f} s of CPU (goal {GOAL:g} s)")
        cpu, elapsed, text = measured(directory, "status")
        print(f"status: {cpu:.3f} s CPU, {elapsed:.3f} s elapsed\n{text}")
    return 0 if worst < GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
