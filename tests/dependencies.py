"""What the project and its extras depend on, directly and indirectly."""

import tomllib
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"


def needed_by(extras: Iterable[str] = ()) -> set[str]:
    """The names of all packages that the core and these extras need on this machine."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    wanted = list(project["dependencies"])
    for extra in extras:
        wanted += project["optional-dependencies"][extra]
    seen: set[tuple[str, frozenset[str]]] = set()
    while wanted:
        asked = Requirement(wanted.pop())
        key = canonicalize_name(asked.name), frozenset(asked.extras)
        if key in seen or (asked.marker is not None and not asked.marker.evaluate({"extra": ""})):
            continue
        seen.add(key)
        for line in metadata.requires(asked.name) or []:
            own = Requirement(line)
            if own.marker is None or any(own.marker.evaluate({"extra": extra}) for extra in ("", *asked.extras)):
                own.marker = None
                wanted.append(str(own))
    return {name for name, _ in seen}
