"""The language of a page, as a tag of BCP 47 such as `en`, `pt-BR` or `zh-Hant`."""

import re

from turbohtml import Document

MAX_TAG = 35
"""Characters: what BCP 47 asks programs to make room for."""

_TAG = re.compile(r"(?:[a-z]{2,3}|[a-z]{5,8})(?:-[a-z0-9]{1,8})*").fullmatch


def language_tag(written: str | None) -> str | None:
    """What a page wrote, in the customary case (`EN_us` is `en-US`); None for what is no tag.

    Only the form is checked, not whether there is such a language.
    """
    if written is None:
        return None
    tag = written.strip()[: MAX_TAG + 1].replace("_", "-").lower()
    if len(tag) > MAX_TAG or not tag.isascii() or _TAG(tag) is None:
        return None
    if "-" not in tag:
        return tag
    language, *rest = tag.split("-")
    parts = [language]
    for position, part in enumerate(rest):
        if len(parts[-1]) == 1 or "x" in rest[:position]:  # behind a single letter everything is small
            parts.append(part)
        elif len(part) == 2:
            parts.append(part.upper())
        else:
            parts.append(part.title() if len(part) == 4 and part.isalpha() else part)
    return "-".join(parts)


def header_language(content_language: str | None) -> str | None:
    """The language in a Content-Language header or the element that stands for it.

    A list of several languages names the readers, not the language of the page, so it gives no answer.
    """
    if content_language is None or "," in content_language:
        return None
    return language_tag(content_language)


def declared_language(tree: Document, in_meta: str | None, in_header: str | None) -> str | None:
    """What the page says: the `lang` of its root, else the meta element for it, else the header."""
    root = tree.root
    written = None if root is None else root.attr("lang") or root.attr("xml:lang")
    return language_tag(written) or header_language(in_meta) or header_language(in_header)
