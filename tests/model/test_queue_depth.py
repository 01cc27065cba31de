"""How full a queue is."""

from gossamer.model.queue_depth import QueueDepth


def test_a_queue_is_as_full_as_by_the_bound_that_it_is_nearest_to() -> None:
    assert QueueDepth(50, 100, 10, 100).saturation == 0.5
    assert QueueDepth(5, 100, 80, 100).saturation == 0.8


def test_a_bound_that_is_none_does_not_count() -> None:
    assert QueueDepth(50, 0, 25, 100).saturation == 0.25
    assert QueueDepth(3).saturation == 0.0
