"""RejoBoost: three forms, one contract."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rejo
from rejo import RejectClassifierCV, RejoBoost
from rejo.datasets import make_synthetic_1, make_synthetic_4, posterior
from rejo.estimators.growing import Block, Grower, grown_from
from rejo.explain import pulls
from rejo.replication import replica_costs, replica_labels
from rejo.solvers.boosting import ScoreTable, best_thresholds

pytest.importorskip("xgboost")
FORMS = ["parallel", "replicas", "posteriors"]
QUICK = {"n_estimators": 40, "validation": 0.2, "random_state": 0, "n_jobs": 1}
every_form = pytest.mark.parametrize("form", FORMS)


def two_classes(n=600, seed=0):
    return make_synthetic_1(n, random_state=seed)


def three_classes(n=600, seed=0):
    return make_synthetic_4(n, random_state=seed)


def quick(form="auto", **options):
    return RejoBoost(boundaries=form, **(QUICK | options))


def judged(model, X):
    return [part for part in model.judge(X) if part is not None]


def assert_same(model, other, X):
    for one, two in zip(judged(model, X), judged(other, X), strict=True):
        assert_array_equal(one, two)


# ---- which form ---------------------------------------------------------------------------


def test_two_classes_have_thresholds_on_one_sum():
    model = quick().fit(*two_classes())
    assert model.form_ == "parallel"
    assert model.offsets_.shape == (2,)
    assert model.offsets_[0] >= model.offsets_[1]


def test_more_classes_are_decided_by_posteriors_unless_a_loss_says_otherwise():
    X, y = three_classes()
    assert quick().fit(X, y).form_ == "posteriors"
    assert quick(s=1).fit(X, y).form_ == "replicas"
    loss = [[0, 0.2, 1, 1.2, 2], [1, 0.2, 0, 0.2, 1], [2, 1.2, 1, 0.2, 0]]
    assert quick(loss_matrix=loss).fit(X, y).form_ == "replicas"
    assert quick("parallel", loss_matrix=loss).fit(X, y).form_ == "parallel"


def test_posteriors_need_no_order():
    X, y = three_classes()
    words = np.array(["cat", "bird", "dog"])[np.unique(y, return_inverse=True)[1]]
    model = quick().fit(X, words)
    assert model.classes_.tolist() == ["bird", "cat", "dog"]
    with pytest.raises(ValueError, match="class_order"):
        quick("replicas").fit(X, words)


@pytest.mark.parametrize("problem", [two_classes, three_classes])
@every_form
def test_decisions_cost_far_less_than_reviews_or_guesses(problem, form):
    X, y = problem(1000)
    X_new, y_new = problem(4000, seed=1)
    model = quick(form, reject_cost=0.3).fit(X, y)
    rate = model.reject_mask(X_new).mean()
    assert 0.03 < rate < 0.6
    assert model.score(X_new, y_new) > 0.7 + 0.02  # reviewing everything costs 0.3
    forced = (model.predict_forced(X_new) == y_new).mean()
    assert model.score(X_new, y_new) > forced


def test_thresholds_follow_chows_rule():
    """For two classes the edges are those of the posterior: ``g + b = logit p +- logit w``."""
    X, y = two_classes(20_000)
    X_new, _ = two_classes(20_000, seed=1)
    model = RejoBoost(reject_cost=0.2, random_state=0, n_jobs=1).fit(X, y)
    p = posterior("synthetic_1", X_new)
    bayes = 1 - p.max(axis=1) > 0.2
    assert (model.reject_mask(X_new) == bayes).mean() > 0.93
    assert np.abs(model.predict_proba(X_new)[:, 1] - p[:, 1]).mean() < 0.03


# ---- one fit, all reject costs --------------------------------------------------------------


@every_form
def test_other_reject_costs_take_no_fit(form):
    X, y = three_classes() if form == "replicas" else two_classes()
    model = quick(form).fit(X, y)
    trees = model.trees_
    rates = []
    for w in (0.05, 0.1, 0.2, 0.3, 0.4, 0.5):
        other = model.at(w)
        assert other.trees_ is trees
        assert other.reject_cost_ == w
        rates.append(other.reject_mask(X).mean())
    assert (np.diff(rates) <= 0).all()
    assert rates[0] > rates[-1]
    assert model.reject_cost_ == 0.2  # as it was
    assert_same(model.at(0.2), model, X)


@pytest.mark.parametrize("form", ["parallel", "replicas"])
def test_offsets_are_the_best_on_the_held_out_rows(form):
    model = quick(form).fit(*three_classes())
    table = ScoreTable(model._held_out, model._mass)
    for w in (0.1, 0.4):
        b = best_thresholds(table, replica_labels(3), replica_costs(3, w))
        assert_allclose(np.sort(model.at(w).offsets_), np.sort(b))


def test_a_path_is_one_fit():
    X, y = two_classes()
    models = quick().fit_path(X, y, reject_costs=[0.1, 0.3])
    assert [model.reject_cost_ for model in models] == [0.1, 0.3]
    assert models[0].trees_ is models[1].trees_
    assert models[0].reject_mask(X).sum() > models[1].reject_mask(X).sum()


def test_prices_decide_by_posteriors():
    X, y = two_classes()
    prices = {"error:1": 900, "error:-1": 300, "review": 100}
    model = quick(cost_of=prices).fit(X, y)
    assert model.form_ == "posteriors"
    assert model.decides_by_posteriors
    assert model.judge(X).worth is not None
    dear = model.at(cost_of={"error:1": 900, "error:-1": 300, "review": 200})
    assert dear.reject_mask(X).sum() < model.reject_mask(X).sum()
    with pytest.raises(ValueError, match="needs posteriors"):
        quick("parallel", cost_of=prices).fit(X, y)
    with pytest.raises(ValueError, match="other reject costs only"):
        quick("parallel").fit(X, y).at(cost_of=prices)


def test_an_operating_point_takes_one_fit_a_fold():
    X, y = two_classes(1500)
    model = RejectClassifierCV(quick(), review_budget=0.2, cv=3).fit(X, y)
    assert abs(model.reject_mask(X).mean() - 0.2) < 0.06
    by_posteriors = RejectClassifierCV(quick("posteriors"), review_budget=0.2, cv=3).fit(X, y)
    assert by_posteriors.cut_ is not None


FORK = """
import sys
from multiprocessing import get_context

