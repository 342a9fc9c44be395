"""Frames that another engine hands over are decided as by ``rejo predict``."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from rejo import RejoLinear, ThresholdRejectClassifier, cli
from rejo._errors import RejoError
from rejo.distributed import FrameDecider, _sent_model
from rejo.persistence import save
from rejo.tables import TableEncoder, TableError

from .conftest import decisions, make_cases

KINDS = {"chance_wrong": "double", "sureness": "double", "worth": "double", "distance": "double"}


def ranked(found):
    """Ranks of the reviews, as the page on clusters has Spark compute them: ties by position."""
    reviews = found[found["sureness"].notna()].sort_values("sureness", kind="stable")
    return pd.Series(np.arange(1, len(reviews) + 1), reviews.index).reindex(found.index)


def check_same(found, one):
    """``one`` is what rejo predict wrote for the same rows."""
    assert list(found) == [{"rank": "sureness"}.get(name, name) for name in one]
    same = found.drop(columns="sureness").astype(object)
    expected = one.drop(columns="rank").astype(object)
    pd.testing.assert_frame_equal(same.where(same.notna()), expected.where(expected.notna()))
    np.testing.assert_array_equal(ranked(found), one["rank"].astype(float))


# Before pandas 3: one of the parts has nothing in a column.
@pytest.mark.filterwarnings("ignore:The behavior of DataFrame concatenation with empty")
@pytest.mark.parametrize(("given", "options"), [({}, ()), ({"why": True}, ("--why",))])
def test_decisions_are_those_of_predict(model, data, on_one_machine, given, options):
    cases = decisions(data)
    decide = pickle.loads(pickle.dumps(FrameDecider(model, **given)))
    frames = [cases[:700], cases[700:700], cases[700:701], cases[701:]]
    found = pd.concat(decide(frames), ignore_index=True)
    assert set(found["reason"].dropna()) == {"ambiguous", "novel"}
    check_same(found, on_one_machine(*options))


def by_predict(model, cases, folder):
    """Return what rejo predict writes for cases in a file."""
    cases.to_parquet(folder / "cases.parquet")
    words = [str(model), str(folder / "cases.parquet"), "-o", str(folder / "one.parquet")]
    assert cli.main(["predict", *words]) == 0
    return pd.read_parquet(folder / "one.parquet")


def test_models_with_posteriors_say_what_a_review_is_worth(tmp_path):
    cases, path = make_cases(400, seed=0), tmp_path / "model.rejo"
    chow = ThresholdRejectClassifier(LogisticRegression(), reject_cost=0.2)
    pipeline = make_pipeline(TableEncoder(), chow).fit(cases[["age", "income", "job"]], cases.grade)
    save(pipeline, path, table={"id": "case"})
    decide = FrameDecider(path)
    (found,) = decide([cases])
    assert "worth" in found
    check_same(found, by_predict(path, cases, tmp_path))
    assert decide.schema == ", ".join(f"`{name}` {KINDS.get(name, 'string')}" for name in found)


def test_cells_are_read_as_those_of_files(model, tmp_path):
    cases = make_cases(60, seed=2)
    cases["age"] = [str(age) if i % 7 else "unknown" for i, age in enumerate(cases["age"])]
    cases["case"] = [None, *range(1, 60)]  # numbers with a gap are floats in pandas
    cases["job"] = cases["job"].astype("category")
    (found,) = FrameDecider(model)([cases])
    assert "unreadable" in set(found["reason"])
    assert found["case"].tolist()[1:] == list(map(str, range(1, 60)))
    check_same(found, by_predict(model, cases, tmp_path))


def test_a_process_opens_the_model_once(model, data, monkeypatch):
    opened = []
    plain = _sent_model.open_file
    monkeypatch.setattr(
        _sent_model, "open_file", lambda *a, **k: opened.append(a) or plain(*a, **k)
    )
    decide, cases = FrameDecider(model), decisions(data)
    opened.clear()
    monkeypatch.setattr(_sent_model, "_opened", {})
    for start in (0, 100, 200):
        for frame in decide([cases[start : start + 100]]):
            assert len(frame) == 100
    assert len(opened) == 1


def test_what_frames_must_have(model, data):
    decide = FrameDecider(model)
    assert decide.columns == ["age", "income", "job", "case"]
    with pytest.raises(TableError, match="income"):
        list(decide([decisions(data).drop(columns="income")]))
    X = pd.DataFrame({"a": [0.0, 1, 2, 3], "b`c": [1.0, 0, 1, 0]})
    nameless = RejoLinear(reject_cost=0.3).fit(X, [0, 0, 1, 1])
    with pytest.raises(RejoError, match="no names") as caught:
        FrameDecider(nameless)
    assert caught.value.parameter == "id"
    assert FrameDecider(nameless, id="d`e").schema.startswith("`d``e` string, `decision` string")
