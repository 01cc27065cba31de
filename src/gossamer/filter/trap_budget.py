"""Trap budgets: how many more pages of a shape or a domain may be fetched. Hot: benchmarks/bench_traps.py.

Every shape of a host has a *credit*, `patience` pages at first. A page that brings nothing new costs one, a
near-duplicate costs half, a new page earns three, up to `patience` again. So a shape of which one page in four is new
is never cut, however many pages it has, and one that brings nothing is *cut* after `patience` pages. New is:

* content of which neither the bytes nor the text were seen before (exact and near-duplicates are not new);
* on *faceted* lists (one script with many sets of parameters) the content is not evidence, since every selection of the
  same items is another page: such a page is new if it links to an unknown URL of another shape.

One sign counts against a shape whatever its content: self-generating pages. If the pages of a shape each link to
several new pages of that shape, and hardly ever to a known one, they were generated: people link to pages that exist.
The same holds for a set of shapes whose pages and redirects lead only to new ones of the set (`url_shape.ShapeLinks`).

`DomainBudget` does the same for the hosts of a registrable domain.

Decisions only: no clock, no store. The budgets can be converted to text and back.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from gossamer.filter.url_shape import Shape, ShapeLinks

SAME, ALIKE, FACETS, ENDLESS, HOSTS = "trap:same", "trap:alike", "trap:facets", "trap:endless", "trap:hosts"
"""Why a shape was cut: its pages are identical, near-duplicates, faceted lists, or self-generating. And why a host was:
too many hosts of its domain bring nothing."""

_EARNED = 3.0  # by a new page: one in four is enough
_ALIKE_COSTS = 0.5
_PROVEN_PAGES = 30
_PROVEN_SHARE = 0.5
_ROOM = 192  # fine shapes of a host that have a budget of their own, and coarse ones
_REST = "/*"  # the budget of all other coarse shapes
_FACETED = 16  # sets of parameters under one script
_SELF_GENERATING_KNOWN = 0.01  # share of known pages among those of its shape that a page links to
_SELF_GENERATING_NEW = 1.5  # new ones per page; fewer may be a long list, each page of which leads to the next
_NEW_HOSTS_PER_PAGE = 0.9  # no list has a host for each of its pages
_SELF_GENERATING_PAGES = 3  # times `patience`: pages fetched before a shape is cut as endless
MIN_PAGES_EXAMINED = 10  # pages whose links were examined before they are a reason to cut
_MIN_PAGES_CONSULTED = 3
_RECENT = 8  # pages of a shape with which the next one is compared


GRACE = 20
"""Pages of a host that are not counted: most hosts are smaller than any trap."""

HOSTS_PER_DOMAIN = 500
"""Hosts of one registrable domain that bring nothing new before no more are visited."""


@dataclass(frozen=True, slots=True)
class TrapPolicy:
    """`patience`: pages of a shape that bring nothing before it is cut. `hosts_per_domain`: the same for hosts.
    `grace`: see `GRACE`."""

    patience: int = 150
    hosts_per_domain: int = HOSTS_PER_DOMAIN
    grace: int = GRACE


class PageValue(Enum):
    """What a page has brought."""

    NEW = "new"
    ALIKE = "alike"  # near-duplicate
    SAME = "same"  # its bytes or its text were seen before; or it only links to others of its shape


def is_self_generating(pages: int, new: int, known: int, per_page: float = _SELF_GENERATING_NEW) -> bool:
    """Whether these pages each link to several new pages of their kind, and hardly ever to known ones."""
    return new >= per_page * pages and known <= _SELF_GENERATING_KNOWN * (known + new)


class TemplateSketch(NamedTuple):
    """Of a page with too little text for comparison: a hash of the rest, without the numbers in its title; and whether
    there were any, so that at least they distinguish it from others."""

    digest: int
    numbered: bool


@dataclass(slots=True)
class ShapeBudget:
    """The budget of one shape. `credit` is at most the patience; with a `cut`, nothing more of it is fetched."""

    credit: float
    fetched: int = 0
    new: int = 0
    alike: int = 0
    pages_examined: int = 0  # pages whose links were examined
    links_new: int = 0  # from these to unknown pages of the same shape
    links_known: int = 0
    variants: int = 0  # coarse shapes only: fine shapes below it
    cut: str | None = None
    redirects: int = 0  # to other shapes
    recent: list[int] = field(default_factory=list)  # digests of its last pages; not stored

    def compare(self, sketch: TemplateSketch) -> PageValue:
        """The value of a page with hardly any text, compared with the shape's last pages. Remembers it."""
        digest, numbered = sketch
        if digest in self.recent:
            return PageValue.ALIKE if numbered else PageValue.SAME
        self.recent.append(digest)
        if len(self.recent) > _RECENT:
            del self.recent[0]
        return PageValue.NEW

    @property
    def self_generating(self) -> bool:
        """Whether its pages link only to new ones of the same shape."""
        return self.pages_examined >= _MIN_PAGES_CONSULTED and is_self_generating(
            self.pages_examined, self.links_new, self.links_known
        )

    @property
    def proven(self) -> bool:
        return self.cut is None and self.fetched >= _PROVEN_PAGES and self.new >= _PROVEN_SHARE * self.fetched

    @property
    def faceted(self) -> bool:
        return self.variants > _FACETED

    def count(self, value: PageValue, policy: TrapPolicy) -> None:
        self.fetched += 1
        if value is PageValue.NEW:
            self.new += 1
            self.credit = min(float(policy.patience), self.credit + _EARNED)
            return
        if value is PageValue.ALIKE:
            self.alike += 1
            self.credit -= _ALIKE_COSTS
        else:
            self.credit -= 1.0
        if self.credit <= 0 and self.cut is None:
            stale = self.fetched - self.new
            self.cut = FACETS if self.faceted else ALIKE if 2 * self.alike > stale else SAME

    def count_links(self, new: int, known: int, policy: TrapPolicy) -> None:
        """Count the links of one of its pages to pages of the same shape."""
        self.pages_examined += 1
        self.links_new += new
        self.links_known += known
        if (
            self.cut is None
            and self.pages_examined >= MIN_PAGES_EXAMINED
            and self.fetched >= _SELF_GENERATING_PAGES * policy.patience
            and self.self_generating
        ):
            self.cut = ENDLESS

    @property
    def summary(self) -> str:
        """The counts, as text."""
        text = f"{self.fetched} fetched, {self.new} new, {self.alike} alike, credit {self.credit:g}"
        if self.pages_examined:
            text += (
                f"; {self.pages_examined} pages link to {self.links_new} new and {self.links_known} known of its shape"
            )
        if self.redirects:
            text += f"; {self.redirects} redirects to other shapes"
        return f"{text}; {self.variants} sets of parameters" if self.faceted else text


