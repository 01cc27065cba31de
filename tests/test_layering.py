"""Who may import what. Reads the imports of every module and holds them to the tables below.

Values flow one way: a stage knows the values that travel and itself, never another stage. `crawl` joins the stages,
`assemble` and the commands choose backends, and only backends and a few named places talk to foreign code. A module
that is not in a table may import nothing, so a new package has to be given its place here first.
"""

import ast
import graphlib
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "gossamer"
MAX_LINES = 400

STAGES = ("seed", "filter", "seen", "frontier", "fetch", "extract", "dedup", "store", "recrawl")
FOUNDATIONS = ("model", "errors", "clock", "sketch", "native")

OURS: dict[str, tuple[str, ...]] = {
    "model": (),
    "errors": (),
    "version": (),
    "clock": ("model",),
    "native": (),
    "link": (),
    "sketch": ("native",),
    **dict.fromkeys(STAGES, FOUNDATIONS),
    # A backend does a stage's IO, so it knows what that stage wants (`ports`, a load order) and the values that
    # it hands over; no decision of any stage, and no other backend. It reads the facts of a URL's story as well, and
    # what a crawl waits for.
    "backends": (
        *("model", "errors", "clock", "sketch", "native", "store.changes", "store.ports", "crawl.ports"),
        *("frontier.front_queue", "explain.facts", "observe.waits"),
    ),
    "observe": ("model", "errors", "clock", "sketch"),
    # The judge of the crawler shares none of its code: an error of ours must not be excused by the same error there.
    "simweb": ("model", "errors", "clock"),
    # Orders and recrawl policies are judged outside a crawl: it knows the orderings that it replays, and `recrawl`.
    "simulate": ("model", "errors", "frontier.orderings", "frontier.selector", "recrawl", "simweb"),
    # What users add: it finds their orderings and recrawl policies beside ours, and their hooks.
    "plugins": ("errors", "frontier.orderings", "recrawl.policies", "crawl.hooks"),
    "sections": (),
    "config": ("errors", "sections"),
    # A configuration as policies, for whoever runs a crawl and for whoever only asks what one would do.
    "wishes": ("model", "errors", "config", "filter", "frontier", "fetch.dns.policy", "recrawl", "plugins"),
    # Asks each stage for its own verdict, so it knows the deciding stages; none of them knows it.
    "explain": ("model", "filter", "seen", "frontier", "fetch.robots", "recrawl", "observe.words"),
    # Records of the archive as the answers that they were, for whoever reads a crawl's results.
    "archived": ("model", "backends.warcfile.reader", "fetch.http.body", "fetch.http.headers"),
    "export": (
        *(
            "model",
            "errors",
            "archived",
            "backends.sqlite.exporting",
            "backends.sqlite.joined",
            "backends.sqlite.pages",
            "extract.charset",
            "extract.kinds",
            "extract.page",
        ),
        "filter.canonical",
    ),
    # Holds the archive against the database, so it knows both backends.
    "verify": ("model", "errors", "archived", "backends.sqlite", "backends.warcfile", "dedup.digest"),
    "crawl": (*FOUNDATIONS, *STAGES, "observe", "config", "sections"),
    "commands": (
        *("model", "errors", "clock", "config", "seed", "crawl", "backends", "observe", "simweb", "assemble"),
        *("explain", "simulate", "plugins", "wishes", "searching", "export", "verify", "archived", "extract.page"),
        *("recrawl", "version", "inquiries", "rulebook", "service.server", "workers"),
    ),
    # What people ask of a crawl's directory, for commands and service alike.
    "inquiries": (
        *("model", "clock", "config", "backends.sqlite", "backends.warcfile.reader", "explain", "observe", "seed"),
        *("crawl.controls", "crawl.prices", "crawl.recrawl_rules", "crawl.signals", "recrawl.rules", "wishes"),
        *("filter.identity", "filter.scope", "frontier.breaker", "frontier.politeness", "rulebook", "workers.layout"),
    ),
    # The same policies, made once for whoever asks about many URLs.
    "rulebook": (*("model", "clock", "config", "filter", "frontier", "recrawl", "crawl.recrawl_rules", "wishes"),),
    # The crawl behind HTTP: opens the same session as the command line, steers it, reads its database.
    "service": (
        *("model", "errors", "clock", "config", "sections", "crawl", "seed", "filter", "store.changes", "observe"),
        *("fetch.dns.policy", "backends.sqlite", "explain.facts", "explain.words", "inquiries", "rulebook", "wishes"),
        *("link", "sketch", "version"),
    ),
    # A crawl by several processes: opens the same session in each of them.
    "workers": (
        *("model", "errors", "clock", "config", "crawl", "assemble", "seed.lists", "observe", "link", "wishes"),
        "frontier.politeness",
    ),
    "cli": ("commands", "errors", "observe", "version"),
    "__main__": ("cli",),
    "fetchers": ("model", "clock", "config", "fetch"),
    "host_wishes": ("model", "errors", "config", "crawl.hosts", "extract.kinds", "fetch.http.options", "filter.hosts"),
    "searching": (
        *("model", "errors", "clock", "config", "seed", "crawl.beforehand", "fetch.dns"),
        *("fetchers", "host_wishes", "wishes"),
    ),
    "parts": (
        *(*FOUNDATIONS, *STAGES, "observe", "config", "crawl", "backends.warcfile", "store", "wishes", "version"),
    ),
    "assemble": (
        "parts",
        *(*FOUNDATIONS, *STAGES, "observe", "config", "crawl", "backends", "wishes", "fetchers", "host_wishes"),
        "version",
    ),
    # A crawl for users from Python: opens the same session as the command line does.
    "library": (
        *("errors", "config", "crawl.session", "crawl.audience", "crawl.hooks", "crawl.page"),
        *("observe", "seed", "wishes"),
    ),
    "": ("version", "library", "crawl.audience", "crawl.hooks", "crawl.page"),  # the package itself, on demand
}
"""Package or top-level module -> what of ours it may import besides itself. A dot narrows it to one module."""

