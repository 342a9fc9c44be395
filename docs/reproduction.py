"""Draws the figures of docs/reproduction and writes its page, from the rows that are kept there.

    python docs/reproduction.py

The rows were made by ``rejo reproduce``; ``provenance.json`` beside them says how.
"""

import json
from pathlib import Path

from rejo.study import read_archive
from rejo.study.figures import render
from rejo.study.page import make_report
from rejo.study.panels import ORDINAL_RISK
from rejo.study.paper import choose_figures, label
from rejo.study.verdict import FAILS, HOLDS, OPEN

FOLDER = Path(__file__).parent / "reproduction"
SHOWN_COSTS = ("0.04", "0.12", "0.2", "0.28", "0.36", "0.44")


def main():
    rows = read_archive(FOLDER / "rows.csv.xz")
    report = make_report(rows, choose_figures(None))
    for name, canvas in report.canvases.items():
        (FOLDER / f"{name}.png").write_bytes(render(canvas, "png", dpi=80))
    words = (FOLDER / "words.md").read_text()
    parts = [words.strip(), claims(report), *map(section, report.sections), explained(report)]
    parts.append(made())
    (FOLDER / "index.md").write_text("\n\n".join(filter(None, parts)) + "\n")


def claims(report):
    lines = [
        "## The paper's claims, tested",
        "",
        "| claim | verdict | tests that support it | contradict it | not significant |",
        "|---|---|---|---|---|",
    ]
    for judgement in report.judgements:
        counts = " | ".join(str(judgement.count(v)) for v in (HOLDS, FAILS, OPEN))
        lines.append(f'| "{judgement.claim.quote}" | **{judgement.verdict}** | {counts} |')
    others = {
        "The same claims on ordered classes, by the ordinal loss that is trained:": report.by_loss,
        "The same claims on BCCT with the rows of a patient kept together:": report.by_patient,
    }
    head = lines[2:4]
    for title, judgements in others.items():
        if judgements:
            lines += ["", title, "", *head]
        for judgement in judgements:
            counts = " | ".join(str(judgement.count(v)) for v in (HOLDS, FAILS, OPEN))
            lines.append(f'| "{judgement.claim.quote}" | {judgement.verdict} | {counts} |')
    if report.leak:
        lines += ["", "BCCT split at random and by patient:", "", "![bcct-leak](bcct-leak.png)"]
    return "\n".join(lines)


def section(item):
    caption = item.figure.caption
    said = f"The paper: *{caption}*" if caption else "Not shown in the paper."
    lines = [f"## {item.figure.title}", "", said]
    for block in item.blocks:
        if len(item.blocks) > 1:
            lines += ["", f"### {block.title[0].upper()}{block.title[1:]}"]
        for name in block.canvases:
            lines += ["", f"![{name}]({name}.png)"]
        largest = max(table.share for table in block.tables)
        for table in block.tables:
            if table.share == largest:
                lines += risks(table, label(item.figure.methods[0]))
        lines += ["", "Tests behind the verdicts:", ""]
        for claim, trial in block.trials:
            lines.append(f"- *{claim.name}*, {trial.share:.0%}: {trial.verdict}. {trial.numbers}.")
    return "\n".join(lines)


def risks(table, reference):
    shown = [i for i, cost in enumerate(table.costs) if cost in SHOWN_COSTS]
    measure = "ordinal loss" if table.measure == ORDINAL_RISK else "risk"
    lines = [
        "",
        f"Mean {measure} with {table.share:.0%} of the data for training; ▲ and ▼: significantly "
        f"above and below {reference}.",
        "",
        "| method | " + " | ".join(f"{table.costs[i]}" for i in shown) + " |",
        "|---|" + "---|" * len(shown),
    ]
    if table.bayes is not None:
        lines.append("| *best possible* | " + cells(table.bayes[i] for i in shown))
    for method, values in table.rows:
        marked = (f"{values[i][0]}{values[i][1]}" for i in shown)
        lines.append(f"| {method} | " + cells(marked))
    return lines


def explained(report):
    lines = ["## The explanatory figures, from real fits"]
    for item in report.explanations:
        name = item.figure.name
        lines += ["", f"![{name}]({name}.png)", "", f"{item.figure.title}. {item.note}"]
    return "\n".join(lines)


def made():
    facts = json.loads((FOLDER / "provenance.json").read_text())
    lines = ["## How it was made", "", *(f"- {name}: {value}" for name, value in facts.items())]
    lines.append(
        "\nAll rows are in `rows.csv.xz`; `python docs/reproduction.py` makes this page from it."
    )
    return "\n".join(lines)


def cells(values):
    return " | ".join(values) + " |"


if __name__ == "__main__":
    main()
