"""Who may import what. Reads the imports of every module and compares them with the tables below.

Values flow one way: a stage knows the values in `model` and itself, never another stage. `crawl` joins the stages,
`crawl.run.location`, `crawl.run.opener` and `crawl.run.store` choose backends, and only backends and a few named places
import drivers and other foreign code. A package that is not in a table may import nothing, so a new one has to be added
here first.
"""

import ast
import functools
import graphlib
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.table import table

SOURCE = Path(__file__).resolve().parents[1] / "src" / "gossamer"
MAX_MODULES = 25
"""In one folder, `__init__` included."""

STAGES = ("seed", "filter", "seen", "frontier", "fetch", "extract", "dedup", "store", "recrawl")
FOUNDATIONS = ("model", "errors", "clock", "sketch", "native")

OURS: dict[str, tuple[str, ...]] = {
    "model": (),
    "errors": (),
    "version": (),
    "clock": ("model",),
    "native": (),
    "sketch": ("native",),
    **dict.fromkeys(STAGES, FOUNDATIONS),
    # A backend does the IO of a stage, so it knows the ports it implements and the values that pass through them; no
    # decision of any stage, and no other backend.
    "backends": (*FOUNDATIONS, "store.ports", "cluster.fence", "cluster.tiers"),
    # How workers share a crawl: decisions, and named statements on a connection that a backend opens.
    "cluster": ("model", "errors"),
    "observe": ("model", "errors", "clock", "sketch"),
    "lab": (
        *("model", "errors", "clock", "filter.domains"),
        *("frontier.orderings", "frontier.selector", "frontier.lazy_heap", "recrawl"),
    ),
    # Configuration becomes policy objects of the stages; no stage knows the configuration.
    "config": (*("model", "errors", "clock", "filter", "frontier", "recrawl", "fetch", "extract.content_types"),),
    "crawl": (*FOUNDATIONS, *STAGES, "observe", "config", "cluster"),
    # The read side asks each stage for its own verdict, so it knows the deciding stages; none of them knows it. Its
    # readers use the database port and what the store's own code reads.
    "reports": (
        *(*FOUNDATIONS, "config", "filter", "seen", "frontier", "fetch.robots", "fetch.http", "recrawl"),
        *("extract", "dedup", "observe", "seed.lists"),
        *("store.ports", "store.row_formats", "store.table.bulk_changes", "store.table.hosts", "store.table.metadata"),
        "store.table.windows",
    ),
    "cli": (
        "cluster.membership",
        *("model", "errors", "clock", "config", "seed", "crawl", "observe", "lab", "reports", "version"),
        *(
            "service.server",
            "service.metrics_port",
            "service.shared_server",
            "workers",
            "library.crawl_status",
            "extract.full_page",
            "extract.main_text",
        ),
    ),
    # The crawl behind HTTP: opens the same session as the command line, steers it, reads its store.
    "service": (
        *("model", "errors", "clock", "config", "crawl", "seed", "filter", "observe", "reports", "sketch"),
        *("store.ports", "store.table.orders", "store.threads", "version", "workers.local_workers"),
    ),
    # A crawl by several processes: opens the same session in each of them.
    "workers": (*("model", "errors", "clock", "config", "crawl", "seed.lists", "observe"),),
    # A crawl for users from Python: opens the same session as the command line does.
    "library": (
        *("model", "errors", "clock", "config", "crawl", "observe", "seed", "reports"),
        *("extract.full_page", "extract.main_text", "recrawl.freshness"),
    ),
    "__main__": ("cli",),
    # The package itself, on demand.
    "": (
        *("version", "errors", "library", "crawl.events", "crawl.hooks", "crawl.page", "model.announcement"),
        *("extract.full_page", "extract.selection", "extract.selection"),
    ),
}
"""Package or top-level module -> what of ours it may import besides itself. A dot narrows it to one module."""

