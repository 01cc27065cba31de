"""`gossamer crawl`: the crawl itself."""

import argparse
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TextIO

from gossamer.cli import argparse_types as given
from gossamer.cli.config_options import add_options, config_from
from gossamer.cli.open_crawl import remembered_by_crawl, tell_of_spools
from gossamer.config.load import Config
from gossamer.config.overrides import OVERRIDES_KEY, Overrides
from gossamer.crawl.run.directory import ARCHIVE, DATABASE, LOG, SERVER, refuse_other_store
from gossamer.crawl.run.location import CrawlLocation, archive_folder, is_on_server, store_kind
from gossamer.crawl.run.opener import archive_in, crawl_exists, open_crawl, shown_crawl
from gossamer.crawl.run.private_store import SharedStore, has_private_store, shared_store
from gossamer.errors import NotThisCrawl, UsageError
from gossamer.observe.display import choose_display
from gossamer.observe.formatter import count, json_line, number_of, printable
from gossamer.observe.report import CrawlFiles, print_report
from gossamer.observe.snapshot import Snapshot, to_contract
from gossamer.seed.lists import Seed, blocked_seeds

TOO_FEW_PAGES = 3  # exit status
BLOCKED = "blocked_address"
_MOST_NAMED = 5  # hosts that are named at the end

USAGE = "[URL...] [options]"
DESCRIPTION = """\
Crawl from the given URLs until nothing is left, a limit is reached or you
press Ctrl-C (once: finish the visits in flight; twice: stop at once). Run the
same command again to resume.

Most options are also keys of gossamer.toml; the command line takes precedence.
SIGHUP reloads scope, limits, [filter], [host], [[priority.rules]] and [recrawl]
from the file (see docs/OPERATING.md)."""

