"""Two-stage methods: kernel weights first, then any kernel machine (`TwoStageMKL`)."""

from polykern.weighting.base import Weighting

__all__ = ["Weighting"]
