"""The signature of a page, from its tree. Hot: `benchmarks/bench_neardup.py`."""

from turbohtml import Document

from gossamer.sketch.minhash import signature

_NO_TEXT = ("script", "style", "noscript", "title", "nav", "header", "footer", "aside")
"""What is not shown, and what the page says of itself to be around its text rather than in it. A menu in a plain `div`
cannot be told from text; the distance is so small that it seldom matters (docs/TRAPS.md)."""


def page_signature(tree: Document) -> bytes | None:
    """The signature of a page's own text; None if there is too little of it. The tree is of no use afterwards."""
    # A list first: the iterator loses its way when what it stands on goes. A selector does the same at twice the price.
    for element in list(tree.iter_elements(_NO_TEXT)):
        element.decompose()
    return signature(tree.text)
