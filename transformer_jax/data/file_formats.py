"""What a file that is not UTF-8 text holds, told by its first bytes, and what helps.

A corpus often arrives in an archive, or in UTF-16 from a spreadsheet; that one may even
pass for UTF-8.
"""

import codecs

from transformer_jax.errors import UserError

# How much of a file is looked at.
HEAD_BYTES = 4096

_UNPACK = "Unpack it first, for example with `{} FILE`."
_EXPORT = "Save it as plain text, one sentence a line, in UTF-8."
_NO_OFFICE = " A .docx, .xlsx or .odt is a zip too: save it as plain text."
# Where a mark stands, the mark, what holds it, and what helps.
_FORMATS = (
    (0, b"\x1f\x8b", "gzip", "Unpack it first (once more), with `gzip -d`."),
    (0, b"\x1f\x9d", "compress (.Z)", _UNPACK.format("gzip -d")),
    (0, b"\xfd7zXZ\0", "xz", _UNPACK.format("xz -d")),
    (0, b"]\0\0", "lzma", _UNPACK.format("xz -d")),
    (4, b"1AY&SY", "bzip2", _UNPACK.format("bzip2 -d")),
    (0, b"\x28\xb5\x2f\xfd", "Zstandard", _UNPACK.format("zstd -d")),
    (0, b"\x04\x22\x4d\x18", "lz4", _UNPACK.format("lz4 -d")),
    (0, b"LZIP\1", "lzip", _UNPACK.format("lzip -d")),
    (0, b"7z\xbc\xaf\x27\x1c", "7-Zip", _UNPACK.format("7z x")),
    (0, b"Rar!\x1a\x07", "RAR", _UNPACK.format("unrar x")),
    (0, b"PK\x03\x04", "zip", _UNPACK.format("unzip") + _NO_OFFICE),
    (257, b"ustar\0", "a tar archive", _UNPACK.format("tar xf")),
    (257, b"ustar  \0", "a tar archive", _UNPACK.format("tar xf")),
    (0, b"%PDF-", "PDF", "Extract its text, for example with `pdftotext`."),
    (0, b"{\\rtf", "RTF", _EXPORT),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office document", _EXPORT),
    (0, b"PAR1\x15", "Parquet", _EXPORT),
    (0, b"ARROW1\0\0", "Arrow", _EXPORT),
    (0, b"\x89HDF\r\n", "HDF5", _EXPORT),
    (0, b"SQLite format 3\0", "SQLite", _EXPORT),
    (0, b"\x93NUMPY", "a NumPy array", _EXPORT),
    (
        0,
        b"version https://git-lfs.github.com/spec/",
        "a pointer of Git LFS in place of the text",
        "Fetch the text with `git lfs pull`.",
    ),
)
# The mark of UTF-32 begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)
_WITHOUT_MARK = ("UTF-32LE", "UTF-32BE", "UTF-16LE", "UTF-16BE")


def require_text(name: str, head: bytes) -> None:
    """Refuse what is sure not to be UTF-8 text.

    Args:
      name: what to call the file.
      head: its first bytes, `HEAD_BYTES` or all there are.

    Raises:
      UserError: names the format, and what makes text of it.
    """
    for start, mark, kind, advice in _FORMATS:
        if head.startswith(mark, start):
            raise UserError(f"{name} is no text: it holds {kind}. {advice}")
    if encoding := _find_wide_encoding(head):
        raise UserError(
            f"{name} is {encoding}, and UTF-8 was expected. Convert it with `iconv -f "
            f"{encoding} -t UTF-8 FILE`."
        )


def _find_wide_encoding(head: bytes) -> str | None:
    """Return which of UTF-16 and UTF-32 a text is written in; None if neither.

    Without a mark it is one if it holds NULs and can be read so. Letters of Latin,
    Cyrillic and others then look like UTF-8 with odd characters in it, and UTF-8 with
    a NUL like ideographs: such text must keep to a few blocks of 256 characters.
    """
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding
    if b"\0" not in head:
        return None
    for encoding in _WITHOUT_MARK:
        text = _decode(head, encoding)
        if not text or not all(c.isprintable() or c.isspace() for c in text):
            continue
        blocks = {ord(character) >> 8 for character in text}
        keeps_to_few = len(blocks) <= min(8, len(text) // 2)
        if 0 in blocks and (keeps_to_few or _decode(head, "UTF-8") is None):
            return encoding
    return None


def _decode(head: bytes, encoding: str) -> str | None:
    """Return the text of the first bytes of a file; None if they hold none.

    A character that is cut off at their end is left out.
    """
    try:
        return codecs.getincrementaldecoder(encoding)().decode(head)
    except UnicodeDecodeError:
        return None
