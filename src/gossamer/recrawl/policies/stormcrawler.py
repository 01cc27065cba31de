"""`stormcrawler-adaptive`: the rule of StormCrawler's adaptive scheduler as it is shipped, for comparison."""

from typing import ClassVar

from gossamer.recrawl.policy import DAY, Memory, Plan, RecrawlPolicy, Terms, Visited, Why, counted, in_words, planned

FIRST = DAY
LEAST, MOST = 3600.0, 14 * DAY
SLOWER, FASTER = 0.5, 0.5


class StormCrawlerAdaptive(RecrawlPolicy):
    """Without a change half as long again, up to two weeks; after one half way to an hour. Writes down the interval."""

    name: ClassVar[str] = "stormcrawler-adaptive"

    def after(self, visited: Visited, memory: Memory, terms: Terms) -> Plan:
        interval = memory.one or FIRST
        if visited.gap is not None:
            if visited.changed:
                interval -= FASTER * (interval - LEAST)
            else:
                interval = min(interval * (1 + SLOWER), MOST)
        memory = counted(memory, visited, interval, 0.0)
        return planned(visited.now, interval, memory, terms, Why.ADAPTED)

    def words(self, memory: Memory, terms: Terms) -> str:
        now = in_words(memory.one or FIRST)
        return f"interval of {now}: half as long again without a change, half way to an hour after one"
