"""Prices of each case: an array (n, K, K + 1), or formulas that are computed block by block."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from rejo._errors import RejoError
from rejo._state import check_fields, flag, mapping, maybe, number, plain, require, storable, text
from rejo._typing import Floats, Indices, Mask
from rejo.prices._entries import entries_of, read_prices
from rejo.prices._formulas import HIGHEST, Formula
from rejo.prices._matrix import complete, numbers_of, resolve


def price_columns(cost_of: Any) -> list[str]:
    """Return the columns that the formulas of prices name, each once; none if there are none.

    Examples
    --------
    >>> from rejo.prices import price_columns
    >>> price_columns("error:default=0.6*amount,error:repaid=0.02*amount,review=15*pages")
    ['amount', 'pages']
    """
    return list(dict.fromkeys(name for f in formulas_of(cost_of) for name in f.columns))


def formulas_of(cost_of: Any) -> list[Formula]:
    """Return the formulas among prices in any form."""
    named = isinstance(cost_of, (str, Mapping)) or hasattr(cost_of, "columns")
    if not named and not hasattr(cost_of, "__fspath__"):
        return []  # nothing, or an array
    return [entry.value for entry in entries_of(cost_of) if isinstance(entry.value, Formula)]


@storable
class CasePrices(NamedTuple):
    """How the prices of a model depend on the case."""

    formulas: dict[str, float | str] | None  # None: prices are passed as arrays
    ordered: bool = True  # whether the classes have an order
    cut: float = 0.0  # which a review costs in addition

    @classmethod
    def of(cls, cost_of: Any, prices: Any, *, ordered: bool) -> "CasePrices | None":
        """Return how they do if ``cost_of`` has formulas, or prices are given; None if not."""
        if price_columns(cost_of):
            return cls(read_prices(cost_of), ordered)
        if prices is None:
            return None
        if cost_of is not None:
            raise RejoError(
                "prices of each case were given, and cost_of names no columns",
                parameter="prices",
                remedy="Give one of the two, or formulas such as error=0.6*amount as cost_of.",
            )
        return cls(None, ordered)

    @property
    def columns(self) -> list[str]:
        """The columns that formulas name."""
        return price_columns(self.formulas)

    def at(self, classes: Sequence[Any], X: Any, prices: Any, n: int | None) -> Any:
        """Return prices of ``n`` cases, in blocks; (K, K + 1) if those of all are the same.

        They come from ``prices``, an array or the columns, or else from the columns of ``X``, of
        as many cases as there are if ``n`` is None.
        """
        if is_array(prices):
            L = case_array(prices, len(classes))
            size, alike, found = len(L), _is_one(L), CaseBlocks(L.__getitem__, len(L), self.cut)
        elif self.formulas is None:
            raise RejoError(
                "prices of each case are needed, and cost_of names no columns",
                parameter="prices",
                remedy="Pass prices=, an array of shape (n_cases, n_classes, n_classes + 1).",
            )
        else:
            columns = numbers_of(formulas_of(self.formulas), X if prices is None else prices)
            size = len(next(iter(columns.values())))
            alike = all(map(_is_one, columns.values()))
            how = self.formulas, list(classes), self.ordered
            complete(resolve(*how))

            def taken(rows: slice) -> Floats:
                some = {name: values[rows] for name, values in columns.items()}
                return resolve(*how, columns=some).matrix()

            found = CaseBlocks(taken, size, self.cut)
        if n is not None and size != n:
            raise RejoError(f"there are prices of {size:,} cases, not {n:,}", parameter="prices")
        first = found[:1]
        return found if not alike or np.isnan(first).any() else np.ascontiguousarray(first[0])

    def learned(self, classes: Sequence[Any], X: Any, prices: Any, n: int | None) -> Floats:
        """Return the prices of ``n`` training cases as an array; refuse cases without one."""
        L = self.at(classes, X, prices, n)[:]
        if np.isnan(L).any():
            self._refuse(L, X if prices is None else prices)
        if not L.any():
            raise RejoError("no error costs anything", parameter="prices")
        return L

    def _refuse(self, L: Floats, table: Any) -> None:
        """Say which cases have no price, and by which column or formula."""
        bad: Mask = np.asarray(np.isnan(L if L.ndim == 3 else L[None]).any(axis=(1, 2)))
        what = "prices"
        remedy = "Fill in, or leave these cases out; when the model decides, they go to review."
        for formula in () if is_array(table) else formulas_of(self.formulas):
            columns = numbers_of([formula], table)
            gaps = {name: ~np.isfinite(values) for name, values in columns.items()}
            name = next((name for name, gap in gaps.items() if gap.any()), None)
            if name is not None:
                bad, what = gaps[name], f"the column {name!r:.40}"
                break
            values: Floats = formula.values(columns)
            outside: Mask = ~((values >= 0) & (values <= HIGHEST))
            if outside.any():
                bad, what = outside, f"the formula {formula.text!r:.60}"
                remedy = "A price is not negative; write max(..., 0) where it may be."
                break
        raise RejoError(
            f"{what} gives no price for {int(bad.sum()):,} of {len(bad):,} cases, the first in row "
            f"{int(bad.argmax())}",
            parameter="prices", remedy=remedy,
        )  # fmt: skip

    def _check_state(self) -> None:
        """Formulas that can be read, or none, a flag and a number."""
        check_fields(self, formulas=maybe(mapping(text(), plain())), ordered=flag(), cut=number())
        try:
            fine = self.formulas is None or bool(self.columns)
        except ValueError:
            fine = False
        require(fine, self, "its formulas cannot be read")


class CaseBlocks:
    """Prices (n, K, K + 1) that are computed for a slice of the cases when it is taken."""

    ndim = 3

    def __init__(self, taken: Callable[[slice], Floats], n: int, cut: float) -> None:
        self._taken, self._n, self._cut = taken, n, cut

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, rows: slice) -> Floats:
        L = self._taken(rows)
        if self._cut:
            L = L.copy()
            L[..., -1] += self._cut
        return L


def is_array(prices: Any) -> bool:
    """Return whether prices of cases are an array, not the columns that formulas name."""
    return isinstance(prices, np.ndarray | list | tuple)


def case_array(prices: Any, n_classes: int) -> Floats:
    """Return an array (n, K, K + 1) of prices, NaN where there is none."""
    K = n_classes
    try:
        L = np.asarray(prices, dtype=np.float64)
    except (TypeError, ValueError):
        raise RejoError(f"{prices!r:.60} is not an array of numbers", parameter="prices") from None
    if L.shape[1:] != (K, K + 1):
        raise RejoError(
            f"prices must have shape (n_cases, {K}, {K + 1}), not {L.shape}",
            parameter="prices",
            remedy="For each case it has a row for each true class, and a column for each decision "
            "and, last, for the review.",
        )
    if np.nansum(np.abs(L.diagonal(axis1=1, axis2=2))) > 0:
        raise RejoError(
            "a right decision costs nothing, but some prices say otherwise",
            parameter="prices",
            remedy="If it does, subtract that price from all prices of its true class.",
        )
    fine = (L >= 0) & (L <= HIGHEST)
    if not fine.all():
        L = np.where(fine, L, np.nan)
        L[:, np.arange(K), np.arange(K)] = 0.0
    return L


def price_of(prices: Floats, y: Indices, decision: Indices, rows: Any = None) -> Floats:
    """What cases (n,) cost by their true classes (n,) and decisions (..., n); -1: review.

    Prices by case are those of the ``rows`` (n,) that the cases are of; by default, the cases'.
    """
    if prices.ndim == 2:
        return prices[y, decision]
    return prices[np.arange(len(y)) if rows is None else rows, y, decision]


def of_rows(prices: Any, rows: Any) -> Any:
    """Prices of some cases, by their rows; those of all cases, or a number, as they are."""
    return prices[rows] if np.ndim(prices) == 3 and rows is not None else prices


def mean_prices(prices: Floats, weight: Floats | None = None) -> Floats:
    """Mean (K, K + 1) of the prices of cases; of the same for all, these."""
    return prices if prices.ndim == 2 else np.average(prices, axis=0, weights=weight)


def _is_one(values: Floats) -> bool:
    return len(values) > 0 and bool((values == values[0]).all())


def loss_rows(prices: Floats, y: Indices | None = None) -> Floats:
    """Loss of each output of two classes, the review between them, from prices (2, 3).

    With the classes ``y`` (n,) of cases and their prices (n, 2, 3), it is that of each case (n, 3),
    which learners by data replication take as ``loss``.  They cannot express that a review costs
    more than an error, as it may for small amounts: it then counts as much.
    """
    if y is None:
        return prices[:, [0, 2, 1]]
    found = prices[np.arange(len(y)), y][:, [0, 2, 1]]
    found[:, 1] = np.minimum(found[:, 1], found.max(axis=1, initial=0.0, where=[True, False, True]))
    return found
