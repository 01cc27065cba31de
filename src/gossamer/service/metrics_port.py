"""The metrics of a worker on a port of their own, for Prometheus."""

from prometheus_client import CollectorRegistry, start_http_server

from gossamer.config.sections import ServiceSection
from gossamer.errors import UsageError
from gossamer.observe.display import Display
from gossamer.observe.snapshot import Snapshot
from gossamer.service.metrics import CrawlCollector


def metrics_address(text: str) -> tuple[str, int]:
    """Host and port of `ADDRESS:PORT`. Raises UsageError."""
    try:
        found = ServiceSection(metrics_listen=text).metrics_address
    except ValueError:
        found = None
    if found is None:
        raise UsageError(f"--metrics: ADDRESS:PORT, such as 0.0.0.0:9470, not {text!r}")
    return found


class MetricsPort:
    """A display that shows every snapshot to Prometheus too. A thread answers all requests with the metrics of the last
    one, from the start of the worker on; the event loop takes no part. They contain neither URLs nor host names."""

    def __init__(self, display: Display, host: str, port: int) -> None:
        """Raises UsageError if the port cannot be used."""
        self._display = display
        self._last: Snapshot | None = None
        registry = CollectorRegistry(auto_describe=False)
        registry.register(CrawlCollector(lambda: self._last, lambda: None))
        try:
            self._server, self._thread = start_http_server(port, host, registry)
        except OSError as error:
            raise UsageError(f"--metrics: cannot listen on {host}:{port}: {error.strerror}") from error
        self.port = int(self._server.server_port)

    def update(self, snapshot: Snapshot) -> None:
        self._last = snapshot
        self._display.update(snapshot)

    def close(self) -> None:
        """The worker is leaving, or joins again: metrics are still served."""
        self._display.close()

    def shut_down(self) -> None:
        """Serve no more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
