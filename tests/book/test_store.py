"""The case book as a file: whole whatever happens, one batch once, and nothing but our tables."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

from rejo._errors import RejoError  # noqa: E402
from rejo.book import Book  # noqa: E402

FRAME = pd.DataFrame(
    {
        "id": ["a", "b", "c"],
        "decision": ["no", None, "yes"],
        "forced": ["no", "yes", "yes"],
        "chance": [0.1, 0.5, np.nan],
        "rank": [0, 1, 0],
    }
)


@pytest.fixture
def book(tmp_path):
    with Book(tmp_path / "cases.db", create=True) as book:
        yield book


def add(book, frame=FRAME, model="m", about=None):
    with book.batch(model, about or {"classes": ["no", "yes"]}) as batch:
        batch.add(frame)
    return batch.number, batch.known


def said(ids, classes, **more):
    return pd.DataFrame({"id": ids, "class": classes, **more}, dtype=object)


def test_the_same_batch_is_one_in_any_order(book):
    assert add(book) == (1, False)
    assert add(book, FRAME[::-1]) == (1, True)
    assert add(book, FRAME.assign(chance=[0.2, 0.5, np.nan])) == (2, False)
    assert add(book, model="other") == (3, False)
    cases = book.cases()
    assert cases.groupby("batch")["id"].apply("".join).tolist() == ["abc"] * 3
    assert book.batches()["n"].tolist() == [3, 3, 3]
    assert cases["decision"][:3].tolist() == ["no", None, "yes"]
    np.testing.assert_array_equal(cases["chance"][:3], FRAME["chance"])


@pytest.mark.parametrize("parts", [[FRAME, FRAME[:1]], [FRAME.assign(id="a")]])
def test_an_id_names_one_case_of_a_batch(book, parts):
    def add_parts():
        with book.batch("m", {}) as batch:
            for part in parts:
                batch.add(part)

    with pytest.raises(RejoError) as refused:
        add_parts()
    assert refused.value.parameter == "id"
    assert (len(book.cases()), len(book.batches()), book.models()) == (0, 0, {})


def test_the_newest_answer_counts_and_all_stay(book):
    add(book)
    first = said(["a", "b", "z"], ["yes", "no", "no"], who=["Ann", "Bob", "Bob"])
    assert book.add_answers(first, "one") == (2, 0, ["z"], [])
    assert book.add_answers(first, "one") == (0, 2, ["z"], [])
    assert book.add_answers(first[:2], "the same again") == (0, 2, [], [])
    later = said(["b", "a"], ["yes", "yes"], who="Bob", time="2999-01-01T00:00:00Z")
    assert book.add_answers(later, "two") == (2, 0, [], [])
    early = said(["b"], ["no"], who=["Cid"], time="2001-01-01T00:00:00Z")
    assert book.add_answers(early, "three") == (1, 0, [], ["b"])
    outcome = said(["a", "c"], ["no", "no"], kind="outcome", time="2001-01-01T00:00:00Z")
    assert book.add_answers(outcome, "four").added == 2
    cases = book.cases().set_index("id")
    assert cases["review"].to_dict() == {"a": "yes", "b": "yes", "c": None}
    assert cases["who"].to_dict() == {"a": "Bob", "b": "Bob", "c": None}
    assert cases["truth"].to_dict() == {"a": "no", "b": "yes", "c": "no"}
    assert cases["answered"]["a"] == "2001-01-01T00:00:00Z"
    assert len(book.answers()) == 7
    # The first file again says nothing new, though Bob has changed his mind since.
    assert book.add_answers(first, "one").added == 0
    assert book.cases().set_index("id")["truth"]["b"] == "yes"


def test_an_answer_holds_in_every_batch_or_in_the_one_it_names(book):
    add(book)
    add(book, model="other")
    book.add_answers(said(["a", "b"], ["yes", "no"], batch=[None, 2]), "one")
    cases = book.cases().set_index(["id", "batch"])["truth"]
    assert cases[[("a", 1), ("a", 2), ("b", 1), ("b", 2)]].tolist() == ["yes", "yes", None, "no"]


def test_an_answer_holds_for_models_that_have_its_class(book):
    add(book)
    with book.batch("third", {"classes": ["low", "high"]}) as batch:
        batch.add(pd.DataFrame({"id": ["a"], "decision": ["low"], "forced": ["low"]}))
    book.add_answers(said(["a", "a"], ["high", "no"], time=["2026-01-01", "2026-01-02"]), "one")
    cases = book.cases()
    assert cases[cases["id"] == "a"]["truth"].tolist() == ["no", "high"]


def text_file(path):
    path.write_text("id,class\n" * 100)


def other_database(path):
    with sqlite3.connect(path) as base:
        base.execute("CREATE TABLE cases (id)")


def newer(path):
    with sqlite3.connect(path) as base:
        base.execute("UPDATE meta SET value = '2' WHERE key = 'version'")


def trigger(path):
    with sqlite3.connect(path) as base:
        base.execute("CREATE TRIGGER t AFTER INSERT ON cases BEGIN DELETE FROM cases; END")


def trigger_with_the_name_of_an_index(path):
    with sqlite3.connect(path) as base:
        base.execute("DROP INDEX case_ids")
        base.execute("CREATE TRIGGER case_ids AFTER INSERT ON cases BEGIN DELETE FROM cases; END")


CHANGED = [newer, trigger, trigger_with_the_name_of_an_index]


@pytest.mark.parametrize("create", [False, True])
@pytest.mark.parametrize("change", [text_file, other_database, *CHANGED])
def test_a_file_that_is_no_book_of_this_version_is_refused(tmp_path, change, create):
    path = tmp_path / "cases.db"
    if change in CHANGED:
        with Book(path, create=True) as book:
            add(book)
    change(path)
    before = path.read_bytes()
    with pytest.raises(RejoError) as refused:
        Book(path, create=create)
    assert (refused.value.parameter, refused.value.where) == ("book", str(path))
    assert path.read_bytes() == before


@pytest.mark.parametrize("change", ["chance = 'high'", "rank = x'00'", "weight = 'x'"])
def test_cells_that_are_no_numbers_are_said(book, change):
    add(book)
    with sqlite3.connect(book.path) as base:
        base.execute(f"UPDATE cases SET {change}")
    with pytest.raises(RejoError) as refused:
        book.cases()
    assert refused.value.parameter == "book"


@pytest.mark.parametrize("about", ["{", "[]", "{}", '{"classes": 7}', "[" * 100_000])
def test_what_is_said_of_a_model_is_checked(tmp_path, about):
    with Book(tmp_path / "cases.db", create=True) as book:
        add(book)
        book.models()
        with sqlite3.connect(book.path) as base:
            base.execute("UPDATE models SET about = ?", [about])
        with pytest.raises(RejoError):
            book.models()


def test_a_file_that_is_not_there_is_made_only_if_asked(tmp_path):
    with pytest.raises(RejoError):
        Book(tmp_path / "cases.db")
    assert not list(tmp_path.iterdir())
    (tmp_path / "cases.db").touch()  # what a process leaves that is killed at once
    with Book(tmp_path / "cases.db", create=True) as book:
        assert add(book) == (1, False)


def test_two_writers_lose_nothing(tmp_path):
    path = tmp_path / "cases.db"

    def write(name):
        with Book(path, create=True) as book:
            for i in range(8):
                ids = [f"{name}-{i}-{j}" for j in range(50)]
                add(book, pd.DataFrame({"id": ids, "decision": "no"}))
                book.add_answers(said(ids, "no", who=name), f"{name}-{i}")

    with ThreadPoolExecutor() as threads:
        list(threads.map(write, ["one", "two"]))
    with Book(path) as book:
        cases = book.cases()
    assert len(set(cases["id"])) == len(cases) == 2 * 8 * 50
    assert (cases["truth"] == "no").all()
    assert cases.groupby("batch").size().tolist() == [50] * 16


def test_a_full_disk_leaves_the_book_as_it_was(book):
    resource = pytest.importorskip("resource")
    add(book)
    many = pd.DataFrame({"id": [f"{i:06d}" for i in range(20_000)], "decision": "no"})
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, limits[1]))
    try:
        with pytest.raises(RejoError) as refused:
            add(book, many)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert refused.value.parameter == "book"
    assert book.cases()["id"].tolist() == ["a", "b", "c"]
    assert add(book, many) == (2, False)