from rejo import RejoBoost
from rejo.datasets import make_synthetic_1

data = make_synthetic_1(300, random_state=0)
for form in ("parallel", "replicas", "posteriors"):
    options = dict(boundaries=form, n_estimators=5, validation=0.2, random_state=0)
    RejoBoost(n_jobs=2, **options).fit(*data)
    child = get_context("fork").Process(target=RejoBoost(n_jobs=1, **options).fit, args=data)
    child.start()
    child.join(30)
    child.kill()
    if child.exitcode != 0:
        sys.exit(form)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_a_fork_can_fit_after_its_parent_has():
    threads = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    run = subprocess.run(
        [sys.executable, "-c", FORK], env=threads, timeout=200, capture_output=True, check=False
    )
    assert run.returncode == 0, run.stderr


# ---- what trees take ----------------------------------------------------------------------


@every_form
def test_missing_values_are_welcome(form):
    X, y = two_classes(1000)
    X = X.copy()
    X[::7, 0] = np.nan
    model = quick(form).fit(X, y)
    assert model.score(X, y) > 0.8
    assert model._saw_gaps
    assert np.isfinite(model.judge(np.full((1, 2), np.nan)).distance).all()


@every_form
def test_a_row_without_any_value_is_rejected_if_training_had_no_gaps(form):
    X, y = two_classes()
    model = quick(form).fit(X, y)
    new = np.vstack([np.full((1, 2), np.nan), X[:3], [[np.nan, 0.5]]])
    assert model.reject_mask(new).tolist()[0]
    assert model.predict(new)[1:4].tolist() == model.predict(X[:3]).tolist()
    assert np.isfinite(model.judge(new).distance).tolist() == [False, True, True, True, True]
    for method in (model.predict_forced, model.predict_proba):
        with pytest.raises(ValueError, match="not numbers"):
            method(new)


