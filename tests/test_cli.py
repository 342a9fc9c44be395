"""The command line as a user meets it: words, files, exit codes."""

import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

import rejo
from rejo import cli
from rejo.datasets import bayes_risk

COMMAND = [sys.executable, "-c", "import sys; from rejo.cli import main; sys.exit(main())"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Run in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(err):
    """What stderr says, but for the note that the extension was not built."""
    return re.sub(r"rejo: warning: rejo runs on its NumPy reference solver.*\n", "", err)


@pytest.fixture
def run(capsys):
    """Run a command; return its exit code, stdout and stderr."""

    def command(*arguments):
        try:
            code = cli.main(arguments)
        except SystemExit as stop:  # argparse: help, version and wrong usage
            code = stop.code
        out, err = capsys.readouterr()
        return code, out, told(err)

    return command


@pytest.fixture
def small(monkeypatch):
    """Make the demo's test sample small."""
    monkeypatch.setattr(cli.demo, "N_TEST", 2000)


def files():
    return sorted(path.name for path in Path.cwd().iterdir())


def row(out, title):
    """Numbers of a row of the table: with the reject option, without it."""
    line = next(line for line in out.splitlines() if line.strip().startswith(title))
    return [float(number) for number in re.findall(r"[\d.]+", line.split(title)[1])]


def test_demo_tells_what_is_decided_and_what_goes_to_review(run):
    code, out, err = run("demo")
    assert code == 0
    assert err == ""
    (decided, forced), (wrong, forced_wrong), (review, no_review) = (
        row(out, title) for title in ("decided at once", "of these, wrong", "sent to review")
    )
    assert decided + review == 1000
    assert (forced, no_review) == (1000, 0)
    assert 150 < review < 450  # the best classifier reviews 276
    assert wrong < forced_wrong / 2

    accuracy, forced_accuracy = row(out, "Right among the decided")
    assert accuracy == pytest.approx(100 * (1 - wrong / decided), abs=0.2)
    assert forced_accuracy == pytest.approx(100 - forced_wrong / 10, abs=0.2)

    risk, forced_risk = row(out, "Mean cost of a case (risk)")
    assert risk == pytest.approx((0.2 * review + wrong) / 1000, abs=1e-3)
    assert forced_risk == pytest.approx(forced_wrong / 1000, abs=1e-3)
    best = bayes_risk("synthetic_1", 0.2)
    assert f"risk below {best:.4f}" in out
    assert best - 0.005 < risk < forced_risk

    ranks = re.findall(r"^\d+ .* (\d+)$", out, flags=re.MULTILINE)
    assert ranks == ["1", "2", "3", "4", "5"]


def test_demo_saves_a_picture(run, small):
    code, out, _ = run("demo")
    assert code == 0
    assert files() == ["reject_region.png"]
    assert out.endswith(": reject_region.png\n")
    image = imread("reject_region.png")
    assert min(image.shape[:2]) > 500
    assert len(np.unique(image.reshape(-1, image.shape[2]), axis=0)) > 100


def test_seed_makes_the_demo_repeatable(run, small):
    first = run("demo", "--seed", "3", "-o", "a.png")[1]
    again = run("demo", "--seed", "3", "-o", "b.png")[1]
    other = run("demo", "--seed", "4", "-o", "c.png")[1]
    assert first.replace("a.png", "b.png") == again
    assert first.replace("a.png", "c.png") != other


def test_a_dearer_review_is_asked_for_less(run, small):
    reviews = [
        row(run("demo", "--force", "--reject-cost", cost)[1], "sent to review")[0]
        for cost in ("0.04", "0.2", "0.5")
    ]
    assert reviews[0] > reviews[1] > reviews[2] == 0


def test_no_review_and_nothing_but_review(run, small):
    assert "no case goes to review" in run("demo", "--reject-cost", "0.5")[1]
    code, out, _ = run("demo", "--reject-cost", "1e-9")
    assert code == 0
    assert row(out, "sent to review")[0] == 1000
    assert re.search(r"Right among the decided +- ", out)


def test_a_picture_is_not_overwritten(run, small, folder):
    (folder / "mine.png").write_text("precious")
    code, out, err = run("demo", "-o", "mine.png")
    assert code == 2
    assert out == ""
    assert err == "rejo: error: mine.png exists; --force replaces it\n"
    assert (folder / "mine.png").read_text() == "precious"

    assert run("demo", "-o", "mine.png", "--force")[0] == 0
    assert imread("mine.png").ndim == 3
    assert files() == ["mine.png"]


def test_the_second_demo_numbers_its_picture(run, small):
    for _ in range(3):
        assert run("demo")[0] == 0
    assert files() == ["reject_region-2.png", "reject_region-3.png", "reject_region.png"]
    run("demo", "--force")
    assert len(files()) == 3


def test_other_formats_by_their_ending(run, small, folder):
    assert run("demo", "-o", "picture.SVG")[0] == 0
    assert "<svg" in (folder / "picture.SVG").read_text()


@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_picture_is_written_whole_or_not_at_all(run, small, folder, monkeypatch, failure):
    def half_written(self, file, **options):
        file.write(b"half")
        raise failure

    (folder / "old.png").write_text("old")
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", half_written)
    code, _, err = run("demo", "-o", "old.png", "--force")
    if isinstance(failure, OSError):
        assert code == 2
        assert err == "rejo: error: cannot write old.png: No space left on device\n"
    else:
        assert code == 130
        assert err == "rejo: interrupted\n"
    assert files() == ["old.png"]
    assert (folder / "old.png").read_text() == "old"


def test_a_picture_appears_by_a_move(run, small, folder, monkeypatch):
    def refuse(source, target):
        raise PermissionError(13, "Permission denied")

    (folder / "old.png").write_text("old")
    monkeypatch.setattr(os, "replace", refuse)
    code, _, err = run("demo", "-o", "old.png", "--force")
    assert (code, err) == (2, "rejo: error: cannot write old.png: Permission denied\n")
    assert files() == ["old.png"]
    assert (folder / "old.png").read_text() == "old"


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("picture.txt", "--output must end in .pdf, .png, .svg: picture.txt"),
        ("missing/picture.png", "the folder of --output does not exist: missing"),
        ("folder.png", "--output is a folder: folder.png"),
    ],
)
def test_a_wrong_output_is_refused_before_any_work(run, folder, monkeypatch, output, message):
    (folder / "folder.png").mkdir()
    monkeypatch.delitem(sys.modules, "rejo.datasets")  # training would import it again
    assert run("demo", "-o", output) == (2, "", f"rejo: error: {message}\n")
    assert "rejo.datasets" not in sys.modules


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "COMMAND"),
        (("dance",), "invalid choice: 'dance'"),
        (("demo", "--reject-cost", "0.6"), "argument --reject-cost: must be a number above 0"),
        (("demo", "--reject-cost", "0"), "argument --reject-cost: must be a number above 0"),
        (("demo", "--reject-cost", "nan"), "argument --reject-cost: must be a number above 0"),
        (("demo", "--reject-cost", "dear"), "argument --reject-cost: must be a number above 0"),
        (("demo", "--seed", "-1"), "argument --seed: must be an integer"),
        (("demo", "--seed", "4294967295"), "argument --seed: must be an integer"),
    ],
)
def test_wrong_usage(run, arguments, message):
    code, out, err = run(*arguments)
    assert code == 2
    assert out == ""
    assert message in err.splitlines()[-1]


