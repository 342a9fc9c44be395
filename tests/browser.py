"""Chromium of the system, for tests of pages; without it, those tests say that they are skipped."""

import os
import shutil
from contextlib import contextmanager

import pytest

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync "
    "--disable-background-networking --disable-component-update"
)


@contextmanager
def chromium():
    """Start a browser, and end it."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = os.environ.get("REJO_CHROMIUM") or shutil.which("chromium")
    if program is None:
        pytest.skip("no browser: install chromium, or set REJO_CHROMIUM to its path")
    with playwright.sync_playwright() as engine:
        running = engine.chromium.launch(executable_path=program, args=FLAGS.split())
        yield running
        running.close()
