"""The words of a page: all of them, or those it is there for."""

from turbohtml import Document
from turbohtml.detect import detect_language

MAX_TEXT = 1 << 20
"""Characters of a text that are kept."""

_ENOUGH = 4_000  # characters from which a language is guessed
_TOO_FEW = 40


def main_text(tree: Document) -> str:
    """The text that a reader came for, without navigation; all visible text where no main part stands out."""
    return (tree.main_text() or tree.to_text())[:MAX_TEXT]


def guessed_language(source: Document | str) -> str | None:
    """The language of a text or of all that a page shows, as ISO 639-3 has it; None for too little text."""
    text = source if isinstance(source, str) else source.to_text()
    if len(text) < _TOO_FEW:
        return None
    return detect_language(text[:_ENOUGH]).language
