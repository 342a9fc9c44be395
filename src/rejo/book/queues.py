"""Queues to work in: workbooks with a drop-down of the classes, and tasks for Label Studio.

Both hold a frame of :func:`queue_of`, and their answers come back through ``rejo answers``.
"""

import json
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from xml.sax.saxutils import quoteattr

import numpy as np

from rejo._errors import RejoError, optional
from rejo.tables import for_excel

if TYPE_CHECKING:
    from pandas import DataFrame

ANSWER = ("id", "class", "who", "when")
LONGEST_LIST = 5000  # characters of the texts of a task
WIDTHS = {"id": 16, "class": 18, "who": 14, "when": 12, "detail": 40, "why": 60}
MOST_SHEET_NAME = 31  # characters, by Excel
NOBODY = "unassigned"


def queue_of(frame: "DataFrame", *, blind: bool = False) -> "DataFrame":
    """Return the cases to review in their order, with room for the answers.

    ``frame`` is made by :func:`rejo.scoring.decision_frame`; its first column has the ids.  What
    the model makes of a case is left out if the queue is ``blind``.
    """
    import pandas as pd

    frame = frame[frame["rank"].notna().to_numpy(bool)].sort_values("rank")
    text = {name: frame[name].astype(object).where(frame[name].notna(), "") for name in frame}
    who = text.get("reviewer", "")
    found = {"id": frame.iloc[:, 0].astype(str), "class": "", "who": who, "when": ""}
    found |= {"rank": frame["rank"].astype(int), "reason": text["reason"]}
    told = ["detail"] if blind else ["detail", "suggested", "chance_wrong", "why"]
    found |= {name: text[name] for name in told if name in text}
    if blind:  # the two classes would tell
        found["detail"] = np.where(found["reason"] == "ambiguous", "", found["detail"])
    return pd.DataFrame(found).reset_index(drop=True)


def write_workbook(file: BinaryIO, queue: "DataFrame", classes: Sequence[str]) -> None:
    """Write a sheet for each person, or one if there is no team; texts stay texts.

    The classes are a hidden sheet, which the drop-downs name: a list in the cell itself may have
    255 characters, and no commas.
    """
    xlsxwriter = optional("xlsxwriter", "a workbook", "XlsxWriter", "tables")
    with xlsxwriter.Workbook(file, {"in_memory": True}) as book:
        book.set_properties({"created": datetime(1980, 1, 1)})  # same rows, same bytes
        bold, plain = book.add_format({"bold": True}), book.add_format({"num_format": "@"})
        day = book.add_format({"num_format": "yyyy-mm-dd"})
        used: set[str] = {"classes"}
        for who, rows in _by_person(queue):
            sheet = book.add_worksheet(_sheet_name(who, used))
            sheet.freeze_panes(1, 1)
            sheet.autofilter(0, 0, len(rows), len(rows.columns) - 1)
            for j, name in enumerate(rows.columns):
                format = plain if name in ("id", "class") else day if name == "when" else None
                sheet.set_column(j, j, WIDTHS.get(name, 11), format)
                sheet.write_string(0, j, name, bold)
            last = len(rows)
            sheet.data_validation(1, 1, max(last, 1), 1, {
                "validate": "list", "source": f"=classes!$A$1:$A${len(classes)}",
                "error_title": "Not a class", "error_message": "Choose one from the list.",
            })  # fmt: skip
            for i, row in enumerate(rows.itertuples(index=False, name=None), start=1):
                for j, value in enumerate(row):
                    if isinstance(value, int | float | np.number):
                        sheet.write_number(i, j, value)
                    elif value != "":
                        sheet.write_string(i, j, for_excel(str(value)), plain if j < 2 else None)
        listed = book.add_worksheet("classes")
        listed.hide()
        for i, label in enumerate(classes):
            listed.write_string(i, 0, for_excel(label))


def _by_person(queue: "DataFrame") -> Iterator[tuple[str, "DataFrame"]]:
    """Yield what each person has to do; what nobody has comes last."""
    people = sorted(set(queue["who"]) - {""})
    if not people:
        yield "queue", queue
        return
    for who in people:
        yield who, queue[queue["who"] == who]
    if (queue["who"] == "").any():
        yield NOBODY, queue[queue["who"] == ""]


