"""The user's Ctrl-C is let out of whatever hides it, as what it was."""

import pytest

from olscale.system.interrupts import UserInterrupt, let_interrupt_out


class Asked(UserInterrupt):
    """A request of a certain kind, as SIGTERM in a night."""


def buried(interrupt: BaseException) -> Exception:
    """Return an error that was raised while the interrupt was handled."""
    try:
        try:
            raise interrupt
        except BaseException:
            raise ImportError("a module is half there") from None
    except ImportError as error:
        return error


@pytest.mark.parametrize("interrupt", [Asked("SIGTERM"), UserInterrupt()])
def test_a_buried_interrupt_comes_out_as_it_was(interrupt: BaseException) -> None:
    error = ExceptionGroup("tasks", [ValueError("another"), buried(interrupt)])
    with pytest.raises(type(interrupt)) as raised:
        let_interrupt_out(error)
    assert raised.value is interrupt


def test_pythons_own_comes_out_as_the_users() -> None:
    """Whoever else looks at it cannot take it for that of a learner."""
    with pytest.raises(UserInterrupt):
        let_interrupt_out(buried(KeyboardInterrupt()))


def test_errors_without_an_interrupt_stay() -> None:
    let_interrupt_out(buried(ValueError("no interrupt")))
