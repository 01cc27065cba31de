"""`--query`: a crawl that begins with a search engine's results, asked for politely."""

import json
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

import pytest

from gossamer.config.load import make_config
from gossamer.crawl.run.search import seeds_from_queries
from gossamer.errors import SearchFailed, UsageError
from gossamer.seed.search import SEARCH_GROUP, DuckDuckGo, provider_for
from tests.integration.crawl_process import Ended, gossamer
from tests.integration.small_server import NOTHING, Answer, Asked, SmallServer, page
from tests.plugin_folder import documented_plugin, plugin_folder
from tests.seed.engine_pages import BLOCKED, CHANGED, NO_RESULTS, advertisement, result
from tests.seed.engine_pages import page as results_page
from tests.service.service_process import Service

pytestmark = pytest.mark.service

ENGINE = "127.0.0.2"
AGENT = "searcher/1.0 (+mailto:me@example.test)"
DELAY = 0.3


def crawl(folder: Path, engine: SmallServer | None, *arguments: object) -> Ended:
    base = f"{engine.base}/html/" if engine is not None else f"http://{ENGINE}:1024/html/"
    (folder / "my.toml").write_text(f'[search]\nbase = "{base}"\n')
    options = ("--config", folder / "my.toml", "--dir", folder / "crawl", "--user-agent", AGENT, "--delay", DELAY)
    return gossamer("crawl", *options, "--allow-private", "--json", "--quiet", *arguments)


def engine_of(answers: dict[str, Answer], robots: Answer = NOTHING) -> SmallServer:
    """Answers by the query as it stands in the URL."""
    site = {f"/html/?q={query}": answer for query, answer in answers.items()}
    return SmallServer({"/robots.txt": robots, **site}, ENGINE)


def urls(folder: Path) -> dict[str, object]:
    return {str(p["url"]): p["state"] for p in gossamer("pages", "--dir", folder / "crawl", "--json").lines}


def gaps(asked: list[Asked]) -> list[float]:
    return [later.at - earlier.answered_at for earlier, later in pairwise(asked)]


# --- seeds ----------------------------------------------------------------------------------------------


def test_the_first_results_become_seeds_and_the_engine_is_asked_like_any_host(tmp_path: Path) -> None:
    with SmallServer({"/a": page("a"), "/b": page("b")}) as web:
        found = results_page(advertisement("http://shop.test/"), result(f"{web.base}/a"), result(f"{web.base}/b"))
        more = results_page(result(f"{web.base}/b"), result(f"{web.base}/c"))
        with engine_of({"tidal+power": Answer(found.decode()), "waves": Answer(more.decode())}) as engine:
            ended = crawl(tmp_path, engine, "--query", "tidal   power", "--query", "waves")
        story = gossamer("explain", f"{web.base}/a", "--dir", tmp_path / "crawl")

    assert ended.status == 0, ended.err
    assert urls(tmp_path) == {f"{web.base}/a": "stored", f"{web.base}/b": "stored", f"{web.base}/c": "missing"}
    assert engine.paths() == ["/robots.txt", "/html/?q=tidal+power", "/html/?q=waves"]
    assert {asked.headers["User-Agent"] for asked in engine.asked} == {AGENT}
    assert min(gaps(engine.asked)) >= DELAY - 0.002
    assert min(web.asked, key=lambda a: a.at).at - engine.asked[-1].answered_at >= DELAY - 0.002
    assert "query: tidal power" in story.out


def test_a_crawl_that_is_resumed_does_not_ask_again(tmp_path: Path) -> None:
    with SmallServer({"/a": page("a")}) as web:
        answers = {word: Answer(results_page(result(f"{web.base}/{word}")).decode()) for word in ("a", "b")}
        with engine_of(answers) as engine:
            crawl(tmp_path, engine, "--query", "a")
            asked = engine.paths()
            again = crawl(tmp_path, engine, "--query", "a")
            other = crawl(tmp_path, engine, "--query", "a", "--query", "b")
            assert engine.paths() == asked == ["/robots.txt", "/html/?q=a"]
            added = crawl(tmp_path, engine, "--query", "a", "--query", "b", "--add-seeds")

    assert again.status == added.status == 0, again.err + added.err
    assert other.status == 1
    assert "not started with the query 'b'" in other.err and other.err.count("\n") == 1
    assert engine.paths()[2:] == ["/robots.txt", "/html/?q=b"]
    assert set(urls(tmp_path)) == {f"{web.base}/a", f"{web.base}/b"}


def test_the_engines_redirects_are_followed_and_its_crawl_delay_is_kept(tmp_path: Path) -> None:
    with SmallServer({"/a": page("a")}) as web:
        moved = Answer("", 302, {"Location": "/html/?q=a&kl=nz-en"})
        answers = {"a": moved, "a&kl=nz-en": Answer(results_page(result(f"{web.base}/a")).decode())}
        with engine_of(answers, Answer("User-agent: *\nCrawl-delay: 1\n")) as engine:
            ended = crawl(tmp_path, engine, "--query", "a")

    assert ended.status == 0, ended.err
    assert engine.paths() == ["/robots.txt", "/html/?q=a", "/html/?q=a&kl=nz-en"]
    assert min(gaps(engine.asked)) >= 1 - 0.002
    assert urls(tmp_path) == {f"{web.base}/a": "stored"}


# --- no seeds -------------------------------------------------------------------------------------------

