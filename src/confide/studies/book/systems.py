"""Mechanisms, theorems and studies of the five papers: source files and book sections."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class System:
    """A mechanism, theorem or study of a paper, with its source files and book sections.

    Parameters
    ----------
    name
        Name of the system.
    modules
        Files below ``src/confide`` that implement the system.
    sections
        Sections of the book that assess the system, as ``page#anchor``. The front page
        shows the verdict of the first section.
    status
        Status of the published privacy guarantee: PROVED, CLAIMED or REFUTED. The status of
        our version follows after a semicolon if it differs. Empty for a study.
    """

    name: str
    modules: tuple[str, ...]
    sections: tuple[str, ...]
    status: str = ""


_CI, _NAPP, _ADMM = "confidence-intervals", "napp-erm", "renyi-admm"
_KST, _REG = "kifer-smith-thakurta", "private-regression"
SYSTEMS: Final = (
    System(
        "objective perturbation with improved constants",
        ("mechanisms/objective/perturbation.py", "mechanisms/objective/calibration.py"),
        (f"{_CI}#theorem-1",),
        "PROVED",
    ),
    System(
        "output perturbation, pure and zCDP",
        ("mechanisms/output.py",),
        (f"{_CI}#theorem-3",),
        "PROVED",
    ),
    System(
        "generalised objective perturbation: Gamma, Gaussian, constraints",
        ("mechanisms/objective/perturbation.py", "mechanisms/objective/ball.py"),
        (f"{_KST}#theorem-2", f"{_KST}#theorem-1"),
        "PROVED",
    ),
    System(
        "private matrices and intervals for objective perturbation",
        ("mechanisms/intervals/moments.py", "mechanisms/intervals/mechanism.py"),
        (f"{_CI}#theorem-2", f"{_CI}#lemmas"),
        "PROVED",
    ),
    System(
        "intervals for output perturbation",
        ("mechanisms/intervals/laws.py", "mechanisms/intervals/mechanism.py"),
        (f"{_CI}#theorem-4",),
        "PROVED",
    ),
    System(
        "the coverage studies",
        ("studies/intervals/tables.py", "studies/intervals/figures.py"),
        tuple(f"{_CI}#table-{number}" for number in range(2, 7)),
    ),
    System(
        "NAPP-ERM with all penalties and losses",
        ("mechanisms/published/napp/mechanism.py",),
        (f"{_NAPP}#theorem-4",),
        "REFUTED; PROVED if solved as one convex problem",
    ),
    System(
        "NAPP-VS and VS+",
        ("mechanisms/published/napp/mechanism.py",),
        (f"{_NAPP}#selection",),
        "REFUTED",
    ),
    System(
        "retrieval and recycling",
        ("mechanisms/published/napp/rows.py",),
        (f"{_NAPP}#proposition-6",),
        "REFUTED",
    ),
    System(
        "NAPP's bounds",
        ("studies/napp/bounds.py",),
        (f"{_NAPP}#theorem-8", f"{_NAPP}#theorem-10"),
        "CLAIMED",
    ),
    System(
        "NAPP's studies",
        ("studies/napp/figures457.py", "studies/napp/figure6.py"),
        (f"{_NAPP}#figure-4", f"{_NAPP}#figure-5", f"{_NAPP}#figure-6"),
    ),
    System("ssADMM", ("mechanisms/gradient/ssadmm.py",), (f"{_ADMM}#theorem-1",), "PROVED"),
    System(
        "mpADMM",
        ("mechanisms/gradient/mpadmm.py", "mechanisms/published/mpadmm.py"),
        (f"{_ADMM}#theorem-3",),
        "REFUTED for step sizes above 1; PROVED with the corrected sensitivity",
    ),
    System(
        "proximal DP-SGD",
        ("mechanisms/gradient/sgd.py",),
        (f"{_ADMM}#baselines",),
        "PROVED",
    ),
    System(
        "DP-ADMM and ADMM objective perturbation",
        ("mechanisms/gradient/dp_admm.py", "mechanisms/objective/admm.py"),
        (f"{_ADMM}#baselines",),
        "PROVED",
    ),
    System(
        "Rényi accounting without replacement",
        ("accounting/subsampling.py",),
        (f"{_ADMM}#lemma-2",),
        "PROVED",
    ),
    System(
        "non-smooth penalties",
        ("objectives/penalties.py", "solvers/composite.py"),
        (f"{_ADMM}#penalties",),
        "PROVED",
    ),
    System(
        "the ADMM studies",
        ("studies/admm/figures.py",),
        (f"{_ADMM}#figure-1", f"{_ADMM}#figure-3", f"{_ADMM}#figure-4"),
    ),
    System(
        "support selection by the exponential mechanism",
        ("selection/exponential.py",),
        (f"{_KST}#theorem-6",),
        "PROVED",
    ),
    System(
        "sample-and-aggregate and sparse regression",
        ("selection/sample_aggregate.py", "selection/select_then_fit.py"),
        (f"{_KST}#theorem-8", f"{_KST}#theorem-9"),
        "PROVED",
    ),
    System(
        "KST's theorems and tables",
        ("studies/kst/risk_bounds.py", "studies/kst/support_bounds.py"),
        (f"{_KST}#table-1", f"{_KST}#table-2", f"{_KST}#theorem-4"),
    ),
    System(
        "rls-out in three variants",
        ("mechanisms/published/rls.py",),
        (f"{_REG}#algorithm-4", f"{_REG}#figure-1"),
        "PROVED, except for the oracle, which has no guarantee",
    ),
    System(
        "the functional mechanism",
        ("mechanisms/statistics/functional.py",),
        (f"{_REG}#functional",),
        "PROVED",
    ),
    System(
        "the projected histogram",
        ("mechanisms/statistics/histogram.py",),
        (f"{_REG}#histogram",),
        "PROVED",
    ),
    System(
        "CMS objective perturbation for regression",
        ("mechanisms/published/rls.py",),
        (f"{_REG}#algorithm-3", f"{_REG}#figure-4"),
        "REFUTED; PROVED after a correction",
    ),
    System(
        "model inversion",
        ("attacks/inversion.py",),
        (f"{_REG}#figure-5", f"{_REG}#figure-6"),
    ),
    System(
        "the warfarin study",
        ("studies/regression/figures.py", "studies/regression/sampler.py"),
        (f"{_REG}#figure-1", f"{_REG}#short-noise"),
    ),
)
"""All systems, in the order of the papers."""
