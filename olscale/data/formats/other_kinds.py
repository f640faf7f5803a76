r"""Files that hold no rows of a known format: what they are, and how to make rows of them.

A guess by the first lines would take many of them for tables of text. Most are recognized by their
first bytes, the others by the form of all their first lines. If the format is guessed,
`olscale.data.formats.find_format` refuses all of them. If the format was named, text is refused
only if it begins as no table does, such as a page of HTML.
"""

import csv
import re
from dataclasses import dataclass

from olscale.data.formats.dialect import fits_number, text_lines
from olscale.errors import FormatError

_NUMBER = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_NUMBERS = rf"\[\s*(?:{_NUMBER}(?:[\s,]+{_NUMBER})*)?[\s,]*\]"
_SPARSE = rf"\(\s*\d+\s*,\s*{_NUMBERS}\s*,\s*{_NUMBERS}\s*\)"
_POINT = rf"\(\s*{_NUMBER}\s*,\s*(?:{_NUMBERS}|{_SPARSE})\s*\)"

_AS_CSV = "save it as CSV or Parquet"
_DATA = "name the file of the rows"
_UNPACK = "unpack it and name the data files"
_PICKLE = "a pickle of Python, whose reading would run code"
_NAMES = "a list of attributes (C4.5's names) and not the rows"
_NAMES_CURE = f"{_DATA}, whose name often ends in .data"


@dataclass(frozen=True, slots=True)
class FirstBytes:
    """A kind of file recognized by its first bytes: its name, the advice, and the bytes."""

    name: str
    cure: str
    pattern: re.Pattern[bytes]

    def matches(self, head: bytes, lines: str) -> bool:
        """Return whether a file that begins with `head` is of this kind."""
        return self.pattern.match(head) is not None


@dataclass(frozen=True, slots=True)
class FirstLines:
    """A kind of text recognized by the form of its lines: its name, the advice, and the form.

    If lines of a table may have that form, `proof` must also occur in them.
    """

    name: str
    cure: str
    pattern: re.Pattern[str]
    proof: re.Pattern[str]

    def matches(self, head: bytes, lines: str) -> bool:
        """Return whether all of `lines` have the form."""
        # All of them: a table may well have one such line.
        every = all(self.pattern.fullmatch(line.strip()) for line in lines.splitlines())
        return every and self.proof.search(lines) is not None


@dataclass(frozen=True, slots=True)
class ShortHeader:
    """A table whose rows have one cell more than its first line has names: its name, the advice.

    Row names of R come first and fill a cell; a delimiter at the end of each row makes an empty
    last one. `empty` says which of the two is meant.
    """

    name: str
    cure: str
    empty: bool

    def matches(self, head: bytes, lines: str) -> bool:
        """Return whether a delimiter splits `lines` so, below names of columns of numbers."""
        return not _is_even(lines) and any(
            self._splits(lines, delimiter) for delimiter in " ,;\t"
        )

    def _splits(self, lines: str, delimiter: str) -> bool:
        names, *rows = csv.reader(lines.splitlines() or [""], delimiter=delimiter)
        width = len(names) + 1
        if len(rows) < 2 or len(names) < 2 or any(len(row) != width for row in rows):
            return False
        columns = [*zip(*rows, strict=True)]
        if self.empty != (not any(columns[-1])) or any(map(fits_number, names)):
            return False
        # Without a column of numbers it may be prose.
        return any(all(map(fits_number, column)) for column in columns[1:-1])


@dataclass(frozen=True, slots=True)
class Commented:
    """A table below lines that begin with ``#``: its name, the advice."""

    name: str
    cure: str

    def matches(self, head: bytes, lines: str) -> bool:
        """Return whether only the lines without ``#`` at their beginning split evenly."""
        every = lines.splitlines()
        rows = [line for line in every if not line.startswith("#")]
        # SVMlight text may begin with comments.
        if not every or rows[:1] == every[:1] or _PAIR.search(lines):
            return False
        return not _is_even(lines) and any(_cells(rows, mark) > 1 for mark in ",;\t| ")


_PAIR = re.compile(r"\s\d+:\S")


def _is_even(lines: str) -> bool:
    """Return whether a delimiter splits `lines` into equally many cells."""
    return any(_cells(lines.splitlines(), delimiter) > 1 for delimiter in ",;\t|")


def _cells(lines: list[str], delimiter: str) -> int:
    """Return how many cells each of `lines` has, 0 if not all have equally many."""
    widths = {len(row) for row in csv.reader(lines, delimiter=delimiter)}
    if len(widths) != 1:
        return 0
    return widths.pop()


def _magic(name: str, cure: str, pattern: bytes) -> FirstBytes:
    return FirstBytes(name, cure, re.compile(pattern, re.DOTALL))


