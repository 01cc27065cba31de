"""What a configuration wishes for single hosts."""

import pytest

from gossamer.config.hosts import HostSettingsTable, host_settings_for
from gossamer.config.load import Config, make_config
from gossamer.config.policies import check_config, politeness_for, rules_for
from gossamer.errors import ConfigError
from gossamer.fetch.http.options import HostOptions
from gossamer.filter.host_table import HostTable, host_table
from gossamer.model.units import HostKey, Origin, Url
from tests.table import table

SECRET = "hunter2"
ENVIRONMENT = {"LOGIN": f"joe:{SECRET}", "TOKEN": SECRET, "PROXY": f"http://joe:{SECRET}@proxy.test:8080", "EMPTY": ""}


def configured(host: dict[str, object], fetch: dict[str, object] | None = None) -> Config:
    return make_config({"host": host, "fetch": fetch or {}}, {})


def settings_for(host: dict[str, object], fetch: dict[str, object] | None = None) -> HostSettingsTable:
    return host_settings_for(configured(host, fetch), ENVIRONMENT)


# --- which section counts ---------------------------------------------------------------------------------


@table(
    ("host", "found"),
    [
        ("www.example.org", "exactly"),
        ("a.example.org", "below"),
        ("b.a.example.org", "below"),
        ("deep.sub.example.org", "below sub"),
        ("example.org", None),
        ("other.org", None),
        ("notexample.org", None),
        ("127.0.0.1", "address"),
        ("[::1]", "address 6"),
        ("xn--bcher-kva.test", "international"),
    ],
)
def test_the_most_exact_section_counts(host: str, found: str | None) -> None:
    table = host_table(
        {
            "*.example.org": "below",
            "*.sub.example.org": "below sub",
            "WWW.Example.org.": "exactly",
            "127.0.0.1": "address",
            "[::1]": "address 6",
            "b\u00fccher.test": "international",
        },
        "host",
    )

    assert table.for_host(HostKey(host)) == found


@pytest.mark.parametrize("name", ["", "*", "*.", "http://a.test/", "a.test:80", "a b", "*.[::1]", "a.*.test"])
def test_a_name_that_is_none_is_refused_by_name(name: str) -> None:
    with pytest.raises(ConfigError) as refused:
        host_table({name: 1}, "host")

    assert str(refused.value).startswith(f"host: {name!r} is neither")


def test_two_spellings_of_one_name_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"'A\.TEST' occurs twice"):
        host_table({"a.test": 1, "A.TEST": 2}, "host")


def test_an_empty_table_says_nothing_and_tables_are_equal_by_their_entries() -> None:
    assert HostTable[int]().for_host(HostKey("a.test")) is None
    assert not HostTable[int]()
    assert host_table({"a.test": 1}, "host") == HostTable((("a.test", 1),)) != HostTable((("a.test", 2),))


# --- the settings of a host -----------------------------------------------------------------------------------------


def test_a_hosts_section_is_added_to_what_all_hosts_get() -> None:
    found = settings_for(
        {"a.test": {"headers": {"x-all": "mine", "X-Own": "1"}, "verify": False}},
        {"headers": {"X-All": "yours"}, "accept_language": "mi", "http2": False},
    )

    usual, own = found.for_host(HostKey("b.test")), found.for_host(HostKey("a.test"))
    assert usual.options.headers == (("Accept-Language", "mi"), ("X-All", "yours"))
    assert own.options.headers == (("Accept-Language", "mi"), ("x-all", "mine"), ("X-Own", "1"))
    assert (usual.options.verify, own.options.verify) == (True, False)
    assert usual.options.http2 is own.options.http2 is False


def test_credentials_come_from_the_environment_and_are_shown_nowhere() -> None:
    found = settings_for(
        {
            "a.test": {"auth": "basic", "auth_env": "LOGIN"},
            "b.test": {"auth": "bearer", "auth_env": "TOKEN", "proxy_env": "PROXY"},
        }
    )

    basic, bearer = found.for_host(HostKey("a.test")), found.for_host(HostKey("b.test"))
    assert basic.options.basic == ("joe", SECRET)
    assert bearer.options.bearer == SECRET
    assert bearer.options.proxy is not None and bearer.options.proxy.password == SECRET
    assert SECRET not in repr(basic) + repr(bearer)


def test_headers_and_credentials_are_those_of_one_origin() -> None:
    own = {"headers": {"X-Own": "1"}, "auth": "basic", "auth_env": "LOGIN"}
    found = settings_for(
        {
            "a.test": own,
            "b.test": {**own, "origin": "http://b.test:8080"},
            "*.c.test": {**own, "origin": "https://*.c.test:444/"},
            "d.test": {**own, "origin": "ftp://D.test"},
            "e.test": {"verify": False},
        },
        {"headers": {"X-All": "2"}},
    )
    all_of = {"https": 443, "http": 80, "ftp": 21}
    origins = [
        *((f"{scheme}://{host}", all_of[scheme]) for scheme in all_of for host in ("a.test", "b.test", "d.test")),
        *(
            (f"{scheme}://{host}:{port}", port)
            for scheme in all_of
            for port in (444, 8080)
            for host in ("b.test", "x.c.test")
        ),
    ]

    def options(origin: str, port: int) -> HostOptions:
        host = HostKey(origin.partition("://")[2].partition(":")[0])
        return found.for_host(host).options_for(Origin(origin), port)

    with_secrets = {origin for origin, port in origins if options(origin, port).basic is not None}
    assert with_secrets == {"https://a.test", "http://b.test:8080", "https://x.c.test:444", "ftp://d.test"}
    for origin, port in origins:
        names = [name for name, _ in options(origin, port).headers]
        assert names == (["X-All", "X-Own"] if origin in with_secrets else ["X-All"])
    assert not options("http://e.test", 80).verify


