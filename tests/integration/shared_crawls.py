"""Crawls that several workers share: how a worker joins one, and whether all of them together were polite."""

import math
from collections.abc import Callable

from gossamer.lab.simweb.audit import audit
from gossamer.model.units import Seconds
from tests.integration.crawl_process import Command, Scene, gossamer


def join(stage: Scene, url: str, name: str, preexec: Callable[[], None] | None = None) -> Command:
    """One more worker."""
    where = ("--store", url, "--unsafe-store", "--dir", stage.dir)
    return Command("worker", *where, "--name", name, "--quiet", preexec=preexec)


def is_started(stage: Scene) -> bool:
    """Whether the process that starts the crawl has done so."""
    log = stage.dir / "crawl.log"
    return log.exists() and "crawl.started" in log.read_text()


def partitions(url: str) -> dict[str, int]:
    """How many each worker owns."""
    listed = gossamer("workers", "--store", url, "--json").lines
    return {str(worker["name"]): int(str(worker["partitions"])) for worker in listed}


def short_gaps(
    stage: Scene,
    *,
    min_delay: float,
    delay_factor: float = 0.0,
    max_adaptive_delay: float = 0.0,
    until: float = math.inf,
) -> list[str]:
    """Every gap that was too short for a host or an address, by the log of the server, among the requests `until` a
    moment. The log is complete once the server has stopped. How long a host asked to be left alone (Retry-After) may be
    forgotten when its partition changes hands."""
    found = audit(
        [request for request in stage.web.requests() if request.read_at < until],
        min_delay=Seconds(min_delay),
        delay_factor=delay_factor,
        max_adaptive_delay=Seconds(max_adaptive_delay),
        crawl_delays=stage.web.web().crawl_delays(),
        tolerance=0.002,
    )
    return [str(violation) for violation in found if not violation.earlier.retry_after]
