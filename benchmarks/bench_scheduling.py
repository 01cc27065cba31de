"""Does the fetch rate stay at what politeness allows? Four shapes of the web that bring crawlers to their knees.

Each figure is a ratio to the ideal of its own run, with the crawler's CPU beside it. Rates are measured at the server.
"""

from benchmarks.crawling import crawl, rate
from gossamer.lab.simweb.config import preset

GAP = "1.0"


def skewed() -> None:
    """(a) 60 hosts, 1 s gap, half of all URLs on one host: 60 requests/s."""
    run = crawl(preset("even"), "--delay", GAP, "--delay-factor", "10", seconds=25)
    found = rate(run.requests, 8, 24)
    print(f"(a) 60 hosts, half the URLs on one   {found:7.1f} of   60.0 requests/s  ratio {found / 60:.3f} (goal 0.98)")
    print(f"    CPU {run.number('cpu_seconds'):.1f} s in {run.number('seconds'):.0f} s")


def many_hosts() -> None:
    """(b) 2,000 hosts, 1 s gap, small pages: 2,000 requests/s, or what one core can do without any gap."""
    free = crawl(preset("small"), "--delay", "0", "--delay-factor", "0", seconds=15)
    capacity = rate(free.requests, 5, 14)
    run = crawl(preset("small"), "--delay", GAP, "--delay-factor", "10", seconds=20)
    found = rate(run.requests, 9, 19)
    ideal = min(2000.0, capacity)
    share = found / ideal
    print(
        f"(b) 2,000 hosts, small pages         {found:7.1f} of {ideal:6.1f} requests/s  ratio {share:.3f} (goal 0.95)"
    )
    without, with_gap = (1e6 * r.number("cpu_seconds") / r.number("fetched") for r in (free, run))
    print(f"    without any gap {capacity:.0f}/s at {without:.0f} µs CPU a page, with it {with_gap:.0f} µs:", end=" ")
    print(f"ratio by CPU {min(1e6 / with_gap, 2000) / min(1e6 / without, 2000):.3f}")


def burst() -> None:
    """(c) 200,000 URLs over 100 hosts found within seconds, 1 s gap: 100 requests/s while they are taken in.
    (d) on pages with 6,000 links: the event loop is not held over 250 ms."""
    run = crawl(preset("burst"), "--delay", GAP, "--delay-factor", "10", seconds=25)
    found = rate(run.requests, 4, 24)
    print(
        f"(c) 200,000 URLs found at once       {found:7.1f} of  100.0 requests/s  ratio {found / 100:.3f} (goal 0.95)"
    )
    print(f"    {run.number('discovered'):.0f} URLs discovered, CPU {run.number('cpu_seconds'):.1f} s")
    print(f"(d) longest hold of the event loop   {1000 * run.number('worst_loop_lag'):7.1f} ms (goal 250)")


if __name__ == "__main__":
    skewed()
    burst()
    many_hosts()
