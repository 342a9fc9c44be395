"""Why a case is in doubt, on tables where the answer is known."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    SplineTransformer,
    StandardScaler,
)
from sklearn.svm import SVC

import rejo
from benchmarks.shapley import exact_shapley
from rejo import ThresholdRejectClassifier
from rejo.explain import WhyError, doubtful_features, pulls, why
from rejo.tables import TableEncoder
from rejo.typical import Typical

ORDER = ["good", "bad"]


def loans(n=600, seed=0):
    """Debt and renting make a loan bad, age makes it good; the number of the desk does nothing."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "desk": rng.integers(0, 9, n),
            "debt": rng.normal(5.0, 2.0, n),
            "age": rng.integers(20, 70, n),
            "home": rng.choice(["own", "rent", "free"], n),
        }
    )
    score = (X.debt - 5) - (X.age - 45) / 7 + 2.0 * (X.home == "rent") - 0.7
    return X, np.where(score + rng.logistic(size=n) * 0.7 > 0, "bad", "good")


X, Y = loans()
CASES = pd.DataFrame(
    {"desk": 4, "debt": [9.0, 1.0], "age": [67, 22], "home": ["own", "rent"]}, index=["a", "b"]
)

LEARNERS = {
    "logistic": LogisticRegression(),
    "scaled": make_pipeline(StandardScaler(), LogisticRegression()),
    "hist": HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=6, random_state=0),
    "forest": RandomForestClassifier(60, min_samples_leaf=3, random_state=0),
    "svm": SVC(),
    "mlp": MLPClassifier((8,), solver="lbfgs", alpha=1.0, max_iter=2000, random_state=0),
    "blend": rejo.BlendClassifier(
        [
            ("linear", LogisticRegression()),
            ("trees", RandomForestClassifier(30, min_samples_leaf=3, random_state=0)),
        ]
    ),
}
WAYS = dict.fromkeys(("logistic", "scaled"), "linear")
WAYS |= {"boost": "trees", "rejo linear": "linear"}
BOOST = rejo.RejoBoost(
    boundaries="posteriors", n_estimators=30, class_order=ORDER, random_state=0, n_jobs=1
)
MODELS = {
    **{name: ThresholdRejectClassifier(learner) for name, learner in LEARNERS.items()},
    "isotonic": ThresholdRejectClassifier(SVC(), calibration="isotonic"),
    "cut-offs": ThresholdRejectClassifier(SVC(), rule="score"),
    "rejo svm": rejo.RejoSVC(class_order=ORDER),
    "rejo linear": rejo.RejoLinear(class_order=ORDER),
    "rejo mlp": rejo.RejoMLP(class_order=ORDER, alpha=1.0, random_state=0),
    "replication": rejo.ReplicationClassifier(
        HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=6, random_state=0),
        class_order=ORDER,
    ),
    "boost": BOOST,
    "pair": rejo.baselines.FrankHallReject(LogisticRegression(), class_order=ORDER),
}


@pytest.mark.parametrize("name", MODELS)
def test_known_pulls(name):
    model = make_pipeline(TableEncoder(), clone(MODELS[name])).fit(X, Y)
    found = pulls(model, CASES, background=X, rows=[0, 1])
    assert found.features == ["desk", "debt", "age", "home"]
    to_bad = found.values if model[-1].classes_[1] == "bad" else -found.values
    assert (to_bad[0, [1, 2, 3]] * [1, -1, -1] > 0).all()  # much debt; old and an owner
    assert (to_bad[1, [1, 2, 3]] * [-1, 1, 1] > 0).all()  # little debt; young and a tenant
    assert (np.abs(found.values[:, 0]) < 0.3 * np.abs(found.values[:, 1])).all()  # the desk
    assert found.way == WAYS.get(name, "replacement")


def test_words():
    model = make_pipeline(TableEncoder(), ThresholdRejectClassifier(LogisticRegression()))
    frame = why(model.fit(X, Y), CASES, background=X, rows=[0, 1])
    assert frame.index.tolist() == ["a", "b"]
    assert frame["lower"].tolist() == ["bad", "bad"]
    assert frame["towards_lower"].tolist() == ["debt 9", "age 22, home rent"]
    assert frame["towards_upper"].tolist() == ["age 67, home own", "debt 1"]
    assert frame["why"]["a"] == "bad: debt 9 | good: age 67, home own"
    one = why(model, CASES, background=X, rows=[0], top=1)
    assert one["why"].tolist() == ["bad: debt 9 | good: age 67"]


