"""``rejo reproduce`` as a user meets it."""

from pathlib import Path

import pytest

from rejo.cli import build_parser
from rejo.cli._files import CommandError
from rejo.study import read_archive, read_rows
from rejo.study.paper import FIGURES

pytest.importorskip("jinja2")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Run in an empty folder, without data."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("REJO_DATA", raising=False)


@pytest.fixture
def small(monkeypatch):
    """Fewer methods and shares: the command is what is tested."""
    figure = FIGURES["syntheticI-svm"]
    for name, value in (
        ("methods", figure.methods[:2]),
        ("beside", ()),
        ("shares", (0.25,)),
    ):
        monkeypatch.setitem(figure.__dict__, name, value)


def run(*options):
    arguments = build_parser().parse_args(["reproduce", *options])
    arguments.run(arguments)


def test_list_names_all_figures(capsys):
    run("--list")
    out = capsys.readouterr().out
    assert all(name in out for name in FIGURES)
    assert list(Path().iterdir()) == []


def test_quick_run_draws_judges_and_goes_on(small, capsys):
    options = ["--figure", "syntheticI-svm", "--quick", "--n-jobs", "1", "-o", "out"]
    run(*options, "--repetitions", "2")
    out = capsys.readouterr().out
    assert "syntheticI-svm: 4 cells computed" in out
    assert 'not significant:  "in overall rejoSVM' in out or "holds" in out
    names = {path.name for path in Path("out").iterdir()}
    assert {"index.html", "syntheticI-svm.png", "syntheticI-svm.svg", "rows"} <= names
    page = Path("out/index.html").read_text("utf-8")
    assert "This is a quick run" in page
    assert "rejo reproduce --quick --figure syntheticI-svm --repetitions 2 --seed 0" in page
    assert str(Path.cwd()) not in page

    run(*options, "--repetitions", "3")
    assert "syntheticI-svm: 2 cells computed" in capsys.readouterr().out
    run(*options)  # 3 again
    assert "syntheticI-svm: 0 cells computed" in capsys.readouterr().out
    [database] = Path("out/rows").rglob("*.sqlite")
    assert {row["repetition"] for row in read_rows(database)} == {0, 1, 2}


def test_figures_without_their_data_are_skipped_with_a_word(capsys):
    run("--figure", "bcct-svm", "--figure", "syntheticIII", "--quick", "-o", "out")
    told = capsys.readouterr()
    assert "bcct-svm is skipped: its table is not in the data folder" in told.err
    assert "bcct-svm is skipped" in Path("out/index.html").read_text("utf-8")
    with pytest.raises(CommandError, match="nothing to show"):
        run("--figure", "bcct-svm", "--quick", "-o", "other")
    assert not Path("other/index.html").exists()


def test_all_rows_are_kept_in_one_file(small):
    run("--figure", "syntheticI-svm", "--quick", "--repetitions", "1", "-o", "out")
    [database] = Path("out/rows").rglob("*.sqlite")
    assert len(read_archive("out/rows.csv.xz")) == len(read_rows(database)) > 0


def test_failed_cells_are_told_and_the_rest_is_drawn(small, capsys, monkeypatch):
    from rejo.study import run as run_study

    def fail(study, database, **options):
        run_study(study, database, **options)
        raise RuntimeError("1 of 4 cells failed")

    monkeypatch.setattr("rejo.study.run", fail)
    run("--figure", "syntheticI-svm", "--quick", "--n-jobs", "1", "-o", "out", "--repetitions", "2")
    assert "1 of 4 cells failed" in capsys.readouterr().err
    assert "some of its fits failed" in Path("out/index.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--figure", "fig3"], "--figure: the paper has no figure 'fig3'"),
        (["-o", "file"], "--output must be a folder: file"),
        (["-o", "page"], "page holds another page"),
        (["--data", "nowhere"], "--data: .*nowhere"),
    ],
)
def test_mistakes_are_reported_before_any_work(options, message):
    Path("file").touch()
    Path("page").mkdir()
    Path("page/index.html").touch()
    with pytest.raises(CommandError, match=message):
        run("--figure", "letter-ah-nn", *options)


@pytest.mark.parametrize(
    "options", [["--repetitions", "0"], ["--seed", "-1"], ["--quick", "--full"]]
)
def test_wrong_usage(options, capsys):
    with pytest.raises(SystemExit):
        run(*options)
    assert "error" in capsys.readouterr().err


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "jinja2", None)
    with pytest.raises(CommandError, match=r'this needs jinja2: pip install "rejo\[report\]"'):
        run("--figure", "SeiLa", "-o", "out")


def test_a_run_that_was_killed_before_its_first_table_goes_on(small, capsys):
    database = Path("out/rows/coarse-seed0/syntheticI-svm.sqlite")
    database.parent.mkdir(parents=True)
    database.touch()
    options = ["--figure", "syntheticI-svm", "--quick", "--n-jobs", "1", "-o", "out"]
    run(*options, "--repetitions", "1")
    assert "syntheticI-svm: 2 cells computed" in capsys.readouterr().out


def test_a_file_that_is_no_study_is_told_in_a_line(small):
    database = Path("out/rows/coarse-seed0/syntheticI-svm.sqlite")
    database.parent.mkdir(parents=True)
    database.write_text("not a database, but some words that are long enough " * 20)
    with pytest.raises(CommandError, match=r"syntheticI-svm.sqlite: is not the file of a study"):
        run("--figure", "syntheticI-svm", "--quick", "-o", "out")


def test_more_repetitions_than_asked_for_are_told(small, capsys):
    options = ["--figure", "syntheticI-svm", "--quick", "--n-jobs", "1", "-o", "out"]
    run(*options, "--repetitions", "2")
    assert "it was started with" not in capsys.readouterr().out
    run(*options, "--repetitions", "1")
    assert (
        "syntheticI-svm: continuing with the 2 repetitions it was started with"
        in capsys.readouterr().out
    )


def test_a_folder_that_cannot_be_written_to_is_named(monkeypatch):
    def refuse(path, *args, **options):
        raise PermissionError(13, "Permission denied")

    Path("out").mkdir()
    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(CommandError, match="cannot write to out: Permission denied"):
        run("--figure", "SeiLa", "--quick", "-o", "out")
