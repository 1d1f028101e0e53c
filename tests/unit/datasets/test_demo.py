"""load_demo: the views are the columns they are named after."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from polykern.datasets import load_demo


def test_views_hold_the_three_readings_of_their_measurement():
    demo = load_demo()
    for view, columns in list(demo.views.items())[:10]:
        names = [demo.feature_names[column] for column in columns]
        assert names == [f"mean {view}", f"{view} error", f"worst {view}"]
    assert list(demo.views)[10:] == ["noise 1", "noise 2"]
    assert demo.feature_names[demo.views["noise 2"][0]] == "noise 2 column 1"
    assert demo.data.shape == (569, 36) and len(demo.feature_names) == 36
    assert sorted(column for columns in demo.views.values() for column in columns) == list(range(36))
    assert demo.kernel_columns == list(demo.views.items())


def test_measurements_are_standardised_and_labels_are_words():
    demo, cancer = load_demo(), load_breast_cancer()
    np.testing.assert_allclose(demo.data[:, :30].mean(axis=0), 0.0, atol=1e-10)
    np.testing.assert_allclose(demo.data[:, :30].std(axis=0), 1.0)
    np.testing.assert_allclose(np.corrcoef(demo.data[:, 3], cancer.data[:, 3])[0, 1], 1.0)
    np.testing.assert_array_equal(demo.target == "benign", cancer.target == 1)


def test_noise_is_fixed_by_its_seed_and_can_be_left_out():
    np.testing.assert_array_equal(load_demo().data, load_demo().data)
    assert not np.array_equal(load_demo(random_state=1).data, load_demo(random_state=2).data)
    without = load_demo(noise_views=0)
    assert without.data.shape == (569, 30) and len(without.views) == 10


def test_negative_noise_is_refused():
    with pytest.raises(ValueError, match="noise_views is -1, expected a whole number of at least 0"):
        load_demo(noise_views=-1)
