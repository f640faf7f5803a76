"""The ten rules of Agrawal's loans: who is of group A (the paper's page 924)."""

from typing import Any

from olscale.compiled.decorator import compiled

# Of the bands of three ages, below 40, below 60 and from 60 on: thousands of salary.
_SALARY_BANDS = ((50.0, 100.0), (75.0, 125.0), (25.0, 75.0))
# Levels of education of function 3 and 4.
_LEVELS = ((0, 1), (1, 3), (2, 4))
# Function 4: salaries of those levels, and of others.
_SALARY_AT_LEVEL = ((25.0, 75.0), (50.0, 100.0), (50.0, 100.0))
_SALARY_AT_OTHERS = ((50.0, 100.0), (75.0, 125.0), (25.0, 75.0))
# Function 5: loans of those within the salary band, and of others.
_LOAN_IN_BAND = ((100.0, 300.0), (200.0, 400.0), (300.0, 500.0))
_LOAN_OUTSIDE = ((200.0, 400.0), (300.0, 500.0), (100.0, 300.0))


@compiled
def _within(value: float, band: Any) -> Any:
    return 1000.0 * band[0] <= value <= 1000.0 * band[1]


@compiled
def is_group_a(function: int, x: Any) -> Any:
    """Return whether the row `x` of nine features, before perturbation, is of group A."""
    salary = x[0]
    age = x[2]
    loan = x[8]
    third = 0
    if age >= 40:
        third = 1
    if age >= 60:
        third = 2
    if function == 1:
        return third != 1
    if function == 2:
        return _within(salary, _SALARY_BANDS[third])
    at_level = _LEVELS[third][0] <= x[3] <= _LEVELS[third][1]
    if function == 3:
        return at_level
    if function == 4:
        if at_level:
            return _within(salary, _SALARY_AT_LEVEL[third])
        return _within(salary, _SALARY_AT_OTHERS[third])
    if function == 5:
        if _within(salary, _SALARY_BANDS[third]):
            return _within(loan, _LOAN_IN_BAND[third])
        return _within(loan, _LOAN_OUTSIDE[third])
    if function == 6:
        return _within(salary + x[1], _SALARY_BANDS[third])
    return _disposable(function, x) > 0.0


@compiled
def _disposable(function: int, x: Any) -> Any:
    """Return what is left of the income, as functions 7 to 10 reckon it."""
    left = 2.0 * (x[0] + x[1]) / 3.0
    if function == 7:
        return left - x[8] / 5.0 - 20000.0
    left = left - 5000.0 * x[3]
    if function == 8:
        return left - 20000.0
    if function == 9:
        return left - x[8] / 5.0 - 10000.0
    equity = 0.0
    if x[7] >= 20:
        equity = x[6] * (x[7] - 20.0) / 10.0
    return left + equity / 5.0 - 10000.0
