"""The documents agree with the code: every option, key, reason, state and event is documented, and every link works.

Run as a script (`make docs`), it writes docs/REFERENCE.md and the state diagram in docs/ARCHITECTURE.md.
"""

import ast
import re
import tomllib
from pathlib import Path

import msgspec

from gossamer.cli import COMMANDS
from gossamer.cli.dead import DEAD_COLUMNS
from gossamer.cli.hosts import host_columns
from gossamer.config.load import Config, make_config, with_underscores
from gossamer.config.sections import Section
from gossamer.model.outcome import Failure
from gossamer.model.states import TRANSITIONS, UrlState
from gossamer.observe.formatter import PAGE_COLUMNS
from tests.reference import documented, keys, parser_of, reference
from tests.reference import sections as key_sections
from tests.table import table

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
ARCHITECTURE = DOCS / "ARCHITECTURE.md"
REFERENCE = DOCS / "REFERENCE.md"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *(ROOT / "benchmarks" / "results").glob("*.md")])

ADR_PARTS = ("Context", "Decision", "What we gave up", "When to look again")
WORDS = {
    *("seed", "canonical form", "host key", "URL-seen test", "front queue", "back queue", "politeness delay"),
    *("frontier", "lease", "visit", "capture", "content-seen test", "revisit", "recrawl"),
}
GONE = {"line", "desk", "handful", "dear host", "errand", "aside", "pace", "wish", "landing", "notes", "checkpoint"}
SELF_EXPLANATORY = set(
    re.findall(
        r"\w+",
        """
    access app argparse_types backoff best_first body build cache cares certificates chance charset cli
    clock codings config config_options content_types control curl directory display dns endless entries errors
    event_stream events explain export extract failures feeds fetch fetchers filter formats formatter ftp
    ftp_session graph handle headers host_table http http_dates http_server knowledge library links lists
    locations log lookup main mercator metadata metrics mime model multi observe open_crawl options page page_meta
    pages parent parquet plot plugins policies policy processor proxies queries queue reader record recrawl_compare
    recrawl_world render replay report reports request resolver retries robots routes rows run schema schemas search
    sections server service signals sitemaps sqlite states status store tables terminal_view threads
    time_travel tree units verify version warc web writer xml
    """,
    )
)
"""Names of modules that any engineer, or a reader of the standards, understands without the glossary."""
BEGIN, END = "<!-- made by `make docs` from model/states.py -->", "<!-- end -->"


