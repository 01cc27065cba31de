"""Snapshots to show."""

from typing import Any

from gossamer.model.units import Instant
from gossamer.observe.snapshot import Snapshot


def busy_snapshot(second: float = 20.0, **changes: Any) -> Snapshot:
    """A crawl in full swing, `second` seconds after its start: 400 pages a second."""
    pages = int(400 * second)
    values: dict[str, Any] = {
        "at": Instant(1_700_000_000.0 + second),
        "elapsed": second,
        "cpu_seconds": second * 0.8,
        "max_rss_bytes": 183_000_000,
        "pages": 12_345 + pages,
        "run_pages": pages,
        "fetched": 13_007 + pages,
        "bytes": 27_000 * pages,
        "discovered": 93_021,
        "queued": 71_432,
        "duplicates": 273,
        "missing": 164,
        "gone": 3,
        "redirects": 265,
        "dead": 12,
        "hosts_known": 912,
        "hosts_in_memory": 611,
        "hosts_ready": 123,
        "hosts_waiting": 455,
        "hosts_parked": 33,
        "in_flight": 78,
        "urls_in_memory": 100_000,
        "urls_by_front": (1_234, 56_789, 1_234_567),
        "drawn": (610, 290, 100),
        "statuses": {"2xx": 8_212, "3xx": 264, "4xx": 165, "5xx": 91},
        "errors": {"connection_lost": 82, "read_timeout": 41, "dns_nxdomain": 7, "conn_refused": 3, "bad_chunk": 2},
        "excluded": {"robots_denied": 410, "out_of_scope": 8_212},
        "slowest": (("slow.test", 12.3), ("h9.test", 3.1), ("h4.test", 0.9)),
        "documents_waiting": 31,
        "store_saturation": 0.31,
        "commits": 160,
        "commit_seconds": 3.84,
        "loop_lag": 0.0123,
        "robots_fetched": 912,
        "dns_queries": 913,
    }
    return Snapshot(**{**values, **changes})
