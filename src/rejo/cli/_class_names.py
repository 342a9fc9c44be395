"""The classes of a table: rows that have none, one class in several spellings, their order."""

import shlex
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from rejo.cli._files import CommandError, warn
from rejo.cli._options import as_names

MIN_PER_CLASS = 5  # one for each of the five folds
MAX_NUMBERS = 20  # as classes: more are a measurement
MAX_CLASSES = 100
MAX_LABEL = 200  # characters: in an array, every label takes the room of the longest
SHOWN = 4  # words in a message

# Whatever the case. A class may be called "none", so that such words must be rare to mean nothing.
NO_CLASS = frozenset(
    ["", "?", "na", "n/a", "n.a.", "#n/a", "nan", "null", "#null!", "#value!", "#div/0!", "#ref!"]
)
MAYBE_NO_CLASS = frozenset(["none", "nil", "unknown", "missing", "undefined", "not available"])
RARE = 0.01  # share of the rows
# A word more or less that makes another class of a class.
_WORDS = (
    "no not non never without un very more most less least low lower high higher part partly half "
    "early late new old kein keine nicht ohne sehr teilweise"
)
OTHER_MEANINGS = frozenset(_WORDS.split())


def spelling(arguments: Namespace) -> dict[str, Any]:
    """Return how words become classes, as keyword arguments of what follows."""
    return {name: getattr(arguments, name) for name in ("order", "missing", "exact", "same")}


def read_classes(column: Any, path: str, **how: Any) -> tuple[Any, Any, list[str]]:
    """Return which rows (n,) of a column of words have a class, their classes, and notes.

    ``how`` is that of :func:`sort_words`.
    """
    import numpy as np

    from rejo.tables import TableError

    if not len(column):
        raise TableError("the table has no rows", where=path)
    where = f"{path}, column {column.name!r}"
    column = column.where(column.notna(), "")
    spelled, notes = sort_words(Counter(column.tolist()), where, **how)
    known = column.isin(list(spelled)).to_numpy()
    return known, np.array([spelled[word] for word in column[known]], dtype=str), notes


def sort_words(
    counts: Counter[str],
    where: str,
    *,
    order: Sequence[str] | None = None,
    missing: Iterable[str] = (),
    same: Mapping[str, str] | None = None,
    **how: Any,
) -> tuple[dict[str, str], list[str]]:
    """Return the class of each word that stands for one, and notes.

    ``counts`` says in how many rows each word stands.  Rows without a class are left out, with a
    warning.  Classes in ``order``, which may be those of a model, are spelled as there; others are
    spelled as in most rows.  ``same`` gives the class that another word means; ``exact`` keeps
    spellings apart, and the ``decimal`` mark is that of classes that are numbers.
    """
    from rejo.tables import TableError

    key, find = _meant(order or (), same, **how)
    if absent := [word for word in same or () if order is None and word not in counts]:
        raise TableError(
            f"no row has the class {absent[0]!r}",
            where=where,
            parameter="same",
            remedy=f"The classes are: {as_names(in_order(counts))}",
        )
    free = {word: n for word, n in counts.items() if find(word) is None}
    none = _no_classes(free, order is not None, set(missing), key)
    if len(none) == len(counts):
        raise TableError("no row has a class", where=where, remedy="Is it the right column?")
    if none:
        n, words = sum(counts[word] for word in none), _quoted(filter(None, none))
        rest = f" ({words} in its place)" if words else ""
        hint = "; if that is a class, name all classes with --order" * bool(words and order is None)
        warn(f"{n:,} of {counts.total():,} rows have no class{rest} and are left out{hint}")
    found: dict[str, list[str]] = {}
    # The spelling of most rows comes first; of a number, the shortest.
    for word in sorted(
        set(counts) - none,
        key=lambda word: (word in (same or ()), is_number(word) and len(word), -counts[word], word),
    ):
        label = find(word)
        found.setdefault(label or key(word), [*([label] if label else [])]).append(word)
    spelled = {word: words[0] for words in found.values() for word in words}
    notes = [
        f"{_quoted(dict.fromkeys(words))} are the same class"
        + (" (--exact keeps them apart)." if not set(words) & set(same or ()) else ".")
        for words in found.values()
        if len(set(words)) > 1
    ]
    by_class: Counter[str] = Counter()
    for word, label in spelled.items():
        by_class[label] += counts[word]
    return spelled, notes + ([] if order else _alike(by_class))


