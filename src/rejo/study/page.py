"""One self-contained page with the figures, the risks and the verdicts.

``make_report`` reads rows and draws; ``make_page`` puts the result into the template ``page.html``,
with the pictures inside. The page loads nothing from elsewhere and has no script.
"""

from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rejo.study.explain import crossing_frequency, explain
from rejo.study.figures import (
    LeakRow,
    accuracy_reject_figure,
    both_risks_figure,
    leak_figure,
    risk_difference_figure,
)
from rejo.study.panels import ORDINAL_RISK, RISK, Cells, Key, Panel, index_rows, make_panel
from rejo.study.paper import CLAIMS, DATA, FIGURES, Claim, PaperFigure, label
from rejo.study.self_contained import environment
from rejo.study.verdict import FAILS, HOLDS, OPEN, UNTESTED, Trial, Verdict, contrasts, judge

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIGNS = {HOLDS: "✓", FAILS: "✗", OPEN: "~", UNTESTED: "·"}
STYLES = {HOLDS: "holds", FAILS: "fails", OPEN: "open", UNTESTED: "untested"}  # classes of CSS
SPLIT_TITLES = {"random": "rows split at random, as in the paper", "group": "split by patient"}
N_PATIENTS, ROWS_OF_A_PATIENT = 120, 8

NOTES = {
    "SeiLa": "The paper's sketch, with a sample and fits in place of drawings. The grey zone on "
    "the left is the true one, known because the sample comes from two known clouds.",
    "proposedModel": "The paper's toy example of the replication for ordered classes, with the "
    "plane that a linear support vector machine finds.",
    "proposedRejectModel": "The same with a reject region: both copies ask the same question, at "
    "different costs.",
    "syntheticI": "Between the two edges the class is random. The text of the paper says 100 "
    "points, its caption 200.",
    "syntheticIII": "Grey: transitions between neighbouring classes.",
}


class RiskTable(NamedTuple):
    """Mean risks of one panel."""

    measure: str
    share: float
    costs: list[str]
    bayes: list[str] | None
    rows: list[tuple[str, list[tuple[str, str, bool]]]]  # method: risk, mark, whether the least


class SplitBlock(NamedTuple):
    """A figure of curves for one way to split the data."""

    split: str
    title: str
    canvases: dict[str, "Figure"]  # file name without ending -> picture
    tables: list[RiskTable]
    trials: list[tuple[Claim, Trial]]


class Section(NamedTuple):
    """A figure of the paper with its results."""

    figure: PaperFigure
    blocks: list[SplitBlock]


class Explanation(NamedTuple):
    """An explanatory figure."""

    figure: PaperFigure
    canvas: "Figure"
    note: str


class StudyReport(NamedTuple):
    """What the page shows."""

    explanations: list[Explanation]
    sections: list[Section]
    judgements: list[Verdict]  # on the paper's protocol
    by_patient: list[Verdict]  # the same claims on BCCT split by patient
    by_loss: list[Verdict]  # the same claims on ordered classes by the loss that is trained
    leak: list[LeakRow]  # what splitting rows at random adds to the results on BCCT

    @property
    def canvases(self) -> dict[str, "Figure"]:
        """All pictures, by file name without ending."""
        found = {item.figure.name: item.canvas for item in self.explanations}
        for section in self.sections:
            for block in section.blocks:
                found.update(block.canvases)
        if self.leak:
            found["bcct-leak"] = leak_figure(self.leak)
        return found


def make_report(rows: Iterable[Mapping[str, Any]], figures: Sequence[PaperFigure]) -> StudyReport:
    """Draw these figures and judge the claims that are about them.

    Parameters
    ----------
    rows : iterable of dict
        Rows of the study, as ``rejo.study.read_rows`` gives them.
    figures : sequence of PaperFigure
        Figures without rows are skipped.
    """
    indexed = index_rows(rows)
    explanations = [
        Explanation(figure, explain(figure.name), _note(figure.name))
        for figure in figures
        if not figure.dataset
    ]
    names = {figure.name for figure in figures}
    claims = [claim for claim in CLAIMS if names & set(claim.figures)]
    verdicts = {
        split: [judge(claim, _claim_panels(indexed, claim, names, split)) for claim in claims]
        for split in SPLIT_TITLES
    }
    sections = [
        Section(figure, blocks)
        for figure in figures
        if figure.dataset and (blocks := _blocks(indexed, figure, verdicts))
    ]
    leak = [row for figure in figures for row in _leak(indexed, figure)]
    by_patient = [verdict for verdict in verdicts["group"] if verdict.trials]
    by_loss = [
        judge(claim, _claim_panels(indexed, claim, names, "random", ORDINAL_RISK))
        for claim in claims
        if claim.kind != "crossing"  # which is about no risk
    ]
    by_loss = [verdict for verdict in by_loss if verdict.trials]
    return StudyReport(explanations, sections, verdicts["random"], by_patient, by_loss, leak)


def make_page(
    report: StudyReport,
    pictures: Mapping[str, bytes],
    provenance: Mapping[str, str],
    notices: Sequence[str] = (),
) -> str:
    """Return the page.

    Parameters
    ----------
    report : StudyReport
    pictures : dict of {name: SVG or PNG file}
        The pictures of ``report.canvases``.
    provenance : dict of {what: value}
        How the results were computed; shown at the end.
    notices : sequence of str, default=()
        Sentences for the top of the page, for example which data were missing.
    """
    template_set = environment(pictures)
    template_set.filters |= {"percent": lambda share: f"{100 * share:.0f} %", "label": label}
    template_set.globals |= {
        "copies": copies_in_training,
        "patients": patients_in_training,
        "sign": SIGNS.__getitem__,
        "verdict_class": STYLES.__getitem__,
        "verdicts": (HOLDS, FAILS, OPEN),
        "data": DATA,
        "split_titles": SPLIT_TITLES,
    }
    template = template_set.from_string((files("rejo.study") / "page.html").read_text("utf-8"))
    return template.render(report=report, provenance=provenance, notices=notices)


