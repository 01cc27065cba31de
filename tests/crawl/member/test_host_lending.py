"""Holds of hosts, on the side of the worker that owns them."""

from types import SimpleNamespace
from typing import Any, cast

from gossamer.backends.postgres.tables import PostgresTables
from gossamer.cluster import host_holds, inbox
from gossamer.crawl.member.host_lending import HostLending
from gossamer.filter.domains import domain_of
from gossamer.model.units import HostKey
from gossamer.store.table.writer import TableWriter
from tests.backends.postgres.postgres_databases import PostgresDatabases
from tests.backends.table_store import Store

HOST = HostKey("www.other.test")


def test_a_host_without_a_row_is_held_in_one(postgres_databases: PostgresDatabases) -> None:
    """Its next owner knows of the hold only from there."""
    with postgres_databases.one() as url:
        store = Store(PostgresTables(url, unsafe=True))
        db = store.database
        writer = TableWriter(db, store.captures, domain_of, store.ordering, store.clock)
        host_holds.ask(db, 0, HOST, 0.0)
        (message,) = inbox.read(db, [0])
        lending = HostLending(
            cast(Any, SimpleNamespace(clock=store.clock)),
            cast(Any, None),
            cast(Any, SimpleNamespace(owns=lambda part: True)),
            cast(Any, None),
        )

        granted = [lending._grant(writer, message)]
        host_holds.ask(db, 0, HOST, 0.0)
        granted += [lending._grant(writer, again) for again in inbox.read(db, [0])]

        assert [each is not None and each.created for each in granted] == [1, 0]
        assert granted[-1] is not None
        assert store.value("SELECT next_contact FROM hosts") == granted[-1].at + host_holds.HELD_FOR
        assert store.value("SELECT count(*) FROM inbox") == 0
        store.close()
