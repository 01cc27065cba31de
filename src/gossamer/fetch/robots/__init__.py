"""robots.txt by RFC 9309: what a host lets us fetch, and how fast.

In comes the answer to a request for `/robots.txt`, whatever it is: a file, an error page, half a megabyte
of nonsense, nothing at all. Out goes a `RobotsAnswer` that says for every path of that origin whether it may be
fetched, which line said so, and when the file must be asked for again.

Reading order: `pattern.py` (the normal form of paths, one rule's pattern), `rules.py` (many rules, one verdict),
`parse.py` (bytes to rules), `decision.py` (what an HTTP answer means).

What always holds:
  * nothing here raises on any input, and all work is linear in the size of the file plus the path;
  * only the rules that apply to our product token are kept;
  * rules we could not read are not "no rules": the host is closed until they can be read, but for rules of the last
    day that are known;
  * a path allowed by accident of a tie is allowed, a path closed by the longer rule is closed.
Everything is pure: the request itself, its redirects and the sharing of one answer are the caller's.
"""

from gossamer.fetch.robots.decision import RobotsAnswer, RobotsPolicy, max_age_of, remembered_answer, rules_from_answer
from gossamer.fetch.robots.parse import is_product_token, parse_robots
from gossamer.fetch.robots.rules import RobotsRules, RobotsVerdict, path_of

__all__ = [
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
