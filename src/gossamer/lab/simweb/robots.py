"""The robots.txt of each host, and which of its pages it forbids to whom.

Each way of writing the file (a `Manner`) has, in addition to its text, the *families* of paths that it forbids. So the
web knows what is forbidden from how the file was made; nothing here parses robots.txt, and a crawler's parser is tested
against it, not against a copy of itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from gossamer.model.units import Seconds

FAMILIES: Mapping[str, str] = {
    "private": "/private/{word}-{page}.html",
    "members": "/members/{word}-{page}.html",
    "drafts": "/{section}/drafts/{word}-{page}.html",
    "print": "/{section}/{word}-{page}.html?print=yes",
    "cgi": "/tools/{word}-{page}.cgi",
    "cgi_view": "/tools/{word}-{page}.cgi?view=full",
    "archive": "/archive/{word}-{page}.html",
    "archive_public": "/archive/public/{word}-{page}.html",
    "shared": "/shared/{word}-{page}.html",
}
"""Paths that robots.txt may have rules for. No ordinary path of any host looks like one of these."""


@dataclass(frozen=True, slots=True)
class Group:
    """One group of a robots.txt: its user agents, its lines, and the families these forbid."""

    agents: tuple[str, ...]
    lines: tuple[str, ...]
    forbids: frozenset[str] = frozenset()
    forbids_all: bool = False


@dataclass(frozen=True, slots=True)
class Manner:
    """One way of writing robots.txt. `families` are the restricted pages of its hosts."""

    groups: tuple[Group, ...]
    families: tuple[str, ...]
    opening: str = "# robots.txt of {name}"
    newline: str = "\n"
    shout: bool = False  # field names in capitals, since they are case-insensitive


MANNERS: tuple[Manner, ...] = (
    Manner(
        (
            Group(
                ("*",),
                ("Disallow: /private/   # staff only", "Disallow: /*/drafts/"),
                frozenset({"private", "drafts"}),
            ),
        ),
        ("private", "drafts"),
    ),
    Manner(
        (
            Group(
                ("*",),
                (
                    "Disallow: /archive/",
                    "Allow: /archive/public/",
                    "Disallow: /*.cgi$",
                    # Of equal length: the least restrictive applies (RFC 9309, 2.2.2).
                    "Disallow: /shared/",
                    "Allow: /shared/",
                ),
                frozenset({"archive", "cgi"}),
            ),
        ),
        ("archive", "cgi", "archive_public", "cgi_view", "archive", "cgi", "shared"),
        newline="\r\n",
    ),
    Manner(
        (
            Group(("*",), ("Disallow: /",), forbids_all=True),
            Group(("Gossamer",), ("Disallow: /members/", "Disallow: /*?print="), frozenset({"members", "print"})),
        ),
        ("members", "print", "private", "members", "print"),
        opening="# {name}: closed to all but our friends",
    ),
    Manner(
        (
            Group(
                ("sleepybot", "greedybot"),
                ("Disallow: /", "Crawl-delay: 30"),
                forbids_all=True,
            ),
            Group(
                ("*",),
                ("Disallow: /private", "Disallow: /tools/*.cgi$", "Allow: /members/"),
                frozenset({"private", "cgi"}),
            ),
        ),
        ("private", "cgi", "private", "members"),
        shout=True,
    ),
    Manner(
        # Named in two groups: the rules of both apply, those of `*` do not (RFC 9309, 2.2.1).
        (
            Group(("gossamer",), ("Disallow: /members/",), frozenset({"members"})),
            Group(("*",), ("Disallow: /private/", "Crawl-delay: 20"), frozenset({"private"})),
            Group(("greedybot", "gossamer"), ("Disallow: /*/drafts/*.html$",), frozenset({"drafts"})),
        ),
        ("members", "drafts", "private", "members", "drafts"),
    ),
    Manner(
        (Group(("*",), ("Disallow:",)),),
        ("private", "archive"),
        opening="# {name} has no secrets",
    ),
)

ABSENT = Manner((), ("private", "archive"))
"""No robots.txt: a 404, and nothing is forbidden."""

DELAYABLE = 5
"""The first this many of `MANNERS` have rules to which a Crawl-delay can be added."""


@dataclass(frozen=True, slots=True)
class RobotsPlan:
    """The rules of one host. `text` is None if there is no robots.txt."""

    text: bytes | None
    families: tuple[str, ...]
    groups: tuple[Group, ...]
    crawl_delay: Seconds  # for `gossamer`; 0 for none

    def forbids(self, agent: str, family: str | None) -> bool:
        """Whether a page is forbidden for `agent`; `family` is None for an ordinary page."""
        return any(g.forbids_all or family in g.forbids for g in groups_for(self.groups, agent))


def groups_for(groups: tuple[Group, ...], agent: str) -> tuple[Group, ...]:
    """All groups that name `agent`, or those for `*` if none does."""
    named = tuple(g for g in groups if agent.lower() in (a.lower() for a in g.agents))
    return named or tuple(g for g in groups if "*" in g.agents)


def write_robots(manner: Manner, name: str, crawl_delay: Seconds) -> RobotsPlan:
    """robots.txt for the host `name`; a `crawl_delay` above 0 is added to the groups that apply to us."""
    if not manner.groups:
        return RobotsPlan(None, manner.families, (), Seconds(0.0))
    lines = [manner.opening.format(name=name)] if manner.opening else []
    ours = groups_for(manner.groups, "gossamer")
    for group in manner.groups:
        lines += [f"User-agent: {agent}" for agent in group.agents]
        lines += group.lines
        if crawl_delay > 0 and group in ours:
            lines.append(f"Crawl-delay: {crawl_delay:g}")
        lines.append("")
    if manner.shout:
        lines = [_upper_field(line) for line in lines]
    return RobotsPlan(manner.newline.join(lines).encode(), manner.families, manner.groups, crawl_delay)


def _upper_field(line: str) -> str:
    field, colon, value = line.partition(":")
    return f"{field.upper()}{colon}{value}" if not line.startswith("#") else line
