"""Prepare a data set of TensorFlow Datasets once: download, unpack, write array_record.

What can go wrong with many gigabytes from elsewhere is looked at before it starts: the
files at hand, the network, earlier attempts.
"""

import dataclasses
import importlib
import logging
import os
import pathlib
import re
import socket
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from transformer_jax.data.sources.tfds_directory import (
    NotPreparedError,
    PreparedDataSet,
    data_directory,
    open_prepared,
)
from transformer_jax.data.sources.tfds_without_tensorflow import import_tfds
from transformer_jax.errors import UserError
from transformer_jax.files import as_path

_LOGGER = logging.getLogger(__name__)
_CONNECT_SECONDS = 3.0
_NAME = re.compile("(?P<set>[^/:]+)(/(?P<configuration>[^/:]+))?(:[^/:]+)?")


@dataclasses.dataclass(frozen=True)
class Archive:
    """A file that a data set is made from.

    Attributes:
      url: where it comes from.
      name: what it is called in the folder of files placed by hand.
      size: bytes; None if TFDS does not know.
    """

    url: str
    name: str
    size: int | None

    def describe(self) -> str:
        size = "unknown size" if self.size is None else f"{self.size / 2**20:,.0f} MiB"
        return f"{self.name} ({size}) from {self.url}"


def prepare(
    name: str,
    directory: str,
    check: Callable[[Any], object],
    manual_directory: str = "",
) -> PreparedDataSet:
    """Prepare a data set, or find that it has been.

    Args:
      name: TFDS's, as "wmt14_translate/de-en".
      directory: the folder of data sets; empty: TFDS_DATA_DIR.
      check: refuses TFDS's builder if its examples have not what they are wanted
        for, before anything is downloaded.
      manual_directory: where to look for archives that were placed by hand; empty:
        downloads/manual below the folder of data sets.

    Raises:
      UserError: if it cannot be prepared, with what to do about it.
    """
    try:
        data_set = open_prepared(name, directory)
    except NotPreparedError:
        if not name:
            raise
    else:
        check(data_set.builder)
        _LOGGER.info("Prepared before, nothing to do")
        return data_set
    root = data_directory(directory)
    if "://" in root:
        raise UserError(
            f"A data set cannot be prepared in {root}: that needs a folder. Prepare it "
            "on a disk and copy it, or mount the bucket as a folder."
        )
    manual = os.path.join(root, "downloads", "manual")
    if manual_directory:
        manual = str(as_path(manual_directory))
    builder = _make_builder(name, root)
    check(builder)
    tfds = import_tfds()
    settings = tfds.download.DownloadConfig(manual_dir=manual, try_download_gcs=False)
    _check_archives(builder, settings, manual)
    _LOGGER.info("Preparing %s in %s", builder.info.full_name, builder.data_path)
    try:
        builder.download_and_prepare(
            download_config=settings, file_format="array_record"
        )
    except _failures() as error:
        raise UserError(_explain(error, name, manual)) from error
    return open_prepared(name, directory)


def missing_archives(builder: Any, settings: Any) -> list[Archive]:
    """Return what the builder would have to download."""
    manager = builder._make_download_manager(
        download_dir=None, download_config=settings
    )
    checksums = import_tfds().core.download.checksums
    infos = checksums.get_all_url_infos() | (builder.url_infos or {})
    resource_class = import_tfds().download.Resource
    missing = []
    for url in _wanted_urls(builder, settings.manual_dir):
        info, resource = infos.get(url), resource_class(url=url)
        at_hand = (
            manager._get_manually_downloaded_path(info)
            or manager._get_checksum_dl_result(resource)
            or manager._get_url_dl_result(resource)
        )
        if not at_hand:
            name = info.filename if info and info.filename else url.split("/")[-1]
            missing.append(Archive(url, name, info.size if info else None))
    return missing


class _Recorder:
    """Stands in for TFDS's download manager and writes down what it is asked for."""

    def __init__(self, manual_directory: str):
        self.urls: list[str] = []
        self.manual_dir = pathlib.Path(manual_directory)

    def download(self, urls: Any) -> Any:
        if isinstance(urls, dict):
            return {name: self.download(url) for name, url in urls.items()}
        if isinstance(urls, list | tuple):
            return [self.download(url) for url in urls]
        self.urls.append(getattr(urls, "url", urls))
        return pathlib.Path("not-downloaded")

    download_and_extract = download

    def extract(self, paths: Any) -> Any:
        return paths


def _wanted_urls(builder: Any, manual_directory: str) -> list[str]:
    """Return the addresses that the builder downloads from, as far as it tells."""
    recorder = _Recorder(manual_directory)
    try:
        builder._split_generators(recorder)
    except AssertionError as error:
        # What TFDS itself wants placed by hand, as some corpora with a licence.
        raise UserError(str(error)) from error
    except Exception as error:
        # Some builders look into a file before they ask for the next.
        _LOGGER.debug("The list of archives may be incomplete: %s", error)
    return list(dict.fromkeys(recorder.urls))