def test_linear_pulls_are_exact_shapley_values_in_units_of_the_log_odds():
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(200, 4)) * [1, 5, 0.1, 2]
    y = (Z @ [1.0, 0.3, -9.0, 0.0] + rng.normal(size=200) > 0).astype(int)
    model = ThresholdRejectClassifier(make_pipeline(StandardScaler(), LogisticRegression()))
    model.fit(Z, y)
    found = pulls(model, Z, background=Z, rows=range(9))

    def log_odds(rows):
        p = model.predict_proba(rows)
        return np.log(p[:, 1] / p[:, 0])

    exact = exact_shapley(log_odds, Z[:9], Z, np.arange(4))
    np.testing.assert_allclose(found.values, exact, atol=1e-9)
    assert found.features == ["feature 0", "feature 1", "feature 2", "feature 3"]


@pytest.mark.parametrize(
    "model",
    [
        ThresholdRejectClassifier(LogisticRegression()),
        rejo.RejoBoost(n_estimators=15, random_state=0, n_jobs=1),
    ],
)
def test_three_classes_are_compared_in_pairs(model):
    rng = np.random.default_rng(2)
    Z = rng.normal(size=(400, 3))
    y = np.array(["c", "a", "b"])[np.argmax(Z + rng.normal(size=Z.shape) * 0.3, axis=1)]
    model = clone(model).fit(Z, y)
    found = pulls(model, Z, background=Z)
    odds = model.predict_proba(Z[found.rows])
    rows = np.arange(len(odds))
    score = np.log(odds[rows, found.upper]) - np.log(odds[rows, found.lower])
    # The pulls of a case add up to its score, but for what is usual between these two classes.
    rest = score - found.values.sum(axis=1)
    for pair in {*zip(found.lower.tolist(), found.upper.tolist(), strict=True)}:
        same = (found.lower == pair[0]) & (found.upper == pair[1])
        np.testing.assert_allclose(rest[same], rest[same][0], atol=1e-6)


def test_the_other_order_of_classes_turns_the_pulls():
    Z, y = X[["debt", "age"]].to_numpy(), Y
    one, other = (
        pulls(rejo.RejoSVC(class_order=order).fit(Z, y), Z, background=Z, rows=range(5))
        for order in (ORDER, ORDER[::-1])
    )
    np.testing.assert_allclose(one.values, -other.values, rtol=1e-3, atol=1e-3)
    forest = RandomForestClassifier(9, random_state=0)
    one, other = (
        pulls(
            ThresholdRejectClassifier(forest, class_order=order).fit(Z, y),
            Z,
            background=Z,
            rows=range(5),
        )
        for order in (ORDER, ORDER[::-1])
    )
    np.testing.assert_allclose(one.values, -other.values)


def test_review_has_a_column_for_ambiguous_cases():
    model = make_pipeline(TableEncoder(), ThresholdRejectClassifier(LogisticRegression()))
    model.fit(X, Y)
    frame = rejo.review(model, X, why=2, background=X)
    assert frame.columns[-1] == "why"
    assert (frame["why"].notna() == (frame["reason"] == "ambiguous")).all()
    same = why(model, X, background=X, top=2)
    assert frame["why"].dropna().tolist() == same["why"].tolist()
    assert "why" not in rejo.review(model, X)
    Z = model[:-1].transform(X)
    inner = model[-1].review(Z, why=True, background=Z)
    assert inner["why"].dropna().str.contains("feature").all()


def test_no_case_in_doubt():
    model = ThresholdRejectClassifier(LogisticRegression(), reject_cost=None)
    Z = X[["debt", "age"]]
    model.fit(Z, Y)
    assert len(why(model, Z, background=Z)) == 0
    assert model.review(Z, why=3, background=Z)["why"].isna().all()
    assert doubtful_features(model, Z, background=Z) == []