def copies_in_training(share: float) -> float:
    """Chance that a random training set of BCCT has another row of a given row's patient."""
    return 1 - (1 - share) ** (ROWS_OF_A_PATIENT - 1)


def patients_in_training(share: float) -> float:
    """Mean number of BCCT patients in a random training set of rows."""
    return N_PATIENTS * (1 - (1 - share) ** ROWS_OF_A_PATIENT)


def risk_table(panel: Panel, reference: str) -> RiskTable:
    """Tabulate mean risks; ▲ and ▼: significantly above and below the reference."""
    means = {method: risk.mean(axis=0) for method, risk in panel.risk.items()}
    least = np.min(list(means.values()), axis=0)
    marks = dict.fromkeys(panel.methods, [""] * len(panel.costs))
    if reference in panel.methods:
        others = [(reference, method) for method in panel.methods if method != reference]
        for contrast in contrasts(panel, others):
            marks[contrast.rival] = [("", "▲", "▼")[test.sign] for test in contrast.at_costs]
    rows = []
    for method, risks in means.items():
        cells = zip(map(_risk, risks), marks[method], (risks == least).tolist(), strict=True)
        rows.append((label(method), list(cells)))
    best = None if panel.bayes is None else [_risk(value) for value in panel.bayes[2]]
    return RiskTable(panel.measure, panel.share, [f"{w:g}" for w in panel.costs], best, rows)


def _blocks(
    indexed: Mapping[Key, Cells], figure: PaperFigure, verdicts: Mapping[str, list[Verdict]]
) -> list[SplitBlock]:
    blocks = []
    for split in DATA[figure.dataset].splits:
        panels = _panels(indexed, figure, split)
        if not panels:
            continue
        file = figure.name if split == "random" else f"{figure.name}-by-patient"
        canvases = {
            file: accuracy_reject_figure(figure, panels),
            f"{file}-risk": risk_difference_figure(figure, panels),
        }
        tables = [risk_table(panel, figure.methods[0]) for panel in panels]
        if DATA[figure.dataset].n_classes > 2:
            ordinal = _panels(indexed, figure, split, ORDINAL_RISK)
            canvases[f"{file}-both"] = both_risks_figure(figure, panels, ordinal)
            tables += [risk_table(panel, figure.methods[0]) for panel in ordinal]
        trials = [
            (judgement.claim, trial)
            for judgement in verdicts[split]
            if figure.name in judgement.claim.figures
            for trial in judgement.trials
            if trial.dataset == figure.dataset and set(trial.methods) & set(figure.methods)
        ]
        blocks.append(SplitBlock(split, SPLIT_TITLES[split], canvases, tables, trials))
    return blocks


def _panels(
    indexed: Mapping[Key, Cells], figure: PaperFigure, split: str, measure: str = RISK
) -> list[Panel]:
    methods = (*figure.methods, *figure.beside)
    found = (make_panel(indexed, figure.dataset, split, s, methods, measure) for s in figure.shares)
    return [panel for panel in found if panel is not None]


def _claim_panels(
    indexed: Mapping[Key, Cells], claim: Claim, names: set[str], split: str, measure: str = RISK
) -> list[Panel]:
    """Return the panels of the chosen figures that a claim is about, with all its methods.

    Only ordered classes have an ordinal loss of their own.
    """
    datasets = {FIGURES[name].dataset for name in names & set(claim.figures)}
    if measure == ORDINAL_RISK:
        datasets = {dataset for dataset in datasets if DATA[dataset].n_classes > 2}
    keys = sorted(
        (key for key in indexed if key[1] == split and key[0] in datasets),
        key=lambda key: (list(DATA).index(key[0]), key[2]),
    )
    found = (make_panel(indexed, *key, claim.methods, measure) for key in keys)
    return [panel for panel in found if panel is not None]


def _leak(indexed: Mapping[Key, Cells], figure: PaperFigure) -> list[LeakRow]:
    """Compare the risks of the paper's methods with and without patients in both parts."""
    if not figure.dataset or "group" not in DATA[figure.dataset].splits:
        return []
    rows = []
    for share in figure.shares:
        random, group = (
            make_panel(indexed, figure.dataset, split, share, figure.methods)
            for split in ("random", "group")
        )
        if random is not None and group is not None:
            for method in (m for m in random.methods if m in group.methods):
                means = (float(panel.risk[method].mean()) for panel in (random, group))
                rows.append(LeakRow(figure.dataset, share, method, *means))
    return rows


def _note(name: str) -> str:
    if name != "SeiLa2":
        return NOTES[name]
    crossed, as_much = crossing_frequency()
    return (
        "Both sides have the same points and costs. The sample was chosen because it shows the "
        f"crossing well: of samples drawn in the same way, {crossed:.0%} cross where points fall, "
        f"and {as_much:.0%} cross as much as this one. The claims below say how often boundaries "
        "cross in the study."
    )


def _risk(value: float) -> str:
    return f"{value:.4f}".removeprefix("0")
