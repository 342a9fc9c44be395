"""scikit-learn's own checks of an estimator."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from rejo.estimators import RejoSVC
from rejo.selection import RejectClassifierCV, RejoSVCCV

ESTIMATORS = [
    RejoSVCCV(class_order="sorted", reject_costs=[0.2, 0.4], Cs=[1, 10], gammas=["scale"], cv=3),
    RejectClassifierCV(
        RejoSVC(class_order="sorted"), review_budget=0.3, reject_costs=[0.2, 0.5], cv=3
    ),
]


@pytest.mark.filterwarnings("default")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
