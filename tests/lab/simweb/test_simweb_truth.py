"""The ground truth, held against a crawl that knows nothing of how the web is made."""

import re
from collections import defaultdict
from html.parser import HTMLParser
from urllib.parse import urldefrag, urljoin, urlsplit

import pytest

from gossamer.lab.simweb.audit import Truth, ground_truth
from gossamer.lab.simweb.config import SimWebConfig, preset
from gossamer.lab.simweb.web import SimWeb
from gossamer.model.units import Instant
from tests.examples import random_seeds

LATE = Instant(1_700_000_000.0)


class Anchors(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.hrefs: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.hrefs += [value for name, value in attrs if name == "href" and value]


class NaiveRobots:
    """RFC 9309 at its plainest: collect the rules that concern us, try each as a regular expression."""

    def __init__(self, text: str, agent: str) -> None:
        rules: dict[str, list[tuple[str, str]]] = defaultdict(list)
        agents: list[str] = []
        in_rules = False
        for line in text.splitlines():
            field, _, value = (part.strip() for part in line.partition("#")[0].partition(":"))
            match field.lower():
                case "user-agent":
                    agents = [*([] if in_rules else agents), value.lower()]
                    rules[value.lower()] += []
                    in_rules = False
                case "allow" | "disallow" as verb:
                    in_rules = True
                    for name in agents:
                        rules[name].append((verb, value))
        self.rules = rules[agent] if agent in rules else rules["*"]

    def allows(self, target: str) -> bool:
        best = (0, True)
        for verb, pattern in self.rules:
            expression = re.escape(pattern.removesuffix("$")).replace(r"\*", ".*")
            if pattern.endswith("$"):
                expression += "$"
            if pattern and re.match(expression, target):
                best = max(best, (len(pattern), verb == "allow"))
        return best[1]


def reference_crawl(web: SimWeb, agent: str) -> Truth:
    """Fetch everything there is, one page after the other."""
    queue = list(web.seeds())
    found = set(queue)
    bodies: dict[bytes, set[str]] = defaultdict(set)
    redirects: dict[str, str] = {}
    missing: set[str] = set()
    forbidden: set[str] = set()
    robots: dict[str, NaiveRobots] = {}
    while queue:
        url = queue.pop()
        parts = urlsplit(url)
        host = parts.hostname or ""
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        if host not in robots:
            answer = web.respond(host, "/robots.txt", LATE)
            robots[host] = NaiveRobots(answer.body.decode() if answer.status == 200 else "", agent)
        if not robots[host].allows(target):
            forbidden.add(url)
            continue
        answer = web.respond(host, target, LATE)
        links: list[str] = []
        if answer.status == 404:
            missing.add(url)
        elif location := answer.header("location"):
            links = [location]
            redirects[url] = urljoin(url, location)
        else:
            assert answer.status == 200
            bodies[answer.body].add(url)
            page = Anchors()
            page.feed(answer.body.decode())
            links = page.hrefs
        for link in links:
            absolute = urldefrag(urljoin(url, link)).url
            if absolute.startswith("http:") and absolute not in found:
                found.add(absolute)
                queue.append(absolute)
    return Truth(
        stored=frozenset(url for urls in bodies.values() if len(urls) == 1 for url in urls),
        duplicate_groups=tuple(frozenset(urls) for urls in bodies.values() if len(urls) > 1),
        redirects=redirects,
        missing=frozenset(missing),
        forbidden=frozenset(forbidden),
    )


RICH = SimWebConfig(
    hosts=60,
    pages=1200,
    mean_bytes=3_000,
    links_per_page=20,
    disallowed_rate=0.12,
    duplicate_rate=0.06,
    redirect_rate=0.08,
    missing_rate=0.04,
)


@pytest.mark.parametrize("agent", ["gossamer", "greedybot", "somebody"])
def test_the_truth_is_what_a_plain_crawl_finds(agent: str) -> None:
    web = SimWeb(RICH)

    truth, found = ground_truth(web, agent), reference_crawl(web, agent)

    assert len(truth.stored) > 300
    assert found.stored == truth.stored
    assert set(found.duplicate_groups) == set(truth.duplicate_groups)
    assert found.redirects == truth.redirects
    assert found.missing == truth.missing
    assert found.forbidden == truth.forbidden


@pytest.mark.parametrize("seed", random_seeds(2))
@pytest.mark.parametrize(
    "shape",
    [
        {"hosts": 1, "pages": 1},
        {"hosts": 1, "pages": 60},
        {"hosts": 2, "pages": 50, "big_host_share": 1.0},
        {"hosts": 40, "pages": 40},
        {"hosts": 12, "pages": 250, "hub_pages": 5, "external_links": 1.0},
        {"hosts": 250, "pages": 400, "seed_hosts": 1, "external_links": 0.0},
    ],
)
def test_the_truth_holds_for_webs_of_odd_shapes(seed: int, shape: dict[str, float]) -> None:
    config = preset("demo", seed=seed, mean_bytes=1_500, links_per_page=9, max_host_pages=0, **shape)
    web = SimWeb(config)

    truth, found = ground_truth(web), reference_crawl(web, "gossamer")

    assert len(truth.all_urls()) == web.graph.pages
    assert found.all_urls() == truth.all_urls()
    assert found.stored == truth.stored
    assert set(found.duplicate_groups) == set(truth.duplicate_groups)
    assert found.forbidden == truth.forbidden


def test_the_robots_files_of_a_web_use_the_whole_language() -> None:
    web = SimWeb(SimWebConfig())
    answers = [web.respond(host.name, "/robots.txt", LATE) for host in web.hosts]
    written = "\n".join(answer.body.decode() for answer in answers if answer.status == 200)

    assert {answer.status for answer in answers} == {200, 404}
    for phrase in ("Disallow: /*/", "$", "Allow: ", "User-agent: *", "gossamer", "Gossamer", "greedybot", " # "):
        assert phrase in written
    for phrase in ("DISALLOW: ", "USER-AGENT: ", "Crawl-delay: 0.5", "\r\n", "Disallow:\n"):
        assert phrase in written


def test_every_url_of_the_web_is_reachable_from_the_seeds() -> None:
    web = SimWeb(preset("demo"))

    truth = ground_truth(web)

    assert len(truth.all_urls()) == web.graph.pages
    parts = [truth.stored, truth.redirects.keys(), truth.missing, truth.forbidden, *truth.duplicate_groups]
    assert sum(map(len, parts)) == web.graph.pages


@pytest.mark.parametrize("seed", random_seeds(2))
def test_the_demo_has_some_of_everything(seed: int) -> None:
    truth = ground_truth(SimWeb(preset("demo", seed=seed)))

    assert len(truth.stored) > 3000
    assert len(truth.duplicate_groups) > 20
    assert len(truth.redirects) > 50
    assert len(truth.missing) > 40
    assert len(truth.forbidden) > 40


def test_forbidden_pages_are_linked_from_pages_that_are_not() -> None:
    web = SimWeb(RICH)
    truth = ground_truth(web)
    linked = set()
    for url in truth.stored:
        parts = urlsplit(url)
        page = Anchors()
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        page.feed(web.respond(parts.hostname or "", target, LATE).body.decode())
        linked |= {urldefrag(urljoin(url, href)).url for href in page.hrefs}

    assert truth.forbidden
    assert truth.forbidden <= linked


def test_some_redirects_lead_into_what_is_forbidden() -> None:
    truth = ground_truth(SimWeb(SimWebConfig(hosts=100, pages=6000, redirect_rate=0.2, disallowed_rate=0.1)))

    assert truth.forbidden & set(truth.redirects.values())


def test_crawl_delays_are_those_written_for_us_in_robots_txt() -> None:
    web = SimWeb(SimWebConfig(crawl_delay_hosts=0.1, crawl_delay_seconds=0.7))
    delays = web.crawl_delays()

    assert len(delays) == 15
    for host in web.hosts:
        text = web.respond(host.name, "/robots.txt", LATE).body.decode().lower()
        assert ("crawl-delay: 0.7" in text) == (host.name in delays)
