"""One clean table, written in the ways that tables have in offices.

``python -m tests.tables.messy.make FOLDER`` writes all files there, to look at them.
"""

import csv
import gzip
import io
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

CLEAN = {
    "amount": [420, 2100, 950, 12500, 1169, 5951, 2096, 7882, 4870, 315, 1500, 780,
               3059, 5234, 640, 4308, 1567, 1199, 403, 1282, 2424, 8072, 12579, 3430],
    "price": [0.99, 1234.5, 17309.08, 45.25, 3.75, 999.99, 1020.3, 7.5, 88.88, 120.4, 2500.6, 13.37,
              64.2, 5.55, 740.1, 9999.95, 31.4, 2.72, 41.05, 6.6, 1.01, 404.04, 73.2, 15.8],
    "share": [2, 15.5, 7, 33.3, 50, 12, 99.9, 4, 0.5, 61, 73.2, 8,
              19, 27.5, 35, 41, 5.1, 66.6, 3, 90, 11, 48.4, 22, 1.5],
    "since": [date(2023, 1 + 5 * i % 12, 1 + 7 * i % 28) for i in range(24)],
    "job": ["clerk", "cook", "driver", "clerk", "cook", "clerk"] * 4,
    "grade": ["Good", "Bad", "Good", "Good", "Bad", "Good"] * 4,
}  # fmt: skip
N = 24


@dataclass(frozen=True)
class Messy:
    """A file, and how it must be read."""

    data: bytes
    name: str = "table.csv"
    options: dict = field(default_factory=dict)  # of read_table
    gaps: dict = field(default_factory=dict)  # rows of a column that are missing
    n_odd: dict = field(default_factory=dict)  # words that are read as missing, by column
    units: dict = field(default_factory=dict)
    remarks: dict = field(default_factory=dict)  # part of a remark, by column
    kinds: dict = field(default_factory=dict)  # other than in the clean table
    unnamed: dict = field(default_factory=dict)
    error: tuple[str, ...] = ()  # parts of the message


# ---- how numbers and dates are written ---------------------------------------------------------


def grouped(by: str, decimal: str = ".", digits: int = 0) -> Callable:
    def write(value):
        text = f"{value:,.{digits}f}"
        return text.replace(",", "\0").replace(".", decimal).replace("\0", by)

    return write


def indian(value):
    whole, _, rest = f"{value:.2f}".partition(".")
    head, tail = whole[:-3], whole[-3:]
    parts = []
    while head:
        head, part = head[:-2], head[-2:]
        parts.insert(0, part)
    return ",".join([*parts, tail]) + "." + rest


def comma(value):
    return f"{value:.10g}".replace(".", ",")


def plain(value):
    return f"{value:.10g}"


def day(format: str) -> Callable:
    return lambda value: value.strftime(format)


PLAIN = {"amount": str, "price": plain, "share": plain, "since": str, "job": str, "grade": str}
GERMAN = {**PLAIN, "amount": grouped("."), "price": grouped(".", ",", 2), "share": comma,
          "since": day("%d.%m.%Y")}  # fmt: skip


def rows(**styles) -> list[list[str]]:
    """Return the cells of the table, written in these styles."""
    write = {**PLAIN, **styles}
    columns = [[write[name](value) for value in values] for name, values in CLEAN.items()]
    return [list(row) for row in zip(*columns, strict=True)]


def text(table, sep=",", header=tuple(CLEAN), end="\n", quoting=csv.QUOTE_MINIMAL) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=sep, lineterminator=end, quoting=quoting)
    writer.writerow(header)
    writer.writerows(table)
    return buffer.getvalue()


def file(table, sep=",", encoding="utf-8", **more) -> bytes:
    return text(table, sep, **more).encode(encoding)


def changed(table, column: str, cells: dict[int, str]) -> list[list[str]]:
    """Return the table with other cells in a column."""
    place = list(CLEAN).index(column)
    return [
        [cells[i] if j == place and i in cells else cell for j, cell in enumerate(row)]
        for i, row in enumerate(table)
    ]


def dated(*formats: str) -> list[list[str]]:
    """Return the table with dates in these formats in turn."""
    return each(rows(), "since", lambda i, _: f"{CLEAN['since'][i]:{formats[i % len(formats)]}}")


def each(table, column: str, change: Callable) -> list[list[str]]:
    """Return the table with every cell of a column changed; it takes the row and the cell."""
    place = list(CLEAN).index(column)
    return changed(table, column, {i: change(i, row[place]) for i, row in enumerate(table)})


