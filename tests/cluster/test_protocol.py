"""Workers share a crawl while everything fails that can fail: nothing is lost, stored twice or contacted too soon.

`GOSSAMER_PROTOCOL_SEEDS` sets how many runs there are. With `GOSSAMER_MUTANTS` the protocol with one part missing is
run as well, with that many seeds at most, until the judge notices.
"""

import os
from collections.abc import Iterator

import pytest

from tests.cluster.mutants import MUTANTS
from tests.cluster.protocol_run import FAULTS, Run
from tests.cluster.protocol_worker import Mutant
from tests.postgres_server import PostgresServer, running_postgres

pytestmark = pytest.mark.service

SEEDS = int(os.environ.get("GOSSAMER_PROTOCOL_SEEDS", "1"))
MUTANT_SEEDS = int(os.environ.get("GOSSAMER_MUTANTS", "0"))


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """Gets killed."""
    with running_postgres() as running:
        yield running


@pytest.mark.parametrize("seed", range(SEEDS))
def test_whatever_fails_nothing_is_lost_stored_twice_or_contacted_too_soon(seed: int, server: PostgresServer) -> None:
    verdict = Run(server, seed, limited=seed % 2 == 1).verdict()

    print(verdict)
    assert verdict.complaints == {}
    assert verdict.faults.keys() == set(FAULTS)


@pytest.mark.skipif(not MUTANT_SEEDS, reason="part of make soak; test_protocol_steps.py has a faster proof")
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_judge_notices_every_missing_part(mutant: Mutant, server: PostgresServer) -> None:
    for seed in range(MUTANT_SEEDS):
        verdict = Run(server, seed, mutant, limited="grant" in mutant.name, patience=60.0).verdict()
        print(mutant.name, seed, verdict)
        if verdict.complaints:
            return

    pytest.fail(f"no complaint in {MUTANT_SEEDS} runs without: {mutant.name}")
