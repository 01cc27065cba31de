"""A crawl whose archive is in another place than its directory."""

from pathlib import Path

import pytest

from tests.integration.crawl_process import gossamer
from tests.integration.small_server import SmallServer, links, page

pytestmark = pytest.mark.service


def test_captures_go_to_the_named_archive_and_are_found_there_again(tmp_path: Path) -> None:
    store, blobs = f"sqlite:{tmp_path / 'crawl'}", f"file:{tmp_path / 'captures'}"
    with SmallServer({"/": links("/a"), "/a": page("page a")}) as server:
        options = ("--allow-private", "--delay", 0.01, "--delay-factor", 0, "--quiet")
        ended = gossamer("crawl", server.base + "/", "--store", store, "--blobs", blobs, *options)
        assert ended.status == 0, ended.err

    assert len(list((tmp_path / "captures").glob("*.warc.gz"))) == 1
    assert not (tmp_path / "crawl" / "warc").exists()
    for words in (["--store", store, "--blobs", blobs], ["--dir", tmp_path / "crawl"]):  # given, or remembered
        assert gossamer("verify", "--json", *words).report["records"] == 5
        assert len(gossamer("export", "--what", "text", "--quiet", *words).lines) == 2
        assert len(gossamer("index", "-o", "-", "--quiet", *words).out.splitlines()) == 2
        archived = gossamer("explain", server.base + "/a", "--json", *words).report["archive"]
        assert isinstance(archived, dict) and archived["problem"] is None
    assert gossamer("verify", "--repair", "--json", "--dir", tmp_path / "crawl").report["sound"]
