"""Pages and the command: what they say, show and refuse; and which doors the studies use."""

import ast
import json
from pathlib import Path

import pytest

import studies
from studies import page, paper_page, suite_page
from studies.__main__ import main
from studies.paper import PaperStudy, choose_figures
from studies.store import read_archive
from studies.verify import kept_plans
from studies.verify import main as verify
from tests.studies.made_up import paper_rows, suite_rows

ROOT = Path(studies.__file__).parents[1]
SVMS = ("rejoSVM/poly", "SVM-1C/poly", "SVM-2C/poly", "Fumera/poly")


def test_studies_use_public_doors_only():
    rooms = {path.parent.name for path in (ROOT / "src/rejo").glob("*/__init__.py")}
    for path in (ROOT / "studies").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [a.name for a in getattr(node, "names", [])]
            if isinstance(node, ast.Import):
                modules, names = names, []
            else:
                modules = [node.module] if isinstance(node, ast.ImportFrom) else []
            for module in modules:
                room, *inside = module.split(".")[1:] or [""]
                if module.split(".")[0] == "rejo":
                    assert not room.startswith("_"), (path, module)
                    assert not (inside and room in rooms), (path, module)
                    assert not any(name.startswith("_") for name in names), (path, module)


def test_the_page_of_the_paper():
    figures = choose_figures(["10", "14"])
    rows = paper_rows("syntheticI", dict(zip(SVMS, (0, 0.05, 0.05, 0.05), strict=True)))
    for split in ("random", "group"):
        rows += paper_rows("bcct-binary", dict.fromkeys(SVMS, 0), split=split)
    report = paper_page.make_report(rows, figures)
    files = {"figure-10", "figure-14", "figure-14-by-patient", "bcct-by-patient"}
    assert set(report.canvases) == files
    assert report.judged[0].verdict == "open"
    text = paper_page.page_text(report)
    assert all(f"({name}.png)" in text for name in files)
    assert "| 3: SyntheticI 3 | 0 | 3 |" in text
    assert "### Figure 10: The A-R curves for the syntheticI dataset (SVM methods only)" in text
    assert "nothing" not in paper_page.page_text(paper_page.make_report([], figures))


def test_the_page_of_the_suite():
    plan, rows = suite_rows(excess={"logistic": 0.05})
    report = suite_page.make_report(rows, plan)
    kinds = ("all", "two-classes", "ordered")
    files = {"costs", *(f"{what}-{k}" for what in ("ranks", "measures") for k in kinds)}
    assert set(report.canvases) == files
    text = suite_page.page_text(report)
    assert all(f"({name}.png)" in text for name in files)
    assert any("Places of data replication" in sentence for sentence in report.said)


def test_markdown_becomes_one_page_with_its_pictures_inside():
    text = page.table(["a", "b"], [["<b>", "`x` 1"]]) + "\n\n" + page.picture("one", "A & B")
    html = page.to_html("T & T", f"- first\n- *second*\n\n{text}", {"one": b"\x89PNG"})
    assert "<h1>T &amp; T</h1>" in html
    assert "&lt;b&gt;" in html
    assert 'src="data:image/png;base64,' in html
    assert ".png" not in html
    assert "<script" not in html


def test_a_guide_keeps_its_words_and_drops_old_pictures(tmp_path):
    from matplotlib.figure import Figure

    (tmp_path / "index.md").write_text(f"# Words\n\n{page.MARK}\n\nold\n")
    (tmp_path / "provenance.json").write_text(json.dumps({"Machine": "one"}))
    (tmp_path / "old.png").write_bytes(b"")
    page.write_guide(tmp_path, "new", {"fine": Figure(figsize=(1, 1))})
    text = (tmp_path / "index.md").read_text()
    assert text.startswith("# Words\n\n<!--")
    assert "old" not in text
    assert "\n\nnew\n\n" in text
    assert "- Machine: one" in text
    assert [path.name for path in tmp_path.glob("*.png")] == ["fine.png"]


def test_the_command_runs_draws_and_goes_on(tmp_path, capsys):
    words = ["reproduce", "--figure", "11", "--repetitions", "1", "--n-jobs", "1"]
    assert main([*words, "-o", str(tmp_path)]) == 0
    assert "9 cells computed, 36 rows" in capsys.readouterr().out
    assert (tmp_path / "index.html").stat().st_size > 20_000
    assert (tmp_path / "figure-11.png").exists()
    assert len(read_archive(tmp_path / "rows.csv.xz", PaperStudy)) == 36
    assert main([*words, "-o", str(tmp_path)]) == 0
    assert "0 cells computed" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        ["reproduce", "--figure", "20"],
        ["suite", "--data", "no such folder"],
        ["reproduce", "--figure", "16"],  # its table is not there
        ["download"],
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(tmp_path, capsys, monkeypatch, words):
    monkeypatch.delenv("REJO_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    assert capsys.readouterr().err.startswith("studies: ")


def test_kept_rows_are_read_and_recomputed(capsys):
    """The whole of the paper needs no table for synthetic data: a few of those cells here."""
    plan, kind, folder = kept_plans()["paper"]
    rows = read_archive(folder / "rows.csv.xz", plan)
    assert len(rows) == 298_800
    rows = [r for r in rows if r["dataset"] == "syntheticI" and r["share"] == 0.05]
    from argparse import Namespace

    from studies.verify import compare

    options = Namespace(seed=1, n_jobs=1, data=None)
    assert compare(plan, kind, rows, 6, options) == ([], 6)
    rows[0]["risk"] += 1e-12
    cell = [
        r
        for r in rows
        if kind(*(r[f] for f in kind._fields)) == kind(*(rows[0][f] for f in kind._fields))
    ]
    wrong, _ = compare(plan, kind, cell, 1, options)
    assert "risk" in wrong[0]
    assert verify([]) == 0


@pytest.mark.check
@pytest.mark.parametrize("name", ["paper", "suite"])
def test_the_guide_is_what_its_rows_give(name):
    plan, _, folder = kept_plans()[name]
    rows = read_archive(folder / "rows.csv.xz", plan)
    if name == "paper":
        text = paper_page.page_text(paper_page.make_report(rows, choose_figures()))
    else:
        text = suite_page.page_text(suite_page.make_report(rows, plan))
    made = (folder / "index.md").read_text("utf-8")
    assert f"{page.MARK}\n\n{text}\n\n## How it was made" in made
