"""Which parameters choose no document, learnt from documents."""

import random

from gossamer.filter.identity import LearnedParameter, LearningPolicy, ParameterLearner, Refuted
from gossamer.model.units import HostKey, Url

HOST = HostKey("h.test")
START = len("http://h.test")
POLICY = LearningPolicy(pairs=20, contents=5)


def document(
    learner: ParameterLearner, target: str, content: str, host: str = "h.test"
) -> list[LearnedParameter | Refuted]:
    return learner.on_page(Url(f"http://{host}{target}"), HostKey(host), len(f"http://{host}"), content.encode())


def taught(learner: ParameterLearner, pages: int = 40, contents: int = 10) -> list[LearnedParameter | Refuted]:
    """What follows from pages of so many contents, each met under many values of `ref`."""
    news = []
    for n in range(pages):
        page = n % contents
        news += document(learner, f"/view?id={page}&ref={n}", f"page {page}")
    return news


def test_a_parameter_is_learnt_after_enough_pairs_over_enough_documents() -> None:
    assert taught(ParameterLearner(POLICY)) == [LearnedParameter(HOST, "/view?*", "ref", 20, 5)]


def test_too_few_pairs_teach_nothing() -> None:
    assert taught(ParameterLearner(POLICY), pages=25) == []


def test_one_document_under_every_name_teaches_nothing() -> None:
    learner = ParameterLearner(POLICY)

    news = [document(learner, f"/view?id={n}", "there is no such page") for n in range(500)]

    assert all(not each for each in news)


def test_a_parameter_that_chooses_is_never_learnt() -> None:
    learner = ParameterLearner(POLICY)

    news = [document(learner, f"/view?lang={n % 7}&id={n // 7}", f"page {n}") for n in range(700)]

    assert all(not each for each in news)


def test_one_counter_example_ends_the_matter() -> None:
    learner = ParameterLearner(POLICY)
    document(learner, "/view?id=99&ref=a", "one")
    document(learner, "/view?id=99&ref=b", "another")

    assert taught(learner) == []


def test_a_counter_example_lifts_what_was_learnt_for_good() -> None:
    learner = ParameterLearner(POLICY)
    taught(learner)

    news = document(learner, "/view?id=3&ref=new", "something else")

    assert news == [Refuted((HOST, "/view?*", "ref"))]
    assert taught(learner) == []


def test_places_and_hosts_are_learnt_apart() -> None:
    learner = ParameterLearner(POLICY)
    taught(learner)

    assert document(learner, "/other?id=1&ref=1", "a") == document(learner, "/other?id=1&ref=2", "b") == []
    assert document(learner, "/view?id=1&ref=1", "a", "g.test") == document(learner, "/view?id=1&ref=2", "b", "g.test")


def test_the_order_of_parameters_does_not_matter() -> None:
    learner = ParameterLearner(LearningPolicy(pairs=2, contents=2))
    document(learner, "/view?ref=1&id=1", "one")
    document(learner, "/view?ref=1&id=2", "two")
    document(learner, "/view?id=1&ref=2", "one")

    assert document(learner, "/view?id=2&ref=2", "two") == [LearnedParameter(HOST, "/view?*", "ref", 2, 2)]


def test_what_was_learnt_before_a_restart_is_known_and_can_be_refuted() -> None:
    known = LearnedParameter(HOST, "/view?*", "ref", 20, 5)
    learner = ParameterLearner(POLICY, (known,), ((HOST, "/list?*", "ref"),))
    document(learner, "/view?id=1&ref=1", "a")

    assert document(learner, "/view?id=1&ref=2", "b") == [Refuted((HOST, "/view?*", "ref"))]
    refuted_before = [document(learner, f"/list?id={n % 8}&ref={n}", f"{n % 8}") for n in range(200)]
    assert all(not each for each in refuted_before)


def test_memory_is_bounded() -> None:
    chance = random.Random(1)
    learner = ParameterLearner(POLICY, remember=1000)
    for _ in range(5000):
        document(learner, f"/v{chance.randrange(99)}x?a={chance.random()}&b={chance.random()}", str(chance.random()))

    assert len(learner) <= 1010
