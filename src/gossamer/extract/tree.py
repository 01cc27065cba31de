"""Parses the bytes of a page into its tree. Hot: benchmarks/bench_extract.py.

The only place where turbohtml parses a page (ADR 15), so that all readers see the same tree.
"""

import codecs

from turbohtml import Document, parse

from gossamer.extract.charset import charset_parameter, declared_encoding, encoding_in_meta, guess_encoding


def page_tree(body: bytes, content_type: str | None) -> tuple[Document, str, bool]:
    """The tree of a page without inert elements, the encoding it was decoded with, and whether it is known that no
    character had to be replaced.

    Never raises for any input; the time is linear in its size. The tree is about ten times as large as the page: drop
    it before waiting for anything.
    """
    declared = declared_encoding(body, charset_parameter(content_type))
    encoding = declared or guess_encoding(body)
    tree, sound = _parse(body, encoding)
    if declared is None:
        # A declaration may come too late for the prescan. Then, as in the standard, parse again from the start.
        late = _late_declaration(tree)
        if late is not None and late != encoding:
            encoding = late
            tree, sound = _parse(body, encoding)
    if tree.find("template") is not None:
        # A template is inert, unless it declares a shadow root: browsers render that and follow its links.
        tree.remove("template:not([shadowrootmode])")
    return tree, encoding, sound


def _parse(body: bytes, encoding: str) -> tuple[Document, bool]:
    """The whole tree, and whether the body is valid UTF-8. Python decodes it at least as fast as the parser, faster if
    it is not Latin text, and reports invalid bytes."""
    if encoding == "UTF-8" and not body.startswith(codecs.BOM_UTF8):
        try:
            text, _ = codecs.utf_8_decode(body, "strict", True)
        except UnicodeDecodeError:
            pass  # the parser replaces each invalid sequence
        else:
            return parse(text, positions=False, allow_declarative_shadow_roots=False), True
    return parse(body, encoding=encoding, positions=False, allow_declarative_shadow_roots=False), False


def _late_declaration(tree: Document) -> str | None:
    for meta in tree.find_all("meta"):
        attribute = meta.attr
        declared = encoding_in_meta(
            charset=attribute("charset"), http_equiv=attribute("http-equiv"), content=attribute("content")
        )
        if declared is not None:
            return declared
    return None
