"""Inlined code is optimized where it is called, and not before as well.

numba makes machine code of each function separately, then puts the function's LLVM code into its
callers and optimizes that with theirs. Functions that only our compiled loops call do not need
their own machine code.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from llvmlite.binding import parse_assembly
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

_ENVIRONMENT = "_ZN08NumbaEnv"
_POINTER = ir.IntType(8).as_pointer()


class InlinedCompiler(Compiler):  # type: ignore[misc]
    """numba's compiler for such functions, as option `pipeline_class`."""

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        """Compile into a library of our own."""
        self.state.library = _Inlined(self.state.targetctx.codegen(), func.__qualname__)
        return super().compile_extra(func)


class _Inlined(JITCodeLibrary):  # type: ignore[misc]
    """LLVM code that is linked into its callers in the form of numba's lowering."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        """Put only the pointers to environments into memory, which numba sets by name."""
        pointers = self._codegen._create_empty_module(self.name)
        for variable in self._final_module.global_variables:
            if variable.name.startswith(_ENVIRONMENT):
                pointer = ir.GlobalVariable(pointers, _POINTER, variable.name)
                pointer.linkage = "common"
                pointer.initializer = ir.Constant(_POINTER, None)
        self._pointers = parse_assembly(str(pointers))
        self._codegen._add_module(self._pointers)
        self._codegen._engine.finalize_object()
        self._finalized = True
