"""``rejo predict --reviewers`` and ``--queue``, and the way back through ``rejo answers``."""

import json
import shutil
import subprocess
from xml.etree import ElementTree

import pandas as pd
import pytest

from rejo._errors import RejoError
from rejo.book import Book, labelstudio, queue_of, write_workbook

openpyxl = pytest.importorskip("openpyxl")

HOSTILE = ["=1+2", "+cmd|' /C calc'!A0", "@SUM(A1)", "-1+1", "http://x.y", "{=A1}", "007", "1e5"]
# https://labelstud.io/guide/tasks and .../guide/predictions: what a file of tasks must hold.
RESULT = {
    "type": "object",
    "required": ["from_name", "to_name", "type", "value"],
    "properties": {
        "id": {"type": "string"},
        "type": {"const": "choices"},
        "value": {
            "type": "object",
            "required": ["choices"],
            "properties": {"choices": {"type": "array", "items": {"type": "string"}}},
        },
    },
}
PREDICTION = {
    "type": "object",
    "required": ["result"],
    "properties": {
        "model_version": {"type": "string"},
        "score": {"type": "number", "minimum": 0, "maximum": 1},
        "result": {"type": "array", "items": RESULT},
    },
    "additionalProperties": False,
}
TASKS = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["data"],
        "properties": {
            "data": {"type": "object"},
            "predictions": {"type": "array", "items": PREDICTION},
        },
        "additionalProperties": False,
    },
}


@pytest.fixture
def hostile(table, folder):
    """Path of cases whose names a spreadsheet could run."""
    frame = table(80, seed=1)
    frame.loc[: len(HOSTILE) - 1, "case"] = HOSTILE
    frame.to_csv(folder / "hostile.csv", index=False)
    return folder / "hostile.csv"


@pytest.fixture
def team(folder):
    """Path of a table of two reviewers with names that no sheet may have."""
    names = {"name": ["Ann/Bo: [x]" + "y" * 40, "=1"], "cases": [9, 4]}
    pd.DataFrame(names).to_csv(folder / "team.csv", index=False)
    return folder / "team.csv"


def test_a_queue_has_a_sheet_for_each_person(run, model, hostile, team, folder):
    words = ("predict", model, hostile, "-o", "out.csv", "--book", "cases.db", "--why")
    code, out, _ = run(*words, "--reviewers", team, "--queue", "queue.xlsx", "--json")
    told = json.loads(out)
    found = pd.read_csv("out.csv", dtype=str, keep_default_na=False)
    reviewed = found[found["decision"] == "review"]
    assert code == 0
    assert (found["reviewer"] != "").sum() == 13
    assert told["reviewers"][""] == len(reviewed) - 13 > 0
    ranks, given = reviewed["rank"].astype(int), reviewed["reviewer"] != ""
    assert ranks[given].max() < ranks[~given].min()
    book = openpyxl.load_workbook("queue.xlsx")
    assert [sheet.sheet_state for sheet in book] == ["visible"] * 3 + ["hidden"]
    ids = []
    for sheet in book.worksheets[:3]:
        head, *rows = sheet.iter_rows()
        names = [cell.value for cell in head]
        assert names[:4] == ["id", "class", "who", "when"]
        assert sheet.freeze_panes == "B2"
        (choice,) = sheet.data_validations.dataValidation
        assert (choice.type, str(choice.sqref)) == ("list", f"B2:B{1 + len(rows)}")
        assert {cell.data_type for row in sheet.iter_rows() for cell in row} <= {"s", "n"}
        assert sheet._hyperlinks == []
        ranks = [row[names.index("rank")].value for row in rows]
        assert ranks == sorted(ranks)
        ids += [row[0].value for row in rows]
    listed = [[cell.value for cell in row] for row in book.worksheets[3].iter_rows()]
    assert [value for (value, *_) in listed if value] == ["bad", "good"]
    assert sorted(ids) == sorted(reviewed["case"].str.removeprefix("'"))
    # What people write into it comes back, whoever they are, without an option.
    for sheet in book.worksheets[:3]:
        for row in sheet.iter_rows(min_row=2, max_row=sheet.max_row - 1):
            row[1].value = "good"
    book.save("filled.xlsx")
    code, out, err = run("answers", "cases.db", "filled.xlsx", "--json")
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert (told["added"], told["pending"]) == (len(reviewed) - 3, 3)
    with Book("cases.db") as kept:
        who = kept.answers().groupby("who").size()
    assert who.to_dict() == {"": len(reviewed) - 14, "=1": 3, "Ann/Bo: [x]" + "y" * 40: 8}
    code, out, _ = run("book", "cases.db", "--reviewers", "--json")
    assert len(json.loads(out)["reviewers"]) == 6


