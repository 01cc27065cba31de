"""The story of a URL, told of real crawls: prepared situations, each with the right reason."""

import json
from pathlib import Path

import pytest

from gossamer.cli.main import main
from gossamer.frontier.orderings.mercator import Mercator
from gossamer.model.states import meaning_of
from tests.hostile.dns_stage import free_port
from tests.integration.crawl_process import GIVEN_UP_AT_ONCE, gossamer
from tests.integration.explain_cases import Explained, ask, part, parts, read, refusals, why
from tests.integration.small_server import Answer, SmallServer, links, page

pytestmark = pytest.mark.service

ROBOTS = "# rules\nUser-agent: *\nDisallow: /private/\nAllow: /private/open\n"
TOML = """
order = "mercator"
delay = 0.03
scope = "host:127.0.0.41,host:127.0.0.42"
[retry]
delay = 0.05
[filter]
exclude = ["*/secret/*"]
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Explained:
    """A crawl that came to its end, with a page of every kind."""
    folder = tmp_path_factory.mktemp("finished")
    (folder / "gossamer.toml").write_text(TOML)
    down = f"http://127.0.0.42:{free_port()}/"
    site = {
        "/": links("/a", "/dup", "/old", "/private/x", "/private/open", "/none", "/gone", "/broken", "/secret/s", down),
        "/a": links("/a/b"),
        "/a/b": links("/a/b/c"),
        "/a/b/c": page("deep"),
        "/dup": links("/a/b"),  # the same document as /a/b only if its links are the same
        "/old": Answer("", 301, {"Location": "/new"}),
        "/new": page("new"),
        "/gone": Answer("", 410),
        "/broken": Answer("oops", 500),
        "/private/open": page("open"),
        "/robots.txt": Answer(ROBOTS, headers={"Content-Type": "text/plain"}),
    }
    with SmallServer(site, "127.0.0.41") as server:
        (folder / "seeds.txt").write_text(f"# where to begin\n{server.base}/\n")
        crawl = Explained(folder / "crawl", folder / "gossamer.toml", server.base, down)
        ended = gossamer(
            "crawl",
            "--seeds",
            folder / "seeds.txt",
            *crawl.options,
            "--allow-private",
            "--quiet",
            "--json",
            GIVEN_UP_AT_ONCE,
        )
    assert ended.status == 0, ended.err
    assert ended.report["finished"] is True
    return crawl


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Explained:
    """A crawl that was stopped by its limit: a page waits for its second try, many for their first."""
    folder = tmp_path_factory.mktemp("stopped")
    (folder / "gossamer.toml").write_text('order = "bfs"\ndelay = 0.03\n[retry]\ndelay = 3000.0\n')
    site = {
        "/": links("/flaky", *(f"/p{n}" for n in range(20))),
        "/flaky": Answer("", 503),
        **{f"/p{n}": page(f"page {n}") for n in range(20)},
    }
    with SmallServer(site, "127.0.0.43") as server:
        crawl = Explained(folder / "crawl", folder / "gossamer.toml", server.base)
        ended = gossamer(
            "crawl", f"{server.base}/", *crawl.options, "--max-pages", 5, "--allow-private", "--quiet", "--json"
        )
    assert ended.status == 0, ended.err
    assert ended.report["pages"] == 5
    return crawl


# --- how it was found ---------------------------------------------------------------------------------


def test_a_seed_is_told_with_the_place_where_it_stood(finished: Explained) -> None:
    story = ask(finished, f"{finished.base}/")

    finding = part(story, "finding")
    assert (story["state"], finding["via"], finding["way"]) == ("stored", "seed", [])
    assert str(part(finding, "seed")["where"]).endswith("seeds.txt, line 2")


def test_a_link_is_told_with_its_page_and_the_way_back_to_a_seed(finished: Explained) -> None:
    finding = part(ask(finished, f"{finished.base}/a/b/c"), "finding")

    way = parts(finding, "way")
    assert finding["via"] == "link"
    steps = [str(step["url"]).removeprefix(finished.base) for step in way]
    assert steps in (["/a/b", "/a", "/"], ["/a/b", "/dup", "/"])  # whichever was fetched first
    assert [step["seed"] is not None for step in way] == [False, False, True]
    assert finding["cut"] is False


def test_the_source_of_a_redirect_names_its_target(finished: Explained) -> None:
    story = ask(finished, f"{finished.base}/old")

    assert story["state"] == "redirect"
    assert part(story, "content")["redirect_to"] == f"{finished.base}/new"
    assert [attempt["status"] for attempt in parts(story, "attempts")] == [301]


def test_the_target_of_a_redirect_names_its_source_and_keeps_its_depth(finished: Explained) -> None:
    story = ask(finished, f"{finished.base}/new")

    finding = part(story, "finding")
    assert (story["state"], finding["via"], finding["hops"]) == ("stored", "redirect", 1)
    assert parts(finding, "way")[0]["url"] == f"{finished.base}/old"
    assert part(story, "standing")["depth"] == 1


# --- what was decided ---------------------------------------------------------------------------------


def test_a_url_that_robots_txt_denies_is_told_with_the_line(finished: Explained) -> None:
    story = ask(finished, f"{finished.base}/private/x")

    robots = part(story, "robots")
    assert (story["state"], story["reason"]) == ("excluded", "robots_denied")
    assert (robots["allowed"], robots["line"], robots["line_number"]) == (False, "Disallow: /private/", 3)
    assert robots["current"] is True
    assert why(story) == "excluded: robots_denied"


def test_a_url_that_a_longer_line_opens_is_told_with_that_line(finished: Explained) -> None:
    story = ask(finished, f"{finished.base}/private/open")

    robots = part(story, "robots")
    assert (story["state"], robots["allowed"], robots["line_number"]) == ("stored", True, 4)


def test_a_duplicate_names_the_url_that_has_the_document(finished: Explained) -> None:
    stories = {path: ask(finished, f"{finished.base}{path}") for path in ("/a", "/dup")}

    [copy] = [path for path, story in stories.items() if story["state"] == "duplicate"]
    [owner] = [path for path, story in stories.items() if story["state"] == "stored"]
    assert part(stories[copy], "content")["duplicate_of"] == f"{finished.base}{owner}"
    assert part(stories[copy], "archive")["sound"] is True
    assert part(stories[copy], "content")["digest"] == part(stories[owner], "content")["digest"]


def test_a_missing_page_is_told_with_the_date_of_its_next_visit(finished: Explained) -> None:
    story = ask(finished, f"{finished.base}/none")

    assert story["state"] == "missing"
    assert why(story).startswith("retry after status 404")
    assert str(part(story, "next")["due_at"]) > str(parts(story, "attempts")[0]["visited_at"])


def test_a_page_that_its_owner_declared_gone_is_not_asked_for_again(finished: Explained) -> None:
    story = ask(finished, f"{finished.base}/gone")

    assert (story["state"], part(story, "next")["due_at"]) == ("gone", None)
    assert why(story) == "gone: it is not visited again"


def test_a_url_of_a_host_that_refuses_connections_is_dead(finished: Explained) -> None:
    story = ask(finished, finished.down)

    assert (story["state"], story["reason"]) == ("dead", "robots_unreachable")
    assert part(story, "robots")["allowed"] is None
    assert part(story, "politeness")["address"] == "127.0.0.42"
    assert "gossamer dead requeue" in why(story)


def test_a_page_that_always_fails_is_dead_with_all_its_attempts(finished: Explained) -> None:
    story = ask(finished, f"{finished.base}/broken")

    attempts = [(attempt["outcome"], attempt["status"]) for attempt in parts(story, "attempts")]
    assert (story["state"], story["tries"]) == ("dead", 3)
    assert attempts == [("server_error", 500)] * 3


def test_a_stored_page_is_told_with_its_record_checked(finished: Explained) -> None:
    story = ask(finished, f"{finished.base}/new")

    archive = part(story, "archive")
    assert (archive["sound"], archive["problem"]) == (True, None)
    assert (finished.dir / "warc" / str(archive["file"])).is_file()
    assert part(story, "content")["title"] == "new"


def test_a_record_that_was_changed_on_disk_is_noticed(finished: Explained) -> None:
    place = part(ask(finished, f"{finished.base}/new"), "archive")
    path, middle = (
        finished.dir / "warc" / str(place["file"]),
        int(str(place["offset"])) + int(str(place["length"])) // 2,
    )
    whole = path.read_bytes()
    path.write_bytes(whole[:middle] + bytes([whole[middle] ^ 0xFF]) + whole[middle + 1 :])
    try:
        archive = part(ask(finished, f"{finished.base}/new"), "archive")
        path.rename(path.with_suffix(".away"))
        absent = part(ask(finished, f"{finished.base}/new"), "archive")
    finally:
        path.with_suffix(".away").unlink(missing_ok=True)
        path.write_bytes(whole)

    assert archive["sound"] is False
    assert absent["problem"] == f"{path.name}: No such file or directory"


# --- priority -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["mercator", "bfs", "dfs", "novelty", "balance", "importance"])
def test_a_priority_is_told_with_the_parts_that_make_it(finished: Explained, order: str) -> None:
    standing = part(ask(finished, f"{finished.base}/a/b/c", "--order", order), "standing")

    parts_of_it = part(standing, "parts")
    assert standing["order"] == order
    assert standing["priority"] == pytest.approx(sum(float(str(value)) for value in parts_of_it.values()))
    assert standing["queued_by"] == (None if order == "mercator" else "mercator")


def test_the_pages_that_link_to_a_page_are_counted(finished: Explained) -> None:
    paths = ("/", "/a", "/a/b/c", "/new")
    standings = [part(ask(finished, f"{finished.base}{path}"), "standing") for path in paths]

    # Nobody links to the seed; the redirect counts as a link; all are of one domain.
    assert [standing["links"] for standing in standings] == [0, 1, 1, 1]
    assert {standing["links_from_others"] for standing in standings} == {0}


def test_a_queue_that_stands_in_another_order_says_so(stopped: Explained) -> None:
    same, other = ask(stopped, f"{stopped.base}/p15"), ask(stopped, f"{stopped.base}/p15", "--order", "importance")

    assert (part(same, "standing")["order"], part(same, "standing")["queued_by"]) == ("bfs", None)
    assert (part(other, "standing")["order"], part(other, "standing")["queued_by"]) == ("importance", "bfs")


def test_a_host_that_was_contacted_says_which_term_of_the_maximum_decided(finished: Explained) -> None:
    politeness = part(ask(finished, f"{finished.base}/new"), "politeness")

    assert politeness["reason"] in ("minimum delay", "multiple of the last fetch time")


# --- what it waits for --------------------------------------------------------------------------------


def test_a_queued_page_knows_its_place_and_that_the_crawl_is_at_rest(stopped: Explained) -> None:
    story = ask(stopped, f"{stopped.base}/p15")

    place = {name: part(part(story, "place"), name)["number"] for name in ("before", "of_class", "of_host")}
    assert story["state"] == "queued"
    # Four of the twenty are stored; those before it in the list are before it in the queue; the flaky page is last.
    assert place == {"before": 11, "of_class": 17, "of_host": 17}
    assert why(story) == "it is due now; the crawl is not running"
    assert part(story, "standing")["name"] == "only"
    assert story["attempts"] == []


def test_a_page_that_waits_for_its_next_try_says_which_and_after_what(stopped: Explained) -> None:
    story = ask(stopped, f"{stopped.base}/flaky")

    assert (story["state"], story["tries"]) == ("queued", 1)
    assert why(story).startswith("try 2, after server_error")
    assert part(part(story, "place"), "before")["number"] == 16
    assert str(part(story, "next")["due_at"]) > str(parts(story, "attempts")[0]["visited_at"])


def test_a_queued_page_that_the_rules_forbid_by_now_says_so(stopped: Explained) -> None:
    story = ask(stopped, f"{stopped.base}/p15", "--max-depth", "0")

    assert refusals(story) == [("depth", "depth_limit")]
    assert why(story).startswith("it will be excluded when it is visited: depth_limit (1, at most 0)")


def test_a_queued_page_of_a_domain_that_has_had_its_share_says_so(stopped: Explained) -> None:
    story = ask(stopped, f"{stopped.base}/p15", "--max-per-domain", "3")

    assert part(story, "politeness")["cap"] == 3
    assert "domain_limit (6 page requests to 127.0.0.43)" in why(story)


# --- never seen ---------------------------------------------------------------------------------------


def test_a_url_never_seen_that_may_enter_says_what_it_would_get(finished: Explained) -> None:
    story = ask(finished, f"{finished.base}/never/seen.html?x=1")

    standing = part(story, "standing")
    assert story["state"] is None
    assert part(story, "identity") == {"seen": False, "minimised": False, "known_as": None, "ignored": []}
    assert refusals(story) == []
    assert (standing["depth"], standing["links"], standing["assumed"]) == (1, 1, True)
    front = Mercator().front_of(1024 * float(str(standing["priority"])))
    assert (standing["front"], standing["name"]) == (front, ("high", "medium", "low")[min(front, 2)])
    assert why(story) == "it would be queued when a page links to it"


def test_a_url_never_seen_that_robots_txt_denies_would_be_excluded_at_its_turn(finished: Explained) -> None:
    story = ask(finished, f"{finished.base}/private/else")

    assert why(story).endswith("excluded when it is visited: robots_denied (line 3: Disallow: /private/)")


@pytest.mark.parametrize(
    ("url", "rule", "reason"),
    [
        ("http://elsewhere.test/", "scope", "out_of_scope"),
        ("{base}/film.mp4", "extension", "extension"),
        ("{base}/secret/s", "patterns", "pattern"),
        ("{base}/?" + "&".join(f"a{n}={n}" for n in range(102)), "shape", "trap_limit"),
        ("{base}/" + "x" * 2100, "length", "url_too_long"),
    ],
)
def test_a_url_that_no_rule_admits_names_the_rule(finished: Explained, url: str, rule: str, reason: str) -> None:
    story = ask(finished, url.format(base=finished.base))

    assert story["state"] is None
    assert refusals(story) == [(rule, reason)]
    assert why(story).startswith(f"it would be excluded: {reason} (")


def test_an_excluded_domain_is_named_where_an_option_excludes_it(finished: Explained) -> None:
    story = ask(finished, "http://a.bad.test/x", "--scope", "any", "--exclude-domain", "bad.test")

    assert refusals(story) == [("excluded domains", "excluded_domain")]
    assert why(story) == "it would be excluded: excluded_domain (bad.test)"


@pytest.mark.parametrize(("scope", "admitted"), [("host", True), ("domain", True), ("tld:nz", False)])
def test_the_scope_of_the_seeds_is_found_again(finished: Explained, scope: str, admitted: bool) -> None:
    story = ask(finished, f"{finished.base}/never", "--scope", scope)

    assert refusals(story) == ([] if admitted else [("scope", "out_of_scope")])


# --- spellings ----------------------------------------------------------------------------------------


def test_another_spelling_of_a_known_url_is_known(finished: Explained) -> None:
    authority = finished.base.removeprefix("http://")
    story = ask(finished, f"HTTP://someone:secret@{authority}/x/../%6Eew#part")

    form = part(story, "form")
    assert (story["state"], form["url"]) == ("stored", f"{finished.base}/new")
    assert form["changes"] == [
        "the scheme is in lower case",
        "user name and password are dropped",
        "dots in the path are resolved",
        "the fragment is dropped",
    ]
    assert "secret" not in json.dumps(story)


@pytest.mark.parametrize(
    ("text", "reason"),
    [("ftp://127.0.0.41/", "bad_scheme"), ("http://[::1", "bad_url"), ("http://a:22/", "blocked_port")],
)
def test_text_without_a_canonical_form_is_refused_in_the_story(finished: Explained, text: str, reason: str) -> None:
    story = ask(finished, text)

    assert part(story, "form")["refused"] == reason
    expected = "unsupported scheme: ftp" if reason == "bad_scheme" else meaning_of(reason)
    assert why(story) == expected


def test_wrong_use_is_one_line_and_status_two(finished: Explained, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = [["explain"], ["explain", " ", *finished.options], ["explain", "http://a.test/", "--scope", "nowhere"]]

    for words in wrong:
        assert main(words) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_a_directory_without_a_crawl_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "http://a.test/", "--dir", str(tmp_path / "none")]) == 1
    assert "there is no crawl in" in capsys.readouterr().err


# --- for people --------------------------------------------------------------------


def test_the_words_tell_what_the_object_tells(finished: Explained) -> None:
    text = read(finished, f"{finished.base}/private/x")

    answer, blank, url, *_ = text.splitlines()
    assert answer == "Not fetched: robots.txt disallows it (line 3: Disallow: /private/)"
    assert (blank, url) == ("", f"{finished.base}/private/x")
    assert "  state       excluded (robots_denied)\n" in text
    assert f"  found       link on {finished.base}/, " in text
    assert "  robots.txt  denied: line 3, Disallow: /private/\n" in text
    assert text.endswith("  next        excluded: robots_denied\n")


def test_every_url_on_record_can_be_told_in_words_and_agrees_with_its_page(
    finished: Explained, stopped: Explained
) -> None:
    for crawl in (finished, stopped):
        pages = gossamer("pages", "--dir", crawl.dir, "--json").lines
        assert len(pages) > 10
        for known in pages:
            state = f"{known['state']} ({known['reason']})" if known["reason"] else known["state"]
            assert f"\n  state       {state}\n" in read(crawl, str(known["url"]))
