"""The thread that reads the store: one question after the other, and how many wait."""

import asyncio
import threading

import pytest

from gossamer.store.threads import ReaderThread


def test_questions_are_answered_one_at_a_time_and_those_without_an_answer_are_counted() -> None:
    async def main() -> tuple[list[int], int, int]:
        reads = ReaderThread()
        go_on = threading.Event()
        threads: set[str] = set()

        def answer(number: int) -> int:
            assert go_on.wait(30)
            threads.add(threading.current_thread().name)
            return number

        asked = [reads.ask(answer, number) for number in range(5)]
        waiting = reads.waiting
        go_on.set()
        found = await asyncio.gather(*asked)
        reads.close()
        assert len(threads) == 1
        return found, waiting, reads.waiting

    assert asyncio.run(main()) == ([0, 1, 2, 3, 4], 5, 0)


def test_a_question_that_fails_waits_no_longer_either() -> None:
    async def main() -> int:
        reads = ReaderThread()
        with pytest.raises(ZeroDivisionError):
            await reads.ask(lambda: 1 // 0)
        await asyncio.sleep(0)
        reads.close()
        return reads.waiting

    assert asyncio.run(main()) == 0