def _begin(name: str, cure: str, pattern: bytes) -> FirstBytes:
    """Return a kind of text that may begin with a byte-order mark and white space."""
    # Possessive, so that no pattern is tried at each blank of a file of blanks.
    begin = rb"(?:\xef\xbb\xbf)?+\s*+(?:" + pattern + rb")"
    return FirstBytes(name, cure, re.compile(begin, re.IGNORECASE))


def _lines(name: str, cure: str, pattern: str, proof: str = r".") -> FirstLines:
    return FirstLines(name, cure, re.compile(pattern), re.compile(proof, re.MULTILINE))


CERTAIN = (
    _magic("a PDF document", _AS_CSV, rb"%PDF-"),
    _magic("a PostScript document", _AS_CSV, rb"%!PS"),
    _magic(
        "a spreadsheet of Excel", "save it as CSV", rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
    ),
    _magic(
        "a spreadsheet or document of an office program",
        "save it as CSV",
        rb"PK\x03\x04.{26}(?:\[Content_Types\]|_rels/|xl/|docProps/|mimetypeapplication/vnd)",
    ),
    _magic("a 7z archive", _UNPACK, rb"7z\xbc\xaf\x27\x1c"),
    _magic("a RAR archive", _UNPACK, rb"Rar!\x1a\x07"),
    _magic("a tar archive", "call it FILE.tar or FILE.tar.gz", rb".{257}ustar[\0 ]"),
    _magic("compressed by compress", "uncompress it", rb"\x1f[\x9d\xa0]"),
    _magic("compressed by LZ4", "unpack it: lz4 -d", rb"\x04\x22\x4d\x18"),
    _magic("compressed by lzip", "unpack it: lzip -d", rb"LZIP\x01"),
    _magic("compressed by Snappy", "unpack it", rb"\xff\x06\0\0sNaPpY"),
    _magic(
        "an HDF5 file",
        f"{_AS_CSV}, or arrays as NPZ",
        rb"\x89HDF\r\n\x1a\n|MATLAB 7\.3 ",
    ),
    _magic("a netCDF file", _AS_CSV, rb"CDF[\x01\x02\x05]\0"),
    _magic(
        "a single array of NumPy",
        "keep features and labels together: numpy.savez(FILE, X=X, y=y)",
        rb"\x93NUMPY",
    ),
    _magic(
        _PICKLE,
        f"load it where you trust it, and {_AS_CSV}",
        rb"\x80[\x02-\x05][\x95ccX}(\]K]",
    ),
    _magic("an Avro file", _AS_CSV, rb"Obj\x01"),
    _magic("an ORC file", "save it as Parquet", rb"ORC(?=.*\0)"),
    _magic(
        "an Arrow or Feather file",
        "save it as Parquet",
        rb"ARROW1\0|FEA1[\0-\x1f]|\xff\xff\xff\xff.{3}\0",
    ),
    _magic("a database of SQLite", _AS_CSV, rb"SQLite format 3\0"),
    _magic("a backup of PostgreSQL", _AS_CSV, rb"PGDMP"),
    _magic("a SAS file", _AS_CSV, rb"\0{12}\xc2\xea\x81\x60|HEADER RECORD\*{7}"),
    _magic("an SPSS file", _AS_CSV, rb"\$FL[23]@\(#\)"),
    _magic("a Stata file", _AS_CSV, rb"<stata_dta>|[\x68-\x73][\x01\x02]\x01\0"),
    _magic(
        "an R file",
        f"{_AS_CSV}: write.csv",
        rb"RD[AX][234]\n[XAB]\n|[XAB]\n\0\0\0[\x02\x03]",
    ),
    _magic("a file of TensorFlow records", _AS_CSV, rb".{3}\0{5}.{4}\x0a"),
    _magic(
        "a binary file of XGBoost",
        "name the text that it was made of",
        rb"\x01\xab\xff\xff",
    ),
    _magic(
        "a binary file of LightGBM",
        "name the text that it was made of",
        rb"_+LightGBM_Binary",
    ),
    _magic(
        "an image",
        "save the pixels of all images as NPZ",
        rb"\x89PNG\r|\xff\xd8\xff|GIF8[79]a",
    ),
    _begin(
        "a Git LFS pointer and not the file itself",
        "get that: git lfs pull",
        rb"version https://(?:git-lfs|hawser)\.github\.com/spec/",
    ),
    _begin(
        "a pointer of git-annex and not the file itself",
        "get that: git annex get FILE",
        rb"/annex/objects/",
    ),
    _begin(
        "a DVC pointer and not the file itself",
        "get that: dvc pull",
        rb"outs:\s*- (?:md5|hash|etag):",
    ),
    _begin(
        "an HTML page, as servers send in place of a file",
        "get the file itself, or save its table as CSV",
        rb"(?:<!--[^>]*-->\s*)?<(?:!doctype\s+html|html|head|body|table)\b",
    ),
    _begin(
        "XML, as servers send in place of a file",
        "get the file itself, or save its rows as CSV",
        rb"<\?xml\b|<!doctype\b|<[a-z][\w:.-]*(?:\s[^<>\n]*)?>\s*<[a-z/]",
    ),
    _begin(
        "the answer of a web server",
        "get the file itself",
        rb"HTTP/\d(?:\.\d)? \d{3}\b",
    ),
)
"""Kinds that begin as no table does."""

