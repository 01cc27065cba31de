"""From the bytes of a page to its tree. Hot: `benchmarks/bench_extract.py`.

The one place where turbohtml parses a page (ADR 15), so that every reader of a page sees the same one.
"""

import codecs

from turbohtml import Document, parse

from gossamer.extract.charset import charset_parameter, declared_encoding, encoding_in_meta, guess_encoding


def page_tree(body: bytes, content_type: str | None) -> tuple[Document, str, bool]:
    """The tree of a page, without what is inert in it, the encoding that it was read in, and whether it is known that
    not a character had to be replaced.

    Never raises, whatever the bytes, and takes time in proportion to their number. The tree is some ten times as large
    as the page: drop it before you wait for anything.
    """
    declared = declared_encoding(body, charset_parameter(content_type))
    encoding = declared or guess_encoding(body)
    tree, sound = _parsed(body, encoding)
    if declared is None:
        # A declaration may stand too late for the prescan. As the standard has it: once more, from the start.
        late = _late_declaration(tree)
        if late is not None and late != encoding:
            encoding = late
            tree, sound = _parsed(body, encoding)
    if tree.find("template") is not None:
        # A template is inert. One that declares a shadow root is not: browsers show it and follow its links.
        tree.remove("template:not([shadowrootmode])")
    return tree, encoding, sound


def _parsed(body: bytes, encoding: str) -> tuple[Document, bool]:
    """The whole tree, and whether the body is well-formed UTF-8. Python decodes that in no more time than the parser
    takes for it, in less if it is not Latin, and tells whether there were faults."""
    if encoding == "UTF-8" and not body.startswith(codecs.BOM_UTF8):
        try:
            text, _ = codecs.utf_8_decode(body, "strict", True)
        except UnicodeDecodeError:
            pass  # the parser knows what to put in the place of each fault
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