def test_a_blind_queue_says_nothing_of_the_model(run, model, cases, folder):
    words = ("predict", model, cases, "-o", "out.csv", "--why", "decided", "--blind")
    assert run(*words, "--queue", "queue.xlsx")[0] == 0
    sheet = openpyxl.load_workbook("queue.xlsx").worksheets[0]
    names = [cell.value for cell in next(sheet.iter_rows(max_row=1))]
    assert not {"suggested", "chance_wrong", "why", "lower"} & set(names)
    found = pd.read_csv("out.csv", dtype=str, keep_default_na=False)
    assert (found["why"].eq("") == found["decision"].eq("review")).all()
    assert run(*words, "--overwrite", "--queue", "queue.json")[0] == 0
    tasks = json.loads(folder.joinpath("queue.json").read_text(encoding="utf-8"))
    assert tasks
    assert not any("predictions" in task for task in tasks)


def test_tasks_for_label_studio_and_back(run, model, hostile, team, folder):
    jsonschema = pytest.importorskip("jsonschema")
    words = ("predict", model, hostile, "-o", "out.csv", "--book", "cases.db")
    assert run(*words, "--reviewers", team, "--queue", "tasks.json")[0] == 0
    tasks = json.loads(folder.joinpath("tasks.json").read_text(encoding="utf-8"))
    jsonschema.validate(tasks, TASKS)
    found = pd.read_csv("out.csv", dtype=str, keep_default_na=False).set_index("rank")
    interface = ElementTree.parse("tasks.xml").getroot()
    (choices,), (text,) = interface.findall("Choices"), interface.findall("Text")
    assert choices.get("toName") == text.get("name")
    labels = [choice.get("value") for choice in choices]
    assert labels == ["bad", "good"]
    for i, task in enumerate(tasks):
        case = found.loc[str(i + 1)]
        assert task["data"]["case"] == case["case"].removeprefix("'")
        assert task["data"].get("who", "") == case["reviewer"].removeprefix("'")
        assert text.get("value").removeprefix("$") in task["data"]
        (result,) = task["predictions"][0]["result"]
        assert (result["from_name"], result["to_name"]) == (choices.get("name"), text.get("name"))
        assert result["value"]["choices"] == [case["suggested"]]
    exported = [
        task | {"id": i, "annotations": [annotation(task, i)]} for i, task in enumerate(tasks[:6])
    ]
    exported[1]["annotations"][0]["was_cancelled"] = True
    exported[2]["annotations"][0]["result"] = []
    folder.joinpath("export.json").write_text(json.dumps(exported), encoding="utf-8")
    code, out, err = run("answers", "cases.db", "export.json", "--json")
    assert (code, json.loads(out)["added"]) == (0, 4), err
    with Book("cases.db") as kept:
        answers = kept.answers()
    assert answers["who"].tolist() == ["ann@x.org", "7", "7", "7"]
    assert answers["time"].str.startswith("2026-03-09T22:16:08").all()
    assert answers["id"].tolist() == [tasks[i]["data"]["case"] for i in (0, 3, 4, 5)]
    # JSON_MIN says the same.
    least = [
        {"id": i, **task["data"], "class": "bad", "annotator": 7, "annotation_id": 1000 + i,
         "updated_at": "2026-03-10T22:16:08.728378Z"}
        for i, task in enumerate(tasks[:3])
    ]  # fmt: skip
    folder.joinpath("least.json").write_text(json.dumps(least), encoding="utf-8")
    code, out, err = run("answers", "cases.db", "least.json", "--json")
    assert (code, json.loads(out)["added"]) == (0, 3), err


