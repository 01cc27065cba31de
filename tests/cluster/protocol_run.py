"""One run of the protocol: workers as threads, a real server, faults by chance, and the judge's verdict.

Faults happen after so many contacts, not after so many seconds, and the judge compares times at which a clock was read
with each other. So the verdict does not depend on the speed of the machine.
"""

import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from random import Random

import psycopg

from gossamer.backends.postgres.session import PostgresSession, cluster_schema, cluster_statements
from gossamer.cluster import crawl_end, inbox
from gossamer.cluster.inbox import Kind
from gossamer.errors import StoreFailed
from tests.cluster.faults import ServerClockStep, plain_connector
from tests.cluster.mini_crawl import SCHEMA, STATEMENTS, TERMS, WAITING, Judge, Web
from tests.cluster.protocol_worker import Directory, Life, Mutant, Surroundings
from tests.cluster.shared_time import now
from tests.postgres_server import PostgresServer

FAULTS = (
    *("kill", "kill in a transaction", "kill in a contact", "lose a machine", "lose a machine in a transaction"),
    *("pause", "pause in a transaction", "pause in a contact", "delay heartbeats"),
    *("answer lost, commit made", "answer lost, commit not made", "kill the server"),
    *("step the clock forward", "step the clock back"),
    *("join", "leave"),
)
"""Each of them happens at least once in a run."""


@dataclass
class Verdict:
    complaints: Counter[str]
    contacts: int
    pages: int
    faults: Counter[str]
    seconds: float
    lives: int = 0


@dataclass
class Run:
    """`patience`: seconds without a contact after which the crawl has stalled."""

    server: PostgresServer
    seed: int
    mutant: Mutant = field(default_factory=Mutant)
    limited: bool = False
    patience: float = 300.0

    def __post_init__(self) -> None:
        self.web = Web(self.seed)
        self.judge = Judge(self.web)
        self.chance = Random(self.seed)
        self.max_pages = self.web.size * 3 // 4 if self.limited else None
        self.step = ServerClockStep()
        self.lives: list[Life] = []
        self.homes: dict[Life, Directory] = {}

    def verdict(self) -> Verdict:
        began = now()
        url = self._create()
        self.around = Surroundings(url, self.web, self.judge, self.mutant, self.step)
        for _ in range(3):
            self._join()
        seeder = threading.Thread(target=self._seed_late, args=(url,), daemon=True)
        seeder.start()
        stalled = self._supervise()
        for life in self.lives:
            life.faults.killed = True
            life.join(60.0)
            for connection in life.faults.left_open:
                connection.close()
        seeder.join(60.0)
        failed = [life.error for life in self.lives if life.error is not None]
        if failed and not self.mutant.name:
            raise failed[0]
        with psycopg.connect(url) as connection:
            captured: dict[int, int] = dict(
                connection.execute("SELECT url_id, count(*) FROM captures GROUP BY url_id").fetchall()
            )
        complaints = self.judge.complaints(captured, self.max_pages)
        complaints["stalled"] = stalled
        complaints["broken assertion"] = len(failed)
        seconds = now() - began
        return Verdict(
            +complaints, len(self.judge.contacts), sum(captured.values()), self.judge.faults, seconds, len(self.lives)
        )

    def _create(self) -> str:
        url = self.server.create_database()
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(cluster_schema())
            connection.execute(SCHEMA)
        session = PostgresSession(plain_connector(url), WAITING, {**cluster_statements(), **STATEMENTS})
        session.execute("create_crawl", self.web.partitions, self.max_pages, 0.0)
        session.execute("create_partitions", self.web.partitions)
        inbox.send(session, [(self.web.part(page), Kind.URLS, page.to_bytes(4, "big")) for page in self.web.seeds()])
        session.close()
        return url

    def _supervise(self) -> bool:
        """Restart what ends and let faults happen, until the crawl is finished. Returns whether it has stalled."""
        planned = [*FAULTS, *self.chance.choices(FAULTS, k=5)]
        self.chance.shuffle(planned)
        pages = self.max_pages or self.web.size
        at = sorted(self.chance.randrange(10, int(pages * 0.9)) for _ in planned)
        due = list(zip(at, planned, strict=True))
        seen, since = 0, now()
        while True:
            for life in [
                life for life in self.lives if life.ended in ("killed", "ended", "failed") and life in self.homes
            ]:
                home = self.homes.pop(life)
                self._begin(Directory(f"{home.name}'") if life.faults.cut else home)
            if all(life.ended is not None for life in self.lives):
                return False
            contacts = len(self.judge.contacts)
            if contacts != seen:
                seen, since = contacts, now()
            if now() - since > self.patience:
                return True
            while due and due[0][0] <= contacts:
                self._fail(due.pop(0)[1])
            time.sleep(0.005)

    def _join(self) -> None:
        self._begin(Directory(f"worker {len(self.lives)}"))

    def _begin(self, home: Directory) -> None:
        life = Life(self.around, home, self.chance.getrandbits(32))
        self.lives.append(life)
        self.homes[life] = home
        life.start()

    def _fail(self, fault: str) -> None:
        self.judge.faults[fault] += 1
        if fault == "kill the server":
            self.server.kill()
            self.server.start()
            return
        if fault == "join":
            self._join()
            return
        life = self.chance.choice([life for life in self.lives if life.ended is None] or self.lives)
        faults = life.faults
        place = "transaction" if "transaction" in fault else "contact" if "contact" in fault else "anywhere"
        match fault.split()[0]:
            case "kill":
                faults.kill_at = place
            case "lose":
                faults.cut, faults.kill_at = True, place
            case "pause":
                faults.pause, faults.pause_at = 3 * TERMS.ttl, place
            case "delay":
                faults.delay_heartbeats_until = now() + 0.7 * TERMS.ttl
            case "step":
                faults.delay_heartbeats_until = now() + 0.7 * TERMS.ttl
                self.step.seconds += 3.0 if "forward" in fault else -2.0
            case "answer":
                faults.lose_answer, faults.lose_pages = "not made" if "not made" in fault else "made", True
            case "leave":
                if sum(not life.draining and life.ended is None for life in self.lives) > 2:
                    life.draining = True

    def _seed_late(self, url: str) -> None:
        """Seeds from outside, each when nearly everything else is stored, while the end is being decided."""
        session = PostgresSession(plain_connector(url), WAITING, {**cluster_statements(), **STATEMENTS})
        late = [] if self.limited else list(self.web.late)
        while late and any(life.ended is None for life in self.lives):
            page = late[-1]
            try:
                captured = len(session.fetch_all("captured"))
                if captured < self.web.size + len(self.judge.seeded) - 1:
                    time.sleep(0.01)
                    continue
                late.pop()
                self.judge.unsure.add(page)
                with session.transaction():
                    if session.fetch_value("share_crawl") in crawl_end.ENDED:
                        self.judge.unsure.discard(page)
                        break
                    inbox.send(session, [(self.web.part(page), Kind.URLS, page.to_bytes(4, "big"))])
                    time.sleep(TERMS.waiting / 3)
            except StoreFailed:
                time.sleep(0.01)
                continue
            self.judge.seeded.add(page)
        session.close()
