"""What the reading commands share: which crawl is meant, and what it remembers."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from gossamer.cli import argparse_types as given
from gossamer.cli.config_options import config_from, keys_of, unsaid
from gossamer.config.load import known_shape
from gossamer.config.policies import PolicyCache
from gossamer.crawl.run.directory import holds_crawl, read_layout
from gossamer.crawl.run.opener import open_crawl
from gossamer.errors import NotThisCrawl
from gossamer.model.units import HostKey, Url
from gossamer.reports.explain.verdicts import form_of, usual_fingerprints
from gossamer.reports.records import FingerprintsOf


def add_directory_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dir", metavar="DIR", help="the crawl's directory (default: that of gossamer.toml, or crawl)")


def directory_of(arguments: argparse.Namespace) -> Path:
    """The crawl that is meant: `--dir`, else what gossamer.toml says, else ./crawl. Raises NotThisCrawl."""
    chosen = given.path(arguments, "dir")
    directory = chosen if chosen is not None else Path(config_from(argparse.Namespace(), None).dir)
    if not holds_crawl(directory):
        raise NotThisCrawl(f"there is no crawl in {str(directory)!r}; choose another with --dir")
    return directory


def remembered_by_crawl(arguments: argparse.Namespace, file: Path | None) -> dict[str, object]:
    """What the crawl that is meant remembers, as far as the file does not say it; nothing if there is no crawl yet."""
    directory = Path(config_from(arguments, file).dir)
    if not holds_crawl(directory):
        return {}
    try:
        if (layout := read_layout(directory)) is not None:
            remembered = layout[1]
        else:
            with open_crawl(directory) as crawl:
                remembered = crawl.reader.status.options()
    except NotThisCrawl:
        return {}  # what opens it for more than this says what is wrong with it
    return unsaid(known_shape(remembered), keys_of(file))


def fingerprints_in(directory: Path) -> FingerprintsOf:
    """Computes the fingerprints that URLs have at another worker, by the rules of the crawl and of gossamer.toml."""
    found = argparse.Namespace(option_dir=str(directory))
    book = PolicyCache(config_from(found, None, remembered_by_crawl(found, None)))
    hosts: dict[str, HostKey] = {}  # by the beginning of a URL

    def host_of(url: str) -> HostKey:
        start = url[: url.index("/", url.index("//") + 2)]
        host = hosts.get(start)
        if host is None:
            host = hosts[start] = form_of(url, url, book.canonicaliser).host or HostKey("")
        return host

    def fingerprints_of(urls: Sequence[str], key: int) -> Sequence[int]:
        return usual_fingerprints(list(map(Url, urls)), list(map(host_of, urls)), key, book.identities)

    return fingerprints_of
