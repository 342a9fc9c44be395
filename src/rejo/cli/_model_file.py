"""An opened model file: the model, the columns it needs, the rates it expects."""

from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from math import isnan
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from rejo._errors import RejoError
from rejo._io import one_line
from rejo.cli._files import CommandError
from rejo.cli._mixups import check_is_table, model_errors, number_columns
from rejo.cli._options import HIGHEST_PRICE, opening
from rejo.cli._reasons import UNLIKE

FEW = 100  # with fewer independent cases, ranges are wide


class JudgedRows(NamedTuple):
    """What is made of some rows."""

    judgement: Any  # rejo.estimators.base.Judgement; rows in doubt are rejected
    doubts: dict[int, list[Any]]  # by position: why a row is not decided, see rejo.tables.doubts
    X: Any  # the rows, with cells that can be encoded


class Opened(NamedTuple):
    """A model, the columns it needs, and the header of its file."""

    model: Any
    encoder: Any  # with kinds_ and written_
    found: Any  # ModelFile
    table: dict[str, Any]  # columns named in training: target, id, by, groups

    def check(self, X: Any) -> Any:
        """Return the table with cells that can be encoded, and the rows that are in doubt."""
        from rejo.tables.doubts import check_table

        return check_table(X, self.encoder.kinds_, self.encoder.written_, self._learnt)

    @property
    def _learnt(self) -> dict[str, Any]:
        """What is known of the columns; nothing if the model was fitted in Python, on numbers."""
        return getattr(self.encoder, "learnt_", {})

    def group_column(self, given: str | None) -> str | None:
        """Return the column that promises go by: the one ``given``, else that of training."""
        if getattr(self.model, "policy_", None) is None:
            return None
        if (name := given or self.table.get("group")) is None:
            raise CommandError(
                f"{self.found.path} promises by group, but does not say which column has the "
                "groups: give --group"
            )
        return str(name)

    def needing(self, chunks: Any, group: str | None) -> Iterator[Any]:
        """Pass chunks of a table on; if it lacks the column of the groups, say what that is for."""
        from rejo.tables import TableError
        from rejo.tables.errors import shown

        try:
            yield from chunks
        except TableError as error:
            if group is not None and error.problem == f"no column {shown(group)}":
                told = "The model promises by this column; if it has another name here, add --group"
                error.remedy = f"{told} NAME. {error.remedy}"
            raise

    def promised(self, group: Any) -> Any:
        """Groups (n,) as promises name them: small ones may count as one."""
        import numpy as np

        from rejo.selection.group_units import OTHERS

        return np.array([OTHERS if one in self.model.policy_.merged else one for one in group])

    def groups_of(self, column: Any) -> Any:
        """Groups (n,) of a column in the spelling of training; ``None`` where they are missing."""
        from rejo.tables.spelling import same_spelling, spellings_known

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

    def judge(self, X: Any, group: Any = None) -> JudgedRows:
        """Return the judgement of each row of ``X``; rows in doubt go to review."""
        import numpy as np

        from rejo.tables.doubts import Doubt

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

    def _judge(self, X: Any, group: Any) -> Any:
        from rejo.estimators.pipelines import final_step

        last, X = (self.model, X) if hasattr(self.model, "judge") else final_step(self.model, X)
        return last.judge(X) if group is None else last.judge(X, group=group)

    def _judge_some(self, X: Any, rows: Any, group: Any) -> Any:
        """Judge some rows; the others are rejected."""
        import numpy as np

        from rejo.estimators.base import Judgement

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
        from rejo.persistence import ModelFileError

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
        from rejo.estimators.why import WhyError, why

        if not len(rows):
            return {}
        group = None if group is None else group[rows]
        try:
            with self.blamed():
                found = why(self.model, X.iloc[rows], rows=range(len(rows)), group=group)["why"]
        except WhyError as error:
            raise CommandError(f"--why: {error.problem}. `rejo train` writes such models") from None
        return {int(row): one_line(said) for row, said in zip(rows, found, strict=True) if said}

    def novelties(self, X: Any, rows: Any) -> dict[int, str]:
        """Say of some rows, by position, what makes them unlike the training cases."""
        from rejo.estimators.pipelines import final_step

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

    def expect(self, n: int, level: float) -> dict[str, Any]:
        """Expected rates of ``n`` cases, with their ranges; empty if the model has none."""
        from rejo.selection.expected import expect

        if not hasattr(self.model, "rates_"):
            return {}
        R, E = self.model.rates_
        found = expect(R, E, self.model.sizes_, n, level)
        rates = zip(found._fields, found[:3], strict=False)
        return {name: rate for name, rate in rates if not isnan(rate.estimate)}

    @property
    def classes(self) -> list[str]:
        """Classes in their order, lowest first."""
        return [str(label) for label in self.model.classes_.tolist()]

    @property
    def review_label(self) -> str | None:
        """The label of cases that go to review; ``None`` if the model decides every case."""
        from rejo.estimators.pipelines import reject_label_of

        label = reject_label_of(self.model)
        return None if label is None else str(label)

    @property
    def doubt_label(self) -> str:
        """The label of rows in doubt, also of a model that decides every case."""
        label = self.review_label or "review"
        while label in self.classes:
            label += "_"
        return label


def vague(size: float) -> str:
    """Return a sentence if the estimates rest on few cases; else nothing."""
    return "" if size >= FEW else (
        f"The ranges are wide: these rates are as uncertain as from {size:.0f} independent cases, "
        "because there are few cases or because the models of the folds differ."
    )  # fmt: skip


def open_model(arguments: Namespace) -> Opened:
    """Open the model file of a command."""
    from rejo.cli._training import prepare_of
    from rejo.persistence import open_file

    path = arguments.model
    with model_errors(arguments):
        model, found = open_file(path, **opening(arguments))
    check_is_table(arguments)
    encoder = prepare_of(model)
    if encoder is None:  # fitted in Python, on a frame of numbers
        kinds = dict.fromkeys(number_columns(model, path), "number")
        encoder = SimpleNamespace(kinds_=kinds, written_={})
    table = _check_table(found.table or {}, len(model.classes_), path)
    return Opened(model, encoder, found, table)


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


def _check_table(table: dict[str, Any], n_classes: int, path: Path) -> dict[str, Any]:
    """Refuse a header that ``rejo train`` would not write."""
    from rejo.persistence import ModelFileError

    names = [table.get(key) for key in ("target", "id", "by", "groups", "group", "time")]
    fine = all(name is None or isinstance(name, str) for name in names)
    fine = fine and isinstance(table.get("ordered", True), bool)
    lines = table.get("columns_read", [])
    fine = fine and isinstance(lines, list) and all(isinstance(line, str) for line in lines)
    if not (fine and _are_prices(table.get("prices"), n_classes)):
        problem = "the columns or prices in its header are not as rejo train writes them."
        raise ModelFileError(problem, where=str(path))
    return table
