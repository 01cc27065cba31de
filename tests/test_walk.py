"""`benchmarks.walk`: what counts as a step, what counts as a change of package, and one real trace."""

import concurrent.futures
import importlib
import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.walk import (
    NOT_ON_THE_WAY,
    Call,
    Recorder,
    comparison,
    exceeds,
    join,
    main,
    nontrivial_lines,
    package_of,
    rows,
    stays_of,
    steps_of,
    summary,
)
from tests.table import table

TRAVELLED = """
def read(path):
    text = path.strip()
    return text


def decide(text):
    numbers = [len(word) for word in text.split()]
    return sum(numbers)


def commit(rows):
    total = len(rows)
    return total


def write_log(done):
    done.set()
    return True


SETTINGS = read("while this is imported")
"""


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a package `travelled` that can be imported."""
    folder = tmp_path / "travelled"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "path.py").write_text(TRAVELLED)
    monkeypatch.syspath_prepend(tmp_path)
    yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] == "travelled"]:
        del sys.modules[name]


def calls_of(*files: str) -> list[Call]:
    return [Call(file, f"function_{line}", line) for line, file in enumerate(files, 1)]


def names_of(calls: list[Call]) -> list[str]:
    return [call.function for call in calls]


def test_a_package_is_a_folder_or_a_module_below_the_root() -> None:
    assert package_of("crawl/visit/request.py") == package_of("crawl/engine.py") == "crawl"
    assert package_of("cli/main.py") == package_of("cli/main.py") == "cli"


def test_a_change_is_a_step_into_another_package() -> None:
    steps = calls_of(
        "cli/main.py", "cli/main.py", "crawl/engine.py", "crawl/visit/visit.py", "frontier/router.py", "crawl/engine.py"
    )

    stays = stays_of(steps)

    assert [(stay.package, len(stay.steps)) for stay in stays] == [
        ("cli", 2),
        ("crawl", 2),
        ("frontier", 1),
        ("crawl", 1),
    ]
    assert summary(stays) == {"changes": 3, "packages": 3, "files": 4, "steps": 6}
    assert summary(stays_of([])) == {"changes": 0, "packages": 0, "files": 0, "steps": 0}


def test_the_table_lists_the_packages_that_are_entered_most_often_first() -> None:
    lines = rows(stays_of(calls_of("cli/main.py", "crawl/engine.py", "cli/main.py")))

    assert [line.split() for line in lines] == [
        ["1", "cli", "cli/main", "1"],
        ["2", "crawl", "crawl/engine", "1"],
        ["3", "cli", "cli/main", "1"],
        [],
        ["package", "entered", "files", "functions"],
        ["cli", "2", "1", "2"],
        ["crawl", "1", "1", "1"],
    ]


@table(
    ("code", "counts"),
    [
        ("def f(x):\n    y = x + 1\n    return y\n", True),
        ("async def f(x):\n    y = await x\n    return y\n", True),
        ("@cache\ndef f(x):\n    y = x + 1\n    return y\n", True),
        ("def f(x):\n    if x:\n        return g(x)\n", True),
        ("def f(x):\n    return g(x)\n", False),
        ('def f(x):\n    """It has a docstring."""\n    return g(x)\n', False),
        ('def f(x):\n    """It only has a docstring."""\n', False),
        ("@property\ndef f(self):\n    y = self.x\n    return y\n", False),
        ("@functools.cached_property\ndef f(self):\n    y = self.x\n    return y\n", False),
        ("def __init__(self):\n    self.x = 1\n    self.y = 2\n", False),
    ],
)
def test_a_function_of_one_statement_a_property_and_a_special_method_are_trivial(code: str, counts: bool) -> None:
    assert nontrivial_lines(code) == ({1} if counts else set())


def test_trivial_functions_and_packages_off_the_way_are_no_steps(tmp_path: Path) -> None:
    for file in ("clock.py", "crawl.py"):
        (tmp_path / file).write_text("def now(x):\n    y = x\n    return y\n\ndef one(x):\n    return x\n")
    calls = [Call(file, name, line) for file in ("clock.py", "crawl.py") for name, line in (("now", 1), ("one", 5))]

    assert steps_of(calls, tmp_path) == [Call("crawl.py", "now", 1)]


def test_a_function_is_recorded_at_its_first_call_and_not_during_an_import(source: Path) -> None:
    recorder = Recorder(source)

    with recorder.recording():
        path = importlib.import_module("travelled.path")
        path.decide("a b")
        path.read("x")
        path.decide("a b")
    path.commit([])

    steps = steps_of(recorder.main, source)
    assert names_of(steps) == ["decide", "read"]
    assert steps[0] == Call("path.py", "decide", 7)


def test_work_for_a_pool_of_threads_is_recorded_where_it_is_handed_over(source: Path) -> None:
    path = importlib.import_module("travelled.path")
    recorder = Recorder(source)

    with recorder.recording(), concurrent.futures.ThreadPoolExecutor(1) as pool:
        path.read("x")
        total = pool.submit(path.commit, [1, 2])
        path.decide("a b")

    assert total.result() == 2
    assert names_of(steps_of(recorder.main, source)) == ["read", "commit", "decide"]
    assert recorder.others == {}


def test_other_threads_come_last_with_the_functions_that_only_they_call(source: Path) -> None:
    path = importlib.import_module("travelled.path")
    recorder = Recorder(source)

    def keep_log(done: threading.Event) -> None:
        path.read("x")
        path.write_log(done)

    with recorder.recording():
        done = threading.Event()
        thread = threading.Thread(target=keep_log, args=(done,), name="log")
        thread.start()
        thread.join()
        path.decide("a b")
        path.read("x")

    assert names_of(steps_of(recorder.others["log"], source)) == ["read", "write_log"]
    assert names_of(steps_of(join(recorder.main, recorder.others.values()), source)) == ["decide", "read", "write_log"]


def test_changes_are_compared_in_percent() -> None:
    assert exceeds({"changes": 60}, {"changes": 100}, 60.0) is False
    assert exceeds({"changes": 61}, {"changes": 100}, 60.0) is True
    assert comparison({"changes": 61}, {"changes": 100}) == "changes of package: 61 now, 100 before, 61.0%"


@pytest.mark.service
def test_the_trace_of_a_page_passes_through_the_stages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = tmp_path / "trace.json"

    assert main(["--json", str(trace)]) == 0

    found = json.loads(trace.read_text())
    packages = [stay["package"] for stay in found["stays"]]
    assert packages[0] == "cli"
    assert found["changes"] == len(packages) - 1
    assert {"filter", "seen", "frontier", "fetch", "extract", "dedup", "recrawl", "backends"} < set(packages)
    assert not NOT_ON_THE_WAY & set(packages)
    assert f"{found['changes']} changes of package" in capsys.readouterr().out
