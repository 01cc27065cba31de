"""Why links of a page were refused, as a bit mask that is stored with its visit."""

from collections.abc import Iterable
from typing import Final

BITS: Final = {
    "out_of_scope": 1,
    "excluded_domain": 2,
    "depth_limit": 4,
    "url_too_long": 8,
    "extension": 16,
    "pattern": 32,
    "bad_scheme": 64,
    "trap_limit": 128,
    "trap:repeats": 256,
}
"""The reasons that other rules may lift. The bits are stored; never reuse one."""


def mask_of(reasons: Iterable[str]) -> int:
    """The bits of these reasons. Reasons that no rule lifts have none."""
    mask = 0
    for reason in reasons:
        mask |= BITS.get(reason, 0)
    return mask
