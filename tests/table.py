"""One test over a table: every row is checked, and all rows that fail are reported together.

For many small cases of one rule. Cases that need set-up of their own, or that somebody may want to run alone, are
`pytest.mark.parametrize`d.
"""

import functools
import inspect
from collections.abc import Callable, Iterable

import pytest

Test = Callable[..., None]


def table(names: str | tuple[str, ...], rows: Iterable[object]) -> Callable[[Test], Test]:
    """Give the test the values of each row by these names. With one name, a row is its value. Fixtures of the test are
    the same for all rows. An empty table fails."""
    found = list(rows)

    def decorate(test: Test) -> Test:
        signature = inspect.signature(test)
        given = (names,) if isinstance(names, str) else names
        fixtures = [each for name, each in signature.parameters.items() if name not in given]

        @functools.wraps(test)
        def check_all(**of_pytest: object) -> None:
            assert found, "the table has no rows"
            failures: list[BaseException] = []
            for row in found:
                values = (row,) if isinstance(names, str) else row
                assert isinstance(values, tuple | list)
                try:
                    test(**dict(zip(given, values, strict=True)), **of_pytest)
                except (Exception, pytest.fail.Exception) as failure:
                    failure.add_note(f"row: {row!r:.500}")
                    failures.append(failure)
            if failures:
                raise BaseExceptionGroup(f"{len(failures)} of {len(found)} rows fail", failures)

        check_all.__signature__ = signature.replace(parameters=fixtures)  # type: ignore[attr-defined]
        return check_all

    return decorate