# ---- the files --------------------------------------------------------------------------------


def files() -> dict[str, Messy]:
    """Return all files by a short name."""
    base, german = rows(), rows(**GERMAN)
    found: dict[str, Messy] = {}

    def add(what: str, data: bytes, **expected) -> None:
        assert what not in found
        found[what] = Messy(data, **expected)

    # Separators, encodings, line ends.
    for what, sep in {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|"}.items():
        add(what, file(base, sep))
        add(f"{what}, all quoted", file(base, sep, quoting=csv.QUOTE_ALL))
        add(f"{what}, thousands with commas", file(rows(amount=grouped(",")), sep))
        add(f"{what}, German numbers", file(german, sep))
        add(f"{what}, blanks between thousands", file(rows(amount=grouped(" ")), sep))
    add("utf-8 with a mark", file(base, encoding="utf-8-sig"))
    add("utf-16", file(german, ";", encoding="utf-16"))
    add("latin-1 not said", file(each(base, "job", lambda i, w: "Köchin" if w == "cook" else w),
        encoding="latin-1"), error=("line 3", "encoding"))  # fmt: skip
    add("carriage returns", file(base, end="\r\n"))
    add("old Macintosh", file(base, end="\r"))
    add("compressed", gzip.compress(file(german, ";")), name="table.csv.gz")

    # Numbers.
    add("thousands with points beside small numbers", file(rows(amount=grouped(".")), ";"),
        remarks={"amount": "is read as"})  # fmt: skip
    add(
        "thousands with apostrophes",
        file(rows(amount=grouped("'"), price=grouped("\u2019", ".", 2))),
    )
    add("thousands with narrow blanks",
        file(rows(amount=grouped("\u202f"), price=grouped("\u00a0", ",", 2)), ";"))  # fmt: skip
    add("Indian groups", file(rows(price=indian, amount=lambda v: indian(v)[:-3]), "\t"))
    add("dollars", file(rows(price=lambda v: f"${v:,.2f}")), units={"price": "$"})
    euros = GERMAN | {"price": lambda v: GERMAN["price"](v) + " €"}
    add("euros after it", file(rows(**euros), ";"),
        units={"price": "€"})  # fmt: skip
    add("reais", file(rows(**GERMAN | {"price": lambda v: "R$ " + GERMAN["price"](v)}), ";"),
        units={"price": "R$"})  # fmt: skip
    add("codes of currencies", file(rows(price=lambda v: f"CHF {grouped(chr(39), '.', 2)(v)}")),
        units={"price": "CHF"})  # fmt: skip
    add("percent", file(rows(share=lambda v: f"{v:g}%")), units={"share": "%"})
    add("percent after a blank", file(rows(share=lambda v: comma(v) + " %"), ";"),
        units={"share": "%"})  # fmt: skip
    add("kilograms", file(rows(share=lambda v: f"{v:g} kg")), units={"share": "kg"})
    add("a unit in some cells", file(each(base, "share", lambda i, c: c + " kg" * (i % 4 > 0))),
        units={"share": "kg"}, remarks={"share": "6 cells have no unit"})  # fmt: skip
    add("months and month", file(rows(amount=lambda v: f"{v} month{'s' * (v != 420)}")),
        units={"amount": "months"})  # fmt: skip
    add("two units", file(each(base, "share", lambda i, c: c + (" kg", " lb")[i % 2])),
        kinds={"share": "category"}, remarks={"share": "'kg' and 'lb'"})  # fmt: skip
    both = each(base, "price", lambda i, c: c.replace(".", ".,"[i % 2]))
    add("two marks in one column", file(both, ";"),
        error=("price", "decimal point", "decimal comma", "decimal="))  # fmt: skip
    whole = "{:.0f}".format
    every = {"amount": lambda v: f"{v / 1000 + 10:.3f}", "price": whole, "share": whole}
    add("three decimals everywhere, nothing else", file(rows(**every), ";"),
        error=("amount", "may be", "decimal='.'", "thousands='.'"))  # fmt: skip
    large = every | {"amount": lambda v: grouped(".")(1001 + 2 * v)}
    add("thousands with points, all large", file(rows(**large), ";"),
        error=("amount", "may be", "thousands='.'"))  # fmt: skip
    add("an option for thousands", file(rows(amount=grouped("."), price=plain), ";"),
        options={"thousands": "."})  # fmt: skip
    signs = ("-{}", "({})", "{}-", "\u2212{}")
    add("minus in all ways", file(each(base, "share", lambda i, c: signs[i % 4].format(c))),
        kinds={"share": "negative"})  # fmt: skip

    # Missing values and words among numbers.
    for word in (
        "n/a",
        "-",
        "#N/A",
        "none",
        "?",
        "null",
        " ",
        ".",
        "NaN",
        "#DIV/0!",
        "missing",
        "--",
        "N.A.",
    ):
        add(f"missing: {word}", file(changed(base, "amount", {3: word, 9: word})),
            gaps={"amount": [3, 9]})  # fmt: skip
    add("another word for missing", file(changed(base, "amount", {3: "-99", 9: "-99"})),
        options={"missing": ["-99"]}, gaps={"amount": [3, 9]})  # fmt: skip
    add("missing dates", file(changed(base, "since", {3: "n/a", 9: "-"})), gaps={"since": [3, 9]})
    add("a word among numbers", file(changed(base, "price", {5: "see mail"})),
        gaps={"price": [5]}, n_odd={"price": 1})  # fmt: skip
    add("a word among dates", file(changed(base, "since", {5: "soon"})),
        gaps={"since": [5]}, n_odd={"since": 1})  # fmt: skip
    add("none as a category", file(each(base, "job", lambda i, w: "none" if w == "driver" else w)),
        kinds={"job": "none"})  # fmt: skip

    # Dates.
    for format in (
        "%d.%m.%Y",
        "%d/%m/%Y",
        "%m/%d/%Y",
        "%Y/%m/%d",
        "%d %b %Y",
        "%b %d, %Y",
        "%d-%b-%y",
        "%d.%m.%y",
        "%m/%d/%y",
    ):
        add(f"dates as {format}", file(rows(since=day(format)), ";"))
    add("dates in several formats", file(dated("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y")),
        remarks={"since": "3 formats"})  # fmt: skip
    add("dates in two orders", file(dated("%d/%m/%Y", "%m/%d/%Y")),
        error=("since", "day first", "month first"))  # fmt: skip
    small = {"since": lambda v: f"{v.day % 12 + 1:02d}/{v.month:02d}/2023"}
    add("dates in no clear order", file(rows(**small)), error=("since", "may be", "2024-12-31"))

    # Spellings.
    spelled = each(base, "grade", lambda i, w: {1: w.upper(), 2: w.lower() + " "}.get(i % 5, w))
    add("spelled classes", file(spelled),
        remarks={"grade": "is read as"})  # fmt: skip

    # Around the table.
    add("blank lines first", b"\n\n" + file(base))
    add("what Excel writes first", b"sep=;\r\n" + file(german, ";", end="\r\n"))
    add("row numbers without a name",
        file([[str(i), *row] for i, row in enumerate(base)], header=("", *CLEAN)),
        unnamed={1: "row numbers"})  # fmt: skip
    add("a separator at the end of lines",
        file([[*row, ""] for row in base], ";", header=(*CLEAN, "")),
        unnamed={7: "empty"})  # fmt: skip
    add("empty columns at the end",
        file([[*row, "", "", ""] for row in base], header=(*CLEAN, "", "", "")),
        unnamed={7: "empty", 8: "empty", 9: "empty"})  # fmt: skip
    add("blanks around cells", file([[f" {cell} " for cell in row] for row in base]))
    add("empty lines between", file(base).replace(b"\n", b"\n\n"))
    lines = file(base).splitlines(keepends=True)
    add(
        "the header again",
        b"".join([*lines[:13], lines[0], *lines[13:]]),
        error=("line 14", "header"),
    )
    add(
        "a title before the header",
        b"Loans of March\n" + file(base),
    )
    add("a comment before the header", b"# written by hand\n" + file(base))
    total = [str(sum(CLEAN["amount"])), f"{sum(CLEAN['price']):.2f}", "", "", "Total", ""]
    add("a total at the end", file([*base, total]),
        error=("line 26", "total"))  # fmt: skip
    return found


def main(folder: str) -> None:
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    for i, (what, messy) in enumerate(files().items()):
        end = messy.name.partition(".")[2]
        name = "".join(c if c.isalnum() else "_" for c in what)
        (place / f"{i:02d}_{name}.{end}").write_bytes(messy.data)


if __name__ == "__main__":
    main(*sys.argv[1:])
