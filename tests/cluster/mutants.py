"""The protocol with one of its parts missing: the judge must notice each of them."""

from collections.abc import Mapping

from gossamer.cluster.handover import Released, RestPolicy
from gossamer.cluster.lease import Lease
from gossamer.cluster.watch import Silent, Watch
from gossamer.model.units import Epoch, Seconds
from tests.cluster.mini_crawl import POLICY, TERMS
from tests.cluster.protocol_worker import Mutant


class _EndlessLease(Lease):
    def may_start(self, now: float) -> bool:
        return self._sent is not None

    def end(self) -> float:
        return float("inf")


class _NoRest(RestPolicy):
    def rest(self, released: Released, gap: Seconds) -> Seconds:
        return Seconds(0.0)


class _ByAge(Watch):
    """The counters are ages here, in milliseconds, by the clock of the server."""

    def observe(self, beats: Mapping[Epoch, int], now: float) -> list[Silent]:
        return [Silent(epoch, 0) for epoch, age in beats.items() if age > 1000 * TERMS.silence]


_AGE = "(1000 * extract(epoch FROM clock_timestamp()))::bigint - w.beat"

MUTANTS = (
    Mutant(
        "no fence",
        {"pass_fence": "UPDATE fence SET commits = $2::bigint + 1, stored = $3 WHERE epoch = $1 AND commits = $2"},
    ),
    Mutant(
        "the fence does not count commits",
        {"pass_fence": "UPDATE fence SET commits = $2::bigint + 1, stored = $3 WHERE epoch = $1 AND alive"},
    ),
    Mutant(
        "the inbox is emptied up to an id",
        {
            "delete_from_inbox": """WITH read AS (SELECT * FROM unnest($1::smallint[], $2::bigint[]) t (part, id)),
                last AS (SELECT part, max(id) AS id FROM read GROUP BY part),
                gone AS (DELETE FROM inbox i USING last l WHERE i.part = l.part AND i.id <= l.id)
                SELECT 1 FROM read"""
        },
    ),
    Mutant("no rest after taking", policy=_NoRest(POLICY.longest_gap, POLICY.ttl)),
    Mutant(
        "death by timestamps",
        {
            "beat": """UPDATE workers SET beat = (1000 * extract(epoch FROM clock_timestamp()))::bigint, stats = $2
                WHERE epoch = $1""",
            "members": f"""SELECT f.epoch, w.name, CASE w.beat WHEN 0 THEN 0 ELSE {_AGE} END, w.weight,
                w.state = 'draining' FROM fence f JOIN workers w USING (epoch) WHERE f.alive""",
            "beat_of": f"""SELECT CASE WHEN w.beat > 0 AND {_AGE} > {1000 * TERMS.silence} THEN 0 ELSE 1 END
                FROM workers w WHERE epoch = $1""",
        },
        watch=lambda: _ByAge(TERMS),
    ),
    Mutant("no lease check", lease=lambda: _EndlessLease(TERMS)),
    Mutant("the end in one statement", {"lock_crawl": "SELECT state, max_pages FROM crawl"}),
    Mutant(
        "a dead worker keeps its grant",
        {"pages_spoken_for": "SELECT coalesce(sum(granted), 0)::bigint, count(*) FILTER (WHERE alive) FROM fence"},
    ),
)