def _sheet_name(who: str, used: set[str]) -> str:
    """Return a name that Excel takes, and no other sheet has."""
    plain = re.sub(r"[\[\]:*?/\\\x00-\x1f]", " ", who).strip("' ")[:MOST_SHEET_NAME] or "reviewer"
    name, number = plain, 1
    while name.lower() in used | {"history"}:
        number += 1
        name = f"{plain[: MOST_SHEET_NAME - 4]} {number}"
    used.add(name.lower())
    return name


# ---- Label Studio --------------------------------------------------------------------------------


def tasks_of(queue: "DataFrame", model: str) -> list[dict[str, Any]]:
    """Return a queue as tasks, with what the model suggests as predictions."""
    tasks = []
    for row in queue.to_dict("records"):
        about = {
            name: value for name, value in row.items() if name not in ANSWER[1:] and value != ""
        }
        text = "\n".join(f"{name}: {value}" for name, value in about.items())
        task: dict[str, Any] = {
            "data": {"case": row["id"], "text": text[:LONGEST_LIST], "rank": row["rank"]}
        }
        if row["who"]:
            task["data"]["who"] = row["who"]
        if suggested := row.get("suggested", ""):
            result = {
                "id": f"rejo{row['rank']}", "from_name": "class", "to_name": "case",
                "type": "choices", "value": {"choices": [suggested]},
            }  # fmt: skip
            task["predictions"] = [{"model_version": model, "result": [result]}]
            if row["chance_wrong"] != "":
                task["predictions"][0]["score"] = round(1 - row["chance_wrong"], 4)
        tasks.append(task)
    return tasks


def labelling_config(classes: Sequence[str]) -> str:
    """Return the labelling interface for such tasks, to paste into Label Studio's settings."""
    choices = "\n".join(f"    <Choice value={quoteattr(label)}/>" for label in classes)
    return (
        '<View>\n  <Text name="case" value="$text" valueType="text"/>\n'
        '  <Choices name="class" toName="case" choice="single-radio" required="true">\n'
        f"{choices}\n  </Choices>\n</View>\n"
    )


def labelstudio(path: Path) -> list[tuple[str, str, str, str]] | None:
    """Read the answers in an export of Label Studio, as JSON or JSON_MIN: id, class, who, when.

    ``None`` if the file is something else.  Skipped tasks have no answer.
    """
    try:
        tasks = json.loads(path.read_bytes())
    except (ValueError, RecursionError):  # lines of JSON, say
        return None
    if not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
        return None
    known = any("annotations" in task or "annotation_id" in task for task in tasks)
    if not known:
        return None
    found: list[tuple[str, str, str, str]] = []
    for i, task in enumerate(tasks, start=1):
        try:
            found += (some := list(_answers_in(task)))
            "".join(chain(*some)).encode()  # JSON may hold half a character, which no file can
        except (AttributeError, KeyError, TypeError, UnicodeError):
            raise RejoError(
                f"task {i} is not one of `rejo predict --queue` that was exported",
                where=str(path),
                remedy="Export the project as JSON or JSON_MIN, whole: data.case has the id.",
            ) from None
    return found


def _answers_in(task: Any) -> Iterator[tuple[str, str, str, str]]:
    name = task.get("data", task)["case"]
    for given in task.get("annotations", [task]):
        label = _choice(given)
        if label is not None and not given.get("was_cancelled"):
            who = given.get("completed_by", given.get("annotator"))
            when = given.get("updated_at") or given.get("created_at") or ""
            yield str(name), label, _person(who), str(when)


def _choice(given: Any) -> str | None:
    """Return the class that was chosen; ``None`` if none was."""
    if "result" not in given:  # JSON_MIN
        return given["class"] if isinstance(given.get("class"), str) else None
    for one in given["result"]:
        chosen = one.get("value", {}).get("choices", [])
        if one.get("from_name") == "class" and len(chosen) == 1:
            return str(chosen[0])
    return None


def _person(who: Any) -> str:
    if isinstance(who, dict):
        who = who.get("email") or who.get("username") or who.get("id")
    return "" if who is None else str(who)