def _alike(counts: Mapping[str, int]) -> list[str]:
    """Ask whether two of three or more classes are one: a word more, or a letter wrong."""
    from rejo._errors import close_words

    found = []
    labels = [label for label in counts if not any(map(str.isdigit, label))]
    for rare in labels if len(counts) > 2 else []:
        words = set(rare.casefold().split())
        for label in labels:
            if counts[rare] >= counts[label] or label == rare:
                continue
            differ = words ^ set(label.casefold().split())
            close = len(differ) == 1 or (len(rare) > 4 and close_words(rare, [label], 1))
            if close and not differ & OTHER_MEANINGS:
                meant = shlex.quote(f"{rare}={label}")
                found.append(
                    f"{rare!r} ({counts[rare]:,} rows) and {label!r} ({counts[label]:,}): are they "
                    f"one class? Then add --same {meant}."
                )
    return found


def _meant(
    order: Sequence[str],
    same: Mapping[str, str] | None,
    *,
    exact: bool = False,
    decimal: str = ".",
) -> tuple[Callable[[str], str], Callable[[str], str | None]]:
    """Return what all words of a class have in common, and a function that finds the class."""
    spelled = (lambda word: word) if exact else _speller(decimal)
    known = {spelled(other): meant for other, meant in (same or {}).items()}

    def key(word: str) -> str:
        return spelled(known.get(spelled(word), word))

    return key, _finder(order, key)


def class_codes(
    words: Iterable[str], *, order: Sequence[str], missing: Iterable[str], same: Any, **how: Any
) -> list[int]:
    """Return the index in ``order`` of the class of each word; -1: none, -2: another class.

    It is that of :func:`sort_words` for classes that are known.
    """
    key, find = _meant(order, same, **how)
    found = list(words)
    free = {word: 1 for word in found if find(word) is None}
    none = _no_classes(free, True, set(missing), key)
    place = {label: i for i, label in enumerate(order)}
    return [-1 if word in none else place.get(find(word) or "", -2) for word in found]


def _speller(decimal: str) -> Callable[[str], str]:
    from rejo.tables import same_spelling

    return lambda word: same_spelling(
        word.replace(",", ".") if decimal == "," and word.count(",") == 1 else word
    )


def respelled(
    prices: Mapping[str, float | str], classes: Sequence[str], exact: bool
) -> dict[str, float | str]:
    """Return prices with the classes spelled as in ``classes``."""
    from rejo.prices import renamed_classes

    find = _finder(classes, (lambda word: word) if exact else _speller("."))
    return renamed_classes(prices, lambda label: find(label) or label)


def respelled_limits(
    limits: Any, known: Sequence[str], what: str, option: str, *, exact: bool
) -> Any:
    """Return limits, if they are by name, with each class or group spelled as it is ``known``."""
    if not isinstance(limits, Mapping):
        return limits
    find = _finder(known, (lambda word: word) if exact else _speller("."))
    for name in limits:
        if find(name) is None:
            raise CommandError(f"{option}: no {what} {name!r}; there are: {as_names(known)}")
    return {find(name): limit for name, limit in limits.items()}


def _finder(order: Sequence[str], key: Callable[[str], str]) -> Callable[[str], str | None]:
    """Return a function that finds the class of a word; None if it is another word.

    Where two classes differ only in spelling, as ``--exact`` keeps them, it takes that of the word.
    """
    shared = Counter(map(key, order))
    alone = {key(label): label for label in order if shared[key(label)] == 1}
    return lambda word: word if word in order else alone.get(key(word))