def test_trees_need_no_background_and_others_say_so():
    Z = X[["debt", "age"]].to_numpy()
    assert pulls(clone(BOOST).fit(Z, Y), Z, rows=[0]).way == "trees"
    with pytest.raises(WhyError, match="background") as caught:
        why(ThresholdRejectClassifier(SVC()).fit(Z, Y), Z)
    assert caught.value.parameter == "background"
    with pytest.raises(WhyError, match="background"):
        why(ThresholdRejectClassifier(SVC()).fit(Z, Y), Z, background=X[["age"]].to_numpy())


@pytest.mark.parametrize("rows", [[700], [-601], [0.5], [[1]], ["a"]])
def test_rows_must_be_positions(rows):
    Z = X[["debt", "age"]].to_numpy()
    with pytest.raises(WhyError, match="rows must be positions"):
        why(ThresholdRejectClassifier().fit(Z, Y), Z, rows=rows)


@pytest.mark.parametrize("top", [0, -1, True, 1.5, "two"])
def test_top_must_be_positive(top):
    Z = X[["debt", "age"]].to_numpy()
    with pytest.raises(WhyError, match="top="):
        why(clone(BOOST).fit(Z, Y), Z, rows=[0], top=top)


def test_a_precomputed_kernel_has_no_features():
    Z = X[["debt", "age"]].to_numpy()[:60] / 10
    K = Z @ Z.T
    model = rejo.RejoSVC(kernel="precomputed", class_order=ORDER).fit(K, Y[:60])
    with pytest.raises(WhyError, match="precomputed"):
        pulls(model, K, background=K, rows=[0])


# ---- which column is which -------------------------------------------------------------------


def encoder():
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    return make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["home"]), (numbers, ["debt", "age"])
    )


@pytest.mark.parametrize("learner", ["logistic", "hist", "svm"])
@pytest.mark.parametrize("inside", [False, True])
def test_columns_of_a_column_transformer_are_traced(learner, inside):
    if inside:
        model = ThresholdRejectClassifier(make_pipeline(encoder(), LEARNERS[learner]))
    else:
        model = make_pipeline(encoder(), ThresholdRejectClassifier(LEARNERS[learner]))
    gaps = X.copy()
    gaps.loc[::11, "age"] = np.nan
    model.fit(gaps, Y)
    found = pulls(model, CASES, background=gaps, rows=[0, 1])
    assert found.features == ["debt", "age", "home"]
    assert (np.sign(found.values[0]) == [-1, 1, 1]).all()  # upper is "good"
    assert why(model, CASES, background=gaps, rows=[1])["why"]["b"]


TABLE = X.assign(note=np.where(Y == "bad", "late again", "paid on time"), rooms=X["desk"] + 1)


@pytest.mark.parametrize("sparse", [0.0, 1.0])
@pytest.mark.parametrize("search", [False, True])
def test_columns_without_names_of_their_outputs_are_traced(sparse, search):
    """A text becomes words, and logarithms have no names; both come from columns of the table."""
    columns = make_column_transformer(
        (TfidfVectorizer(), "note"),
        (FunctionTransformer(np.log1p), ["rooms", "desk"]),
        (make_pipeline(FunctionTransformer(abs), StandardScaler()), ["debt"]),
        (OneHotEncoder(handle_unknown="ignore"), ["home"]),
        ("passthrough", ["age"]),
        sparse_threshold=sparse,
    )
    logistic = LogisticRegression(max_iter=1000)
    model = make_pipeline(columns, ThresholdRejectClassifier(logistic))
    if search:
        model = rejo.RejectClassifierCV(model, review_budget=0.2, cv=3)
    model.fit(TABLE, Y)
    cases = CASES.assign(note="late again", rooms=2)
    background = None if search else TABLE
    found = pulls(model, cases, background=background, rows=[0, 1])
    assert found.way == "linear"
    assert found.features == ["desk", "debt", "age", "home", "note", "rooms"]
    pipeline = model.best_estimator_ if search else model
    Z, typical = (pipeline[0].transform(rows) for rows in (cases, TABLE))
    Z, typical = (rows.toarray() if sparse else rows for rows in (Z, typical))
    each = pipeline[-1].estimator_.coef_ * (Z - typical.mean(axis=0))
    words = [place for name, place in pipeline[0].output_indices_.items() if "tfidf" in name]
    np.testing.assert_allclose(found.values[:, 4], each[:, words[0]].sum(axis=1))
    assert "note late again" in why(model, cases, background=background, rows=[0])["why"]["a"]


