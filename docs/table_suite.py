"""Draws the pictures of docs/table_suite and writes its page, from the rows that are kept there.

    python docs/table_suite.py [FOLDER]

The rows were made by ``rejo reproduce --suite tables -o FOLDER``: with a folder, its rows,
``plan.json`` and ``provenance.json`` are copied first.
"""

import json
import shutil
import sys
from pathlib import Path

from rejo.study import read_archive
from rejo.study.figures import render
from rejo.study.suite import TableSuite
from rejo.study.suite.findings import about_tests, p_words
from rejo.study.suite.suite_page import DUEL_WORDS, TUNING_WORDS, make_suite_report

FOLDER = Path(__file__).parent / "table_suite"


def main():
    for source in sys.argv[1:]:
        for name in ("rows.csv.xz", "plan.json", "provenance.json"):
            shutil.copyfile(Path(source) / name, FOLDER / name)
    plan = TableSuite(**json.loads((FOLDER / "plan.json").read_text()))
    report = make_suite_report(read_archive(FOLDER / "rows.csv.xz", TableSuite), plan)
    for name, canvas in report.canvases.items():
        (FOLDER / f"{name}.png").write_bytes(render(canvas, "png", dpi=80))
    words = (FOLDER / "words.md").read_text()
    parts = [words.strip(), answers(report), *(section(report, r) for r in report.rankings)]
    parts += [duels(report), costs(), tables(report), failures(report), made()]
    (FOLDER / "index.md").write_text("\n\n".join(filter(None, parts)) + "\n")


def answers(report):
    lines = ["## The answers in short", "", *(f"- {sentence}" for sentence in report.said)]
    return "\n".join(lines)


def section(report, ranking):
    reference = ranking.reference
    lines = [
        f"## {ranking.title}: {len(ranking.methods)} methods, {len(ranking.tables)} tables",
        "",
        f"![mean ranks](ranks-{ranking.name}.png)",
        "",
        about_tests(ranking),
        "",
        "Cost: mean over the tables. Over the best: cost minus that of the best method of each "
        "table. Both in percent of reviewing everything. p: signed-rank test against "
        f"{reference}, after Holm. Won, tied, lost: tables, against {reference}, by the corrected "
        "resampled t-test over the splits. Seconds: tuning, fits and predictions for all reject "
        "costs, median over the tables.",
        "",
        "| method | mean rank | cost | over the best: mean | median | worst | p | won | tied | "
        "lost | s | times the fastest |",
        "|---|" + "---:|" * 11,
    ]
    for line in ranking.lines:
        tests = " | ".join(map(str, (p_value(line.p_value), *line.against)))
        tests = " |  |  | " if line.method == reference else tests
        lines.append(
            f"| {line.method} | {line.mean_rank:.2f} | {hundredths(line.cost)} | "
            f"{hundredths(line.excess)} | {hundredths(line.middle_excess)} | "
            f"{hundredths(line.worst_excess)} | {tests} | {line.seconds:.2f} | "
            f"{line.slowness:.0f} |"
        )
    for name, (cost, excess) in report.baselines(ranking).items():
        lines.append(f"| *{name}* |  | {hundredths(cost)} | {hundredths(excess)} |" + "  |" * 8)
    lines += ["", TUNING_WORDS]
    for note in ranking.notes:
        lines += ["", note]
    lines += [
        "",
        f"![cost over the best](excess-{ranking.name}.png)",
        "",
        f"![mean ranks by other measures](measures-{ranking.name}.png)",
    ]
    return "\n".join(lines)


def duels(report):
    if not report.duels:
        return ""
    lines = [
        "## Data replication against the same kind of classifier",
        "",
        DUEL_WORDS,
        "",
        "| data replication | rival | grid points | tables | cheaper on | rival costs more by | "
        "p | won | tied | lost |",
        "|---|---|" + "---:|" * 8,
    ]
    lines += [
        f"| {duel.learner} | {duel.rival} | {duel.n_points[0]}, {duel.n_points[1]} | "
        f"{duel.n_tables} | {duel.cheaper} | "
        f"{100 * duel.difference:+.1f} % | {p_value(duel.p_value)} | {duel.tallied.wins} | "
        f"{duel.tallied.ties} | {duel.tallied.losses} |"
        for duel in report.duels
    ]
    return "\n".join(lines)


def costs():
    return "## All costs\n\n![cost of every method on every table](costs.png)"


def tables(report):
    lines = [
        "## The tables",
        "",
        "| table | classes | rows | columns | for training | for testing |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for entry in report.tables:
        kind = f"{entry.n_classes}, {entry.role}" if entry.n_classes > 2 else "2"
        kind += ", in groups" * entry.groups
        train, test = report.sizes[entry.name]
        lines.append(
            f"| {entry.name} | {kind} | {entry.n_rows:,} | {entry.n_features} | {train} | {test} |"
        )
    if report.missing:
        lines += ["", f"Not run: {', '.join(entry.name for entry in report.missing)}."]
    return "\n".join(lines)


def failures(report):
    found = report.lacking
    if not found:
        return (
            "## What failed or is missing\n\nNothing: every method was fitted on every split of "
            "every table above that it takes."
        )
    lines = [
        "## What failed or is missing",
        "",
        "| table | method | splits | reason |",
        "|---|---|---:|---|",
    ]
    lines += [f"| {f.dataset} | {f.method} | {f.n_splits} | {f.problem} |" for f in found]
    return "\n".join(lines)


def made():
    facts = json.loads((FOLDER / "provenance.json").read_text())
    lines = ["## How it was made", "", *(f"- {name}: {value}" for name, value in facts.items())]
    lines.append(
        "\nAll rows are in `rows.csv.xz`; `python docs/table_suite.py` makes this page from it."
    )
    return "\n".join(lines)


def hundredths(value):
    return f"{100 * value:.1f}"


def p_value(value):
    return p_words(value).removeprefix("p ").removeprefix("= ")


if __name__ == "__main__":
    main()
