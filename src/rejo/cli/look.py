"""``rejo look``: what a table holds, before training."""

import argparse
import shlex
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from rejo._errors import RejoError
from rejo._io import one_line, percent, without_password
from rejo.cli import _options as options
from rejo.cli._cases import about_order, check_amounts, not_priced, price_roles
from rejo.cli._class_names import MAX_LABEL, in_order, order_classes, read_classes, spelling
from rejo.cli._column_lines import describe_columns, remarks_on
from rejo.cli._column_lines import say as say_remark
from rejo.cli._files import CommandError, print_json
from rejo.cli._model_file import check_is_table

HELP = "show what a table holds, before training"
DESCRIPTION = (
    "Show how the columns of a table are read, their gaps, the classes, columns that give the "
    "class away, identical rows, and rows that belong together; then suggest a rejo train command."
)
NAMES = ("target", "class", "label", "y", "outcome", "result", "grade", "diagnosis", "decision",
         "churn", "default", "response", "status", "category", "quality")  # fmt: skip
MOST_CLASSES = 20
SHOWN = 10  # columns with gaps, classes


class Overview(NamedTuple):
    """What was found, and which options follow from it."""

    arguments: argparse.Namespace
    table: Any  # as it was read
    facts: dict[str, Any]  # for JSON
    lines: list[str]
    advice: dict[str, list[str]]  # options of rejo train, and their values

    def say(self, *lines: str) -> None:
        """Add lines, each on a single line and indented as it is."""
        for line in lines:
            self.lines.append(" " * (len(line) - len(line.lstrip(" "))) + one_line(line))

    def groups(self, frame: Any) -> Any:
        """Return which rows belong together; None if nobody said so."""
        name = self.arguments.groups
        return None if name is None else frame[name].astype(str)


def add(parser: Any) -> None:
    """Declare the options."""
    options.add(parser, *options.LABELLED)
    costs = "prices to train for: their columns are checked, and stand in the command"
    options.add(parser, "--costs", help=costs)
    options.add_reading(parser)
    options.add(parser, "--json")


def run(arguments: argparse.Namespace) -> None:
    """Read, look, tell."""
    from rejo.tables import TableError, check_columns, read_table

    named = [getattr(arguments, name) for name in ("target", "id", "by", "groups")]
    text = list(dict.fromkeys(name for name in named if name is not None))
    if arguments.target is not None and arguments.target in named[1:]:
        raise CommandError("--target must not be the column of --id, --by or --groups")
    check_is_table(arguments)
    table = read_table(arguments.data, text=text, **options.reading(arguments))
    if arguments.keep:
        table.reading["keep"] = arguments.keep
    check_columns(table.path, arguments.drop, table.frame.columns, "drop")
    if not len(table.frame):
        raise TableError("the table has no rows", where=table.path)
    found = _look(arguments, table, text)
    command = "" if found.facts.get("refused") else _command(found)
    if arguments.json:
        print_json(found.facts | {"command": command})
        return
    print("\n".join(found.lines))
    if command:
        print(f"\nTo train:\n  {command}")


def _look(arguments: argparse.Namespace, table: Any, text: list[str]) -> Overview:
    frame, y = table.frame, None
    n, p = frame.shape
    facts: dict[str, Any] = {"path": table.path, "n_rows": n, "n_columns": p}
    found = Overview(arguments, table, facts, [], {})
    found.say(f"{table.path}: {n:,} rows, {p:,} columns.")
    if table.skipped:
        found.say(f"{table.skipped[0].upper()}{table.skipped[1:]}.")
    if arguments.target is not None:
        frame, y = _classes(found)
    prices = price_roles(arguments, frame.columns, table.path)
    X = frame.drop(columns=[*text, *not_priced(arguments.drop, prices)])
    check_amounts(table, X, prices, arguments)
    kinds, left_out = _columns(found, X, prices)
    _gaps(found, X)
    ids = _ids(found, X, kinds, left_out)
    if y is None:
        _candidates(found, frame)
    _rows(found, X[[name for name in kinds if name not in ids]], y, frame)
    if y is not None and not facts["refused"]:
        _leaks(found, X[list(kinds)], y, frame)
    return found