def test_a_host_may_go_without_the_proxy_of_the_others() -> None:
    found = settings_for({"a.test": {"proxy": ""}, "b.test": {}}, {"proxy": "socks5h://127.0.0.1:1080"})

    assert [found.for_host(HostKey(name)).proxied for name in ("a.test", "b.test", "c.test")] == [False, True, True]


def test_kinds_are_those_of_the_host_where_it_has_any() -> None:
    found = settings_for({"a.test": {"kinds": []}, "b.test": {"kinds": ["pdf"]}, "d.test": {}}, {"kinds": ["html"]})

    pdf, html = {"content-type": "application/pdf"}, {"content-type": "text/html"}
    assert found.for_host(HostKey("a.test")).wants is None
    for name, wanted in (("b.test", [True, False]), ("c.test", [False, True]), ("d.test", [False, True])):
        wants = found.for_host(HostKey(name)).wants
        assert wants is not None
        assert [wants.judge_head(200, pdf), wants.judge_head(200, html)] == wanted


def test_a_hosts_delay_is_its_own_and_the_crawls_for_the_others() -> None:
    config = configured({"a.test": {"delay": 0}, "*.b.test": {"delay": 7.5}})
    found = host_settings_for(config, {})

    assert [found.for_host(HostKey(name)).min_delay for name in ("a.test", "x.b.test", "c.test")] == [0.0, 7.5, None]
    delays = [politeness_for(config, HostKey(name)).min_delay for name in ("a.test", "x.b.test", "c.test")]
    assert delays == [0.0, 7.5, 1.0]


def test_a_hosts_patterns_hold_beside_those_of_all() -> None:
    own = {"a.test": {"include": ["*/news/*"], "exclude": ["*.php"]}}
    rules = rules_for(make_config({"scope": "any", "filter": {"exclude": ["*/print/*"]}, "host": own}, {}))

    def verdict(url: str) -> str | None:
        return rules.may_enter(Url(url), HostKey(url.split("/")[2]), 0)

    assert verdict("http://a.test/news/1") is None
    assert verdict("http://a.test/other/") == verdict("http://a.test/news/x.php") == "pattern"
    assert verdict("http://a.test/news/print/1") == verdict("http://b.test/print/1") == "pattern"
    assert verdict("http://b.test/other/x.php") is None
    said = dict(rules.explain_entry(Url("http://a.test/news/x.php"), HostKey("a.test"), 0))
    assert said["patterns"] == "pattern (excluded by *.php, for this host)"


# --- what cannot be -------------------------------------------------------------------------------------------


@table(
    ("host", "fetch", "message"),
    [
        *(
            ({"a.test": {"headers": {"X": "1"}, "origin": origin}}, {}, 'host."a.test".origin: .* is not an origin')
            for origin in ("a.test", "https://b.test", "https://a.test.b", "gopher://a.test", "https://a.test:0")
        ),
        ({"a.test": {"origin": "https://a.test"}}, {}, 'host."a.test".origin: must be given together with headers'),
        ({"a.test": {"auth": "basic", "auth_env": "NOWHERE"}}, {}, 'host."a.test".auth_env: the env.*NOWHERE'),
        ({"a.test": {"auth": "bearer", "auth_env": "EMPTY"}}, {}, 'host."a.test".auth_env: the env.*EMPTY'),
        ({"a.test": {"auth": "basic", "auth_env": "TOKEN"}}, {}, 'host."a.test".auth_env: the env.*TOKEN'),
        ({"a.test": {"headers": {"Host": "b.test"}}}, {}, 'host."a.test".headers: Host cannot be set'),
        ({"a.test": {"headers": {"X": f"{SECRET}\r\nY: 1"}}}, {}, 'host."a.test".headers: not a header field: .X.'),
        ({"a.test": {"proxy": "ftp://p:1"}}, {}, 'host."a.test".proxy: unsupported proxy scheme: ftp .*'),
        ({"a.test": {"proxy_env": "TOKEN"}}, {}, 'host."a.test".proxy_env: a proxy must be scheme://'),
        ({"a.test": {"kinds": ["novels"]}}, {}, 'host."a.test".kinds: .novels. is neither a MIME type'),
        ({"a b": {}}, {}, "host: 'a b' is neither a host nor"),
        ({}, {"kinds": ["novels"]}, "fetch.kinds: .novels. is neither a MIME type"),
        ({}, {"proxy": "p:1"}, "fetch.proxy: a proxy must be .*, not .p:1."),
        ({}, {"ca_bundle": "/nowhere.pem"}, "fetch.ca_bundle: no such file: ./nowhere.pem."),
        ({}, {"accept_language": "a\nb"}, "fetch.headers: not a header field"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_by_key_and_shows_no_secret(
    host: dict[str, object], fetch: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError, match="^" + message) as refused:
        settings_for(host, fetch)

    assert SECRET not in str(refused.value)


def test_an_impossible_name_or_pattern_is_refused_before_anything_is_touched() -> None:
    impossible: list[dict[str, object]] = [{"a b": {}}, {"a.test": {"include": [""]}}]
    for host in impossible:
        with pytest.raises(ConfigError):
            check_config(configured(host))
