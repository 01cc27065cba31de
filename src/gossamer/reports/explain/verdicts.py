"""The canonical form of a text and what it changed; the verdicts of the filter, of robots.txt and of trap budgets, made
by the code that decides in a crawl."""

import re
from collections.abc import Iterable, Sequence

from gossamer.fetch.robots import path_of, rules_from_answer
from gossamer.filter.canonical import Canonical, Canonicaliser, Refusal, minimise_url
from gossamer.filter.domains import registrable_domain
from gossamer.filter.identity import Identities, IdentityRules, LearnedParameter
from gossamer.filter.rules import EntryRules
from gossamer.filter.trap_budget import Cut, DomainBudget, HostBudget, TrapPolicy
from gossamer.filter.url_shape import shape_of
from gossamer.model.units import Fingerprint, HostKey, Instant, Origin, Seconds, Url
from gossamer.model.url_record import Facts, LearntFact, RobotsFact
from gossamer.reports.explain.story import Form, Robots, Verdict
from gossamer.seen import fingerprints

_DEFAULT_PORTS = {"http": "80", "https": "443", "ftp": "21"}
# RFC 3986, appendix B. It splits any text, and is only used to say in which part two spellings differ.
_PARTS = re.compile(r"(?:([^:/?#]+):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL)
_USERINFO = re.compile(r"(?<=//)[^/\\?#]*@")


def form_of(text: str, with_scheme: str, canonicaliser: Canonicaliser) -> Form:
    """The form of `text`; `with_scheme` is the same text with a scheme."""
    found = canonicaliser.canonicalise(with_scheme)
    shown = _USERINFO.sub("", text)  # passwords are not shown
    if isinstance(found, Refusal):
        return Form(shown, None, refused=found.reason)
    return Form(shown, found.url, found.host, found.origin, changes(text, with_scheme, found.url))


def fingerprints_of(url: Url, host: HostKey, key: int, identities: Identities) -> tuple[Fingerprint, ...]:
    """The fingerprint of the URL by the configuration, and those by other settings of `identity` and `filter.minimise`,
    under which it may have been stored."""
    return tuple(dict.fromkeys(fingerprints([identities.identity_of(url, host), url, minimise_url(url)], key)))


def usual_fingerprints(
    urls: Sequence[Url], hosts: Sequence[HostKey], key: int, identities: Identities
) -> list[Fingerprint]:
    """The fingerprints of many URLs by the configuration."""
    return fingerprints(identities.identities_of(urls, hosts), key)


def changes(text: str, with_scheme: str, url: Url) -> tuple[str, ...]:
    """What the canonical form changed, part by part; empty for a text that was canonical."""
    if text == url:
        return ()
    found = []
    if with_scheme != text:
        found.append("https was added")
    scheme, authority, path, query, fragment = _split(with_scheme)
    new_scheme, new_authority, new_path, new_query, _ = _split(url)
    if scheme != new_scheme:
        found.append("the scheme is in lower case")
    found += _authority_changes(scheme.lower(), authority, new_authority)
    if path != new_path:
        found.append(_path_change(path, new_path))
    found += _query_changes(query, new_query)
    if fragment is not None:
        found.append("the fragment is dropped")
    return tuple(found) or ("spelt in the standard's form",)


def _split(text: str) -> tuple[str, str, str, str | None, str | None]:
    parts = _PARTS.fullmatch(text.strip())
    assert parts is not None  # every text matches
    return parts[1] or "", parts[2] or "", parts[3], parts[4], parts[5]


def _authority_changes(scheme: str, old: str, new: str) -> list[str]:
    found = []
    _, at, rest = old.rpartition("@")
    if at:
        found.append("user name and password are dropped")
    host, port = _host_and_port(rest)
    new_host, new_port = _host_and_port(new)
    if host != new_host:
        if host.lower() == new_host:
            found.append("the host is in lower case")
        elif host.lower().rstrip(".") == new_host:
            found.append("the host's final dot is dropped")
        else:
            found.append(f"the host is written {new_host}")
    if port != new_port:
        found.append("the default port is dropped" if port == _DEFAULT_PORTS.get(scheme) else "the port is rewritten")
    return found


def _host_and_port(authority: str) -> tuple[str, str]:
    host, colon, port = authority.rpartition(":")
    return (host, port) if colon and not port.endswith("]") else (authority, "")


def _path_change(old: str, new: str) -> str:
    if not old:
        return "an empty path is /"
    if re.search(r"/\.{1,2}(?:/|\Z)", old):
        return "dots in the path are resolved"
    if "%" in old + new:
        return "escapes in the path are folded"
    return "the path is rewritten"


def _query_changes(old: str | None, new: str | None) -> list[str]:
    if old == new:
        return []
    if not old:
        return ["an empty query is dropped"]
    if new is None:
        return ["the query is dropped"]
    before, after = old.split("&"), new.split("&")
    if sorted(before) == sorted(after):
        return ["parameters are sorted"]
    names = [part.partition("=")[0] for part in before]
    kept = {part.partition("=")[0] for part in after}
    dropped = list(dict.fromkeys(name for name in names if name not in kept))
    if dropped and len(before) > len(after):
        return [f"dropped from the query: {', '.join(dropped)}"]
    return ["escapes in the query are folded"]


def entry_verdicts(rules: EntryRules, url: Url, host: HostKey, depth: int) -> tuple[Verdict, ...]:
    """The verdicts of all rules of entry in order. The first with a reason decides."""
    return tuple(_verdict(rule, said) for rule, said in rules.explain_entry(url, host, depth))


def _verdict(rule: str, said: str) -> Verdict:
    word, _, detail = said.partition(" ")
    return Verdict(rule, None if word == "passes" else word, detail.removeprefix("(").removesuffix(")"))


def first_reason(verdicts: tuple[Verdict, ...]) -> Verdict | None:
    """The rule that refuses; None if all pass."""
    return next((verdict for verdict in verdicts if verdict.reason is not None), None)


def robots_verdict(url: Url, origin: Origin, fact: RobotsFact | None, agent: str, now: Instant) -> Robots:
    """Whether `agent` may fetch this URL, by which line, and how old that answer is."""
    if fact is None:
        return Robots(origin, None, "not fetched yet: fetched before the first visit")
    if fact.status is None:  # until when is shown as politeness
        return Robots(origin, None, "unreachable: nothing is fetched until its rules are known")
    moved = fact.status is not None and 300 <= fact.status < 400
    # What is on record was a final answer; a redirect only because it was one too many.
    answer = rules_from_answer(fact.status, fact.body, agent=agent, now=now, redirects_exhausted=moved)
    verdict = answer.verdict(path_of(url))
    if moved:
        meaning = "too many redirects: treated as absent"
    elif answer.rules is None:
        meaning = "the rules are unknown: nothing may be fetched"
    elif fact.status is not None and fact.status >= 400:
        meaning = "no file: everything is allowed"
    elif verdict.line is None:
        meaning = "no rule matches" if answer.rules.group_found else "no group matches our user agent"
    else:
        meaning = "this rule matches"
    return Robots(
        origin,
        verdict.allowed,
        meaning,
        verdict.line,
        verdict.line_number,
        fact.status,
        fact.fetched_at,
        Seconds(max(0.0, now - fact.fetched_at)),
        fact.expires_at,
        now < fact.expires_at,
        answer.rules.crawl_delay if answer.rules is not None else None,
        fact.guessed_at,
        fact.guess,
    )


def crawl_delay_in(files: Iterable[RobotsFact], agent: str, now: Instant) -> Seconds | None:
    """The longest Crawl-delay for `agent` in these robots.txt files; None if there is none."""
    answers = (rules_from_answer(fact.status, fact.body, agent=agent, now=now) for fact in files)
    delays = [answer.rules.crawl_delay for answer in answers if answer.rules is not None]
    return max((delay for delay in delays if delay is not None), default=None)


def budget_verdict(page: Canonical, facts: Facts, policy: TrapPolicy | None) -> Verdict:
    """The trap budget of a URL's shape as a rule. Without a policy nothing is cut."""
    if policy is None:
        return Verdict("budget", None, "trap detection is off here")
    shape = shape_of(page.url, page.path_start)
    contacted = facts.host is not None and facts.host.next_contact > 0
    budget = HostBudget() if facts.budget is None else HostBudget.from_text(facts.budget)
    if facts.domain_budget is not None and not (contacted or budget.admitted):
        domain = DomainBudget.from_text(facts.domain_budget, policy)
        if domain.cut is not None:
            return _cut_verdict(domain.cut_of(registrable_domain(page.host)))
    cut = budget.cut_of(shape)
    if cut is not None:
        return _cut_verdict(cut)
    known = budget.fine.get(shape.fine)
    counted = known.summary if known is not None else "nothing counted yet"
    return Verdict("budget", None, f"{shape.fine}: {counted}")


def _cut_verdict(cut: Cut) -> Verdict:
    return Verdict("budget", cut.reason, cut.detail)


def cuts_of(state: str | None) -> tuple[list[Cut], dict[str, int]]:
    """The shapes of a host that were cut, and its excluded URLs by reason, from its stored budget."""
    if state is None:
        return [], {}
    budget = HostBudget.from_text(state)
    return budget.all_cuts(), budget.refused


def identities_with(rules: IdentityRules, learnt: Iterable[LearntFact]) -> Identities:
    """The identities of a crawl with these learnt parameters."""
    return Identities(rules, (LearnedParameter(*fact) for fact in learnt))
