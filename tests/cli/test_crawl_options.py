from collections.abc import Mapping
from pathlib import Path

import pytest

from gossamer.cli import crawl, serve
from gossamer.cli.argparse_types import Parser
from gossamer.cli.config_options import OPTIONS, Option, config_from, keys_of, unsaid
from gossamer.config.load import CHANGED_KEYS, Config, known_shape, make_config, shape_of
from gossamer.config.policies import canonicaliser_for, identity_rules_for
from gossamer.config.sections import Section
from gossamer.errors import UsageError
from tests.table import table

CONTRACT = {
    *(
        "--dir",
        "--seeds",
        "--scope",
        "--max-pages",
        "--min-pages",
        "--max-depth",
        "--order",
        "--delay",
        "--delay-factor",
    ),
    *("--concurrency", "--user-agent", "--dns", "--allow-private", "--json", "--quiet"),
}


def parsed(
    *words: str, file: Path | None = None, remembered: Mapping[str, object] | None = None, serves: bool = False
) -> Config:
    parser = Parser("gossamer crawl", crawl.USAGE, crawl.DESCRIPTION, crawl.EXAMPLE)
    (serve if serves else crawl).configure(parser)
    return config_from(parser.parse_intermixed_args(list(words)), file, remembered)


@pytest.fixture(autouse=True)
def in_an_empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_every_key_of_the_configuration_is_an_option_or_a_section() -> None:
    options = {option.key for option in OPTIONS if "." not in option.key}
    sections = {name for name in Config.__struct_fields__ if isinstance(getattr(Config(), name), Section)}

    assert options | sections | {"host"} == set(Config.__struct_fields__)
    assert not options & sections


def test_every_option_of_a_section_is_a_key_of_it() -> None:
    for option in OPTIONS:
        section, dot, key = option.key.partition(".")
        if dot:
            assert key in getattr(Config(), section).__struct_fields__


def test_the_options_of_the_contract_are_all_there() -> None:
    assert {option.flag for option in OPTIONS} >= CONTRACT


def test_without_options_the_configuration_is_the_default() -> None:
    assert parsed() == Config()


EXAMPLES = {
    "dir": ("x", "x"),
    "seeds": ("-", "-"),
    "scope": ("tld:nz", "tld:nz"),
    "max_pages": ("7", 7),
    "min_pages": ("5", 5),
    "max_depth": ("0", 0),
    "order": ("bfs", "bfs"),
    "delay": ("2", 2.0),
    "delay_factor": ("0.5", 0.5),
    "concurrency": ("9", 9),
    "workers": ("3", 3),
    "cluster.partitions": ("64", 64),
    "user_agent": ("mybot/1", "mybot/1"),
    "dns": ("127.0.0.1:53", "127.0.0.1:53"),
    "allow_private": (None, True),
    "recrawl.keep_fresh": (None, True),
    "rehearse": ("2.5", 2.5),
    "allow_networks": ("10.1.0.0/16", ("10.1.0.0/16",)),
    "store": ("sqlite:news", "sqlite:news"),
    "unsafe_store": (None, True),
    "blobs": ("file:/captures", "file:/captures"),
    "cache.url": ("redis://127.0.0.1:6379/0", "redis://127.0.0.1:6379/0"),
    "hooks": ("watcher", ("watcher",)),
    "json": (None, True),
    "quiet": (None, True),
    "log.pages": ("-", "-"),
    "search.queries": ("tidal power", ("tidal power",)),
    "filter.exclude_domains": ("a.test", ("a.test",)),
    "service.host": ("::1", "::1"),
    "service.port": ("0", 0),
    "politeness.max_per_domain": ("50", 50),
}


@table("option", OPTIONS)
def test_each_option_sets_its_key(option: Option) -> None:
    text, value = EXAMPLES[option.key]

    found: object = parsed(option.flag, *([] if text is None else [text]), serves=option.key.startswith("service."))

    for name in option.key.split("."):
        found = getattr(found, name)
    assert found == value


def test_only_options_that_were_given_override_the_file(tmp_path: Path) -> None:
    file = tmp_path / "my.toml"
    file.write_text(
        "delay = 5\nallow-private = true\nquiet = true\n"
        '[filter]\nexclude-domains = ["a.test"]\nminimise = true\n[politeness]\nmax_crawl_delay = 7\n'
    )

    config = parsed("--delay", "3", "--max-per-domain", "4", "--no-quiet", file=file)

    assert config.delay == 3.0
    assert config.allow_private is True
    assert config.quiet is False
    assert config.filter.exclude_domains == ("a.test",)
    assert config.politeness.max_per_domain == 4
    assert config.politeness.max_crawl_delay == 7.0