EXAMPLE = """\
  gossamer crawl https://example.org/ --max-pages 1000 --user-agent 'mybot/1.0 (+https://example.org/)'
  gossamer crawl --seeds urls.txt --scope domain --dir news
  gossamer crawl --query 'tidal power' --dir tides
  gossamer crawl --dir news                            (resume)"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("urls", nargs="*", metavar="URL", help="a seed; https:// is added if it has no scheme")
    parser.add_argument("--config", metavar="FILE", help="configuration file (default: gossamer.toml if present)")
    parser.add_argument("--more", type=int, metavar="N", help="store N more documents, then stop")
    parser.add_argument("--add-seeds", action="store_true", help="add the URLs to the crawl in the directory")
    add_options(parser)


def run(arguments: argparse.Namespace) -> int:
    file = given.path(arguments, "config")
    remembered = remembered_by_crawl(arguments, file)  # of the last start; this one will be remembered instead

    def configured() -> Config:
        return config_from(arguments, file, remembered)

    config = configured()
    if (more := given.at_least(1, given.whole(arguments, "more"), "--more")) is not None:
        if given.whole(arguments, "option_max_pages") is not None:
            raise UsageError("--more: cannot be combined with --max-pages; give one of them")
        arguments.option_max_pages = stored_pages(CrawlLocation.of(config)) + more
        config = configured()
    add_seeds = given.flag(arguments, "add_seeds")
    seeds = seeds_for(config, given.texts(arguments, "urls"), add_seeds=add_seeds)
    warn_of_blocked(config, seeds)
    return crawl_and_report(config, seeds, add_seeds=add_seeds, more=more, reread=configured)


def stored_pages(location: CrawlLocation) -> int:
    """How many documents a crawl has stored; 0 if there is none yet."""
    if not crawl_exists(location):
        return 0
    with open_crawl(location) as crawl:
        pages = crawl.reader.status.totals()["pages"]
    return pages if isinstance(pages, int) else 0


def seeds_for(config: Config, urls: Sequence[str], *, add_seeds: bool = False) -> list[Seed]:
    """The seeds given as arguments, in the seeds file and by search engines.

    Raises UsageError where a crawl cannot start without any, SearchFailed where an engine gives none.
    """
    from gossamer.config.policies import canonicaliser_for, check_config
    from gossamer.seed.lists import read_arguments, read_seed_file

    check_config(config)
    canonicalise = canonicaliser_for(config).canonicalise
    seeds = {seed.url: seed for seed in read_arguments(urls, canonicalise)}
    if config.seeds is not None:
        for seed in read_seed_file(config.seeds, canonicalise, sys.stdin.buffer):
            seeds.setdefault(seed.url, seed)
    for seed in seeds_of_queries(config, add_seeds):
        seeds.setdefault(seed.url, seed)
    if not seeds and not crawl_exists(CrawlLocation.of(config)):
        if store_kind(config.store).in_directory:
            refuse_other_store(Path(config.dir))
        raise UsageError(
            "nothing to crawl: give a URL, --seeds FILE or --query TEXT (there is no crawl in "
            f"{shown_crawl(CrawlLocation.of(config))!r} to resume either)"
        )
    return list(seeds.values())


def warn_of_blocked(config: Config, seeds: Sequence[Seed]) -> None:
    """Print a warning for each seed that is a private or loopback address, which will be excluded. Raises BadSeed if
    all are."""
    from gossamer.config.policies import seed_addresses_for

    for warning in blocked_seeds(seeds, seed_addresses_for(config)):
        print(f"gossamer: warning: {printable(warning)}", file=sys.stderr)


def seeds_of_queries(config: Config, add_seeds: bool) -> list[Seed]:
    """The results of the queries that were not asked before. Raises as `queries_to_ask` and `seeds_from_queries` do."""
    queries = queries_to_ask(config, add_seeds)
    if not queries:
        return []
    from gossamer.crawl.run.search import seeds_from_queries

    return seeds_from_queries(config, queries)


def queries_to_ask(config: Config, add_seeds: bool) -> list[str]:
    """The queries whose results are no seeds of the crawl yet: one that is resumed is not asked again, since the engine
    may say something else today. Raises NotThisCrawl where a new query would need --add-seeds."""
    from gossamer.seed.search import place_of

    queries = config.search.queries
    location = CrawlLocation.of(config)
    if not queries or not crawl_exists(location):
        return list(queries)
    with open_crawl(location) as crawl:
        places = crawl.reader.status.seed_sources()
    new = [query for query in queries if place_of(query) not in places]
    if new and places and not add_seeds:
        raise NotThisCrawl(
            f"{shown_crawl(location)} holds a crawl that was not started with the query {new[0]!r}; use another --dir, "
            "or --add-seeds to add its results to this crawl"
        )
    return new


def crawl_and_report(
    config: Config,
    seeds: list[Seed],
    *,
    add_seeds: bool = False,
    more: int | None = None,
    reread: Callable[[], Config] | None = None,
    steps: Sequence[tuple[str, str, str]] = (),
) -> int:
    """Run the crawl with its display, then print the report. `more` is the value of `--more`, `steps` are further rows
    of "Next steps" in the report. Returns the exit status."""
    with shared_store(config) as store:
        code, last = _run_crawl(store, seeds, add_seeds, reread)
        with one_interrupt_ignored():
            return _report(store.config, code, last, more, steps)


@contextmanager
def one_interrupt_ignored() -> Iterator[None]:
    """During the block, ignore the first Ctrl-C: it was meant for the crawl, which has ended meanwhile."""

    def ignore(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, ignore)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _run_crawl(
    store: SharedStore, seeds: list[Seed], add_seeds: bool, reread: Callable[[], Config] | None
) -> tuple[int, Snapshot]:
    config = store.config
    display = choose_display(config, sys.stderr, shared=config.log.pages == "-" and sys.stdout.isatty())
    try:
        if config.workers == 1 and store.restart is None:
            from gossamer.crawl.run.signals import run_crawl

            return run_crawl(config, seeds, add_seeds=add_seeds, display=display, reread=reread)
        from gossamer.workers.local_workers import run_local_workers

        return run_local_workers(store, seeds, add_seeds=add_seeds, display=display, reread=reread)
    finally:
        display.close()


def _report(config: Config, code: int, last: Snapshot, more: int | None, steps: Sequence[tuple[str, str, str]]) -> int:
    """Print the results. Returns the exit status."""
    print_results(config, last, sys.stdout, sys.stderr, more=more, steps=steps)
    location = CrawlLocation.of(config)
    tell_of_spools(location)
    if not config.quiet and crawl_exists(location):
        if last.queued:
            _tell_of_paused(location, sys.stderr)
        if BLOCKED in last.excluded:
            _tell_of_blocked(location, sys.stderr)
    if code == 0 and config.min_pages is not None and last.pages < config.min_pages:
        stored = number_of(last.pages, "page")
        print(f"gossamer: error: {stored} stored, fewer than --min-pages {config.min_pages}", file=sys.stderr)
        return TOO_FEW_PAGES
    return code


def _tell_of_paused(location: CrawlLocation, err: TextIO) -> None:
    """Which hosts were left alone because somebody paused them through the service."""
    with open_crawl(location) as crawl:
        overrides = Overrides.from_text(crawl.reader.status.fact(OVERRIDES_KEY))
    if paused := sorted(overrides.hosts.paused):
        print(
            f"{number_of(len(paused), 'host')} paused through the service, so not contacted: {_some_of(paused)}. "
            'To resume: gossamer serve, then POST /hosts/HOST {"action": "resume"}',
            file=err,
        )


def _tell_of_blocked(location: CrawlLocation, err: TextIO) -> None:
    """Which hosts have no address that may be dialled, and the option that permits it."""
    hosts: set[str] = set()
    with open_crawl(location) as crawl:
        for chunk in crawl.reader.dead_letters.excluded((BLOCKED,)):
            hosts.update(host for _, _, host, *_ in chunk)
    if hosts:
        which = "host has" if len(hosts) == 1 else "hosts have"
        print(
            f"{count(len(hosts))} {which} only private or loopback addresses, so not contacted: "
            f"{_some_of(sorted(hosts))}. --allow-private permits them, --allow-network NETWORK those of a network",
            file=err,
        )


def _some_of(hosts: Sequence[str]) -> str:
    return ", ".join(map(printable, hosts[:_MOST_NAMED])) + (" …" if len(hosts) > _MOST_NAMED else "")


def command_name(program: Path) -> str:
    """How to call Gossamer from here: by its path if it is not on the search path."""
    if program.name != "gossamer" or shutil.which("gossamer"):
        return "gossamer"
    here = Path.cwd()
    return str(program.relative_to(here)) if program.is_relative_to(here) else str(program)


def print_results(
    config: Config,
    last: Snapshot,
    out: TextIO,
    err: TextIO,
    *,
    more: int | None = None,
    steps: Sequence[tuple[str, str, str]] = (),
) -> None:
    """The report, and with --json the contract's object as the last line of `out`. The report is not on `out` where
    the page log or the object is."""
    if not config.quiet:
        directory = Path(config.dir)
        files = files_of(CrawlLocation.of(config))
        stream = err if config.json or config.log.pages == "-" else out
        program = command_name(Path(sys.argv[0]))
        print_report(
            last, directory, stream, files, max_pages=config.max_pages, more=more, program=program, steps=steps
        )
    if config.json:
        print(json_line(to_contract(last)), file=out, flush=True)


def files_of(location: CrawlLocation) -> CrawlFiles:
    """Where the results of a crawl are, and how much is in its archive."""
    folder = archive_folder(location.blobs)
    folders: list[Path | str] = []
    sizes: list[int] = []
    if location.blobs is not None and folder is None:
        folders = [location.blobs]
        if crawl_exists(location):
            with open_crawl(location) as crawl:
                sizes = list(crawl.reader.audit.archive_lengths().values())
    elif folder is not None or not store_kind(location.store).one_process:
        folders = [folder or location.directory / ARCHIVE]
        archive = archive_in(f"file:{folders[0]}", location.directory)
        sizes = [archive.size(name) or 0 for name in archive.files()]
    if has_private_store(location):
        store, databases = None, [str(location.directory / SERVER)]
    elif is_on_server(location):
        store = shown_crawl(location)
        databases = [store]
    else:
        database = location.directory / DATABASE
        store, databases = None, [str(database)] if database.exists() else []
    return CrawlFiles(folders, databases, location.directory / LOG, len(sizes), sum(sizes), store)
