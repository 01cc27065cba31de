"""The one kind of console we write to."""

from typing import TextIO

from rich.console import Console


class Terminal(Console):
    """Rich's console, but for two things: it styles only what we style, and a reader that has gone away silences it
    (rich would end the process, and with it the crawl)."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(file=stream, highlight=False)

    def on_broken_pipe(self) -> None:
        self.quiet = True

    @property
    def is_for_people(self) -> bool:
        """Whether colours are in place. Asked of the stream too: FORCE_COLOR makes rich take a pipe for a terminal."""
        return self.file.isatty() and self.is_terminal

    @property
    def shows_pictures(self) -> bool:
        """Whether the cursor can be moved and bars can be shown."""
        return self.is_for_people and not self.is_dumb_terminal and self.encoding.startswith("utf")
