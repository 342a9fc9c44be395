"""Options and commands under the names that people guess, and the ones that they mean."""

import re
from collections.abc import Collection, Iterable

from rejo._errors import close_words

# Option -> other names for it. A name may stand for several options: commands have one of them.
OTHER_NAMES = {
    "--target": "label labels y outcome class response target-column target-col dependent truth",
    "--order": "class-order classes levels ordered ordinal label-order category-order",
    "--id": "index ids id-column id-col index-col key case case-id row-id identifier",
    "--by": "group-by groupby segment segments stratify subgroup slice split-by per",
    "--groups": "together group-column cluster clusters patient person keep-together",
    "--group": "protected sensitive sensitive-feature sensitive-features promise-by group-col",
    "--time": "date dates timestamp when order-by time-column chronological",
    "--novelty": "novel outlier outliers anomaly anomalies ood detector",
    "--audit": "audit-sample spot-check random-sample control-sample",
    "--why": "explain explanation explanations reasons shap contributions",
    "--max-error-by-class": "max-error-per-class error-by-class",
    "--max-error-by-group": "max-error-per-group error-by-group",
    "--max-error-by-decision": "max-error-per-decision error-by-decision",
    "--review-budget-by-group": "review-budget-per-group budget-by-group",
    "--max-cost": "cost-limit max-mean-cost mean-cost",
    "--drop": "exclude ignore skip remove without drop-columns leave-out omit",
    "--sep": "separator delimiter delim field-separator column-separator",
    "--decimal": "decimal-mark decimal-point decimal-separator dec",
    "--thousands": "thousands-separator thousand thousands-mark grouping",
    "--missing": "na na-values nan null nulls missing-values na-strings missing-words",
    "--words": "text texts categorical categories category string strings as-text as-words",
    "--exact": "case-sensitive exact-classes keep-case",
    "--encoding": "charset enc codepage character-set",
    "--sheet": "sheet-name worksheet tab sheetname",
    "--query": "sql select table-name",
    "--review-budget": "budget review max-review max-reviews review-rate review-share "
    "reject-rate rejection-rate max-rejection reviews",
    "--capacity": "max-reviews reviews review-budget budget top limit",
    "--max-error": "error errors error-rate max-errors max-error-rate accuracy risk",
    "--reject-cost": "review-cost rejection-cost cost-of-review review-price cost",
    "--reject-costs": "reject-cost review-costs rejection-costs",
    "--costs": "prices price cost cost-of cost-matrix loss-matrix error-cost",
    "--confidence": "certainty guarantee level alpha delta conf probability",
    "--model": "models family method methods algorithm classifier estimator learner",
    "--methods": "models model method algorithms classifiers",
    "--output": "out outfile output-file save save-to to dest destination output-folder out-dir "
    "model-file model-path",
    "--report": "html page report-file output-report",
    "--overwrite": "force replace clobber yes",
    "--seed": "random-state random-seed rng",
    "--n-jobs": "jobs threads workers processes cores cpus parallel njobs num-workers",
    "--dask": "cluster scheduler distributed dask-address client",
    "--trusted": "trust trusted-types allow",
    "--max-bytes": "memory max-memory max-size",
    "--folds": "cv k n-folds num-folds splits",
    "--max-rows": "sample rows nrows n-rows sample-size max-samples",
    "--repetitions": "repeats reps n-repeats",
    "--json": "as-json",
    "--strict": "stop fail stop-on-error",
}
COMMANDS = {
    "train": "fit learn build tune",
    "predict": "apply decide score classify infer run",
    "evaluate": "test validate assess check eval",
    "inspect": "show info describe print",
    "look": "view profile summary summarise summarize columns describe-table",
    "compare": "benchmark bench",
    "answers": "answer feedback",
    "update": "retrain refresh",
    "demo": "example tour try",
}
POSITIONS = {
    "MODEL": "model model-file model-path",
    "DATA": "data input in file table csv infile input-file dataset training train-file data-file",
}


def command_meant(word: str, commands: Collection[str]) -> str | None:
    """Return the command that is meant by another word, if it can be guessed."""
    known = {
        alias: command
        for command in commands
        for alias in (command, *COMMANDS.get(command, "").split())
    }
    close = close_words(word, known, n=1)
    return known[close[0]] if close else None


def pointer(
    word: str, options: Collection[str], positions: Iterable[str], *, exact: bool = False
) -> str:
    """Return what to write instead of an option that a command does not have; often nothing.

    ``options`` and ``positions`` are those of the command; ``exact`` allows no slips.
    """
    name = re.sub("[_ ]", "-", word.strip("-").casefold())
    known = {
        alias: option
        for option, aliases in reversed(OTHER_NAMES.items())
        if option in options
        for alias in aliases.split()
    }
    known |= {option.strip("-"): option for option in options if option.startswith("--")}
    for place in positions:
        if name in POSITIONS.get(place, "").split() and f"--{name}" not in options:
            return f"{place} is given without an option"
    if name not in known and len(name) > 2 and not exact:
        longer = {option for option in options if option.startswith(f"--{name}")}
        close = list(longer) if len(longer) == 1 else close_words(name, known, n=1)
        name = close[0].strip("-") if close else name
    return f"did you mean {known[name]}?" if name in known else ""
