"""The one door to Numba: every compiled function of the library goes through `jit`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba.core import types
from numba.extending import intrinsic

# The subset of LLVM's fast-math flags that stays correct with NaN and infinity in the data.
SAFE_FAST_MATH = {"contract", "reassoc", "nsz"}


def jit(function: Callable[..., Any]) -> Any:
    """Compile on first call and cache on disk; release the GIL so that threads run side by side.

    Numba's cache watches only the file of the compiled function itself, so a compiled function calls compiled
    functions of its own file only.
    """
    return numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=SAFE_FAST_MATH)(function)


@intrinsic
def _pointer(typing_context, address, like):
    """The number `address` as a pointer to entries of the type of the array `like`."""
    pointer = types.CPointer(like.dtype)

    def generate(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], context.get_value_type(pointer))

    return pointer(address, like), generate


@jit
def array_at(address, like, n_rows, stride):
    """The array (n_rows, stride) of the type of `like` that begins at `address`; for compiled code only.

    It lets one call go through a whole list of matrices: Numba has no list of arrays that is free to pass.
    """
    return numba.carray(_pointer(address, like), (n_rows, stride))


__all__ = ["SAFE_FAST_MATH", "array_at", "jit"]
