"""The URLs of one host that are in memory, best first: for orderings by score. Hot: benchmarks/bench_frontier.py."""

from collections.abc import Iterator
from heapq import heapify, heappop, heappush

from gossamer.model.task import Task

Key = tuple[float, int]
"""(minus the score, url_id): the smallest is the highest score, and among equals the oldest entry."""

_SLACK = 64  # stale entries that are not worth a sweep


class RankedUrls:
    """A heap whose scores may change. O(log n) for every change: the old entry stays and is known to be stale.

    Invariant: a URL that is here has exactly one valid entry, that of its present priority.
    """

    __slots__ = ("_heap", "_tasks", "dated")

    def __init__(self) -> None:
        self._tasks: dict[int, Task] = {}
        self._heap: list[Key] = []
        self.dated = 0  # of those here, how many were read from the queue by date

    def __len__(self) -> int:
        return len(self._tasks)

    def __contains__(self, url_id: int) -> bool:
        return url_id in self._tasks

    def __iter__(self) -> Iterator[Task]:
        return iter(self._tasks.values())

    def add(self, task: Task) -> None:
        self._tasks[task.url_id] = task
        self.dated += task.front
        heappush(self._heap, (-task.priority, task.url_id))

    def head(self) -> Key | None:
        """The key of the best; None if there is none."""
        heap, tasks = self._heap, self._tasks
        while heap:
            key = heap[0]
            task = tasks.get(key[1])
            if task is not None and task.priority == -key[0]:
                return key
            heappop(heap)
        return None

    def pop(self) -> Task:
        """The best, taken out. There must be one."""
        key = self.head()
        assert key is not None
        heappop(self._heap)
        task = self._tasks.pop(key[1])
        self.dated -= task.front
        return task

    def rescore(self, url_id: int, priority: float) -> bool:
        """Another priority for a URL, if it is here."""
        task = self._tasks.get(url_id)
        if task is None:
            return False
        if task.priority != priority:
            self._tasks[url_id] = task._replace(priority=priority)
            if len(self._heap) >= 2 * len(self._tasks) + _SLACK:
                self._heap = [(-t.priority, t.url_id) for t in self._tasks.values()]
                heapify(self._heap)
            else:
                heappush(self._heap, (-priority, url_id))
        return True

    def trim(self, most: int) -> Key | None:
        """Keep the best `most`. Returns the key of the worst that is kept if any were let go."""
        if len(self._tasks) <= most:
            return None
        self._heap = sorted((-t.priority, t.url_id) for t in self._tasks.values())[:most]
        self._tasks = {url_id: self._tasks[url_id] for _, url_id in self._heap}
        self.dated = sum(task.front for task in self._tasks.values())
        return self._heap[-1]

    def clear(self) -> None:
        self._tasks.clear()
        self._heap.clear()
        self.dated = 0
