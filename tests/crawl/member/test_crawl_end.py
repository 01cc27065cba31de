"""Runs of a crawl that workers share, on a real server."""

from contextlib import closing

import psycopg

from gossamer.backends.postgres.tables import PostgresTables
from gossamer.cluster.heartbeat import Member as Living
from gossamer.cluster.heartbeat import View
from gossamer.cluster.lease import LeaseTerms
from gossamer.cluster.membership import Membership
from gossamer.crawl.member.crawl_end import SharedRun
from gossamer.model.units import Epoch, Instant, Seconds
from tests.backends.postgres.postgres_databases import PostgresDatabases

EPOCH = Epoch(7)


def seen(state: str, beat: int) -> View:
    """What a worker reads with its heartbeat of this number."""
    return View(state, 1, 1, (Living(EPOCH, "worker", beat, 1.0, False),), ())


def test_the_end_of_the_last_run_does_not_end_the_next_one(postgres_databases: PostgresDatabases) -> None:
    """The first heartbeats may be sent before the next run has begun."""
    with postgres_databases.one() as url, psycopg.connect(url, autocommit=True) as server:
        tables = PostgresTables(url, unsafe=True)
        tables.prepare()
        with closing(tables.open_session(Seconds(5.0))) as session:
            Membership(session, EPOCH, "worker", LeaseTerms(), weight=1.0, version="1").join()
            run = SharedRun(session, EPOCH)
            server.execute("UPDATE crawl SET state = 'page_limit'")
            server.execute("UPDATE workers SET beat = 3")

            run.start(None, Instant(1.0))

            assert server.execute("SELECT state FROM crawl").fetchone() == ("running",)
            assert run.state_in(seen("page_limit", 3)) == "running"
            assert run.state_in(seen("page_limit", 4)) == "running"  # read by a heartbeat that was in progress
            assert run.state_in(seen("running", 4)) == "running"
            assert run.state_in(seen("finished", 5)) == "finished"
