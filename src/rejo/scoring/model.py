"""A model that is ready to judge the rows of tables: the columns it needs, the rates it expects."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from math import isnan
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from rejo._errors import RejoError, Setting, Text
from rejo._io import one_line
from rejo.estimators import (
    NO_PRICE,
    Judgement,
    final_classifier,
    final_step,
    judge,
    reject_label_of,
)
from rejo.persistence import ModelFile, ModelFileError
from rejo.prices import HIGHEST, price_columns, price_matrix
from rejo.scoring.cases import Cases
from rejo.tables import (
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
UNLIKE = "unlike the training cases"


class Opened:
    """A model, the columns it needs, and the header of its file, ``found``.

    ``encoder`` says which columns are read and how: ``kinds_`` and ``written_``; ``table`` has the
    columns that were named in training: target, id, by, groups.
    """

    accepted: Collection[str] = ()  # columns that are right though they are not as in training

    def __init__(self, model: Any, found: ModelFile) -> None:
        self.model, self.found = model, found
        self.encoder = encoder_of(model)
        decider = model if hasattr(model, "judge") else final_classifier(model)
        self.priced = list(getattr(decider, "price_columns_", ()))  # columns that prices depend on
        self._features = None
        if self.encoder is None:  # fitted in Python, on a frame of numbers
            self._features = _number_columns(model, found.path)
            kinds = dict.fromkeys([*self._features, *self.priced], "number")
            self.encoder = SimpleNamespace(kinds_=kinds, written_={}, learnt_={})
        if lacking := [n for n in self.priced if self.encoder.kinds_.get(n) != "number"]:
            raise ModelFileError(
                f"its prices depend on {lacking[0]!r:.60}, which its encoder does not read as a "
                "number",
                where=str(found.path),
                remedy="Fit it with TableEncoder(prices=...), or use `rejo train`.",
            )
        self.table = _check_table(found.table or {}, self.classes, self.priced, found.path)

    # ---- columns that are not as in training --------------------------------------------------

    def watch(self) -> Watch | None:
        """Return what compares the columns of a table with training; None if nothing is known."""
        return self.encoder.watch() if self.encoder.learnt_ else None

    def watch_files(
        self, pieces: Sequence[RowGroup], group: str | None = None, **reading: Any
    ) -> list[Finding]:
        """Return the columns of many files that are not as in training, by some of their rows."""
        if not self.encoder.learnt_:
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
        time, first, changed = self.encoder.reading_["time"], None, np.zeros(len(X), dtype=bool)
        for value in self.encoder.typical(column):
            part = X.copy()
            if self.encoder.kinds_[column] == "date":  # an age
                value = part[time] - np.timedelta64(round(value), "D")
            part[column] = value
            with self.blamed():
                judged = self._judge(part, group)
            found = np.array([judged.decision, judged.forced])
            first = found if first is None else first
            changed |= (found != first).any(axis=0)
        return bool(changed.sum() >= MATTERS * len(X) > 0)

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
                remedy=Text("Give ", Setting("group"), "."),
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

    def _unknown(self, group: Any) -> list[str | None]:
        """Return the groups that training did not have, once for each case."""
        names = set() if group is None else set(self.model.policy_.names)
        return [] if group is None else [name for name in group.tolist() if name not in names]

    # ---- judging -----------------------------------------------------------------------------

    def judge(self, X: Any, group: Any = None) -> Cases:
        """Judge each row of ``X``; rows in doubt go to review."""
        encoder = self.encoder
        X, doubts = check_table(X, encoder.kinds_, encoder.written_, encoder.learnt_)
        if self.accepted:
            kept = {
                row: [d for d in said if d.column not in self.accepted or d.why not in ACCEPTED]
                for row, said in doubts.items()
            }
            doubts = {row: said for row, said in kept.items() if said}
        with self.blamed():
            try:
                found = self._judge(X, group)
            except (ValueError, TypeError):
                gaps = X.isna()
                if encoder.learnt_ or not gaps.any(axis=None):
                    raise
                # It was fitted in Python, and refuses gaps: a guess, if there were no reviews.
                for row in np.flatnonzero(gaps.any(axis=1)).tolist():
                    lacks = X.columns[gaps.iloc[row]]
                    doubts.setdefault(row, [Doubt("missing", str(name)) for name in lacks])
                X = X.fillna(X.median()).fillna(0.0)
                found = self._judge(X, group)
        if self.priced and found.worth is not None:
            # The worth of cases of all parts of a table is compared: it needs a scale for all, on
            # which large amounts differ, too.
            worth = np.nan_to_num(found.worth)
            scale = np.log1p(2 * HIGHEST)  # of an error, and of a mistake of the reviewer
            found = found._replace(
                sureness=1.0 - np.copysign(np.log1p(np.abs(worth)), worth) / scale
            )
        if found.kind is not None:
            for row in np.flatnonzero(found.kind == NO_PRICE).tolist():
                doubts.setdefault(row, self._unpriced(X.iloc[row]))
        for row in np.flatnonzero(np.isnan(found.distance)).tolist():
            doubts.setdefault(row, [Doubt("unscored")])
        return Cases.of(found, doubts, X=X, group=group, unknown=self._unknown(group))

    def _judge(self, X: Any, group: Any) -> Judgement:
        features = X if self._features is None else X[self._features]
        return judge(self.model, features, group=group, prices=X if self.priced else None)

    def _unpriced(self, row: Any) -> list[Doubt]:
        """Say why a case has no price: a cell is missing, or its formulas give none."""
        values = {name: float(row[name]) for name in self.priced}
        gaps = [Doubt("missing", name) for name, value in values.items() if np.isnan(value)]
        return gaps or [Doubt("unpriced", name, f"{value:g}") for name, value in values.items()]

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

    def why(
        self, X: Any, rows: Any, group: Any = None, words: Mapping[str, Sequence[str]] | None = None
    ) -> dict[int, str]:
        """Say of some rows, by position, which features pull to either side, or to the decision."""
        from rejo.explain import why

        if not len(rows):
            return {}
        group = None if group is None else group[rows]
        with self.blamed():
            found = why(self.model, X.iloc[rows], rows=range(len(rows)), group=group, words=words)[
                "why"
            ]
        return {int(row): one_line(said) for row, said in zip(rows, found, strict=True) if said}

    def novelties(self, X: Any, rows: Any) -> dict[int, str]:
        """Say of some rows, by position, what makes them unlike the training cases."""
        if not len(rows):
            return {}
        X = X.iloc[rows]
        last, Z = final_step(self.model, X)
        if not self.encoder.learnt_ or not hasattr(last, "novel_features"):
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
            about = {"spread": model.costs_.spread}
            rates["mean_cost"] = expect_cost(model.shares_, model.prices_, cost, n, level, **about)
        return {name: rate for name, rate in rates.items() if not isnan(rate.estimate)}

    @cached_property
    def classes(self) -> list[str]:
        """Classes in their order, lowest first."""
        return [str(label) for label in self.model.classes_.tolist()]

    @cached_property
    def knows_worth(self) -> bool:
        """Whether the model says what a review is worth."""
        first = self.model if hasattr(self.model, "judge") else final_classifier(self.model)
        return bool(first.decides_by_posteriors)

    @cached_property
    def doubt_label(self) -> str:
        """The label of cases that go to review, also of a model that decides every case."""
        label = reject_label_of(self.model)
        return review_label(self.classes, "review" if label is None else str(label))


def review_label(classes: Collection[str], label: str = "review") -> str:
    """Return the label of cases that go to review, which is not a class."""
    while label in classes:
        label += "_"
    return label


# ---- header --------------------------------------------------------------------------------


def _check_table(
    table: dict[str, Any], classes: list[str], priced: list[str], path: Path
) -> dict[str, Any]:
    """Refuse a header that ``rejo train`` would not write."""
    names = [table.get(key) for key in ("target", "id", "by", "groups", "group", "time")]
    lines, same = table.get("columns_read", []), table.get("same", {})
    fine = (
        all(name is None or isinstance(name, str) for name in names)
        and isinstance(table.get("ordered", True), bool)
        and isinstance(lines, list)
        and isinstance(same, dict)
        and all(isinstance(text, str) for text in [*lines, *same.values()])
        and is_reading(table.get("reading", {}))
        and _are_prices(table.get("prices"), classes, priced)
    )
    if not fine:
        problem = "the columns or prices in its header are not as rejo train writes them."
        raise ModelFileError(problem, where=str(path))
    return table


def _are_prices(prices: Any, classes: list[str], priced: list[str]) -> bool:
    """Return whether they are as ``rejo train`` writes them.

    They are a price for each true class and outcome, or formulas of the columns ``priced``.
    """
    n_classes = len(classes)
    if prices is None:
        return True
    if isinstance(prices, dict):
        try:
            price_matrix(prices, classes, columns={name: [1.0] for name in priced})
            return bool(price_columns(prices))
        except RejoError:
            return False
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


def _number_columns(model: Any, path: Path) -> list[str]:
    """Return the columns of a model without a table encoder, which must all be numbers."""
    names = getattr(model, "feature_names_in_", None)
    if any(
        isinstance(value, str)
        for part in _parts(model)
        for values in getattr(part, "categories_", ())
        for value in values.tolist()
    ):
        problem = "was fitted on words by an encoder that does not say how a table is read"
    elif names is None:
        problem = (
            "does not say which columns it needs, because it was fitted on an array without names"
        )
    else:
        return list(map(str, names))
    raise RejoError(
        f"{path} {problem}: fit it in Python as make_pipeline(rejo.tables.TableEncoder(), ...) on "
        "a DataFrame and save it again, or use `rejo train`"
    )


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
