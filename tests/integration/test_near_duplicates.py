"""Near-duplicates and soft 404s in whole crawls: marked, left out, or not looked for; killed and resumed."""

import random
from pathlib import Path

import pytest

from gossamer.dedup import MANY_PAGES, MANY_REDIRECTS, MAX_DISTANCE
from gossamer.lab.simweb.audit import Truth, ground_truth
from tests.integration.crawl_process import RETRY, Command, Json, gossamer, scene, small_web, wait_for_requests
from tests.integration.small_server import Answer, SmallServer, links, page

pytestmark = pytest.mark.service

LOCAL = ("--allow-private", "--delay", 0.02, "--json", "--quiet")
NEAR_WEB = {"near_copies": True, "duplicate_rate": 0.3, "mean_bytes": 12_000}


def wishes(near_duplicates: str) -> str:
    return f'{RETRY}[content]\nnear_duplicates = "{near_duplicates}"\n'


def near_pairs(pages: list[Json]) -> dict[str, str]:
    return {str(p["url"]): str(p["near_duplicate_of"]) for p in pages if p["near_duplicate_of"] is not None}


def check_pairs(truth: Truth, pages: list[Json]) -> dict[str, str]:
    """Nothing is called near-duplicate of what it is not, and nearly everything that is one is called so."""
    pairs = near_pairs(pages)
    group_of = {url: group for group in truth.duplicate_groups for url in group}
    assert all(original in group_of.get(url, ()) for url, original in pairs.items())
    planted = sum(len(group) - 1 for group in truth.duplicate_groups)
    assert planted > 20
    assert len(pairs) >= 0.9 * planted
    for row in pages:
        distance = row["distance"]
        assert (distance is None) == (row["near_duplicate_of"] is None)
        assert distance is None or 0 <= int(str(distance)) <= MAX_DISTANCE
    return pairs


def test_near_duplicates_are_stored_and_marked(tmp_path: Path) -> None:
    with scene(tmp_path, small_web(**NEAR_WEB), toml=wishes("mark")) as there:
        ended = gossamer(*there.command)
        truth = ground_truth(there.web.web())
        pages = there.pages()
        pairs = check_pairs(truth, pages)
        url, original = next(iter(pairs.items()))
        told = gossamer("explain", url, "--dir", there.dir).out
        story = gossamer("explain", url, "--dir", there.dir, "--json").report

    assert {str(p["url"]) for p in pages if p["state"] == "stored"} == truth.stored.union(*truth.duplicate_groups)
    assert ended.report["pages"] == truth.documents
    assert ended.report["near_duplicates"] == len(pairs)
    assert ended.report["duplicates"] == 0
    assert f"near-duplicate of {original}: " in told
    content = story["content"]
    assert isinstance(content, dict)
    assert content["near_duplicate_of"] == original


def test_near_duplicates_are_left_out_where_that_is_wished(tmp_path: Path) -> None:
    with scene(tmp_path, small_web(**NEAR_WEB), toml=wishes("skip")) as there:
        ended = gossamer(*there.command)
        truth = ground_truth(there.web.web())
        pages = there.pages()
        pairs = check_pairs(truth, pages)

    left_out = {str(p["url"]) for p in pages if p["state"] == "duplicate"}
    assert left_out == pairs.keys()
    assert {p["reason"] for p in pages if p["state"] == "duplicate"} == {"near_duplicate"}
    assert all(p["warc"] is None for p in pages if p["state"] == "duplicate")
    assert ended.report["near_duplicates"] == len(pairs)
    assert "near_duplicate" not in dict(ended.report["errors"])  # type: ignore[call-overload]


def test_near_duplicates_are_not_looked_for_where_that_is_wished(tmp_path: Path) -> None:
    with scene(tmp_path, small_web(**NEAR_WEB), toml=wishes("off")) as there:
        ended = gossamer(*there.command)
        pages = there.pages()

    assert ended.report["near_duplicates"] == 0
    assert near_pairs(pages) == {}


def test_originals_are_still_known_after_a_kill(tmp_path: Path) -> None:
    with scene(tmp_path, small_web(**NEAR_WEB), toml=wishes("mark")) as there:
        for fetched in (60, 120, 200):
            with Command(*there.command) as command:
                wait_for_requests(there, command, fetched)
                command.process.kill()
        gossamer(*there.command)
        pairs = check_pairs(ground_truth(there.web.web()), there.pages())

    # Nothing is compared with a near-duplicate: what was known before the kill is what was compared with after it.
    assert not pairs.keys() & set(pairs.values())


