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


@cache
def migrations() -> list[tuple[int, str]]:
    """(number, script) of every migration, in order."""
    folder = files("gossamer.backends.sqlite").joinpath("migrations")
    scripts = sorted((entry.name, entry.read_text(encoding="utf-8")) for entry in folder.iterdir())
    return [(int(name.split("_")[0]), script) for name, script in scripts if name.endswith(".sql")]
