"""A model file, and how it reads tables."""

from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from rejo.cli._files import CommandError, warn
from rejo.cli._options import HIGHEST_PRICE, LEAST_PRICE

FEW = 100  # independent cases that leave most questions open
TABLES = (".csv", ".tsv", ".txt", ".gz", ".parquet", ".pq", ".html", ".htm")


class Opened(NamedTuple):
    """A model, what it needs of a table, and what its file says."""

    model: Any
    encoder: Any  # with kinds_ and date_formats_
    found: Any  # ModelFile
    table: dict[str, Any]  # columns named in training: target, id, by, groups

    def judge(self, X: Any) -> Any:
        """Return the judgement of each row of ``X``."""
        from rejo.estimators.pipelines import final_step

        last, X = final_step(self.model, X)
        return last.judge(X)

    def note_surprises(self, X: Any, found: dict[str, Counter[str]]) -> None:
        """Count for each column the words and gaps that training did not show."""
        if hasattr(self.encoder, "surprises"):
            for name, counts in self.encoder.surprises(X).items():
                found.setdefault(name, Counter()).update(counts)

    def expect(self, n: int, level: float) -> dict[str, Any]:
        """Rates, with their ranges, that so many cases should show; none if it tells none."""
        from rejo.selection.expected import expect

        if not hasattr(self.model, "rates_"):
            return {}
        R, E = self.model.rates_
        found: dict[str, Any] = expect(R, E, self.model.n_effective_, n, level)._asdict()
        return found

    @property
    def classes(self) -> list[str]:
        """Classes in their order, lowest first."""
        return [str(label) for label in self.model.classes_.tolist()]

    @property
    def review_label(self) -> str | None:
        """What stands for a review; ``None`` if the model decides every case."""
        from rejo.estimators.pipelines import reject_label_of

        label = reject_label_of(self.model)
        return None if label is None else str(label)


def vague(size: float) -> str:
    """Say so if estimates are worth few cases; else nothing."""
    if size >= FEW:
        return ""
    return (
        f"The ranges are wide: these rates are worth about {size:.0f} independent cases, since "
        "there are few, or models of different parts of the table differ."
    )


def warn_of_surprises(found: dict[str, Counter[str]], n: int) -> None:
    """Say in one line which columns hold what training did not show."""
    parts = []
    for name, counts in found.items():
        if counts["unseen"]:
            parts.append(f"{name!r} has words unknown to the model in {counts['unseen']:,}")
        if counts["missing"]:
            parts.append(f"{name!r} is missing in {counts['missing']:,}")
    if parts:
        shown = "; ".join(parts[:5]) + ("; and more" if len(parts) > 5 else "")
        warn(f"of {n:,} rows, {shown}; training had no such, and its decisions are less certain")


def check_saving() -> None:
    """Refuse before the work what would fail after it."""
    try:
        import skops  # noqa: F401
    except ImportError:
        raise CommandError('a model file needs skops: pip install "rejo[files]"') from None


def open_model(path: Path) -> Opened:
    """Open a model file."""
    from rejo.cli._training import prepare_of
    from rejo.persistence import ModelFileError, inspect, load

    try:
        found = inspect(path)
    except ModelFileError as error:
        if path.suffix.lower() in TABLES:
            raise ModelFileError(f"{error} Is it the table? The model comes first.") from None
        raise
    model = load(path)
    encoder = prepare_of(model)
    if encoder is None:  # fitted in Python, on a frame of numbers
        names = getattr(model, "feature_names_in_", None)
        if names is None:
            raise CommandError(
                f"{path} does not tell which columns it needs: train it with `rejo train`, or fit "
                "it on a pandas DataFrame"
            )
        kinds = dict.fromkeys(map(str, names), "number")
        encoder = SimpleNamespace(kinds_=kinds, date_formats_={})
    return Opened(model, encoder, found, _check_table(found.table or {}, path))


def _check_table(table: dict[str, Any], path: Path) -> dict[str, Any]:
    """Refuse what ``rejo train`` does not write into the header."""
    from rejo.persistence import ModelFileError

    names = [table.get(key) for key in ("target", "id", "by", "groups")]
    fine = all(name is None or isinstance(name, str) for name in names)
    prices = table.get("prices")
    if prices is not None:
        fine = fine and isinstance(prices, dict) and prices.keys() == {"error", "review"}
        fine = fine and all(type(price) in (int, float) for price in prices.values())
        fine = fine and LEAST_PRICE <= prices["review"] <= prices["error"] / 2 <= HIGHEST_PRICE / 2
    if not fine:
        raise ModelFileError(f"{path}: the header names no columns or prices as rejo train does.")
    return table
