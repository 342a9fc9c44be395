"""What is known of each public table: its columns, its classes, where it comes from.

A frozen table in code. The counts are checked on every load, so that a changed source or a wrong
mapping of its classes is an error and not a different experiment.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple


class OpenML(NamedTuple):
    """Address of a table at openml.org."""

    data_id: int
    name: str
    version: int


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """One table of the catalogue.

    Attributes
    ----------
    name : str
        The name for ``fetch``; the file in the data folder is ``<file>.csv``.
    task : {"binary", "ordinal"}
        Binary classes are 0 and 1, ordinal ones 1 to K.
    counts : tuple of int
        Rows of each class, lowest class first.
    target_names : tuple of str
        What the classes stand for.
    columns : tuple of str
        Columns in the order of the source, without the target.
    citation, licence, note : str
        Whom to cite; the terms; what a careful user should know.
    not_features : tuple of str
        Columns that must not be learned from.
    group : str or None
        Column of the rows that belong together.
    nominal : tuple of str
        Columns of words.
    zero_is_missing : tuple of str
        Columns in which 0 stands for a missing value.
    openml : OpenML or None
        Where OpenML has it.
    source_classes : tuple of str or None
        Labels at the source, in class order; rows with others are left out. ``None``: the source
        has numbers, in ascending order.
    levels : tuple of tuple of str
        Values of the nominal columns of the source that are one column each here.
    n_images : int
        The source repeats the same images, in the same order, once for each annotator.
    paper_features : tuple of str
        Columns that the paper's experiments used.
    published, url : str
        File name and page of the authors' own copy.
    file : str
        Table that this task is made from, if not its own.
    merge : tuple of int
        Class of this task for each class of that table, lowest first.
    """

    name: str
    task: str
    counts: tuple[int, ...]
    target_names: tuple[str, ...]
    columns: tuple[str, ...]
    citation: str
    licence: str
    note: str
    not_features: tuple[str, ...] = ()
    group: str | None = None
    nominal: tuple[str, ...] = ()
    zero_is_missing: tuple[str, ...] = ()
    openml: OpenML | None = None
    source_classes: tuple[str, ...] | None = None
    levels: tuple[tuple[str, ...], ...] = ()
    n_images: int = 0
    paper_features: tuple[str, ...] = ()
    published: str = ""
    url: str = ""
    file: str = ""
    merge: tuple[int, ...] = ()

    @property
    def features(self) -> tuple[str, ...]:
        """Columns to learn from."""
        return tuple(c for c in self.columns if c not in (*self.not_features, self.group))

    @property
    def classes(self) -> tuple[int, ...]:
        """Labels, lowest first."""
        first = 0 if self.task == "binary" else 1
        return tuple(range(first, first + len(self.counts)))


UCI = "UCI Machine Learning Repository (site-wide CC BY 4.0)"
BEN_DAVID = "A. Ben-David, ordinal data sets donated to WEKA"
AUTHORS = "https://github.com/rjgsousa/RejectOption"


def _x(n: int, letter: str = "x") -> tuple[str, ...]:
    return tuple(f"{letter}{i}" for i in range(1, n + 1))


def _grades(n: int) -> tuple[str, ...]:
    return tuple(str(i) for i in range(1, n + 1))


_BCCT = Dataset(
    name="bcct",
    task="ordinal",
    counts=(177, 478, 248, 57),
    target_names=("Excellent", "Good", "Fair", "Poor"),
    columns=_x(30, "f"),
    not_features=("annotator",),
    group="group",
    n_images=120,
    source_classes=("1", "2", "3", "4"),
    paper_features=("f9", "f11", "f17", "f23"),
    published="bcct.csv",
    url=f"{AUTHORS} (libraries/bcct/bcct.csv)",
    citation="J. S. Cardoso and M. J. Cardoso, Towards an intelligent medical system for the "
    "aesthetic evaluation of breast cancer conservative treatment, Artif. Intell. Med. 40 (2007)",
    licence="none stated for the data (its repository is GPL-3.0); measurements of patients: do "
    "not redistribute",
    note="30 measurements on photographs of 120 patients, each measured by 8 annotators: 960 rows. "
    "Split by `groups` (the patient), never at random: the 8 rows of a patient are near copies. "
    "The columns group and annotator are derived from the order of the rows.",
)
_BCCT_ALL = replace(
    _BCCT,
    name="bcct_all",
    counts=(160, 592, 272, 120),
    n_images=143,
    published="bcct_all.csv",
    url=f"{AUTHORS} (libraries/bcct/bcct_all.csv)",
    note=_BCCT.note.replace("120", "143").replace("960", "1144")
    + " A later, larger version, with one label for each patient; the one that the authors' "
    "scripts load.",
)


def _two_classes(table: Dataset) -> Dataset:
    """Return the paper's two-class task: Excellent or Good against Fair or Poor."""
    return replace(
        table,
        name=f"{table.name}_binary",
        file=table.name,
        task="binary",
        merge=(0, 0, 1, 1),
        counts=(sum(table.counts[:2]), sum(table.counts[2:])),
        target_names=("Excellent or Good", "Fair or Poor"),
    )


