"""Dead letters are classed: broken bodies are `corrupted`, everything else is `failed`."""

from pathlib import Path

import pytest

from tests.integration.crawl_process import gossamer
from tests.integration.raw_site import RawSite, answer

pytestmark = pytest.mark.service

BROKEN = {
    "/chunk": answer(b"zz\r\nno chunk\r\n", "Transfer-Encoding: chunked", length=False),
    "/length": answer(b"<p>half", "Content-Length: 1000"),
}
HOME = answer(b"<a href=/chunk></a><a href=/length></a><a href=/error></a>")
ERROR = b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n"


def test_broken_bodies_are_corrupted_and_other_failures_failed_and_each_class_is_listed_and_requeued_alone(
    tmp_path: Path,
) -> None:
    toml, crawl = tmp_path / "gossamer.toml", tmp_path / "crawl"
    toml.write_text("[retry]\nmax_tries = 1\n")
    with RawSite({"/": HOME, "/error": ERROR, **BROKEN}) as site:
        gossamer(
            "crawl", f"{site.base}/", "--dir", crawl, "--config", toml, "--allow-private", "--delay", 0.01, "--quiet"
        )

        def dead(*options: object) -> dict[str, object]:
            letters = gossamer("dead", "--dir", crawl, "--json", *options).lines
            return {str(letter["url"]).removeprefix(site.base): letter["class"] for letter in letters}

        corrupted = dict.fromkeys(BROKEN, "corrupted")
        assert dead() == {**corrupted, "/error": "failed"}
        assert dead("--class", "corrupted") == corrupted
        assert dead("--class", "failed") == {"/error": "failed"}

        requeued = gossamer("dead", "requeue", "--class", "corrupted", "--dir", crawl, "--json").report
        assert requeued == {"v": 1, "requeued": 2}
        assert dead() == {"/error": "failed"}
