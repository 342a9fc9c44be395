"""Pictures are drawn in memory, and closed after each test."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

mpl.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture
def legend_texts():
    """Texts of the legend in the axes of a display."""
    return lambda display: [t.get_text() for t in display.ax_.get_legend().get_texts()]
