import asyncio
import gc
import sys
import threading

import pytest
import tensorstore as ts

from transformer_jax.training import save_failures


@pytest.fixture
def only_a_wait_switches_threads():
    """Let another thread run when this one waits, and at no other time."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000.0)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("only_a_wait_switches_threads")
def test_writes_that_are_forgotten_are_waited_for_however_they_end(monkeypatch):
    is_looking = threading.Event()

    def look():
        is_looking.set()
        return objects()

    def end_writes():
        is_looking.wait(timeout=60)
        good.set_result(None)
        bad.set_exception(OSError("File too large"))

    objects = gc.get_objects
    (good, first), (bad, second) = ts.Promise.new(), ts.Promise.new()
    monkeypatch.setattr(gc, "get_objects", look)
    ending = threading.Thread(target=end_writes, daemon=True)
    ending.start()
    save_failures.wait_for_other_writes()
    assert is_looking.is_set()
    assert first.done() and second.done()
    ending.join()


def test_a_write_that_fails_after_the_first_says_nothing_of_its_own(caplog):
    save_failures.quiet_background()
    loop = asyncio.new_event_loop()
    loop.create_future().set_exception(ValueError("File too large"))
    gc.collect()
    loop.close()
    assert caplog.text == ""