@every_form
def test_a_model_that_never_rejects_refuses_a_row_without_any_value(form):
    X, y = two_classes()
    model = quick(form, reject_cost=None).fit(X, y)
    new = np.vstack([X[:3], np.full((1, 2), np.nan)])
    for method in (model.predict, model.predict_proba, model.judge, model.predict_forced):
        with pytest.raises(ValueError, match="row 3"):
            method(new)
    assert np.isfinite(model.predict_proba(new[:3])).all()


def test_a_row_without_any_value_does_not_stop_a_search():
    X, y = two_classes()
    X = X.copy()
    X[5] = np.nan  # the fold that tests it learns without gaps
    model = RejectClassifierCV(quick("posteriors"), review_budget=0.2).fit(X, y)
    assert model.expected_.rejection_rate.estimate > 0


@pytest.mark.parametrize("as_given", [np.asarray, sparse.csr_array])
def test_gaps_of_rows_without_weight_are_not_seen(as_given):
    X, y = two_classes()
    X = np.vstack([X + 1.0, [[np.nan, 1.0]]])  # no zeros, which a sparse matrix leaves out
    y, weight = np.append(y, y[0]), np.append(np.ones(len(y)), 0.0)
    model = quick().fit(as_given(X), y, weight)
    assert not model._saw_gaps
    nothing = np.full((1, 2), np.nan) if as_given is np.asarray else sparse.csr_array((1, 2))
    assert model.reject_mask(nothing).all()
    assert quick().fit(as_given(X), y)._saw_gaps


@every_form
def test_categories_are_split_by_sets(form):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    towns = np.array([f"town {i}" for i in range(40)])
    town = rng.choice(towns, 2000)
    good = np.isin(town, rng.choice(towns, 20, replace=False))
    y = np.where(good ^ (rng.uniform(size=2000) < 0.05), "yes", "no")
    X = pd.DataFrame({"town": pd.Categorical(town), "noise": rng.normal(size=2000)})
    model = quick(form).fit(X, y)
    assert model.trees_.splits_by_category
    assert (model.predict_forced(X) == np.where(good, "yes", "no")).mean() > 0.99
    shuffled = X.assign(town=X["town"].cat.set_categories(towns[::-1]))
    assert_same_frames(model, shuffled, X)  # categories count, not their codes
    assert_same_frames(model, X.astype({"town": str}), X)
    new = X.assign(town=pd.Categorical(["elsewhere"] * len(X)))
    missing = X.assign(town=pd.Categorical([None] * len(X), categories=towns))
    assert_same_frames(model, new, missing)
    assert model.feature_importances_.argmax() == 0


def assert_same_frames(model, one, other):
    for left, right in zip(judged(model, one), judged(model, other), strict=True):
        assert_array_equal(left, right)


def test_words_without_the_type_category_are_refused_with_a_remedy():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"town": pd.Categorical(["a", "b"] * 20), "name": ["x", "y"] * 20})
    with pytest.raises(ValueError, match="astype"):
        quick().fit(X, [0, 1] * 20)


@every_form
def test_sparse_rows_are_as_dense_ones_whose_zeros_are_missing(form):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6)) * (rng.uniform(size=(400, 6)) < 0.4)
    y = (X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=400) > 0).astype(int)
    model = quick(form).fit(sparse.csr_matrix(X), y)
    assert model.score(X, y) > 0.6
    assert_array_equal(model.judge(X).sureness, model.judge(sparse.csr_array(X)).sureness)
    dense = quick(form).fit(np.where(X == 0, np.nan, X), y)
    assert_array_equal(dense.judge(np.where(X == 0, np.nan, X)).sureness, model.judge(X).sureness)


