"""The type of an option that is a number of rows, or the name of a column with one per row."""

from typing import Any


class RowsOrColumn:
    """Marks an option that is a number of rows, or the name of a column with one per row."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Check the value before pydantic converts a string to a number."""
        from pydantic_core.core_schema import no_info_before_validator_function

        return no_info_before_validator_function(self._check, handler(source))

    @staticmethod
    def _check(value: object) -> object:
        number = isinstance(value, int) and not isinstance(value, bool) and value >= 0
        if not number and not (isinstance(value, str) and value):
            raise ValueError(
                "expected a number of rows, 0 or more, or the name of a column that has it for "
                "each row"
            )
        return value
