"""Text from bytes, by the decoders of the Encoding Standard, which are not Python's (ADR 27).

Pages are decoded by the parser itself; this is for text that is no page. A test holds the two together.
"""

import codecs

import turbohtml.detect  # noqa: F401  (it registers the codecs)

from gossamer.extract.charset import charset_parameter, choose_encoding


def decoded(body: bytes, encoding: str) -> str:
    """The text of `body`, what is broken replaced by U+FFFD. `encoding` is a name, not a label. Never raises."""
    if encoding == "replacement":
        return "\ufffd" if body else ""
    if encoding == "UTF-8":
        return body.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace")
    if encoding == "UTF-16LE":
        return body.removeprefix(codecs.BOM_UTF16_LE).decode("utf-16-le", "replace")
    if encoding == "UTF-16BE":
        return body.removeprefix(codecs.BOM_UTF16_BE).decode("utf-16-be", "replace")
    return codecs.decode(body, f"whatwg-{encoding}")


def decoded_text(body: bytes, content_type: str | None) -> str:
    """The text of a document that is plain text, in the encoding that its mark, its header or its bytes tell."""
    return decoded(body, choose_encoding(body, charset_parameter(content_type)))
