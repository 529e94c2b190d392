"""What is no UTF-8 text is named by its first bytes, wherever text is read."""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile

import pytest

from transformer_jax.data.file_formats import require_text
from transformer_jax.data.line_index import LineIndex
from transformer_jax.data.lines import iter_lines, read_lines
from transformer_jax.errors import UserError

TEXTS = {
    "German": "Zwei junge weiße Männer sind im Freien.\nEin Hund läuft.\n",
    "Russian": "Двое молодых белых мужчин на улице.\nСобака бежит.\n",
    "Chinese": "两个年轻的白人男子在户外。\n一只狗在跑。\n",
    "Hindi": "दो युवा श्वेत पुरुष बाहर हैं।\nएक कुत्ता दौड़ रहा है।\n",
}
PLAIN = TEXTS["German"].encode() * 50


def _archive(kind):
    file = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(file, "w") as packed:
            packed.writestr("train.de", PLAIN)
    else:
        with tarfile.open(fileobj=file, mode="w") as packed:
            member = tarfile.TarInfo("train.de")
            member.size = len(PLAIN)
            packed.addfile(member, io.BytesIO(PLAIN))
    return file.getvalue()


CONTAINERS = {
    "xz": (lzma.compress(PLAIN), "xz -d"),
    "bzip2": (bz2.compress(PLAIN), "bzip2 -d"),
    "lzma": (lzma.compress(PLAIN, lzma.FORMAT_ALONE), "xz -d"),
    "zip": (_archive("zip"), "unzip"),
    "tar": (_archive("tar"), "tar xf"),
    "Zstandard": (b"\x28\xb5\x2f\xfd\x04\x58", "zstd -d"),
    "PDF": (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "pdftotext"),
    "Git LFS": (b"version https://git-lfs.github.com/spec/v1\noid x\n", "git lfs pull"),
    "gzip": (gzip.compress(gzip.compress(PLAIN)), "gzip -d"),
}


@pytest.mark.parametrize("kind", CONTAINERS)
def test_a_container_is_named_with_what_opens_it(kind, tmp_path):
    content, command = CONTAINERS[kind]
    path = tmp_path / "train.de"
    path.write_bytes(content)
    for read in (read_lines, lambda path: LineIndex(path, tmp_path / "index")):
        with pytest.raises(UserError, match=f"train.de is no text.*{kind}.*{command}"):
            read(path)


def test_a_compressed_standard_input_is_named():
    with pytest.raises(UserError, match="standard input is no text: it holds gzip"):
        list(iter_lines(io.BytesIO(gzip.compress(PLAIN))))


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize(
    "encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]
)
@pytest.mark.parametrize("language", TEXTS)
def test_wide_encodings_are_named_with_and_without_a_mark(
    language, encoding, mark, tmp_path
):
    path = tmp_path / "text"
    path.write_bytes((mark + "\n" + TEXTS[language] * 70).encode(encoding))
    name = encoding[:6].upper() if mark else encoding.upper().replace("-", "", 2)
    name = name.replace("UTF", "UTF-").replace("--", "-")
    for read in (read_lines, lambda path: LineIndex(path, tmp_path)):
        with pytest.raises(UserError, match=f"text is {name},.*iconv -f {name} -t UTF"):
            read(path)


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"\n",
        b"\0",
        b"a\0b\n",
        b"eins\n\n\x0bdrei\0\n",
        b"BZh is short for a district.\n",
        b"PAR1 is a file format.\n",
        *(text.encode() for text in TEXTS.values()),
        *(text.replace(" ", "\0 ", 3).encode() * 20 for text in TEXTS.values()),
    ],
)
def test_text_passes_even_with_a_few_nulls(head):
    require_text("text", head)


def test_few_nulls_are_counted_and_many_refused(tmp_path, caplog):
    path = tmp_path / "text"
    path.write_bytes(b"one line\n" * 2000 + b"a\0b\n" * 15)
    with caplog.at_level("INFO"):
        assert read_lines(path)[-1] == "a\0b"
    assert "NULs kept: 15" in caplog.text
    assert LineIndex(path, tmp_path).counts.nulls == 15
    path.write_bytes(b"one line\n" * 200 + b"a\0b\n" * 15)
    for read in (read_lines, lambda path: LineIndex(path, tmp_path)):
        with pytest.raises(UserError, match="text holds 15 NULs in 215 lines"):
            read(path)


def test_bytes_that_are_neither_utf8_nor_known_are_not_called_latin_1(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"\x01\xff\0\x99" * 100)
    with pytest.raises(UserError, match="line 1: byte 0xff .*holds NULs.*`file`"):
        read_lines(path)
