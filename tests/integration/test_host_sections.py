"""What is different for single hosts, from gossamer.toml to the wire, and that no secret is written down."""

import base64
import gzip
import os
import signal
import threading
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tests.fetch.http.tls_trust import authority, stranger
from tests.integration.crawl_process import Command, Ended, gossamer, side_by_side, wait_until
from tests.integration.small_server import NOTHING, Answer, Asked, SmallServer, links, page

pytestmark = pytest.mark.service

LOCAL = ("--allow-private", "--scope", "any", "--json")
SECRET = "hunter2hunter2"
HERE, THERE = "127.0.0.1", "127.0.0.2"


def crawl(folder: Path, toml: str, *arguments: object, delay: float = 0.02) -> Ended:
    folder.mkdir(exist_ok=True)
    (folder / "my.toml").write_text(toml)
    options = ("--config", folder / "my.toml", "--dir", folder / "crawl", "--delay", delay, *LOCAL)
    ended = gossamer("crawl", *arguments, *options)
    assert ended.status == 0, ended.err
    return ended


def pages(folder: Path) -> dict[str, tuple[object, object]]:
    found = gossamer("pages", "--dir", folder / "crawl", "--json").lines
    return {str(p["url"]): (p["state"], p["reason"]) for p in found}


# --- headers and credentials ----------------------------------------------------------------------------


