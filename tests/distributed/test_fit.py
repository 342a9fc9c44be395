"""Training on Parquet files, row group by row group, on this machine."""

from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC

from rejo import RejoBoost, RejoLinear
from rejo.datasets import make_synthetic_1, make_synthetic_4
from rejo.distributed import fit, out_of_core
from rejo.distributed.out_of_core import LEARN, PROVE, STOP, shares_of
from rejo.persistence import load, save
from rejo.selection import RejectClassifierCV
from rejo.tables import TableEncoder
from rejo.tables.pieces import pieces_of, row_hashes

pytest.importorskip("xgboost")
pq = pytest.importorskip("pyarrow.parquet")


def table(n=6000, seed=0):
    X, y = make_synthetic_1(n, random_state=seed)
    rng = np.random.RandomState(seed)
    return pd.DataFrame(X, columns=["a", "b"]).assign(
        ab=X[:, 0] * X[:, 1],
        job=rng.choice(["cook", "clerk", "smith"], n),
        customer=np.arange(n) // 3,
        repaid=np.where(y > 0, "yes", "no"),
    )


NUMBERS = ["a", "b", "ab"]


def write(frame, folder, n_files=3, rows=700):
    for i, part in enumerate(np.array_split(np.arange(len(frame)), n_files)):
        frame.iloc[part].to_parquet(Path(folder, f"{i}.parquet"), row_group_size=rows)
    return folder


@pytest.fixture(scope="module")
def frame():
    return table()


@pytest.fixture(scope="module")
def folder(frame, tmp_path_factory):
    return write(frame, tmp_path_factory.mktemp("loans"))


def parts_of(folder, frame, held_out, proves=True, together=None):
    """The part of every row, as ``fit`` must see it."""
    shares = shares_of(len(frame), held_out, proves=proves)
    numbers = []
    for piece in pieces_of(folder):
        rows = slice(piece.start, piece.start + piece.rows)
        values = None if together is None else frame[together].iloc[rows]
        numbers.append(row_hashes(piece, values))
    return shares.part_of(np.concatenate(numbers))


def same_trees(one, other):
    return np.array_equal(one.trees_.value, other.trees_.value) and np.array_equal(
        one.trees_.threshold, other.trees_.threshold
    )


def boost(**params):
    return RejoBoost(n_estimators=25, max_depth=4, random_state=0, **params)


@pytest.fixture(scope="module")
def models(frame, tmp_path_factory):
    """The model of the rows as they are, and with the classes of a part flipped."""
    found = {}
    kept = frame[[*NUMBERS, "repaid"]]
    for part in (None, PROVE, STOP, LEARN):
        folder = write(kept, tmp_path_factory.mktemp("flipped"))
        flip = parts_of(folder, kept, 0.2) == part
        assert part is None or flip.sum() > 300
        other = np.where(kept["repaid"] == "yes", "no", "yes")
        flipped = kept.assign(repaid=np.where(flip, other, kept["repaid"]))
        write(flipped, folder)
        # The lowest cost leaves nothing to choose: it is the thresholds that decide.
        search = RejectClassifierCV(boost(early_stopping_rounds=3), reject_cost=0.2)
        found[part] = fit(search, folder, target="repaid", held_out=0.2)
    return found


