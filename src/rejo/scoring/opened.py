"""A model that is ready to judge the rows of tables: the columns it needs, the rates it expects."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from math import isnan
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from rejo._errors import RejoError
from rejo._io import one_line
from rejo.estimators import Judgement, final_step, reject_label_of
from rejo.persistence import ModelFile, ModelFileError, open_file
from rejo.scoring.reasons import UNLIKE
from rejo.tables import (
    Checked,
    Doubt,
    Finding,
    RowGroup,
    TableEncoder,
    Watch,
    check_table,
    is_reading,
    same_spelling,
    spellings_known,
    watch_files,
)

HIGHEST_PRICE = 1e9  # that of the report
ACCEPTED = ("outside", "unseen", "missing")  # doubts about cells of columns that are accepted
SOME = 500  # rows of a table that show whether a column matters
MATTERS = 0.01  # share of the decisions that change with a column: below, it hardly matters


class JudgedRows(NamedTuple):
    """What is made of some rows."""

    judgement: Judgement  # rows in doubt are rejected
    doubts: dict[int, list[Doubt]]  # by position: why a row is not decided
    X: Any  # the rows, with cells that can be encoded


class Opened:
    """A model, the columns it needs, and the header of its file.

    Attributes
    ----------
    model : RejectClassifier or Pipeline
    found : ModelFile
        Header of the file.
    encoder : TableEncoder
        It says which columns are read and how: ``kinds_`` and ``written_``.
    table : dict
        Columns named in training: target, id, by, groups.
    accepted : collection of str
        Columns that are right though they are not as in training.
    """

    accepted: Collection[str] = ()

    def __init__(self, model: Any, found: ModelFile) -> None:
        self.model, self.found = model, found
        self.encoder = encoder_of(model)
        if self.encoder is None:  # fitted in Python, on a frame of numbers
            kinds = dict.fromkeys(number_columns(model, found.path), "number")
            self.encoder = SimpleNamespace(kinds_=kinds, written_={})
        self.table = _check_table(found.table or {}, len(model.classes_), found.path)

    def check(self, X: Any) -> Checked:
        """Return the table with cells that can be encoded, and the rows that are in doubt."""
        found = check_table(X, self.encoder.kinds_, self.encoder.written_, self._learnt)
        if self.accepted:
            for row, doubts in list(found.doubts.items()):
                kept = [d for d in doubts if d.column not in self.accepted or d.why not in ACCEPTED]
                found.doubts[row] = kept
                if not kept:
                    del found.doubts[row]
        return found

    @property
    def _learnt(self) -> dict[str, Any]:
        """What is known of the columns; nothing if the model was fitted in Python, on numbers."""
        return getattr(self.encoder, "learnt_", {})

    # ---- columns that are not as in training --------------------------------------------------

    def watch(self) -> Watch | None:
        """Return what compares the columns of a table with training; None if nothing is known."""
        return self.encoder.watch() if self._learnt else None

    def compare(self, X: Any) -> tuple[Finding, ...]:
        """Return the columns of a table, with cells that can be encoded, not as in training."""
        if (watch := self.watch()) is None:
            return ()
        self.encoder.add_rows(watch, X)
        return tuple(watch.findings())

    def watch_files(
        self, pieces: Sequence[RowGroup], group: str | None = None, **reading: Any
    ) -> list[Finding]:
        """Return the columns of many files that are not as in training, by some of their rows."""
        if not self._learnt:
            return []
        text = [] if group is None else [group]
        found, some = watch_files(pieces, self.encoder, text=text, **reading)
        if not found:
            return []
        groups = None if group is None else self.groups_of(some[group])[:SOME]
        return self.weigh(found, some[list(self.encoder.kinds_)][:SOME], groups)

    def weigh(self, found: Iterable[Finding], X: Any, group: Any = None) -> list[Finding]:
        """Say of columns that are at fault whether they matter; those accepted do not."""
        return [
            one._replace(
                matters=one.column not in self.accepted
                and one.degree == "fault"
                and self.matters(one.column, X, group)
            )
            for one in found
        ]

    def matters(self, column: str, X: Any, group: Any = None) -> bool:
        """Return whether decisions on some rows change with the usual values of a column."""
        found = []
        time = self.encoder.reading_["time"]
        for value in self.encoder.typical(column):
            part = X.copy()
            if self.encoder.kinds_[column] == "date":  # an age
                value = part[time] - np.timedelta64(round(value), "D")
            part[column] = value
            with self.blamed():
                found.append(self._judge(part, group))
        changed = np.zeros(len(X), dtype=bool)
        for one in found[1:]:
            changed |= (one.decision != found[0].decision) | (one.forced != found[0].forced)
        return bool(changed.mean() >= MATTERS) if len(X) else False

    # ---- groups to promise by ----------------------------------------------------------------

    def group_column(self, given: str | None = None) -> str | None:
        """Return the column that promises go by: the one ``given``, else that of training."""
        if getattr(self.model, "policy_", None) is None:
            return None
        if (name := given or self.table.get("group")) is None:
            raise RejoError(
                f"{self.found.path} promises by group, but does not say which column has the "
                "groups",
                parameter="group",
                remedy="Give group.",
            )
        return str(name)

    def groups_of(self, column: Any) -> Any:
        """Groups (n,) of a column in the spelling of training; ``None`` where they are missing."""
        names = list(map(str, self.model.policy_.names))
        spelled = spellings_known(names)

        def known(word: str) -> str:
            return word if word in names else spelled.get(same_spelling(word), word)

        words = {word: known(word) for word in column.dropna().unique().tolist()}
        found = column.map(words, na_action="ignore").astype(object)
        return found.where(column.notna(), None).to_numpy()

    def unknown_groups(self, group: Any) -> list[str | None]:
        """Return the groups that training did not have, once for each case."""
        if group is None:
            return []
        names = set(self.model.policy_.names)
        return [name for name in group.tolist() if name not in names]

    # ---- judging -----------------------------------------------------------------------------

    def judge(self, X: Any, group: Any = None) -> JudgedRows:
        """Return the judgement of each row of ``X``; rows in doubt go to review."""
        X, doubts = self.check(X)
        with self.blamed():
            try:
                judgement = self._judge(X, group)
            except (ValueError, TypeError):
                gaps = X.isna().to_numpy()
                if self._learnt or not gaps.any():  # or it was fitted in Python, and refuses gaps
                    raise
                judgement = self._judge_some(X, np.flatnonzero(~gaps.any(axis=1)), group)
                for row in np.flatnonzero(gaps.any(axis=1)).tolist():
                    lacks = [str(X.columns[i]) for i in np.flatnonzero(gaps[row])]
                    doubts.setdefault(row, [Doubt("missing", name) for name in lacks])
        for row in np.flatnonzero(np.isnan(judgement.distance)).tolist():
            doubts.setdefault(row, [Doubt("unscored")])
        judgement.decision[list(doubts)] = -1
        return JudgedRows(judgement, doubts, X)

    def _judge(self, X: Any, group: Any) -> Judgement:
        last, X = (self.model, X) if hasattr(self.model, "judge") else final_step(self.model, X)
        found: Judgement = last.judge(X) if group is None else last.judge(X, group=group)
        return found

    def _judge_some(self, X: Any, rows: Any, group: Any) -> Judgement:
        n, K = len(X), len(self.model.classes_)
        index = np.zeros(n, dtype=np.intp)
        unknown = np.full(n, np.nan)
        whole = Judgement(index - 1, index, index, index + K - 1, unknown, unknown)
        if not len(rows):
            return whole
        found = self._judge(X.iloc[rows], None if group is None else group[rows])
        for name, some in found._asdict().items():
            if some is not None:
                values = getattr(whole, name)
                blank = 0 if some.dtype.kind == "i" else np.nan
                values = np.full(n, blank, some.dtype) if values is None else values.copy()
                values[rows] = some
                whole = whole._replace(**{name: values})
        return whole

    @contextmanager
    def blamed(self) -> Iterator[None]:
        """Let the file take the blame for an error of the model on cases that were read well."""
        try:
            yield
        except RejoError:
            raise
        except (
            ValueError, TypeError, ArithmeticError, LookupError, AttributeError, MemoryError
        ) as error:  # fmt: skip
            kind, reason = type(error).__name__, one_line(str(error))[:200]
            problem = f"the model cannot decide these cases ({kind}: {reason})"
            raise ModelFileError(problem, where=str(self.found.path)) from error

    def why(self, X: Any, rows: Any, group: Any = None) -> dict[int, str]:
        """Say of some rows, by position, which features pull to either side."""
        from rejo.explain import why

        if not len(rows):
            return {}
        group = None if group is None else group[rows]
        with self.blamed():
            found = why(self.model, X.iloc[rows], rows=range(len(rows)), group=group)["why"]
        return {int(row): one_line(said) for row, said in zip(rows, found, strict=True) if said}

    def novelties(self, X: Any, rows: Any) -> dict[int, str]:
        """Say of some rows, by position, what makes them unlike the training cases."""
        if not len(rows):
            return {}
        X = X.iloc[rows]
        last, Z = final_step(self.model, X)
        if not self._learnt or not hasattr(last, "novel_features"):
            return dict.fromkeys(map(int, rows), UNLIKE)
        with self.blamed():
            strange = last.novel_features(Z)
        cells = X.to_dict("records")
        said = ("; ".join(self.encoder.describe(*one)) for one in zip(strange, cells, strict=True))
        return {int(row): one_line(text) or UNLIKE for row, text in zip(rows, said, strict=True)}

    # ---- what is known of the model ----------------------------------------------------------

    def expect(self, n: int, level: float) -> dict[str, Any]:
        """Expected rates, and cost, of ``n`` cases with their ranges; empty if there are none."""
        from rejo.selection import expect, expect_cost

        model = self.model
        if not hasattr(model, "rates_"):
            return {}
        R, E = model.rates_
        found = expect(R, E, model.sizes_, n, level)
        rates = dict(zip(found._fields, found[:3], strict=False))
        if model.costs_ is not None:
            cost = model.costs_.chosen
            rates["mean_cost"] = expect_cost(model.shares_, model.prices_, cost, n, level)
        return {name: rate for name, rate in rates.items() if not isnan(rate.estimate)}

    @cached_property
    def classes(self) -> list[str]:
        """Classes in their order, lowest first."""
        return [str(label) for label in self.model.classes_.tolist()]

    @cached_property
    def review_label(self) -> str | None:
        """The label of cases that go to review; ``None`` if the model decides every case."""
        label = reject_label_of(self.model)
        return None if label is None else str(label)

    @cached_property
    def doubt_label(self) -> str:
        """The label of rows in doubt, also of a model that decides every case."""
        label = self.review_label or "review"
        while label in self.classes:
            label += "_"
        return label


def open_scorer(
    path: Path, *, trusted: Collection[str] = (), max_bytes: int | None = None
) -> Opened:
    """Open a model file; the options are those of :func:`rejo.persistence.open_file`."""
    limit = {} if max_bytes is None else {"max_bytes": max_bytes}
    return Opened(*open_file(path, trusted=trusted, **limit))


# ---- header --------------------------------------------------------------------------------


def _check_table(table: dict[str, Any], n_classes: int, path: Path) -> dict[str, Any]:
    """Refuse a header that ``rejo train`` would not write."""
    names = [table.get(key) for key in ("target", "id", "by", "groups", "group", "time")]
    fine = all(name is None or isinstance(name, str) for name in names)
    fine = fine and isinstance(table.get("ordered", True), bool)
    lines = table.get("columns_read", [])
    fine = fine and isinstance(lines, list) and all(isinstance(line, str) for line in lines)
    same = table.get("same", {})
    fine = (
        fine and isinstance(same, dict) and all(isinstance(meant, str) for meant in same.values())
    )
    fine = fine and is_reading(table.get("reading", {}))
    if not (fine and _are_prices(table.get("prices"), n_classes)):
        problem = "the columns or prices in its header are not as rejo train writes them."
        raise ModelFileError(problem, where=str(path))
    return table


def _are_prices(prices: Any, n_classes: int) -> bool:
    """Return whether they are a price for each true class and outcome, as ``rejo train`` writes."""
    if prices is None:
        return True
    if not (isinstance(prices, list) and len(prices) == n_classes):
        return False
    rows = [row for row in prices if isinstance(row, list) and len(row) == n_classes + 1]
    numbers = [price for row in rows for price in row if type(price) in (int, float)]
    right = len(numbers) == n_classes * (n_classes + 1)
    return right and all(0 <= price <= HIGHEST_PRICE for price in numbers)


def encoder_of(model: Any) -> Any:
    """Return the table encoder of a model; ``None`` if it has none."""
    while hasattr(model, "best_estimator_"):
        model = model.best_estimator_
    first = model.steps[0][1] if hasattr(model, "steps") else None
    return first if isinstance(first, TableEncoder) else None


def number_columns(model: Any, path: Path) -> list[str]:
    """Return the columns of a model without a table encoder, which must all be numbers."""
    remedy = (
        "fit it in Python as make_pipeline(rejo.tables.TableEncoder(), ...) on a DataFrame and "
        "save it again, or use `rejo train`"
    )
    if (words := word_columns(model)) is not None:
        columns = f" in {', '.join(map(repr, words[:5]))}" if words else ""
        raise RejoError(
            f"{path} was fitted on words{columns} by an encoder that does not say how a table is "
            f"read: {remedy}"
        )
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        raise RejoError(
            f"{path} does not say which columns it needs, because it was fitted on an array "
            f"without names: {remedy}"
        )
    return list(map(str, names))


def word_columns(model: Any) -> list[str] | None:
    """Return the columns that encoders inside a fitted model take words from; None without any.

    The list is empty if they have no names.
    """
    found: list[str] = []
    any_words = False
    for part in _parts(model):
        names = getattr(part, "feature_names_in_", ())
        for j, values in enumerate(getattr(part, "categories_", ())):
            if any(isinstance(value, str) for value in values.tolist()):
                any_words = True
                found += [str(names[j])] if j < len(names) else []
    return found if any_words else None


def _parts(model: Any) -> Iterator[Any]:
    """The model and all fitted parts of it."""
    yield model
    parts = [step for _, step in getattr(model, "steps", ())]
    parts += [entry[1] for entry in getattr(model, "transformers_", ())]
    names = ("best_estimator_", "estimator_", "transformer_")
    parts += [getattr(model, name) for name in names if hasattr(model, name)]
    for part in parts:
        if not isinstance(part, str):  # "drop" or "passthrough"
            yield from _parts(part)
