"""Leaves out what needs an optional package that is not installed."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("torch") else ["src/rejo/torch.py"]
