"""What a configuration asks for, as policies."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gossamer.config.load import Config, config_from_text, config_to_text, make_config
from gossamer.config.policies import canonicaliser_for, check_config, ordering_for, politeness_for, rules_for
from gossamer.config.sections import CacheSection
from gossamer.errors import ConfigError
from gossamer.filter.domains import domain_of
from gossamer.frontier.orderings import ORDERINGS
from gossamer.model.units import HostKey, Url


@pytest.mark.parametrize("name", ORDERINGS)
def test_every_ordering_of_ours_is_made_by_its_name(name: str) -> None:
    assert ordering_for(Config(order=name)).name == name
    assert ordering_for(Config(), name).name == name


def test_an_ordering_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(ConfigError, match=r"no such ordering: 'best' .*mercator.*importance"):
        check_config(Config(order="best"))


def test_an_impossible_scope_is_refused_before_anything_is_touched() -> None:
    with pytest.raises(ConfigError):
        check_config(Config(scope="nowhere"))


@pytest.mark.parametrize(
    ("url", "stored"),
    [
        ("redis://me:s%40cret@h:9/1", "redis://me@h:9/1"),
        ("redis://h1,:s%40cret@h2", "redis://h1,@h2"),
        ("redis+sentinel://:s%40cret@s1,s2/main", "redis+sentinel://@s1,s2/main"),
        ("redis://h", "redis://h"),
    ],
)
def test_the_password_of_a_cache_is_not_stored_with_the_configuration_for_other_workers(url: str, stored: str) -> None:
    text = config_to_text(Config(cache=CacheSection(url=url)))

    assert "cret" not in text
    assert config_from_text(text).cache.url == stored


def test_the_gaps_are_those_of_the_configuration() -> None:
    policy = politeness_for(make_config({"delay": 2.5, "politeness": {"max_retry_after": 60.0}}, {}))

    assert (policy.min_delay, policy.load_factor, policy.max_retry_after) == (2.5, 10.0, 60.0)


def test_the_rules_of_entry_are_those_of_the_configuration() -> None:
    config = make_config(
        {"scope": "any", "max_depth": 3, "filter": {"exclude_extensions": [".PDF"], "drop_query": True}}, {}
    )
    rules, host = rules_for(config), HostKey("h.test")

    assert rules.may_enter(Url("http://h.test/a.pdf"), host, 1) == "extension"
    assert rules.may_enter(Url("http://h.test/a.zip"), host, 1) is None
    assert rules.may_enter(Url("http://h.test/"), host, 4) == "depth_limit"
    assert getattr(canonicaliser_for(config).canonicalise("http://h.test/?a=1"), "url", None) == "http://h.test/"


@pytest.mark.parametrize(
    ("host", "domain", "suffix"),
    [
        ("www.example.co.nz", "example.co.nz", "co.nz"),
        ("example.org", "example.org", "org"),
        ("co.nz", "co.nz", "co.nz"),
        ("someone.github.io", "someone.github.io", "github.io"),
        ("127.0.0.1", "127.0.0.1", "127.0.0.1"),
        ("[::1]", "[::1]", "[::1]"),
        ("localhost", "localhost", "localhost"),
    ],
)
def test_a_host_has_a_domain_a_partition_and_a_suffix(host: str, domain: str, suffix: str) -> None:
    found, partition, ending = domain_of(HostKey(host))

    assert (found, ending) == (domain, suffix)
    assert 0 <= partition < 64


@pytest.mark.service
@pytest.mark.parametrize("native", ["1", "0"])
def test_a_crawl_needs_no_package_of_the_lab_or_of_development(native: str, tmp_path: Path) -> None:
    """A whole crawl, its link graph and a replay of it, with C and without, where those packages are missing."""
    crawl = str(tmp_path / "crawl")
    commands = [
        ["demo", "--pages", "60", "--dir", crawl, "--quiet"],
        ["export", "--dir", crawl, "--what", "graph", "-o", str(tmp_path / "graph.tsv"), "--quiet"],
        ["simulate", "--crawl", crawl, "--order", "bfs"],
    ]
    program = "import sys\nsys.modules.update(dict.fromkeys(('numpy', 'PIL', 'aiodns', 'pyarrow')))\n"
    program += f"from gossamer.cli.main import main\nprint([main(command) for command in {commands}])"
    environment = os.environ | {"GOSSAMER_NATIVE": native}

    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)

    assert done.stdout.endswith("[0, 0, 0]\n"), done.stdout + done.stderr
    assert (tmp_path / "graph.tsv").stat().st_size > 0


def test_whoever_only_asks_loads_no_fetcher() -> None:
    """`gossamer explain` must answer at once: what it imports is what it takes."""
    heavy = ("pycurl", "pycares", "rich", "uvloop", "turbohtml", "asyncio", "fastapi")
    program = "import sys, gossamer.cli.explain, gossamer.cli.status\n"
    program += f"print([module for module in {heavy} if module in sys.modules])"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"


def test_priority_rules_are_checked_and_named_as_they_were_given() -> None:
    def configured(**rule: str) -> str:
        config = make_config({"priority": {"rules": [rule]}}, {})
        return ordering_for(config).rules.text

    assert configured(host="*.bbc.test", pattern="*/live/*", **{"class": "high"}) == (
        "rule 1 (host *.bbc.test, pattern */live/*): high"
    )
    problems: dict[str, dict[str, str]] = {
        "class: must be 'high', 'medium' or 'low', not 'urgent'": {"host": "a.test", "class": "urgent"},
        "class: must be 'high', 'medium' or 'low', not ''": {"host": "a.test"},
        "host: must be given, or pattern": {"class": "low"},
        "host: must be a name like 'example.org' or '*.example.org', not 'http://a.test/'": {
            "host": "http://a.test/",
            "class": "low",
        },
        "hots: no such key": {"hots": "a.test", "class": "low"},
        "expected 1 to 2083 characters, got ''": {"pattern": "", "class": "low"},
    }
    for problem, rule in problems.items():
        with pytest.raises(ConfigError, match=re.escape(problem)):
            configured(**rule)
