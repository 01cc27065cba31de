"""URLs that repeat themselves."""

import pytest

from gossamer.filter.host_table import HostRules, HostTable
from gossamer.filter.rules import REPEATS, EntryRules, repeats_itself
from gossamer.model.units import HostKey, Url

HOST = HostKey("h.test")


@pytest.mark.parametrize(
    "path",
    [
        "/a/a/a/a",
        "/x/a/a/a/a/y",
        "/x/y/x/y/x/y/x/y",
        "/x/y/z/x/y/z/x/y/z/x/y/z",
        "/en/a/en/b/en/c/en/d/en/e/en/f/en/g",
        "/1/1/1/1/1/1/1/1",
    ],
)
def test_a_path_that_repeats_itself_more_than_three_times_is_a_trap(path: str) -> None:
    assert repeats_itself(path, "") is not None


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/a/a/a",
        "/x/y/x/y/x/y",
        "/tiles/5/1/1/1/1",
        "/2024/01/01/01/title",
        "/docs/api/v2/docs/api/index.html",
        "/wiki/A/B/C/A/B/D/A/E/A",
        "/a/b/c/d/e/f/g/h/i/j/k",
    ],
)
def test_an_honest_path_is_none(path: str) -> None:
    assert repeats_itself(path, "") is None


def test_the_same_parameter_with_the_same_value_more_than_three_times_is_a_trap() -> None:
    assert repeats_itself("/", "a=1&a=1&a=1&a=1") == "the parameter a=1 4 times"


def test_parameters_of_one_name_with_other_values_are_none() -> None:
    assert repeats_itself("/", "&".join(f"tag[]={n}" for n in range(50))) is None


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://h.test/a/a/a/", None),
        ("http://h.test/a/a/a/a/", REPEATS),
        ("http://h.test/x/y/x/y/x/y/x/y/", REPEATS),
        ("http://h.test/?a=1&a=1&a=1&a=1", REPEATS),
        ("http://h.test/h.test/h.test/x", None),
    ],
)
def test_such_a_url_does_not_enter(url: str, reason: str | None) -> None:
    assert EntryRules().may_enter(Url(url), HOST, 0) == reason


def test_it_enters_where_the_rule_is_lifted() -> None:
    url = Url("http://h.test/a/a/a/a/")

    assert EntryRules(max_repeats=None).may_enter(url, HOST, 0) is None
    assert EntryRules(max_repeats=4).may_enter(url, HOST, 0) is None
    assert EntryRules(host_rules=HostTable(((HOST, HostRules(trap_exempt=True)),))).may_enter(url, HOST, 0) is None
    assert (
        EntryRules(host_rules=HostTable((("g.test", HostRules(trap_exempt=True)),))).may_enter(url, HOST, 0) == REPEATS
    )


def test_the_explanation_names_what_is_repeated() -> None:
    explained = dict(EntryRules().explain_entry(Url("http://h.test/x/y/x/y/x/y/x/y"), HOST, 0))

    assert explained["repeats"] == "trap:repeats (/x/y more than 3 times in a row)"
