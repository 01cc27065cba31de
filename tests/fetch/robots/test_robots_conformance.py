"""Other projects' robots.txt checks, all of them. Where a source disagrees with RFC 9309, the difference is listed
here with its reason; an entry that no longer differs fails."""

import base64
import json
from typing import NotRequired, TypedDict
from urllib.parse import urljoin

import pytest

from gossamer.fetch.robots import is_product_token, parse_robots, path_of, rules_from_answer
from gossamer.fetch.robots.rules import normal_path
from gossamer.model.units import Instant
from tests.conformance import shared_data


class Check(TypedDict):
    agent: str | list[str]
    url: NotRequired[str]
    allowed: NotRequired[bool]
    google_parser: NotRequired[bool | None]
    agent_match: NotRequired[str]
    crawl_delay_seconds: NotRequired[float | None]


class Group(TypedDict):
    id: NotRequired[str]
    host: NotRequired[str]
    robots: NotRequired[str]
    robots_base64: NotRequired[str]
    checks: list[Check]


Case = tuple[str, str, str]  # group or host, agent, URL

OWN_FILE = "robots.txt itself is always allowed (RFC 9309, 2.2.2)"
UNICODE = "an unencoded URL is encoded before it is compared (RFC 9309, 2.2.2)"
TILDE = "%7E equals ~ (RFC 9309, 2.2.2)"
INDEX_PAGE = "index.html equals the directory only for Google; we keep to the rule as written"
NO_TOKEN = "the name in the file is no product token: it ends at the first character a token may not hold"
MARKUP = "rules wrapped in HTML tags are no rules"
BIG_DELAY = "a long delay is obeyed or given up on by the schedule; it closes nothing here"
ABSOLUTE = "a rule is a path; one that begins with a scheme matches no path"

DIFFERENCES: dict[str, dict[Case, str]] = {
    "google-robotstxt": {
        ("g-32", "FooBot", "http://foo.bar/foo/bar/ツ"): UNICODE,
        ("g-34", "foobot", "http://foo.com/allowed-slash/"): INDEX_PAGE,
    },
    "google-spec-test": {("s-7", "asdfbot", "http://m.example.com/robots.txt"): OWN_FILE},
    "crawler-commons": {
        ("c-49", "UnhipBot/0.1", "http://www.fict.org/%7Emak/mak.html"): TILDE,
        ("c-49", "WebCrawler/3.0", "http://www.fict.org/%7Emak/mak.html"): TILDE,
        ("c-49", "Excite/1.0", "http://www.fict.org/%7Emak/mak.html"): TILDE,
        ("c-51", "bogusbot", "http://www.domain.com/index.html"): MARKUP,
        ("c-51", "mybot", "crawl delay"): MARKUP,
        ("c-51", "bogusbot", "crawl delay"): MARKUP,
        ("c-74", "go!zilla", "https://example.org/other/page.html"): NO_TOKEN,
        ("c-60", "bixo", "http://www.domain.com/"): BIG_DELAY,
    },
    "protego": {
        ("p-45", "foobot", "http://foo.bar/myprofile"): NO_TOKEN,
        ("p-52", "footbot", "http://foo.com/allowed-slash/"): INDEX_PAGE,
        ("p-58", "FooBot", "http://foo.bar/http://ms-web00.walkerplus.com/"): ABSOLUTE,
    },
    "real-sites": {("stockcharts.com", "UnlistedBot", "https://stockcharts.com/freecharts/"): INDEX_PAGE},
}

COUNTS = {
    "google-robotstxt": 86,
    "google-spec-test": 154,
    "crawler-commons": 284,
    "protego": 228,
    "real-sites": 2780,
}


def groups_of(source: str) -> list[Group]:
    data: dict[str, list[Group]] = json.loads(shared_data(f"conformance/robots/{source}.json").read_bytes())
    return data["groups"] if "groups" in data else data["sites"]


def body_of(group: Group) -> bytes:
    if "robots_base64" in group:
        return base64.b64decode(group["robots_base64"])
    return group["robots"].encode()


def agent_of(check: Check) -> str:
    agent = check["agent"]
    if isinstance(agent, list):
        return agent[0] if agent else ""
    return agent