def _no_classes(
    counts: Mapping[str, int], known: bool, given: Collection[str], key: Callable[[str], str]
) -> set[str]:
    """Return the words that mean that a row has no class; ``known``: they are not among those."""
    none = {word for word in counts if word.casefold() in NO_CLASS or word in given}
    left = [word for word in counts if word not in none]
    rare = max(MIN_PER_CLASS - 1, RARE * sum(counts.values()))
    maybe = {
        word
        for word in left
        if _is_mark(word) or (word.casefold() in MAYBE_NO_CLASS and (known or counts[word] <= rare))
    }
    if known:
        return none | maybe
    if any(not _is_mark(word) and not any(map(str.isalnum, word)) for word in left):
        maybe = {word for word in maybe if not _is_mark(word)}  # classes such as + and -
    return none | maybe if len({key(word) for word in left if word not in maybe}) > 1 else none


def _is_mark(word: str) -> bool:
    return bool(word) and not word.strip("-._/*\N{EN DASH}\N{EM DASH}")


def _quoted(words: Iterable[str]) -> str:
    shown = [repr(word[:40]) for word in words]
    if len(shown) > SHOWN:
        return ", ".join(shown[:SHOWN]) + f" and {len(shown) - SHOWN} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def check_order(order: Sequence[str] | None, exact: bool) -> None:
    """Refuse an order that has a class in two spellings."""
    key = _speller(".")
    seen: dict[str, str] = {}
    for label in [] if order is None or exact else order:
        if (other := seen.setdefault(key(label), label)) != label:
            raise CommandError(
                f"--order has the class {other!r} twice, also as {label!r}; if they differ, add "
                "--exact"
            )


def order_classes(counts: Mapping[str, int], order: Sequence[str] | None, where: str) -> list[str]:
    """Classes in order, by how many rows have each; refuse what cannot be learned."""
    from rejo.tables import TableError, did_you_mean

    if long := [label for label in counts if len(label) > MAX_LABEL]:
        raise TableError(
            f"{long[0][:40] + '...'!r} has {len(long[0]):,} characters, too many for a class (at "
            f"most {MAX_LABEL})",
            where=where,
            remedy="Is it the right column?",
        )
    numbers = all(is_number(label.replace(",", ".", 1)) for label in counts)
    if len(counts) > (MAX_NUMBERS if numbers and order is None else MAX_CLASSES):
        raise TableError(
            f"{len(counts)} different values are too many for classes",
            where=where,
            remedy="If it is a measurement, put it into classes first."
            if numbers
            else "Is it the right column?",
        )
    if len(counts) < 2:
        raise TableError(f"all rows have the same class, {next(iter(counts))!r}", where=where)
    classes = list(order or in_order(counts))
    if absent := [label for label in classes if label not in counts]:
        meant = did_you_mean(
            absent[0], [label for label in in_order(counts) if label not in classes]
        )
        raise TableError(
            f"no row has the class {absent[0]!r}, which is in --order",
            where=where,
            remedy=f"{meant}The classes are: {as_names(in_order(counts))}",
        )
    if missing := [label for label in in_order(counts) if label not in classes]:
        raise CommandError(
            f"--order lacks the class {missing[0]!r} of {where}; give all of: "
            + as_names(in_order(counts))
        )
    rare = min(classes, key=lambda label: counts[label])
    if (n := counts[rare]) < MIN_PER_CLASS:
        raise TableError(
            f"the class {rare!r} has {n} row{'s' * (n > 1)}, but needs {MIN_PER_CLASS}",
            where=where,
            remedy="Merge it with another class, or remove these rows.",
        )
    return classes


def in_order(labels: Iterable[str]) -> list[str]:
    """Sort classes: by value if all are numbers."""
    found = list(labels)
    numbers = all(map(is_number, found))
    return sorted(found, key=lambda label: (float(label) if numbers else 0.0, label))


def is_number(text: str) -> bool:
    """Return whether Python reads a number."""
    try:
        float(text)
        return True
    except ValueError:
        return False
