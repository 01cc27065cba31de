"""Work that grows with the square of its input is told from work that grows with the input."""

from tests.effort import growth, lines_run


def linear(size: int) -> int:
    return sum(number for number in range(size) if number % 2)


def quadratic(size: int) -> int:
    found = 0
    for one in range(size):
        for other in range(one):
            found += other
    return found


def test_the_square_shows() -> None:
    assert 7 < growth(lines_run, linear, 100) < 9
    assert growth(lines_run, quadratic, 100) > 50


def test_the_same_work_costs_the_same() -> None:
    assert lines_run(lambda: quadratic(50)) == lines_run(lambda: quadratic(50))