class Cut(NamedTuple):
    """Why nothing more of a shape is fetched."""

    reason: str
    shape: str
    summary: str

    @property
    def detail(self) -> str:
        return f"{self.shape}: {self.summary}"


@dataclass(slots=True)
class HostBudget:
    """The budgets of a host's shapes. There are at most `_ROOM` fine ones; further shapes are counted by their coarse
    one. There are as many coarse ones; further ones are counted together as `_REST`.

    Invariants:
      * a page of a proven fine shape counts only for that; all others also count for their coarse shape, so that a trap
        cannot hide behind ordinary pages, nor do these suffer from it;
      * `cuts` is true exactly while some shape is cut.
    """

    pages: int = 0
    admitted: bool = False  # counted among the hosts of its domain
    found_new: bool = False  # it had a new page
    fine: dict[str, ShapeBudget] = field(default_factory=dict)
    coarse: dict[str, ShapeBudget] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)  # URLs that never entered, by reason
    links: ShapeLinks = field(default_factory=ShapeLinks)
    cuts: bool = False

    def __len__(self) -> int:
        return len(self.fine) + len(self.coarse) + self.links.pairs

    @property
    def is_worth_storing(self) -> bool:
        """Whether it has more than what the first pages of a host show."""
        return bool(self.coarse or self.refused)

    def count(
        self,
        shape: Shape,
        value: PageValue,
        policy: TrapPolicy,
        *,
        leads: bool = False,
        sketch: TemplateSketch | None = None,
    ) -> bool:
        """A page was fetched. `leads`: it links to an unknown URL of another shape. `sketch`: of a page with too little
        text for comparison. True if this was the first cut."""
        self.pages += 1
        if self.pages <= policy.grace:
            return False
        fine, coarse = self._budgets_for(shape, policy)
        if sketch is not None and value is PageValue.NEW:
            value = coarse.compare(sketch)
        combined = coarse.faceted and "&" in shape.fine
        if combined and value is PageValue.NEW and not leads:
            value = PageValue.SAME
        if fine is not None:
            fine.count(value, policy)
            # A page with one parameter is no evidence about pages that combine several.
            if not combined and (fine.proven or coarse.faceted):
                coarse.fetched += 1
                return self._update_cuts(fine, coarse)
        coarse.count(value, policy)
        return self._update_cuts(fine, coarse)

    def _budgets_for(self, shape: Shape, policy: TrapPolicy) -> tuple[ShapeBudget | None, ShapeBudget]:
        """The budgets of a shape, made if there is room: the fine one (None without room) and the coarse one."""
        name = self._coarse_name(shape)
        coarse = self.coarse.get(name)
        if coarse is None:
            coarse = self.coarse[name] = ShapeBudget(float(policy.patience))
        fine = self.fine.get(shape.fine)
        if fine is None and len(self.fine) < _ROOM:
            fine = self.fine[shape.fine] = ShapeBudget(float(policy.patience))
            coarse.variants += "?" in shape.fine and name is not _REST
        return fine, coarse

    def _coarse_name(self, shape: Shape) -> str:
        return shape.coarse if shape.coarse in self.coarse or len(self.coarse) < _ROOM else _REST

    def _counted_as(self, shape: Shape) -> str:
        """The shape under which links from and to pages of this shape are counted."""
        return shape.fine if shape.fine in self.fine or len(self.fine) < _ROOM else self._coarse_name(shape)

    def pages_examined(self, shape: Shape) -> int:
        """How many pages of a shape had their links examined."""
        return self.links.pages_of(self._counted_as(shape))

    def count_redirect(self, page: Shape, target: Shape, was_new: bool, policy: TrapPolicy) -> bool:
        """Count a redirect to a page of another shape, with whether that was new. True if this was the first cut."""
        if self.pages >= policy.grace:
            fine, coarse = self._budgets_for(page, policy)
            (coarse if fine is None else fine).redirects += 1
        name = self._counted_as(page)
        self.links.count(name, {self._counted_as(target): (not was_new, was_new)})
        return self._cut_endless_set(name, policy)

    def count_links(self, page: Shape, links: Iterator[tuple[Shape, bool]], policy: TrapPolicy) -> bool:
        """Count the links of a page to its own host, each with whether it was new. True if this was the first cut."""
        fine, coarse = self.fine.get(page.fine), self.coarse.get(coarse_name := self._coarse_name(page))
        fine_counts, coarse_counts = [0, 0], [0, 0]
        by_shape: dict[str, tuple[int, int]] = {}
        for shape, was_new in links:
            if self._coarse_name(shape) == coarse_name:
                coarse_counts[was_new] += 1
                if shape.fine == page.fine:
                    fine_counts[was_new] += 1
            target = self._counted_as(shape)
            known, new = by_shape.get(target, (0, 0))
            by_shape[target] = (known + (not was_new), new + was_new)
        self.links.count(name := self._counted_as(page), by_shape)
        first = self._cut_endless_set(name, policy)
        if coarse is None or self.pages < policy.patience:
            return first
        if fine is not None:
            fine.count_links(fine_counts[True], fine_counts[False], policy)
        if fine is None or fine.self_generating or not fine.proven:
            coarse.count_links(coarse_counts[True], coarse_counts[False], policy)
        return self._update_cuts(fine, coarse) or first

    def _cut_endless_set(self, name: str, policy: TrapPolicy) -> bool:
        """Cut the shapes of the endless set that a shape belongs to, once enough of it was fetched."""
        found = [self.fine.get(each) or self.coarse.get(each) for each in self.links.endless_set(name)]
        budgets = [budget for budget in found if budget is not None]
        if sum(budget.fetched + budget.redirects for budget in budgets) < _SELF_GENERATING_PAGES * policy.patience:
            return False
        for budget in budgets:
            budget.cut = budget.cut or ENDLESS
        first, self.cuts = bool(budgets) and not self.cuts, self.cuts or bool(budgets)
        return first

    def _update_cuts(self, fine: ShapeBudget | None, coarse: ShapeBudget) -> bool:
        cut = (fine is not None and fine.cut is not None) or coarse.cut is not None
        first = cut and not self.cuts
        self.cuts = self.cuts or cut
        return first

    def cut_of(self, shape: Shape) -> Cut | None:
        """Why URLs of this shape are not fetched; None if they may be."""
        fine = self.fine.get(shape.fine)
        if fine is not None and fine.cut is not None:
            return self._cut(shape.fine, fine, fine.cut)
        coarse = self.coarse.get(name := self._coarse_name(shape))
        if coarse is None or coarse.cut is None:
            return None
        # With facets every set of parameters is a shape of its own and proves nothing; a single one selects a page.
        if coarse.faceted and "&" not in shape.fine and fine is not None:
            return None
        if fine is not None and fine.proven and not fine.self_generating and not coarse.faceted:
            return None
        return self._cut(name, coarse, coarse.cut)

    def all_cuts(self) -> list[Cut]:
        """All shapes that are cut."""
        both = (*self.fine.items(), *self.coarse.items())
        return [self._cut(name, budget, budget.cut) for name, budget in both if budget.cut is not None]

    def _cut(self, name: str, budget: ShapeBudget, reason: str) -> Cut:
        others = self.links.endless_set(name) - {name} if reason == ENDLESS else ()
        more = f"; leads only to new pages of {', '.join(sorted(others))}, and these back" if others else ""
        return Cut(reason, name, budget.summary + more)

    def to_text(self) -> str:
        """Everything as short text."""
        return json.dumps(
            {
                "pages": self.pages,
                "admitted": self.admitted,
                "showed": self.found_new,
                "fine": {name: _numbers(budget) for name, budget in self.fine.items()},
                "coarse": {name: _numbers(budget) for name, budget in self.coarse.items()},
                "refused": self.refused,
                "links": self.links.to_plain(),
            },
            separators=(",", ":"),
        )

    @classmethod
    def from_text(cls, text: str) -> "HostBudget":
        """The inverse of `to_text`; an empty budget for invalid text: that only costs patience."""
        try:
            found = json.loads(text)
            budget = cls(
                int(found["pages"]),
                bool(found["admitted"]),
                bool(found["showed"]),
                {name: ShapeBudget(*numbers) for name, numbers in found["fine"].items()},
                {name: ShapeBudget(*numbers) for name, numbers in found["coarse"].items()},
                dict(found["refused"]),
                ShapeLinks.from_plain(found.get("links", {})),
            )
        except (ValueError, TypeError, KeyError, AttributeError):
            return cls()
        budget.cuts = any(each.cut is not None for each in (*budget.fine.values(), *budget.coarse.values()))
        return budget


