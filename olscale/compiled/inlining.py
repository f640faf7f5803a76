"""Code that stands where it is called is optimized there, and not before as well.

numba makes machine code of each function alone, then puts the function's LLVM code into its callers
and optimizes that with theirs. Of what only our compiled loops call, nobody asks for machine code
of its own.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from llvmlite.binding import parse_assembly
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

_ENVIRONMENT, _POINTER = "_ZN08NumbaEnv", ir.IntType(8).as_pointer()


class InlinedCompiler(Compiler):  # type: ignore[misc]
    """numba's compiler for such functions, as option `pipeline_class`."""

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        """Compile into a library of our own."""
        self.state.library = _Inlined(self.state.targetctx.codegen(), func.__qualname__)
        return super().compile_extra(func)


class _Inlined(JITCodeLibrary):  # type: ignore[misc]
    """LLVM code that is linked into that of its callers, as numba's lowering left it."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        """Put nothing into memory but the pointers to environments, which numba sets by their names."""
        pointers = self._codegen._create_empty_module(self.name)
        for variable in self._final_module.global_variables:
            if variable.name.startswith(_ENVIRONMENT):
                pointer = ir.GlobalVariable(pointers, _POINTER, variable.name)
                pointer.linkage, pointer.initializer = "common", ir.Constant(_POINTER, None)
        self._pointers = parse_assembly(str(pointers))
        self._codegen._add_module(self._pointers)
        self._codegen._engine.finalize_object()
        self._finalized = True
