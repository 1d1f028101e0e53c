"""The margin bound of M3K, with empirical quantities in place of expectations: an indicator, not a guarantee."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polykern.bank import KernelBank
from polykern.measures._input import classes_of, given_kernels
from polykern.regularizers.kernel_margin import KernelMargin

Array = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class MarginBound:
    """The terms of the bound; `total` is their sum.

    Attributes
    ----------
    margin_loss : float
        Share of the samples whose margin f_y(x) - max of f_c(x) is at most rho.
    complexity : float
        2 c^2 norm / (m rho) sqrt(23/22 e ceil(log(p' + p'')) T_gamma0).
    confidence : float
        3 sqrt(log(2 / delta) / (2 m)).
    p_prime, p_double_prime : int
        Kernels whose margin is at least gamma0, and pairs of kernels with one on each side of it.
    T_gamma0 : float
        The largest trace of a kernel or of a mixture of two whose margin is (at least) gamma0.
    gamma0, norm, rho, delta : float
        Margin that the mixture of kernels is known to have, largest norm of a class's function, margin of the
        function, and the share of samples for which the bound may fail.
    n_samples, n_classes : int
    """

    margin_loss: float
    complexity: float
    confidence: float
    p_prime: int
    p_double_prime: int
    T_gamma0: float
    gamma0: float
    norm: float
    rho: float
    delta: float
    n_samples: int
    n_classes: int

    @property
    def total(self) -> float:
        """The bound on the share of errors; above 1 it says nothing by itself, and only compares."""
        return self.margin_loss + self.complexity + self.confidence

    def __repr__(self) -> str:
        verdict = "above 1: it compares, it does not bound" if self.total > 1.0 else "of new samples, if all else holds"
        rows = (
            ("margin loss", self.margin_loss, f"share of margins up to rho = {self.rho:g}"),
            (
                "complexity",
                self.complexity,
                f"norm {self.norm:.4g}, p' = {self.p_prime}, p'' = {self.p_double_prime}, "
                f"T = {self.T_gamma0:.4g} at gamma0 = {self.gamma0:.4g}",
            ),
            ("confidence", self.confidence, f"delta = {self.delta:g}, {self.n_samples} samples"),
            ("total", self.total, verdict),
        )
        lines = [f"  {name:<12}{value:<10.4g}{what}" for name, value, what in rows]
        return "\n".join(["MarginBound: an indicator from this sample, not a guarantee", *lines])


def margin_bound(
    kernels: Any,
    y: Any,
    model: Any,
    *,
    rho: float = 1.0,
    gamma0: float | None = None,
    delta: float = 0.05,
) -> MarginBound:
    """Theorem 2 of the M3K paper for a trained machine, as numbers that can be compared.

    error <= margin loss + 2 c^2 norm / (m rho) sqrt(23/22 e ceil(log(p' + p'')) T_gamma0) + 3 sqrt(log(2/delta)/(2 m))

    It is an indicator, not a guarantee. The theorem wants rho, gamma0 and a bound of the norms fixed before the sample
    is seen, and the margins of the kernels in expectation; here all are read off the sample. A bias counts in the
    margins, not in the norm. The factor c^2 makes it larger than 1 for most problems: compare it, for instance over
    gamma0 or over sets of kernels of the same samples.

    Parameters
    ----------
    kernels : list of (n, n) matrices, (F, n, n) array, or KernelBank
        The kernels as the machine had them: normalized, in its order, on its samples.
    y : (n,) array
        Labels.
    model : MKLClassifier (fitted), MKLResult, or any object with `coef`, `weights` and `intercept`
        Coefficients (n, T) of one output for two classes, otherwise of one per class, in the order of np.unique(y);
        weights (F,) that all classes share.
    rho : float
        Margin from which on a sample counts as right.
    gamma0 : float, optional
        Least multi-class kernel margin of the mixtures in question; None takes the margin of this one.
    delta : float
        Confidence, in (0, 1).

    References
    ----------
    C. Cortes, M. Mohri, A. Rostamizadeh, "Multi-class classification with maximum margin multiple kernel", ICML 2013,
    theorem 2. For p' + p'' = 1 the printed ceil(log) is 0, and its proof needs a whole number of at least 1: so it is.

    Examples
    --------
    >>> import numpy as np
    >>> from polykern import MKLClassifier, kernels, measures
    >>> X, y = np.array([[0.0], [1.0], [4.0], [5.0]]), [0, 0, 1, 1]
    >>> K = [kernels.RBF(gamma=g).gram(X) for g in (0.1, 1.0)]
    >>> model = MKLClassifier([kernels.Precomputed(one) for one in K], C=10.0).fit(np.arange(4), y)
    >>> bound = measures.margin_bound(K, y, model, rho=0.9)
    >>> bound.margin_loss, bound.total > 1
    (0.0, True)
    """
    bank = given_kernels(kernels).kernels
    codes = classes_of(y, bank.n_samples)
    n_classes = int(codes.max()) + 1
    coef, weights, intercept = _trained(model, bank, n_classes)
    _check(rho, delta)
    outputs, norm = _functions(bank, coef, weights)
    reached = KernelMargin(bank, codes).mean(weights / weights.sum())
    least = reached if gamma0 is None else float(gamma0)
    p_prime, p_double_prime, trace = _mixtures(_mean_differences(bank, codes), _traces(bank), least)
    factor = max(1.0, float(np.ceil(np.log(p_prime + p_double_prime))))
    root = np.sqrt(23.0 / 22.0 * np.e * factor * trace)
    m = bank.n_samples
    return MarginBound(
        margin_loss=float(np.mean(_margins(outputs + intercept, codes) <= rho)),
        complexity=float(2.0 * n_classes**2 * norm / (m * rho) * root),
        confidence=float(3.0 * np.sqrt(np.log(2.0 / delta) / (2.0 * m))),
        p_prime=p_prime,
        p_double_prime=p_double_prime,
        T_gamma0=trace,
        gamma0=least,
        norm=norm,
        rho=float(rho),
        delta=float(delta),
        n_samples=m,
        n_classes=n_classes,
    )


def _trained(model: Any, bank: KernelBank, n_classes: int) -> tuple[Array, Array, Array]:
    """(n, c) coefficients, (F,) weights and (c,) biases; of a single output, minus and plus a half of it."""
    result = getattr(model, "result_", model)
    missing = [name for name in ("coef", "weights", "intercept") if not hasattr(result, name)]
    if missing:
        raise TypeError(
            f"model is a {type(model).__name__} without {missing[0]!r}, expected a fitted MKLClassifier or its result_."
        )
    coef = np.asarray(result.coef, dtype=np.float64).reshape(len(result.coef), -1)
    weights = np.asarray(result.weights, dtype=np.float64)
    n_outputs = 1 if n_classes == 2 else n_classes
    if weights.shape != (bank.n_kernels,):
        raise ValueError(
            f"model has weights of shape {weights.shape}, expected ({bank.n_kernels},): one per kernel, shared by all "
            "classes (share_weights=True)."
        )
    if getattr(model, "_one_vs_one", False) or coef.shape != (bank.n_samples, n_outputs):
        raise ValueError(
            f"model has coefficients of shape {coef.shape}, expected ({bank.n_samples}, {n_outputs}): a row for each "
            "sample of the kernels, and one output per class (multiclass='ovr' or 'joint'; two classes have one)."
        )
    intercept = np.broadcast_to(np.asarray(result.intercept, dtype=np.float64).reshape(-1), (n_outputs,))
    if n_outputs > 1:
        return coef, weights, np.array(intercept)
    return np.hstack([-0.5 * coef, 0.5 * coef]), weights, np.array([-0.5, 0.5]) * intercept


def _check(rho: float, delta: float) -> None:
    if not 0.0 < rho < np.inf:
        raise ValueError(f"rho is {rho!r}, expected a margin above 0.")
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta is {delta!r}, expected a number above 0 and below 1.")


def _functions(bank: KernelBank, coef: Array, weights: Array) -> tuple[Array, float]:
    """(n, c) outputs of the classes' functions, and their largest norm for the mixture of weights of sum 1."""
    outputs = np.tensordot(weights, bank.scores(coef), axes=1)
    squares = np.einsum("nc,nc->c", coef, outputs) * weights.sum()
    return outputs, float(np.sqrt(max(float(squares.max()), 0.0)))


def _margins(outputs: Array, codes: NDArray[np.intp]) -> Array:
    """(n,) by how much the right class is ahead."""
    samples, others = np.arange(len(codes)), outputs.copy()
    others[samples, codes] = -np.inf
    return outputs[samples, codes] - others.max(axis=1)


def _mean_differences(bank: KernelBank, codes: NDArray[np.intp]) -> Array:
    """(F,) means over samples and other classes of the similarity to the own class minus that to the other."""
    members = codes[:, None] == np.arange(codes.max() + 1)
    means = bank.scores(members / members.sum(axis=0))
    own = means[:, np.arange(len(codes)), codes]
    others = (means.sum(axis=2) - own) / (means.shape[2] - 1)
    return np.asarray((own - others).mean(axis=1))


def _traces(bank: KernelBank) -> Array:
    return np.array([bank.diag(one).sum() for one in np.eye(bank.n_kernels)])


def _mixtures(margins: Array, traces: Array, gamma0: float) -> tuple[int, int, float]:
    """p', p'' and T_gamma0."""
    above = margins >= gamma0
    if not above.any():
        raise ValueError(
            f"gamma0 is {gamma0:.6g}, and no mixture of these kernels has such a margin: at most "
            f"{float(margins.max()):.6g}."
        )
    low, high = margins[:, None], margins[None, :]
    pairs = (low <= gamma0) & (gamma0 <= high) & (low != high)
    share = np.divide(high - gamma0, high - low, out=np.zeros(pairs.shape), where=pairs)
    mixed = share * traces[:, None] + (1.0 - share) * traces[None, :]
    largest = max(float(traces[above].max()), float(mixed[pairs].max(initial=0.0)))
    return int(np.count_nonzero(above)), int(np.count_nonzero(pairs)), largest