def test_numbers_in_a_frame_go_to_the_classifier_as_a_frame():
    Z = X[["debt", "age"]]
    for learner in (LogisticRegression(), SVC(), HistGradientBoostingClassifier(random_state=0)):
        model = ThresholdRejectClassifier(learner).fit(Z, Y)  # with names, or it would warn
        assert pulls(model, Z, background=Z, rows=[3]).features == ["debt", "age"]


def test_categories_of_a_frame():
    table = X.assign(home=X["home"].astype("category"))
    model = ThresholdRejectClassifier(
        HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=6, random_state=0)
    ).fit(table, Y)
    cases = CASES.assign(home=CASES["home"].astype(table["home"].dtype))
    found = pulls(model, cases, background=table, rows=[0, 1])
    assert found.features == ["desk", "debt", "age", "home"]
    assert (np.sign(found.values[:, 1:]) == [[-1, 1, 1], [1, -1, -1]]).all()  # upper is "good"
    assert "home rent" in why(model, cases, background=table, rows=[1])["why"]["b"]
    other = table.assign(home=table["home"].cat.add_categories("boat"))
    with pytest.raises(WhyError, match="other categories"):
        why(model, cases, background=other, rows=[0])


def test_bends_before_coefficients_are_no_linear_model():
    Z = X[["debt", "age"]].to_numpy()
    splines = make_pipeline(SplineTransformer(), LogisticRegression())
    model = ThresholdRejectClassifier(splines).fit(Z, Y)
    found = pulls(model, Z, background=Z, rows=range(5))
    assert (found.way, found.features) == ("replacement", ["feature 0", "feature 1"])
    # A sum of bends: the Shapley value is what each is above its mean.
    exact = exact_shapley(model.estimator_.decision_function, Z[:5], Z, np.arange(2))
    np.testing.assert_allclose(found.values, exact, atol=0.6)


def test_other_columns_and_their_order_do_not_matter():
    model = make_pipeline(TableEncoder(), ThresholdRejectClassifier(LogisticRegression()))
    model.fit(X, Y)
    other = CASES[["home", "age", "desk", "debt"]].assign(extra=1)
    same = why(model, other, background=X.assign(extra=2), rows=[0, 1])
    assert same.equals(why(model, CASES, background=X, rows=[0, 1]))


def test_what_mixes_columns_is_a_feature_of_its_own():
    Z = X[["debt", "age"]].to_numpy()
    model = make_pipeline(PCA(2), ThresholdRejectClassifier(SVC())).fit(Z, Y)
    assert pulls(model, Z, background=Z, rows=[0]).features == ["pca0", "pca1"]
    inside = ThresholdRejectClassifier(make_pipeline(PCA(2), LogisticRegression())).fit(Z, Y)
    found = pulls(inside, Z, background=Z, rows=[0])
    assert found.way == "replacement"
    assert found.features == ["feature 0", "feature 1"]


def test_searches_calibrations_and_words_of_a_text():
    Z = X[["debt", "age"]].to_numpy()
    search = GridSearchCV(ThresholdRejectClassifier(LogisticRegression()), {"rule": ["chow"]})
    assert pulls(search.fit(Z, Y), Z, background=Z, rows=[0]).way == "linear"
    calibrated = CalibratedClassifierCV(LogisticRegression())
    model = ThresholdRejectClassifier(calibrated).fit(Z, Y)
    found = pulls(model, CASES[["debt", "age"]].to_numpy(), background=Z, rows=[0])
    assert found.way == "replacement"
    assert (np.sign(found.values) == [[-1, 1]]).all()
    texts = ["late late payment", "never late", "paid in full", "full payment", "late again"] * 9
    late = ["bad" if "late" in text else "good" for text in texts]
    model = make_pipeline(TfidfVectorizer(), ThresholdRejectClassifier(LogisticRegression()))
    model.fit(texts, late)
    found = why(model, ["late in full"], background=texts, rows=[0])
    assert "late 0." in found["towards_lower"][0]
    assert "full 0." in found["towards_upper"][0]


