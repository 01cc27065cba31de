"""URLs, UR-01 to UR-16: what pages write in their links, by the way that links take: page, resolver, rules, wire.

The canonical form alone is tested by the same ids in tests/filter/test_canonical_form.py; addresses, UR-08 and UR-09,
also in test_hostile_addresses.py, where sentinels listen.
"""

import hashlib
import html
import json
import re
from pathlib import Path

import pytest

from gossamer.extract.crawl_page import extract_page
from gossamer.fetch.dns.cache import Addresses
from gossamer.filter.canonical import Canonical, Canonicaliser, Refusal, canonicalise
from gossamer.filter.links import LinkResolver
from gossamer.filter.rules import EntryRules
from gossamer.filter.scope import LayeredSet, Scope
from gossamer.model.outcome import Failed, Failure
from gossamer.model.units import HostKey
from gossamer.seen import fingerprint
from tests.effort import lines_run
from tests.fetch.http.scripted_server import Scripted, Talk
from tests.hostile.dns_stage import naming, stage, survive
from tests.hostile.scripted import site
from tests.hostile.small_crawl import UNGUESSED, SmallCrawl
from tests.hostile.survival import SECRET
from tests.integration.crawl_process import Json, gossamer
from tests.integration.small_server import Answer, SmallServer
from tests.name_server import NXDOMAIN, A, Reply, a, only

PAGE = "http://page.test/dir/"
HERE = "127.0.8.1"


class Offered:
    """What the links of one page come to: URLs that may enter with their hosts, and refusals by reason."""

    def __init__(self, *hrefs: str, rules: EntryRules | None = None) -> None:
        anchors = "".join(f'<a href="{html.escape(href)}">x</a>' for href in hrefs)
        content = extract_page(f"<!DOCTYPE html>{anchors}".encode(), "text/html; charset=utf-8", PAGE)
        page = canonicalise(PAGE)
        assert isinstance(page, Canonical)
        found = LinkResolver(Canonicaliser()).resolve_page(page.url, page, content.hrefs)
        self.refused: dict[str, int] = dict(found.refused)
        if content.long_links:
            self.refused["url_too_long"] = content.long_links + self.refused.get("url_too_long", 0)
        self.entering: dict[str, HostKey] = {}
        for url, host in found.links.items():
            reason = (rules or EntryRules()).may_enter(url, host, 1)
            if reason is None:
                self.entering[url] = host
            else:
                self.refused[reason] = self.refused.get(reason, 0) + 1

    @property
    def urls(self) -> list[str]:
        return list(self.entering)

    @property
    def hosts(self) -> list[str]:
        return list(self.entering.values())


def test_ur_01_schemes_that_are_not_ours_are_counted_and_never_queued() -> None:
    hrefs = [
        *("mailto:a@b.test", "tel:+123", "javascript:void(0)", "data:text/html,<a href=/x>", "blob:http://h.test/1"),
        *("about:blank", "file:///etc/passwd", "ftp://h.test/x", "view-source:http://h.test/", "intent://h.test/#x"),
    ]

    offered = Offered("/good", *hrefs)

    assert offered.urls == ["http://page.test/good"]
    # Most scripts and data never leave the parser; whatever does is refused with a word.
    assert offered.refused.keys() <= {"bad_scheme"}
    assert len(hrefs) - 2 <= offered.refused["bad_scheme"] <= len(hrefs)


def test_ur_02_ports_that_are_none_and_ports_of_other_services_are_refused() -> None:
    none = [f"http://h{n}.test:{port}/" for n, port in enumerate(("0", "65536", "99999", "-1"))]
    services = ["http://h.test:22/", "http://h.test:25/", "http://h.test:6379/"]

    offered = Offered(*none, *services, "http://h.test:/", "http://h.test:80/", "http://h.test:8080/")

    assert offered.urls == ["http://h.test/", "http://h.test:8080/"]
    assert offered.refused == {"bad_url": 4, "blocked_port": 3}


def test_ur_03_the_scope_judges_the_true_host_and_userinfo_is_dropped() -> None:
    rules = EntryRules(scope=Scope(hosts=LayeredSet([HostKey("h.test")])))

    offered = Offered(f"http://a:{SECRET}@h.test/", "http://h.test@evil.test/", "//h.test:x@evil.test/", rules=rules)

    assert offered.entering == {"http://h.test/": "h.test"}
    assert offered.refused == {"out_of_scope": 1}  # both are http://evil.test/


