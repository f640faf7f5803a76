"""The protocol options of ``olscale evaluate``: a flag for each that `ProtocolSpec` declares."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import wraps
from itertools import chain
from typing import Any, Literal, get_args, get_origin, get_type_hints

import click

from olscale.evaluation.protocol import ProtocolSpec


class _RowsOrColumn(click.ParamType):  # type: ignore[type-arg]
    name = "N|COLUMN"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | str:
        number = str(value).removeprefix("-").isdecimal()
        return click.IntRange(min=0).convert(value, param, ctx) if number else str(value)


class _Names(click.ParamType):  # type: ignore[type-arg]
    name = "NAME,..."

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        return tuple(name.strip() for name in str(value).split(","))


def _joined(
    context: click.Context, option: click.Parameter, given: tuple[tuple[str, ...], ...]
) -> Any:
    return tuple(chain.from_iterable(given)) or None


def _click_type(hint: Any, limits: Mapping[str, Any]) -> Any:
    """Return click's type for that of an option."""
    kinds = [kind for kind in get_args(hint) or (hint,) if kind is not type(None)]
    if get_origin(hint) is Literal:
        return click.Choice(kinds)
    if get_origin(hint) is tuple:
        return _Names()
    if len(kinds) > 1:
        return _RowsOrColumn()
    [kind] = kinds
    if get_origin(kind) is Literal:
        return click.Choice(get_args(kind))
    if kind is str:
        return click.STRING
    if kind is float:
        return click.FloatRange(limits["gt"], limits["lt"], min_open=True, max_open=True)
    return click.IntRange(min=limits["ge"])


def protocol_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options to `command`, passed as dict `protocol` by key; absent ones are None."""
    hints = get_type_hints(ProtocolSpec)
    declared = [option for option in fields(ProtocolSpec) if option.metadata["flag"]]

    @wraps(command)
    def called(**options: Any) -> None:
        protocol = {option.name: options.pop(option.name) for option in declared}
        command(**options, protocol=protocol)

    for option in reversed(declared):
        about = option.metadata
        flag = f"--{option.name.replace('_', '-')}"
        hint = hints[option.name]
        kind: dict[str, Any] = (
            {"type": _click_type(hint, about)}
            if hint is not bool
            else {"is_flag": True, "default": None}
        )
        if isinstance(
            kind.get("type"), _Names
        ):  # a list in one flag, or in several: none is dropped
            kind |= {"multiple": True, "callback": _joined}
        called = click.option(flag, metavar=about["metavar"], help=about["description"], **kind)(
            called
        )
    return called
