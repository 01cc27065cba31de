"""Estimates of change rates, compared with integrals, the likelihood, and a million random histories."""

import random
from collections.abc import Callable, Sequence
from math import exp, expm1, inf, isfinite, lgamma, log

import pytest

from gossamer.recrawl.estimate import MAX_SHAPE, USUAL, Estimate, changed, changed_at, flagged, not_flagged, unchanged
from tests.aged_crawls import aged

PRIORS = [Estimate(0.5, 5.0), Estimate(1.0, 1.0), Estimate(0.1, 300.0), Estimate(12.0, 80.0), Estimate(400.0, 2.0)]
GAPS = [0.001, 0.5, 14.0, 400.0]


def moments(log_density: Callable[[float], float], steps: int = 20_000) -> tuple[float, float]:
    """Mean and variance of a density that is known but for a factor: sums over an even grid of log(rate)."""
    grid = [-150 + 165 * k / steps for k in range(steps + 1)]
    logs = [log_density(exp(x)) + x for x in grid]
    most = max(logs)
    weights = [exp(value - most) for value in logs]
    total = sum(weights)
    mean = sum(w * exp(x) for w, x in zip(weights, grid, strict=True)) / total
    square = sum(w * exp(2 * x) for w, x in zip(weights, grid, strict=True)) / total
    return mean, square - mean * mean


def log_gamma_density(estimate: Estimate) -> Callable[[float], float]:
    a, b = estimate
    return lambda rate: a * log(b) - lgamma(a) + (a - 1) * log(rate) - b * rate


def log_posterior(prior: Estimate, history: Sequence[tuple[float, bool]]) -> Callable[[float], float]:
    before = log_gamma_density(prior)

    def density(rate: float) -> float:
        seen = sum(log(max(-expm1(-rate * gap), 1e-300)) if bit else -rate * gap for gap, bit in history)
        return before(rate) + seen

    return density


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("prior", PRIORS)
def test_one_bit_of_change_gives_the_mean_and_variance_of_the_exact_posterior(prior: Estimate, gap: float) -> None:
    mean, variance = moments(log_posterior(prior, [(gap, True)]))

    after = changed(prior, gap)

    assert after.rate == pytest.approx(mean, rel=1e-4)
    assert after.shape / after.span**2 == pytest.approx(variance, rel=1e-3)


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("prior", PRIORS)
def test_quiet_time_gives_the_exact_posterior(prior: Estimate, gap: float) -> None:
    mean, variance = moments(log_posterior(prior, [(gap, False)]))

    after = unchanged(prior, gap)

    assert after.rate == pytest.approx(mean, rel=1e-6)
    assert after.shape / after.span**2 == pytest.approx(variance, rel=1e-5)


def test_a_change_whose_time_is_known_counts_as_one_change_and_the_quiet_time_since() -> None:
    assert changed_at(Estimate(2.0, 10.0), gap=8.0, quiet=3.0) == Estimate(3.0, 13.0)


def test_a_time_of_change_before_the_last_visit_adds_no_more_than_the_gap() -> None:
    assert changed_at(Estimate(2.0, 10.0), gap=8.0, quiet=30.0) == Estimate(3.0, 18.0)


def irregular(rate: float, visits: int, seed: int) -> list[tuple[float, bool]]:
    chance = random.Random(seed)
    gaps = [exp(chance.uniform(log(0.2), log(60.0))) for _ in range(visits)]
    return [(gap, chance.random() < -expm1(-rate * gap)) for gap in gaps]


def most_likely(history: Sequence[tuple[float, bool]]) -> float:
    """The root of the derivative of the logarithm of the likelihood, by bisection."""
    quiet = sum(gap for gap, bit in history if not bit)
    low, high = 1e-9, 1e3
    for _ in range(200):
        rate = (low * high) ** 0.5
        slope = sum(gap / expm1(min(rate * gap, 700.0)) for gap, bit in history if bit) - quiet
        low, high = (rate, high) if slope > 0 else (low, rate)
    return low


@pytest.mark.parametrize("rate", [0.01, 0.05, 0.2])
def test_after_300_irregular_visits_the_estimate_is_the_most_likely_rate_and_the_exact_mean(rate: float) -> None:
    history = irregular(rate, 300, seed=7)

    estimate = USUAL
    for gap, bit in history:
        estimate = changed(estimate, gap) if bit else unchanged(estimate, gap)

    assert estimate.rate == pytest.approx(most_likely(history), rel=0.05)
    assert estimate.rate == pytest.approx(moments(log_posterior(USUAL, history), steps=5_000)[0], rel=0.03)


def test_reports_of_changes_lead_to_the_true_rate_although_some_are_missed() -> None:
    chance = random.Random(3)
    rate, recall, estimate = 0.2, 0.7, USUAL

    for _ in range(3_000):
        reported, silent = chance.expovariate(rate * recall), 5.0
        if reported < silent:
            estimate = flagged(estimate, reported, recall)
        else:
            hidden = chance.random() < -expm1(-rate * (1 - recall) * silent)
            estimate = not_flagged(estimate, silent, recall, change=hidden)

    assert estimate.rate == pytest.approx(rate, rel=0.06)


def test_more_unchanged_time_never_raises_the_rate_whatever_is_forgotten() -> None:
    chance = random.Random(5)
    for _ in range(20_000):
        before = Estimate(10 ** chance.uniform(-2, 4), 10 ** chance.uniform(-3, 5))
        prior = Estimate(10 ** chance.uniform(-1, 0), 10 ** chance.uniform(-1, 3))
        short = 10 ** chance.uniform(-3, 3)
        long = short * 10 ** chance.uniform(0, 2)
        rates = [unchanged(aged(before, gap, 120.0, prior), gap).rate for gap in (0.0, short, long)]

        assert rates[0] >= rates[1] * (1 - 1e-12) >= rates[2] * (1 - 2e-12)


def test_forgetting_keeps_the_rate_and_is_as_unsure_as_the_prior_in_the_end() -> None:
    before = Estimate(40.0, 100.0)

    assert aged(before, 120.0, 120.0, USUAL).shape == pytest.approx(40.0 / 2.718281828)
    assert aged(before, 120.0, 120.0, USUAL).rate == pytest.approx(before.rate)
    assert aged(before, 1e9, 120.0, USUAL) == pytest.approx((USUAL.shape, USUAL.shape / before.rate))


def test_a_million_random_updates_leave_numbers_that_can_be_reckoned_with() -> None:
    chance = random.Random(11)
    draw = chance.random
    gaps = [0.0, 1e-12, 1e-6, 0.01, 1.0, 30.0, 1e4, 1e9]
    estimate = USUAL
    for k in range(1_000_000):
        if k % 997 == 0:
            estimate = Estimate(10 ** (6 * draw() - 3), 10 ** (12 * draw() - 6))
        gap = gaps[int(8 * draw())]
        kind = draw()
        if kind < 0.4:
            estimate = unchanged(estimate, gap)
        elif kind < 0.8:
            estimate = changed(estimate, gap)
        elif kind < 0.9:
            estimate = changed_at(aged(estimate, gap, 120.0, USUAL), gap, gap * draw())
        else:
            estimate = not_flagged(estimate, gap, draw(), change=draw() < 0.5)
        a, b = estimate
        assert 0 < a <= MAX_SHAPE
        assert 0 < b < inf
        assert isfinite(a / b)
        assert a / b > 0


def test_a_clock_that_stood_still_teaches_nothing() -> None:
    assert changed(USUAL, 0.0) == USUAL
    assert unchanged(USUAL, -5.0) == USUAL