def _numbers(budget: ShapeBudget) -> list[float | int | str | None]:
    return [
        round(budget.credit, 1),
        *(budget.fetched, budget.new, budget.alike, budget.pages_examined, budget.links_new, budget.links_known),
        *(budget.variants, budget.cut, budget.redirects),
    ]


@dataclass(slots=True)
class DomainBudget:
    """The budget of a registrable domain's hosts: each costs one when it is first contacted, and earns two when it has
    its first new page."""

    credit: float
    hosts: int = 0
    new: int = 0
    pages_examined: int = 0
    links_new: int = 0  # from one host of the domain to unknown URLs of another
    links_known: int = 0
    cut: str | None = None

    def admit(self) -> bool:
        """Whether one more host of the domain may be contacted; counts it."""
        if self.cut is None and self.credit <= 0:
            self.cut = HOSTS
        if self.cut is not None:
            return False
        self.hosts += 1
        self.credit -= 1.0
        return True

    def on_first_new_page(self, policy: TrapPolicy) -> None:
        """A host had its first new page."""
        self.new += 1
        self.credit = min(float(policy.hosts_per_domain), self.credit + 2.0)

    def count_links(self, new: int, known: int, policy: TrapPolicy) -> None:
        """Count the links of a page, or a redirect, to other hosts of its domain. Self-generating hosts are cut, as
        shapes are."""
        self.pages_examined += 1
        self.links_new += new
        self.links_known += known
        if (
            self.pages_examined >= MIN_PAGES_EXAMINED
            and 2 * self.hosts >= policy.hosts_per_domain
            and is_self_generating(self.pages_examined, self.links_new, self.links_known, _NEW_HOSTS_PER_PAGE)
        ):
            self.cut = HOSTS

    def cut_of(self, domain: str) -> Cut:
        """Why no further host of the domain is contacted."""
        text = f"{self.hosts} hosts contacted, {self.new} of them with something new, credit {self.credit:g}"
        if self.pages_examined:
            links = f"{self.links_new} new and {self.links_known} known URLs of others"
            text += f"; {self.pages_examined} pages link to {links}"
        return Cut(HOSTS, f"*.{domain}", text)

    def to_text(self) -> str:
        return json.dumps(
            [
                round(self.credit, 1),
                self.hosts,
                self.new,
                self.pages_examined,
                self.links_new,
                self.links_known,
                self.cut,
            ]
        )

    @classmethod
    def from_text(cls, text: str, policy: TrapPolicy) -> "DomainBudget":
        try:
            return cls(*json.loads(text))
        except (ValueError, TypeError):
            return cls(float(policy.hosts_per_domain))
