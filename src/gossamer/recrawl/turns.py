"""Discovery and refresh compete for visits on one scale, and neither starves.

A first visit is worth `index.value_of_new`; a page that is due is worth the price, or more if it is late. While both
wait, the visits go to those that are worth more, but for the floor of the others.
"""


def share_of_refresh(*, new: float, due: float, discovery_floor: float, refresh_floor: float) -> float:
    """The share of visits that goes to pages that are due, while new ones wait too.

    `new` and `due` are what a visit to one of each is worth. Floors are shares of all visits, together 1 at most.
    """
    return refresh_floor if new > due else 1 - discovery_floor