FOREIGN: dict[str, tuple[str, ...]] = {
    "ada_url": ("filter",),
    "brotli": ("fetch.http",),
    "fastapi": ("service",),
    "hiredis": ("backends.redis",),
    "isal": ("fetch.http", "backends.warc"),
    "pandas": ("library.stored_crawl",),
    "pyarrow": ("reports.export.parquet", "library.stored_crawl"),
    "pypdf": ("extract.pdf",),
    "trafilatura": ("extract.main_text",),
    "msgspec": (
        "config",
        "crawl.run.private_store",
        "lab.simweb",
        "extract",
        "observe.snapshot",
        "service",
        "workers.local_workers",
    ),
    "numpy": ("cli.simulate", "lab.simulate"),
    "obstore": ("backends.objects",),
    "prometheus_client": ("service.metrics", "service.metrics_port"),
    "publicsuffixlist": ("filter",),
    "psycopg": ("backends.postgres",),
    "pycares": ("fetch.dns",),
    "pycurl": ("fetch.http",),
    "pydantic": ("service",),
    "rbloom": ("sketch",),
    "redis": ("backends.redis.document_reader",),
    "rich": ("observe",),
    "starlette": ("service",),
    "turbohtml": ("extract", "seed.search", "crawl.page"),
    "uvicorn": ("service.http_server",),
    "uvloop": (
        "crawl.run.signals",
        "library",
        "service.front_process",
        "service.server",
        "service.shared_server",
        "lab.simweb",
        "workers",
    ),
    "xxhash": ("filter", "seen", "lab.simweb"),
    "zstandard": ("fetch.http",),
    # Of the standard library: drivers, time, chance, and what can wait or look outside.
    "sqlite3": ("backends.sqlite",),
    "time": ("clock",),
    "secrets": ("crawl.run.assemble", "crawl.run.store", "service.access"),
    "importlib": (
        "cli",
        "backends",
        "native",
        "config.plugins",
        "config.policies",
        "config.sections",
        "extract.pdf",
        "crawl.hooks",
        "seed.search",
        "",
    ),
    "asyncio": (
        *("fetch", "extract.large_pages", "store.threads", "crawl", "library", "service", "workers"),
        "lab.simweb",
        "backends.redis",
    ),
    "concurrent": ("store.threads", "crawl", "service"),
    "threading": (
        *("observe.log", "library", "cluster.heartbeat", "backends.redis", "backends.objects"),
        "service.shared_server",
        "workers.parent",
        "crawl.run.daemon_thread",
    ),
    "multiprocessing": ("crawl",),
    "socket": ("service", "lab.simweb", "backends.postgres", "backends.redis", "library.document_stream"),
    "subprocess": ("extract.pdf", "lab.simweb", "backends.postgres"),
    "http": ("lab.simweb",),
    "urllib": (
        "filter",
        "fetch.ftp",
        "seed",
        "lab.simweb",
        "extract.sitemaps.feeds",
        "service.login",
        "backends.postgres",
        "backends.redis",
        "backends.objects",
        "crawl.run.location",
    ),  # for parsing
}
"""Foreign module -> where it may be imported. What is not of the standard library must be listed."""

KNOWN_EXCEPTIONS: frozenset[tuple[str, str]] = frozenset(
    {
        # The archive of a running crawl.
        ("crawl.run.store", "backends"),
        ("crawl.run.store", "version"),
        ("crawl.run.store", "reports.ports"),
        # The tables in memory are SQLite's without a file, and the records those of WARC.
        ("backends.memory", "backends.sqlite"),
        ("backends.memory", "backends.warc"),
        # An object is a WARC file.
        ("backends.objects.captures", "backends.warc"),
        ("backends.objects.reader", "backends.warc"),
        ("backends.objects.spool", "backends.warc"),
        ("crawl.run.object_archive", "backends"),
        ("crawl.run.object_archive", "reports.ports"),
        ("crawl.run.assemble", "reports"),
        ("crawl.run.crawl", "reports"),
        ("crawl.status", "reports.ports"),
        # Stores by the scheme of their URL, behind the ports of store and reports.
        ("crawl.run.location", "backends"),
        ("crawl.run.private_store", "backends"),
        ("crawl.run.opener", "backends"),
        ("crawl.run.opener", "reports"),
        # The cache, by its URL.
        ("crawl.run.cache", "backends"),
        # Orders about URLs: it reads which ones they concern.
        ("crawl.steering.limit_pass", "reports"),
        ("crawl.steering.orders", "reports"),
        ("crawl.steering.state_changes", "reports"),
        # Search engines are plugins that the configuration names.
        ("seed.search", "config"),
        # The estimate is shown by `status` and in snapshots.
        ("recrawl.freshness", "observe.freshness"),
    }
)
"""(module, what it imports): taken off here when the import is gone."""

ATTIC = frozenset({"utils", "util", "misc", "common", "helpers", "manager", "managers"})
"""Names that name nothing."""


def area_of(module: str) -> str:
    return module.partition(".")[0]


def is_within(module: str, places: tuple[str, ...]) -> bool:
    return any(module == place or module.startswith(place + ".") for place in places)


@functools.cache
def imports_of(text: str) -> list[str]:
    """Everything imported, wherever it stands: in functions and for type checkers too. Ours without `gossamer.`."""
    found: list[str] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = "." * node.level + (node.module or "")
            found += [f"{start}.{alias.name}" for alias in node.names]
    return found