def test_ur_04_a_backslash_is_a_slash() -> None:
    offered = Offered("http:\\\\h.test\\x", "http://h.test\\@evil.test/", "\\\\h.test\\y")

    assert offered.hosts == ["h.test"] * 3
    assert offered.urls == ["http://h.test/x", "http://h.test/@evil.test/", "http://h.test/y"]


def test_ur_05_white_space_and_controls_are_removed_before_anything_is_read() -> None:
    offered = Offered("ht\ntp://h.test/a\tb", "  \x01\x1f http://h.test/c\r\n", "http://h.te\nst/d e\x7f")

    assert offered.urls == ["http://h.test/ab", "http://h.test/c", "http://h.test/d%20e%7F"]


@pytest.mark.parametrize(
    ("hrefs", "paths"),
    [
        (["/a/%2e%2e/b", "/a/../b", "/b"], ["/b"]),
        (["/x%00y"], ["/x%00y"]),
        (["/%zz"], ["/%zz"]),
        (["/a/%252e%252e/b"], ["/a/%252e%252e/b"]),
        (["/a%2Fb", "/a%2fb", "/a/b"], ["/a%2Fb", "/a/b"]),
        (["/%c3%a9", "/%C3%A9", "/é"], ["/%C3%A9"]),
    ],
)
def test_ur_06_escapes_are_read_once_and_folded(hrefs: list[str], paths: list[str]) -> None:
    assert Offered(*hrefs).urls == [f"http://page.test{path}" for path in paths]


def test_ur_07_a_link_of_a_megabyte_costs_nothing_and_is_never_shown_whole() -> None:
    monster = "http://h.test/" + "a" * 1_000_000
    assert lines_run(lambda: canonicalise(monster)) <= 20

    refused = canonicalise(monster)
    assert isinstance(refused, Refusal)
    assert refused.reason == "url_too_long"
    assert len(refused.shown.encode()) <= 256
    offered = Offered("/good", monster)
    assert (offered.urls, offered.refused) == (["http://page.test/good"], {"url_too_long": 1})


@pytest.mark.parametrize(("length", "enters"), [(2_083, True), (2_084, False), (9_000, False), (20_000, False)])
def test_ur_07_the_limit_is_that_of_the_canonical_form(length: int, enters: bool) -> None:
    start = "http://h.test/"

    offered = Offered(start + "a" * (length - len(start)))

    assert bool(offered.urls) is enters
    assert offered.refused == ({} if enters else {"url_too_long": 1})


@pytest.mark.service
def test_ur_07_what_is_too_long_is_on_record_by_its_beginning_and_a_digest(tmp_path: Path) -> None:
    monsters = [f"http://user:{SECRET}@h.test/" + "a" * length for length in (1_000_000, 20_000, 3_000)]
    crawl = SmallCrawl(tmp_path)
    page = Answer("<!DOCTYPE html>" + "".join(f'<a href="{monster}">x</a>' for monster in monsters))
    with SmallServer({"/": page, "/away": Answer("", 302, {"Location": monsters[2]})}) as server:
        crawl.run(server.base + "/", server.base + "/away")

    found = json.loads(gossamer("explain", server.base + "/", "--dir", crawl.dir, "--json").out)["content"][
        "long_links"
    ]
    assert {each["size"] for each in found} == {len(monster) for monster in monsters}
    assert {each["digest"] for each in found} == {
        "sha256:" + hashlib.sha256(monster.encode()).hexdigest() for monster in monsters
    }
    for each in found:
        assert each["shown"].startswith("http://h.test/aaaa") and len(each["shown"]) <= 256
    told = gossamer("explain", server.base + "/away", "--dir", crawl.dir).out
    assert "a link of 3,0" in told and f"sha256:{hashlib.sha256(monsters[2].encode()).hexdigest()}" in told
    assert "a" * 257 not in told


def test_ur_08_only_whole_addresses_stand_in_brackets() -> None:
    offered = Offered("http://[2001:db8::1]/", "http://[fe80::1%25eth0]/", "http://[::1", "http://[h].test/")

    assert offered.hosts == ["[2001:db8::1]"]
    assert offered.refused == {"bad_url": 3}