def text(seed: int, words: int) -> str:
    rng = random.Random(seed)
    return " ".join("".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 9))) for _ in range(words))


def pages_by_path(folder: Path) -> dict[str, Json]:
    found = gossamer("pages", "--dir", folder, "--json").lines
    return {"/" + str(p["url"]).split("/", 3)[3]: p for p in found}


def apology(path: str) -> Answer:
    return page(f"<title>Page not found</title><p>There is no {path} on this site, and {path} never was.</p>")


def test_a_host_that_says_so_with_status_200_is_found_out_and_explained(tmp_path: Path) -> None:
    gone = [f"/gone/{n}" for n in range(6)]
    links = "".join(f'<a href="{path}">{path}</a> ' for path in (*gone, "/real"))
    site = {"/": page(links + text(1, 90)), "/real": page(f"<title>Real</title>{text(2, 90)}")}
    site |= {path: apology(path) for path in gone}
    with SmallServer(site) as server:
        ended = gossamer("crawl", f"{server.base}/", "--dir", tmp_path / "crawl", *LOCAL)
        marked = [path for path, row in pages_by_path(tmp_path / "crawl").items() if row["reason"] == "soft_404"]
        told = gossamer("explain", f"{server.base}{marked[0]}", "--dir", tmp_path / "crawl").out

    assert len(marked) == 5 and set(marked) < set(gone)
    assert ended.report["errors"] == {"soft_404": 5}
    assert "soft 404: the host returns this for pages that do not exist" in told


def test_a_short_page_under_many_urls_and_many_ways_home_are_soft_404s(tmp_path: Path) -> None:
    same = [f"/same/{n}" for n in range(MANY_PAGES + 3)]
    home = [f"/old/{n}" for n in range(MANY_REDIRECTS + 2)]
    listed = "".join(f'<a href="{path}">{path}</a> ' for path in (*same, *home))
    site = {"/": page(listed + text(1, 90))}
    site |= {path: page("<title>Hello</title><p>Please come in and look around.</p>") for path in same}
    site |= {path: Answer("", status=302, headers={"Location": "/"}) for path in home}
    with SmallServer(site) as server:
        gossamer("crawl", f"{server.base}/", "--dir", tmp_path / "crawl", *LOCAL)
        found = pages_by_path(tmp_path / "crawl")

    # The first is stored, ten are duplicates like any others.
    assert sum(found[path]["reason"] == "soft_404" for path in same) == 2
    assert sum(found[path]["reason"] == "soft_404" for path in home) == 2
    assert {found[path]["state"] for path in home} == {"redirect"}


def test_a_near_duplicate_of_a_page_of_another_host_is_one(tmp_path: Path) -> None:
    body = text(3, 300)
    with (
        SmallServer({"/": page(body)}) as one,
        SmallServer({"/": page(body + " changed")}) as other,
    ):
        ended = gossamer("crawl", f"{one.base}/", f"{other.base}/", "--dir", tmp_path / "crawl", *LOCAL)

    assert (ended.report["pages"], ended.report["near_duplicates"]) == (2, 1)


def test_evidence_for_soft_404s_outlives_the_process(tmp_path: Path) -> None:
    def site(path: str, before: int) -> Answer:
        if path == "/":
            return links(*(f"/gone/{n}" for n in range(8)))
        return Answer("", 404) if path == "/robots.txt" else Answer(f"<title>Not found</title><p>{path}")

    with SmallServer(site) as server:
        options = ("--dir", tmp_path / "crawl", "--allow-private", "--delay", 0, "--delay-factor", 0, "--quiet")
        assert gossamer("crawl", server.base, *options, "--max-pages", 3).status == 0
        assert gossamer("crawl", *options).status == 0
        pages = pages_by_path(tmp_path / "crawl")

    reasons = [row["reason"] for path, row in pages.items() if path.startswith("/gone/")]
    assert len(reasons) == 8
    assert sum(reason != "soft_404" for reason in reasons) == 1  # the first is taken at its word, in the first run
