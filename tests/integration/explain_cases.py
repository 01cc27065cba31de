"""Asking for the story of a URL, and looking at its parts."""

import contextlib
import io
import json
from dataclasses import dataclass
from pathlib import Path

from gossamer.cli.main import main

Story = dict[str, object]


@dataclass(frozen=True, slots=True)
class Explained:
    """A crawl to ask about."""

    dir: Path
    toml: Path
    base: str
    down: str = ""

    @property
    def options(self) -> list[str]:
        return ["--dir", str(self.dir), "--config", str(self.toml)]


def read(crawl: Explained, url: str, *options: str) -> str:
    """The story in words."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert main(["explain", url, *crawl.options, *options]) == 0
    return out.getvalue()


def ask(crawl: Explained, url: str, *options: str) -> Story:
    """The story as an object."""
    story = json.loads(read(crawl, url, "--json", *options))
    assert isinstance(story, dict)
    return story


def part(story: Story, name: str) -> Story:
    found = story[name]
    assert isinstance(found, dict), name
    return found


def parts(story: Story, name: str) -> list[Story]:
    found = story[name]
    assert isinstance(found, list), name
    return found


def why(story: Story) -> str:
    """Why the next visit is when it is."""
    return str(part(story, "next")["why"])


def refusals(story: Story) -> list[tuple[object, object]]:
    """The rules of entry that do not pass, with their reasons."""
    return [(v["rule"], v["reason"]) for v in parts(story, "verdicts") if v["reason"] is not None]