def verdict_on_import(module: str, imported: str) -> str | None:
    """None if `module` may import `imported`, else what is wrong."""
    if imported.startswith("."):
        return "relative imports hide where something comes from"
    root, _, rest = imported.partition(".")
    if root != "gossamer":
        if root in FOREIGN:
            return None if is_within(module, FOREIGN[root]) else f"{root} belongs into {', '.join(FOREIGN[root])}"
        return None if root in sys.stdlib_module_names else f"{root} has no place in FOREIGN"
    area = area_of(module)
    if area not in OURS:
        return f"{area} has no place in OURS"
    if area_of(rest) in (area, "__version__"):
        if area == "backends" and module.split(".")[1:2] != rest.split(".")[1:2]:
            return "a backend knows no other backend"
        return None
    return None if is_within(rest, OURS[area]) else f"{area or 'the package'} may not import {rest}"


def bad_imports(module: str, text: str) -> dict[str, str]:
    """What `module` imports and may not, with the reason."""
    found = {}
    for imported in imports_of(text):
        reason = verdict_on_import(module, imported)
        if reason is not None:
            found[imported.removeprefix("gossamer.")] = reason
    return found


def hidden_inputs(text: str) -> list[str]:
    """Uses of the machine's clock and of the shared random generator, which must be parameters."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute):
            used = ast.unparse(node)
            if used.startswith("random.") and used != "random.Random":
                found.append(used)
            if node.attr in ("now", "utcnow", "today") and used.split(".")[-2] in ("datetime", "date"):
                found.append(used)
        elif isinstance(node, ast.ImportFrom) and node.module == "random":
            found += [f"random.{alias.name}" for alias in node.names if alias.name != "Random"]
    return found


def modules() -> dict[str, str]:
    """Dotted name without `gossamer.` (the package itself: "") -> text, of all our modules."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join(parts).removesuffix("__init__").removesuffix(".")] = path.read_text(encoding="utf-8")
    return found


def test_every_import_is_allowed_by_the_tables() -> None:
    wrong = [
        f"{module} imports {imported}: {reason}"
        for module, text in modules().items()
        for imported, reason in bad_imports(module, text).items()
        if not any(module == m and is_within(imported, (i,)) for m, i in KNOWN_EXCEPTIONS)
    ]

    assert wrong == []


def test_every_exception_is_still_needed() -> None:
    texts = modules()
    needless = [
        (module, imported)
        for module, imported in KNOWN_EXCEPTIONS
        if not any(is_within(bad, (imported,)) for bad in bad_imports(module, texts[module]))
    ]

    assert needless == []


def test_every_place_in_the_tables_exists() -> None:
    known = modules()
    places = {place for places in (*OURS.values(), *FOREIGN.values()) for place in places} | OURS.keys()

    assert sorted(places - known.keys()) == []


def test_no_module_reads_the_clock_or_the_shared_random_generator() -> None:
    found = {module: hidden_inputs(text) for module, text in modules().items() if hidden_inputs(text)}

    assert found == {}


def test_no_two_modules_need_each_other() -> None:
    texts = modules()
    graph = {}
    for module, text in texts.items():
        imported = [name.removeprefix("gossamer.") for name in imports_of(text) if "gossamer" in name]
        # `from a.b import c` may mean the module a.b.c or something in a.b.
        named = {name if name in texts else name.rpartition(".")[0] for name in imported}
        graph[module] = {name for name in named if name in texts and name != module}

    order = list(graphlib.TopologicalSorter(graph).static_order())  # raises CycleError, naming the modules

    assert set(order) == texts.keys()


def test_no_two_packages_need_each_other() -> None:
    graph: dict[str, set[str]] = {}
    for module, text in modules().items():
        imported = [name.removeprefix("gossamer.") for name in imports_of(text) if "gossamer." in name]
        graph.setdefault(area_of(module), set()).update(map(area_of, imported))
    graph = {area: used & graph.keys() - {area} for area, used in graph.items()}

    order = list(graphlib.TopologicalSorter(graph).static_order())  # raises CycleError, naming the packages

    assert set(order) == graph.keys()


def test_only_the_table_of_stores_names_sqlite_and_others_name_it_in_help_texts_alone() -> None:
    choosing = ("crawl.run.location", "crawl.run.assemble")
    texts = {name: text for name, text in modules().items() if not is_within(name, ("backends", *choosing))}

    assert [name for name, text in texts.items() if "sqlite" in text.replace("sqlite:DIR", "").lower()] == []


