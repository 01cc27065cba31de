"""`gossamer migrate`: brings the tables of a crawl on PostgreSQL up to date."""

import argparse

from gossamer.cli import argparse_types as given
from gossamer.cli.open_crawl import location_named
from gossamer.crawl.run.location import store_kind
from gossamer.crawl.run.opener import migrate_store, schema_state, shown_crawl
from gossamer.errors import UsageError
from gossamer.observe.formatter import number_of

USAGE = "--store URL [--check]"
DESCRIPTION = """\
Bring the tables of a crawl on PostgreSQL up to date after an upgrade, while no
worker is alive. A worker of another version refuses to join until then. Make a
backup first: there is no way back. Crawls in a directory are brought up to date
when they are next started, and need no command."""
EXAMPLE = """\
  gossamer migrate --store postgresql://db/crawl --check
  gossamer migrate --store postgresql://db/crawl"""

PENDING = 1
"""Exit status of `--check` if there is something to do."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--store", metavar="URL", help="store of the crawl: postgresql://HOST/DATABASE")
    parser.add_argument(
        "--check", action="store_true", help="only say what would be done; exit status 1 if there is something to do"
    )


def run(arguments: argparse.Namespace) -> int:
    store = given.text(arguments, "store")
    if store is None or not store_kind(store).is_shared:
        raise UsageError("--store: name the store of a crawl that workers share, such as postgresql://HOST/DATABASE")
    location = location_named({"store": store, "dir": "crawl"})
    found = schema_state(location)
    place = shown_crawl(location)
    if not found.pending:
        print(f"{place} has schema {found.version}, which this Gossamer uses: nothing to do")
        return 0
    if given.flag(arguments, "check"):
        many = number_of(len(found.pending), "migration")
        print(f"{place} has schema {found.version}, and this Gossamer uses schema {found.needed}: {many} to run")
        return PENDING
    migrate_store(location)
    print(f"{place} is migrated from schema {found.version} to {found.needed}; start the workers again")
    return 0
