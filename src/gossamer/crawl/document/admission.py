"""Admission of URLs: canonical form, URL-seen test, scope rules. Hot: benchmarks/bench_crawl.py."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Protocol

from gossamer.extract.crawl_page import MAX_LONG_LINKS, PageContent
from gossamer.filter.canonical import Canonical, Canonicaliser, Refusal, parse_canonical
from gossamer.filter.identity import Identities, IdentityRules
from gossamer.filter.links import LinkResolver
from gossamer.filter.rules import EntryRules
from gossamer.model.formats import LongLink, long_link
from gossamer.model.partition import ForeignUrl
from gossamer.model.settlement import PageLinks
from gossamer.model.task import Candidate, Task, Via, Visit
from gossamer.model.units import Fingerprint, HostKey, Url
from gossamer.seen import SeenStatistics, SeenTest, fingerprint, fingerprints

TOO_LONG = "url_too_long"
_LINK = Via.LINK  # looking up a member costs as much as a call
_candidate = tuple.__new__  # for links, of which there are many: calling a named tuple's class costs twice as much


class TrapObserver(Protocol):
    """Looks for traps among the links of pages (`crawl.trap_accounts`)."""

    def on_links(self, visit: Visit, urls: list[Url], hosts: list[HostKey], fresh: list[int]) -> None:
        """All links of a page; `fresh` has the indexes of those that are new."""
        ...

    def on_refused_link(self, visit: Visit, host: HostKey, reason: str) -> None:
        """A link of the page was refused."""
        ...


class Admission:
    """The only way into the task table. The URL-seen test comes before the rules, because most links are known."""

    def __init__(
        self,
        *,
        rules: EntryRules,
        canonicaliser: Canonicaliser,
        resolver: LinkResolver,
        seen: SeenTest,
        key: int,
        identities: Identities | None = None,
        trap_observer: TrapObserver | None = None,
    ) -> None:
        self.rules = rules
        self.file_rules = rules.for_sitemaps()
        self._canonicaliser = canonicaliser
        self._resolver = resolver
        self._seen = seen
        self._key = key
        self._identities = identities or Identities(IdentityRules())  # which URLs are the same
        self._trap_observer = trap_observer
        self._link_filter: Callable[[Url, Url], bool] | None = None

    def filter_links(self, admits: Callable[[Url, Url], bool]) -> None:
        """Admit only links for which `admits` is true; it is called with the URL of the page and that of the link."""
        self._link_filter = admits

    def seen_statistics(self) -> SeenStatistics:
        return self._seen.statistics()

    def rules_of(self, task: Task) -> EntryRules:
        return self.file_rules if task.sitemap else self.rules

    def change_rules(self, rules: EntryRules) -> None:
        """Use other rules from now on, for queued URLs too. URLs that the old rules refused are checked again."""
        self.rules = rules
        self.file_rules = rules.for_sitemaps()
        self._seen.forget_recent()

    def admit_links(
        self,
        visit: Visit,
        content: PageContent,
        excluded: Counter[str],
        every: list[Url] | None = None,
        *,
        again: bool = False,
    ) -> tuple[list[Candidate], PageLinks | None]:
        """The candidates among the links of a page, and all its links. Refusals are counted in `excluded` by reason;
        all targets are added to `every`, if given. `again`: the page was read before, so its links say nothing new
        about traps."""
        task = visit.task
        own_url, depth = task.url, task.depth + 1
        page = parse_canonical(own_url, visit.host)
        base = content.base or own_url
        found, refused, dropped = self._resolver.resolve_page(base, page, content.hrefs, content.encoding.lower())
        for reason, n in refused.items():
            excluded[reason] += n
        if content.long_links:
            excluded[TOO_LONG] += content.long_links
        dropped += content.dropped_links
        if dropped:
            excluded["too_many_links"] += dropped
        urls = list(found)
        if every is not None:
            every += urls
        hosts = list(found.values())
        texts = self._identities.identities_of(urls, hosts)
        prints = fingerprints(texts, self._key)
        links = self._page_links(visit, prints, hosts, folded=texts is not urls)
        if self.rules.max_depth is not None and depth > self.rules.max_depth:
            # Before the URL-seen test: a URL found too deep must not count as seen when a shorter path leads to it.
            if urls:
                excluded["depth_limit"] += len(urls)
            return [], links
        _, new, unsure = self._seen.classify(prints)
        fresh = sorted(new + unsure) if new and unsure else new or unsure
        trap_observer = None if again else self._trap_observer
        if trap_observer is not None:
            trap_observer.on_links(visit, urls, hosts, fresh)
        if not fresh:
            return [], links
        may_enter, admits, via, found_on = self.rules.may_enter, self._link_filter, _LINK, task.url_id
        entering = []
        for i in fresh:
            url, host = urls[i], hosts[i]
            reason_against = may_enter(url, host, depth)
            if reason_against is not None:
                excluded[reason_against] += 1
                if trap_observer is not None and reason_against.startswith("trap"):
                    trap_observer.on_refused_link(visit, host, reason_against)
                continue
            if admits is not None and not admits(own_url, url):
                excluded["hook"] += 1
                continue
            entering.append(_candidate(Candidate, (url, host, prints[i], depth, 0, via, found_on, 0, None)))
        return entering, links

    def declared_canonical(self, url: Url, page: PageContent) -> Url | None:
        """The canonical URL that a page declares, if it differs from its own."""
        if page.canonical is None or page.canonical == url:
            return None
        base = self._canonicaliser.canonicalise(page.base, url) if page.base else None
        found = self._canonicaliser.canonicalise(page.canonical, base.url if isinstance(base, Canonical) else url)
        return found.url if isinstance(found, Canonical) and found.url != url else None

    def canonical(self, text: str, base: str) -> Canonical | Refusal:
        """The canonical form of a reference, or why it has none."""
        return self._canonicaliser.canonicalise(text, base)

    def admit(
        self,
        targets: Sequence[Canonical],
        depth: int,
        via: Via,
        found_on: int,
        excluded: Counter[str],
        *,
        sitemap: int = 0,
        rules: EntryRules | None = None,
    ) -> tuple[list[Fingerprint], list[Candidate]]:
        """The fingerprints of the URLs of a list, and the candidates among them. Without `rules` those for pages apply.
        Refusals are counted in `excluded` by reason."""
        rules = rules or self.rules
        hosts = [target.host for target in targets]
        prints = fingerprints(self._identities.identities_of([target.url for target in targets], hosts), self._key)
        if rules.max_depth is not None and depth > rules.max_depth:  # before the seen test, as in `admit_links`
            excluded["depth_limit"] += len(targets)
            return prints, []
        order = self._seen.classify(prints)
        entering = []
        for i in sorted(order.new + order.unsure):
            url, host = targets[i].url, targets[i].host
            reason = rules.may_enter(url, host, depth)
            if reason is not None:
                excluded[reason] += 1
            else:
                entering.append(Candidate(url, host, prints[i], depth, 0, via, found_on, sitemap))
        return prints, entering

    def admit_from_inbox(self, found: Sequence[ForeignUrl], excluded: Counter[str]) -> list[Candidate]:
        """The candidates among URLs that were sent to this worker, by its own rules. Seeds are always admitted.

        The URL-seen test is not asked: what it has seen may be what this worker itself has sent, before it took the
        partition over. The store knows whether a URL is new."""
        targets = [(f, self._canonicaliser.canonicalise(f.url)) for f in found]
        known = [(f, target.host) for f, target in targets if isinstance(target, Canonical)]
        prints = fingerprints(
            self._identities.identities_of([f.url for f, _ in known], [host for _, host in known]), self._key
        )
        self._seen.add_known(prints)
        entering = []
        for fp, ((url, depth, hops, via, found_on, sitemap, modified), host) in zip(prints, known, strict=True):
            if via is not Via.SEED:
                reason = (self.file_rules if sitemap else self.rules).may_enter(url, host, depth)
                if reason is not None:
                    excluded[reason] += 1
                    continue
            entering.append(Candidate(url, host, fp, depth, hops, via, found_on, sitemap, modified))
        return entering

    def find_long_links(self, visit: Visit, content: PageContent) -> tuple[LongLink, ...]:
        """The first links of a page that were refused because of their length. Resolves all links again; only for pages
        with such links."""
        found = list(content.first_long)
        base: Url = visit.task.url
        if content.base is not None and isinstance(
            said := self._canonicaliser.canonicalise(content.base, base), Canonical
        ):
            base = said.url
        for href in content.hrefs:
            if len(found) >= MAX_LONG_LINKS:
                break
            url = self._canonicaliser.canonicalise(href, base)
            if url.reason == TOO_LONG if isinstance(url, Refusal) else len(url.url) > self.rules.max_url_bytes:
                found.append(long_link(href))
        return tuple(found)

    def all_targets(self, visit: Visit, content: PageContent) -> list[Url]:
        """All targets of the links of a page, admitted or not."""
        page = parse_canonical(visit.task.url, visit.host)
        found = self._resolver.resolve_page(content.base or page.url, page, content.hrefs, content.encoding.lower())
        return list(found.links)

    def _page_links(
        self, visit: Visit, prints: list[Fingerprint], hosts: list[HostKey], *, folded: bool = False
    ) -> PageLinks | None:
        """Every target once, without the page itself. `folded`: two URLs may have one identity."""
        own = visit.task.fingerprint
        if folded or own in prints:  # rare: two spellings of one target, or a link to itself
            targets = {fp: host for fp, host in zip(prints, hosts, strict=True) if fp != own}
            prints, hosts = list(targets), list(targets.values())
        return PageLinks(visit.task.url_id, visit.domain_id, prints, hosts) if prints else None

    def redirect_link(self, visit: Visit, target: Candidate | Canonical) -> PageLinks | None:
        """A redirect as a link, so that links to the old URL count for the new one."""
        fp = target.fingerprint if isinstance(target, Candidate) else self.fingerprint_of(target.url, target.host)
        return self._page_links(visit, [fp], [target.host])

    def admit_redirect(self, task: Task, location: str) -> Candidate | Refusal | Canonical:
        """The target of a redirect: a candidate, a refusal, or only its canonical form if it is known already."""
        target = self._canonicaliser.canonicalise(location, task.url)
        if isinstance(target, Refusal):
            return target
        reason = self.rules_of(task).may_enter(target.url, target.host, task.depth)
        if reason is not None:
            return Refusal(reason, target.url)
        # A redirect adds no depth: the target has that of its source.
        new = self._admit_one(target, task.depth, task.hops + 1, Via.REDIRECT, task.url_id)
        return target if new is None else new._replace(sitemap=task.sitemap)

    def admit_seed(self, url: Url, host: HostKey) -> Candidate:
        """A seed is always admitted, even if its visit will be excluded; the store knows whether it is new."""
        fp = self.fingerprint_of(url, host)
        self._seen.add_known([fp])
        return Candidate(url, host, fp, 0, 0, Via.SEED, 0)

    def _admit_one(self, target: Canonical, depth: int, hops: int, via: Via, found_on: int) -> Candidate | None:
        fp = self.fingerprint_of(target.url, target.host)
        if self._seen.classify([fp]).seen:
            return None
        return Candidate(target.url, target.host, fp, depth, hops, via, found_on)

    def fingerprint_of(self, url: Url, host: HostKey) -> Fingerprint:
        return fingerprint(self._identities.identity_of(url, host), self._key)
