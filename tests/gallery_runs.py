"""Run the gallery, ``examples/plot_*.py``, as scripts and as notebooks (``make gallery``).

``python -m tests.gallery_runs [NAME ...]`` runs each example twice in processes of their own: as
Python runs it, and as the notebook that the site offers. It prints the time of each, and fails with
the names of those that raise an error, show a warning, or draw nothing. ``--figures FOLDER`` keeps
the figures of the scripts, to look at them.
"""

import argparse
import json
import os
import runpy
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
FORMS = ("script", "notebook")
LONGEST = 120.0  # seconds of a run, after which it has failed
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
# No window opens; a notebook shows figures below its cells.
BACKENDS = {"script": "agg", "notebook": "module://matplotlib_inline.backend_inline"}


class Run(NamedTuple):
    """What became of an example in one of its forms."""

    name: str
    form: str
    seconds: float
    problem: str  # empty if there is none


def find(names=()):
    """Return the paths of the examples, or of those with these names."""
    paths = sorted(EXAMPLES.glob("plot_*.py"))
    wanted = {Path(name).stem for name in names}
    unknown = wanted - {path.stem for path in paths}
    if unknown:
        sys.exit(f"There is no example {', '.join(sorted(unknown))} in {EXAMPLES}.")
    return [path for path in paths if not wanted or path.stem in wanted]


def run(path, form, figures=None, timeout=LONGEST):
    """Run one example in a process of its own, in an empty folder."""
    command = [sys.executable, "-m", "tests.gallery_runs", "--inside", form, str(path)]
    if figures is not None:
        command += ["--figures", str(Path(figures).absolute())]
    start = monotonic()
    with TemporaryDirectory() as folder:
        surroundings = os.environ | ONE_THREAD
        surroundings |= {"MPLBACKEND": BACKENDS[form], "PYTHONPATH": str(ROOT)}
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                env=surroundings,
                capture_output=True,
                text=True,
                timeout=timeout,
            )
        except subprocess.TimeoutExpired:
            problem = f"still running after {timeout:g} s"
        else:
            problem = done.stderr if done.returncode or "Warning" in done.stderr else ""
    return Run(path.stem, form, monotonic() - start, problem)


def run_script(path, figures=None):
    """Run an example as a script, require a figure, and draw all of them."""
    import matplotlib.pyplot as plt

    runpy.run_path(str(path), run_name="__main__")
    if not plt.get_fignums():
        sys.exit("No figure was drawn.")
    folder = Path("." if figures is None else figures)  # the present one is temporary
    folder.mkdir(parents=True, exist_ok=True)
    for number in plt.get_fignums():
        plt.figure(number).savefig(folder / f"{path.stem}_{number}.png")


def run_notebook(path):
    """Convert an example as sphinx-gallery does for the site, run all cells, require a figure."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.reads(json.dumps(to_notebook(path)), as_version=4)
    # How long it may take in all, with the start of the kernel, is up to :func:`run`.
    NotebookClient(notebook, kernel_name="python3", startup_timeout=3600).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    for output in outputs:
        if output.get("name") == "stderr":
            sys.stderr.write(output["text"])
    if not any("image/png" in output.get("data", {}) for output in outputs):
        sys.exit("No figure was drawn.")


def to_notebook(path):
    """Return the notebook of an example, as a dict."""
    from sphinx_gallery.gen_gallery import DEFAULT_GALLERY_CONF
    from sphinx_gallery.notebook import jupyter_notebook
    from sphinx_gallery.py_source_parser import split_code_and_text_blocks

    _, blocks = split_code_and_text_blocks(str(path))
    return jupyter_notebook(blocks, dict(DEFAULT_GALLERY_CONF), str(path.parent))


def report(runs):
    """Print the time of each example, the total, and what went wrong; return the exit code."""
    failed = []
    for done in runs:
        print(f"{done.name:32} {done.form:9} {done.seconds:6.1f} s", end="", flush=True)
        print("  FAILED" if done.problem else "")
        if done.problem:
            failed.append(done)
    for done in failed:
        print(f"\n--- {done.name}, as a {done.form} ---\n{done.problem.rstrip()}")
    if failed:
        print("\nFailed:", ", ".join(sorted({f"{done.name} ({done.form})" for done in failed})))
    return 1 if failed else 0


def main():
    """Run the examples that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="such as plot_credit_prices")
    parser.add_argument("--form", choices=FORMS, help="only as this")
    parser.add_argument("--figures", metavar="FOLDER", help="keep the figures of the scripts here")
    parser.add_argument("--jobs", type=int, default=2, help="runs at the same time (default: 2)")
    parser.add_argument(
        "--timeout", type=float, default=LONGEST, help="seconds of a run (default: %(default)g)"
    )
    parser.add_argument("--inside", choices=FORMS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inside == "script":
        return run_script(Path(given.names[0]), given.figures)
    if given.inside == "notebook":
        return run_notebook(Path(given.names[0]))
    forms = FORMS if given.form is None else (given.form,)
    more = given.figures, given.timeout
    todo = [(path, form, *more) for path in find(given.names) for form in forms]
    start = monotonic()
    with ThreadPoolExecutor(given.jobs) as pool:
        code = report(pool.map(lambda each: run(*each), todo))
    print(f"{len(todo)} runs in {monotonic() - start:.0f} s")
    return code


if __name__ == "__main__":
    sys.exit(main())