def test_what_is_remembered_counts_below_the_file_key_by_key(tmp_path: Path) -> None:
    file = tmp_path / "my.toml"
    file.write_text("max_depth = 3\n[filter]\nminimise = false\n")
    remembered = {"max_depth": 9, "order": "bfs", "filter": {"minimise": True, "drop_query": True}}

    config = parsed("--no-quiet", "--exclude-domain", "a.test", file=file, remembered=remembered)

    assert (config.max_depth, config.order) == (3, "bfs")
    assert (config.filter.minimise, config.filter.drop_query) == (False, True)
    assert config.filter.exclude_domains == ("a.test",)


def test_a_key_that_is_taken_out_of_the_file_does_not_come_back_from_memory(tmp_path: Path) -> None:
    (tmp_path / "gossamer.toml").write_text('max_depth = 3\n[filter]\nexclude = ["*"]\n')
    remembered = {"max_depth": 3, "order": "bfs", "filter": {"exclude": ["*"], "minimise": True}}

    kept = unsaid(remembered, keys_of(None))

    assert kept == {"order": "bfs", "filter": {"minimise": True}}
    (tmp_path / "gossamer.toml").write_text("")
    assert (parsed(remembered=kept).max_depth, parsed(remembered=kept).filter.exclude) == (20, ())


def test_what_a_newer_version_remembers_is_passed_over() -> None:
    within = {"minimise": True, "later": 1}
    remembered = {"order": "bfs", "later": 1, "seeds": "x", "filter": within, "identity": {"learn": False, "later": 1}}
    remembered["content"] = {"text": "trafilatura", "later": 1}
    known = {"order": "bfs", "filter": {"minimise": True}, "identity": {"learn": False}}
    known["content"] = {"text": "trafilatura"}

    assert known_shape(remembered) == known
    assert make_config(known_shape(shape_of(Config())), {}) == Config()


@pytest.mark.parametrize(
    ("changed", "identity"),
    [
        ({}, {"tracking": "ignore", "sessions": "ignore", "order": "ignore"}),
        ({"drop_tracking": True}, {"tracking": "remove", "sessions": "ignore", "order": "ignore"}),
        ({"drop_sessions": True, "sort_query": True}, {"tracking": "ignore", "sessions": "remove", "order": "sort"}),
    ],
)
def test_what_version_0_1_remembers_is_understood(changed: dict[str, bool], identity: dict[str, str]) -> None:
    removed = {"max_links_per_page": 5000, "drop_tracking": False, "drop_sessions": False, "sort_query": False}
    before = {"tracking": True, "sessions": True, "order": True, "keep": ["id"]}
    remembered = {"max_depth": 7, "filter": {"minimise": True, **removed, **changed}, "identity": before}

    config = make_config(known_shape(remembered), {})

    assert (config.max_depth, config.filter.minimise, config.identity.keep) == (7, True, ("id",))
    assert {name: getattr(config.identity, name) for name in identity} == identity
    off = {**remembered, "identity": {"tracking": False, "sessions": False, "order": False}}
    assert make_config(known_shape(off), {}).identity.learn
    assert identity_rules_for(make_config(known_shape(off), {})).tracking is bool(changed.get("drop_tracking"))


@pytest.mark.parametrize("key", CHANGED_KEYS)
def test_a_key_of_version_0_1_is_named_with_what_to_do_about_it(key: str, tmp_path: Path) -> None:
    section, _, name = key.partition(".")
    (tmp_path / "gossamer.toml").write_text(f"[{section}]\n{name} = true\n")

    with pytest.raises(UsageError) as raised:
        parsed()

    assert str(raised.value) == f"gossamer.toml: {key}: {CHANGED_KEYS[key]}"


def test_noise_is_ignored_removed_or_kept() -> None:
    removing = make_config({"identity": {"tracking": "remove", "order": "sort"}}, {})
    keeping = make_config({"identity": {"tracking": "keep", "order": "keep"}}, {})

    found = [
        (rules.drop_tracking, rules.sort_query, same.tracking, same.order)
        for config in (Config(), removing, keeping)
        for rules, same in [(canonicaliser_for(config).rules, identity_rules_for(config))]
    ]

    assert found == [(False, False, True, True), (True, True, True, True), (False, False, False, False)]


