"""One life of a worker, on a real server."""

from contextlib import closing
from pathlib import Path

import psycopg

from gossamer.backends.postgres.tables import PostgresTables
from gossamer.cluster.heartbeat import Member as Living
from gossamer.cluster.heartbeat import View
from gossamer.cluster.lease import LeaseTerms
from gossamer.crawl.run.member import Member, WorkerFile
from gossamer.frontier.politeness import PolitenessPolicy
from gossamer.model.units import Epoch, Instant
from tests.backends.postgres.postgres_databases import PostgresDatabases

EPOCH = Epoch(7)


def seen(state: str, beat: int) -> View:
    """What a worker reads with its heartbeat of this number."""
    return View(state, 1, 1, (Living(EPOCH, "worker", beat, 1.0, False),), ())


def test_the_end_of_the_last_run_does_not_end_the_next_one(
    tmp_path: Path, postgres_databases: PostgresDatabases
) -> None:
    """The first heartbeats may be sent before the next run has begun."""
    with postgres_databases.one() as url, psycopg.connect(url, autocommit=True) as server:
        tables, policy = PostgresTables(url, unsafe=True), PolitenessPolicy()
        tables.prepare()
        file = WorkerFile(tmp_path)
        member = Member(tables, file, "worker", policy, "gossamer", LeaseTerms(), epoch=EPOCH, version="1")
        with closing(member):
            member.join()
            server.execute("UPDATE crawl SET state = 'page_limit'")
            server.execute("UPDATE workers SET beat = 3")

            member.start_run(None, Instant(1.0))

            assert server.execute("SELECT state FROM crawl").fetchone() == ("running",)
            assert member.state_of_run(seen("page_limit", 3)) == "running"
            assert member.state_of_run(seen("page_limit", 4)) == "running"  # read by a heartbeat that was in progress
            assert member.state_of_run(seen("running", 4)) == "running"
            assert member.state_of_run(seen("finished", 5)) == "finished"
