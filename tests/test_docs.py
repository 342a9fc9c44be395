"""The transcripts of the guide are what the commands print."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent / "docs" / "transcripts.py"


def check(*options):
    command = [sys.executable, SCRIPT, "--check", *options]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_transcripts_are_true():
    check("--quick")


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_slow_transcripts_are_true():
    check()