def test_no_folder_holds_more_modules_than_one_can_survey() -> None:
    folders = Counter(path.parent.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py"))

    assert {folder: n for folder, n in folders.items() if n > MAX_MODULES} == {}


def test_every_module_says_what_it_is() -> None:
    silent = [module for module, text in modules().items() if not ast.get_docstring(ast.parse(text))]

    assert silent == []


def test_every_folder_is_a_package_with_its_story() -> None:
    folders = {path.parent for path in SOURCE.rglob("*.py")}

    assert [str(folder) for folder in folders if not (folder / "__init__.py").is_file()] == []


def test_no_module_has_a_name_that_names_nothing() -> None:
    assert [module for module in modules() if ATTIC & set(module.split("."))] == []


@table(
    ("module", "text", "offending"),
    [
        ("frontier.frontier", "from gossamer.fetch.ports import Fetcher", "fetch.ports.Fetcher"),
        ("frontier.frontier", "from gossamer import fetch", "fetch"),
        ("frontier.frontier", "def f():\n    import gossamer.store.threads", "store.threads"),
        ("seed.lists", "from gossamer.filter.canonical import canonicalise", "filter.canonical.canonicalise"),
        ("filter.rules", "from gossamer.config.sections import FilterSection", "config.sections.FilterSection"),
        ("recrawl.planner", "from gossamer.config.sections import RecrawlSection", "config.sections.RecrawlSection"),
        ("model.task", "from gossamer.errors import GossamerError", "errors.GossamerError"),
        ("store.table.writer", "from gossamer.backends.sqlite.driver import D", "backends.sqlite.driver.D"),
        ("crawl.engine", "from gossamer.backends.warc.writer import W", "backends.warc.writer.W"),
        ("crawl.run.session", "from gossamer.backends.sqlite.driver import D", "backends.sqlite.driver.D"),
        ("backends.sqlite.driver", "from gossamer.frontier.frontier import F", "frontier.frontier.F"),
        ("backends.sqlite.driver", "from gossamer.store.threads import StoreThread", "store.threads.StoreThread"),
        ("backends.sqlite.driver", "from gossamer.reports.records import PageRow", "reports.records.PageRow"),
        ("reports.table.pages", "from gossamer.backends.sqlite.driver import D", "backends.sqlite.driver.D"),
        ("backends.sqlite.driver", "from gossamer.backends.warc import WarcWriter", "backends.warc.WarcWriter"),
        ("lab.simweb.robots", "from gossamer.fetch.robots import parse_robots", "fetch.robots.parse_robots"),
        ("observe.audit", "from gossamer.frontier.politeness import gap_after", "frontier.politeness.gap_after"),
        ("cli.pages", "from gossamer.frontier.frontier import Frontier", "frontier.frontier.Frontier"),
        ("cli.pages", "from gossamer.backends.sqlite.driver import D", "backends.sqlite.driver.D"),
        ("reports.queries", "from gossamer.backends.warc import WarcArchive", "backends.warc.WarcArchive"),
        ("service.queries", "import sqlite3", "sqlite3"),
        ("store.threads", "import sqlite3", "sqlite3"),
        ("frontier.frontier", "import asyncio", "asyncio"),
        ("filter.links", "from asyncio import sleep", "asyncio.sleep"),
        ("crawl.visit.visit", "import time", "time"),
        ("observe.snapshot", "from time import monotonic", "time.monotonic"),
        ("fetch.dns.resolver", "import pycurl", "pycurl"),
        ("extract.crawl_page", "import lxml.html", "lxml.html"),
        ("frontier.frontier", "from .politeness import gap_after", ".politeness.gap_after"),
        ("gadgets.thing", "import gossamer.model.units", "model.units"),
    ],
)
def test_a_planted_import_is_found(module: str, text: str, offending: str) -> None:
    assert list(bad_imports(module, text)) == [offending]


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("frontier.frontier", "from gossamer.frontier.ready import ReadyHosts\nfrom gossamer.model.units import Url"),
        ("store.threads", "import asyncio\nfrom gossamer.clock import Clock"),
        ("backends.sqlite.driver", "import sqlite3\nfrom gossamer.model.loads import LoadOrder"),
        ("seen", "from gossamer.sketch import Bloom"),
        ("cli.demo", "from gossamer import __version__"),
        ("reports.table.pages", "from gossamer.store.ports import Database"),
    ],
)
def test_a_proper_import_is_allowed(module: str, text: str) -> None:
    assert bad_imports(module, text) == {}


@pytest.mark.parametrize(
    ("text", "offending"),
    [
        ("import random\nx = random.random()", "random.random"),
        ("from random import choice", "random.choice"),
        ("import datetime\nx = datetime.datetime.now()", "datetime.datetime.now"),
        ("from datetime import date\nx = date.today()", "date.today"),
    ],
)
def test_a_planted_hidden_input_is_found(text: str, offending: str) -> None:
    assert hidden_inputs(text) == [offending]


def test_a_passed_generator_and_a_passed_clock_are_no_hidden_inputs() -> None:
    text = (
        "import random\ndef f(chance: random.Random, clock: Clock) -> float:\n    return chance.random() + clock.now()"
    )

    assert hidden_inputs(text) == []