def written(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Everything that a crawl has left behind, unpacked."""
    for path in folder.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            yield path.name, gzip.decompress(data) if path.suffix == ".gz" else data


def test_headers_and_credentials_reach_their_host_alone_and_are_written_down_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THE_LOGIN", f"joe:{SECRET}")
    with SmallServer({"/arrived": page("arrived"), "/": page("home")}, THERE) as there:
        away = Answer("", 302, {"Location": f"{there.base}/arrived"})
        with SmallServer({"/": links("/away", there.base + "/"), "/away": away}, HERE) as here:
            toml = (
                '[fetch]\naccept_language = "mi"\nheaders = { "X-All" = "1" }\n'
                f'[host."{HERE}"]\norigin = "{here.base}"\nauth = "basic"\nauth_env = "THE_LOGIN"\n'
                f'headers = {{ "X-Own" = "2", "X-Api-Key" = "{SECRET}" }}\n'
            )
            ended = crawl(tmp_path, toml, f"{here.base}/")
            story = gossamer(
                *("explain", f"{here.base}/", "--dir", tmp_path / "crawl", "--config", tmp_path / "my.toml")
            )

    sent = "Basic " + base64.b64encode(f"joe:{SECRET}".encode()).decode()
    assert {asked.path for asked in here.asked} == {"/robots.txt", "/", "/away"}
    for asked in here.asked:
        assert asked.headers["Authorization"] == sent
        assert (asked.headers["X-Api-Key"], asked.headers["X-Own"], asked.headers["X-All"]) == (SECRET, "2", "1")
        assert asked.headers["Accept-Language"] == "mi"
    assert {asked.path for asked in there.asked} == {"/robots.txt", "/", "/arrived"}
    for asked in there.asked:
        assert not {"Authorization", "X-Api-Key", "X-Own"} & set(asked.headers.keys())
        assert (asked.headers["X-All"], asked.headers["Accept-Language"]) == ("1", "mi")
    everything = [*written(tmp_path / "crawl"), ("said", (ended.out + ended.err + story.out + story.err).encode())]
    assert any(b"Authorization: [not recorded]" in data for _, data in everything)
    for name, data in everything:
        assert SECRET.encode() not in data and sent[6:].encode() not in data, name


def test_rd_19_what_is_meant_for_https_is_sent_neither_over_http_nor_to_another_port(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THE_LOGIN", f"joe:{SECRET}")
    tls = authority().server_side(HERE)
    pages = {"/": page("home"), "/arrived": page("arrived")}
    with SmallServer(pages, HERE) as plain, SmallServer(pages, HERE, tls=tls) as other:
        site = {
            "/": links("/down", "/across", f"{plain.base}/", f"{other.base}/"),
            "/down": Answer("", 302, {"Location": f"{plain.base}/arrived"}),
            "/across": Answer("", 302, {"Location": f"{other.base}/arrived"}),
        }
        with SmallServer(site, HERE, tls=tls) as secure:
            toml = (
                f'[fetch]\nca_bundle = "{authority().ca_file}"\n'
                f'[host."{HERE}"]\norigin = "{secure.base}"\nauth = "basic"\nauth_env = "THE_LOGIN"\n'
                f'headers = {{ "X-Api-Key" = "{SECRET}" }}\n'
            )
            crawl(tmp_path, toml, f"{secure.base}/")

    assert {asked.path for asked in secure.asked} == {"/robots.txt", *site}
    for asked in secure.asked:
        assert {"Authorization", "X-Api-Key"} <= set(asked.headers.keys())
    for server in (plain, other):
        assert {asked.path for asked in server.asked} == {"/robots.txt", *pages}
        for asked in server.asked:
            assert not {"Authorization", "X-Api-Key"} & set(asked.headers.keys())


@pytest.mark.parametrize("variable", [None, "", SECRET])
def test_credentials_that_are_not_there_are_missed_by_name_before_anything_is_touched(
    variable: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("THE_LOGIN", raising=False)
    if variable is not None:
        monkeypatch.setenv("THE_LOGIN", variable)
    (tmp_path / "my.toml").write_text('[host."a.test"]\nauth = "basic"\nauth_env = "THE_LOGIN"\n')

    ended = gossamer("crawl", "http://a.test/", "--config", tmp_path / "my.toml", "--dir", tmp_path / "crawl")

    assert ended.status == 2
    assert 'host."a.test".auth_env' in ended.err and "THE_LOGIN" in ended.err
    assert ended.err.count("\n") == 1 and SECRET not in ended.err
    assert not (tmp_path / "crawl").exists()


# --- delays -------------------------------------------------------------------------------------------------


def gaps(asked: list[Asked]) -> list[float]:
    """From each answer to the next request."""
    return [later.at - earlier.answered_at for earlier, later in pairwise(asked)]


def own_site(name: str) -> dict[str, Answer]:
    """Six pages that no other site has."""
    paths = [f"/{n}" for n in range(5)]
    return {"/": links(*paths, f"/0#{name}"), **{path: page(name + path) for path in paths}}


def test_a_hosts_own_delay_is_kept_by_it_alone(tmp_path: Path) -> None:
    with SmallServer(own_site(HERE), HERE) as slow, SmallServer(own_site(THERE), THERE) as quick:
        toml = f'[host."{HERE}"]\ndelay = 0.5\n[host."{THERE}"]\ndelay = 0\n'
        ended = crawl(tmp_path, toml, f"{slow.base}/", f"{quick.base}/", delay=60)

    assert ended.report["pages"] == 12
    assert ended.report["politeness_violations"] == 0
    assert min(gaps(slow.asked)) >= 0.5 - 0.002
    assert max(gaps(slow.asked) + gaps(quick.asked)) < 60  # neither keeps the delay of all others


def test_a_longer_delay_does_not_bind_the_other_hosts_of_its_address(tmp_path: Path) -> None:
    paths = [f"/{n}" for n in range(4)]
    pages_of_one = {"/": links(*paths), **{path: page(path) for path in paths}}

    def site(path: str, _: int) -> Answer:
        # Two names of one address; only the Host field tells them apart.
        if server.asked[-1].headers["Host"].startswith("localhost"):
            return page("home") if path == "/" else NOTHING
        return pages_of_one.get(path, NOTHING)

    with SmallServer(site) as server:
        port = server.port
        toml = '[host."localhost"]\ndelay = 3\n'
        ended = crawl(tmp_path, toml, f"http://localhost:{port}/", f"http://127.0.0.1:{port}/", delay=0.1)

    by_name = {
        name: [asked for asked in server.asked if asked.headers["Host"].startswith(name)]
        for name in ("localhost", "127.0.0.1")
    }
    assert (ended.report["pages"], ended.report["politeness_violations"]) == (6, 0)
    assert min(gaps(by_name["localhost"])) >= 3 - 0.002
    assert min(gaps(server.asked)) >= 0.1 - 0.002
    assert min(gaps(by_name["127.0.0.1"])) < 3


# --- scope and kinds ----------------------------------------------------------------------------------------


def test_patterns_and_kinds_of_a_host_hold_for_it_alone(tmp_path: Path) -> None:
    def site(name: str) -> dict[str, Answer]:
        film = Answer(name, headers={"Content-Type": "video/mp4"})
        home = links("/news/1", "/old/1", "/film", f"/film#{name}")
        return {"/": home, "/news/1": page("n" + name), "/old/1": page("o" + name), "/film": film}

    with SmallServer(site("a"), HERE) as here, SmallServer(site("b"), THERE) as there:
        toml = f'[host."{THERE}"]\ninclude = ["*/", "*/news/*", "*/film"]\nexclude = ["*/old/*"]\nkinds = ["html"]\n'
        toml += '[fetch]\nkinds = ["any"]\n'
        ended = crawl(tmp_path, toml, f"{here.base}/", f"{there.base}/")

    found = pages(tmp_path)
    assert {found[here.base + path][0] for path in ("/", "/news/1", "/old/1", "/film")} == {"stored"}
    assert {found[there.base + path][0] for path in ("/", "/news/1")} == {"stored"}
    assert f"{there.base}/old/1" not in found
    assert found[f"{there.base}/film"] == ("excluded", "unwanted_type")
    assert ended.report["excluded"] == {"pattern": 1, "unwanted_type": 1}


# --- proxies and trust --------------------------------------------------------------------------------------


def test_a_proxied_host_is_asked_through_its_proxy_and_looked_up_by_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    far = "http://far.test"  # a name that nobody here can look up
    site = {
        f"{far}/robots.txt": Answer("User-agent: *\nDisallow: /no\n"),
        f"{far}/": links("/a", "/no"),
        f"{far}/a": page("a"),
    }
    with SmallServer(site) as proxy:
        monkeypatch.setenv("THE_PROXY", f"http://joe:{SECRET}@127.0.0.1:{proxy.port}")
        ended = crawl(tmp_path, '[host."*.test"]\nproxy_env = "THE_PROXY"\n', f"{far}/", "--dns", "127.0.0.1:9")

    assert proxy.paths() == [f"{far}/robots.txt", f"{far}/", f"{far}/a"]
    assert {asked.headers["Host"] for asked in proxy.asked} == {"far.test"}
    assert all(asked.headers["Proxy-Authorization"].startswith("Basic ") for asked in proxy.asked)
    assert (ended.report["pages"], ended.report["politeness_violations"]) == (2, 0)
    secret = base64.b64encode(f"joe:{SECRET}".encode())
    for name, data in written(tmp_path / "crawl"):
        assert SECRET.encode() not in data and secret not in data, name


def test_certificates_are_checked_unless_the_operator_trusts_otherwise(tmp_path: Path) -> None:
    never = "[retry]\nmax_tries = 1\ndelay = 0.05\n"
    ends: dict[str, Ended] = {}
    with (
        SmallServer({"/": page("one")}, HERE, tls=stranger().server_side(HERE)) as unknown,
        SmallServer({"/": page("two")}, THERE, tls=authority().server_side(THERE)) as ours,
    ):
        seeds = (f"{unknown.base}/", f"{ours.base}/")
        checked, own_roots, unchecked = tmp_path / "checked", tmp_path / "roots", tmp_path / "unchecked"
        side_by_side(
            lambda: ends.update(checked=crawl(checked, never, *seeds)),
            lambda: ends.update(
                roots=crawl(own_roots, f'[fetch]\nca_bundle = "{authority().ca_file}"\n{never}', *seeds)
            ),
            lambda: ends.update(unchecked=crawl(unchecked, f'[host."{HERE}"]\nverify = false\n{never}', *seeds)),
        )

    def stored(folder: Path) -> set[str]:
        return {url for url, (state, _) in pages(folder).items() if state == "stored"}

    assert stored(checked) == set()
    assert stored(own_roots) == {f"{ours.base}/"}
    assert stored(unchecked) == {f"{unknown.base}/"}
    assert ends["checked"].report["errors"]["tls_untrusted"] > 0  # type: ignore[index]


# --- while a crawl runs -----------------------------------------------------------------------------------


def test_a_running_crawl_takes_new_host_sections_on_sighup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THE_LOGIN", f"joe:{SECRET}")
    toml, log = tmp_path / "my.toml", tmp_path / "crawl" / "crawl.log"

    def says(event: str) -> bool:
        return log.exists() and event.encode() in log.read_bytes()

    changed_rules = threading.Event()  # the fifth page waits for them: the crawl must not be over before

    def site(path: str, _: int) -> Answer:
        if path == "/robots.txt":
            return Answer("", 404)
        number = int(path[1:] or 0)
        if number == 5:
            changed_rules.wait(60)
        return links(f"/{number + 1}") if number < 14 else Answer("plain", headers={"Content-Type": "text/plain"})

    with SmallServer(site, HERE) as server:
        toml.write_text(f'[host."{HERE}"]\norigin = "{server.base}"\nheaders = {{ "X-Own" = "old" }}\n')
        options = ["--config", toml, "--dir", tmp_path / "crawl", "--delay", 0.1, "--max-depth", 60, *LOCAL, "--quiet"]
        with Command("crawl", f"{server.base}/", *options) as running:
            wait_until(lambda: len(server.asked) > 4 or not running.runs, "the crawl to get going")
            toml.write_text(f'[host."{HERE}"]\nauth = "basic"\nauth_env = "NOT_THERE"\n')
            os.kill(running.process.pid, signal.SIGHUP)
            wait_until(lambda: says("rules.refused") or not running.runs, "a word of protest")
            refused = len(server.asked)
            toml.write_text(
                f'[host."{HERE}"]\nheaders = {{ "X-Own" = "new" }}\nkinds = ["html"]\ndelay = 0.2\n'
                f'auth = "basic"\nauth_env = "THE_LOGIN"\norigin = "{server.base}"\n'
            )
            os.kill(running.process.pid, signal.SIGHUP)
            wait_until(lambda: says("rules.changed") or not running.runs, "word that they are read")
            changed = len(server.asked)
            changed_rules.set()
            ended = running.ended()

    before, after = server.asked[:refused], server.asked[changed:]
    assert {asked.headers["X-Own"] for asked in before} == {"old"}
    assert {asked.headers["X-Own"] for asked in after} == {"new"}
    assert all(asked.headers["Authorization"].startswith("Basic ") for asked in after)
    assert min(later.at - earlier.answered_at for earlier, later in pairwise(after)) >= 0.2
    assert (ended.report["pages"], ended.report["excluded"]) == (14, {"unwanted_type": 1})
    assert ended.report["politeness_violations"] == 0
