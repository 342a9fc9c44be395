"""Properties that are tried on some examples in `make test`, and on many in `make check`."""

import pytest
from hypothesis import given, settings


def some_and_many(holds, some, many, **strategies):
    """Return two tests of a property, with so many examples; the second one is for later."""
    first, second = (settings(max_examples=n)(given(**strategies)(holds)) for n in (some, many))
    return first, pytest.mark.check(second)