def test_ur_09_numbers_are_the_addresses_that_they_mean() -> None:
    loopback = ["http://2130706433/", "http://0177.0.0.1/", "http://0x7f.1/", "http://127.1/"]

    assert Offered(*loopback, "http://0/").urls == ["http://127.0.0.1/", "http://0.0.0.0/"]


def test_ur_10_look_alikes_are_hosts_of_their_own_under_their_a_labels() -> None:
    offered = Offered("http://apple.test/", "http://аpple.test/", "http://xn--pple-43d.test/", "http://APPLE.test/")

    assert offered.hosts == ["apple.test", "xn--pple-43d.test"]
    assert all(url.isascii() for url in offered.urls)


def test_ur_11_a_final_dot_makes_no_other_host() -> None:
    offered = Offered("http://h.test./a", "http://h.test/a", "http://h.test./b")

    assert offered.entering == {"http://h.test/a": "h.test", "http://h.test/b": "h.test"}


def test_ur_12_spellings_of_one_url_are_one_url() -> None:
    offered = Offered("HTTP://H.TEST:80", "http://h.test/", "http://h.test/?", "http://h.test/#a", "//h.test")

    assert offered.urls == ["http://h.test/"]
    assert len({fingerprint(url, 1) for url in offered.entering}) == 1


def test_ur_13_names_that_are_odd_but_alive_are_taken() -> None:
    assert Offered("http://a_b.test/", "http://-x.test/").hosts == ["a_b.test", "-x.test"]


def test_ur_14_what_names_no_host_is_no_url() -> None:
    offered = Offered("http:///x", "http://./", "http://%00/", "http://a b/")

    assert offered.urls == []
    assert offered.refused == {"bad_url": 4}


def test_ur_15_names_that_dns_cannot_hold_are_refused_before_any_work_on_them() -> None:
    long_label = "ä" * 64 + ".test"
    long_host = ".".join(["a" * 61] * 4) + ".abcd.ef"
    assert len(long_host) == 255

    offered = Offered(f"http://{'a' * 64}.test/", f"http://{long_label}/", f"http://{long_host[1:]}/")

    assert offered.urls == []
    assert offered.refused == {"bad_url": 3}
    assert lines_run(lambda: canonicalise("http://" + "ä" * 1_900 + ".test/")) <= 200


def test_ur_16_names_that_no_resolver_accepts_are_refused_at_once() -> None:
    odd = "!\"$&'()+,;=`{}~"
    hosts = [f"a{mark}b.example" for mark in odd] + ["{x}", "a~b", "%7Bx%7D.test", "a..b"]

    offered = Offered(*(f"http://{host}/" for host in hosts))

    assert offered.urls == []
    assert offered.refused == {"bad_url": len(hosts)}
    assert Offered("http://a*b.test/", "http://a_b-.test/").refused == {}


def test_ur_16_a_name_from_an_older_crawl_costs_no_query_and_does_not_block_its_domain() -> None:
    async def case() -> tuple[list[Addresses | Failed], bool, list[tuple[str, int]]]:
        async with stage(only(A, a("127.0.7.1"))) as crawl:
            odd = [await crawl.resolve(f"{name}.test") for name in ("a,b", "a~b", "{x}", "a;b", "a!b")]
            good = await crawl.resolve("good.test")
            return odd, isinstance(good, Addresses), crawl.names.asked

    odd, found, asked = survive(case())

    assert {each.failure for each in odd if isinstance(each, Failed)} == {Failure.BAD_URL}
    assert found
    assert {name for name, _ in asked} == {"good.test"}


# --- on the wire ------------------------------------------------------------------------------------------


