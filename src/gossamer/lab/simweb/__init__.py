"""The simulated web: what the crawler is shown, tested and measured on.

What comes in: a configuration (`config`), which with a URL and a time determines everything. Nothing is
stored and nothing is remembered: any page at any time is computed from hashes (`chance`).

    hosts    how many pages each host has, its name, address and character; its robots.txt (`robots`)
    paths    page number <-> path          graph   who links to whom, redirects, duplicates
    change   which version is on show      page    the HTML, from ready paragraphs (`words`)
    endless  traps and large honest hosts beside the others, if so configured (`traps`, `honest`)
    web      the function (host, target, time, headers) -> response, joining the above

What goes out: responses, in-process (`web.SimWeb.respond`) or over loopback by HTTP (`server`), with TLS if so
configured (`certificates`), and DNS (`dns`), started together by `run` or in a process of their own by `process`.
Beside them the two judges of a crawl: `truth`, what a correct one must find, and `audit`, whether it was polite by the
server's own `record`.

What always holds:
  * the same configuration gives the same web, byte for byte, in any process;
  * every page can be reached from the seeds, unless robots.txt forbids it;
  * links never change with time, only text does; duplicates have the same bytes at all times;
  * a transient fault is over `fault_seconds` after the epoch at the latest;
  * no request leaves, and none is accepted from outside, the loopback device.
"""

from gossamer.lab.simweb.audit import Truth, ground_truth
from gossamer.lab.simweb.config import SimWebConfig, preset
from gossamer.lab.simweb.web import SimResponse, SimWeb

__all__ = ["SimResponse", "SimWeb", "SimWebConfig", "Truth", "ground_truth", "preset"]
