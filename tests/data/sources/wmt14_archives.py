"""Archives in the layout of WMT14's, of made-up sentences, for TFDS's own builder."""

import contextlib
import functools
import gzip
import io
import pathlib
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest

from transformer_jax.data.sources.tfds_directory import (
    PreparedDataSet,
    check_languages,
)
from transformer_jax.data.sources.tfds_preparation import prepare
from transformer_jax.data.sources.tfds_without_tensorflow import import_tfds

# For a corpus, other foreign and English lines than the usual ones.
Changes = Mapping[str, tuple[Sequence[str], Sequence[str]]]

NUM_LINES = {
    "europarl": 23,
    "commoncrawl": 17,
    "news-commentary": 13,
    "un": 11,
    "giga-fren": 7,
}
NUM_VALIDATION, NUM_TEST = 5, 3


def prepare_wmt14(
    directory: pathlib.Path, language: str, changes: Changes | None = None
) -> PreparedDataSet:
    """Have TFDS prepare wmt14_translate/LANGUAGE-en in `directory`/data."""
    archives = write_archives(directory / "archives", language, changes)
    with any_checksum():
        return prepare(
            f"wmt14_translate/{language}-en",
            str(directory / "data"),
            wants("en", language),
            str(archives),
        )


def wants(source: str, target: str) -> Callable[[Any], None]:
    """Return what refuses a data set without this pair of languages."""
    return functools.partial(check_languages, source=source, target=target)


@contextlib.contextmanager
def any_checksum() -> Iterator[None]:
    """Let archives of our own pass for the real ones, whose checksums TFDS knows."""
    import_tfds()
    from tensorflow_datasets.core.download import download_manager

    def record(self, *, url, url_info, path):
        self._recorded_url_infos[url] = url_info

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            download_manager.DownloadManager, "_register_or_validate_checksums", record
        )
        yield


def make_lines(corpus: str, language: str) -> list[tuple[str, str]]:
    """Return pairs of (foreign, English) lines that tell where they come from."""
    return [
        (f"{language} Satz {n} aus {corpus}.", f"English sentence {n} of {corpus}.")
        for n in range(NUM_LINES[corpus])
    ]


def write_archives(
    directory: pathlib.Path,
    language: str,
    changes: Changes | None = None,
) -> pathlib.Path:
    """Write everything that wmt14_translate/LANGUAGE-en is made of."""
    directory.mkdir(parents=True)
    text = {}
    for corpus in NUM_LINES:
        foreign, english = zip(*make_lines(corpus, language), strict=True)
        foreign, english = (changes or {}).get(corpus, (foreign, english))
        # As in the real ones, the last line ends too.
        text[corpus] = {
            language: "".join(f"{line}\n" for line in foreign).encode(),
            "en": "".join(f"{line}\n" for line in english).encode(),
        }

    def sides(corpus: str, stem: str) -> dict[str, bytes]:
        return {f"{stem}.{side}": data for side, data in text[corpus].items()}

    pair = f"{language}-en"
    _tar(
        directory / "training-parallel-europarl-v7.tgz",
        sides("europarl", f"training/europarl-v7.{pair}"),
    )
    _tar(
        directory / "training-parallel-commoncrawl.tgz",
        sides("commoncrawl", f"commoncrawl.{pair}"),
    )
    _tar(
        directory / "training-parallel-nc-v9.tgz",
        sides("news-commentary", f"training/news-commentary-v9.{pair}"),
    )
    _tar(directory / "dev.tgz", _dev_files(language))
    if language == "fr":
        _tar(
            directory / "training-parallel-un.tgz",
            sides("un", f"un/undoc.2000.{pair}"),
        )
        _tar(
            directory / "training-giga-fren.tar",
            {
                f"giga-fren.release2.fixed.{side}.gz": gzip.compress(data)
                for side, data in text["giga-fren"].items()
            },
        )
    return directory


def _dev_files(language: str) -> dict[str, bytes]:
    files = {}
    for side, name in ((language, "src"), ("en", "ref")):
        lines = [f"{side} newstest2013 {n}\n" for n in range(NUM_VALIDATION)]
        files[f"dev/newstest2013.{side}"] = "".join(lines).encode()
        segments = [
            f'<seg id="{n}">{side} newstest2014 {n}</seg>\n' for n in range(NUM_TEST)
        ]
        sgml = f'<{name}set setid="newstest2014">\n<doc docid="1">\n<p>\n'
        sgml += f"{''.join(segments)}</p>\n</doc>\n</{name}set>\n"
        path = f"dev/newstest2014-{language}en-{name}.{side}.sgm"
        files[path] = sgml.encode()
    return files


def _tar(path: pathlib.Path, files: Mapping[str, bytes]) -> None:
    with tarfile.open(path, "w:gz" if path.suffix == ".tgz" else "w") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
