"""The budget: how it is read, what the plan makes of it, and that it is kept."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from polykern import kernels
from polykern.bank import budget, build_bank, memmap, parse_memory
from polykern.bank.plan import Request, Sizes, make_plan


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("4GB", 4 * 10**9),
        ("1.5 mb", 1_500_000),
        ("512MiB", 2**29),
        (1000, 1000),
        ("2e", None),
        ("123", 123),
        (2.5e6, 2_500_000),
    ],
)
def test_amounts(given, expected):
    if expected is None:
        with pytest.raises(ValueError, match="memory is '2e', expected"):
            parse_memory(given)
    else:
        assert parse_memory(given) == expected


@pytest.mark.parametrize("given", [0, -5, "0GB", float("inf"), float("nan")])
def test_impossible_amounts(given):
    with pytest.raises(ValueError, match="memory is .*more than 0"):
        parse_memory(given)


@pytest.mark.parametrize("given", [None, True, [1]])
def test_amounts_of_the_wrong_type(given):
    with pytest.raises(TypeError, match="memory is"):
        parse_memory(given)


def test_auto_is_half_of_what_is_free(monkeypatch, tmp_path):
    assert 0 < parse_memory("auto") <= budget.available_bytes()
    (tmp_path / "limit").write_text("3000\n")
    (tmp_path / "usage").write_text("1000\n")
    real = budget._cgroup_bytes
    monkeypatch.setattr(budget, "_cgroup_bytes", lambda *_: real(tmp_path / "limit", tmp_path / "usage"))
    assert parse_memory("auto") == 1000
    (tmp_path / "limit").write_text("max\n")
    monkeypatch.setattr(budget, "_machine_bytes", lambda: 10_000)
    assert parse_memory("auto") == 5000
    monkeypatch.setattr(budget.Path, "read_text", lambda *_: (_ for _ in ()).throw(OSError))
    assert parse_memory("auto") == 5000


def request(name, cost, family, shared=False):
    return Request(name, "", cost, family, shared)


def plan_for(requests, matrices, disk=10**12, n=1000):
    sizes = Sizes(n, 8, data=10_000, buffers=50_000)
    budget = sizes.least + int(matrices * sizes.matrix)
    return [one.storage for one in make_plan(requests, sizes, budget, disk).decisions]


def test_the_costliest_kernels_come_into_memory_first():
    requests = [
        request("cheap", 20.0, 0),
        request("callable", 500.0, 1),
        request("given", 1.0, 2, True),
        request("dear", 200.0, 3),
    ]
    assert plan_for(requests, 0.5) == ["on the fly", "memmap", "shared", "memmap"]
    assert plan_for(requests, 1) == ["on the fly", "memmap", "shared", "memmap"]
    assert plan_for(requests, 2) == ["on the fly", "dense", "shared", "memmap"]
    assert plan_for(requests, 3) == ["on the fly", "dense", "shared", "dense"]
    assert plan_for(requests, 4) == ["dense", "dense", "shared", "dense"]


def test_a_family_pays_for_its_base_once():
    family = [request(str(k), 300.0, 0) for k in range(10)]
    assert plan_for(family, 1) == ["on the fly"] * 10
    assert plan_for([request("alone", 300.0, 0)], 1) == ["memmap"]


def test_a_full_disk():
    requests = [request("a", 500.0, 0), request("b", 500.0, 1)]
    assert plan_for(requests, 0, disk=0) == ["on the fly", "on the fly"]
    assert plan_for(requests, 0, disk=2 * 8 * 10**6) == ["memmap", "on the fly"]


def test_room_for_the_pages_of_a_file_is_kept_only_where_there_is_a_file():
    sizes = Sizes(1000, 8, data=0, buffers=0, window=10**6)
    exactly_one = sizes.least + 2 * sizes.matrix
    cheap, dear = [request("a", 20.0, 0), request("b", 20.0, 1)], [request("a", 500.0, 0), request("b", 500.0, 1)]
    for requests, extra, expected in (
        (cheap, 0, ["dense", "on the fly"]),
        (dear, 0, ["memmap", "memmap"]),
        (dear, sizes.window, ["dense", "memmap"]),
    ):
        plan = make_plan(requests, sizes, exactly_one + extra, 10**12)
        assert [one.storage for one in plan.decisions] == expected
        assert plan.used <= plan.budget


def test_the_combined_matrix_is_planned_for():
    sizes = Sizes(1000, 8, data=0, buffers=0)
    assert make_plan([request("a", 1.0, 0)], sizes, sizes.least + sizes.matrix, 0).fits_combined
    assert not make_plan([request("a", 1.0, 0)], sizes, sizes.least + sizes.matrix - 1, 0).fits_combined


def test_the_least_that_would_do_does():
    X = np.random.default_rng(0).standard_normal((300, 5))
    with pytest.raises(ValueError, match="at least .* pass memory='.*MB'") as caught:
        build_bank(["rbf", "linear"], X, memory="10KB")
    enough = str(caught.value).split("memory='")[1].split("'")[0]
    bank = build_bank(["rbf", "linear"], X, memory=enough)
    np.testing.assert_allclose(bank.scores(np.ones(300)), build_bank(["rbf", "linear"], X).scores(np.ones(300)))


def test_without_room_for_the_combined_matrix():
    X = np.random.default_rng(0).standard_normal((1200, 5))
    family = [kernels.RBF(gamma=0.1), kernels.RBF(gamma=1.0)]
    bank = build_bank(family, X, memory="12MB", n_jobs=1)
    assert not bank.fits_combined
    assert bank.row_cache_bytes < 12e6
    assert "rows on demand" in bank.explain()
    with pytest.raises(ValueError, match="does not fit into memory"):
        bank.combine([1.0, 1.0])
    expected = build_bank(family, X).combine([1.0, 2.0])
    np.testing.assert_allclose(bank.rows([7, 1100], [1.0, 2.0]), expected[[7, 1100]], atol=1e-12)
    assert bank.subset(np.arange(200)).fits_combined


def test_explain_is_a_readable_table():
    X = np.random.default_rng(0).standard_normal((600, 5))
    family = [kernels.RBF(gamma=g) for g in (0.1, 1.0, 10.0)] + [kernels.as_kernel(lambda A, B: A @ B.T)]
    names = ["narrow", "middle", "wide", "own"]
    sizes = build_bank(family, X, names=names, n_jobs=1)._plan.sizes
    text = build_bank(family, X, names=names, memory=sizes.least + 2.5 * sizes.matrix, n_jobs=1).explain()
    lines = text.splitlines()
    assert lines[0].split() == ["kernels", "what", "storage", "bytes", "reason"]
    assert lines[2].startswith("narrow .. wide (3)")
    assert "on the fly" in lines[2]
    assert lines[3].startswith("own")
    assert "dense" in lines[3]
    assert lines[-1].startswith("total")
    assert max(map(len, lines)) <= 160


def test_files_go_when_the_bank_goes(monkeypatch, tmp_path):
    monkeypatch.setattr(memmap.tempfile, "tempdir", str(tmp_path))
    X = np.random.default_rng(0).standard_normal((600, 30))
    own = [kernels.as_kernel(lambda A, B, s=s: s * (A @ B.T)) for s in (1.0, 2.0)]
    sizes = build_bank(own, X, n_jobs=1)._plan.sizes
    bank = build_bank(own, X, memory=sizes.least + 1.5 * sizes.matrix, n_jobs=1)
    assert "memmap" in bank.explain()
    assert len(list(tmp_path.iterdir())) == 1
    part = bank.subset(np.arange(0, 600, 2))
    expected = bank.scores(np.repeat([1.0, 0.0], 300)[np.argsort(np.r_[0:600:2, 1:600:2])])[:, ::2]
    del bank
    gc.collect()
    np.testing.assert_allclose(part.scores(np.ones(300)), expected, rtol=1e-10)
    assert len(list(tmp_path.iterdir())) == 1
    del part
    gc.collect()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from Linux's accounts")
@pytest.mark.parametrize("base", [True, False])
def test_the_budget_is_kept(base):
    """60 kernels on 1500 samples, 540 MB in float32, under 200 MB: peak memory beyond what Python and the data need."""
    script = textwrap.dedent(f"""
        import resource
        import numpy as np
        from polykern import kernels
        from polykern.bank import build_bank

        def peak():
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

        rng = np.random.default_rng(0)
        X = rng.standard_normal((1500, 8))

        def family(count):
            if {base}:
                return [kernels.RBF(gamma=g) for g in np.geomspace(0.01, 10, count)]
            return [kernels.as_kernel(lambda A, B, s=s: (A @ B.T + s) ** 2) for s in range(1, count + 1)]

        def work(bank):
            weights = np.ones(bank.n_kernels)
            bank.scores(rng.standard_normal(1500))
            bank.quad_forms(rng.standard_normal((1500, 3)))
            bank.combine(weights)
            bank.rows(np.arange(0, 1500, 100), weights)
            return bank.explain()

        X_small = X[:100]
        small = build_bank(family(3), X_small, dtype="float32", memory="50MB")
        small.scores(np.ones(100)); small.quad_forms(np.ones((100, 3))); small.combine(np.ones(3))
        before = peak()
        text = work(build_bank(family(60), X, dtype="float32", memory="200MB"))
        print(peak() - before)
        print(text)
    """)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    used, text = done.stdout.split("\n", 1)
    assert ("on the fly" if base else "memmap") in text
    assert int(used) < 200e6, f"{int(used) / 1e6:.0f} MB\n{text}"
