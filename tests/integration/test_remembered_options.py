"""A crawl is resumed as it was started, without saying everything again; what is said counts."""

from pathlib import Path

import pytest

from tests.integration.crawl_process import Json, gossamer
from tests.integration.small_server import Answer, SmallServer, links, page

pytestmark = pytest.mark.service


def site() -> dict[str, Answer]:
    return {
        "/": links("/a", "/b/old", "/c?utm_source=x"),
        "/a": links("/a/deep"),
        "/a/deep": links("/a/deeper"),
        "/a/deeper": page("deeper"),
        "/b/old": page("old"),
        "/c": page("c"),
    }


def found(folder: Path) -> set[str]:
    return {"/" + str(p["url"]).split("/", 3)[3] for p in gossamer("pages", "--dir", folder, "--json").lines}


def status(folder: Path) -> Json:
    return gossamer("status", "--dir", folder, "--json").report


def test_a_resume_goes_on_with_the_options_of_the_start(tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_text('[filter]\nexclude = ["*/old"]\n[identity]\ntracking = "remove"\n')
    folder = tmp_path / "crawl"
    with SmallServer(site()) as server:
        start = ("crawl", f"{server.base}/", "--dir", folder, "--delay", 0.02, "--json", "--quiet")
        shaped = ("--config", tmp_path / "my.toml", "--allow-private", "--max-depth", 2, "--order", "bfs")
        gossamer(*start, *shaped, "--max-pages", 1)
        between = status(folder)["options"]
        resumed = gossamer("crawl", "--dir", folder, "--delay", 0.02, "--json", "--quiet", cwd=tmp_path)
        old = gossamer("explain", f"{server.base}/b/old", "--dir", folder, cwd=tmp_path)

    assert resumed.status == 0, resumed.err
    assert resumed.report["finished"] is True
    assert found(folder) == {"/", "/a", "/a/deep", "/c"}
    assert isinstance(between, dict)
    assert (between["max_depth"], between["order"], between["allow_private"]) == (2, "bfs", True)
    assert between["filter"]["exclude"] == ["*/old"] and between["identity"]["tracking"] == "remove"
    assert status(folder)["options"] == between
    assert "pattern (excluded by */old)" in old.out
    shown = gossamer("status", "--dir", folder).out.partition("Stored settings")[2]
    assert {"max_depth", "order", "allow_private", "filter.exclude", "identity.tracking"} == {
        line.split()[0] for line in shown.splitlines() if line.strip()
    }


def test_the_command_line_and_the_file_win_over_what_is_remembered(tmp_path: Path) -> None:
    (tmp_path / "start.toml").write_text(
        'max_depth = 0\n[filter]\nexclude = ["*/a"]\n[identity]\ntracking = "remove"\n'
    )
    (tmp_path / "again.toml").write_text('[filter]\nexclude = ["*/deep"]\n')
    folder = tmp_path / "crawl"
    with SmallServer(site()) as server:
        usual = ("--dir", folder, "--delay", 0.02, "--allow-private", "--quiet")
        gossamer("crawl", f"{server.base}/", *usual, "--config", tmp_path / "start.toml")
        assert found(folder) == {"/"}
        gossamer(
            "crawl", f"{server.base}/x", *usual, "--config", tmp_path / "again.toml", "--max-depth", 9, "--add-seeds"
        )

    kept = status(folder)["options"]
    assert isinstance(kept, dict)
    assert kept["max_depth"] == 9
    assert kept["filter"]["exclude"] == ["*/deep"]
    assert kept["identity"]["tracking"] == "remove"  # as at the start


def test_a_start_that_is_refused_changes_nothing_that_is_remembered(tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    with SmallServer({"/": page("x")}) as server:
        usual = ("--dir", folder, "--delay", 0.02, "--allow-private", "--quiet")
        gossamer("crawl", f"{server.base}/", *usual, "--max-depth", 3)
        refused = gossamer("crawl", f"{server.base}/other", *usual, "--max-depth", 7)

    assert refused.status == 1
    kept = status(folder)["options"]
    assert isinstance(kept, dict) and kept["max_depth"] == 3
