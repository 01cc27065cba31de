"""Arguments as typed values: what argparse hands over is untyped, and goes no further than here."""

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from gossamer.errors import UsageError
from gossamer.model.formats import did_you_mean


class Parser(argparse.ArgumentParser):
    """Raises its complaints as UsageError, so that all of them look alike. Options are not guessed from beginnings."""

    def __init__(self, prog: str, usage: str, description: str, example: str) -> None:
        super().__init__(
            prog=prog,
            usage=f"{prog} {usage}",
            description=description,
            epilog=f"{'examples' if example.strip().count(chr(10)) else 'example'}:\n{example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )

    def error(self, message: str) -> NoReturn:
        unknown = message.removeprefix("unrecognized arguments: ")
        if unknown != message:
            options = [option for option in self._option_string_actions if option.startswith("--")]
            if near := did_you_mean(unknown.partition(" ")[0].partition("=")[0], options, prefix="--"):
                raise UsageError(f"unknown option {unknown}. {near}")
        raise UsageError(f"{message} (see {self.prog} --help)")


def text(arguments: argparse.Namespace, name: str) -> str | None:
    value = getattr(arguments, name)
    return None if value is None else str(value)


def whole(arguments: argparse.Namespace, name: str) -> int | None:
    value = getattr(arguments, name)
    return None if value is None else int(value)


def flag(arguments: argparse.Namespace, name: str) -> bool:
    return bool(getattr(arguments, name))


def texts(arguments: argparse.Namespace, name: str) -> Sequence[str]:
    return [str(value) for value in getattr(arguments, name) or ()]


def path(arguments: argparse.Namespace, name: str) -> Path | None:
    value = getattr(arguments, name)
    return None if value is None else Path(str(value))


def host(arguments: argparse.Namespace) -> str | None:
    """The value of `--host`. Raises UsageError for one with a scheme, a port or a path, which would match nothing."""
    value = text(arguments, "host")
    if value is None:
        return None
    name = value.partition("://")[2] or value
    name = re.sub(r":\d+$", "", name.partition("/")[0]) if name.count(":") < 2 or "]:" in name else name
    if name != value:
        raise UsageError(f"--host: {value!r} is not the name of a host; without scheme, port and path it is {name!r}")
    return value


def at_least(least: int, value: int | None, flag_name: str) -> int | None:
    """Raises UsageError for a number below `least`."""
    if value is not None and value < least:
        raise UsageError(f"{flag_name}: must be at least {least}, not {value}")
    return value
