"""scikit-learn's own checks of what an estimator is."""
import inspect

from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

import farfield


def not_ours(estimator):
    """Checks that fail before they call an estimator: that for positive inputs, up to scikit-learn 1.7.0,
    subtracts a mean in place from whole numbers, which is what estimators that take categories get."""
    check = getattr(estimator_checks, "check_positive_only_tag_during_fit", None)
    if check and "X -= X.mean()\n" in inspect.getsource(check):
        return {"check_positive_only_tag_during_fit": "a float mean is subtracted from integers in place"}
    return {}


@parametrize_with_checks(
    [
        farfield.NTKRegressor("dense ln relu dense"),
        farfield.NTKClassifier("dense ln relu dense"),
        farfield.NetworkRegressor(),
        farfield.NetworkClassifier(),
    ],
    expected_failed_checks=not_ours,
)
def test_estimators_are_those_of_scikit_learn(estimator, check):
    check(estimator)
