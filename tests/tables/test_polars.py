"""Frames of polars mean the same as those of pandas."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

from rejo.estimators import RejoLinear  # noqa: E402
from rejo.tables import TableEncoder  # noqa: E402

N = 60
WORDS = ["low", "mid", "high"]
CELLS = {
    "whole": [i * i for i in range(N)],
    "gaps": [None if i % 7 == 0 else i * i for i in range(N)],
    "real": [i / 8 for i in range(N)],
    "money": [Decimal(i * i) / 4 for i in range(N)],
    "word": ["ab"[i % 2] if i % 5 else None for i in range(N)],
    "level": [WORDS[i % 3] for i in range(N)],
    "truth": [i % 3 == 0 for i in range(N)],
    "maybe": [None if i % 4 == 0 else i % 3 == 0 for i in range(N)],
    "day": [None if i % 9 == 0 else date(2020, 1, 1) + timedelta(days=9 * i) for i in range(N)],
    "moment": [datetime(2020, 1, 1) + timedelta(hours=37 * i) for i in range(N)],
    "zoned": [datetime(2020, 1, 1, tzinfo=UTC) + timedelta(hours=37 * i) for i in range(N)],
    "took": [timedelta(hours=i * i) for i in range(N)],
    "nothing": [None] * N,
}
OURS = pl.DataFrame(
    {name: pl.Series(cells, strict=False) for name, cells in CELLS.items()}
).with_columns(
    pl.col("level").cast(pl.Enum(WORDS)),
    pl.col("word").cast(pl.Categorical),
    pl.col("zoned").dt.convert_time_zone("Asia/Tokyo"),
)
THEIRS = pd.DataFrame({name: pd.Series(cells) for name, cells in CELLS.items()})


def test_columns_become_the_same_numbers():
    ours, theirs = (TableEncoder(reading={"time": None}).fit(X) for X in (OURS, THEIRS))
    assert ours.kinds_ == theirs.kinds_
    assert ours.left_out_ == theirs.left_out_ == {"nothing": "no values"}
    assert ours.learnt_ == theirs.learnt_
    np.testing.assert_array_equal(ours.transform(OURS), theirs.transform(THEIRS))
    np.testing.assert_array_equal(theirs.transform(OURS), theirs.transform(THEIRS))


def test_rows_in_doubt():
    encoder = TableEncoder().fit(OURS)
    assert encoder.check(OURS).doubts == {}
    new = OURS[:3].with_columns(
        pl.Series("real", ["1.5", "x", None]),
        pl.Series("truth", [1, 0, 1]),
        pl.Series("day", [date(2020, 1, 1), date(2204, 1, 1), None]),
    )
    checked = encoder.check(new)
    assert checked.counts() == {
        "truth": {"unseen": 3}, "real": {"unreadable": 1, "missing": 1}, "day": {"outside": 1}
    }  # fmt: skip
    assert np.isfinite(encoder.transform(checked.frame)).all()


def test_in_a_pipeline():
    y = np.arange(N) % 3 == 0
    model = make_pipeline(TableEncoder(), RejoLinear()).fit(OURS, y)
    np.testing.assert_array_equal(model.predict(OURS), model.predict(THEIRS))


def test_a_lazy_frame_is_refused():
    with pytest.raises(TypeError, match="LazyFrame"):
        TableEncoder().fit(OURS.lazy())