def expected_verdict(check: Check) -> bool:
    """What RFC 9309 wants of a check, before the listed differences.

    Prefix matching of names and header values in their place are crawler-commons' legacy mode, and names with
    digits, spaces or umlauts are no product tokens: there the word of Google's parser is taken.
    """
    google = check.get("google_parser")
    agent = agent_of(check)
    legacy = check.get("agent_match") == "prefix" or (agent not in ("", "*") and not is_product_token(agent))
    own_file = path_of(check["url"]) == "/robots.txt"
    return google if legacy and google is not None and not own_file else check["allowed"]


@pytest.mark.parametrize("source", DIFFERENCES)
def test_every_check_of_other_projects_is_answered_as_rfc_9309_wants(source: str) -> None:
    seen = 0
    wrong: dict[Case, str] = {}
    for group in groups_of(source):
        body = body_of(group)
        name = group.get("id") or group["host"]
        for check in group["checks"]:
            seen += 1
            agent = agent_of(check)
            rules = parse_robots(body, agent)
            if "url" in check:
                verdict = rules.verdict(path_of(check["url"]))
                assert rules.allows(path_of(check["url"])) == verdict.allowed
                if verdict.allowed != expected_verdict(check):
                    wrong[name, agent, check["url"]] = f"{verdict}"
            elif rules.crawl_delay != check["crawl_delay_seconds"]:
                wrong[name, agent, "crawl delay"] = f"{rules.crawl_delay}"

    assert {case: said for case, said in wrong.items() if case not in DIFFERENCES[source]} == {}
    assert [case for case in DIFFERENCES[source] if case not in wrong] == [], "listed, but no longer different"
    assert seen == COUNTS[source]


def test_google_agrees_on_which_agents_can_be_addressed() -> None:
    functions = json.loads(shared_data("conformance/robots/google-functions.json").read_bytes())

    for case in functions["user_agent_to_obey"]:
        assert is_product_token(case["agent"]) == case["valid"], case


def test_google_agrees_on_the_path_of_a_url() -> None:
    functions = json.loads(shared_data("conformance/robots/google-functions.json").read_bytes())

    for case in functions["path_of_url"]:
        assert path_of(case["url"]) == case["path"], case


def test_google_agrees_on_how_patterns_are_escaped() -> None:
    functions = json.loads(shared_data("conformance/robots/google-functions.json").read_bytes())

    for case in functions["escape_pattern"]:
        assert normal_path(case["pattern"]) == case["escaped"], case


def test_lines_are_recognised_as_google_reports_them() -> None:
    """Each line of Google's report stands alone after its group, and shows its directive by what it does."""
    report = json.loads(shared_data("conformance/robots/google-line-report.json").read_bytes())

    for line in report["lines"]:
        text = line["text"].encode()
        match line["directive"]:
            case "user-agent":
                token = text.split(b"#")[0].split()[-1].decode()
                assert parse_robots(text + b"\ndisallow: /", token).group_found, line
            case "allow" | "disallow":
                rules = parse_robots(b"user-agent: *\n" + text, "anybot")
                assert len(rules) == 1, line
                assert rules.verdict("/some/path").allowed == (line["directive"] == "allow"), line
            case "sitemap":
                assert parse_robots(text, "anybot").sitemaps != (), line
            case _:
                rules = parse_robots(b"user-agent: *\n" + text, "anybot")
                assert (len(rules), rules.sitemaps) == (0, ()), line


def test_sitemap_lines_are_found_in_all_groups() -> None:
    data = json.loads(shared_data("conformance/robots/sitemap-lines.json").read_bytes())

    for case in data["cases"]:
        rules = parse_robots(case["robots"].encode(), "gossamer")
        assert [urljoin(case["base_url"], found) for found in rules.sitemaps] == case["sitemaps"]


def test_http_statuses_open_and_close_as_the_sources_say() -> None:
    data = json.loads(shared_data("conformance/robots/http-status.json").read_bytes())

    for case in data["cases"]:
        answer = rules_from_answer(case["status"], b"", agent="gossamer", now=Instant(0.0))
        assert answer.closed == case["defer"], case
        assert answer.verdict("/page").allowed == case["allow_all"], case
