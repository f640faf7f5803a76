r"""ARFF, the format of Weka, MOA and OpenML: declared attributes, then rows of cells.

Two programs define what a file means: Weka (``ArffLoader``, a ``StreamTokenizer``) and liac-arff.
Where they agree, this module agrees; where they differ, it follows the rules below.

**Cells.** A comma, white space or both separate cells. Both quotes hold a cell with separators; a
backslash in them begins an escape (``\n \t \r \b \f \a \v``, octal ``\0`` to ``\377``, ``\uXXXX``;
any other character stands for itself), as in Weka, and a doubled quote is one. Outside quotes a
backslash is a letter, and ``%`` begins a comment, after a word too, as in Weka; liac-arff knows
comments on lines of their own. A quote ends in its line.

**Missing values.** Only ``?`` without quotes, and nothing between two commas (liac-arff; Weka skips
it). ``'?'``, ``''`` and words such as ``NA`` are values. A comma after the last cell means
nothing: MOA writes it on every row.

**Types.** ``numeric``, ``real`` and ``integer`` are numbers (``1.5`` is one where ``integer`` is
declared, as in Weka); ``NaN`` is missing, as in Weka. ``{a,b}`` are categories, digits too: one
feature per value, in declared order. As label and as segments digits stay numbers, and ``--encode
COLUMN=number`` makes numbers of any. A value that is not declared is an error. ``string`` and
``date`` are text. A label of numbers is a regression, one of declared values is classes.
Declarations may continue on the next line. Text after a type is ignored, as in Weka. Relational
attributes are refused.

**Sparse rows** (``{1 0.5, 7 red}``): what is left out is 0, or the first declared value. A left-out
string has no value: Weka leaves out the one that it counts as 0, and warns of it. Positions may
come in any order (liac-arff), but not twice (Weka). Where the first row is sparse, all rows stay
so; rows of both kinds may stand in one file. An attribute ``{0,1}`` of such a file is a number: as
a category it would have a feature that is set in nearly every row.

**Weights** of rows (``{5}`` after the cells) are ignored, with a note that counts them.
"""
