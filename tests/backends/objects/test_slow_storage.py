"""Storage that takes long keeps no transaction of PostgreSQL open, and nothing is lost."""

import threading
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha1
from pathlib import Path

import psycopg
import pytest

from gossamer.backends.objects.captures import ObjectCaptures
from gossamer.backends.objects.delivery import ObjectDelivery
from gossamer.backends.objects.spool import Spool
from gossamer.backends.objects.storage import ObjectStorage
from gossamer.backends.postgres.tables import PostgresTables
from gossamer.clock import VirtualClock
from gossamer.errors import StoreFailed
from gossamer.model.batch import Batch
from gossamer.model.settlement import Capture
from gossamer.store.table.writer import TableWriter
from tests.backends.postgres.postgres_databases import PostgresDatabases
from tests.backends.table_store import START, FrontInUrl, candidate, domain_of, settlement
from tests.backends.warc.warc_samples import INFO, new_ids, response_of
from tests.s3_server import S3Server

PATIENCE = 600.0


class SlowStorage:
    """An S3 server that begins to take an object when the test lets it."""

    def __init__(self, storage: ObjectStorage) -> None:
        self._storage = storage
        self.asked, self.may_go_on = threading.Event(), threading.Event()
        self.names: list[str] = []

    def put(self, name: str, data: bytes) -> None:
        self.names.append(name)
        self.asked.set()
        assert self.may_go_on.wait(PATIENCE)
        self._storage.put(name, data)


@pytest.mark.service
def test_a_transaction_begins_when_the_object_is_in_the_storage(
    s3: S3Server, postgres_databases: PostgresDatabases, tmp_path: Path
) -> None:
    storage = ObjectStorage(s3.url(f"crawls/{tmp_path.name}"))
    slow, clock = SlowStorage(storage), VirtualClock(START)
    delivery = ObjectDelivery(slow, lambda seconds: slow, Spool(tmp_path / "spool", 10_000), 10_000)
    captures = ObjectCaptures(delivery, epoch=77, info=INFO, ids=new_ids(1), clock=clock)
    with postgres_databases.one() as url, ThreadPoolExecutor(1) as thread, psycopg.connect(url, autocommit=True) as db:
        tables = PostgresTables(url, unsafe=True)
        writer = TableWriter(tables.open_writer(), captures, domain_of, FrontInUrl(), clock)
        writer.commit(Batch(candidates=[candidate("a.test", n) for n in (1, 2)]), clock.now())
        found = db.execute("SELECT id, host_id FROM urls ORDER BY id").fetchall()
        batch = Batch(candidates=[candidate("b.test", 3)])
        for number, (url_id, host_id) in enumerate(found):
            body = b"body %d" % number
            archived = settlement(url_id, host_id=host_id, body=body)
            batch.settle(archived._replace(capture=Capture(response_of(body), sha1(body).digest())))

        def unanswerable(new_seeds: object) -> str:
            raise StoreFailed("nobody is there")

        batch.answers[1] = unanswerable
        committing = thread.submit(writer.commit, batch, clock.now())
        while not slow.asked.wait(0.05):
            assert not committing.done(), committing.result()
        sessions = db.execute(
            "SELECT state, xact_start FROM pg_stat_activity WHERE datname = current_database() "
            "AND starts_with(application_name, 'gossamer')"
        ).fetchall()
        assert sessions == [("idle", None)]
        slow.may_go_on.set()
        with pytest.raises(StoreFailed):
            committing.result(PATIENCE)
        assert db.execute("SELECT count(*) FROM captures").fetchone() == (0,)

        batch.answers.clear()
        writer.commit(batch, clock.now())  # the transaction again, with the same object

        assert slow.names == ["77/00000001.warc.gz"]
        assert db.execute("SELECT count(*) FROM captures").fetchone() == (2,)
        assert db.execute("SELECT name, committed FROM warc_files").fetchall() == [
            (slow.names[0], storage.size(slow.names[0]))
        ]
        writer.close()
