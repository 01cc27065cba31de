from gossamer.frontier.orderings.class_rules import PriorityClass, PriorityRule, PriorityRules
from gossamer.model.units import Url

HIGH, MEDIUM, LOW = PriorityClass
RULES = PriorityRules(
    [
        PriorityRule("one", LOW, "news.example.org", lambda url: "/archive/" in url),
        PriorityRule("two", HIGH, "*.example.org"),
        PriorityRule("three", MEDIUM, None, lambda url: url.endswith("/today")),
        PriorityRule("four", LOW, "[::1]"),
    ]
)


def test_the_first_rule_that_applies_decides() -> None:
    cases = {
        "http://news.example.org/archive/1": "one",
        "http://news.example.org:8080/archive/1": "one",
        "http://news.example.org/today": "two",
        "http://example.org/": "two",
        "http://a.b.example.org/": "two",
        "http://notexample.org/": None,
        "http://example.org.test/": None,
        "http://other.test/today": "three",
        "http://other.test/archive/": None,
        "http://[::1]:8080/": "four",
        "http://[::1]/": "four",
        "": None,
    }

    for url, name in cases.items():
        rule = RULES.rule_for(Url(url))
        assert (None if rule is None else rule.name) == name, url


def test_rules_are_told_apart_by_all_that_positions_depend_on() -> None:
    assert not PriorityRules()
    assert PriorityRules().text == ""
    assert RULES.text == "one; two; three; four"