class TestHeldOutRows:
    """Rows that prove a promise never train, stop or set thresholds."""

    def test_those_that_prove_only_say_what_to_expect(self, models):
        plain, flipped = models[None].best_estimator_, models[PROVE].best_estimator_
        assert same_trees(plain, flipped)
        assert np.array_equal(plain.offsets_, flipped.offsets_)
        assert models[PROVE].rates_[1] > 0.4 > models[None].rates_[1]

    def test_those_that_stop_set_the_thresholds(self, models):
        plain, flipped = models[None].best_estimator_, models[STOP].best_estimator_
        assert not np.array_equal(plain.offsets_, flipped.offsets_)
        assert flipped.n_estimators_ < plain.n_estimators_  # what is learned does not help them
        n = len(flipped.trees_.value)
        assert np.array_equal(plain.trees_.value[:n], flipped.trees_.value)  # none is learned from

    def test_all_others_grow_the_trees(self, models):
        assert not same_trees(models[None].best_estimator_, models[LEARN].best_estimator_)

    def test_a_promise_is_refused_if_only_they_break_it(self, frame, tmp_path):
        write(frame, tmp_path)
        of = parts_of(tmp_path, frame, 0.2)
        search = RejectClassifierCV(boost(), max_error=0.08, confidence=0.9)
        how = {"target": "repaid", "columns": NUMBERS, "held_out": 0.2}
        model = fit(search, tmp_path, **how)
        assert 0 < model.guarantee_.n_cases <= (of == PROVE).sum()
        wrong = np.where(frame["repaid"] == "yes", "no", "yes")
        write(frame.assign(repaid=np.where(of == PROVE, wrong, frame["repaid"])), tmp_path)
        with pytest.raises(ValueError, match="max_error"):
            fit(search, tmp_path, **how)

    def test_rows_of_one_customer_are_in_one_part(self, folder, frame):
        of = parts_of(folder, frame, 0.3, together="customer")
        assert all(len(set(of[i : i + 3])) == 1 for i in range(0, len(of), 3))
        assert {*of} == {PROVE, STOP, LEARN}
        search = RejectClassifierCV(boost(), max_error=0.15, confidence=0.9)
        model = fit(
            search, folder, target="repaid", together="customer", columns=NUMBERS, held_out=0.3
        )
        assert model.guarantee_.n_cases <= (of == PROVE).sum() // 3  # one case of each
        assert model.guarantee_.rests_on == "one_each"

    def test_at_most_so_many_rows_are_held_out(self, folder, frame, monkeypatch):
        monkeypatch.setattr(out_of_core, "MOST_KEPT", 150)
        of = parts_of(folder, frame, 0.5)
        assert 0 < (of == PROVE).sum() < 220
        assert 0 < (of == STOP).sum() < 220


LEARNERS = [boost(), boost(boundaries="posteriors"), RejoLinear()]
TARGETS = [{"review_budget": 0.2}, {"max_error": 0.08}, {"cost_of": {"error": 10, "review": 1}}]


@pytest.mark.parametrize(
    ("learner", "target"),
    [
        pytest.param(learner, target, marks=[] if i == j else pytest.mark.check)
        for i, learner in enumerate(LEARNERS)
        for j, target in enumerate(TARGETS)
    ],
)
def test_a_pipeline_is_an_ordinary_model(learner, target, folder, tmp_path):
    pipeline = Pipeline([("columns", TableEncoder()), ("model", learner)])
    search = RejectClassifierCV(pipeline, **target)
    model = fit(search, f"{folder}/*.parquet", target="repaid", held_out=0.3)
    assert not hasattr(search, "expected_")  # it is not changed
    new = table(8000, seed=1)
    decisions = model.predict(new.drop(columns="repaid"))
    rejected = decisions == model.reject_label_
    wrong = ~rejected & (decisions != new["repaid"])
    assert abs(rejected.mean() - model.rates_[0]) < 0.06
    assert abs(wrong.mean() - model.rates_[1]) < 0.04
    save(model, tmp_path / "m.rejo")
    again = load(tmp_path / "m.rejo")
    assert np.array_equal(again.predict(new), decisions)
    assert again.summary() == model.summary()


def test_an_encoder_learns_from_a_sample_of_the_rows_to_learn_from(folder, monkeypatch):
    monkeypatch.setattr(out_of_core, "SAMPLE", 500)
    lines = []
    model = fit(
        Pipeline([("columns", TableEncoder()), ("model", boost())]), folder,
        target="repaid", tell=lines.append,
    )  # fmt: skip
    (said,) = [line for line in lines if "learned from" in line]
    assert 400 < int(said.split()[5].replace(",", "")) < 600
    assert model.steps[0][1].kinds_["job"] == "category"


def test_files_and_arrays_give_models_that_agree(folder, frame):
    """The same thresholds and decisions, though other rows are held out."""
    model = fit(boost(), folder, target="repaid", columns=NUMBERS)
    plain = boost(validation=0.1).fit(frame[NUMBERS], frame["repaid"])
    new = table(5000, seed=2)[NUMBERS]
    assert (model.predict(new) == plain.predict(new)).mean() > 0.9
    assert np.abs(model.offsets_ - plain.offsets_).max() < 0.5