def annotation(task, i):
    """An annotation as Label Studio exports it."""
    result = task["predictions"][0]["result"] if i else [
        {"value": {"choices": ["bad"]}, "id": "Dx_aB91ISN", "from_name": "class",
         "to_name": "case", "type": "choices", "origin": "manual"}
    ]  # fmt: skip
    return {
        "id": 1000 + i,
        "completed_by": 7 if i else {"id": 3, "email": "ann@x.org", "first_name": "Ann"},
        "result": result,
        "was_cancelled": False,
        "ground_truth": False,
        "created_at": "2026-03-09T21:52:49.513742Z",
        "updated_at": "2026-03-09T22:16:08.728378Z",
        "lead_time": 4.288,
    }


@pytest.mark.parametrize(
    "text", ['{"id": 1}\n{"id": 2}\n', "[1, 2]", '[{"id": "a", "class": "x"}]']
)
def test_other_json_is_no_export(tmp_path, text):
    path = tmp_path / "other.json"
    path.write_text(text)
    assert labelstudio(path) is None


@pytest.mark.parametrize(
    "task",
    [
        {"data": {"text": "no id"}, "annotations": [annotation({}, 0)]},
        {"data": {"case": "1"}, "annotations": None},
        {"data": {"case": "1"}, "annotations": [{"result": [1]}]},
        {"data": {"case": "\ud800"}, "annotations": [annotation({}, 0)]},
        {"data": None, "annotations": []},
    ],
)
def test_a_damaged_export_is_refused(tmp_path, task):
    path = tmp_path / "export.json"
    path.write_text(json.dumps([task]))
    with pytest.raises(RejoError) as caught:
        labelstudio(path)
    assert (caught.value.where, bool(caught.value.remedy)) == (str(path), True)


def test_wrong_files_are_refused_before_any_work(refused, model, cases, team, folder):
    words = ("predict", model, cases, "-o", "out.csv")
    assert "--queue" in refused(2, *words, "--queue", "queue.csv")
    folder.joinpath("queue.xml").touch()
    assert "queue.xml" in refused(2, *words, "--queue", "queue.json")
    folder.joinpath("bad.csv").write_text("name,cases\nAnn,few\n")
    assert "--reviewers" in refused(2, *words, "--reviewers", "bad.csv")
    assert not folder.joinpath("out.csv").exists()


@pytest.mark.check
def test_libreoffice_opens_a_queue(tmp_path):
    if shutil.which("soffice") is None:
        pytest.skip("LibreOffice is not installed")
    frame = pd.DataFrame({"id": HOSTILE, "rank": range(1, 9), "reason": "ambiguous"})
    queue = queue_of(frame.assign(reviewer=["Ann", "="] * 4, detail=HOSTILE, suggested="1,5"))
    with open(tmp_path / "queue.xlsx", "wb") as file:
        write_workbook(file, queue, ["1,5", "=A1", "x" * 300])
    subprocess.run(
        ["soffice", "--headless", f"-env:UserInstallation={(tmp_path / 'profile').as_uri()}",
         "--convert-to", "xlsx", "--outdir", str(tmp_path / "again"), str(tmp_path / "queue.xlsx")],
        check=True, timeout=120, capture_output=True,
    )  # fmt: skip
    ours = openpyxl.load_workbook(tmp_path / "queue.xlsx")
    theirs = openpyxl.load_workbook(tmp_path / "again" / "queue.xlsx")
    for sheet in ours:
        other = theirs[sheet.title]
        values = [[cell.value for cell in row] for row in sheet.iter_rows()]
        assert [[cell.value for cell in row] for row in other.iter_rows()] == values
        assert {cell.data_type for row in other.iter_rows() for cell in row} <= {"s", "n"}
        assert other.sheet_state == sheet.sheet_state
        ranges = [(str(d.sqref), d.type) for d in sheet.data_validations.dataValidation]
        assert [(str(d.sqref), d.type) for d in other.data_validations.dataValidation] == ranges