def _check_archives(builder: Any, settings: Any, manual: str) -> None:
    """Fail early, and in words, if a file is neither here nor to be had."""
    missing = missing_archives(builder, settings)
    if not missing:
        return
    unreachable = _unreachable_hosts([archive.url for archive in missing])
    if not unreachable:
        for archive in missing:
            _LOGGER.info("To be downloaded: %s", archive.describe())
        return
    listed = "\n  ".join(
        archive.describe()
        for archive in missing
        if urllib.parse.urlsplit(archive.url).hostname in unreachable
    )
    raise UserError(
        f"{', '.join(sorted(unreachable))} cannot be reached from here, and these "
        f"files are missing:\n  {listed}\nConnect to the network and try again, or "
        "fetch them on another machine and put them, under these names, into "
        f"{manual}"
    )


def _unreachable_hosts(urls: Sequence[str]) -> set[str]:
    """Return the hosts to which no connection can be made within three seconds each."""
    hosts: dict[str, tuple[str, int]] = {}
    proxies = urllib.request.getproxies()
    for url in urls:
        parts = urllib.parse.urlsplit(url)
        host = parts.hostname or ""
        proxy = proxies.get(parts.scheme)
        if proxy and not urllib.request.proxy_bypass(host):
            parts = urllib.parse.urlsplit(proxy if "://" in proxy else f"//{proxy}")
        default_port = 443 if parts.scheme == "https" else 80
        hosts[host] = parts.hostname or "", parts.port or default_port
    unreachable = set()
    for host, address in hosts.items():
        try:
            socket.create_connection(address, timeout=_CONNECT_SECONDS).close()
        except OSError:
            unreachable.add(host)
    return unreachable


def _make_builder(name: str, root: str) -> Any:
    tfds = import_tfds()
    # TFDS looks for builders in one folder after another and gives up, without a word,
    # at the first that lacks one of its own requirements. These have WMT and GLUE.
    for folder in ("translate", "text"):
        importlib.import_module(f"tensorflow_datasets.{folder}")
    parts = _NAME.fullmatch(name)
    if parts is None:
        raise _unknown(name, "It is no name.")
    try:
        configurations = tfds.builder_cls(parts["set"]).builder_configs
    except tfds.core.DatasetNotFoundError as error:
        raise _unknown(name, _first_line(error)) from error
    if configurations and parts["configuration"] not in configurations:
        reason = f"Its configurations are {', '.join(configurations)}."
        if twin := _other_direction(parts["configuration"] or "", configurations):
            reason = f"Set it to {parts['set']}/{twin}, for either direction. {reason}"
        raise _unknown(name, reason)
    try:
        return tfds.builder(name, data_dir=root, file_format="array_record")
    except (AssertionError, ValueError) as error:  # The first is for the version.
        # Before the reason, TFDS says what it was called with.
        reason = _first_line(error).rpartition('}": ')[2]
        raise _unknown(name, reason) from error


def _other_direction(name: str, configurations: Iterable[str]) -> str | None:
    """Return the configuration of the same languages in another order, if any."""
    given = _languages_in(name)
    return next((c for c in configurations if _languages_in(c) == given), None)


def _languages_in(configuration: str) -> list[str]:
    return sorted(re.findall("[a-z]+", configuration.lower()))


def _unknown(name: str, reason: str) -> UserError:
    return UserError(
        f"name={name!r} is not a data set that TensorFlow Datasets knows. "
        f'{reason} Give its name and configuration, as "wmt14_translate/de-en".'
    )


def _failures() -> tuple[type[Exception], ...]:
    """Return what preparing raises when files or the network are at fault."""
    package = "tensorflow_datasets.core.download"
    manager, extractor, util = (
        importlib.import_module(f"{package}.{name}")
        for name in ("download_manager", "extractor", "util")
    )
    return (
        manager.NonMatchingChecksumError,
        extractor.ExtractError,
        util.DownloadError,
        AssertionError,  # How TFDS's readers refuse files that do not fit together.
        UnicodeDecodeError,
        OSError,  # Those of the disk and, by way of requests, of the network.
    )


def _explain(error: Exception, name: str, manual: str) -> str:
    text = str(error)
    advice = (
        "Downloads that were finished are kept and used again; whatever was not is "
        "left out. Put it right and run the same command again."
    )
    if "Sizes do not match" in text:
        advice = (
            "The two sides of a corpus must have as many lines. The archive is damaged "
            "or of another version than the data set was made for: fetch it anew, put "
            f"it into {manual} and delete its unpacked copy."
        )
    elif "wrong checksum" in text:
        advice = (
            "The file is damaged or of another version: delete it and fetch it anew."
        )
    elif isinstance(error, UnicodeDecodeError):
        advice = "A corpus is not UTF-8 text: fetch its archive anew."
    return f"{name} cannot be prepared: {text}\n{advice}"


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), "")