def test_without_matplotlib_the_numbers_are_still_printed(run, small, monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    code, out, _ = run("demo")
    assert code == 0
    assert row(out, "sent to review")[0] > 0
    assert 'pip install "rejo[plot]"' in out
    assert files() == []


def test_without_pandas_the_queue_is_left_out(run, small, monkeypatch):
    def review(self, X):
        raise ImportError("review needs pandas")

    monkeypatch.setattr(rejo.RejoSVC, "review", review)
    code, out, _ = run("demo")
    assert code == 0
    assert row(out, "sent to review")[0] > 0
    assert "The review queue is left out: review needs pandas\n" in out
    assert files() == ["reject_region.png"]


def test_interruption(run, monkeypatch):
    def interrupt(arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli.demo, "run", interrupt)
    assert run("demo") == (130, "", "rejo: interrupted\n")


def test_warnings_are_one_line(run, monkeypatch):
    def warn(arguments):
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn("something is odd", stacklevel=1)

    monkeypatch.setattr(cli.demo, "run", warn)
    assert run("demo") == (0, "", "rejo: warning: something is odd\n")


def test_a_reader_who_leaves_early_sees_no_error(folder):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as closed:
        done = subprocess.run(
            [*COMMAND, "demo"], stdout=closed, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, told(done.stderr)) == (0, "")


def test_a_full_disk_is_one_line():
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full on this system")
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*COMMAND, "demo"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 2
    assert told(done.stderr) == "rejo: error: No space left on device\n"


def test_version(run):
    assert run("--version") == (0, f"rejo {rejo.__version__}\n", "")


def test_help_needs_no_heavy_import():
    code = (
        "import sys\n"
        "from rejo.cli import main\n"
        "try:\n    main(['--help'])\n"
        "except SystemExit as stop:\n    assert stop.code == 0\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'pandas', 'matplotlib'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "demo" in done.stdout


def test_compare_prints_the_excess_risks(run, monkeypatch):
    def methods(n_classes, n_features, n_samples):
        return {"ours": rejo.RejoSVC(gamma=2)}, {"ours": {"C": [0.1, 10]}}

    monkeypatch.setattr("rejo.selection.standard_methods", methods)
    code, out, err = run("compare", "--demo", "--repetitions", "2")
    assert (code, err) == (0, "")
    first, second = out.split("\n\n")[:2]
    assert first.startswith("SyntheticI: 400 training points, 2 training sets\n")
    assert second.startswith("SyntheticII: ")
    best = [1000 * bayes_risk("synthetic_1", w) for w in cli.compare.COSTS]
    assert row(first, "(Bayes risk x 1000)") == pytest.approx(best, abs=0.05)
    *excess, mean, ratio, _ = row(first, "ours")
    assert len(excess) == 5
    assert mean == pytest.approx(np.mean(excess), abs=0.1)
    assert ratio == pytest.approx(1 + excess[2] / best[2], abs=0.01)


def test_compare_without_data(run):
    code, out, err = run("compare")
    assert (code, out) == (2, "")
    assert err.startswith("rejo: error: there is no data to compare on: give --demo")
    assert run("compare", "--demo", "--jobs", "0")[0] == 2
