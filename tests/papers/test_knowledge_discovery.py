"""What the examples of examples/4_read_the_weights say is what they compute: the weights tell the structure."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "4_read_the_weights"
SCRIPTS = ("stars", "sine_frequency", "sum_of_sines")
# Solvers may leave a kernel that is not chosen a weight as small as this.
NOTHING = 1e-6


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def stars():
    script = example("stars")
    weights, errors = script.weights_by_distance(n_samples=600)
    return np.array(script.WIDTHS), weights, errors


def test_near_stars_choose_the_narrowest_kernel_and_far_ones_a_wide_one(stars):
    widths, weights, _ = stars
    assert widths[weights[0].argmax()] == 0.01
    assert widths[weights[-1].argmax()] == 10.0 and weights[-1].max() > 0.9
    heaviest = widths[weights.argmax(axis=1)]
    assert np.all(np.diff(heaviest) >= 0)


def test_the_narrowest_kernel_loses_its_weight_and_the_widest_never_has_any(stars):
    widths, weights, _ = stars
    narrowest, widest = weights[:, widths == 0.01], weights[:, widths == 100.0]
    assert np.all(np.diff(narrowest, axis=0) <= NOTHING) and narrowest[-1] <= NOTHING
    assert widest.max() <= NOTHING


def test_the_error_of_stars_falls_to_zero_with_their_distance(stars):
    *_, errors = stars
    assert errors[0] > 0.4 and errors[-2:].max() == 0.0
    assert np.all(np.diff(errors) <= 0.0)


@pytest.fixture(scope="module")
def sines():
    script = example("sine_frequency")
    weights, errors = script.weights_by_frequency(n_samples=300)
    return np.array(script.WIDTHS), weights, errors


def test_the_width_falls_with_the_frequency_of_the_sine(sines):
    widths, weights, _ = sines
    heaviest = widths[weights.argmax(axis=1)]
    assert np.all(np.diff(heaviest) <= 0)
    assert list(dict.fromkeys(heaviest)) == [10.0, 1.0, 0.5, 0.05, 0.005]  # each of the five is best somewhere


def test_at_most_two_neighbouring_widths_share_a_sine(sines):
    _, weights, _ = sines
    for row in weights:
        chosen = np.flatnonzero(row > 1e-2)
        assert len(chosen) <= 2 and np.ptp(chosen) <= 1


def test_the_chosen_widths_fit_the_sine(sines):
    *_, errors = sines
    assert errors[:8].max() < 0.12  # the tube is 0.1 wide, the sine itself has a root mean square of 0.71


def test_line_slow_and_fast_sine_each_get_a_width():
    script = example("sum_of_sines")
    widths = np.array(script.WIDTHS)
    weights = script.weights_by_fast_frequency((10.0, 20.0, 40.0), n_samples=300)
    fast, slow, line = (weights[:, at].sum(axis=1) for at in (widths < 0.1, widths == 1.0, widths == 10.0))
    assert np.all(fast > 0.5) and np.all(slow > 0.1) and np.all(line > 0.03)
    np.testing.assert_allclose(fast + slow + line, 1.0, atol=1e-2)
    assert np.all(np.diff(widths[weights.argmax(axis=1)]) < 0)


def test_without_the_line_two_widths_get_all_the_weight():
    script = example("sum_of_sines")
    widths = np.array(script.WIDTHS)
    weights = script.weights_by_fast_frequency((15.0, 20.0, 40.0), n_samples=300, slope=0.0)
    for row, fast in zip(weights, (0.01, 0.005, 0.001), strict=True):
        assert set(widths[row > 1e-3]) == {fast, 1.0}
        assert row[widths == fast] > row[widths == 1.0] > 0.1


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_print_a_table_and_write_a_picture(name, tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(FOLDER)
    monkeypatch.setattr(sys, "argv", [f"{name}.py", str(tmp_path / "weights.png")])
    script = example(name)
    monkeypatch.setattr(script, "N_SAMPLES", 200)
    script.main()
    *rows, last = capsys.readouterr().out.splitlines()
    assert len({len(row) for row in rows}) == 1 and len(rows) >= 9
    assert last == f"The picture: {tmp_path / 'weights.png'}"
    assert (tmp_path / "weights.png").read_bytes().startswith(b"\x89PNG")