class Wired:
    """A crawl from one page with these links, each name of .test at one address: what was asked, what was kept."""

    def __init__(self, folder: Path, *links: str) -> None:
        folder.mkdir(exist_ok=True)

        async def script(talk: Talk) -> None:
            while True:
                head = await talk.request()
                path = head.split(b" ")[1]
                if path == b"/robots.txt":
                    await talk.say(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
                    continue
                anchors = [html.escape(link.replace("PORT", str(server.port))) for link in links]
                told = "".join(f'<a href="{link}">x</a>' for link in anchors) if path == b"/start" else ""
                body = f"<!DOCTYPE html><title>{html.escape(head.decode('latin-1'))}</title>{told}".encode()
                await talk.say(b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n")
                await talk.say(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

        def zone(host: str, kind: int) -> Reply:
            return (a(HERE) if kind == A else Reply()) if host.endswith(".test") else Reply(code=NXDOMAIN)

        self.server: Scripted
        with site(script, address=HERE) as server, naming(zone) as names:
            self.server = server
            toml = folder / "gossamer.toml"
            toml.write_text(UNGUESSED)
            fixed = ["--dir", folder / "crawl", "--dns", names.address, "--allow-private", "--scope", "tld:test"]
            fixed += ["--config", toml, "--delay", 0.02, "--json", "--quiet"]
            ended = gossamer("crawl", f"http://page.test:{server.port}/start", *fixed)
            assert ended.status == 0, ended.err
            assert SECRET not in ended.out + ended.err
            self.asked_names = {name for name, _ in names.asked}
        self.report = ended.report
        self.pages: list[Json] = gossamer("pages", "--dir", folder / "crawl", "--json").lines

    @property
    def asked(self) -> list[str]:
        """`host path` of every request but the one for the first page."""
        found = []
        for _, head in self.server.heard:
            host = re.search(rb"\r\nHost: ([^\r]*)", head)
            assert host is not None
            name = host.group(1).decode().removesuffix(f":{self.server.port}")
            found.append(f"{name} {head.split(b' ')[1].decode()}")
        return sorted(each for each in found if not each.startswith("page.test "))

    @property
    def excluded(self) -> dict[str, int]:
        found = self.report["excluded"]
        assert isinstance(found, dict)
        return found


@pytest.mark.service
def test_ur_03_04_and_05_what_is_sent_is_clean_whatever_the_link_was(tmp_path: Path) -> None:
    wired = Wired(
        tmp_path,
        f"http://user:{SECRET}@h.test:PORT/secret",
        "http://h.test@evil.test:PORT/evil",
        "http:\\\\h.test:PORT\\back",
        "ht\ntp://h.test:PORT/a\tb",
        "\x01 http://h.test:PORT/c\x7f d\u2028",
    )

    assert wired.asked == [
        *("evil.test /evil", "evil.test /robots.txt"),
        *("h.test /ab", "h.test /back", "h.test /c%7F%20d%E2%80%A8", "h.test /robots.txt", "h.test /secret"),
    ]
    for _, head in wired.server.heard:
        assert SECRET.encode() not in head
        assert b"Authorization" not in head
        assert all(0x20 <= byte < 0x7F for byte in head.replace(b"\r\n", b""))


@pytest.mark.service
def test_ur_11_12_and_13_one_host_is_asked_once_and_odd_names_are_fetched(tmp_path: Path) -> None:
    wired = Wired(
        tmp_path,
        *("http://h.test.:PORT/a", "http://h.test:PORT/a", "HTTP://H.TEST:PORT/a?", "http://h.test:PORT/a#x"),
        *("http://a_b.test:PORT/odd", "http://-x.test:PORT/odd"),
    )

    assert wired.asked == [
        *("-x.test /odd", "-x.test /robots.txt", "a_b.test /odd", "a_b.test /robots.txt"),
        *("h.test /a", "h.test /robots.txt"),
    ]
    assert wired.asked_names == {"page.test", "h.test", "a_b.test", "-x.test"}


@pytest.mark.service
def test_ur_01_02_07_14_and_15_what_is_refused_is_counted_and_leaves_no_trace(tmp_path: Path) -> None:
    wired = Wired(
        tmp_path,
        *("mailto:x@h.test", "file:///etc/passwd", "ftp://h.test:PORT/x", "intent://h.test/#x"),
        *("http://h.test:22/", "http://h.test:6379/", "http://h.test:0/", "http://h.test:65536/"),
        "http://h.test:PORT/" + "a" * 1_000_000,
        *("http:///x", "http://%00/", f"http://{'a' * 64}.test:PORT/"),
    )

    assert wired.asked == []
    assert wired.asked_names == {"page.test"}
    assert wired.excluded == {"bad_scheme": 4, "blocked_port": 2, "bad_url": 5, "url_too_long": 1}
    assert len(wired.pages) == 1