def _classes(found: Overview) -> tuple[Any, Any]:
    arguments, table, facts = found.arguments, found.table, found.facts
    column = table.frame[arguments.target]
    known, y, notes = read_classes(column, table.path, decimal=table.decimal, **spelling(arguments))
    counts = Counter(y.tolist())
    facts["target"], facts["n_without_class"] = arguments.target, int((~known).sum())
    facts["classes"] = {label: counts[label] for label in in_order(counts)}
    try:
        order_classes(counts, arguments.order, f"{table.path}, column {arguments.target!r}")
        facts["refused"] = None
    except RejoError as error:
        facts["refused"] = error.problem
    shown = [f"{_cut(label)} ({n:,})" for label, n in list(facts["classes"].items())[:SHOWN]]
    more = f" and {len(counts) - SHOWN:,} more" if len(counts) > SHOWN else ""
    found.say(f"Classes of {arguments.target}: {', '.join(shown)}{more}.", *notes)
    if len(counts) > 2 and not facts["refused"] and arguments.order is None:
        found.say(about_order(list(facts["classes"])))
    if facts["refused"]:
        found.say(f"rejo train would refuse them: {facts['refused']}.")
    return table.frame[known], y


def _cut(label: str) -> str:
    return label if len(label) <= MAX_LABEL else f"{label[:40]}..."


def _columns(
    found: Overview, X: Any, prices: dict[str, bool]
) -> tuple[dict[str, str], dict[str, str]]:
    from rejo.tables import TableEncoder, TableError

    table = found.table
    encoder = TableEncoder(written=table.written, reading=table.reading, prices=prices)
    try:
        encoder.fit(X)
        kinds, left_out = encoder.features_, encoder.left_out_
        time = encoder.reading_["time"]
    except TableError:  # no column is of use
        kinds, left_out, time = {}, dict.fromkeys(X.columns, "of no use"), None
    remarks = remarks_on(X, table, left_out)
    found.say(*describe_columns(kinds, left_out, time, prices))
    found.say(*(say_remark(r) for r in remarks if r.about != "gaps"))  # those have a line
    found.facts.update(columns=kinds, left_out=left_out, price_columns=prices)
    found.facts["remarks"] = [
        {"about": r.about, "column": r.column, "text": r.line()} for r in remarks
    ]
    if codes := [r.value for r in remarks if r.about == "code"]:
        found.advice["--missing"] = list(dict.fromkeys(codes))
    if drop := [r.column for r in remarks if r.about == "id"]:
        found.advice["--drop"] = drop
    return kinds, left_out


def _gaps(found: Overview, X: Any) -> None:
    gaps = X.isna().mean().sort_values(ascending=False, kind="stable")
    gaps = gaps[gaps > 0]
    found.facts["gaps"] = {name: float(share) for name, share in gaps.items()}
    shown = [f"{name} {percent(share)}" for name, share in gaps.head(SHOWN).items()]
    more = f" and {len(gaps) - SHOWN:,} more columns" if len(gaps) > SHOWN else ""
    found.say(f"Gaps: {', '.join(shown) or 'none'}{more}.")


def _ids(found: Overview, X: Any, kinds: dict[str, str], left_out: dict[str, str]) -> list[str]:
    """Tell of columns that name the cases, that say what belongs together, and of twins."""
    from rejo.tables import overview as relations

    facts, advice = found.facts, found.advice
    codes = relations.level_codes(X)
    like = [r["column"] for r in facts["remarks"] if r["about"] == "id"]
    ids = [name for name in X if relations.names_the_cases(name, X[name], codes[name])]
    groups = [name for name in X if relations.groups_rows(name, X[name], codes[name])]
    used = {name: codes[name] for name in kinds if name not in like}
    twins = relations.twins(used, X)
    facts |= {"ids": ids, "groups": groups}
    facts["twins"] = [{"columns": names, "equal": equal} for names, equal in twins]
    rows = [name for name, why in left_out.items() if why == "row numbers"]
    for name in ids:
        found.say(
            f"{name}: a different word in each row; --id {shlex.quote(name)} keeps it beside the "
            "decisions."
        )
    if names := [*ids, *like, *rows]:
        advice["--id"] = names[:1]
        advice["--drop"] = [name for name in advice.get("--drop", []) if name != names[0]]
    for name in groups:
        n_groups = int(codes[name].max()) + 1
        found.say(
            f"{name}: {n_groups:,} values in {len(X):,} rows. If these are persons or things with "
            f"several rows each, keep them together: --groups {shlex.quote(name)}."
        )
        advice.setdefault("--groups", [name])
    for names, equal in twins:
        same = "are equal" if equal else "say the same in other words"
        found.say(f"{' and '.join(names[:4])} {same}; one of them is enough.")
    return [*ids, *like, *groups]


