import pytest

from tests.estimators.points import ordered_points


@pytest.fixture(scope="module")
def data():
    return ordered_points()


@pytest.fixture(scope="module")
def binary():
    return ordered_points(n=80, n_classes=2, seed=1)
