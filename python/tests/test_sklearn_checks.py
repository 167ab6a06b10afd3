"""scikit-learn's own checks of what an estimator is."""
from sklearn.utils.estimator_checks import parametrize_with_checks

import farfield


@parametrize_with_checks(
    [
        farfield.NTKRegressor("dense ln relu dense"),
        farfield.NTKClassifier("dense ln relu dense"),
        farfield.NetworkRegressor(),
        farfield.NetworkClassifier(),
    ]
)
def test_estimators_are_those_of_scikit_learn(estimator, check):
    check(estimator)
