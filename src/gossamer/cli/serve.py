"""`gossamer serve`: the crawl as a service."""

import argparse
import importlib.util
import sys
from pathlib import Path
from typing import Annotated, Literal, NotRequired, TypedDict

from gossamer.cli import argparse_types as given
from gossamer.cli.config_options import add_options, config_from
from gossamer.cli.crawl import seeds_of_queries, warn_of_blocked
from gossamer.cli.open_crawl import remembered_by_crawl, tell_of_spools
from gossamer.config.load import Config
from gossamer.config.policies import canonicaliser_for, check_config
from gossamer.crawl.run.directory import TOKEN
from gossamer.crawl.run.location import CrawlLocation, store_kind
from gossamer.crawl.run.private_store import shared_store
from gossamer.errors import MissingExtra, UsageError
from gossamer.observe.formatter import json_line, printable
from gossamer.seed.lists import Seed, read_arguments

USAGE = "[URL...] [--query TEXT] [--dir DIR] [--port N] [options]"
DESCRIPTION = """\
Run a crawl that is controlled over HTTP: seeds, limits, pause and resume, dead
letters; see docs/SERVICE.md. Binds to localhost by default. Changes need the
token in DIR/service.token. Pages are visited again when they are due, unless
--no-keep-fresh is given; with nothing to do, the crawl waits for seeds. Ctrl-C
stops it. On PostgreSQL any number of services and workers share the crawl:
--workers N starts N of them, --workers 0 none, and every service shows and
steers all."""
EXAMPLE = """\
  gossamer serve --dir news --port 8470
  gossamer serve --store postgresql://db/crawl --workers 0
  curl -H "Authorization: Bearer $(cat news/service.token)" -H 'Content-Type: application/json' \\
       -d '{"urls": ["https://example.org/"]}' http://127.0.0.1:8470/seed/urls"""

_NOT_OURS = ("seeds", "min_pages", "json", "quiet")


class ServeObject(TypedDict):
    """`serve/1`."""

    v: Literal[1]
    address: Annotated[str, "URL of the service"]
    token_file: str
    metrics_address: NotRequired[Annotated[str, "URL of the port for metrics, if there is one"]]


def configure(parser: argparse.ArgumentParser) -> None:
    from gossamer.cli.config_options import OPTIONS

    parser.add_argument("urls", nargs="*", metavar="URL", help="a seed; more can be added over HTTP")
    parser.add_argument("--config", metavar="FILE", help="configuration file (default: gossamer.toml if present)")
    add_options(parser, tuple(option.key for option in OPTIONS if option.key not in _NOT_OURS))
    parser.add_argument("--json", action="store_true", help="print the address as a JSON object")


def run(arguments: argparse.Namespace) -> int:
    if importlib.util.find_spec("fastapi") is None:
        raise MissingExtra("gossamer serve", "fastapi", "serve")
    file, workers = given.path(arguments, "config"), given.whole(arguments, "option_workers")
    if workers == 0:  # not a value of the setting, which counts the processes of a crawl
        arguments.option_workers = 1
    remembered = remembered_by_crawl(arguments, file)
    remembered.pop("workers", None)  # those of the last start may be running
    unless_said = {**remembered, "recrawl": {"keep_fresh": True}}

    def configured() -> Config:
        return config_from(arguments, file, unless_said)

    config = configured()
    workers = config.workers if workers is None else workers
    check_config(config)
    if store_kind(config.store).one_process:
        raise UsageError(
            f"--store: gossamer serve reads its store from two processes, so {config.store} cannot be used"
        )
    if workers == 0 and not store_kind(config.store).is_shared:
        raise UsageError(
            "--workers 0: a service without workers is for a store that workers share: name it with --store "
            "postgresql://HOST/DATABASE"
        )
    seeds: list[Seed] = read_arguments(given.texts(arguments, "urls"), canonicaliser_for(config).canonicalise)
    seeds += seeds_of_queries(config, add_seeds=True)
    warn_of_blocked(config, seeds)
    as_json = given.flag(arguments, "json")
    if as_json and config.log.pages == "-":
        raise UsageError("--log-pages: with --json, standard output has the address and nothing else; name a file")

    from gossamer.service.server import Addresses, dashboard_url, serve

    def ready(addresses: Addresses, directory: Path) -> None:
        token = directory / TOKEN
        if as_json:
            about: ServeObject = {"v": 1, "address": addresses.service, "token_file": str(token)}
            if addresses.metrics is not None:
                about["metrics_address"] = addresses.metrics
            print(json_line(about), flush=True)
            return
        print(f"Dashboard: {dashboard_url(addresses.service)} (token: {printable(str(token))})", file=sys.stderr)
        if addresses.metrics is not None:
            print(f"Metrics: {addresses.metrics}metrics", file=sys.stderr)

    with shared_store(config) as store:
        if workers != 1:
            from gossamer.service.shared_server import serve_shared

            status = serve_shared(store, seeds, workers=workers, on_ready=ready, reread=configured)
        else:
            status = serve(store, seeds, add_seeds=True, on_ready=ready, reread=configured)
        tell_of_spools(CrawlLocation.of(store.config))
        return status
