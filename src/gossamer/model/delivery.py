"""How captures get to object storage, for operators."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class DeliveryStatistics:
    """What is on its way to the object storage."""

    failing: str | None = None  # why the last put failed
    segments: int = 0  # in the spool
    bytes: int = 0
    limit: int = 0
    puts: int = 0  # without the spool
    delivered: int = 0  # from the spool


@dataclass(frozen=True, slots=True)
class DeliveryEvent:
    """For the log of the crawl."""

    name: str
    fields: dict[str, str | int] = field(default_factory=dict)
