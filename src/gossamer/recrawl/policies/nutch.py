"""`nutch-adaptive`: the rule of Apache Nutch's adaptive schedule in its stock configuration, for comparison."""

from typing import ClassVar

from gossamer.model.units import Instant, Seconds
from gossamer.recrawl.policy import DAY, Memory, Plan, RecrawlPolicy, Terms, Visited, Why, counted, in_words, planned

FIRST = 30 * DAY
LEAST, MOST = 60.0, 365 * DAY
RETRIED = 90 * DAY  # everything is, whatever the interval
FASTER, SLOWER = 0.2, 0.4
SYNC = 0.3  # of the time since the last known change, by which the next visit is moved forward


class NutchAdaptive(RecrawlPolicy):
    """The interval is a fifth shorter after a change and two fifths longer without one.

    Writes down the interval and when the page was last known to change, both in seconds.
    """

    name: ClassVar[str] = "nutch-adaptive"

    def after(self, visited: Visited, memory: Memory, terms: Terms) -> Plan:
        interval, modified = memory.one or FIRST, memory.two
        if visited.gap is None:
            interval, modified = FIRST, visited.now
        elif visited.changed:
            interval *= 1 - FASTER
            modified = visited.now
        else:
            interval *= 1 + SLOWER
        reference = visited.now
        if visited.gap is not None:
            since = max(visited.now - modified, 0.0)
            interval = max(interval, since)
            reference = Instant(visited.now - SYNC * since)
        interval = min(max(interval, LEAST), MOST)
        due = max(reference + min(interval, RETRIED), visited.now + LEAST)
        memory = counted(memory, visited, interval, modified)
        return planned(visited.now, Seconds(due - visited.now), memory, terms, Why.ADAPTED)

    def words(self, memory: Memory, terms: Terms) -> str:
        return f"interval of {in_words(memory.one or FIRST)}: a fifth less after a change, two fifths more without one"
