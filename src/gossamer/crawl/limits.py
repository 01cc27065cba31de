"""How much a pipeline does at a time, and when it stops."""

from dataclasses import dataclass

from gossamer.crawl.desk import DeskLimits


@dataclass(frozen=True, slots=True)
class PipelineLimits:
    concurrency: int = 80
    desk: DeskLimits = DeskLimits()
    high_water: float = 0.8  # of any queue: nothing new is fetched
    max_pages: int | None = None
    max_hosts: int = 10_000  # that the frontier has in memory
