"""What this process takes of the machine."""

import resource
from typing import Final

from gossamer.clock import cpu_seconds
from gossamer.observe.snapshot import ProcessUse

_PAGE: Final = resource.getpagesize()


def own_use() -> ProcessUse:
    return ProcessUse(round(cpu_seconds(), 3), rss_bytes(), max_rss_bytes())


def rss_bytes() -> int:
    """Memory in use now; 0 where the kernel does not tell."""
    try:
        with open("/proc/self/statm", "rb") as statm:
            return int(statm.read().split()[1]) * _PAGE
    except OSError:
        return 0


def max_rss_bytes() -> int:
    """The most memory this process ever held. `getrusage` would count what our parent held when it forked us."""
    try:
        with open("/proc/self/status", "rb") as status:
            for line in status:
                if line.startswith(b"VmHWM:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