def test_missing_values_are_said():
    gaps = X[["debt", "age"]].to_numpy(dtype=float)
    gaps[::5, 0] = np.nan
    for model in (clone(BOOST), ThresholdRejectClassifier(), rejo.ReplicationClassifier()):
        found = why(model.fit(gaps, Y), gaps, background=gaps, rows=range(0, 100, 5))
        assert found["why"].str.contains("missing").sum() > 5


def test_large_trees_are_walked(monkeypatch):
    Z = X[["debt", "age"]].to_numpy()
    model = clone(BOOST).fit(Z, Y)
    exact = pulls(model, Z, rows=range(50)).values
    monkeypatch.setattr("rejo.explain.reasons.MOST_STEPS", 10)
    walked = pulls(model, Z, rows=range(50)).values
    assert not np.allclose(exact, walked)
    np.testing.assert_allclose(exact.sum(axis=1), walked.sum(axis=1), atol=1e-9)


@pytest.mark.parametrize("reject_cost", [0.2, None])
@pytest.mark.parametrize("form", ["parallel", "replicas"])
def test_trees_explain_each_boundary(form, reject_cost):
    rng = np.random.default_rng(5)
    Z = rng.normal(size=(300, 3)).astype(np.float32).astype(np.float64)
    y = np.digitize(Z[:, 0] + Z[:, 1] * Z[:, 2] + 0.3 * rng.normal(size=300), [-0.5, 0.7])
    model = rejo.RejoBoost(
        boundaries=form, n_estimators=20, reject_cost=reject_cost, random_state=0, n_jobs=1
    ).fit(Z, y)
    found = pulls(model, Z, rows=range(100))
    edges = model.boundary_scores(Z[:100])
    middles = edges if reject_cost is None else edges[:, ::2] + edges[:, 1::2]
    rest = middles[np.arange(100), found.lower] - found.values.sum(axis=1)
    for k in (0, 1):
        np.testing.assert_allclose(rest[found.lower == k], rest[found.lower == k][0], atol=1e-6)


@pytest.mark.parametrize("package", ["xgboost", "lightgbm"])
@pytest.mark.parametrize("K", [2, 3])
def test_boosters_explain_themselves(package, K):
    module = pytest.importorskip(package)
    rng = np.random.default_rng(4)
    Z = rng.normal(size=(300, 3))
    y = np.array(["u", "v", "w"])[(Z[:, 0] > 0).astype(int) + (K == 3) * (Z[:, 0] > 0.8)]
    learner = (
        module.XGBClassifier(n_estimators=15, n_jobs=1)
        if package == "xgboost"
        else module.LGBMClassifier(n_estimators=15, n_jobs=1, verbose=-1)
    )
    model = ThresholdRejectClassifier(learner).fit(Z, y)
    found = pulls(model, Z, rows=range(20))
    assert found.way == "trees"
    p = model.predict_proba(Z[:20])
    rows = np.arange(20)
    score = np.log(p[rows, found.upper]) - np.log(p[rows, found.lower])
    rest = score - found.values.sum(axis=1)
    for pair in {*zip(found.lower.tolist(), found.upper.tolist(), strict=True)}:
        same = (found.lower == pair[0]) & (found.upper == pair[1])
        np.testing.assert_allclose(rest[same], rest[same][0], atol=1e-3)


# ---- what makes cases doubtful ---------------------------------------------------------------


def test_doubtful_features():
    model = make_pipeline(TableEncoder(), ThresholdRejectClassifier(LogisticRegression()))
    model.fit(X, Y)
    found = doubtful_features(model, X, background=X)
    assert sum(row.pull for row in found) == pytest.approx(1.0)
    assert [row.pull for row in found] == sorted((row.pull for row in found), reverse=True)
    assert {row.feature for row in found[:2]} == {"debt", "age"}
    assert found[-1].feature == "desk"
    reviewed = model[-1].reject_mask(model[:-1].transform(X))
    assert {row.usual for row in found} == {reviewed.mean()}
    home = next(row for row in found if row.feature == "home")
    if home.where:
        there = (X["home"] == home.where).to_numpy()
        assert home.cases == there.sum()
        assert home.reviewed == pytest.approx(reviewed[there].mean())


