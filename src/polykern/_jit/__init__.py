"""The one door to Numba: every compiled function of the library goes through `jit`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

# The subset of LLVM's fast-math flags that stays correct with NaN and infinity in the data.
SAFE_FAST_MATH = {"contract", "reassoc", "nsz"}


def jit(function: Callable[..., Any]) -> Any:
    """Compile on first call and cache on disk; release the GIL so that threads run side by side.

    Numba's cache watches only the file of the compiled function itself, so a compiled function calls compiled
    functions of its own file only.
    """
    return numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=SAFE_FAST_MATH)(function)


__all__ = ["SAFE_FAST_MATH", "jit"]