FOREIGN: dict[str, tuple[str, ...]] = {
    "ada_url": ("filter",),
    "brotli": ("fetch.http",),
    "fastapi": ("service",),
    "isal": ("fetch.http", "backends.warcfile"),
    "pyarrow": ("export.parquet",),
    "msgspec": ("config", "sections", "simweb", "extract", "observe.live", "service", "workers.supervisor"),
    "numpy": ("commands.freshness", "recrawl.optimum", "simulate.freshness"),  # the lab
    "prometheus_client": ("service.metrics",),
    "publicsuffixlist": ("filter",),
    "pycares": ("fetch.dns",),
    "pycurl": ("fetch.http",),
    "pydantic": ("service",),
    "rbloom": ("sketch",),
    "rich": ("observe",),
    "starlette": ("service",),
    "turbohtml": ("extract", "seed.duckduckgo"),
    "uvicorn": ("service.connections",),
    "uvloop": ("crawl.supervisor", "library", "service.front", "service.server", "simweb", "workers"),
    "xxhash": ("filter", "seen", "simweb"),
    "zstandard": ("fetch.http",),
    # Of the standard library: drivers, time, chance, and what can wait or look outside.
    "sqlite3": ("backends.sqlite",),
    "time": ("clock",),
    "secrets": ("assemble", "backends", "service.token"),
    "importlib": ("cli", "backends", "native", "plugins", ""),
    "asyncio": (
        *(
            "fetch",
            "extract.elsewhere",
            "link",
            "store.thread",
            "crawl",
            "library",
            "searching",
            "service",
            "simweb",
            "workers",
        ),
    ),
    "concurrent": ("store.thread", "crawl", "fetch", "service.asking"),
    "threading": ("observe.log", "library"),
    "multiprocessing": ("crawl",),
    "socket": (
        "service.connections",
        "service.front",
        "service.starting",
        "link",
        "service.server",
        "simweb",
        "workers",
    ),
    "subprocess": ("simweb",),
    "http": ("simweb",),
    "urllib": (
        "filter",
        "fetch.ftp",
        "seed",
        "service.gate",
        "simweb",
        "extract.sitemaps.feeds",
    ),  # the parsing part; nobody opens URLs with it
}
"""Foreign module -> where it may be imported. What is not of the standard library must be listed."""

KNOWN_EXCEPTIONS: frozenset[tuple[str, str]] = frozenset(
    {
        # The only modules of `crawl` that start something: they are handed a configuration, not its parts.
        ("crawl.session", "assemble"),
        ("crawl.session", "plugins"),
        ("crawl.supervisor", "assemble"),
        # The type of the connection that it opens and closes.
        ("commands.reading", "sqlite3"),
        ("commands.verify", "sqlite3"),
        ("service.asking", "sqlite3"),
    }
)
"""(module, what it imports): taken off here when the import is gone."""

