"""Equations: formulas of docstrings, which a terminal shows as they are, as TeX for the site.

A formula has names, numbers, operators, brackets, functions such as ``sqrt(x)`` and a few words;
factors stand next to each other, and of a quotient all factors before the sign of division are
above the line and one is below it. Anything else is code, and stays so.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

_TOKEN = re.compile(
    r"(\s*)(\d+(?:\.\d+)?(?:e-?\d+)?|[A-Za-z]+\d*"
    r"|\+=|-=|\*=|\+-|<=|>=|!=|->|[-+*/^_'|()\[\],=<>~.])"
)

_GREEK = frozenset(
    [
        *(
            "alpha",
            "beta",
            "gamma",
            "delta",
            "eta",
            "theta",
            "kappa",
            "lambda",
            "mu",
            "nu",
        ),
        *("xi", "rho", "sigma", "tau", "phi", "psi", "omega"),
        *("Gamma", "Delta", "Theta", "Lambda", "Sigma", "Phi", "Psi", "Omega"),
    ]
)
_SHORT = {
    "lam": r"\lambda",
    "eps": r"\varepsilon",
    "epsilon": r"\varepsilon",
    "sum": r"\sum",
}
_OF_TEX = ("max", "min", "exp", "log", "ln", "cos", "sin")
_WORDS = (
    "if",
    "else",
    "where",
    "over",
    "of",
    "for",
    "is",
    "that",
    "the",
    "and",
    "or",
    "its",
)
_RELATIONS = {
    "=": "=",
    "<=": r"\le",
    ">=": r"\ge",
    "!=": r"\ne",
    "<": "<",
    ">": ">",
    "->": r"\to",
    "~": r"\sim",
    ",": r",\;",
}
_UPDATES = ("+=", "-=", "*=")
_SIGNS = {"+": "+", "-": "-", "+-": r"\pm"}
_ENDS_OF_PRODUCTS = frozenset([*_RELATIONS, *_UPDATES, *_SIGNS])
_CLOSING = {"(": ")", "[": "]", "|": "|"}

# What shows that a literal is a value of a parameter, a name of Python, a flag or a file.
_CODE = re.compile(
    r"\w=\S|^[A-Za-z]{3,} = [\w.]+$|[A-Za-z]{2,}_[A-Za-z]{3,}|--|\.[A-Za-z]{2}|None|True"
)


# Code of Markdown, which may have a dollar, and then formulas on lines of their own or in text.
_OF_PAGES = re.compile(
    r"(?P<code>^```.*?^```|`[^`\n]*`)|\$\$(?P<shown>.+?)\$\$|\$(?=\S)(?P<inline>[^$]+?)(?<=\S)\$",
    re.MULTILINE | re.DOTALL,
)


class _NotAFormulaError(ValueError):
    pass


class _Token(NamedTuple):
    text: str
    is_apart: bool
    """Whether there is a space before it."""


def tex_of(text: str, is_inline: bool = False) -> str | None:
    r"""Return a formula as TeX, with slashes if it is part of a line; None where the text is none.

    Examples
    --------
    >>> tex_of("tau = min(C, l / |x|^2)")
    '\\tau = \\min(C ,\\; \\frac{l}{|x|^{2}})'
    >>> tex_of("w -= y x / 2", is_inline=True)
    'w \\leftarrow w - y x / 2'
    >>> tex_of("olscale: done") is None
    True
    """
    try:
        parser = _Parser(_tokens(text), is_inline)
        return parser.formula("")
    except _NotAFormulaError:
        return None


def formula(tex: str) -> str:
    """Return a formula of TeX as MathML, which browsers draw without a script."""
    from latex2mathml.converter import convert

    # Markdown takes a line that begins with an element it does not know for a block.
    # A bar would end a cell of a table.
    element = convert(" ".join(tex.split())).replace("|", "&#124;")
    return f"<span>{element}</span>"


def with_formulas(page: str) -> str:
    r"""Return a page of Markdown with its formulas, between dollars, as MathML.

    Examples
    --------
    >>> with_formulas("costs `$5`"), with_formulas("so $a$ is")[:16]
    ('costs `$5`', 'so <span><math x')
    """

    def drawn(match: re.Match[str]) -> str:
        if match["shown"]:
            return "&emsp;" + formula(rf"\displaystyle {match['shown']}")
        if match["inline"]:
            return formula(match["inline"])
        return match[0]

    return _OF_PAGES.sub(drawn, page)


def is_equation(text: str) -> bool:
    """Return whether a literal of a docstring is to be drawn: it has an operator and can be read.

    Examples
    --------
    >>> is_equation("l > 0"), is_equation("C"), is_equation("max_rows >= 3"), is_equation("C=1")
    (True, False, False, False)
    """
    if not re.search(r"[=<>/^|]| [-+*] |\w\.\w", text) or _CODE.search(text):
        return False
    return tex_of(text) is not None


def _tokens(text: str) -> list[_Token]:
    tokens = []
    place = 0
    stripped = text.rstrip()
    while place < len(stripped):
        match = _TOKEN.match(stripped, place)
        if match is None:
            raise _NotAFormulaError(text)
        tokens.append(_Token(match.group(2), bool(match.group(1))))
        place = match.end()
    return tokens


class _Parser:
    """Reads tokens from left to right; each method returns the TeX of what it has read."""

    def __init__(self, tokens: Sequence[_Token], is_inline: bool) -> None:
        self._tokens = tokens
        self._is_inline = is_inline
        self._place = 0

    def _next(self) -> str:
        return self._tokens[self._place].text if self._place < len(self._tokens) else ""

    def _touches(self, text: str) -> bool:
        """Return whether the next token is `text`, without a space before it."""
        return self._next() == text and not self._tokens[self._place].is_apart

    def _take(self, expected: str = "") -> str:
        token = self._next()
        if not token or (expected and token != expected):
            raise _NotAFormulaError(token)
        self._place += 1
        return token

    def formula(self, closing: str) -> str:
        """Read sums, and what relates them, up to a closing bracket or the end."""
        parts = []
        while self._next() and self._next() != closing:
            token = self._next()
            if token in _WORDS:
                parts.append(rf"\text{{ {self._take()} }}")
            elif token in _RELATIONS:
                parts.append(_RELATIONS[self._take()])
            elif token in _UPDATES and parts:
                parts.append(self._update(parts[-1], closing))
            else:
                parts.append(self._sum(closing))
        if closing:
            self._take(closing)
        if not parts:
            raise _NotAFormulaError(closing)
        return " ".join(parts)

    def _update(self, target: str, closing: str) -> str:
        """Read ``+= d`` as the assignment that it is: the target becomes itself plus d."""
        operator = self._take()
        terms = self._terms(closing)
        amount = " ".join(terms)
        if operator == "+=":
            return rf"\leftarrow {target} + {amount}"
        if len(terms) > 1:
            amount = f"({amount})"
        if operator == "-=":
            return rf"\leftarrow {target} - {amount}"
        return rf"\leftarrow {target} {amount}"

    def _sum(self, closing: str) -> str:
        return " ".join(self._terms(closing))

    def _terms(self, closing: str) -> list[str]:
        """Read products with their signs, which are entries of their own."""
        parts = []
        while True:
            if self._next() in _SIGNS:
                parts.append(_SIGNS[self._take()])
            parts.append(self._product(closing))
            if self._next() not in _SIGNS:
                return parts

    def _product(self, closing: str) -> str:
        product = self._factor()
        while token := self._next():
            if token == closing or token in _WORDS or token in _ENDS_OF_PRODUCTS:
                break
            if token == "/" and self._is_inline:
                self._take()
                product += f" / {self._factor()}"
            elif token == "/":
                self._take()
                product = rf"\frac{{{_bare(product)}}}{{{_bare(self._factor())}}}"
            elif token == "*":
                self._take()
                product += rf" \cdot {self._factor()}"
            else:
                product += f" {self._factor()}"
        return product

    def _factor(self) -> str:
        factor = self._atom()
        while self._next() in ("^", "_", "'"):
            if self._take() == "'":
                factor += "'"
            else:
                factor += self._script(self._tokens[self._place - 1].text)
        # Two vectors that only a point separates are an inner product.
        if self._touches("."):
            self._take()
            factor += rf" \cdot {self._factor()}"
        return factor

    def _script(self, mark: str) -> str:
        """Read an index or exponent: a name or number with its sign, or what a bracket holds."""
        sign = "-" if self._next() == "-" and self._take() else ""
        script = _bare(self._atom()) if self._next() != "" else self._take()
        # Half a power is written without brackets: D^-1/2.
        if script == "1" and self._touches("/"):
            self._take()
            script += f"/{self._take()}"
        return f"{mark}{{{sign}{script}}}"

    def _atom(self) -> str:
        token = self._take()
        if token in _CLOSING:
            closing = _CLOSING[token]
            return f"{token}{self.formula(closing)}{closing}"
        if token[0].isdigit():
            return _number(token)
        if not token[0].isalpha() or token in _WORDS:
            raise _NotAFormulaError(token)
        if token == "sqrt":
            self._take("(")
            return rf"\sqrt{{{self.formula(')')}}}"
        name = _name(token)
        # A bracket that touches a name has the arguments of a function.
        if self._touches("("):
            self._take()
            return f"{name}({self.formula(')')})"
        return name


def _number(token: str) -> str:
    mantissa, _, exponent = token.partition("e")
    if not exponent:
        return token
    power = f"10^{{{int(exponent)}}}"
    return power if mantissa == "1" else rf"{mantissa} \cdot {power}"


def _name(token: str) -> str:
    letters = token.rstrip("0123456789")
    digits = token[len(letters) :]
    if letters in _SHORT:
        name = _SHORT[letters]
    elif letters in _GREEK or letters in _OF_TEX:
        name = rf"\{letters}"
    elif len(letters) <= 2:
        name = letters
    else:
        name = rf"\mathrm{{{letters}}}"
    return f"{name}_{{{digits}}}" if digits else name


def _bare(tex: str) -> str:
    """Return a formula without the parentheses around all of it."""
    if not (tex.startswith("(") and tex.endswith(")")):
        return tex
    depth = 0
    for place, sign in enumerate(tex):
        depth += (sign == "(") - (sign == ")")
        if depth == 0 and place < len(tex) - 1:
            return tex
    return tex[1:-1]
