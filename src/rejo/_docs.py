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
    "demsar2006": 'J. Demšar, "Statistical comparisons of classifiers over multiple data sets", '
    "Journal of Machine Learning Research 7, 2006. https://jmlr.org/papers/v7/demsar06a.html",
    "dietterich1997": 'T. G. Dietterich, R. H. Lathrop and T. Lozano-Pérez, "Solving the multiple '
    'instance problem with axis-parallel rectangles", Artificial Intelligence 89, 1997. '
    "https://doi.org/10.1016/S0004-3702(96)00034-3",
    "dubuisson1993": 'B. Dubuisson and M. Masson, "A statistical decision rule with incomplete '
    'knowledge about classes", Pattern Recognition 26(1), 1993. '
    "https://doi.org/10.1016/0031-3203(93)90097-G",
    "efron1979": 'B. Efron, "Bootstrap methods: another look at the jackknife", Annals of '
    "Statistics 7(1), 1979. https://doi.org/10.1214/aos/1176344552",
    "efron2004": 'B. Efron, T. Hastie, I. Johnstone and R. Tibshirani, "Least angle regression", '
    "Annals of Statistics 32(2), 2004. https://doi.org/10.1214/009053604000000067",
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
    "geifman2019": 'Y. Geifman, G. Uziel and R. El-Yaniv, "Bias-reduced uncertainty estimation for '
    'deep neural classifiers", Proceedings of ICLR, 2019. '
    "https://doi.org/10.48550/arXiv.1805.08206",
    "gneiting2007": 'T. Gneiting and A. E. Raftery, "Strictly proper scoring rules, prediction, '
    'and estimation", Journal of the American Statistical Association 102(477), 2007. '
    "https://doi.org/10.1198/016214506000001437",
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
    "naeini2015": 'M. P. Naeini, G. Cooper and M. Hauskrecht, "Obtaining well calibrated '
    'probabilities using Bayesian binning", Proceedings of AAAI, 2015. '
    "https://doi.org/10.1609/aaai.v29i1.9602",
    "niculescu2005": 'A. Niculescu-Mizil and R. Caruana, "Predicting good probabilities with '
    'supervised learning", Proceedings of ICML, 2005. https://doi.org/10.1145/1102351.1102430',
    "ranjan2010": 'R. Ranjan and T. Gneiting, "Combining probability forecasts", Journal of the '
    "Royal Statistical Society B 72(1), 2010. https://doi.org/10.1111/j.1467-9868.2009.00726.x",
    "sousa2013": 'R. Sousa and J. S. Cardoso, "The data replication method for the classification '
    'with reject option", AI Communications, 2013. https://doi.org/10.48550/arXiv.1011.3177',
    "steele2014": 'G. L. Steele, D. Lea and C. H. Flood, "Fast splittable pseudorandom number '
    'generators", Proceedings of OOPSLA, 2014. https://doi.org/10.1145/2660193.2660195',
    "stone1974": 'M. Stone, "Cross-validatory choice and assessment of statistical predictions", '
    "Journal of the Royal Statistical Society B 36(2), 1974. "
    "https://doi.org/10.1111/j.2517-6161.1974.tb00994.x",
    "street1993": 'W. N. Street, W. H. Wolberg and O. L. Mangasarian, "Nuclear feature extraction '
    'for breast tumor diagnosis", Proceedings of SPIE 1905, 1993. '
    "https://doi.org/10.1117/12.148698",
    "strumbelj2014": 'E. Štrumbelj and I. Kononenko, "Explaining prediction models and individual '
    'predictions with feature contributions", Knowledge and Information Systems 41, 2014. '
    "https://doi.org/10.1007/s10115-013-0679-x",
    "traub2024": 'J. Traub and others, "Overcoming common flaws in the evaluation of selective '
    'classification systems", Advances in Neural Information Processing Systems 37, 2024. '
    "https://doi.org/10.48550/arXiv.2407.01032",
    "vanschoren2014": 'J. Vanschoren, J. N. van Rijn, B. Bischl and L. Torgo, "OpenML: networked '
    'science in machine learning", ACM SIGKDD Explorations 15(2), 2014. '
    "https://doi.org/10.1145/2641190.2641198",
    "waudbysmith2024": 'I. Waudby-Smith and A. Ramdas, "Estimating means of bounded random '
    'variables by betting", Journal of the Royal Statistical Society B 86(1), 2024. '
    "https://doi.org/10.1093/jrsssb/qkad009",
    "wilson1927": 'E. B. Wilson, "Probable inference, the law of succession, and statistical '
    'inference", Journal of the American Statistical Association 22(158), 1927. '
    "https://doi.org/10.1080/01621459.1927.10502953",
    "zhu2005": 'J. Zhu and T. Hastie, "Kernel logistic regression and the import vector machine", '
    "Journal of Computational and Graphical Statistics 14(1), 2005. "
    "https://doi.org/10.1198/106186005X25619",
}


def shared_parameters(*docstrings: str | None) -> Callable[[T], T]:
    r"""Return a decorator that replaces lines such as ``%X, y`` by entries of other docstrings.

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
        for docstring in docstrings
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


cited = shared_parameters()  # for a docstring with references, and no shared parameters


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
