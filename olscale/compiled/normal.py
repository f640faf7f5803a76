"""The normal distribution, with fixed bits."""

from olscale.compiled.decorator import inlined
from olscale.compiled.nearest import nearest_exponential

_SQRT_HALF = 0.7071067811865476

# Rational approximations of Cephes (S. Moshier, ndtr.c), coefficients of the highest power first;
# the denominators begin with 1. The error function is x T(x^2) / U(x^2) up to 1.
_T = (
    9.60497373987051638749e0,
    9.00260197203842689217e1,
    2.23200534594684319226e3,
    7.00332514112805075473e3,
    5.55923013010394962768e4,
)
_U = (
    3.35617141647503099647e1,
    5.21357949780152679795e2,
    4.59432382970980127987e3,
    2.26290000613890934246e4,
    4.92673942608635921086e4,
)
# Its complement is exp(-x^2) P(x) / Q(x) from 1 to 8, and exp(-x^2) R(x) / S(x) from there on.
_P = (
    2.46196981473530512524e-10,
    5.64189564831068821977e-1,
    7.46321056442269912687e0,
    4.86371970985681366614e1,
    1.96520832956077098242e2,
    5.26445194995477358631e2,
    9.34528527171957607540e2,
    1.02755188689515710272e3,
    5.57535335369399327526e2,
)
_Q = (
    1.32281951154744992508e1,
    8.67072140885989742329e1,
    3.54937778887819891062e2,
    9.75708501743205489753e2,
    1.82390916687909736289e3,
    2.24633760818710981792e3,
    1.65666309194161350182e3,
    5.57535340817727675546e2,
)
_R = (
    5.64189583547755073984e-1,
    1.27536670759978104416e0,
    5.01905042251180477414e0,
    6.16021097993053585195e0,
    7.40974269950448939160e0,
    2.97886665372100240670e0,
)
_S = (
    2.26052863220117276590e0,
    9.39603524938001434673e0,
    1.20489539808096656605e1,
    1.70814450747565897222e1,
    9.60896809063285878198e0,
    3.36907645100081516050e0,
)


@inlined
def _polynomial(x: float, first: float, others: tuple[float, ...]) -> float:
    value = first
    for coefficient in others:
        value = value * x + coefficient
    return value


@inlined
def _complement(x: float) -> float:
    """Return ``1 - erf(x)`` for ``x >= 0.7``."""
    if x < 1.0:
        z = x * x
        return 1.0 - x * _polynomial(z, 0.0, _T) / _polynomial(z, 1.0, _U)
    power = nearest_exponential(-x * x)
    if x < 8.0:
        return power * _polynomial(x, 0.0, _P) / _polynomial(x, 1.0, _Q)
    return power * _polynomial(x, 0.0, _R) / _polynomial(x, 1.0, _S)


@inlined
def normal_below(z: float) -> float:
    """Return the probability of at most `z` for a standard normal number, within 2e-16."""
    x = z * _SQRT_HALF
    if abs(x) < _SQRT_HALF:
        square = x * x
        erf = x * _polynomial(square, 0.0, _T) / _polynomial(square, 1.0, _U)
        return 0.5 + 0.5 * erf
    tail = 0.5 * _complement(abs(x))
    return 1.0 - tail if x > 0.0 else tail
