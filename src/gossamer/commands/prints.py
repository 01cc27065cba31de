"""The fingerprints that URLs have at another worker: each has a key of its own (`backends.sqlite.joined_exporting`)."""

import argparse
from pathlib import Path

from gossamer.backends.sqlite.joined_exporting import PrintsOf
from gossamer.commands.options import config_from
from gossamer.commands.reading import remembered_by_crawl
from gossamer.explain.form import fingerprints_of, form_of
from gossamer.model.units import HostKey, Url
from gossamer.rulebook import Rulebook


def prints_in(directory: Path) -> PrintsOf:
    """By the rules of a crawl: its own, and those of gossamer.toml."""
    found = argparse.Namespace(option_dir=str(directory))
    book = Rulebook(config_from(found, None, remembered_by_crawl(found, None)))
    hosts: dict[str, HostKey] = {}  # by the beginning of a URL

    def prints_of(url: str, key: int) -> tuple[int, ...]:
        start = url[: url.index("/", url.index("//") + 2)]
        host = hosts.get(start)
        if host is None:
            host = hosts[start] = form_of(url, url, book.canonicaliser).host or HostKey("")
        return fingerprints_of(Url(url), host, key, book.identities)

    return prints_of