_ENTRIES = (
    Dataset(
        name="letter_ah",
        task="binary",
        counts=(789, 734),
        target_names=("A", "H"),
        columns=(
            *("x_box", "y_box", "width", "high", "onpix", "x_bar", "y_bar", "x2bar", "y2bar"),
            *("xybar", "x2ybr", "xy2br", "x_ege", "xegvy", "y_ege", "yegvx"),
        ),
        openml=OpenML(6, "letter", 1),
        source_classes=("A", "H"),
        citation="P. W. Frey and D. J. Slate, Letter recognition using Holland-style adaptive "
        "classifiers, Machine Learning 6 (1991)",
        licence=UCI,
        note="The letters A and H of the 26; used in the paper.",
    ),
    Dataset(
        name="vertebral_2c",
        task="binary",
        counts=(100, 210),
        target_names=("normal", "pathological"),
        columns=(
            *("pelvic_incidence", "pelvic_tilt", "lumbar_lordosis_angle", "sacral_slope"),
            *("pelvic_radius", "spondylolisthesis_grade"),
        ),
        openml=OpenML(1524, "vertebra-column", 2),
        source_classes=("2", "1"),
        citation="G. Barreto and A. Neto, Vertebral column (2011)",
        licence=UCI,
        note="1 is a disk hernia or spondylolisthesis.",
    ),
    Dataset(
        name="german_credit",
        task="binary",
        counts=(700, 300),
        target_names=("good", "bad"),
        columns=(
            *("checking_status", "duration", "credit_history", "purpose", "credit_amount"),
            *("savings_status", "employment", "installment_commitment", "personal_status"),
            *("other_parties", "residence_since", "property_magnitude", "age"),
            *("other_payment_plans", "housing", "existing_credits", "job", "num_dependents"),
            *("own_telephone", "foreign_worker"),
        ),
        nominal=(
            *("checking_status", "credit_history", "purpose", "savings_status", "employment"),
            *("personal_status", "other_parties", "property_magnitude", "other_payment_plans"),
            *("housing", "job", "own_telephone", "foreign_worker"),
        ),
        openml=OpenML(31, "credit-g", 1),
        source_classes=("good", "bad"),
        citation="H. Hofmann, Statlog (German credit data) (1994)",
        licence=UCI,
        note="Known coding errors; prefer south_german_credit where the columns are interpreted.",
    ),
    Dataset(
        name="south_german_credit",
        task="binary",
        counts=(700, 300),
        target_names=("good", "bad"),
        columns=(
            *("status", "duration", "credit_history", "purpose", "amount", "savings"),
            *("employment_duration", "installment_rate", "personal_status_sex", "other_debtors"),
            *("present_residence", "property", "age", "other_installment_plans", "housing"),
            *("number_credits", "job", "people_liable", "telephone", "foreign_worker"),
        ),
        source_classes=("1", "0"),
        published="SouthGermanCredit.asc",
        url="https://archive.ics.uci.edu/dataset/522/south+german+credit",
        citation="U. Groemping, South German credit data: correcting a widely used data set, "
        "report 4/2019, Beuth University of Applied Sciences Berlin (2019)",
        licence=UCI,
        note="german_credit, corrected. Every column is an integer code, and several are nominal: "
        "purpose, personal_status_sex, other_debtors, other_installment_plans, housing.",
    ),
    Dataset(
        name="australian_credit",
        task="binary",
        counts=(383, 307),
        target_names=("-", "+"),
        columns=_x(14, "a"),
        openml=OpenML(40981, "Australian", 4),
        source_classes=("0", "1"),
        citation="R. Quinlan, Statlog (Australian credit approval)",
        licence=UCI,
        note="Meanings withheld by the donor; a1, a4, a5, a6, a8, a9, a11 and a12 are codes. Some "
        "public copies have lost their decimal points (22.08 became 2208).",
    ),
    Dataset(
        name="pima_diabetes",
        task="binary",
        counts=(500, 268),
        target_names=("tested_negative", "tested_positive"),
        columns=("preg", "plas", "pres", "skin", "insu", "mass", "pedi", "age"),
        zero_is_missing=("plas", "pres", "skin", "insu", "mass"),
        openml=OpenML(37, "diabetes", 1),
        source_classes=("tested_negative", "tested_positive"),
        citation="J. W. Smith et al., Using the ADAP learning algorithm to forecast the onset of "
        "diabetes mellitus, Proc. Symp. Computer Applications and Medical Care (1988)",
        licence="NIDDK; withdrawn from UCI; a copy at Kaggle is CC0",
        note="Zeros in plas, pres, skin, insu and mass are missing values; mark_missing=True makes "
        "them NaN.",
    ),
    Dataset(
        name="heart_statlog",
        task="binary",
        counts=(150, 120),
        target_names=("absent", "present"),
        columns=(
            *("age", "sex", "chest", "resting_blood_pressure", "serum_cholestoral"),
            *("fasting_blood_sugar", "resting_electrocardiographic_results"),
            *("maximum_heart_rate_achieved", "exercise_induced_angina", "oldpeak", "slope"),
            *("number_of_major_vessels", "thal"),
        ),
        openml=OpenML(53, "heart-statlog", 1),
        source_classes=("absent", "present"),
        citation="Statlog (heart)",
        licence=UCI,
        note="sex, chest, resting_electrocardiographic_results and thal are codes.",
    ),
    Dataset(
        name="mammographic_mass",
        task="binary",
        counts=(516, 445),
        target_names=("benign", "malignant"),
        columns=("bi_rads", "age", "shape", "margin", "density"),
        not_features=("bi_rads",),
        source_classes=("0", "1"),
        published="mammographic_masses.data",
        url="https://archive.ics.uci.edu/dataset/161/mammographic+mass",
        citation="M. Elter, R. Schulz-Wendtland and T. Wittenberg, The prediction of breast cancer "
        "biopsy outcomes using two CAD approaches, Medical Physics 34 (2007)",
        licence=UCI,
        note="bi_rads is the physicians' own assessment of the case, which the donors call "
        "non-predictive: it is in `others`, not among the features (one value, 55, is a typing "
        "error). 160 values of the features are missing (NaN).",
    ),
    Dataset(
        name="default_credit_card",
        task="binary",
        counts=(23364, 6636),
        target_names=("paid", "default"),
        columns=(
            *("limit_bal", "sex", "education", "marriage", "age"),
            *("pay_0", "pay_2", "pay_3", "pay_4", "pay_5", "pay_6"),
            *(f"bill_amt{i}" for i in range(1, 7)),
            *(f"pay_amt{i}" for i in range(1, 7)),
        ),
        openml=OpenML(42477, "default-of-credit-card-clients", 1),
        source_classes=("0", "1"),
        citation="I.-C. Yeh and C.-h. Lien, The comparisons of data mining techniques for the "
        "predictive accuracy of probability of default of credit card clients, Expert Systems with "
        "Applications 36 (2009)",
        licence=UCI,
        note="Taiwan, 2005; 1 is a default in the next month. sex, education and marriage are "
        "codes; education 0, 5, 6 and marriage 0 are not documented.",
    ),
    _BCCT,
    _two_classes(_BCCT),
    _BCCT_ALL,
    _two_classes(_BCCT_ALL),
    Dataset(
        name="era",
        task="ordinal",
        counts=(92, 142, 181, 172, 158, 118, 88, 31, 18),
        target_names=_grades(9),
        columns=_x(4),
        openml=OpenML(1030, "ERA", 1),
        citation=BEN_DAVID,
        licence="as published with WEKA",
        note="Employee rejection or acceptance; many rows repeat, some with another class.",
    ),
    Dataset(
        name="esl",
        task="ordinal",
        counts=(2, 12, 38, 100, 116, 135, 62, 19, 4),
        target_names=_grades(9),
        columns=_x(4),
        openml=OpenML(1027, "ESL", 1),
        citation=BEN_DAVID,
        licence="as published with WEKA",
        note="Employee selection; the classes at the ends are too small for many splits.",
    ),
    Dataset(
        name="lev",
        task="ordinal",
        counts=(93, 280, 403, 197, 27),
        target_names=_grades(5),
        columns=_x(4),
        openml=OpenML(1029, "LEV", 1),
        citation=BEN_DAVID,
        licence="as published with WEKA",
        note="Evaluations of lecturers; 0 to 4 at the source.",
    ),
    Dataset(
        name="swd",
        task="ordinal",
        counts=(32, 352, 399, 217),
        target_names=_grades(4),
        columns=_x(10),
        openml=OpenML(1028, "SWD", 1),
        citation=BEN_DAVID,
        licence="as published with WEKA",
        note="Decisions of social workers on the risk to a child.",
    ),
    Dataset(
        name="balance_scale",
        task="ordinal",
        counts=(288, 49, 288),
        target_names=("left", "balanced", "right"),
        columns=_x(4),
        openml=OpenML(11, "balance-scale", 1),
        source_classes=("L", "B", "R"),
        citation="R. S. Siegler, Three aspects of cognitive development, Cognitive Psychology 8 "
        "(1976)",
        licence=UCI,
        note="x1 to x4 are the left weight, left distance, right weight and right distance; x1 x2 "
        "against x3 x4 decides the class.",
    ),
    Dataset(
        name="car",
        task="ordinal",
        counts=(1210, 384, 69, 65),
        target_names=("unacc", "acc", "good", "vgood"),
        columns=_x(21),
        levels=(
            ("vhigh", "high", "med", "low"),
            ("vhigh", "high", "med", "low"),
            ("2", "3", "4", "5more"),
            ("2", "4", "more"),
            ("small", "med", "big"),
            ("low", "med", "high"),
        ),
        openml=OpenML(40975, "car", 3),
        source_classes=("unacc", "acc", "good", "vgood"),
        citation="M. Bohanec and V. Rajkovic, Car evaluation (1988)",
        licence=UCI,
        note="One column for each value of buying (x1 to x4: vhigh, high, med, low), maint (x5 to "
        "x8: the same), doors (x9 to x12: 2, 3, 4, 5more), persons (x13 to x15: 2, 4, more), "
        "lug_boot (x16 to x18: small, med, big) and safety (x19 to x21: low, med, high). The class "
        "is a function of these.",
    ),
    Dataset(
        name="newthyroid",
        task="ordinal",
        counts=(30, 150, 35),
        target_names=("hypo", "normal", "hyper"),
        columns=_x(5),
        openml=OpenML(40682, "thyroid-new", 1),
        source_classes=("3", "1", "2"),
        citation="D. Coomans et al., Comparison of multivariate discriminant techniques for "
        "clinical data, Methods of Information in Medicine 22 (1983)",
        licence=UCI,
        note="x1 to x5 are T3 resin, thyroxin, triiodothyronine, TSH and the rise of TSH.",
    ),
    Dataset(
        name="winequality_red",
        task="ordinal",
        counts=(10, 53, 681, 638, 199, 18),
        target_names=("3", "4", "5", "6", "7", "8"),
        columns=_x(11),
        openml=OpenML(40691, "wine-quality-red", 1),
        citation="P. Cortez et al., Modeling wine preferences by data mining from physicochemical "
        "properties, Decision Support Systems 47 (2009)",
        licence=UCI,
        note="The grades 3 to 8 are the classes 1 to 6. x1 to x11 are fixed acidity, volatile "
        "acidity, citric acid, residual sugar, chlorides, free and total sulfur dioxide, density, "
        "pH, sulphates and alcohol.",
    ),
)

CATALOGUE: Mapping[str, Dataset] = MappingProxyType({entry.name: entry for entry in _ENTRIES})
