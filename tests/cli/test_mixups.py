"""Files in the wrong place, damaged ones, and models that do not know how to read a table."""

import pytest

pd = pytest.importorskip("pandas")

from sklearn.compose import make_column_transformer  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import OneHotEncoder, StandardScaler  # noqa: E402

from rejo import ModelFileError, RejoLinear, load, save  # noqa: E402
from rejo.tables import TableEncoder  # noqa: E402

TRAIN = ("--target", "grade", "--reject-cost", "0.2", "-o", "x.rejo")


def test_a_table_and_a_model_that_are_swapped(refused, model, cases):
    for command in ("predict", "evaluate"):
        line = refused(4, command, cases, model)
        assert line.endswith(f"but {model} is one. Swap them: rejo {command} {model} {cases}")


def test_a_model_as_a_table(refused, model):
    for words in (("train", model, *TRAIN), ("compare", model, "--target", "grade")):
        assert (
            f"it is a model file, not a table. To see what it contains: rejo inspect {model}"
            in (refused(3, *words))
        )


def test_a_report_in_the_wrong_place(refused, model, cases, folder):
    page = folder / "r.html"
    page.write_text("\n<!DOCTYPE html>\n<html><body>loans</body></html>")
    for words in (("predict", model, page), ("evaluate", model, page), ("train", page, *TRAIN)):
        assert "it is an HTML page, such as a report, not a table" in refused(3, *words)
    for words in (("predict", page, cases), ("evaluate", page, cases), ("inspect", page)):
        assert "not a model file: it is an HTML page, such as a report" in refused(4, *words)


def test_a_table_as_a_model(refused, cases, folder):
    (folder / "other.csv").write_text("a,b\n1,2\n")
    line = refused(4, "predict", cases, "other.csv")
    assert "not a model file: it looks like a table. The model comes first" in line
    assert "it looks like a table. Give the file that rejo train wrote" in refused(
        4, "inspect", cases
    )


def test_a_damaged_model_says_what_to_do(refused, model, cases, folder):
    whole = model.read_bytes()
    for name, part in (("short", whole[:3000]), ("cut", whole[:-9]), ("none", b"")):
        (folder / f"{name}.rejo").write_bytes(part)
        for words in (("predict", f"{name}.rejo", cases), ("inspect", f"{name}.rejo")):
            assert "Copy the file again" in refused(4, *words)
        with pytest.raises(ModelFileError, match="or train the model again"):
            load(f"{name}.rejo")


def test_a_model_on_words_without_a_table_encoder(refused, run, table, cases):
    frame = table().dropna()
    X, y = frame[["age", "job"]], frame["grade"]
    encoder = make_column_transformer((OneHotEncoder(), ["job"]), (StandardScaler(), ["age"]))
    save(make_pipeline(encoder, RejoLinear()).fit(X, y), "words.rejo")
    line = refused(2, "predict", "words.rejo", cases)
    assert "words.rejo was fitted on words in 'job'" in line
    assert "make_pipeline(rejo.tables.TableEncoder(), ...)" in line
    save(make_pipeline(TableEncoder(), RejoLinear()).fit(X, y), "fine.rejo")
    assert run("predict", "fine.rejo", cases, "-o", "out.csv")[0] == 0


def test_a_model_without_names_of_columns(refused, run, table, cases):
    frame = table().dropna()
    X, y = frame[["age", "income"]], frame["grade"]
    save(RejoLinear().fit(X.to_numpy(), y), "array.rejo")
    line = refused(2, "predict", "array.rejo", cases)
    assert "array.rejo does not say which columns it needs" in line
    assert "TableEncoder" in line
    save(RejoLinear().fit(X, y), "frame.rejo")
    assert run("predict", "frame.rejo", cases, "-o", "out.csv")[0] == 0


def test_an_order_with_a_class_that_is_not_there(refused, run, table):
    frame = table(classes=("low", "mid, or so", "high"))
    frame.to_csv("t.csv", index=False)
    line = refused(3, "train", "t.csv", *TRAIN, "--order", 'low,"mid, or so",hihg')
    assert "no row has the class 'hihg', which is in --order. Did you mean 'high'?" in line
    assert line.endswith('The classes are: high,low,"mid, or so"')
    line = refused(2, "train", "t.csv", *TRAIN, "--order", "low,high")
    assert """lacks the class 'mid, or so'""" in line
    assert line.endswith('give all of: high,low,"mid, or so"')
    words = ("--model", "logistic", "--drop", "case")
    code, _, _ = run("train", "t.csv", *TRAIN, *words, "--order", 'low,"mid, or so",high')
    assert code == 0
    assert load("x.rejo").classes_.tolist() == ["low", "mid, or so", "high"]
