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
from rejo.cli._options import HIGHEST_PRICE, opening

FEW = 100  # with fewer independent cases, ranges are wide
TABLES = (".csv", ".tsv", ".txt", ".gz", ".parquet", ".pq", ".html", ".htm")


class Judged(NamedTuple):
    """What is made of some rows."""

    judgement: Any  # rejo.estimators.base.Judgement; rows in doubt are rejected
    doubts: dict[int, list[Any]]  # by position: why a row is not decided, see rejo.tables.doubts


class Opened(NamedTuple):
    """A model, the columns it needs, and the header of its file."""

    model: Any
    encoder: Any  # with kinds_ and written_
    found: Any  # ModelFile
    table: dict[str, Any]  # columns named in training: target, id, by, groups

    def check(self, X: Any) -> Any:
        """Return the table with cells that can be encoded, and the rows that are in doubt."""
        from rejo.tables.doubts import check_table

        learnt = getattr(self.encoder, "learnt_", {})
        return check_table(X, self.encoder.kinds_, self.encoder.written_, learnt)

    def judge(self, X: Any) -> Judged:
        """Return the judgement of each row of ``X``; rows in doubt go to review."""
        from rejo.estimators.pipelines import final_step

        checked = self.check(X)
        X = checked.frame
        with self.blamed():
            last, X = (self.model, X) if hasattr(self.model, "judge") else final_step(self.model, X)
            judgement = last.judge(X)
        judgement.decision[list(checked.doubts)] = -1
        return Judged(judgement, checked.doubts)

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


def vague(size: float) -> str:
    """Return a sentence if the estimates rest on few cases; else nothing."""
    return "" if size >= FEW else (
        f"The ranges are wide: these rates are as uncertain as from {size:.0f} independent cases, "
        "because there are few cases or because the models of the folds differ."
    )  # fmt: skip


def open_model(arguments: Namespace) -> Opened:
    """Open the model file of a command."""
    from rejo.cli._training import prepare_of
    from rejo.persistence import ModelFileError, open_file

    path = arguments.model
    try:
        model, found = open_file(path, **opening(arguments))
    except ModelFileError as error:
        if path.suffix.lower() in TABLES:
            error.remedy = "Is it the table? The model comes first."
        raise
    encoder = prepare_of(model)
    if encoder is None:  # fitted in Python, on a frame of numbers
        names = getattr(model, "feature_names_in_", None)
        if names is None:
            raise CommandError(
                f"{path} does not say which columns it needs: train it with `rejo train`, or fit "
                "it on a pandas DataFrame"
            )
        kinds = dict.fromkeys(map(str, names), "number")
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

    names = [table.get(key) for key in ("target", "id", "by", "groups")]
    fine = all(name is None or isinstance(name, str) for name in names)
    fine = fine and isinstance(table.get("ordered", True), bool)
    if not (fine and _are_prices(table.get("prices"), n_classes)):
        problem = "the columns or prices in its header are not as rejo train writes them."
        raise ModelFileError(problem, where=str(path))
    return table
