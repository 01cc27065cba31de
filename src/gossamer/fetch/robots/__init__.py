"""robots.txt (RFC 9309): what a host allows us to fetch, and how fast.

Input is the response to a request for `/robots.txt`: a file, an error page, half a megabyte of binary data, or nothing
at all. Output is a `RobotsAnswer`, which says for every path of that origin whether it may be fetched, which line
decided, and when the file must be fetched again.

Reading order: `rules.py` (the normal form of paths, patterns, many rules to one verdict), `decision.py`
(bytes to rules, and what an HTTP response means).

Invariants:
  * nothing here raises for any input, and all work is linear in the size of the file plus the path;
  * only the rules that apply to our product token are kept;
  * rules that could not be fetched are not "no rules": the host is closed until they can be, unless its rules of the
    last day are known;
  * the longest matching rule decides; in a tie the path is allowed.
Everything is pure: the caller sends the request, follows redirects and shares the answer.
"""

from gossamer.fetch.robots.decision import (
    MAX_REDIRECTS,
    RobotsAnswer,
    RobotsPolicy,
    is_product_token,
    max_age_of,
    parse_robots,
    remembered_answer,
    rules_from_answer,
)
from gossamer.fetch.robots.rules import RobotsRules, RobotsVerdict, path_of

__all__ = [
    "MAX_REDIRECTS",
    "RobotsAnswer",
    "RobotsPolicy",
    "RobotsRules",
    "RobotsVerdict",
    "is_product_token",
    "max_age_of",
    "parse_robots",
    "path_of",
    "remembered_answer",
    "rules_from_answer",
]
