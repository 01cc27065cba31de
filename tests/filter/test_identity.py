"""When two URLs are the same."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.filter.identity import Identities, IdentityRules, LearnedParameter
from gossamer.model.units import HostKey, Url
from tests.table import table

HOST = HostKey("h.test")
USUAL = Identities(IdentityRules())


def same(first: str, second: str, identities: Identities = USUAL) -> bool:
    return identities.identity_of(Url("http://h.test" + first), HOST) == identities.identity_of(
        Url("http://h.test" + second), HOST
    )


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("/a?x=1&y=2", "/a?y=2&x=1"),
        ("/a?x=1", "/a?x=1&x=1"),
        ("/a", "/a?utm_source=mail&utm_medium=x"),
        ("/a?id=5", "/a?gclid=abc&id=5"),
        ("/a?id=5", "/a?id=5&PHPSESSID=0123456789abcdef"),
        ("/a?id=5", "/a?id=5&sid=8f3a9c7712ab34cd"),
        ("/a?id=5", "/a;jsessionid=8f3a9c7712ab34cd?id=5"),
        ("/a/b", "/(S(abcdefghijklmnopqrstuvwx))/a/b"),
    ],
)
def test_noise_makes_no_difference(first: str, second: str) -> None:
    assert same(first, second)


@table(
    ("first", "second"),
    [
        ("/a?newsId=5", "/a?newsId=6"),
        ("/a?newsId=5", "/a"),
        ("/a?sid=5", "/a?sid=6"),
        ("/a?sid=story", "/a"),
        ("/a?x=1&x=2", "/a?x=2&x=1"),
        ("/a?tag[]=1&tag[]=2", "/a?tag[]=1"),
        ("/A", "/a"),
        ("/a", "/a/"),
        ("/a(1)", "/a(2)"),
    ],
)
def test_what_may_choose_a_document_does(first: str, second: str) -> None:
    assert not same(first, second)


def test_five_parameters_are_one_url_in_every_order() -> None:
    forms = ["/list?" + "&".join(order) for order in itertools.permutations(["a=1", "b=2", "c=3", "d=4", "e=5"])]
    doubled = [f"{form}&a=1" for form in forms]

    assert len({USUAL.identity_of(Url("http://h.test" + form), HOST) for form in forms + doubled}) == 1


def test_each_rule_can_be_switched_off_and_names_can_be_added_and_kept() -> None:
    exact = Identities(IdentityRules(tracking=False, sessions=False, order=False))
    own = Identities(IdentityRules(parameters=frozenset({"ref"}), keep=frozenset({"utm_source"})))

    assert not same("/a", "/a?utm_source=x", exact)
    assert not same("/a", "/a?PHPSESSID=x", exact)
    assert not same("/a?x=1&y=2", "/a?y=2&x=1", exact)
    assert same("/a", "/a?REF=7", own)
    assert not same("/a", "/a?utm_source=x", own)


def test_the_minimised_form_comes_on_top() -> None:
    identities = Identities(IdentityRules(minimise=True))

    assert identities.identity_of(Url("https://www.h.test/a/?b=1&a=2&utm_id=3"), HOST) == "h.test/a?a=2&b=1"


@given(
    st.lists(
        st.sampled_from(
            ["/", "/a", "/a?b=1", "/a?b=1&a=2", "/a;sid=1/b", "/(x)?utm_id=1", "/a?sid=0123456789abc", "/a?&&"]
        ),
        max_size=8,
    ),
    st.booleans(),
)
def test_all_links_of_a_page_at_once_are_what_each_is_alone(targets: list[str], minimise: bool) -> None:
    identities = Identities(IdentityRules(minimise=minimise))
    urls = [Url("http://h.test" + target) for target in targets]

    assert list(identities.identities_of(urls, [HOST] * len(urls))) == [
        identities.identity_of(url, HOST) for url in urls
    ]


@given(st.text(alphabet="ab=&;()/?1", max_size=20))
def test_an_identity_is_its_own(target: str) -> None:
    found = USUAL.identity_of(Url("http://h.test/" + target), HOST)

    assert USUAL.identity_of(Url(found), HOST) == found


# --- what is learnt --------------------------------------------------------------------------------------

LEARNT = LearnedParameter(HOST, "/view?*", "ref", 24, 6)


def keeping(identities: Identities) -> list[int]:
    """Which of many values of `ref` make a difference."""
    plain = identities.identity_of(Url("http://h.test/view?id=5"), HOST)
    return [n for n in range(640) if identities.identity_of(Url(f"http://h.test/view?id=5&ref={n}"), HOST) != plain]


def test_a_learnt_parameter_makes_no_difference_but_for_one_url_in_sixty_four() -> None:
    identities = Identities(IdentityRules(), [LEARNT])

    assert 1 <= len(keeping(identities)) <= 30
    assert not same("/other?ref=1", "/other?ref=2", identities)
    assert not same("/view?id=5&ref=1", "/view?id=6&ref=1", identities)


def test_it_is_learnt_for_its_host_alone() -> None:
    identities = Identities(IdentityRules(), [LEARNT])
    other = HostKey("g.test")

    one, two = (identities.identity_of(Url(f"http://g.test/view?id=5&ref={n}"), other) for n in (1, 2))

    assert one != two


def test_what_was_learnt_can_be_taken_back_and_is_not_learnt_of_names_to_be_kept() -> None:
    identities = Identities(IdentityRules(), [LEARNT])
    identities.identity_of(Url("http://h.test/view?id=5&ref=1"), HOST)  # remembered
    identities.unlearn(HOST, "/view?*", "ref")
    kept = Identities(IdentityRules(keep=frozenset({"ref"})), [LEARNT])

    assert len(keeping(identities)) == len(keeping(kept)) == 640


def test_every_parameter_that_does_not_count_is_told_with_its_reason() -> None:
    identities = Identities(IdentityRules(), [LEARNT])
    url = Url("http://h.test/view?id=5&ref=3&utm_source=x&PHPSESSID=1")

    ignored = dict(identities.ignored(url, HOST))

    assert ignored.keys() == {"ref", "utm_source", "PHPSESSID"}
    assert ignored["utm_source"] == "tracking" and ignored["PHPSESSID"] == "session"
    assert ignored["ref"].startswith("learned: 24 pairs of URLs with the same document, 6 different ones")
