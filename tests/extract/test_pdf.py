"""The text of PDF documents, and documents that have none."""

import io

import pytest
from pypdf import PdfReader, PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

from gossamer.errors import MissingExtra
from gossamer.extract import pdf
from gossamer.extract.pdf import is_pdf, pdf_text


def document(*texts: str, password: str | None = None) -> bytes:
    """A document with one page for each text."""
    writer = PdfWriter()
    for text in texts:
        page = writer.add_blank_page(600, 800)
        font = DictionaryObject(
            {
                NameObject("/Type"): NameObject("/Font"),
                NameObject("/Subtype"): NameObject("/Type1"),
                NameObject("/BaseFont"): NameObject("/Helvetica"),
            }
        )
        fonts = DictionaryObject({NameObject("/F1"): writer._add_object(font)})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
        content = DecodedStreamObject()
        content.set_data(f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode())
        page[NameObject("/Contents")] = writer._add_object(content)
    if password is not None:
        writer.encrypt(password)
    file = io.BytesIO()
    writer.write(file)
    return file.getvalue()


def test_the_text_of_all_pages_is_read() -> None:
    body = document("The river rose", "until the old bridge")

    assert len(PdfReader(io.BytesIO(body)).pages) == 2
    assert pdf_text(body) == "The river rose\n\nuntil the old bridge"


@pytest.mark.parametrize(
    "body",
    [b"", b"%PDF-1.7", b"%PDF-1.7\n" + b"\xff" * 1000, document("cut off")[:300], document("secret", password="x")],
    ids=["empty", "only a head", "noise", "cut off", "encrypted"],
)
def test_a_document_that_cannot_be_read_has_no_text(body: bytes) -> None:
    assert not pdf_text(body)


def test_a_document_that_takes_too_much_memory_is_given_up() -> None:
    writer = PdfWriter()
    page = writer.add_blank_page(600, 800)
    content = DecodedStreamObject()
    content.set_data(b"BT " + b"(" + b"x" * 60_000_000 + b") Tj ET")
    page[NameObject("/Contents")] = writer._add_object(content.flate_encode())
    file = io.BytesIO()
    writer.write(file)

    assert not pdf_text(file.getvalue())


def test_the_declared_type_decides_and_the_first_bytes_where_there_is_none() -> None:
    assert is_pdf("application/pdf; charset=x", b"")
    assert is_pdf(None, b"%PDF-1.4")
    assert not is_pdf("text/html", b"%PDF-1.4")
    assert not is_pdf(None, b"<p>")


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "is_pdf_supported", lambda: False)

    with pytest.raises(MissingExtra, match=r"pip install 'gossamer\[pdf\]'"):
        pdf_text(document("x"))
