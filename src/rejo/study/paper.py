"""The figures, data sets and claims of the paper, as frozen tables.

A figure of *curves* is drawn from the rows of the study: a panel for each training share, a curve
for each method. It is named after its data set and family, because the paper uses one label for
several figures. An *explanatory* figure is drawn from fits made on the spot, and is named after the
paper's label. The claims are sentences of the paper's results section, which speaks of all figures
at once.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from rejo.catalogue import METHODS

SHARES = (0.05, 0.25, 0.4)
REJECT_COSTS = tuple(round(0.04 * i, 2) for i in range(1, 13))  # the authors' 0.04:0.04:0.48
REPETITIONS = 100
SPLITS = ("random", "group")
# The paper does not name its kernel. The authors' scripts use a polynomial one of degree 2, whose
# boundaries include the optimal ones of the synthetic problems.
KERNEL = "poly"


@dataclass(frozen=True)
class PaperData:
    """A data set of the paper.

    ``caption`` is what the captions of the paper call it. ``bayes`` is the name under which
    ``rejo.datasets`` knows the best possible rates. ``catalogue`` is the name of the table in
    ``rejo.datasets.CATALOGUE``. Only rows that come in groups can be split by "group".
    """

    title: str
    caption: str
    n_classes: int
    bayes: str | None = None
    catalogue: str | None = None
    splits: tuple[str, ...] = ("random",)

    @property
    def fresh(self) -> bool:
        """Each repetition is a new draw, and not a new split of one table."""
        return self.catalogue is None


DATA = {
    "syntheticI": PaperData("SyntheticI", "syntheticI", 2, "synthetic_1"),
    "syntheticII": PaperData("SyntheticII", "syntheticII", 2, "synthetic_2"),
    "bcct-binary": PaperData("Binary BCCT", "binary BCCT", 2, None, "bcct_binary", SPLITS),
    "letter-ah": PaperData("Letter AH", "binary Letter AH", 2, None, "letter_ah"),
    "syntheticIII": PaperData("SyntheticIII", "syntheticIII", 5, "synthetic_3"),
    "syntheticIV": PaperData("SyntheticIV", "syntheticIV", 3, "synthetic_4"),
    "bcct": PaperData("BCCT", "BCCT", 4, None, "bcct", SPLITS),
}


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A sentence of the paper, and how it is tested.

    ``kind`` is the test: "range" and "mean" compare ``method`` with all ``rivals`` of a panel, at
    every reject cost or on average over them; "pairs" compares the first of each of ``pairs`` with
    the second, on average; "crossing" looks for boundaries of the second that cross where those of
    the first do not; "alike" asks of two pairs in each of ``parallels`` whether the better one is
    the same in both.
    """

    name: str
    quote: str
    test: str
    kind: str
    method: str = ""
    rivals: tuple[str, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()
    parallels: tuple[tuple[tuple[str, str], tuple[str, str]], ...] = ()
    figures: tuple[str, ...] = ()

    @property
    def methods(self) -> tuple[str, ...]:
        """All methods of the claim."""
        pairs = (*self.pairs, *(pair for two in self.parallels for pair in two))
        named = (self.method, *self.rivals, *(method for pair in pairs for method in pair))
        return tuple(dict.fromkeys(filter(None, named)))


@dataclass(frozen=True)
class PaperFigure:
    """A figure of the paper: what it shows, from which data, by which methods.

    ``methods`` are those of the paper, the proposed one first; ``beside`` are further methods,
    drawn in the same panels but not part of the paper's claims. An explanatory figure has no data
    set. A figure that the paper speaks of but does not show has no caption.
    """

    name: str
    title: str
    caption: str
    dataset: str = ""
    methods: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    shares: tuple[float, ...] = ()


REJO_NN, MLP_1C, MLP_2C = (METHODS[m].paper[0] for m in ("mlp", "mlp-cutoffs", "mlp-pair"))
_MACHINES = ("svm", "svm-cutoffs", "svm-pair", "embedded", "kernel-logistic", "svm-posterior")
REJO_SVM, SVM_1C, SVM_2C, FUMERA, REJO_LOGISTIC, CHOW = (
    f"{METHODS[method].paper[0]}/{KERNEL}" for method in _MACHINES
)
FH_1C, FH_2C = (f"{METHODS[m].paper[1]}/{KERNEL}" for m in ("svm-cutoffs", "svm-pair"))
FH_MLP_1C, FH_MLP_2C, CHOW_MLP = (
    METHODS[method].paper[1] for method in ("mlp-cutoffs", "mlp-pair", "mlp-posterior")
)
ORDINAL_SVC = f"Ordinal-SVC/{KERNEL}"  # posteriors as for CHOW, decided by the ordinal loss


# By family and whether there are more than two classes: the methods of the paper, and others.
_COMPARED: dict[tuple[str, bool], tuple[tuple[str, ...], tuple[str, ...]]] = {
    ("SVM", False): ((REJO_SVM, SVM_1C, SVM_2C, FUMERA), (REJO_LOGISTIC, CHOW)),
    ("SVM", True): ((REJO_SVM, FH_1C, FH_2C), (REJO_LOGISTIC, CHOW, ORDINAL_SVC)),
    ("NN", False): ((REJO_NN, MLP_1C, MLP_2C), ()),
    ("NN", True): ((REJO_NN, MLP_1C, FH_MLP_1C, FH_MLP_2C), (CHOW_MLP,)),
}


def _curves(dataset: str, family: str) -> PaperFigure:
    data, ordered = DATA[dataset], DATA[dataset].n_classes > 2
    methods, beside = _COMPARED[family, ordered]
    words = "neural networks" if family == "NN" else "support vector machines"
    caption = f"The A-R curves for the {data.caption} dataset ({family} methods only)."
    return PaperFigure(
        name=f"{dataset}-{family.lower()}",
        title=f"{data.title}, {words}",
        caption="" if family == "NN" and ordered else caption,
        dataset=dataset,
        methods=methods,
        beside=beside,
        shares=SHARES,
    )


_ENTRIES = (
    PaperFigure(
        "SeiLa", "Two classes that overlap", "Illustrative setting with overlapping classes."
    ),
    PaperFigure(
        "SeiLa2", "Boundaries that cross, and that do not", "Potential discriminative boundaries."
    ),
    PaperFigure(
        "proposedModel",
        "Three ordered classes as one binary problem",
        "Data replication model in a toy example.",
    ),
    PaperFigure(
        "proposedRejectModel",
        "Two classes and a reject region as one binary problem",
        "Proposed reject option model in a toy example.",
    ),
    PaperFigure(
        "syntheticI", "A sample of SyntheticI", "Sample of 200 examples from SyntheticI dataset."
    ),
    PaperFigure(
        "syntheticIII",
        "A sample of SyntheticIII",
        "SyntheticIII example points with theoretical decision boundaries.",
    ),
    *(_curves(d, f) for d in ("syntheticI", "syntheticII", "bcct-binary") for f in ("SVM", "NN")),
    _curves("letter-ah", "NN"),
    *(_curves(d, f) for d in ("syntheticIII", "syntheticIV", "bcct") for f in ("SVM", "NN")),
)

FIGURES = {figure.name: figure for figure in _ENTRIES}

_BINARY_SVM = ("syntheticI-svm", "syntheticII-svm", "bcct-binary-svm")
_BINARY_NN = ("syntheticI-nn", "syntheticII-nn", "bcct-binary-nn")
_ORDINAL = ("syntheticIII-svm", "syntheticIV-svm", "bcct-svm")
_ORDINAL_NN = ("syntheticIII-nn", "syntheticIV-nn", "bcct-nn")

CLAIMS = (
    Claim(
        name="rejoSVM is best",
        quote="in overall rejoSVM performed better than any of the other methods under comparison, "
        "over the full range of values for w_r",
        test="in each panel, rejoSVM against each other SVM method of the paper, at every reject "
        "cost and on average over them",
        kind="range",
        method=REJO_SVM,
        rivals=(SVM_1C, SVM_2C, FUMERA, FH_1C, FH_2C),
        figures=(*_BINARY_SVM, *_ORDINAL),
    ),
    Claim(
        name="Fumera's method trails",
        quote="the less positive results obtained by Fumera's method",
        test="in each panel, every other SVM method of the paper against Fumera's, on average over "
        "the reject costs",
        kind="pairs",
        pairs=((REJO_SVM, FUMERA), (SVM_1C, FUMERA), (SVM_2C, FUMERA)),
        figures=_BINARY_SVM,
    ),
    Claim(
        name="SVMs beat neural networks",
        quote="in general, SVM based methods outperform the neural network counterparts",
        test="for each data set and share with both, rejoSVM against rejoNN, SVM-1C against MLP-1C "
        "and SVM-2C against MLP-2C, on average over the reject costs",
        kind="pairs",
        pairs=((REJO_SVM, REJO_NN), (SVM_1C, MLP_1C), (SVM_2C, MLP_2C)),
        figures=(*_BINARY_SVM, *_BINARY_NN),
    ),
    Claim(
        name="rejoNN is often the best network",
        quote="when restricting the attention to neural network methods, the proposed rejoNN "
        "exhibits often the best performance",
        test="in each panel, rejoNN against each other network, on average over the reject costs",
        kind="mean",
        method=REJO_NN,
        rivals=(MLP_1C, MLP_2C),
        figures=(*_BINARY_NN, "letter-ah-nn"),
    ),
    Claim(
        name="no ambiguity regions",
        quote="[the proposed framework] does not generate ambiguity regions as the two classifier "
        "approach",
        test="the share of test points where boundaries cross, which must be 0 for data "
        "replication and should be above 0 for two classifiers",
        kind="crossing",
        pairs=((REJO_SVM, SVM_2C), (REJO_NN, MLP_2C), (REJO_SVM, FH_2C), (REJO_NN, FH_MLP_2C)),
        figures=(*_BINARY_SVM, *_BINARY_NN, "letter-ah-nn", *_ORDINAL, *_ORDINAL_NN),
    ),
    Claim(
        name="networks on ordered classes",
        quote="[for the multiclass datasets] the NNs portrayed the same relative performance for "
        "the methods under comparison",
        test="in each panel, two networks and the two SVM methods that they correspond to: is the "
        "same of the two significantly better, on average over the reject costs? (The paper shows "
        "no such curves.)",
        kind="alike",
        parallels=(
            ((REJO_SVM, FH_1C), (REJO_NN, FH_MLP_1C)),
            ((REJO_SVM, FH_2C), (REJO_NN, FH_MLP_2C)),
            ((FH_1C, FH_2C), (FH_MLP_1C, FH_MLP_2C)),
        ),
        figures=(*_ORDINAL, *_ORDINAL_NN),
    ),
)


def label(method: str) -> str:
    """Return the name of a method without its kernel, which is the same within a figure."""
    return method.partition("/")[0]


def choose_figures(names: Iterable[str] | None = None) -> list[PaperFigure]:
    """Return figures by name, in the order of the paper.

    Parameters
    ----------
    names : iterable of str, default=None
        Names of figures; ``None``: all.

    Examples
    --------
    >>> from rejo.study.paper import choose_figures
    >>> [figure.title for figure in choose_figures(["bcct-svm"])]
    ['BCCT, support vector machines']
    """
    if names is None:
        return list(FIGURES.values())
    wanted = list(names)
    for name in wanted:
        if name not in FIGURES:
            raise ValueError(f"the paper has no figure {name!r}; choose from {', '.join(FIGURES)}")
    return [figure for name, figure in FIGURES.items() if name in wanted]


def methods_by_dataset(figures: Iterable[PaperFigure]) -> dict[str, tuple[str, ...]]:
    """Return the methods to run on each data set for these figures."""
    found: dict[str, dict[str, None]] = {}
    for figure in figures:
        if figure.dataset:
            methods = dict.fromkeys((*figure.methods, *figure.beside))
            found.setdefault(figure.dataset, {}).update(methods)
    return {dataset: tuple(methods) for dataset, methods in found.items()}