def test_three_classes_and_weights(tmp_path):
    X, y = make_synthetic_4(4000, random_state=0)
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(y=y)
    write(frame, tmp_path)
    counts = [(y == label).sum() for label in np.unique(y)]
    of = parts_of(tmp_path, frame, 0.1, proves=False)
    learned = [((y == label) & (of == LEARN)).sum() for label in np.unique(y)]
    balanced = fit(boost(class_weight="balanced"), tmp_path, target="y")
    weights = {
        label: sum(learned) / (len(counts) * n)
        for label, n in zip(np.unique(y).tolist(), learned, strict=True)
    }
    assert same_trees(balanced, fit(boost(class_weight=weights), tmp_path, target="y"))
    assert not same_trees(balanced, fit(boost(), tmp_path, target="y"))
    search = RejectClassifierCV(boost(), review_budget=0.2)
    model = fit(search, tmp_path, target="y", held_out=0.2)
    assert model.decides_by_posteriors
    assert abs((model.predict(frame[["a", "b"]]) == model.reject_label_).mean() - 0.2) < 0.05


def test_empty_row_groups_and_single_classes_are_no_problem(frame, tmp_path):
    kept = frame[[*NUMBERS, "repaid"]].sort_values("repaid", ignore_index=True)
    write(kept, tmp_path)
    for name in ("00.parquet", "9.parquet"):
        pq.write_table(pq.read_table(tmp_path / "0.parquet")[:0], tmp_path / name)
    model = fit(boost(), tmp_path, target="repaid")
    assert (model.predict_forced(kept[NUMBERS]) == kept["repaid"]).mean() > 0.8


def test_an_index_of_pandas_is_no_feature(frame, tmp_path):
    kept = frame[[*NUMBERS, "repaid"]].sort_values("a")  # its index is stored
    write(kept, tmp_path)
    assert "__index_level_0__" in pq.read_schema(tmp_path / "0.parquet").names
    assert fit(boost(), tmp_path, target="repaid").feature_names_in_.tolist() == NUMBERS


