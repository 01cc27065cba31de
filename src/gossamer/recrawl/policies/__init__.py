"""The recrawl policies, one small class each, by name. `gossamer.recrawl.policy` says what one is."""

from collections.abc import Callable, Mapping

from gossamer.recrawl.policies.nutch import NutchAdaptive
from gossamer.recrawl.policies.optimal import Optimal
from gossamer.recrawl.policies.stormcrawler import StormCrawlerAdaptive
from gossamer.recrawl.policy import RecrawlPolicy

RECRAWL_POLICIES: Mapping[str, Callable[[], RecrawlPolicy]] = {
    maker.name: maker for maker in (Optimal, RecrawlPolicy, NutchAdaptive, StormCrawlerAdaptive)
}

__all__ = ["RECRAWL_POLICIES", "RecrawlPolicy"]
