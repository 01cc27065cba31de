"""The simulated web over TLS as a command, and a crawl that trusts it by the file it wrote."""

import json
import ssl
from pathlib import Path

import pytest

from tests.integration.crawl_process import Command, Json, gossamer

pytestmark = pytest.mark.service


def ready(web: Command) -> Json:
    """What the command prints when it serves."""
    assert web.process.stdout is not None
    found = json.loads(web.process.stdout.readline())
    assert isinstance(found, dict)
    return found


def test_a_web_over_tls_is_crawled_with_the_certificate_that_it_wrote(tmp_path: Path) -> None:
    trusted, settings = tmp_path / "ca.pem", tmp_path / "gossamer.toml"
    settings.write_text(f'[fetch]\nca_bundle = "{trusted}"\n')
    options = ("--hosts", 4, "--pages", 40, "--tls", "--ca-file", trusted)
    with Command("simweb", *options) as web:
        said = ready(web)
        seeds = said["seeds"]
        assert isinstance(seeds, list)
        common = ("--dns", said["dns"], "--allow-private", "--scope", "tld:test", "--delay", 0.01, "--json", "--quiet")
        known = gossamer("crawl", seeds[0], "--dir", tmp_path / "known", "--config", settings, *common)
        stranger = gossamer("crawl", seeds[0], "--dir", tmp_path / "stranger", *common)

    assert said["ca_file"] == str(trusted)
    assert seeds[0].startswith("https://")
    ssl.create_default_context(cafile=trusted)  # it is one, and it stays
    assert known.status == 0, known.err
    pages = known.report["pages"]
    assert isinstance(pages, int) and pages >= 1
    assert stranger.report["pages"] == 0


def test_without_a_place_for_it_the_certificate_is_where_the_first_line_says(tmp_path: Path) -> None:
    with Command("simweb", "--hosts", 2, "--pages", 10, "--tls") as web:
        said = ready(web)

        ssl.create_default_context(cafile=str(said["ca_file"]))
