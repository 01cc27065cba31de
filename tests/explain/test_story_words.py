"""The story in words and as an object."""

import dataclasses
import json
from dataclasses import replace

import pytest
from stories import FACTS, HOST, NOW, QUEUED, RULES, form, known, robots

from gossamer.explain.facts import Bounded, Facts, FailureFact, QueueFact, RecordCheck, SeedPlace, Step
from gossamer.explain.story import Story
from gossamer.explain.tell import tell
from gossamer.explain.words import story_lines, story_object
from gossamer.model.states import UrlState
from gossamer.model.task import Via
from gossamer.model.units import Instant, Url


def lines_of(facts: Facts) -> list[str]:
    return story_lines(tell(form(), facts, RULES, now=NOW, running=True))


def part_of(facts: Facts, label: str) -> list[str]:
    """The lines of one part, without their label."""
    found, inside = [], False
    for line in lines_of(facts)[2:]:
        if line[2:14].strip():
            inside = line[2:14].strip() == label
        if inside:
            found.append(line[14:])
    return found


def test_every_line_has_its_label_in_the_first_column() -> None:
    head, blank, *rest = lines_of(FACTS)

    assert (head, blank) == ("http://h.test/a/b", "")
    labels = [line[2:14].strip() for line in rest if line[2:14].strip()]
    assert " ".join(labels) == "state form found filter robots.txt priority politeness attempts next"
    assert all(line.startswith("  ") and line[13] == " " for line in rest)


def test_the_way_back_ends_at_the_seed() -> None:
    way = (
        Step(Url("http://h.test/a"), Via.REDIRECT, 1, None),
        Step(Url("http://h.test/old"), Via.LINK, 1, None),
        Step(Url("http://h.test/"), Via.SEED, 0, SeedPlace("seeds.txt, line 3", NOW)),
    )

    assert part_of(replace(FACTS, way=way), "found")[1:] == [
        "  http://h.test/a was found by a redirect from http://h.test/old",
        "  http://h.test/old was found on http://h.test/",
        "  http://h.test/ is a seed: seeds.txt, line 3",
    ]


def test_a_seed_has_no_way_back() -> None:
    facts = replace(FACTS, url=replace(QUEUED, via=Via.SEED), seed=SeedPlace("argument 1", NOW))

    assert part_of(facts, "found") == ["seed: argument 1, 2023-11-14T22:13:20.000Z"]


def test_a_count_that_was_given_up_says_so() -> None:
    queue = QueueFact(before=Bounded(12), of_class=Bounded(3_000), of_host=Bounded(10_000, True))

    assert part_of(replace(FACTS, queue=queue), "queue") == [
        "12 before it; 3,000 of its class and more than 10,000 in all wait on its host"
    ]


def test_the_line_of_robots_txt_is_quoted_with_its_number_and_age() -> None:
    fact = robots("User-agent: *\nDisallow: /a\n", age=3_700.0)

    first, second = part_of(replace(FACTS, robots=fact), "robots.txt")

    assert first == "denied: line 2, Disallow: /a"
    assert second.startswith("http://h.test/robots.txt answered 200 1:01:40 ago, kept until ")


@pytest.mark.parametrize(
    ("next_contact", "said"),
    [
        (0.0, "h.test was never contacted"),
        (NOW - 10, "h.test (192.0.2.1) may be contacted, since 2023-11-14T22:13:10.000Z"),
        (NOW + 0.5, "h.test (192.0.2.1) rests for 500 ms, until 2023-11-14T22:13:20.500Z"),
    ],
)
def test_how_the_host_stands_with_us_is_told(next_contact: float, said: str) -> None:
    facts = replace(FACTS, host=replace(HOST, next_contact=Instant(next_contact)))

    assert part_of(facts, "politeness")[0] == said


def test_text_from_the_web_cannot_write_to_the_terminal() -> None:
    failure = FailureFact(NOW, "bad_header", 200, "\x1b[2Jgone\n  state       stored")

    lines = lines_of(replace(FACTS, failures=(failure,)))

    assert not any("\x1b" in line or "\n" in line for line in lines)


def test_the_object_has_every_part_and_moments_as_text() -> None:
    facts = replace(known(UrlState.STORED), seed=SeedPlace("argument 1", NOW))
    story = tell(form(), facts, RULES, now=NOW, running=False, record=RecordCheck("cut"))

    found = json.loads(json.dumps(story_object(story)))

    assert found.keys() == {field.name for field in dataclasses.fields(Story)}
    assert found["finding"]["seed"] == {"where": "argument 1", "added_at": "2023-11-14T22:13:20.000Z"}
    assert found["attempts"][0]["visited_at"] == "2023-11-14T22:13:00.000Z"
    assert found["archive"]["problem"] == "cut"
    assert found["place"] is None