def test_features_that_lead_to_a_decision():
    random = np.random.default_rng(0)
    X = pd.DataFrame({name: random.normal(size=400) for name in ("debt", "age", "noise")})
    model = rejo.RejoLinear().fit(X, np.where(X["debt"] - X["age"] / 3 > 0, "bad", "good"))
    for label in ("bad", "good"):
        first, second, *_ = doubtful_features(model, X, decided=label, background=X)
        assert (first.feature, second.feature) == ("debt", "age")
        assert first.where.startswith("at most") == (label == "good")  # low debts are good
        assert first.reviewed > 0.8 > first.usual


def test_doubtful_features_of_cases_that_were_reviewed():
    model = make_pipeline(TableEncoder(), ThresholdRejectClassifier(LogisticRegression()))
    model.fit(X, Y)
    rent = (X["home"] == "rent").to_numpy()
    found = doubtful_features(model, X, reviewed=rent, background=X, most=50)
    home = next(row for row in found if row.feature == "home")
    assert (home.where, home.cases, home.reviewed) == ("rent", rent.sum(), 1.0)
    assert home.usual == pytest.approx(rent.mean())


# ---- what a model remembers ------------------------------------------------------------------


@pytest.mark.parametrize("name", ["logistic", "svm", "hist", "boost", "blend", "rejo svm"])
def test_a_search_remembers_what_is_typical(name, tmp_path):
    pytest.importorskip("skops")
    estimator = make_pipeline(TableEncoder(), clone(MODELS[name]))
    model = rejo.RejectClassifierCV(estimator, review_budget=0.2, cv=3).fit(X, Y)
    assert (model.typical_ is None) == (name == "boost")  # its trees need nothing
    frame = why(model, X)
    assert len(frame) == (model.review(X)["reason"] == "ambiguous").sum() > 0
    assert model.review(X, why=3)["why"].dropna().tolist() == frame["why"].tolist()
    rejo.save(model, tmp_path / "m.rejo")
    assert why(rejo.load(tmp_path / "m.rejo"), X).equals(frame)


def test_the_lowest_and_highest_numbers_are_not_remembered():
    Z = np.column_stack([X["debt"], X["home"] == "rent"])
    search = rejo.RejectClassifierCV(ThresholdRejectClassifier(SVC()), review_budget=0.2, cv=3)
    typical = search.fit(Z, Y).typical_
    assert Z[:, 0].min() < typical.low[0] < np.quantile(Z[:, 0], 0.02)
    assert Z[:, 0].max() > typical.high[0] > np.quantile(Z[:, 0], 0.98)
    assert (typical.low[1], typical.high[1]) == (0.0, 1.0)  # yes and no are no secret
    np.testing.assert_allclose(typical.mean, Z.mean(axis=0))


def test_nothing_is_remembered_of_what_is_no_number():
    model = ThresholdRejectClassifier(make_pipeline(encoder(), LogisticRegression()))
    search = rejo.RejectClassifierCV(model, review_budget=0.2, cv=3).fit(X, Y)
    assert search.typical_ is None
    with pytest.raises(WhyError, match="background="):
        why(search, X)
    assert len(why(search, X, background=X))


def test_a_file_with_other_features_in_what_is_typical_is_refused():
    Z = X[["debt", "age"]].to_numpy()
    search = rejo.RejectClassifierCV(ThresholdRejectClassifier(SVC()), review_budget=0.2, cv=3)
    search.fit(Z, Y)._check_state()
    search.typical_ = Typical.learn(Z[:, :1])
    with pytest.raises(ValueError, match="typical"):
        search._check_state()


def test_novel_cases_are_not_explained_as_ambiguous():
    Z = X[["debt", "age"]].to_numpy()
    inner = make_pipeline(StandardScaler(), ThresholdRejectClassifier(SVC()))
    model = rejo.NoveltyReject(inner).fit(Z, Y)
    far = np.vstack([Z, [[500.0, 500.0]]])
    frame = model.review(far, why=3)
    assert frame["reason"].iloc[-1] == "novel"
    assert frame["why"].isna().iloc[-1]
    assert frame["why"].notna().any()
    # What is typical is known before the scaler: the same as with the cases themselves.
    np.testing.assert_allclose(pulls(model, Z).values, pulls(model, Z, background=Z).values)