@pytest.mark.parametrize("form", ["parallel", "replicas"])
def test_constraints_of_the_user_are_kept(form):
    X, y = three_classes(800)
    model = quick(form, monotone_constraints=[1, 0]).fit(X, y)
    line = np.column_stack([np.linspace(-3, 6, 200), np.full(200, 0.5)])
    scores = model.boundary_scores(line)
    assert (np.diff(scores, axis=0) >= -1e-9).all()
    free = quick(form).fit(X, y).boundary_scores(line)
    assert (np.diff(free, axis=0) < -1e-9).any()


def test_constraints_by_name_and_mistakes_in_them():
    pd = pytest.importorskip("pandas")
    X, y = two_classes()
    frame = pd.DataFrame(X, columns=["age", "dose"])
    model = quick(monotone_constraints={"dose": -1}).fit(frame, y)
    line = pd.DataFrame({"age": 0.5, "dose": np.linspace(0, 1, 50)})
    assert (np.diff(model.boundary_scores(line), axis=0) <= 1e-9).all()
    with pytest.raises(ValueError, match="not a feature"):
        quick(monotone_constraints={"weight": 1}).fit(frame, y)
    with pytest.raises(ValueError, match="each of the 2 features"):
        quick(monotone_constraints=[1]).fit(frame, y)
    with pytest.raises(ValueError, match="no meaning"):
        quick("posteriors", monotone_constraints=[1, 0]).fit(*three_classes())


def test_values_too_large_for_single_precision_are_refused():
    X, y = two_classes()
    X = X.copy()
    X[3, 1] = 1e39
    with pytest.raises(ValueError, match="too large"):
        quick().fit(X, y)


@every_form
def test_class_weights_count_as_more_rows(form):
    X, y = two_classes()
    balanced = quick(form, class_weight={-1: 1.0, 1: 5.0}).fit(X, y)
    plain = quick(form).fit(X, y)
    assert balanced.predict_proba(X)[:, 1].mean() > plain.predict_proba(X)[:, 1].mean() + 0.05


# ---- growing ------------------------------------------------------------------------------


def test_growth_stops_early():
    X, y = two_classes(1000)
    model = RejoBoost(random_state=0, n_jobs=1, n_estimators=2000).fit(X, y)
    assert model.n_estimators_ < 300
    whole = quick(early_stopping_rounds=None).fit(X, y)
    assert whole.n_estimators_ == 40


def test_few_rows_of_a_class_are_all_learned_from():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    model = RejoBoost(n_estimators=5, min_child_weight=0.0).fit(X, [0, 0, 0, 1])
    assert len(model.predict(X)) == 4


@every_form
def test_legs_do_not_change_the_trees(form):
    X, y = three_classes(500)
    k = np.unique(y, return_inverse=True)[1]
    X = X.astype(np.float32)
    model = quick(form, n_estimators=12)
    plan = model.plan(np.arange(3), True, np.random.RandomState(0), names=2)

    def train():
        return [Block(X[:200], k[:200]), Block(X[200:400], k[200:400])]

    def held_out():
        return [Block(X[400:], k[400:])]

    whole = Grower(plan, train, held_out, 1).grow()
    stage = None
    for _ in range(4):  # each leg in a process of its own, as it were
        stage = Grower(plan, train, held_out, 1).grow(stage, rounds=3)
    assert stage.finished
    assert_array_equal(stage.losses, whole.losses)
    for one, other in zip(
        vars(grown_from(plan, stage).trees).values(),
        vars(grown_from(plan, whole).trees).values(),
        strict=True,
    ):
        assert_array_equal(one, other)


