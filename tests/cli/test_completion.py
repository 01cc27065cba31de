"""The completion scripts are those of the present options, and shells accept them."""

import argparse
import shutil
import subprocess
from pathlib import Path

import pytest
import shtab

import gossamer.cli
from gossamer.cli import COMMANDS
from gossamer.cli.completion import SHELLS
from gossamer.cli.main import main
from tests.reference import parser_of

FOLDER = Path(gossamer.cli.__file__).parent / "completions"


def parser_of_all() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("gossamer")
    commands = parser.add_subparsers()
    for name, summary in COMMANDS.items():
        own = commands.add_parser(name, help=summary)
        for action in parser_of(name)._actions:
            if "--help" not in action.option_strings and action.help != argparse.SUPPRESS:
                if "FILE" in str(action.metavar):
                    action.complete = shtab.FILE  # type: ignore[attr-defined]
                elif "DIR" in str(action.metavar):
                    action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
                own._add_action(action)
    return parser


def script(shell: str) -> str:
    return "\n".join(line.rstrip() for line in shtab.complete(parser_of_all(), shell).splitlines()) + "\n"


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_is_that_of_the_present_options(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    assert capsys.readouterr().out == script(shell), "run `make docs`"


def test_bash_completes_commands_and_options() -> None:
    bash = shutil.which("bash")
    assert bash is not None
    for words, number, wanted in (
        (["gossamer", "ex"], 1, "export"),
        (["gossamer", "crawl", "--max-p"], 2, "--max-pages"),
    ):
        ask = (
            f"source {FOLDER / 'gossamer.bash'}; COMP_WORDS=({' '.join(words)}); COMP_CWORD={number}; "
            '_shtab_gossamer; printf "%s\\n" "${COMPREPLY[@]}"'
        )
        done = subprocess.run([bash, "-c", ask], capture_output=True, text=True, timeout=60)
        assert wanted in done.stdout.split(), (words, done.stderr)


def test_an_unknown_shell_is_refused_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "tcsh"]) == 2
    assert "tcsh" in capsys.readouterr().err


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in SHELLS:
        (FOLDER / f"gossamer.{name}").write_text(script(name), encoding="utf-8")
