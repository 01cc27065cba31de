"""What a recrawl policy is: after a visit, when is the next?

A policy is a formula. It is handed what the visit showed, what it wrote down after the visit before, and the terms of
the moment; it answers when to come again, what to write down, and why. It reads no clock, throws no dice and keeps
nothing: all that it knows of a page stands in the page's row, so a restart changes nothing.
"""

from enum import StrEnum
from typing import ClassVar, NamedTuple, Protocol

from gossamer.model.units import DAY, Instant, Seconds
from gossamer.recrawl.estimate import USUAL, Estimate


class RecrawlSettings(Protocol):
    """What this package reads of the `[recrawl]` section."""

    @property
    def interval(self) -> float: ...

    @property
    def budget(self) -> float | None: ...

    @property
    def keep_fresh(self) -> bool: ...


class Visited(NamedTuple):
    """What a visit showed."""

    now: Instant
    gap: Seconds | None = None  # since the visit before; None: it is the first
    changed: bool = False  # the content is not what it was (`change`)
    changed_at: Instant | None = None  # when it changed last, if somebody who can be trusted says so
    flagged_after: Seconds | None = None  # a trusted report of a change came so long after the visit before


class Memory(NamedTuple):
    """What is written down about a page between visits: two numbers of the policy's own, and two counts for people.

    The estimate of `optimal` is (a, b); (0, 0) is no estimate yet.
    """

    rate_shape: float = 0.0
    rate_span: float = 0.0
    visits: int = 0
    changes: int = 0


EMPTY_MEMORY = Memory()


class Terms(NamedTuple):
    """What holds for a page at the moment of a decision, whatever the policy."""

    importance: float = 1.0
    price: float = 1.0  # of a visit now: that of the crawl, or the host's own above it
    prior: Estimate = USUAL
    recall: float = 0.0  # share of changes that the host's sitemaps and feeds report; 0: not to be relied on
    usual: Seconds = Seconds(14 * DAY)  # gap of policies that do not reckon, and of a page of which nothing is known
    shortest: Seconds = Seconds(300.0)
    longest: Seconds = Seconds(365 * DAY)
    hub: bool = False  # a list of other pages: however often it changes, it is not given up


class Why(StrEnum):
    """Why the next visit is when it is."""

    WORTH = "worth its price"
    SHORTEST = "the shortest gap"
    LONGEST = "the longest gap"
    RULE = "a rule"
    ADAPTED = "adapted to the last visit"


class Plan(NamedTuple):
    """The answer: when to come again, what to write down, and why."""

    next_visit: Instant
    memory: Memory
    why: Why

    def gap(self, now: Instant) -> Seconds:
        return Seconds(self.next_visit - now)


class RecrawlPolicy:
    """Root of all policies. This one comes again after the usual gap, whatever it sees: `fixed`.

    Yours overrides `after`, and `words` if it has more to tell; it is found under `name` by an entry point of the
    group `gossamer.recrawl`. `moved_by_price` says that gaps depend on the price, so that a controller is to move it.
    """

    name: ClassVar[str] = "fixed"
    moved_by_price: ClassVar[bool] = False

    def after(self, visited: Visited, memory: Memory, terms: Terms) -> Plan:
        """`memory` is what the last plan of this page said, or NOTHING. Must be a function of its arguments."""
        return planned(
            visited.now,
            terms.usual,
            counted(memory, visited, memory.rate_shape, memory.rate_span),
            terms,
            Why.RULE,
        )

    def replanned_gap(self, memory: Memory, terms: Terms) -> Seconds | None:
        """The gap after the last visit if it were planned at these terms: a host may have become dearer since. None:
        terms do not matter, and it stays what it was."""
        return None

    def words(self, memory: Memory, terms: Terms) -> str:
        """Why the gap is what it is, for people: a sentence or two, from what stands in the row."""
        if type(self).after is not RecrawlPolicy.after:  # one that plans otherwise and has nothing to tell
            return f"as it plans after {memory.visits} visits, {memory.changes} of which found a change"
        return f"every page again after {format_duration(terms.usual)}"


def planned(now: Instant, gap: float, memory: Memory, terms: Terms, why: Why) -> Plan:
    """A plan with the gap (seconds) held within the limits. Limits that leave no choice are a rule."""
    _, _, _, _, _, shortest, longest, _ = terms
    if not shortest < gap < longest:
        if shortest >= longest:
            gap, why = shortest, Why.RULE
        elif gap <= shortest:
            gap, why = shortest, Why.SHORTEST
        else:
            gap, why = longest, Why.LONGEST
    return Plan(Instant(now + gap), memory, why)


def counted(memory: Memory, visited: Visited, rate_shape: float, rate_span: float) -> Memory:
    """The memory after a visit: these two numbers, and the counts one further."""
    _, _, visits, changes = memory
    return Memory(rate_shape, rate_span, visits + 1, changes + visited.changed)


def format_duration(seconds: float) -> str:
    """A duration in the unit that fits it, with two digits or so: `3.5 days`."""
    for unit, name in ((365 * DAY, "years"), (DAY, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds:.3g} seconds"
