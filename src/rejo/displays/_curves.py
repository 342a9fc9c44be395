"""A curve with its band, and how it is drawn."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rejo._html import table_html
from rejo._typing import Floats
from rejo.displays.style import LINE_COLOURS, LINE_STYLES, MARKERS, Display, legend, sober, wrap

if TYPE_CHECKING:
    from matplotlib.axes import Axes


REFITTING, RANKING = "by refitting", "by ranking"
RING: dict[str, Any] = {"linestyle": "", "marker": "o", "zorder": 4}  # look of a single point
# Marks on the artists, by which a second plot into the same axes finds those of the first.
CURVE, REFERENCE, BAND = "rejo-curve", "rejo-reference", "rejo-band"


class Curve(NamedTuple):
    """A named curve, and the band around it.

    Parameters
    ----------
    name : str
        What the legend calls it.
    x, y : ndarray of shape (n_points,)
        The points, in the order of ``x``.
    low, high : ndarray of shape (n_points,), default=None
        Limits of the band.
    traced : {"by refitting", "by ranking"}, default="by refitting"
        How it was made: each point is a classifier trained for its own reject cost, or a threshold
        moves along the sureness of one classifier.

    Examples
    --------
    Draw figures that a table in a paper gives:

    >>> from rejo.displays import Curve, RiskCurveDisplay
    >>> published = Curve("a paper's method", x=[0.1, 0.2, 0.3], y=[0.05, 0.08, 0.1])
    >>> display = RiskCurveDisplay(curves=[published]).plot()
    >>> display.ax_.get_xlabel()
    'reject cost $w_r$'
    """

    name: str
    x: Floats
    y: Floats
    low: Floats | None = None
    high: Floats | None = None
    traced: str = REFITTING

    def _repr_html_(self) -> str:
        parts = {name: getattr(self, name) for name in ("x", "y", "low", "high")}
        columns = {name: np.asarray(part) for name, part in parts.items() if part is not None}
        return table_html(f"{self.name}, {self.traced}", columns)


@dataclass(kw_only=True, eq=False, repr=False)
class CurveDisplay(Display):
    """Base of the displays that hold several curves."""

    curves: Sequence[Curve]
    bayes: tuple[ArrayLike, ArrayLike] | None = None
    band_label: str = "band"

    def _draw(self, ax: "Axes | None") -> tuple["Axes", list[Curve]]:
        curves, bayes = check_curves(self.curves), check_bayes(self.bayes)
        ax = self._set_axes(ax)
        self.lines_ = draw_curves(ax, curves, self.band_label)
        if bayes is not None:
            draw_reference(ax, *bayes, "best possible (Bayes)", color="black", linewidth=1)
        sober(ax)
        return ax, curves


def draw_curves(ax: "Axes", curves: Sequence[Curve], band_label: str) -> list[Any]:
    """Draw each curve in the next free style, with markers if it was refitted; return lines."""
    first = sum(_marked(line, CURVE) for line in ax.lines)
    alpha = min(0.15, 0.6 / len(curves))  # many bands on top of each other would hide the lines
    lines: list[Any] = []
    for i, curve in enumerate(curves, start=first):
        colour = LINE_COLOURS[i % len(LINE_COLOURS)]
        marker = MARKERS[i % len(MARKERS)] if curve.traced == REFITTING else None
        marked: dict[str, Any] = {"marker": marker, "markersize": 5.5, "mec": "white", "mew": 0.4}
        lines += ax.plot(
            curve.x,
            curve.y,
            color=colour,
            linestyle=LINE_STYLES[i % len(LINE_STYLES)],
            linewidth=1.5,
            label=wrap(curve.name),
            gid=f"{CURVE} {curve.traced}",
            zorder=3,
            **marked,
        )
        if curve.low is not None and curve.high is not None:
            band = ax.fill_between(curve.x, curve.low, curve.high, color=colour, alpha=alpha, lw=0)
            band.set(label=band_label, gid=BAND, zorder=1.5)
    return lines


def draw_reference(ax: "Axes", x: ArrayLike, y: ArrayLike, label: str, **look: Any) -> None:
    """Draw a line that is not a measurement: something known, or what anyone could do."""
    ax.plot(x, y, label=label, gid=REFERENCE, **{"zorder": 2.5, **look})


def draw_legend(ax: "Axes", *, tell_traced: bool = False) -> None:
    """Name all curves in the axes, then the references, then what the bands mean.

    With ``tell_traced`` the title says how the curves were made; if they were made in different
    ways, each name does.
    """
    from matplotlib.patches import Patch

    curves = [line for line in ax.lines if _marked(line, CURVE)]
    handles: list[Any] = list(curves)
    labels = [line.get_label() for line in curves]
    traced = [str(line.get_gid()).removeprefix(f"{CURVE} ") for line in curves]
    title = None
    if tell_traced and len(set(traced)) == 1:
        title = f"traced {traced[0]}"
    elif tell_traced:
        labels = [f"{label},\n{how}" for label, how in zip(labels, traced, strict=True)]
    # Several curves may share a reference.
    named = {line.get_label(): line for line in ax.lines[::-1] if _marked(line, REFERENCE)}
    references = list(named.values())[::-1]
    handles += references
    labels += [line.get_label() for line in references]
    for label in dict.fromkeys(c.get_label() for c in ax.collections if _marked(c, BAND)):
        handles.append(Patch(facecolor="0.85", label=label))
        labels.append(label)
    legend(ax, handles, labels=labels, title=title, handlelength=3.2)


def _marked(artist: Any, mark: str) -> bool:
    return (artist.get_gid() or "").startswith(mark)


def check_curves(curves: Any) -> list[Curve]:
    if isinstance(curves, Curve):
        curves = [curves]
    curves = list(curves)
    if not curves:
        raise ValueError("curves is empty; give at least one Curve(name, x, y)")
    for curve in curves:
        if not isinstance(curve, Curve):
            raise TypeError(f"curves must hold Curve(name, x, y), got {type(curve).__name__}")
        shapes = {np.shape(part) for part in curve[1:5] if part is not None}
        if len(shapes) > 1 or len(shapes.pop()) != 1:
            raise ValueError(
                f"the arrays of curve {curve.name!r} must be one-dimensional and of equal length, "
                f"got x {np.shape(curve.x)} and y {np.shape(curve.y)}"
            )
    return curves


def check_bayes(bayes: Any) -> tuple[Floats, Floats] | None:
    if bayes is None:
        return None
    try:
        x, y = (np.asarray(part, dtype=np.float64) for part in bayes)
    except (TypeError, ValueError):
        raise ValueError(
            f"bayes must be a pair of arrays (x, y), got {type(bayes).__name__}"
        ) from None
    if x.ndim != 1 or x.shape != y.shape:
        raise ValueError(
            f"bayes must be two arrays (x, y) of equal length, got {x.shape} and {y.shape}"
        )
    return x, y
