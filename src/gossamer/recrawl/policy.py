"""Defines what a recrawl policy is: a formula for the date of the next visit.

A policy is a formula. Its input is what the visit showed, what it stored after the previous visit, and the current
terms; its output is when to visit next, what to store, and why. It reads no clock, uses no randomness and keeps no
state: everything it knows about a page is in the page's row, so a restart changes nothing.
"""

from enum import StrEnum
from typing import ClassVar, NamedTuple, Protocol

from gossamer.model.units import DAY, Instant, Seconds
from gossamer.recrawl.estimate import USUAL, Estimate, HostRates


class RecrawlSettings(Protocol):
    """The settings of the `[recrawl]` section that this package uses."""

    @property
    def interval(self) -> float: ...

    @property
    def budget(self) -> float | None: ...

    @property
    def keep_fresh(self) -> bool: ...


class Visited(NamedTuple):
    """What a visit showed."""

    now: Instant
    gap: Seconds | None = None  # since the previous visit; None: the first visit
    changed: bool = False  # the content changed (`estimate.verdict_on`)
    changed_at: Instant | None = None  # time of the last change, from a trusted source
    flagged_after: Seconds | None = None  # a change was reported this long after the previous visit


class Memory(NamedTuple):
    """What is stored about a page between visits: two numbers that belong to the policy, and two counts.

    `adaptive` and `optimal` keep a Gamma estimate in the first two, as they are named; (0, 0) is no estimate yet. Other
    policies may keep any two numbers there and unpack them under their own names.
    """

    rate_shape: float = 0.0
    rate_span: float = 0.0
    visits: int = 0
    changes: int = 0


EMPTY_MEMORY = Memory()


class Terms(NamedTuple):
    """The terms of a decision, for any policy."""

    importance: float = 1.0
    price: float = 1.0  # of a visit: the crawl's, or the host's if it is higher
    prior: Estimate = USUAL
    recall: float = 0.0  # share of changes reported by the host's sitemaps and feeds; 0: not trusted
    usual: Seconds = Seconds(14 * DAY)  # default gap
    shortest: Seconds = Seconds(300.0)
    longest: Seconds = Seconds(365 * DAY)
    hub: bool = False  # a list of other pages: visited however often it changes


class Why(StrEnum):
    """Why the next visit is at that time."""

    WORTH = "worth its price"
    SHORTEST = "the shortest gap"
    LONGEST = "the longest gap"
    RULE = "a rule"
    ADAPTED = "adapted to the last visit"


class Plan(NamedTuple):
    """When to visit next, what to store, and why."""

    next_visit: Instant
    memory: Memory
    why: Why

    def gap(self, now: Instant) -> Seconds:
        return Seconds(self.next_visit - now)


class RecrawlPolicy:
    """Base class of all policies. This one visits again after the default gap: `fixed`.

    Subclasses override `after`, and `words` if they have more to say; they are found under `name` by an entry point of
    the group `gossamer.recrawl`. `moved_by_price` says that gaps depend on the price, so a controller has to adjust it;
    `estimates_rates`, that `Memory` has an estimate of the page's change rate (`estimate_of`).
    """

    name: ClassVar[str] = "fixed"
    moved_by_price: ClassVar[bool] = False
    estimates_rates: ClassVar[bool] = False

    @property
    def memory_format(self) -> str:
        """Policies with the same format can continue with what another one has stored about pages."""
        return "optimal" if self.estimates_rates else self.name  # the name of the first that estimated rates

    def prior(self, host: HostRates, usual: Seconds) -> Estimate:
        """The prior of a page of which nothing is known but the rates of its host's pages."""
        return host.prior()

    def after(self, visited: Visited, memory: Memory, terms: Terms) -> Plan:
        """`memory` is what the page's last plan stored, or EMPTY_MEMORY. Must be a function of its arguments."""
        return planned(
            visited.now,
            terms.usual,
            counted(memory, visited, memory.rate_shape, memory.rate_span),
            terms,
            Why.RULE,
        )

    def replanned_gap(self, memory: Memory, terms: Terms) -> Seconds | None:
        """The gap after the last visit under the current terms, for example at a higher price; None: unchanged."""
        return None

    def words(self, memory: Memory, terms: Terms) -> str:
        """Why the gap is what it is: a sentence or two for users, from what is stored in the row."""
        if type(self).after is not RecrawlPolicy.after:  # a subclass without its own explanation
            return f"as it plans after {memory.visits} visits, {memory.changes} of which found a change"
        return f"every page again after {format_duration(terms.usual)}"


def planned(now: Instant, gap: float, memory: Memory, terms: Terms, why: Why) -> Plan:
    """A plan with the gap (seconds) clamped to the limits. Equal limits are a rule."""
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
    """The memory after a visit: these two numbers, and the counts incremented."""
    _, _, visits, changes = memory
    return Memory(rate_shape, rate_span, visits + 1, changes + visited.changed)


def format_duration(seconds: float) -> str:
    """A duration in a suitable unit, with about three digits: `3.5 days`."""
    for unit, name in ((365 * DAY, "years"), (DAY, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds:.3g} seconds"