def test_a_rehearsal_is_no_key_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "gossamer.toml").write_text("rehearse = 10\n")

    with pytest.raises(UsageError, match="rehearse: no such key"):
        parsed()


def test_a_list_given_twice_overrides_the_file_but_not_the_rest_of_its_section(tmp_path: Path) -> None:
    file = tmp_path / "my.toml"
    file.write_text('[filter]\nexclude-domains = ["a.test"]\nminimise = true\n')

    config = parsed("--exclude-domain", "b.test", "--exclude-domain", "c.test", file=file)

    assert config.filter.exclude_domains == ("b.test", "c.test")
    assert config.filter.minimise is True


def test_the_file_in_the_current_directory_is_read_without_being_named(tmp_path: Path) -> None:
    (tmp_path / "gossamer.toml").write_text("max-pages = 12\n")

    assert parsed().max_pages == 12


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("max-pags = 1\n", "gossamer.toml: max_pags: no such key"),
        ("[fetch]\nmax_redirect = 1\n", "gossamer.toml: fetch.max_redirect: no such key"),
        ('delay = "slow"\n', "gossamer.toml: delay: "),
        ("filter = 3\n", "gossamer.toml: filter: "),
        ("delay = \n", "gossamer.toml is not valid TOML"),
        ('[host."a-b.test"]\ndelay = "slow"\n', 'gossamer.toml: host."a-b.test".delay: Expected'),
        ('[host."a.test"]\ndelay = -1\n', 'gossamer.toml: host."a.test".delay: must be a number of at least 0, not -1'),
        ('[host."a.test"]\ndelays = 1\n', 'gossamer.toml: host."a.test".delays: no such key'),
        ('[host."a.test"]\nauth = "magic"\nauth_env = "X"\n', 'gossamer.toml: host."a.test".auth: must be basic or'),
        ('[host."a.test"]\nauth = "basic"\n', 'gossamer.toml: host."a.test".auth_env: must be given'),
        (
            '[host."a.test"]\nproxy = "http://u:hunter2@p:1"\n',
            'gossamer.toml: host."a.test".proxy: must not contain credentials',
        ),
        ('[host]\n"a.test" = 3\n', 'gossamer.toml: host."a.test": Expected'),
        ("host = 3\n", "gossamer.toml: host: Expected"),
        ('[fetch]\nproxy = "http://p:1"\nproxy_env = "P"\n', "gossamer.toml: fetch.proxy_env: must not be given"),
        ('[fetch.headers]\n"X-A" = 1\n', "gossamer.toml: fetch.headers[...]: Expected"),
    ],
)
def test_what_is_wrong_in_the_file_is_named(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "gossamer.toml").write_text(text)

    with pytest.raises(UsageError) as refused:
        parsed("--exclude-domain", "a.test")

    assert str(refused.value).startswith(message)
    assert "hunter2" not in str(refused.value)


def test_names_of_hosts_and_header_fields_stay_as_they_are_written(tmp_path: Path) -> None:
    (tmp_path / "gossamer.toml").write_text(
        '[fetch]\naccept-language = "mi"\nheaders = { "X-One-Two" = "1" }\n'
        '[host."my-site.test"]\nauth-env = "A-B"\nauth = "bearer"\nheaders = { "X-Three-Four" = "2" }\n'
    )

    config = parsed()

    assert config.fetch.headers == {"X-One-Two": "1"} and config.fetch.accept_language == "mi"
    assert config.host["my-site.test"].headers == {"X-Three-Four": "2"}
    assert config.host["my-site.test"].auth_env == "A-B"


def test_an_impossible_option_is_named_as_it_was_given(tmp_path: Path) -> None:
    (tmp_path / "gossamer.toml").write_text("max-pages = 12\n")

    with pytest.raises(UsageError, match=r"^--concurrency: must be a number of at least 1, not 0$"):
        parsed("--concurrency", "0")


def test_a_file_that_was_named_must_be_there() -> None:
    with pytest.raises(UsageError, match=r"cannot read nowhere\.toml: No such file"):
        parsed(file=Path("nowhere.toml"))


def test_urls_may_stand_between_options() -> None:
    parser = Parser("gossamer crawl", crawl.USAGE, crawl.DESCRIPTION, crawl.EXAMPLE)
    crawl.configure(parser)

    arguments = parser.parse_intermixed_args(["http://a.test", "--max-pages", "3", "http://b.test"])

    assert arguments.urls == ["http://a.test", "http://b.test"]
