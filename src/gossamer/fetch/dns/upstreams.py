"""Which name server to ask first. Pure: time is a parameter.

A server is judged by contrast only: one that failed where another answered about the same name is at fault. When all of
them fail, it may be the name, and none is blamed.
"""

from dataclasses import dataclass

from gossamer.model.units import Instant, Seconds


@dataclass(frozen=True, slots=True)
class UpstreamRules:
    tolerated: int = 2  # failures in a row; packets do get lost
    first_rest: Seconds = Seconds(10.0)
    longest_rest: Seconds = Seconds(120.0)
    trial: Seconds = Seconds(5.0)  # when its rest is over, one question tries it; others wait so long for the outcome


@dataclass(slots=True)
class _Health:
    failures: int = 0
    rests_until: Instant = Instant(0.0)
    on_trial: bool = False


class Upstreams:
    """The health of name servers, known by their place in the configured order."""

    def __init__(self, count: int, rules: UpstreamRules) -> None:
        self._rules = rules
        self._health = [_Health() for _ in range(count)]

    def order(self, now: Instant) -> list[int]:
        """The servers in the order in which to ask them: as configured, those at rest last, soonest first.

        A server whose rest is over gets one question; it stays at rest for the others until that one is decided.
        """
        health = self._health
        if all(not one.failures for one in health):
            return list(range(len(health)))
        well: list[int] = []
        resting: list[int] = []
        for index, one in enumerate(health):
            if one.failures < self._rules.tolerated:
                well.append(index)
            elif one.rests_until <= now:
                one.rests_until, one.on_trial = Instant(now + self._rules.trial), True
                well.append(index)
            else:
                resting.append(index)
        return well + sorted(resting, key=lambda index: health[index].rests_until)

    def worked(self, index: int) -> None:
        self._health[index].failures = 0
        self._health[index].on_trial = False

    def failed(self, index: int, now: Instant) -> None:
        """It did not answer where another one did, or does not listen at all."""
        one, rules = self._health[index], self._rules
        if one.failures >= rules.tolerated and one.rests_until > now and not one.on_trial:
            return  # asked before it was found out: the same fault, not another one
        one.failures += 1
        one.on_trial = False
        beyond = one.failures - rules.tolerated
        if beyond >= 0:
            rest = min(rules.first_rest * 2.0 ** min(beyond, 16), rules.longest_rest)
            one.rests_until = Instant(now + rest)

    def resting(self, now: Instant) -> int:
        """How many are avoided at the moment."""
        return sum(one.failures >= self._rules.tolerated and one.rests_until > now for one in self._health)
