"""A folder on the path with packages that have entry points, as pip installs them."""

import importlib
import re
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

EXTENDING = Path(__file__).resolve().parents[1] / "docs" / "EXTENDING.md"


class PluginFolder:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.modules: list[str] = []

    def install(self, module: str, code: str, group: str, entries: dict[str, str]) -> None:
        """A module, and what pip writes beside it from the entry points of its pyproject.toml."""
        self.modules.append(module)
        (self._folder / f"{module}.py").write_text(code, encoding="utf-8")
        info = self._folder / f"{module}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n", encoding="utf-8")
        lines = [f"[{group}]", *(f"{name} = {value}" for name, value in entries.items())]
        (info / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
        importlib.invalidate_caches()


@contextmanager
def plugin_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PluginFolder]:
    monkeypatch.syspath_prepend(folder)
    made = PluginFolder(folder)
    yield made
    for module in made.modules:
        sys.modules.pop(module, None)


def documented_plugin(title: str, group: str) -> tuple[str, dict[str, str]]:
    """The code of a section of docs/EXTENDING.md, and its entry points."""
    text = EXTENDING.read_text(encoding="utf-8").partition(f"## {title}\n")[2].partition("\n## ")[0]
    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    (project,) = re.findall(r"```\n(\[project\.entry-points.*?)```", text, flags=re.DOTALL)
    return code, tomllib.loads(project)["project"]["entry-points"][group]
