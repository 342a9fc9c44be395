"""Files in the wrong place, damaged ones, and models that do not know how to read a table."""

import pytest

pd = pytest.importorskip("pandas")

from sklearn.compose import make_column_transformer  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import OneHotEncoder, StandardScaler  # noqa: E402

from rejo import ModelFileError, RejoLinear, load, save  # noqa: E402
from rejo.tables import TableEncoder  # noqa: E402

TRAIN = ("--target", "grade", "--reject-cost", "0.2", "-o", "x.rejo")


def test_a_table_in_place_of_a_model_and_a_model_in_place_of_a_table(refused, model, cases):
    for command in ("predict", "evaluate"):
        assert "table" in refused(4, command, cases, model)
    for words in (("compare", model, "--target", "grade"), ("train", model, *TRAIN)):
        assert "rejo inspect" in refused(3, *words)


def test_a_damaged_model(refused, model, cases, folder):
    whole = model.read_bytes()
    for name, part in (("short", whole[:3000]), ("cut", whole[:-9]), ("none", b"")):
        (folder / f"{name}.rejo").write_bytes(part)
        for words in (("predict", f"{name}.rejo", cases), ("inspect", f"{name}.rejo")):
            refused(4, *words)
        with pytest.raises(ModelFileError) as caught:
            load(f"{name}.rejo")
        assert caught.value.remedy


ENCODERS = [
    "sklearn.compose._column_transformer.ColumnTransformer",
    "sklearn.preprocessing._encoders.OneHotEncoder",
]


@pytest.mark.parametrize("columns", [["age", "job"], ["age", "income"]])
def test_a_model_that_does_not_say_how_to_read_a_table(refused, run, table, cases, columns):
    """It was fitted on words without a table encoder, or on an array without names."""
    frame = table().dropna()
    X, y = frame[columns], frame["grade"]
    if "job" in columns:
        encoder = make_column_transformer((OneHotEncoder(), ["job"]), (StandardScaler(), ["age"]))
        model = make_pipeline(encoder, RejoLinear()).fit(X, y)
        save(model, "odd.rejo", trusted=ENCODERS)
        save(make_pipeline(TableEncoder(), RejoLinear()).fit(X, y), "fine.rejo")
    else:
        save(RejoLinear().fit(X.to_numpy(), y), "odd.rejo")
        save(RejoLinear().fit(X, y), "fine.rejo")
    line = refused(2, "predict", "odd.rejo", cases, "--trusted", ",".join(ENCODERS))
    assert "TableEncoder" in line
    assert run("predict", "fine.rejo", cases, "-o", "out.csv")[0] == 0


def test_an_order_with_commas_in_names(refused, run, table):
    frame = table(classes=("low", "mid, or so", "high"))
    frame.to_csv("t.csv", index=False)
    for code, order in ((3, 'low,"mid, or so",hihg'), (2, "low,high")):
        line = refused(code, "train", "t.csv", *TRAIN, "--order", order)
        assert line.endswith('high,low,"mid, or so"')
    words = ("--model", "logistic", "--drop", "case")
    code, _, _ = run("train", "t.csv", *TRAIN, *words, "--order", 'low,"mid, or so",high')
    assert code == 0
    assert load("x.rejo").classes_.tolist() == ["low", "mid, or so", "high"]
