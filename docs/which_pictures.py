"""Draws the pictures of which.md: a list of questions, and what to use if the answer is yes.

The boxes have colours of their own: the pictures are readable on a light and on a dark page.
"""

import argparse
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

HERE = Path(__file__).parent
WIDTH, LEFT, RIGHT = 490, 208, 232  # of the picture, of a question, of an answer
LINE, PAD, GAP = 19, 10, 34
QUESTION = 'fill="#e6eef7" stroke="#486581"'
ANSWER = 'fill="#fff3d1" stroke="#a8710b"'
ARROW = "#6d8196"  # at least 3:1 on white and on nearly black


class Step(NamedTuple):
    """A question, and what to use if the answer is yes. The last step has no question."""

    question: str
    use: str
    why: str


PICTURES = {
    "which_classifier": [
        Step("Is it a table, and should rejo choose?", "rejo train", "or choose_model in Python"),
        Step("Is it a network in PyTorch?", "rejo.torch", "another last layer, another loss"),
        Step(
            "Do you have a classifier, classes without an order, or prices by class?",
            "ThresholdRejectClassifier",
            "decides by posteriors and prices",
        ),
        Step("Gaps, categories or millions of rows?", "RejoBoost", "gradient boosting"),
        Step("Sparse rows, or a stream?", "RejoLinear", "one weight for each feature"),
        Step("Do you need posteriors too?", "RejoKernelLogistic", "curved boundaries"),
        Step("", "RejoSVC", "curved boundaries, fast"),
    ],
    "which_target": [
        Step("Do you know how many cases people can review?", "review_budget=0.1", "fewest errors"),
        Step("Is there an error rate not to exceed?", "max_error=0.02", "fewest reviews"),
        Step("Do you know what errors and reviews cost?", "cost_of=...", "lowest cost"),
        Step("", "reject_curve, or a report", "see all operating points, then agree on one"),
    ],
    "which_promise": [
        Step("Is an estimate enough?", "no confidence", "expected_ has ranges, not promises"),
        Step(
            "Does one class matter most, such as the ill?", "max_error_by_class", "confidence=0.95"
        ),
        Step(
            "Does one decision matter most, such as approvals?",
            "max_error_by_decision",
            "confidence=0.95",
        ),
        Step("Must it hold for every group?", "max_error_by_group", "confidence=0.95, group=..."),
        Step("Is it about money?", "cost_of, max_cost", "confidence=0.95"),
        Step("", "max_error, review_budget", "confidence=0.95: for all cases together"),
    ],
}


def box(x, y, width, height, lines, look):
    """A box with lines of text in its middle: ``(text, style)`` each."""
    parts = [f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="9" {look}/>']
    first = y + (height - LINE * len(lines)) / 2 + 14
    for at, (text, style) in enumerate(lines):
        place = f'x="{x + 12}" y="{first + at * LINE:g}"'
        parts.append(f"<text {place} {style}>{escape(text)}</text>")
    return "\n".join(parts)


def label(x, y, text):
    """A small box in the middle of an arrow."""
    return (
        f'<rect x="{x - 15}" y="{y - 10}" width="30" height="20" rx="10" fill="#334e68"/>'
        f'<text x="{x}" y="{y + 4.5}" text-anchor="middle" font-size="13" fill="#fff">{text}</text>'
    )


def arrow(way):
    look = f'fill="none" stroke="{ARROW}" stroke-width="2" marker-end="url(#tip)"'
    return f'<path d="{way}" {look}/>'


def answer_lines(step):
    use = [(line, 'font-weight="600" fill="#3d2600"') for line in textwrap.wrap(step.use, 25)]
    return use + [(line, 'fill="#5b3a00"') for line in textwrap.wrap(step.why, 27)]


def draw(steps):
    """The picture as SVG."""
    parts, y = [], 2
    right, middle = WIDTH - RIGHT - 2, 2 + LEFT / 2
    for step in steps:
        answer = answer_lines(step)
        question = [(line, 'fill="#102a43"') for line in textwrap.wrap(step.question, 23)]
        height = LINE * max(len(question), len(answer)) + 2 * PAD
        across = y + height / 2
        if question:
            parts += [
                arrow(f"M{2 + LEFT} {across:g} H{right - 7}"),
                label((2 + LEFT + right) / 2 - 3, across, "yes"),
                box(2, y, LEFT, height, question, QUESTION),
            ]
            down = arrow(f"M{middle} {y + height} v{GAP - 7}")
        else:
            down = ""
            parts[-1] = arrow(f"M{middle} {y - GAP} V{across:g} H{right - 7}")
        if y > 2:
            parts.append(label(middle, y - GAP / 2 - 2, "no"))
        parts += [box(right, y, RIGHT, height, answer, ANSWER), down]
        y += height + GAP
    y -= GAP
    tip = '<path d="M0 0 L7 3.5 L0 7 z" fill="' + ARROW + '"/>'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + 4:g}" '
            f'width="{WIDTH}" height="{y + 4:g}" '
            'font-family="system-ui, sans-serif" font-size="14.5">',
            '<defs><marker id="tip" markerWidth="7" markerHeight="7" refX="1" refY="3.5" '
            f'orient="auto" markerUnits="userSpaceOnUse">{tip}</marker></defs>',
            *parts,
            "</svg>\n",
        ]
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="only say whether a picture is old")
    check = parser.parse_args().check
    old = []
    for name, steps in PICTURES.items():
        path = HERE / f"{name}.svg"
        text = draw(steps)
        if check and (not path.exists() or path.read_text(encoding="utf-8") != text):
            old.append(path.name)
        elif not check:
            path.write_text(text, encoding="utf-8")
    sys.exit(f"run python docs/which_pictures.py: {', '.join(old)} is old" if old else 0)


if __name__ == "__main__":
    main()
