"""What the reader clicks on: the text of a link."""

from turbohtml import Element, Text

MAX_TEXT = 300
"""Characters of a link's text that are kept."""

_HIDDEN = frozenset({"script", "style"})


class AnchorTexts:
    """The texts of the links of one page.

    Anchors do not nest, but elements of foreign kinds and parsers' repairs can make them: a thousand anchors, each with
    all later ones inside, would take time in the square of their number. So the nodes looked at are counted, and once
    they are more than the page has bytes, links with more than plain text inside have none.
    """

    def __init__(self, body_bytes: int) -> None:
        self._left = body_bytes + 1_000

    def of(self, element: Element) -> str:
        """White space as single spaces. Where there is no text the `alt` of its images counts, then its `title`."""
        tag = element.tag
        if tag == "a" or tag == "form":
            children = element.children
            if len(children) == 1 and isinstance(children[0], Text):
                text = _tidy(children[0].data)
            else:
                text = self._inside(element)
            return text or _tidy(element.attr("title") or "")
        return _tidy(element.attr("alt") or element.attr("title") or "")

    def _inside(self, element: Element) -> str:
        texts: list[str] = []
        images: list[str] = []
        length = 0
        for node in element.descendants:
            self._left -= 1
            if self._left < 0 or length > 10 * MAX_TEXT:
                break
            if isinstance(node, Text):
                parent = node.parent
                if not isinstance(parent, Element) or parent.tag not in _HIDDEN:
                    texts.append(node.data[: 10 * MAX_TEXT])
                    length += len(texts[-1])
            elif isinstance(node, Element) and node.tag == "img":
                images.append((node.attr("alt") or "")[: 10 * MAX_TEXT])
                length += len(images[-1])
        return _tidy("".join(texts)) or _tidy(" ".join(images))


def _tidy(text: str) -> str:
    return " ".join(text[: 10 * MAX_TEXT].split())[:MAX_TEXT].rstrip()
