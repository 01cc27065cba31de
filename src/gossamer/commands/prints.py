"""The fingerprints that URLs have at another worker: each has a key of its own (`backends.sqlite.joined`)."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from gossamer.backends.sqlite.joined import PrintsOf
from gossamer.commands.options import config_from
from gossamer.commands.reading import remembered_by_crawl
from gossamer.explain.form import form_of, usual_fingerprints
from gossamer.model.units import HostKey, Url
from gossamer.rulebook import Rulebook


def prints_in(directory: Path) -> PrintsOf:
    """By the rules of a crawl: its own, and those of gossamer.toml."""
    found = argparse.Namespace(option_dir=str(directory))
    book = Rulebook(config_from(found, None, remembered_by_crawl(found, None)))
    hosts: dict[str, HostKey] = {}  # by the beginning of a URL

    def host_of(url: str) -> HostKey:
        start = url[: url.index("/", url.index("//") + 2)]
        host = hosts.get(start)
        if host is None:
            host = hosts[start] = form_of(url, url, book.canonicaliser).host or HostKey("")
        return host

    def prints_of(urls: Sequence[str], key: int) -> Sequence[int]:
        return usual_fingerprints(list(map(Url, urls)), list(map(host_of, urls)), key, book.identities)

    return prints_of