def test_the_rows_held_out_do_not_grow_trees():
    """They stop the growth and set the thresholds; only labels of others change a tree."""
    X, y = three_classes(500)
    k = np.unique(y, return_inverse=True)[1]
    X = X.astype(np.float32)
    model = quick("parallel", early_stopping_rounds=1000, n_estimators=5)
    plan = model.plan(np.arange(3), True, np.random.RandomState(0), names=2)

    def trees(held_out, train=k[:400]):
        grower = Grower(plan, lambda: [Block(X[:400], train)], lambda: [held_out], 1)
        return grower.grow().model

    one = trees(Block(X[400:], k[400:]))
    assert trees(Block(X[400:], 2 - k[400:])) == one
    assert trees(Block(X[400:], k[400:]), train=2 - k[:400]) != one


def test_the_same_seed_gives_the_same_model():
    X, y = two_classes()
    assert_same(quick(subsample=0.5).fit(X, y), quick(subsample=0.5).fit(X, y), X)
    other = quick(subsample=0.5, random_state=1).fit(X, y)
    assert not np.array_equal(other.trees_.value, quick(subsample=0.5).fit(X, y).trees_.value)


# ---- the rest of the package ----------------------------------------------------------------


def test_predictions_need_no_xgboost(tmp_path):
    X, y = three_classes()
    np.save(tmp_path / "X.npy", X)
    models = {form: quick(form).fit(X, y) for form in FORMS}
    for form, model in models.items():
        rejo.save(model, tmp_path / f"{form}.rejo")
    script = (
        "import sys; sys.modules['xgboost'] = None\n"
        "import numpy as np, rejo\n"
        "X = np.load('X.npy')\n"
        f"for form in {[*models]}:\n"
        "    model = rejo.load(f'{form}.rejo')\n"
        "    print(model.predict(X).tolist())\n"
        "try:\n    model.fit(X, np.arange(len(X)) % 2)\n"
        "except ImportError as error:\n    print(error)\n"
    )
    run = dict(capture_output=True, text=True, check=True, cwd=tmp_path)
    *decisions, said = subprocess.run([sys.executable, "-c", script], **run).stdout.splitlines()
    assert decisions == [str(model.predict(X).tolist()) for model in models.values()]
    assert "rejo[boost]" in said


@every_form
def test_a_graph_decides_the_same(form):
    runtime = pytest.importorskip("onnxruntime")
    X, y = three_classes()
    X = X.copy()
    X[::9, 0] = np.nan
    for model in (quick(form).fit(X, y), quick(form, reject_cost=None).fit(X, y)):
        proto = rejo.to_onnx(model)
        session = runtime.InferenceSession(proto.SerializeToString())
        labels, index = session.run(["label", "index"], {"X": X})
        assert_array_equal(labels, model.predict(X))
        assert_array_equal(index, model.judge(X).decision)


def test_a_graph_of_categories_is_refused():
    pytest.importorskip("onnx")
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"town": pd.Categorical(["a", "b"] * 50)})
    with pytest.raises(ValueError, match="categories"):
        rejo.to_onnx(quick().fit(X, [0, 1] * 50))


@every_form
def test_reviews_are_explained_by_its_trees(form):
    pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 3))
    y = (X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=800) > 0).astype(int)
    model = quick(form).fit(X, y)
    found = pulls(model, X)
    assert found.way == "trees"
    size = np.abs(found.values).mean(axis=0)
    assert size[:2].min() > 3 * size[2]
    up = X[found.rows, 0] > 1
    assert (found.values[up, 0] > 0).mean() > 0.95


