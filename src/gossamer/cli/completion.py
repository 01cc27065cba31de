"""`gossamer completion`: prints a completion script. The scripts are written by `make docs`, with shtab."""

import argparse
import sys
from importlib.resources import files

from gossamer.cli import argparse_types as given

USAGE = "bash|zsh|fish"
DESCRIPTION = """\
Print a script that completes commands and options in a shell. Save it where
the shell looks for completions, and start a new shell."""
EXAMPLE = """\
  gossamer completion bash > ~/.local/share/bash-completion/completions/gossamer
  gossamer completion zsh > ~/.zfunc/_gossamer
  gossamer completion fish > ~/.config/fish/completions/gossamer.fish"""

SHELLS = ("bash", "zsh", "fish")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="the shell")


def run(arguments: argparse.Namespace) -> int:
    shell = given.text(arguments, "shell")
    sys.stdout.write((files("gossamer.cli") / "completions" / f"gossamer.{shell}").read_text(encoding="utf-8"))
    return 0
