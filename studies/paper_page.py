"""What came out of the paper's experiments: pictures, verdicts, and a page of both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure

from studies import verdicts
from studies.curves import LeakRow, draw_curves, draw_leak
from studies.page import picture, table
from studies.paper import BY_PATIENT, CLAIMS, DATA, RANDOM, SHARES, PaperFigure

TITLE = "The paper, reproduced"
LEAK = "bcct-by-patient"


@dataclass(frozen=True)
class PaperReport:
    """What the page shows."""

    figures: Sequence[PaperFigure]
    canvases: Mapping[str, Figure]  # by file name without ending
    judged: Sequence[verdicts.Verdict]  # on the paper's protocol
    by_loss: Sequence[verdicts.Verdict]  # on ordered classes by the loss that is trained
    by_patient: Sequence[verdicts.Verdict]  # on BCCT split by patient


def make_report(rows: Iterable[Mapping[str, Any]], figures: Sequence[PaperFigure]) -> PaperReport:
    """Draw the figures that have rows, and judge the claims that are about them."""
    index = verdicts.index_rows(rows)
    canvases: dict[str, Figure] = {}
    for figure in figures:
        for split in DATA[figure.dataset].splits:
            if panels := _panels(index, figure, split):
                name = figure.file + "-by-patient" * (split == BY_PATIENT)
                canvases[name] = draw_curves(figure, panels)
    if leak := [row for figure in figures for row in _leak(index, figure)]:
        canvases[LEAK] = draw_leak(leak)
    names = [figure.name for figure in figures]
    claims = [claim for claim in CLAIMS if set(names) & set(claim.figures)]
    risky = [claim for claim in claims if claim.kind != "crossing"]  # which is about no risk
    judged, by_loss, by_patient = (
        [verdicts.judge(claim, verdicts.claim_panels(index, claim, names, *how)) for claim in some]
        for some, how in (
            (claims, (RANDOM,)),
            (risky, (RANDOM, verdicts.ORDINAL_RISK)),
            (claims, (BY_PATIENT,)),
        )
    )
    return PaperReport(
        figures, canvases, judged, [v for v in by_loss if v.trials],
        [v for v in by_patient if v.trials],
    )  # fmt: skip


def page_text(report: PaperReport) -> str:
    """Return the page as Markdown, without a title."""
    parts = []
    if report.judged:
        parts += ["## The claims, tested", RULE, _verdict_table(report.judged, quoted=True)]
    for words, found in (
        ("On ordered classes, by the ordinal loss that is trained:", report.by_loss),
        ("On BCCT, with the rows of a patient kept together:", report.by_patient),
    ):
        parts += [words, _verdict_table(found)] if found else []
    if LEAK in report.canvases:
        parts += [picture(LEAK, "Mean risk on BCCT, split at random and by patient")]
    drawn = [figure for figure in report.figures if figure.file in report.canvases]
    parts += ["## The curves", CURVES] * bool(drawn)
    for figure in drawn:
        parts += [f"### {figure.title}", picture(figure.file, figure.title)]
        if (by_patient := f"{figure.file}-by-patient") in report.canvases:
            parts += [picture(by_patient, f"{figure.title}; split by patient")]
    return "\n\n".join(parts)


RULE = (
    "A test is for a claim or against it if a difference of risks is significant after Holm's "
    "correction, else open. A claim holds if more than half of its tests are for it and none is "
    "against it; it does not hold if none is for it and some are against it, or more than half "
    "are; it is mixed if there are tests for it and against it, and open otherwise."
)
CURVES = (
    "First row: accuracy over rejection rate, as in the paper. Second row: the risk of each method "
    "minus that of the proposed one, on the same repetitions. Third row, with three or more "
    "classes: the risk as a share of what it costs to review everything. rejoLogistic, Chow-SVC, "
    "Chow-MLP and Ordinal-SVC are not in the paper, and the claims are not about them."
)


def _verdict_table(found: Sequence[verdicts.Verdict], quoted: bool = False) -> str:
    rows = [
        [
            f'{v.claim.name}: "{v.claim.quote}"' if quoted else v.claim.name,
            f"**{v.verdict}**",
            *(f"{v.count(kind)}: {v.where(kind)}" if v.count(kind) else "0"
              for kind in (verdicts.HOLDS, verdicts.FAILS)),
            v.count(verdicts.OPEN),
        ]
        for v in found
    ]  # fmt: skip
    return table(["claim", "verdict", "tests for it", "against it", "open"], rows)


def _panels(index: verdicts.Index, figure: PaperFigure, split: str) -> list[verdicts.Panel]:
    methods = (*figure.methods, *figure.beside)
    found = (
        verdicts.make_panel(index, (figure.dataset, split, share), methods) for share in SHARES
    )
    return [panel for panel in found if panel is not None]


def _leak(index: verdicts.Index, figure: PaperFigure) -> list[LeakRow]:
    """Compare the risks of the paper's methods with and without patients in both parts."""
    rows = []
    for share in SHARES:
        panels = [
            verdicts.make_panel(index, (figure.dataset, split, share), figure.methods)
            for split in (RANDOM, BY_PATIENT)
        ]
        if all(panels):
            random, group = (panel.risk for panel in panels if panel is not None)
            for method in (m for m in random if m in group):
                means = float(random[method].mean()), float(group[method].mean())
                rows.append(LeakRow(figure.dataset, share, method, *means))
    return rows
