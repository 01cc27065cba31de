"""The entry point: runs the command that was given, and reports errors in one line.

Exit status: 0 done (finished, or a limit was reached), 1 failed, 2 bad usage, 3 fewer pages than
`--min-pages`, 130 interrupted (SIGINT), 143 terminated (SIGTERM).
"""

import argparse
import importlib
import os
import re
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Protocol, cast

from gossamer.cli import COMMANDS
from gossamer.cli.argparse_types import Parser
from gossamer.errors import NO_ROOM, ConfigError, GossamerError, UsageError
from gossamer.model.formats import did_you_mean
from gossamer.observe.formatter import printable
from gossamer.version import __version__

FAILED, BAD_USAGE, INTERRUPTED = 1, 2, 130


class Command(Protocol):
    """What each module of `gossamer.cli` offers."""

    USAGE: str
    DESCRIPTION: str
    EXAMPLE: str

    def configure(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, arguments: argparse.Namespace) -> int: ...


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. Returns the exit status; raises nothing but what is a bug of ours."""
    words = list(sys.argv[1:] if argv is None else argv)
    if argv is None and any("://" in word and ("@" in word or "password=" in word) for word in words):
        _hide_password()
    try:
        code = _run(words)
        sys.stdout.flush()
    except GossamerError as error:
        return _complain(str(error), BAD_USAGE if isinstance(error, UsageError) else FAILED)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _drop_output()  # the reader has seen enough
        return 0
    except OSError as error:
        if error.errno in NO_ROOM and error.filename is None:
            _drop_output()
            return _complain("no space left for standard output", FAILED)
        return _complain(f"{error.filename}: {error.strerror}" if error.filename else str(error), FAILED)
    return code


def _run(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        if len(words) < 2 or words[0] != "help":
            sys.stdout.write(overview())
            return 0 if words else BAD_USAGE
        words = [words[1], "--help"]
    if words[0] in ("-V", "--version", "version"):
        print(f"gossamer {__version__}")
        return 0
    name = words[0]
    if name not in COMMANDS:
        raise UsageError(_unknown(name))
    command = cast(Command, importlib.import_module(f"gossamer.cli.{name}"))
    parser = Parser(f"gossamer {name}", command.USAGE, command.DESCRIPTION, command.EXAMPLE)
    command.configure(parser)
    try:
        # Intermixed, so that URLs may stand between options.
        arguments = parser.parse_intermixed_args(words[1:])
    except SystemExit as done:  # --help
        return int(done.code or 0)
    with ExitStack() as uses:
        arguments.uses = uses  # of private servers, until the command has ended
        try:
            return command.run(arguments)
        except ConfigError as error:
            raise UsageError(_by_option(error, arguments)) from error


def _by_option(error: ConfigError, arguments: argparse.Namespace) -> str:
    """The message of an error in a key, with the name of the option that has set it."""
    from gossamer.cli.config_options import options_given

    flag = options_given(arguments).get(error.key)
    return str(error) if flag is None else f"{flag}: {error.problem}"


def _hide_password() -> None:
    """Start again without the password that is in an argument, where everybody on this machine can read it: it is given
    on in the environment."""
    from gossamer.crawl.run.location import CACHE_PASSWORD, STORE_PASSWORD, take_cache_password, take_password

    places = ((*STORE_PASSWORD, take_password), (*CACHE_PASSWORD, take_cache_password))
    kept = []
    for word in sys.orig_argv[1:]:
        for scheme, variable, take in places:
            if (match := re.match(rf"(--[a-z-]+=)?({scheme}.*)", word)) is not None:
                url, password = take(match[2])
                word = (match[1] or "") + url
                if password is not None:
                    os.environ[variable] = password
        kept.append(word)
    if kept != sys.orig_argv[1:]:
        os.execv(sys.executable, [sys.executable, *kept])


def overview() -> str:
    """What `gossamer --help` shows."""
    width = max(map(len, COMMANDS))
    commands = "\n".join(f"  {name:<{width}}  {summary}" for name, summary in COMMANDS.items())
    return (
        "gossamer: a polite, prioritised, crash-safe web crawler\n\n"
        "usage: gossamer COMMAND [options]\n\n"
        f"{commands}\n\n"
        "Run 'gossamer COMMAND --help' for details of a command, 'gossamer --version' for the version.\n"
        "Run 'gossamer demo' for a demonstration that needs no network.\n"
    )


def _unknown(name: str) -> str:
    if name.startswith("-"):
        return f"unknown option {printable(name, 60)!r}: the command comes first (see gossamer --help)"
    message = f"no such command: {printable(name, 60)!r}"
    near = did_you_mean(name, COMMANDS)
    return f"{message}. {near}" if near else f"{message} (see gossamer --help)"


def _drop_output() -> None:
    """What is still buffered would fail again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(message: str, code: int) -> int:
    print(f"gossamer: error: {printable(' '.join(message.split()))}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
