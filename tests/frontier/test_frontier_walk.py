"""Random walks through everything that can happen to a frontier; each is a pure function of its seed.

One in fifty is long. `GOSSAMER_WALKS` sets how many there are; half of them by score, half by class.
"""

import os
import random

import pytest

from gossamer.frontier.decisions import FrontierLimits
from gossamer.model.task import Visit
from gossamer.model.units import HostId
from tests.frontier.frontier_world import MovingClasses, Points, World

WALKS = int(os.environ.get("GOSSAMER_WALKS", "400"))
BLOCK = 50
STEPS = 90
LONG = 500
ADDRESSES = ("10.0.0.1", "10.0.0.2", "10.0.0.3")


def walk(seed: int, steps: int = STEPS) -> World:
    chance = random.Random(seed)
    limits = FrontierLimits(max_hosts=chance.choice((1, 2, 3, 8)), quantum=chance.choice((1, 2, 5)), long_rest=6.0)
    world = World(limits, ordering=(MovingClasses(), Points())[seed % 2])
    hosts = chance.randint(1, 7)
    addresses = ADDRESSES[: chance.randint(1, 3)]
    crashes = chance.random() < 0.5
    errands = chance.choice((0.0, 0.2, 0.7))
    for _ in range(steps):
        dice = chance.random()
        if dice < 0.12:
            for _ in range(chance.choice((1, 1, 2, 12))):
                world.discover(chance.randint(1, hosts), chance.randrange(3))
        elif dice < 0.16:
            world.lift(chance.randrange(1000), chance.randint(1, 2))
        elif dice < 0.18:
            world.settle_everything()
        elif dice < 0.45:
            chance.choice(
                (world.begin_load, world.read, world.deliver, world.begin_commit, world.apply, world.report)
            )()
        elif dice < 0.65:
            turn = world.take_turn()
            if isinstance(turn, Visit) and chance.random() < 0.9:
                home = addresses[turn.host_id % len(addresses)]
                if chance.random() < errands:
                    target = HostId(chance.randint(1, hosts + 1))
                    world.begin_errand(len(world.out) - 1, target, addresses[target % len(addresses)])
                else:
                    world.enter(len(world.out) - 1, home if chance.random() < 0.9 else chance.choice(addresses))
        elif dice < 0.85 and world.out:
            finish_one(world, chance)
        elif dice < 0.97:
            world.pass_time(chance.choice((0.001, 0.3, 1.0, 3.0, 10.0)))
        elif dice < 0.99 and world.held_hosts:
            world.delay(chance.choice(world.held_hosts), chance.choice((0.5, 4.0, 20.0)))
        elif crashes and dice > 0.995:
            world.crash()
    return world


def finish_one(world: World, chance: random.Random) -> None:
    which = chance.randrange(len(world.out))
    dice = chance.random()
    asker = world.out[which].host_id
    if asker in world.errands:
        world.end_errand(asker, world.contact(chance.choice((0.01, 0.5)), retry_after=chance.choice((None, 15.0))))
    elif dice < 0.1:
        world.finish(which, None)
    elif dice < 0.2:
        world.finish(which, world.contact(chance.choice((0.01, 0.5))), again=True)
    elif dice < 0.3:
        world.finish(which, None, again_at=world.now)
    elif dice < 0.4:
        world.finish(which, world.contact(0.2), again_at=world.now + chance.choice((0.5, 5.0, 30.0)))
    elif dice < 0.5:
        world.finish(
            which, world.contact(0.1, crawl_delay=chance.choice((2.0, 9.0)), retry_after=chance.choice((None, 15.0)))
        )
    else:
        world.finish(which, world.contact(chance.choice((0.01, 0.2, 2.0))))


@pytest.mark.parametrize("first", range(0, WALKS, BLOCK))
def test_nothing_is_lost_repeated_or_rude_whatever_happens(first: int) -> None:
    for seed in range(first, first + BLOCK):
        try:
            world = walk(seed, LONG if seed == first else STEPS)
            world.run_dry()
        except Exception as error:
            error.add_note(f"in the walk of seed {seed}")
            raise

        assert not world.table.queued