class TestRefusals:
    @pytest.mark.parametrize(
        ("wrong", "name"),
        [
            (boost(boundaries="paralel"), "boundaries"),
            (RejoBoost(n_estimators=0), "n_estimators"),
            (RejoBoost(max_depth=-1), "max_depth"),
            (Pipeline([("e", TableEncoder()), ("m", RejoBoost(learning_rate=5))]), "learning_rate"),
            (RejectClassifierCV(RejoLinear(max_iter=0)), "max_iter"),
            (RejectClassifierCV(boost(), confidence=3), "confidence"),
            (RejectClassifierCV(boost(), review_budget=20), "review_budget"),
        ],
    )
    def test_of_parameters_before_anything_is_read(self, wrong, name):
        with pytest.raises(ValueError, match=f"'{name}' parameter|^{name}"):
            fit(wrong, "nothing/*.parquet", target="repaid")

    def test_of_folds(self, folder):
        with pytest.raises(ValueError, match="validation=3"):
            fit(boost(validation=3), folder, target="repaid", columns=NUMBERS)

    def test_of_frames_in_memory(self, frame):
        with pytest.raises(ValueError, match="DataFrame"):
            fit(boost(), frame, target="repaid")

    def test_of_a_target_with_too_many_values(self, folder):
        with pytest.raises(ValueError, match="'ab'"):
            fit(boost(), folder, target="ab", columns=["a", "b"])

    def test_of_categories_without_an_encoder(self, frame, tmp_path):
        codes = pd.Categorical((np.arange(len(frame)) % 3).astype(str))
        write(frame[["a", "repaid"]].assign(code=codes), tmp_path)
        with pytest.raises(ValueError, match=r"'code'.*TableEncoder"):
            fit(boost(), tmp_path, target="repaid")

    def test_of_gaps_for_linear_models(self, frame, tmp_path):
        write(frame[["a", "b", "repaid"]].assign(b=frame["b"].where(frame["b"] > 0.5)), tmp_path)
        with pytest.raises(ValueError, match="'b'"):
            fit(RejoLinear(), tmp_path, target="repaid")

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ([0.5, 1.5], ["x", "y"]),
            (pd.Categorical(["u", "v"]), [1.5, 2.5]),
            (pd.to_datetime(["2020-01-01", "2021-01-01"]), ["x", "y"]),
            (pd.to_datetime(["2020-01-01"] * 2), pd.to_datetime(["2020-01-01"] * 2, utc=True)),
            (pd.Categorical(["u", "v"]), ["u", "v"]),
            ([date(2020, 1, 1)] * 2, pd.to_datetime(["2020-01-01"] * 2)),
            ([True, False], [1, 2]),
        ],
    )
    def test_of_files_whose_types_differ(self, frame, tmp_path, one, other):
        for name, values in {"1": one, "2": other}.items():
            odd = pd.Series(values).take(np.arange(1000) % 2).reset_index(drop=True)
            frame[:1000].assign(odd=odd).to_parquet(tmp_path / f"{name}.parquet")
        pipeline = Pipeline([("columns", TableEncoder()), ("model", boost())])
        with pytest.raises(ValueError, match=r"2.parquet.*1.parquet.*odd"):
            fit(pipeline, tmp_path, target="repaid", columns=["a", "odd"])

    def test_of_lists_names_the_files(self, frame, tmp_path):
        frame[:1000].assign(odd=[[1.0]] * 1000).to_parquet(tmp_path / "1.parquet")
        pipeline = Pipeline([("columns", TableEncoder()), ("model", boost())])
        with pytest.raises(ValueError, match="odd") as caught:
            fit(pipeline, tmp_path, target="repaid", columns=["a", "odd"])
        assert str(tmp_path) in caught.value.where

    @pytest.mark.parametrize(
        ("estimator", "said"),
        [
            (SVC(), "SVC"),
            (Pipeline([("svc", SVC())]), "SVC"),
            (RejectClassifierCV(boost(), max_error_by_group=0.1), "max_error_by_group"),
            (RejectClassifierCV(boost(), max_error=0.1, param_grid={"n_estimators": [5]}), "grid"),
        ],
    )
    def test_of_estimators(self, estimator, said, folder):
        with pytest.raises(ValueError, match=said):
            fit(estimator, folder, target="repaid", columns=NUMBERS)

    @pytest.mark.parametrize(
        ("how", "said"),
        [
            ({"target": "paid"}, "'paid'"),
            ({"target": "repaid"}, "'job'"),
            ({"target": "repaid", "columns": ["a", "repaid"]}, "target"),
            ({"target": "repaid", "columns": NUMBERS, "held_out": 1.5}, "held_out=1.5"),
            ({"target": "repaid", "columns": NUMBERS, "together": "person"}, "'person'"),
            ({"target": "repaid", "columns": NUMBERS, "together": "repaid"}, "together"),
        ],
    )
    def test_of_options(self, how, said, folder):
        with pytest.raises(ValueError, match=said):
            fit(boost(), folder, **how)

    def test_of_tables(self, frame, tmp_path):
        kept = frame[[*NUMBERS, "repaid"]]
        with pytest.raises(ValueError, match="nothing"):
            fit(boost(), tmp_path / "nothing", target="repaid")
        with pytest.raises(ValueError, match="data must"):
            fit(boost(), 7, target="repaid")
        write(kept.assign(repaid="yes"), tmp_path)
        with pytest.raises(ValueError, match="'yes'"):
            fit(boost(), tmp_path, target="repaid")
        write(kept.assign(repaid=kept["repaid"].where(kept.index > 9)), tmp_path)
        with pytest.raises(ValueError, match="10 missing"):
            fit(boost(), tmp_path, target="repaid")
        of = parts_of(tmp_path, kept, 0.1, proves=False)
        rare = np.where(of == STOP, "rare", kept["repaid"])
        write(kept.assign(repaid=rare), tmp_path)
        with pytest.raises(ValueError, match="'rare'"):
            fit(boost(), tmp_path, target="repaid")
