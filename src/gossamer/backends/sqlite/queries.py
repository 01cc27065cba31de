"""Named SQL: each `-- name:` block of a .sql file beside this module is one statement."""

import re
from functools import cache
from importlib.resources import files

_NAME = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)


@cache
def named_queries(file: str) -> dict[str, str]:
    """All statements of a file, by name."""
    text = files("gossamer.backends.sqlite").joinpath(file).read_text(encoding="utf-8")
    parts = _NAME.split(text)
    return {name: body.strip() for name, body in zip(parts[1::2], parts[2::2], strict=True)}


def schema() -> str:
    """The script that makes an empty database ours."""
    return files("gossamer.backends.sqlite").joinpath("schema.sql").read_text(encoding="utf-8")
