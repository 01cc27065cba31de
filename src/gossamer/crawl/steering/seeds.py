"""Admits seeds while the crawl runs, and extends its scope to their hosts."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from gossamer.crawl.run.crawl import Crawl
from gossamer.filter.canonical import Canonical, Canonicaliser, Refusal, refusal
from gossamer.filter.rules import EntryRules
from gossamer.model.batch import OrderAnswer, SeedRecord
from gossamer.model.units import HostKey, Url
from gossamer.seed.lists import with_scheme

WHERE: Final = "POST /seed/urls"
_NOT_TEXT = re.compile("[\\x00-\\x1f\\x7f\\ud800-\\udfff]").search


class SeedAdmission:
    """Adds seeds to one crawl. Owned by the event loop."""

    def __init__(self, crawl: Crawl, canonicaliser: Canonicaliser) -> None:
        self._crawl = crawl
        self._canonicaliser = canonicaliser

    def admit(self, texts: Sequence[str]) -> OrderAnswer:
        """Put the seeds that are allowed into the open batch. The answer has a row for each text: its status
        (`accepted`, `known` or `refused`), URL and reason."""
        crawl = self._crawl
        found = [self._read(text) for text in texts]
        hosts = frozenset(each.host for each in found if not isinstance(each, Refusal))
        rules = self._rules_with_seeds(hosts)
        refused: dict[int, str] = {}
        entering: dict[Url, SeedRecord] = {}
        candidates = []
        for at, (text, each) in enumerate(zip(texts, found, strict=True)):
            if isinstance(each, Refusal):
                continue
            if (reason := self._check(each.url, each.host, rules)) is not None:
                refused[at] = reason
            elif each.url not in entering:
                entering[each.url] = SeedRecord(each.url, each.host, text.strip(), WHERE)
                candidates.append(crawl.admission.admit_seed(each.url, each.host))

        def answer(new: frozenset[Url]) -> str:
            rows: list[tuple[str, str | None, str | None]] = []
            accepted: set[str] = set()
            for at, each in enumerate(found):
                if isinstance(each, Refusal):
                    rows.append(("refused", None, each.reason))
                elif at in refused:
                    rows.append(("refused", each.url, refused[at]))
                else:
                    is_new = each.url in new and each.url not in accepted
                    accepted.add(each.url)
                    rows.append(("accepted" if is_new else "known", each.url, None))
            return json.dumps(rows)

        if entering:
            self._extend_scope({record.host for record in entering.values()})
        batch = crawl.store.batch
        batch.seeds += entering.values()
        batch.candidates += candidates
        return answer

    def follow(self, seeds: Iterable[Url]) -> None:
        """Other workers have admitted some of these seeds: their hosts are in the scope of this one too."""
        found = (self._canonicaliser.canonicalise(url) for url in seeds)
        self._extend_scope({url.host for url in found if isinstance(url, Canonical)} - self._crawl.scope_seeds)

    def _read(self, text: str) -> Canonical | Refusal:
        """The canonical URL of a text. Control characters are refused, not removed as in the links of a page: a client
        that sends them made a mistake or means harm."""
        if _NOT_TEXT(text):
            return refusal("bad_url", text)
        return self._canonicaliser.canonicalise(with_scheme(text.strip()))

    def _check(self, url: Url, host: HostKey, rules: EntryRules) -> str | None:
        if self._crawl.addresses.refused_as(host) is not None:
            return "blocked_address"
        return rules.may_enter(url, host, 0)

    def _rules_with_seeds(self, hosts: Iterable[HostKey]) -> EntryRules:
        """The rules after these hosts are added to the scope; the same object if that changes nothing."""
        current = self._crawl.admission.rules
        scope = current.scope.with_seeds(hosts)
        return current if scope is current.scope else replace(current, scope=scope)

    def _extend_scope(self, hosts: set[HostKey]) -> None:
        crawl = self._crawl
        crawl.scope_seeds.update(hosts)
        rules = self._rules_with_seeds(hosts)
        if rules is not crawl.admission.rules:
            crawl.admission.change_rules(rules)
            crawl.forget_sent_links()