def test_it_works_in_a_pipeline_and_pickles():
    X, y = two_classes()
    model = make_pipeline(StandardScaler(), quick()).fit(X, y)
    assert rejo.review(model, X)["decision"].isin([-1, 0, 1]).all()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"boundaries": "straight"}, "boundaries"),
        ({"n_estimators": 0}, "n_estimators"),
        ({"max_depth": 100}, "max_depth"),
        ({"validation": 1}, "validation"),
        ({"validation": 1.5}, "validation"),
        ({"reject_cost": 0.7}, "reject_cost"),
        ({"learning_rate": 0}, "learning_rate"),
        ({"boundaries": "posteriors", "s": 1}, "cost_of"),
    ],
)
def test_wrong_parameters_are_named(options, said):
    X, y = two_classes(100)
    with pytest.raises(ValueError, match=said):
        RejoBoost(**options).fit(X, y)


# ---- mistakes --------------------------------------------------------------------------------


def test_ctrl_c_while_rows_are_read_ends_the_fit():
    """XGBoost asks for rows from compiled code, which would lose the exception."""
    X, y = two_classes(200)
    k, before = (y > 0).astype(int), signal.getsignal(signal.SIGINT)
    plan = quick().plan(np.arange(2), True, np.random.RandomState(0), names=2)
    for number in range(1, 12):
        read = iter(range(1, 1000))

        def blocks(read=read, number=number):
            for part in (slice(0, 100), slice(100, 200)):
                if next(read) == number:
                    signal.raise_signal(signal.SIGINT)
                yield Block(X[part].astype(np.float32), k[part])

        with pytest.raises(KeyboardInterrupt):
            Grower(plan, blocks, blocks, 1)
    assert signal.getsignal(signal.SIGINT) is before


def test_an_array_for_a_model_with_categories_is_refused():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"town": pd.Categorical(["a", "b"] * 50)})
    model = quick().fit(X, [0, 1] * 50)
    with pytest.raises(ValueError, match="must be a DataFrame"):
        model.predict(np.zeros((3, 1)))


@pytest.mark.parametrize("beside", [{}, {"town": ["a", "b"] * 50}])
def test_days_and_words_are_refused_with_a_remedy(beside):
    pd = pytest.importorskip("pandas")
    more = {name: pd.Categorical(values) for name, values in beside.items()}
    days = pd.DataFrame({"since": pd.date_range("2024-01-01", periods=100), **more})
    words = pd.DataFrame({"since": ["x", "y"] * 50, **more})
    for X in (days, words):
        with pytest.raises(ValueError, match="TableEncoder"):
            quick().fit(X, [0, 1] * 50)


def test_categories_may_come_back_as_numbers_or_words():
    pd = pytest.importorskip("pandas")
    y = np.array([0, 1] * 200)
    words, numbers = (
        pd.DataFrame({"code": values}) for values in (["10", "20"] * 200, [10, 20] * 200)
    )
    for one, other in ((words, numbers), (numbers, words)):
        model = quick().fit(one.astype("category"), y)
        assert (model.predict_forced(other) == y).all()


def test_weights_that_leave_no_split_are_told():
    X, y = two_classes()
    with pytest.warns(UserWarning, match="No tree has a split"):
        quick().fit(X, y, sample_weight=np.full(len(y), 1e-4))
    for weight in (1e-30, 1e30):
        with pytest.raises(ValueError, match="mean of 1"):
            quick().fit(X, y, sample_weight=np.full(len(y), weight))


def test_more_mistakes_are_named():
    pd = pytest.importorskip("pandas")
    X, y = two_classes()
    with pytest.raises(ValueError, match="each of the 2 features"):
        quick(monotone_constraints=[0.5, 0]).fit(X, y)
    towns = pd.DataFrame({"town": pd.Categorical(["a", "b"] * 300)})
    with pytest.raises(ValueError, match="no direction"):
        quick(monotone_constraints=[1]).fit(towns, y)
    for costs in ([], [None, 0.2]):
        with pytest.raises(ValueError, match="reject_costs"):
            quick().fit_path(X, y, reject_costs=costs)
    with pytest.raises(ValueError, match="too large"):
        quick().fit(sparse.csr_matrix(np.where(X > 0.9, 1e300, X)), y)
