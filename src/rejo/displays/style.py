"""What the displays share: colours for readers of any colour vision, axes, legends."""

from textwrap import fill
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from rejo._errors import optional

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

# Colours of Okabe and Ito, which readers of any colour vision can tell apart. Their yellow is too
# light for a line on white, and black is kept for what is known, such as the Bayes curve.
BLUE, VERMILION = "#0072B2", "#D55E00"
LINE_COLOURS = (BLUE, VERMILION, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#777777")
# With these numbers of colours, line styles and markers, 70 curves all look different.
LINE_STYLES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5)), (0, (9, 2)))
MARKERS = "os^Dv<>pP*"
REJECT_FACE, REJECT_HATCH = "0.88", "0.6"
LONGEST_LINE = 30  # characters of a name in a legend


class Display:
    """Base of the displays: the axes of the last plot, and the figure that holds them."""

    ax_: "Axes"
    figure_: "Figure | SubFigure"

    def plot(self, ax: "Axes | None" = None) -> Self:
        """Draw everything, with a legend, into ``ax`` or a new figure; return the display."""
        self._plot(ax)
        return self

    def _plot(self, ax: "Axes | None") -> None:
        raise NotImplementedError

    def _set_axes(self, ax: "Axes | None", figsize: tuple[float, float] = (6.8, 4.2)) -> "Axes":
        if ax is None:
            name = type(self).__name__
            plt = optional("matplotlib.pyplot", name, "matplotlib", "plot")
            ax = plt.subplots(figsize=figsize, layout="constrained")[1]
        elif not hasattr(ax, "transData"):
            raise TypeError(
                f"ax must be one matplotlib Axes, got {type(ax).__name__}; choose one of the "
                "subplots, such as axes[0]"
            )
        self.ax_, self.figure_ = ax, ax.figure
        return ax


def tint(colour: Any, share: float) -> tuple[float, float, float]:
    from matplotlib.colors import to_rgb

    red, green, blue = 1 - share * (1 - np.array(to_rgb(colour)))
    return red, green, blue


def class_colours(n_classes: int) -> list[Any]:
    """Two colours that contrast, or a scale from dark to light for more classes.

    The scale ends before yellow, in which points are hard to see.
    """
    if n_classes == 2:
        return [BLUE, VERMILION]
    from matplotlib import colormaps

    return list(colormaps["viridis"](np.linspace(0.0, 0.82, n_classes)))


def wrap(name: Any) -> str:
    """Break a long name into lines, so that a legend leaves room for the picture."""
    return fill(str(name), LONGEST_LINE)


def sober(ax: "Axes") -> None:
    ax.grid(color="0.9", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def from_zero(ax: "Axes", sides: str) -> None:
    """Start the axes "x", "y" or both at 0; they still grow with what is drawn later."""
    if "x" in sides:
        ax.set_xlim(left=0, auto=None)
    if "y" in sides:
        ax.set_ylim(bottom=0, auto=None)


def percent(axis: Any) -> None:
    from matplotlib.ticker import FuncFormatter

    axis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.6g}%"))


def legend(ax: "Axes", handles: list[Any], **options: Any) -> None:
    """Put the legend to the right of the axes, where it doesn't hide data."""
    place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.01, 1)}
    box = ax.legend(handles=handles, **place, frameon=False, alignment="left", **options)
    box.get_title().set_color("0.35")