ATTIC = frozenset({"utils", "util", "misc", "common", "helpers", "manager", "managers"})
"""Names that name nothing."""


def area_of(module: str) -> str:
    return module.partition(".")[0]


def is_within(module: str, places: tuple[str, ...]) -> bool:
    return any(module == place or module.startswith(place + ".") for place in places)


def imports_of(tree: ast.Module) -> list[str]:
    """Everything imported, wherever it stands: in functions and for type checkers too. Ours without `gossamer.`."""
    found: list[str] = []
    for node in ast.walk(tree):
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
    for imported in imports_of(ast.parse(text)):
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
        imported = [name.removeprefix("gossamer.") for name in imports_of(ast.parse(text)) if "gossamer" in name]
        # `from a.b import c` may mean the module a.b.c or something in a.b.
        named = {name if name in texts else name.rpartition(".")[0] for name in imported}
        graph[module] = {name for name in named if name in texts and name != module}

    order = list(graphlib.TopologicalSorter(graph).static_order())  # raises CycleError, naming the modules

    assert set(order) == texts.keys()


def test_no_module_is_longer_than_one_concept() -> None:
    long = {module: n for module, text in modules().items() if (n := text.count("\n")) > MAX_LINES}

    assert long == {}


def test_every_module_says_what_it_is() -> None:
    silent = [module for module, text in modules().items() if not ast.get_docstring(ast.parse(text))]

    assert silent == []


def test_every_folder_is_a_package_with_its_story() -> None:
    folders = {path.parent for path in SOURCE.rglob("*.py")}

    assert [str(folder) for folder in folders if not (folder / "__init__.py").is_file()] == []


def test_no_module_has_a_name_that_names_nothing() -> None:
    assert [module for module in modules() if ATTIC & set(module.split("."))] == []


@pytest.mark.parametrize(
    ("module", "text", "offending"),
    [
        ("frontier.frontier", "from gossamer.fetch.http.ports import Fetcher", "fetch.http.ports.Fetcher"),
        ("frontier.frontier", "from gossamer import fetch", "fetch"),
        ("frontier.frontier", "def f():\n    import gossamer.store.thread", "store.thread"),
        ("seed.lists", "from gossamer.filter.canonical import canonicalise", "filter.canonical.canonicalise"),
        ("filter.rules", "from gossamer.config import FilterSection", "config.FilterSection"),
        ("model.task", "from gossamer.errors import GossamerError", "errors.GossamerError"),
        ("store.thread", "from gossamer.backends.sqlite.writer import W", "backends.sqlite.writer.W"),
        ("crawl.pipeline", "from gossamer.backends.warcfile.writer import W", "backends.warcfile.writer.W"),
        ("backends.sqlite.loader", "from gossamer.frontier.frontier import F", "frontier.frontier.F"),
        ("backends.sqlite.loader", "from gossamer.store.thread import StoreThread", "store.thread.StoreThread"),
        ("backends.sqlite.writer", "from gossamer.backends.warcfile import WarcWriter", "backends.warcfile.WarcWriter"),
        ("simweb.robots", "from gossamer.fetch.robots import parse_robots", "fetch.robots.parse_robots"),
        ("observe.audit", "from gossamer.frontier.politeness import gap_after", "frontier.politeness.gap_after"),
        ("commands.pages", "from gossamer.frontier.frontier import Frontier", "frontier.frontier.Frontier"),
        ("store.thread", "import sqlite3", "sqlite3"),
        ("frontier.frontier", "import asyncio", "asyncio"),
        ("filter.links", "from asyncio import sleep", "asyncio.sleep"),
        ("crawl.visiting", "import time", "time"),
        ("observe.rates", "from time import monotonic", "time.monotonic"),
        ("fetch.dns.resolver", "import pycurl", "pycurl"),
        ("extract.links", "import lxml.html", "lxml.html"),
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
        ("store.thread", "import asyncio\nfrom gossamer.clock import Clock"),
        ("backends.sqlite.loader", "import sqlite3\nfrom gossamer.frontier.front_queue import LoadOrder"),
        ("seen.tiers", "from gossamer.sketch.bloom import Bloom"),
        ("commands.demo", "from gossamer import __version__"),
        ("assemble", "from gossamer.backends.sqlite.writer import SqliteWriter"),
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