ENGINES = {
    "no results": (Answer(NO_RESULTS.decode()), NOTHING, "no results"),
    "blocked": (Answer(BLOCKED.decode(), 202), NOTHING, "blocked as a robot (status 202)"),
    "rate limited": (Answer("", 429, {"Retry-After": "86400"}), NOTHING, "blocked as a robot (status 429)"),
    "changed": (Answer(CHANGED.decode()), NOTHING, "its layout may have changed"),
    "failing": (Answer("", 500), NOTHING, "status 500"),
    "denied": (
        Answer(results_page(result("http://a.test/")).decode()),
        Answer("User-agent: *\nDisallow: /html/\n"),
        "its robots.txt disallows crawling its results (line 2: Disallow: /html/)",
    ),
    "unknown rules": (
        Answer(results_page(result("http://a.test/")).decode()),
        Answer("", 503),
        "no answer: robots_unreachable",
    ),
    "redirects for ever": (Answer("", 302, {"Location": "/html/?q=words"}), NOTHING, "no answer: too_many_redirects"),
    "asks for patience": (
        Answer(results_page(result("http://a.test/")).decode()),
        Answer("User-agent: *\nCrawl-delay: 600\n"),
        "no answer: crawl_delay_too_long",
    ),
}


@pytest.mark.parametrize("kind", ENGINES)
def test_an_engine_that_gives_no_seeds_is_told_in_one_line(kind: str, tmp_path: Path) -> None:
    answer, robots, message = ENGINES[kind]
    with engine_of({"words": answer}, robots) as engine:
        ended = crawl(tmp_path, engine, "--query", "words", *(["--delay", 0.01] if "redirects" in kind else []))

    assert ended.status == 1
    assert ended.err.startswith("gossamer: error: no seeds from duckduckgo for 'words': ")
    assert message in ended.err and ended.err.count("\n") == 1
    assert not (tmp_path / "crawl" / "crawl.db").exists()
    if kind in ("denied", "unknown rules", "asks for patience"):
        assert engine.paths() == ["/robots.txt"]


def test_an_engine_that_is_not_there_or_may_not_be_dialled_is_told_too(tmp_path: Path) -> None:
    gone = crawl(tmp_path, None, "--query", "words")
    with engine_of({}) as engine:
        private = crawl(tmp_path, engine, "--query", "words", "--no-allow-private")

    assert (gone.status, private.status) == (1, 1)
    assert "no answer: conn_refused" in gone.err
    assert f"no answer: blocked_address ({ENGINE})" in private.err
    assert engine.asked == []


@pytest.mark.parametrize(
    ("toml", "query", "message"),
    [
        ('[search]\nprovider = "altavista"\n', "words", "search.provider: no such search engine: 'altavista'"),
        ('[search]\nbase = "nowhere"\n', "words", "the address of duckduckgo is not a URL"),
        ("", "  ", "a query must be 1 to 500 printable characters"),
        ("[search]\nquery = []\n", "words", "search.query: no such key"),
    ],
)
def test_wrong_use_is_told_before_anything_is_asked(toml: str, query: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_text(toml)

    ended = gossamer("crawl", "--query", query, "--config", tmp_path / "my.toml", "--dir", tmp_path / "crawl")

    assert ended.status == 2
    assert message in ended.err and ended.err.count("\n") == 1


# --- other engines, and the service ---------------------------------------------------------------------


def test_the_engine_of_the_documents_is_found_by_its_entry_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, entries = documented_plugin("A search engine", SEARCH_GROUP)
    answers = {
        "/search?format=json&q=tidal+power": Answer(json.dumps({"results": [{"url": "http://a.test/x"}]})),
        "/search?format=json&q=none": Answer(json.dumps({"results": []})),
        "/search?format=json&q=odd": Answer("<html>"),
    }
    with plugin_folder(tmp_path, monkeypatch) as folder, SmallServer({"/robots.txt": NOTHING, **answers}) as engine:
        folder.install("searx", code, SEARCH_GROUP, entries)
        folder.install("odd", "class Odd: ...", SEARCH_GROUP, {"odd": "odd:Odd", "duckduckgo": "odd:Odd"})
        options: dict[str, object] = {"allow_private": True, "delay": 0.01}
        config = make_config({**options, "search": {"provider": "searx", "base": engine.base + "/"}}, {})
        (seed,) = seeds_from_queries(config, ["tidal  power"])
        messages = []
        for query in ("none", "odd"):
            with pytest.raises(SearchFailed) as failed:
                seeds_from_queries(config, [query])
            messages.append(str(failed.value))
        for name in ("odd", "bing"):
            with pytest.raises(UsageError) as refused:
                provider_for(make_config({"search": {"provider": name}}, {}))
            messages.append(str(refused.value))
        builtin = provider_for(make_config({}, {}))

    assert (seed.url, seed.where) == ("http://a.test/x", "query: tidal power")
    assert messages[0] == "no seeds from searx for 'none': no results"
    assert "its results cannot be read" in messages[1]
    assert "the search engine 'odd' (odd:Odd of odd) is not a subclass of" in messages[2]
    assert messages[3] == "search.provider: no such search engine: 'bing' (there are duckduckgo, odd, searx)"
    assert isinstance(builtin, DuckDuckGo)


def test_a_service_takes_seeds_from_a_query_and_does_not_ask_again_when_it_is_restarted(tmp_path: Path) -> None:
    with ExitStack() as servers:
        web = servers.enter_context(SmallServer({"/a": page("a")}))
        found = results_page(result(f"{web.base}/a"))
        engine = servers.enter_context(engine_of({"a": Answer(found.decode())}))
        (tmp_path / "my.toml").write_text(f'[search]\nbase = "{engine.base}/html/"\n')
        for _ in range(2):
            with Service(tmp_path / "crawl", "--config", tmp_path / "my.toml", "--query", "a") as service:
                service.wait_for(f"{web.base}/a", "stored")

    assert engine.paths() == ["/robots.txt", "/html/?q=a"]