def _candidates(found: Overview, frame: Any) -> None:
    few = {}
    for place, name in enumerate(frame.columns):
        n_levels = frame[name].nunique()
        if 2 <= n_levels <= MOST_CLASSES and frame[name].dtype.kind != "M":
            called = any(word in NAMES for word in name.lower().replace("_", " ").split())
            last = place == frame.shape[1] - 1
            few[name] = (-called, -last, n_levels, -place)
    best = sorted(few, key=lambda name: few[name])[:3]
    found.facts["target_candidates"] = best
    if best:
        names = " or ".join(map(shlex.quote, best))
        found.say(f"Which column has the classes? Give it: --target {names}.")
        found.advice["--target"] = best[:1]
    else:
        found.say(f"No column has 2 to {MOST_CLASSES} values, as classes have.")


def _rows(found: Overview, features: Any, y: Any, frame: Any) -> None:
    import numpy as np

    from rejo.selection import repeated_share
    from rejo.tables import overview as relations

    codes = relations.level_codes(features)
    y = None if y is None else np.unique(y, return_inverse=True)[1]
    repeats = relations.count_repeats(codes, y)
    found.facts["identical_rows"] = repeats._asdict()
    if not repeats.n_rows:
        found.say("Identical rows: none.")
        return
    line = f"Identical rows: {repeats.n_rows:,} ({percent(repeats.n_rows / len(features))})"
    if repeats.n_other_class:
        line += f", {repeats.n_other_class:,} of them with different classes"
    found.say(f"{line}.")
    shape = np.column_stack(list(codes.values())).astype(np.float64)
    classes = np.zeros(len(features), dtype=np.intp) if y is None else y
    found.facts["copies"] = share = repeated_share(shape, classes, found.groups(frame))
    if share:
        found.say(
            "There are more of these than chance explains. If they are copies, remove them; if "
            "they are rows of the same person or thing, name its column with --groups."
        )


def _leaks(found: Overview, X: Any, y: Any, frame: Any) -> None:
    from rejo.cli._column_lines import suspicion
    from rejo.selection import find_leaks

    leaks = find_leaks(X, y, groups=found.groups(frame))
    found.facts["alone"] = [leak._asdict() for leak in leaks.columns]
    found.facts["leaks"] = [leak.column for leak in leaks.suspects]
    if leaks.suspects:
        found.say(*map(suspicion, leaks.suspects))
        found.advice["--drop"] = [*found.advice.get("--drop", []), *found.facts["leaks"]]
    elif leaks.columns:
        best = leaks.columns[0]
        found.say(
            f"Leaks: no column alone predicts the class almost perfectly (the best is "
            f"{best.column}, {percent(best.accuracy)} right, each class counted the same)."
        )
    if leaks.columns and leaks.n_rows < len(y):
        found.say(f"Each column was tried on {leaks.n_rows:,} rows, drawn at random.")


def _command(overview: Overview) -> str:
    """Return a command for training; empty if there is nothing to train on."""
    arguments, table, advice = overview.arguments, overview.table, overview.advice
    found: dict[str, list[str]] = {}
    for option in (*options.LABELLED[1:], *options.READING):
        given = getattr(arguments, option[2:])
        if isinstance(given, dict):
            given = [f"{other}={meant}" for other, meant in given.items()]
        values = given if isinstance(given, list) else [given] if given not in (None, False) else []
        extra = advice.get(option, [])
        if option in ("--drop", "--missing"):
            found[option] = [*values, *(name for name in extra if name not in values)]
        else:
            found[option] = values or extra
    named = {name for option in ("--target", "--id", "--by", "--groups") for name in found[option]}
    found["--drop"] = [x for x in found["--drop"] if x not in named and "," not in x]
    if not found["--target"]:
        return ""
    words = ["rejo", "train", without_password(str(arguments.data))]
    for option, values in found.items():
        if values == [True]:
            words.append(option)
        elif values:
            joined = ",".join(map(str, values))
            words += [f"{option}={joined}"] if joined.startswith("-") else [option, joined]
    stem = Path(table.path).name.partition(".")[0] or "model"
    target = ["--review-budget", "0.1"]
    if arguments.costs is not None:
        costs = arguments.costs.items()
        given = (f"{n}={x if isinstance(x, str) else f'{x:.12g}'}" for n, x in costs)
        target = ["--costs", ",".join(given)]
    return shlex.join([*words, *target, "-o", f"{stem}.rejo"])
