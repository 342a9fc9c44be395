"""Bags of instances as rows of numbers."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags

import rejo
from rejo.baselines import BagEmbedding, EmbeddedRejectSVC, ThresholdRejectClassifier
from rejo.baselines import bag_embedding as room
from rejo.baselines.bags import bag_array, bags_of, is_bags
from rejo.datasets import make_bags
from rejo.estimators import RejoSVC
from rejo.persistence import inspect
from rejo.selection import RejectClassifierCV, compare


@pytest.fixture(scope="module")
def drawn():
    return make_bags(120, random_state=3)


@pytest.fixture(scope="module")
def embedding(drawn):
    return BagEmbedding(12, random_state=0).fit(drawn[0])


def by_hand(embedding, bag):
    """The formula, one number at a time."""
    z, scale = embedding.prototypes_, embedding.scale_
    rows = [
        [np.exp(-embedding.gamma_ * (((x - prototype) / scale) ** 2).sum()) for prototype in z]
        for x in np.asarray(bag)
    ]
    return np.max(rows, axis=0)


# ---- the embedding ------------------------------------------------------------------------


def test_it_is_the_formula(drawn, embedding):
    X = drawn[0][:20]
    assert_allclose(embedding.transform(X), [by_hand(embedding, bag) for bag in X], rtol=1e-12)


def test_neither_the_order_nor_the_number_of_equal_instances_matters(drawn, embedding):
    X, rng = drawn[0], np.random.default_rng(0)
    before = embedding.transform(X)
    shuffled = [rng.permutation(bag) for bag in X]
    repeated = [np.concatenate([bag, bag[rng.integers(len(bag), size=3)]]) for bag in X]
    assert_array_equal(embedding.transform(shuffled), before)
    assert_array_equal(embedding.transform(repeated), before)


def test_more_instances_are_never_less_similar(drawn, embedding):
    X = drawn[0]
    more = [np.concatenate([a, b]) for a, b in zip(X[:50], X[50:100], strict=True)]
    both = np.maximum(embedding.transform(X[:50]), embedding.transform(X[50:100]))
    assert_array_equal(embedding.transform(more), both)


def test_a_bag_that_contains_a_prototype_has_similarity_one(drawn, embedding):
    found = embedding.transform([[prototype] for prototype in embedding.prototypes_.tolist()])
    assert_array_equal(np.diag(found), 1.0)
    assert (found[~np.eye(len(found), dtype=bool)] < 1).all()
    with_it = [np.vstack([bag, embedding.prototypes_[2]]) for bag in drawn[0]]
    assert_array_equal(embedding.transform(with_it)[:, 2], 1.0)


@pytest.mark.parametrize("block", [1, 40, 1 << 22])
def test_other_bags_and_blocks_do_not_matter(drawn, embedding, block, monkeypatch):
    X = drawn[0]
    alone = np.vstack([embedding.transform(X[i : i + 1]) for i in range(len(X))])
    monkeypatch.setattr(room, "BLOCK", block)
    assert_array_equal(embedding.transform(X), alone)
    assert_array_equal(embedding.transform(X[::-1]), alone[::-1])


def test_far_instances_are_similar_to_nothing(embedding):
    assert_array_equal(embedding.transform([[[1e300, -1e300]], [[1e100, 0]]]), 0.0)


# ---- prototypes ---------------------------------------------------------------------------


def test_prototypes_are_instances_of_training_and_the_same_each_time(drawn):
    X, y = drawn
    instances = {tuple(row) for row in np.concatenate(X)}
    for options in ({}, {"by_class": True}, {"scale": False}):
        model = BagEmbedding(10, random_state=5, **options).fit(X, y)
        assert {tuple(row) for row in model.prototypes_} <= instances
        assert len(model.prototypes_) == 10
        assert_array_equal(clone(model).fit(X, y).prototypes_, model.prototypes_)


def test_there_are_as_many_prototypes_as_different_instances_at_most():
    X = [[[0.0, 1.0], [0.0, 1.0]], [[2.0, 1.0]], [[0.0, 1.0], [2.0, 1.0]]]
    model = BagEmbedding(30, random_state=0).fit(X)
    assert_array_equal(model.prototypes_, [[0, 1], [2, 1]])
    one = BagEmbedding(random_state=0).fit([[[3.0]]])
    assert_array_equal(one.transform([[[3.0]], [[3.0], [9.0]]]), 1.0)


def test_classes_share_the_prototypes():
    rng = np.random.default_rng(0)
    X = [rng.normal(10 * (i % 3 == 0), 1, (4, 2)) for i in range(60)]  # a third lies elsewhere
    y = [i % 3 == 0 for i in range(60)]
    model = BagEmbedding(8, by_class=True, random_state=0).fit(X, y)
    assert (model.prototypes_[:, 0] > 5).sum() == 4
    assert get_tags(model).target_tags.required
    with pytest.raises(ValueError, match=r"needs the classes of the bags: call fit\(X, y\)"):
        model.fit(X)
    with pytest.raises(ValueError, match="n_prototypes=1 is too few for the 2 classes"):
        BagEmbedding(1, by_class=True).fit(X, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, y[:-1])


def test_units_do_not_matter_if_features_are_scaled(drawn):
    X = drawn[0]
    units = np.array([1024.0, 1 / 64])
    other = [bag * units + [8.0, -4.0] for bag in X]
    found, same = (BagEmbedding(10, random_state=0).fit(bags) for bags in (X, other))
    assert_allclose(same.prototypes_, found.prototypes_ * units + [8.0, -4.0], rtol=1e-9)
    assert_allclose(same.transform(other), found.transform(X), rtol=1e-6)
    assert_allclose(found.gamma_, 1 / 2)
    as_is = BagEmbedding(10, scale=False, random_state=0).fit(X)
    assert_array_equal(as_is.scale_, 1.0)
    assert_allclose(as_is.gamma_, 1 / np.concatenate(X).var(axis=0).sum())


def test_a_constant_feature_changes_nothing(drawn):
    X = drawn[0]
    wider = [np.column_stack([bag, np.full(len(bag), 1e6)]) for bag in X]
    found, same = (BagEmbedding(10, random_state=0, gamma=0.5).fit(bags) for bags in (X, wider))
    assert_allclose(same.transform(wider), found.transform(X), rtol=1e-12)


# ---- what is refused ----------------------------------------------------------------------

GOOD = np.zeros((2, 3))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros((5, 3)), r"sequence of bags; got one ndarray of shape \(5, 3\).*bags_of"),
        (np.zeros(5), r"sequence of bags; got one ndarray of shape \(5,\)"),
        (csr_matrix(np.eye(3)), r"got one csr_matrix of shape \(3, 3\)"),
        ([[1.0, 2.0], [3.0, 4.0]], r"bag 0 of X must have the shape.*\[instance\].*bags_of"),
        ("bags", "X must be a sequence of bags.*got 'bags'"),
        ({"a": GOOD}, "X must be a sequence of bags"),
        (None, "X must be a sequence of bags.*got None"),
        ([], "X has no bags"),
        ([GOOD, np.zeros((0, 3))], "bag 1 of X has no instances: leave it out"),
        ([GOOD, np.zeros((2, 0))], "bag 1 of X has no features"),
        ([GOOD, np.zeros((2, 4))], "bag 1 of X has 4 features, and bag 0 has 3"),
        ([GOOD, [[1.0, np.nan, 2.0]]], "bag 1 of X contains NaN or infinity"),
        ([GOOD, [[1.0, np.inf, 2.0]]], "bag 1 of X contains NaN or infinity"),
        ([GOOD, [["a", "b", "c"]]], "bag 1 of X is not an array of numbers"),
        ([GOOD, [[1.0, 2.0], [3.0]]], "bag 1 of X is not an array of numbers"),
        ([GOOD, csr_matrix(GOOD)], "bag 1 of X is not an array of numbers"),
        ([GOOD, None], "bag 1 of X"),
        ([GOOD, np.zeros((1, 2, 3))], r"bag 1 of X must have the shape.*got \(1, 2, 3\)"),
    ],
)
def test_what_is_not_bags_is_refused(X, message, drawn):
    with pytest.raises(ValueError, match=message):
        BagEmbedding().fit(X)
    if not message.endswith("bag 0 has 3"):
        with pytest.raises(ValueError, match=message):
            BagEmbedding(2).fit([GOOD, GOOD + 1]).transform(X)


def test_large_values_and_other_parameters_are_refused(drawn):
    with pytest.raises(ValueError, match="overflows: scale the features"):
        BagEmbedding().fit([[[1e200]], [[0.0]]])
    for bad in (
        {"n_prototypes": 0}, {"gamma": 0.0}, {"gamma": 1e-301}, {"gamma": 1e301}, {"gamma": "auto"},
        {"scale": "yes"},
    ):  # fmt: skip
        with pytest.raises(ValueError, match=f"{next(iter(bad))}.* parameter"):
            BagEmbedding(**bad).fit(drawn[0])


def test_other_features_than_in_training_are_refused(embedding):
    with pytest.raises(ValueError, match="3 features, but BagEmbedding is expecting 2"):
        embedding.transform([GOOD])


def test_columns_have_names():
    pd = pytest.importorskip("pandas")
    X, _ = make_bags(30, random_state=0)
    frames = [pd.DataFrame(bag, columns=["u", "v"]) for bag in X]
    model = BagEmbedding(5, random_state=0).fit(frames)
    assert model.feature_names_in_.tolist() == ["u", "v"]
    assert_array_equal(model.transform(frames), BagEmbedding(5, random_state=0).fit_transform(X))
    with pytest.raises(ValueError, match="bag 1 of X has other columns than bag 0"):
        model.transform([frames[0], frames[1][["v", "u"]]])
    with pytest.raises(ValueError, match="feature names"):
        model.transform([frames[0][["v", "u"]]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.transform(X)
    with pytest.raises(ValueError, match="got one DataFrame of shape"):
        model.transform(frames[0])


# ---- together with others -----------------------------------------------------------------


def model():
    return make_pipeline(BagEmbedding(12, random_state=0), RejoSVC(kernel="linear", C=10))


def by_posteriors():
    return make_pipeline(
        BagEmbedding(12, random_state=0), ThresholdRejectClassifier(LogisticRegression())
    )


def test_the_output_may_be_a_frame(drawn):
    pytest.importorskip("pandas")
    X = drawn[0]
    framed = BagEmbedding(3, random_state=0).set_output(transform="pandas").fit(X)
    frame = framed.transform(list(X))
    assert list(frame.columns) == ["prototype0", "prototype1", "prototype2"]
    assert_array_equal(frame, BagEmbedding(3, random_state=0).fit_transform(X))


@pytest.mark.parametrize("form", [list, tuple, bag_array])
def test_it_can_be_cross_validated_and_tuned(drawn, form):
    X, y = drawn
    scores = cross_val_score(model(), form(X), y, cv=3)
    assert (scores > 0.7).all()  # a review of all bags would score 0.8, and a guess 0.5
    search = GridSearchCV(model(), {"bagembedding__n_prototypes": [2, 12]}, cv=3)
    assert search.fit(form(X), y).best_params_ == {"bagembedding__n_prototypes": 12}
    methods = {"boundaries": model(), "posteriors": by_posteriors()}
    compared = compare(methods, form(X), y, reject_costs=[0.2], cv=3, verbose=False)
    assert {row["method"] for row in compared.rows} >= methods.keys()


def test_an_operating_point_can_be_chosen_and_kept_in_a_file(drawn, tmp_path):
    pytest.importorskip("skops")
    X, y = drawn
    chosen = RejectClassifierCV(by_posteriors(), review_budget=0.2, cv=3).fit(X, y)
    assert chosen.reject_mask(X).mean() < 0.4
    rejo.save(chosen, tmp_path / "model.rejo", X=X, y=y)
    loaded = rejo.load(tmp_path / "model.rejo")
    assert_array_equal(loaded.predict(X), chosen.predict(X))


def test_reviews_and_the_queue_take_bags(drawn):
    pytest.importorskip("pandas")
    X, y = drawn
    fitted = model().fit(X, y)
    frame = rejo.review(fitted, list(X))
    assert_array_equal(frame["decision"], fitted.predict(X))
    assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), fitted.predict(X))


def test_the_hash_in_a_file_depends_on_every_value(drawn, tmp_path):
    pytest.importorskip("skops")
    X, y = make_bags(40, random_state=1)
    X[3] = np.tile(X[3], (2000, 1))  # too long to be shown in full
    fitted = model().fit(X, y)
    changed = [bag.copy() for bag in X]
    changed[3][700, 1] += 1.0
    hashes = []
    lists = [bag.tolist() for bag in X]
    for i, bags in enumerate((X, lists, changed)):
        rejo.save(fitted, path := tmp_path / f"{i}.rejo", X=bags, y=y)
        hashes.append(inspect(path).data_hash)
    assert hashes[0] == hashes[1] != hashes[2]


def test_it_beats_the_mean_of_a_bag(drawn):
    """One point of a bag decides; its mean hardly shows it."""
    X, y = make_bags(300, random_state=0)
    X_new, y_new = make_bags(500, random_state=1)
    means, means_new = (np.array([bag.mean(axis=0) for bag in bags]) for bags in (X, X_new))
    plain = RejoSVC(C=10).fit(means, y).score(means_new, y_new)
    for learner in (RejoSVC(kernel="linear"), EmbeddedRejectSVC(C=0.03)):
        embedded = make_pipeline(BagEmbedding(gamma=1.0, random_state=0), learner).fit(X, y)
        assert embedded.score(X_new, y_new) > plain + 0.02


# ---- making bags --------------------------------------------------------------------------


def test_rows_of_a_table_become_bags():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(
        {
            "u": [1.0, 2.0, 3.0, 4.0],
            "image": ["b", "a", "b", "c"],
            "v": [5.0, 6.0, 7.0, 8.0],
            "kind": pd.Categorical(list("hlhl"), categories=["l", "m", "h"], ordered=True),
        }
    )
    X, y, names = bags_of(table, "image", "kind")
    assert names.tolist() == y.index.tolist() == ["b", "a", "c"]
    assert y.tolist() == ["h", "l", "l"]
    assert y.dtype == table["kind"].dtype
    assert [bag.to_numpy().tolist() for bag in X] == [[[1, 5], [3, 7]], [[2, 6]], [[4, 8]]]
    assert BagEmbedding(2).fit(X).feature_names_in_.tolist() == ["u", "v"]
    unlabelled = bags_of(table.drop(columns="kind"), "image")
    assert unlabelled.y is None
    assert len(unlabelled.X) == 3


def test_tables_that_are_no_bags_are_refused():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"u": [1.0, 2.0], "image": ["a", "a"], "kind": [0, 1]})
    with pytest.raises(ValueError, match="rows of bag 'a' have different labels in 'kind'"):
        bags_of(table, "image", "kind")
    with pytest.raises(ValueError, match="no column 'picture'; it has"):
        bags_of(table, "picture")
    with pytest.raises(ValueError, match="column 'image' has missing values"):
        bags_of(table.assign(image=["a", None]), "image")
    with pytest.raises(TypeError, match="must be a pandas or polars DataFrame; got ndarray"):
        bags_of(table.to_numpy(), "image")


def test_bags_are_told_from_tables():
    pd = pytest.importorskip("pandas")
    bags = [GOOD, GOOD[:1]]
    assert all(map(is_bags, (bags, tuple(bags), bag_array(bags), pd.Series(bags), [GOOD, GOOD])))
    assert is_bags(np.zeros((4, 2, 3)))
    assert is_bags([[[1.0, 2.0]], [[3.0, 4.0], [5.0, 6.0]]])
    assert bag_array([GOOD, GOOD]).shape == (2,)
    tables = (GOOD, GOOD.tolist(), pd.DataFrame(GOOD), csr_matrix(GOOD), [], None, [1, 2], GOOD[0])
    assert not any(map(is_bags, tables))


def test_drawn_bags_are_as_described():
    X, y = make_bags(4000, random_state=0)
    nearest = np.array([np.linalg.norm(bag, axis=1).min() for bag in X])
    others = np.concatenate([np.sort(np.linalg.norm(bag, axis=1))[1:] for bag in X])
    assert {len(bag) for bag in X} == set(range(3, 11))
    assert (y[nearest < 0.5] == 1).all()
    assert (y[nearest > 1.5] == 0).all()
    assert nearest.max() <= 2 <= others.min()
    assert others.max() <= 5
    for r in (0.6, 0.8, 1.0, 1.2, 1.4):
        near = np.abs(nearest - r) < 0.1
        assert abs(y[near].mean() - (1.5 - r)) < 4 * 0.5 / near.sum() ** 0.5
    again = make_bags(4000, random_state=0)
    assert_array_equal(np.concatenate(again[0]), np.concatenate(X))
    # The best rule reviews r in [0.5 + w, 1.5 - w].
    w = 0.2
    reviewed = (nearest > 0.5 + w) & (nearest < 1.5 - w)
    risk = w * reviewed.mean() + ((nearest < 1) != y)[~reviewed].mean() * (~reviewed).mean()
    assert abs(risk - (w - w**2) / 2) < 0.01
    with pytest.raises(ValueError, match="n_bags must be positive"):
        make_bags(0)
