"""What a crawl remembers of the price of a visit."""

from typing import Final

from gossamer.model.units import Instant
from gossamer.recrawl.policy import DAY
from gossamer.recrawl.price import Price
from gossamer.sections import RecrawlSection

PRICE: Final = "recrawl"
"""The fact of a crawl's database that has the price and the demand which it steers."""


def price_text(price: Price, dear: int = 0) -> str:
    """What must survive of the price. `dear`: hosts that have one of their own, for people; their rows have it."""
    return f"{price.price!r} {price.demand!r} {price.pages} {dear}"


def price_from(text: str | None, wishes: RecrawlSection, opening: float, now: Instant) -> Price:
    """The price as it was, or the one to begin with. Without a budget it stays that one."""
    value, demand, pages = opening, 0.0, 0
    if text:
        before, asked, planned = text.split()[:3]
        demand, pages = float(asked), int(planned)
        value = float(before) if wishes.budget is not None else opening
    return Price(wishes.budget or 1.0, value, now=now / DAY, demand=demand, pages=pages)
