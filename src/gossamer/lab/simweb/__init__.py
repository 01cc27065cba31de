"""The simulated web, on which the crawler is demonstrated, tested and measured.

Input is a configuration (`config`), which together with a URL and a time determines everything. Nothing is stored: any
page at any time is computed from hashes (`chance`).

    hosts      size, name, address and character of each host, its robots.txt (`robots`); page number <-> path
    graph      who links to whom, redirects, duplicates
    page       the HTML, from prepared paragraphs, and near-duplicates
    endless    traps and large ordinary hosts in addition to the others, if configured (`traps`)
    web        the function (host, target, time, headers) -> response, which joins the above; sitemaps of some
               hosts, if configured

The output is a response for each request, in-process (`web.SimWeb.respond`) or over loopback by HTTP (`server`), with
TLS if configured (`certificates`), and DNS (`dns`); `run` starts them together, in this process or in another one.
`audit` judges a crawl: what a correct one must find, and whether it was polite according to the server's log.

Invariants:
  * the same configuration gives the same web, byte for byte, in any process;
  * every page can be reached from the seeds, unless robots.txt forbids it;
  * links never change with time, only text does; duplicates have the same bytes at all times;
  * a transient fault is over `fault_seconds` after the epoch at the latest;
  * no request leaves the loopback device, and none is accepted from outside.
"""

from gossamer.lab.simweb.audit import Truth, ground_truth
from gossamer.lab.simweb.config import SimWebConfig, preset
from gossamer.lab.simweb.web import SimResponse, SimWeb

__all__ = ["SimResponse", "SimWeb", "SimWebConfig", "Truth", "ground_truth", "preset"]
