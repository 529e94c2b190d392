"""Contestants that do nothing, in ways that turns must cope with."""

import time

from benchmarks.turns import Prepared


def quick(seconds: float) -> Prepared:
    print("a library prints")
    return Prepared(lambda: seconds, lambda: {"device_kind": "abacus"})


def not_installed() -> Prepared:
    import no_such_package  # noqa: F401

    raise AssertionError


def failing() -> Prepared:
    raise ValueError("cannot be prepared")


def dying() -> Prepared:
    raise SystemExit("gone")


def sleeping() -> Prepared:
    time.sleep(60)
    raise AssertionError
