"""An open crawl that is closed before it ran."""

import asyncio
from concurrent.futures import Future
from pathlib import Path
from threading import Event

import pytest

from gossamer.config.load import Config
from gossamer.crawl.run.session import Session, session
from gossamer.errors import DirectoryError
from gossamer.observe.display import NoDisplay


def test_a_query_under_way_ends_before_its_connection_is_closed(tmp_path: Path) -> None:
    began, ended = Event(), Future[int]()

    def query(opened: Session) -> None:
        reports, now = opened.crawl.reports.status, opened.crawl.clock.now()
        began.set()
        try:
            ended.set_result(sum(reports.recrawl_report(now).overdue == 0 for _ in range(300)))
        except BaseException as error:
            ended.set_exception(error)

    async def open_and_fail() -> None:
        async with session(Config(dir=str(tmp_path)), [], False, NoDisplay(), may_be_empty=True) as opened:
            opened.crawl.reads.ask(query, opened)
            began.wait()
            raise DirectoryError("no token")

    with pytest.raises(DirectoryError):
        asyncio.run(open_and_fail())

    assert ended.result(timeout=60) == 300
