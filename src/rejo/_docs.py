"""What several docstrings share: descriptions of parameters, and references to the literature."""

from __future__ import annotations

import re
from collections.abc import Callable
from inspect import cleandoc
from textwrap import fill as wrap
from textwrap import indent
from typing import TypeVar

T = TypeVar("T")

# Under References, the line ``%sousa2013, chow1970`` becomes these two entries, numbered from 1.
BIBLIOGRAPHY = {
    "angelopoulos2025": "A. N. Angelopoulos, S. Bates, E. J. Candès, M. I. Jordan and L. Lei, "
    '"Learn then Test: calibrating predictive algorithms to achieve risk control", Annals of '
    "Applied Statistics 19(2), 2025. https://doi.org/10.1214/24-AOAS1998",
    "bartlett2008": 'P. L. Bartlett and M. H. Wegkamp, "Classification with a reject option using '
    'a hinge loss", Journal of Machine Learning Research 9, 2008. '
    "https://jmlr.org/papers/v9/bartlett08a.html",
    "cardoso2007": 'J. S. Cardoso and J. F. Pinto da Costa, "Learning to classify ordinal data: '
    'the data replication method", Journal of Machine Learning Research 8, 2007. '
    "https://jmlr.org/papers/v8/cardoso07a.html",
    "chen2006": 'Y. Chen, J. Bi and J. Z. Wang, "MILES: multiple-instance learning via embedded '
    'instance selection", IEEE Transactions on Pattern Analysis and Machine Intelligence 28(12), '
    "2006.",
    "chen2016": 'T. Chen and C. Guestrin, "XGBoost: a scalable tree boosting system", Proceedings '
    "of KDD, 2016. https://doi.org/10.1145/2939672.2939785",
    "chow1970": 'C. K. Chow, "On optimum recognition error and reject tradeoff", IEEE Transactions '
    "on Information Theory 16(1), 1970. https://doi.org/10.1109/TIT.1970.1054406",
    "clopper1934": 'C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits '
    'illustrated in the case of the binomial", Biometrika 26(4), 1934. '
    "https://doi.org/10.1093/biomet/26.4.404",
    "condessa2017": 'F. Condessa, J. Bioucas-Dias and J. Kovacevic, "Performance measures for '
    'classification systems with rejection", Pattern Recognition 63, 2017. '
    "https://doi.org/10.1016/j.patcog.2016.10.011",
    "dubuisson1993": 'B. Dubuisson and M. Masson, "A statistical decision rule with incomplete '
    'knowledge about classes", Pattern Recognition 26(1), 1993. '
    "https://doi.org/10.1016/0031-3203(93)90097-G",
    "elkan2001": 'C. Elkan, "The foundations of cost-sensitive learning", Proceedings of IJCAI, '
    "2001.",
    "elyaniv2010": 'R. El-Yaniv and Y. Wiener, "On the foundations of noise-free selective '
    'classification", Journal of Machine Learning Research 11, 2010. '
    "https://jmlr.org/papers/v11/el-yaniv10a.html",
    "frank2001": 'E. Frank and M. Hall, "A simple approach to ordinal classification", Proceedings '
    "of ECML, 2001. https://doi.org/10.1007/3-540-44795-4_13",
    "fumera2000": 'G. Fumera, F. Roli and G. Giacinto, "Reject option with multiple thresholds", '
    "Pattern Recognition 33(12), 2000.",
    "fumera2002": 'G. Fumera and F. Roli, "Support vector machines with embedded reject option", '
    "Pattern Recognition with Support Vector Machines, 2002. "
    "https://doi.org/10.1007/3-540-45665-1_6",
    "geifman2017": 'Y. Geifman and R. El-Yaniv, "Selective classification for deep neural '
    'networks", Advances in Neural Information Processing Systems 30, 2017. '
    "https://doi.org/10.48550/arXiv.1705.08500",
    "grandvalet2008": "Y. Grandvalet, A. Rakotomamonjy, J. Keshet and S. Canu, "
    '"Support vector machines with a reject option", Advances in Neural Information Processing '
    "Systems 21, 2008.",
    "guo2017": 'C. Guo, G. Pleiss, Y. Sun and K. Q. Weinberger, "On calibration of modern neural '
    'networks", Proceedings of ICML, 2017. https://doi.org/10.48550/arXiv.1706.04599',
    "hendrickx2024": "K. Hendrickx, L. Perini, D. Van der Plas, W. Meert and J. Davis, "
    '"Machine learning with a reject option: a survey", Machine Learning 113, 2024. '
    "https://doi.org/10.1007/s10994-024-06534-x",
    "jones2021": "E. Jones, S. Sagawa, P. W. Koh, A. Kumar and P. Liang, "
    '"Selective classification can magnify disparities across groups", Proceedings of ICLR, 2021. '
    "https://doi.org/10.48550/arXiv.2010.14134",
    "ledoit2004": 'O. Ledoit and M. Wolf, "A well-conditioned estimator for large-dimensional '
    'covariance matrices", Journal of Multivariate Analysis 88(2), 2004. '
    "https://doi.org/10.1016/S0047-259X(03)00096-4",
    "lin2012": 'H.-T. Lin and L. Li, "Reduction from cost-sensitive ordinal ranking to weighted '
    'binary classification", Neural Computation 24(5), 2012. '
    "https://doi.org/10.1162/NECO_a_00265",
    "lundberg2020": 'S. M. Lundberg and others, "From local explanations to global understanding '
    'with explainable AI for trees", Nature Machine Intelligence 2, 2020. '
    "https://doi.org/10.1038/s42256-019-0138-9",
    "nadeau2003": 'C. Nadeau and Y. Bengio, "Inference for the generalization error", Machine '
    "Learning 52, 2003. https://doi.org/10.1023/A:1024068626366",
    "nadeem2010": 'M. S. A. Nadeem, J.-D. Zucker and B. Hanczar, "Accuracy-rejection curves (ARCs) '
    'for comparing classification methods with a reject option", Proceedings of Machine Learning '
    "Research 8, 2010. https://proceedings.mlr.press/v8/nadeem10a.html",
    "niculescu2005": 'A. Niculescu-Mizil and R. Caruana, "Predicting good probabilities with '
    'supervised learning", Proceedings of ICML, 2005. https://doi.org/10.1145/1102351.1102430',
    "ranjan2010": 'R. Ranjan and T. Gneiting, "Combining probability forecasts", Journal of the '
    "Royal Statistical Society B 72(1), 2010. https://doi.org/10.1111/j.1467-9868.2009.00726.x",
    "sousa2013": 'R. Sousa and J. S. Cardoso, "The data replication method for the classification '
    'with reject option", AI Communications, 2013. https://doi.org/10.48550/arXiv.1011.3177',
    "strumbelj2014": 'E. Štrumbelj and I. Kononenko, "Explaining prediction models and individual '
    'predictions with feature contributions", Knowledge and Information Systems 41, 2014. '
    "https://doi.org/10.1007/s10115-013-0679-x",
    "zhu2005": 'J. Zhu and T. Hastie, "Kernel logistic regression and the import vector machine", '
    "Journal of Computational and Graphical Statistics 14(1), 2005. "
    "https://doi.org/10.1198/106186005X25619",
}