LIKELY = (
    _begin(
        "a JSON array",
        "write one record a line: jq -c '.[]' FILE > NEW.jsonl",
        rb"\[\s*\{",
    ),
    _begin(
        "a JSON document over several lines",
        "write one record a line: jq -c . FILE > NEW.jsonl",
        rb'\{[ \t\r]*\n|\{\s*"[^\n]*[^\n}\s][ \t\r]*\n',
    ),
    _begin(
        "JSON of pandas for a whole table",
        'write one record a line: table.to_json(FILE, orient="records", lines=True)',
        rb'\{"[^"\n]*":\{"0":[^\n]*\n?\Z|\{"(?:columns|schema)":[\[{][^\n]*\n?\Z',
    ),
    _lines(
        "dictionaries as Python prints them, whose quotes are not those of JSON",
        "write each with json.dumps",
        r"\{\s*'.*",
    ),
    _lines(
        "numbers in brackets, as JSON and NumPy write arrays",
        "write the numbers of a row with commas between them, without brackets",
        rf"\[?\s*{_NUMBERS}[\],]*",
    ),
    _lines(
        "MLlib's text of labelled points or vectors",
        "save it from Spark as LIBSVM text: MLUtils.saveAsLibSVMFile",
        rf"{_POINT}|{_SPARSE}",
    ),
    _lines(
        "MLlib's text of labelled points",
        "write commas for the spaces: tr ' ' ',' < FILE > NEW.csv, and read that with --label 0",
        rf"{_NUMBER},{_NUMBER}(?: +{_NUMBER})+",
        r"\.",  # without a point it may be a table of numbers with decimal commas
    ),
    _begin(
        "fastText's text",
        r"put a tab behind the label: sed 's/^__label__\([^ ]*\) */\1\t/' FILE > NEW.tsv, and read "
        "that with --no-header --label 0 --encode x1=text",
        rb"__label__\S",
    ),
    _lines(
        "LIBFFM's text of field:index:value",
        r"take the fields out: sed -E 's/ [^ :]+:([^ :]+:)/ \1/g' FILE > NEW",
        rf"{_NUMBER}(?:\s+[^\s:|,]+:[^\s:|,]+:{_NUMBER})+",
    ),
    _lines(
        "SVMlight text of several labels a row",
        "write one label a row: a file for each label",
        rf"\d+ \d+ \d+|(?:\d+(?:,\d+)*)?(?:\s*\d+:{_NUMBER})*",
        rf"^\s*\d+(?:,\d+)+\s+\d+:{_NUMBER}",
    ),
    _lines(
        "SVMlight text with names in place of indices, which are numbers",
        "with a bar behind the label it is Vowpal Wabbit's, where features have names: sed 's/ / "
        "| /' FILE > NEW.vw",
        rf"{_NUMBER}(?:\s+[^\s:|,#]+:{_NUMBER})*(?:\s*#.*)?",
        # Only in the first row: a name in a later one is a typing error, whose line the reader
        # names.
        rf"\A[^#\n]*\s(?!qid:)[^\s:|,#]*[^\W\d][^\s:|,#]*:{_NUMBER}(?:\s|$)",
    ),
    _begin(
        "a matrix of Matrix Market, which has no labels",
        "save it with its labels as NPZ; scipy.io.mmread reads it",
        rb"%%MatrixMarket\b",
    ),
    _lines(
        _NAMES,
        _NAMES_CURE,
        r"\|.*|[^|:]*(?:\|.*)?|[^|:]+:[^|:]*(?:\|.*)?",
        r"^[^|:\n]+:\s*(?:continuous|ignore|discrete\s+\d+)\s*\.?\s*(?:\||$)",
    ),
    _lines(
        _NAMES,
        _NAMES_CURE,
        r"\|.*|[^|:]*\.\s*(?:\|.*)?|[^|:]+:[^|:]*\.\s*(?:\|.*)?",
        r"^[^|:\n]+:[^|:\n]+,[^|:\n]+\.\s*(?:\||$)",
    ),
    _begin("YAML", _AS_CSV, rb"%YAML\b|---[ \t]*\r?\n"),
    _lines(
        "a list of keys and values, as of YAML",
        _AS_CSV,
        r"#.*|- .*|(?:- )?[A-Za-z][\w.-]*:(?: \S+)?",
        r"^(?:- )?[A-Za-z][\w.-]*:(?: |$)",
    ),
    _begin(
        "a table drawn with lines, as Markdown and the terminals of databases have them",
        "save it as CSV, without the lines",
        rb"(?:[^\n]+\n)?[ \t]*+(?=[^\n]*(?:[-=]{3}|\|[ \t]*:?-+:?[ \t]*\|))[-=|+: \t]+(?:\r?\n|\Z)",
    ),
    _begin(
        "LaTeX",
        _AS_CSV,
        rb"(?:%[^\n]*\n\s*)*\\(?:documentclass|usepackage|begin|hline|toprule)\b",
    ),
    _lines("rows of LaTeX", _AS_CSV, r"[^&]*&.*\\\\\s*(?:\\\w+.*)?"),
    _begin(
        "SQL",
        f"load it into the database, and from there {_AS_CSV}",
        rb"(?:(?:--|#)[^\n]*\n\s*|/\*[^*]*\*/;?\s*)*(?:CREATE (?:TABLE|DATABASE|SCHEMA)|"
        rb"INSERT INTO|DROP TABLE|BEGIN TRANSACTION|LOCK TABLES|PRAGMA \w|SET @?\w+ *[=']|USE `|"
        rb"COPY \S+ \()",
    ),
    _begin("a file of settings", _AS_CSV, rb"\[[\w .-]+\][ \t]*\r?\n\s*[\w.-]+[ \t]*="),
    _begin("a script", "name the file that it reads or writes", rb"#![ \t]*/"),
    _begin(
        "LIBSVM's ranges of features, and not the rows",
        "name the file that svm-scale wrote",
        rb"[xy]\r?\n\S+ \S+\r?\n(?:\S+ \S+\r?\n|\d+ \S+ \S+\r?\n)",
    ),
    _begin(
        "a model, and not the rows",
        _DATA,
        rb"svm_type [a-z]|solver_type [A-Z]|SVM-light Version|tree\r?\nversion=v\d",
    ),
    _begin(
        _PICKLE,
        f"load it where you trust it, and {_AS_CSV}",
        rb"\([dl]p\d\r?\n|c\w[\w.]*\n\w+\np\d\n",
    ),
    _lines(
        "text whose cells are apart by '::'",
        "write one character between them: sed 's/::/|/g' FILE > NEW.csv",
        r"[^:]+(?:::[^:]*(?::[^:]+)*)+",
    ),
    ShortHeader(
        "a table with names of rows, as R writes them, and no name above them",
        "write it with write.csv, or in Python: pandas.read_csv(FILE, sep=None).to_csv(NEW)",
        empty=False,
    ),
    _lines(
        "a table with blanks between cells, and in those with quotes",
        "write commas: write.csv in R, to_csv of pandas",
        r'(?:"[^"]*"|[^\s",;|]+)(?: +(?:"[^"]*"|[^\s",;|]+))+',
        r'(?:^| )"[^"\n ]* [^"\n]*"(?: |$)',
    ),
    ShortHeader(
        "a table whose rows end with a delimiter and its first line does not",
        "take it out: sed 's/[,;\\t]\\r*$//' FILE > NEW",
        empty=True,
    ),
    Commented(
        "a table below lines that begin with #",
        "take these out: grep -v '^#' FILE > NEW",
    ),
)
"""Kinds that a table may resemble: such a file is read if its format is named."""


def refuse_other_kinds(source: str, head: bytes, *, guessed: bool) -> None:
    r"""Refuse a file that holds no rows of any format.

    Parameters
    ----------
    source : str
        Named in the error.
    head : bytes
        Its first bytes, decompressed.
    guessed : bool
        Whether its format was guessed: then text that resembles a table is refused, too.

    Raises
    ------
    FormatError
        Says what it is and what to do.

    Examples
    --------
    >>> refuse_other_kinds("rows", b"1,2\n3,4\n", guessed=True)
    >>> refuse_other_kinds("rows", b"%PDF-1.7", guessed=False)
    Traceback (most recent call last):
    ...
    olscale.errors.FormatError: rows: is a PDF document; save it as CSV or Parquet
    """
    lines = ""
    if guessed:
        lines = "\n".join(text_lines(head))
    kinds = (*CERTAIN, *LIKELY) if guessed else CERTAIN
    for kind in kinds:
        if kind.matches(head, lines):
            raise FormatError(source, f"is {kind.name}; {kind.cure}")