def sections(text: str) -> dict[str, str]:
    """Heading (without its marks) -> the text below it, up to the next heading of any level."""
    parts = re.split(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def rows(text: str) -> list[list[str]]:
    """The cells of all table rows whose first cell is code."""
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def unquoted(cell: str) -> str:
    """The code span at the start of a cell."""
    found = re.match(r"`([^`]*)`", cell)
    assert found is not None, cell
    return found.group(1)


OPERATING = sections((DOCS / "OPERATING.md").read_text(encoding="utf-8"))


# --- configuration and options --------------------------------------------------------------------------


def test_the_reference_is_generated_from_the_code() -> None:
    assert REFERENCE.read_text(encoding="utf-8") == reference(), "run `make docs`"


def test_every_key_and_every_option_has_a_description() -> None:
    for section in key_sections().values():
        usual = {field.encode_name: field.default for field in msgspec.structs.fields(section)}
        below = {name for name, default in usual.items() if isinstance(default, Section)}
        elsewhere = {"rehearse", "host"} if section is Config else set()  # hidden, and documented under its own heading
        assert {name for name, _, _, meaning in keys(section) if meaning} == usual.keys() - below - elsewhere

    assert all(action.help for command in COMMANDS for action in documented(command))


def options_of(command: str) -> set[str]:
    return {flag for action in parser_of(command)._actions for flag in action.option_strings}


def test_every_command_in_an_example_exists_with_its_options() -> None:
    used = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for block in re.findall(r"```\w*\n(.*?)```", text, flags=re.DOTALL):
            used += re.findall(r"^(?:\$ )?(?:\S+/)?gossamer ([a-z]+)(.*)", block, flags=re.MULTILINE)
    assert used

    for command, rest in used:
        assert command in COMMANDS
        assert set(re.findall(r"(?<=\s)--[a-z-]+", rest)) <= options_of(command), (command, rest)


def test_every_configuration_in_an_example_is_valid() -> None:
    blocks = []
    for page in PAGES:
        blocks += re.findall(r"```toml\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert blocks

    for block in blocks:
        assert make_config(with_underscores(tomllib.loads(block)), {}) != Config()


def test_samples_of_output_are_those_of_today() -> None:
    headings = {
        "pages": PAGE_COLUMNS.heading.split(),
        "dead": DEAD_COLUMNS.heading.split(),
        "hosts": host_columns(20).heading.split(),
    }
    lists, rows_of_status = set(), 0
    for page in PAGES:
        for block in re.findall(r"```\w*\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL):
            for command, options, output in re.findall(
                r"^\$ gossamer (\w+)(.*)\n((?:(?!\$ ).*\n)+)", block, re.MULTILINE
            ):
                if command in headings and "json" not in options and "requeue" not in options:
                    assert output.splitlines()[0].split() == headings[command], (page, command)
                    lists.add(command)
                if command == "status" and "json" not in options:
                    totals = output.partition("Other outcomes")[0].splitlines()[1:]
                    labels = {line.strip().split("  ")[0] for line in totals if line}
                    assert labels <= strings_of("cli"), page
                    rows_of_status += len(labels)

    assert lists >= {"pages", "dead"} and rows_of_status


# --- reasons and events ------------------------------------------------------------------------------------


def strings_of(folder: str) -> set[str]:
    """All string literals in a package, or in a module of that name."""
    found = set()
    source = ROOT / "src" / "gossamer"
    for path in [*source.glob(f"{folder}.py"), *(source / folder).rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
    return found


def test_every_failure_is_documented_and_every_documented_reason_is_given_by_the_code() -> None:
    documented = {unquoted(row[0]) for row in rows(OPERATING["Reasons"])}
    failures = {failure.value for failure in Failure}
    sql = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.sql"))
    stages = ("model", "crawl", "dedup", "filter", "extract", "backends")
    in_code = set(re.findall(r"'(\w+)'", sql)).union(*map(strings_of, stages))

    assert failures <= documented
    assert documented - failures <= in_code


def reasons_in_calls() -> set[str]:
    """The reasons that the crawl passes when it settles a URL."""
    found = set()
    for path in (ROOT / "src" / "gossamer" / "crawl").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func).rpartition(".")[2]
                if called in ("_exclude", "dead", "_again_or_dead", "excluded"):
                    found |= {a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)}
            elif isinstance(node, ast.Subscript) and ast.unparse(node.value) == "excluded":
                found |= {str(node.slice.value)} if isinstance(node.slice, ast.Constant) else set()
    return found


def reasons_of_the_filter() -> set[str]:
    """The reasons listed in the docstrings of the filter."""
    rules = (ROOT / "src" / "gossamer" / "filter" / "rules.py").read_text(encoding="utf-8")
    story = (ROOT / "src" / "gossamer" / "filter" / "__init__.py").read_text(encoding="utf-8")
    promised = re.search(r"the reason: (.*?)\"\"\"", rules, flags=re.DOTALL)
    refused = re.search(r"refused with a reason\s*\((.*?)\)", story, flags=re.DOTALL)
    assert promised is not None and refused is not None
    return set(re.findall(r"`(\w+)`", promised.group(1) + refused.group(1)))


def test_every_reason_that_the_crawl_gives_is_documented() -> None:
    documented = {unquoted(row[0]) for row in rows(OPERATING["Reasons"])}
    given = reasons_in_calls() | reasons_of_the_filter()

    assert len(given) > 12
    assert given - documented == set()


def test_every_event_is_documented() -> None:
    logged = set()
    for path in (ROOT / "src" / "gossamer").rglob("*.py"):
        logged |= set(
            re.findall(r"event\(\s*(?:[^\"()]*\(\),\s*)?\"([a-z]+\.[a-z_]+)\"", path.read_text(encoding="utf-8"))
        )

    assert {unquoted(row[0]) for row in rows(OPERATING["Events"])} == logged


# --- states ----------------------------------------------------------------------------------------------


def state_diagram() -> str:
    """The permitted transitions, from the transition table."""
    states = list(UrlState)
    width = max(len(state.word) for state in states)
    lines = ["```"]
    for old in states:
        to = [new.word for new in states if new in TRANSITIONS[old]]
        reached = "any state" if len(to) == len(states) else ", ".join(to)
        lines.append(f"{old.word:>{width}} ──► {reached}")
    return "\n".join([*lines, "```"])


def with_state_diagram(text: str) -> str:
    head, _, rest = text.partition(BEGIN)
    return f"{head}{BEGIN}\n{state_diagram()}\n{END}{rest.partition(END)[2]}"


def test_the_state_diagram_is_the_transition_table() -> None:
    text = ARCHITECTURE.read_text(encoding="utf-8")

    assert text == with_state_diagram(text), "run `make docs`"


def test_every_state_is_explained() -> None:
    section = sections(ARCHITECTURE.read_text(encoding="utf-8"))["States of a URL"]

    assert {unquoted(row[0]) for row in rows(section)} == {state.word for state in UrlState}


# --- the call sequence for one URL -----------------------------------------------------------------------


def definitions_in(path: Path) -> set[str]:
    """The functions of a module, and the methods of its classes as `Class.method`."""
    functions = ast.FunctionDef | ast.AsyncFunctionDef
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, functions):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{method.name}" for method in node.body if isinstance(method, functions)}
    return found


def test_every_function_in_the_call_sequence_exists() -> None:
    walk = rows(sections(ARCHITECTURE.read_text(encoding="utf-8"))["Call sequence for one URL"])
    wrong = []
    for file, function, _ in walk:
        path = ROOT / "src" / "gossamer" / unquoted(file)
        if not path.is_file():
            wrong.append(f"{unquoted(file)}: no such file")
        elif unquoted(function) not in definitions_in(path):
            wrong.append(f"{unquoted(file)}: no {unquoted(function)}")

    assert len(walk) >= 40
    assert not wrong, "\n".join(['Correct these rows of "Call sequence for one URL" in docs/ARCHITECTURE.md:', *wrong])


# --- the documents themselves -------------------------------------------------------------------------------


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings."""
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@table("page", PAGES)
def test_every_link_within_the_project_works(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if "://" in target or target.startswith("mailto:"):
            continue
        name, _, anchor = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        assert path.exists(), target
        if anchor:
            assert anchor in anchors(path.read_text(encoding="utf-8")), target


def test_decisions_are_numbered_without_gaps_have_all_parts_and_are_listed_in_order() -> None:
    records = sorted((DOCS / "adr").glob("*.md"))
    index = re.findall(r"^\| \[(\d+)\]\(adr/(.+?)\) \| (.+) \|$", ARCHITECTURE.read_text("utf-8"), flags=re.MULTILINE)

    assert [record.name[:4] for record in records] == [f"{number:04}" for number in range(1, len(records) + 1)]
    assert [name for _, name, _ in index] == [record.name for record in records]
    for record, (number, _, title) in zip(records, index, strict=True):
        text = record.read_text(encoding="utf-8")
        assert text.startswith(f"# ADR {number}: {title}\n"), record.name
        assert record.name.startswith(f"{int(number):04}-")
        assert set(ADR_PARTS) <= sections(text).keys(), record.name


GLOSSARY = (DOCS / "GLOSSARY.md").read_text(encoding="utf-8")
TERMS = re.findall(r"^\*\*(.+?)\*\*", GLOSSARY, flags=re.MULTILINE)


def test_the_glossary_has_the_terms_of_the_literature_in_order() -> None:
    assert set(TERMS) >= WORDS
    assert not GONE & set(TERMS)
    assert sorted(TERMS, key=str.casefold) == TERMS


def test_the_name_of_every_module_is_explained() -> None:
    source = ROOT / "src" / "gossamer"
    places = [path.relative_to(source) for path in source.rglob("*.py")]
    modules = {place.stem for place in places if not place.stem.startswith("_")}
    folders = {folder for place in places for folder in place.parts[:-1]}
    explained = {term.lower().replace(" ", "_").replace("-", "_") for term in TERMS}
    explained |= {Path(named).stem for named in re.findall(r"`([\w/.]+)`", GLOSSARY)}

    unknown = sorted((modules | folders) - explained - SELF_EXPLANATORY - set(COMMANDS))
    assert not unknown, f"Define these names in docs/GLOSSARY.md (with the path), or find better names: {unknown}"
    gone = sorted(SELF_EXPLANATORY - modules - folders)
    assert not gone, f"No module has these names any more; remove them from SELF_EXPLANATORY: {gone}"


def test_every_module_that_the_glossary_names_exists() -> None:
    source = ROOT / "src" / "gossamer"
    named = re.findall(r"`(\w+/[\w/]*\w(?:\.py)?|\w+\.py)`", GLOSSARY)

    gone = [path for path in named if not (source / path).exists()]
    assert not gone, f"Correct these paths in docs/GLOSSARY.md: {gone}"


def test_the_documents_contain_no_local_paths() -> None:
    for page in PAGES:
        found = re.search(r"(?<![\w.])/(?:work|home|root|Users|tmp)/", page.read_text(encoding="utf-8"))
        assert found is None, page


def test_the_readme_gives_the_two_commands_and_the_makefile_has_them() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")

    for target in ("demo", "test"):
        assert re.search(rf"^make {target}\b", readme, flags=re.MULTILINE)
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE)


def test_continuous_integration_runs_the_tests_and_nothing_else() -> None:
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    commands = [line for line in lines if line and not line.startswith("#")]

    assert commands[0] == "set -euo pipefail"
    assert commands[-1] == "exec make test"
    assert len(commands) == 3


if __name__ == "__main__":
    REFERENCE.write_text(reference(), encoding="utf-8")
    ARCHITECTURE.write_text(with_state_diagram(ARCHITECTURE.read_text(encoding="utf-8")), encoding="utf-8")