def shared_parameters(docstring: str | None) -> Callable[[T], T]:
    r"""Return a decorator that replaces lines such as ``%X, y`` by entries of a docstring.

    Names of works in ``BIBLIOGRAPHY`` become numbered references.

    Examples
    --------
    >>> from rejo._docs import shared_parameters
    >>> described = shared_parameters("X : array-like\n    Points.\ny : array-like\n    Classes.")
    >>> @described
    ... def fit(X, y):
    ...     '''Fit the points.
    ...
    ...     Parameters
    ...     ----------
    ...     %X, y
    ...     '''
    >>> print(fit.__doc__.splitlines()[-2].strip())
    Classes.
    """
    entries = {
        entry[1]: entry[0].rstrip()
        for entry in re.finditer(r"^(\w+) : .*(?:\n .*)*", cleandoc(docstring or ""), re.MULTILINE)
    }

    def fill(line: re.Match[str]) -> str:
        names = line[2].split(", ")
        if entries.keys() >= set(names):
            return "\n".join(indent(entries[name], line[1]) for name in names)
        if BIBLIOGRAPHY.keys() >= set(names):
            return "\n".join(_reference(i, name, line[1]) for i, name in enumerate(names, start=1))
        return line[0]  # not a line for us

    def decorate(target: T) -> T:
        if target.__doc__:
            pattern = re.compile(r"^( *)%(\w+(?:, \w+)*)$", re.MULTILINE)
            target.__doc__ = pattern.sub(fill, target.__doc__)
        return target

    return decorate


cited = shared_parameters(None)  # for a docstring with references, and no shared parameters


def _reference(number: int, name: str, margin: str) -> str:
    """Entry of a list of references, as reStructuredText."""
    return wrap(
        f".. [{number}] {BIBLIOGRAPHY[name]}",
        width=100,
        initial_indent=margin,
        subsequent_indent=margin + "   ",
        break_long_words=False,
        break_on_hyphens=False,
    )
