"""The public names are those of public_names.txt: a name that comes or goes is a decision, not an accident."""

from __future__ import annotations

import importlib

import pytest

from architecture.public_names import HEADER, PUBLIC_MODULES, SNAPSHOT, live_names


def test_public_names_are_those_of_the_snapshot():
    frozen = [line for line in SNAPSHOT.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    live = live_names()
    assert live == frozen, f"gone: {sorted(set(frozen) - set(live))}; new: {sorted(set(live) - set(frozen))}. {HEADER}"


def test_every_public_module_lists_its_names():
    for name in PUBLIC_MODULES:
        module = importlib.import_module(name)
        missing = [public for public in module.__all__ if not hasattr(module, public)]
        assert not missing and len(set(module.__all__)) == len(module.__all__), name


def test_front_door_is_lazy_and_says_what_it_has():
    import polykern

    assert dir(polykern) == sorted(polykern.__all__)
    with pytest.raises(AttributeError, match=r"no attribute 'MKLClasifier'.*MKLClassifier"):
        _ = polykern.MKLClasifier
