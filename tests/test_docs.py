"""What scripts write into the pages is up to date."""

import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"


def check(*options, script="transcripts.py"):
    command = [sys.executable, DOCS / script, "--check", *options]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_transcripts_are_true():
    check("--quick")


def test_the_table_of_classes_is_what_the_classes_say():
    check(script="security.py")


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_slow_transcripts_are_true():
    check()
