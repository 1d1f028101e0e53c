"""Where in the user's own code a call into the library came from."""

from __future__ import annotations

import sys


def users_line() -> int:
    """`stacklevel` of a warning given by the caller of this function, for it to point at the line that called us."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith("polykern."):
        frame, level = frame.f_back, level + 1
    return level
