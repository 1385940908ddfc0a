"""NAPP-ERM as published by Li and Liu, with misprints corrected: for comparison only.

The status of every variant is given, with the reason.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Literal, cast

from confide._types import Array
from confide.accounting import event_of
from confide.data.rows.in_memory import Rows, require_in_memory
from confide.errors import InvalidParameter, PrivacyLeak, Unproved
from confide.mechanisms.base import Calibration, checked_copies, make_release
from confide.mechanisms.needs import BOUNDED_SLOPE, SMOOTH_LOSS, Need, check_needs
from confide.mechanisms.objective.perturbation import ObjectivePerturbation
from confide.mechanisms.published.napp.iterations import (
    ExactStep,
    NappPath,
    NappStopping,
    Step,
    follow,
    settled,
)
from confide.mechanisms.published.napp.rows import (
    AugmentedStep,
    Shares,
    check_augmentation,
    recycle,
)
from confide.mechanisms.published.napp.verdicts import Verdict, refusal, verdict
from confide.mechanisms.published.napp.weights import NappTarget, Weighting
from confide.mechanisms.release import NoiseRecord, Release
from confide.noise import (
    Entropy,
    Gaussian,
    Noise,
    RoundNoise,
    SphericalLaplace,
)
from confide.objectives import Objective
from confide.privacy import (
    Approx,
    Budget,
    Neighbours,
    Pure,
    Status,
    Zcdp,
    round_up,
)
from confide.privacy.budgets import exact

Solver = Literal["reweighting", "convex"]
Retrieval = Literal["none", "return", "recycle"]

LASSO = NappTarget()
DEFAULT_STOPPING = NappStopping()
NO_PENALTY = Need(
    "an objective without a separate penalty",
    lambda objective: objective.penalty is None,
    "set the penalty by Napp(target=...)",
)


@dataclass(frozen=True, slots=True)
class NappCalibration(Calibration):
    """Calibration of NAPP, with the noise and a ridge of twice the floor Λ₀."""

    def check_rows(self, rows: Rows) -> None:
        """Reject tables that are not in memory, before any budget is spent."""
        require_in_memory(rows, "NAPP")


@dataclass(frozen=True, slots=True)
class Napp:
    """Noise-augmented privacy-preserving empirical risk minimisation, as published.

    Guarantee    none for most variants; see ``status`` and docs/napp.md.
    Public       loss, target, bounds, floor, budget, number of iterations.
    Private      rows and targets, and the number of rows.
    Noise        spherical Laplace or Gaussian on the linear term, as published: rate rε/L
                 or variance 2L²(rε + log 1/δ)/(rε)². The ridge l2 is twice the floor Λ₀ of
                 the weights.
    Proof        of solver="convex" alone: docs/proofs/objective-perturbation.md.

    Parameters
    ----------
    target : NappTarget, optional
        The penalty to be imitated by weighted ridge problems.
    moor : bool, default=True
        Whether a weight is the maximum of the floor Λ₀ and the value that imitates the
        penalty, instead of their sum.
    selection : bool, default=False
        Replace ⟨b,θ⟩ by ⟨b,|θ|⟩, where b is the random linear term.
    truncation : float, default=-inf
        With ``selection``, lower bound on every bⱼ: −inf is NAPP-VS, 0 is NAPP-VS+.
    solver : {"reweighting", "convex"}, default="reweighting"
        "convex" solves for the fixed point of the iterations directly.
    stopping : NappStopping, optional
        Stopping rule of the iterations.
    retrieval : {"none", "return", "recycle"}, default="none"
        Whether budget that the paper considers unused is returned or recycled.
    rounds : int, default=1
        Largest number of rounds of recycling.
    augmented : int, optional
        Number n_e of augmented rows for ``estimator``. By default the limit of infinitely
        many rows.
    estimator : estimator of scikit-learn, optional
        Estimator that is fitted to the augmented rows.
    share : float, str or Fraction, default=1/2
        Share r of ε that determines the noise.
    zero_below : float, default=1e-8
        Coefficients with at most this absolute value are set to 0.
    accept_unproved : bool, default=False
        Allow variants whose guarantee has been refuted, or is claimed but not proved.

    Raises
    ------
    InvalidParameter
        Settings are not valid or cannot be combined.
    Unproved
        The guarantee of the variant has been refuted, or is claimed but not proved, and
        ``accept_unproved`` is not set.

    Examples
    --------
    >>> from confide.mechanisms.published import Napp, NappTarget
    >>> Napp(target=NappTarget("lasso"), moor=False, solver="convex").status.name
    'PROVED'
    """

    target: NappTarget = LASSO
    moor: bool = True
    selection: bool = False
    truncation: float = -math.inf
    solver: Solver = "reweighting"
    stopping: NappStopping = DEFAULT_STOPPING
    retrieval: Retrieval = "none"
    rounds: int = 1
    augmented: int | None = None
    estimator: Any = None
    share: Fraction = Fraction(1, 2)
    zero_below: float = 1e-8
    accept_unproved: bool = False

    name: ClassVar[str] = "napp"
    needs: ClassVar[tuple[Need, ...]] = (SMOOTH_LOSS, BOUNDED_SLOPE, NO_PENALTY)
    default_neighbours: ClassVar[Neighbours] = Neighbours.ADD_REMOVE
    theorems: ClassVar[tuple[str, ...]] = (
        "objective-perturbation.md#objective-separate-exact",
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "share", exact(self.share, "share"))
        self._check_choices()
        found = self.verdict
        if found.status is not Status.PROVED and not self.accept_unproved:
            raise Unproved(refusal(found))

    @property
    def verdict(self) -> Verdict:
        """Status of this variant, with the reason."""
        return verdict(
            adapts=self.target.adapts,
            moor=self.moor,
            selection=self.selection,
            truncated=self.truncation > -math.inf,
            retrieval=self.retrieval != "none",
            augmented=self.augmented is not None,
            convex=self.solver == "convex",
            steps=self.stopping.iterations,
        )

    @property
    def status(self) -> Status:
        """Status of this variant: PROVED, CLAIMED or REFUTED."""
        return self.verdict.status

    def calibrate(
        self,
        objective: Objective,
        budget: Budget,
        neighbours: Neighbours,
        *,
        copies: int = 1,
    ) -> Calibration:
        """Choose the noise and the floor Λ₀ from public information alone.

        Parameters
        ----------
        objective : Objective
            Loss, penalty and public bounds.
        budget : Pure, Approx or Zcdp
            Privacy budget, shared by all objectives.
        neighbours : Neighbours
            Neighbour relation for which the guarantee is to hold.
        copies : int, default=1
            Number of objectives, fitted to the same rows, that share the budget.

        Returns
        -------
        Calibration
            Noise and guarantee of the release.
        """
        check_needs(type(self).__name__, self.needs, objective)
        if isinstance(budget, Zcdp):
            raise InvalidParameter("budget", "Pure or Approx for NAPP", budget)
        if neighbours is not Neighbours.ADD_REMOVE:
            raise InvalidParameter("neighbours", "'add-remove' for NAPP", neighbours.value)
        if self.solver == "convex":
            return self._convex(objective, budget, neighbours, copies)
        if self.augmented is not None:
            check_augmentation(objective.loss, self.augmented)
        each = budget.share(Fraction(1, copies))
        fixed = objective.with_l2(2 * self._floor(objective, float(each.epsilon)))
        part = float(self.share * each.epsilon)
        noise = _published_noise(fixed.lipschitz, part, each)
        kept = self.status is not Status.REFUTED
        return NappCalibration(
            self,
            fixed,
            budget,
            neighbours,
            self.verdict.theorem,
            noise,
            None,
            math.inf,
            (event_of(budget),) if kept else (),
            copies,
            self.status,
            self.verdict.why,
        )

    def release(
        self, calibration: Calibration, tasks: Iterable[Rows], entropy: Entropy
    ) -> Release:
        """Run the iteration once for every objective, each time with new noise.

        Parameters
        ----------
        calibration : Calibration
            Result of `calibrate`.
        tasks : iterable of Rows
            Private rows with the targets of each objective, one item per objective.
        entropy : Entropy
            Source of randomness.

        Returns
        -------
        Release
            Coefficients with their guarantee.
        """
        if self.solver == "convex":
            return ObjectivePerturbation("kst").release(calibration, tasks, entropy)
        paid = checked_copies(tasks, calibration.copies)
        results = [self._one(calibration, rows, entropy) for rows in paid]
        values = [value for value, _ in results]
        release = make_release(calibration, values, entropy, "linear term")
        noise = calibration.noise
        if self.selection:
            kind = noise.kind
            if self.truncation > -math.inf:
                kind = "truncated-" + kind
            record = NoiseRecord(kind, noise.scale, "absolute linear term")
            release = replace(release, noise=(record,))
        if self.retrieval == "none":
            return release
        return replace(release, retrieved=tuple(found for _, found in results))

    def trace(self, calibration: Calibration, rows: Rows, entropy: Entropy) -> NappPath:
        """Return every iterate and its objective value, for plots.

        A trace reveals the private rows. It is therefore available only for a seeded run,
        which has no privacy. With the seed of a release, it repeats the run of that
        release.

        Parameters
        ----------
        calibration : Calibration
            Result of `calibrate`.
        rows : Rows
            Private rows.
        entropy : Entropy
            Seeded source of randomness.

        Returns
        -------
        NappPath
            Iterates and their objectives.
        """
        if entropy.secret:
            raise PrivacyLeak("a trace reveals private rows and needs a seeded run")
        if self.solver == "convex":
            raise InvalidParameter("solver", "'reweighting' for a trace", self.solver)
        linear = self._draw(calibration, entropy)
        step = self._step(calibration, rows, entropy)
        weighting = self._weighting(calibration)
        return follow(
            step, weighting, linear, self.stopping, folded=self.selection, traced=True
        )

    def _one(
        self, calibration: Calibration, rows: Rows, entropy: Entropy
    ) -> tuple[Array, float]:
        linear = self._draw(calibration, entropy)
        step = self._step(calibration, rows, entropy)
        weighting = self._weighting(calibration)
        if self.retrieval == "none":
            path = follow(step, weighting, linear, self.stopping, folded=self.selection)
            return settled(path, self.zero_below), 0.0
        path, found = recycle(
            step,
            weighting,
            linear,
            self.stopping,
            self._shares(calibration),
            rounds=self.rounds if self.retrieval == "recycle" else 0,
            folded=self.selection,
        )
        return settled(path, self.zero_below), found

    def _draw(self, calibration: Calibration, entropy: Entropy) -> Array:
        noise, dimension = calibration.noise, calibration.objective.dimension
        if not self.selection or self.truncation == -math.inf:
            return noise.draw(dimension, entropy)
        return cast("RoundNoise", noise).draw_above(self.truncation, dimension, entropy)

    def _step(self, calibration: Calibration, rows: Rows, entropy: Entropy) -> Step:
        if self.augmented is None:
            return ExactStep(calibration.objective, rows)
        return AugmentedStep(
            calibration.objective, rows, self.augmented, self.estimator, entropy
        )

    def _weighting(self, calibration: Calibration) -> Weighting:
        return Weighting(self.target, calibration.objective.strong_convexity / 2, self.moor)

    def _shares(self, calibration: Calibration) -> Shares:
        assert not isinstance(calibration.budget, Zcdp)  # noqa: S101
        epsilon = calibration.budget.epsilon / calibration.copies
        return Shares(float(self.share * epsilon), float((1 - self.share) * epsilon))

    def _floor(self, objective: Objective, epsilon: float) -> float:
        """Return Λ₀: half of the given ridge, or the least that the budget permits."""
        least = objective.smoothness / (2 * float(1 - self.share) * epsilon)
        if objective.l2 is None:
            return least
        if objective.l2 < 2 * least * (1 - 1e-12):
            raise InvalidParameter(
                "l2",
                f"at least {2 * least:.6g} (twice Λ₀) for NAPP at this budget",
                objective.l2,
                "Leave it at 'auto'.",
            )
        return objective.l2 / 2

    def _convex(
        self, objective: Objective, budget: Budget, neighbours: Neighbours, copies: int
    ) -> Calibration:
        """Calibrate objective perturbation for the convex problem of the fixed point."""
        assert not isinstance(budget, Zcdp)  # noqa: S101
        whole = ObjectivePerturbation("kst")
        main = float((1 - whole.precision_share) * budget.epsilon / copies)
        floor = self._floor(objective, main)
        ridge = self.target.fixed_ridge(floor) * (1 + 1e-12)
        fixed = replace(objective, l2=ridge, penalty=self.target.fixed_point())
        return whole.calibrate(fixed, budget, neighbours, copies=copies)

    def _check_choices(self) -> None:
        if self.solver not in ("reweighting", "convex"):
            raise InvalidParameter("solver", "'reweighting' or 'convex'", self.solver)
        if self.retrieval not in ("none", "return", "recycle"):
            must = "'none', 'return' or 'recycle'"
            raise InvalidParameter("retrieval", must, self.retrieval)
        if self.rounds < 1:
            raise InvalidParameter("rounds", "at least 1", self.rounds)
        if not 0 < self.share < 1:
            raise InvalidParameter("share", "between 0 and 1", float(self.share))
        if not self.truncation <= 0:
            raise InvalidParameter("truncation", "at most 0", self.truncation)
        if self.solver == "convex" and not self._is_one_convex_problem():
            raise InvalidParameter(
                "solver",
                "'reweighting' unless the fixed point is one convex problem: a convex "
                "target without MOOR, selection, retrieval or augmented rows, and share=½",
                self.solver,
            )

    def _is_one_convex_problem(self) -> bool:
        plain = not (self.selection or self.augmented or self.retrieval != "none")
        fixed = not self.moor or self.target.kind == "ridge"
        return plain and fixed and self.target.convex and self.share == Fraction(1, 2)


def _published_noise(lipschitz: float, part: float, budget: Pure | Approx) -> Noise:
    """Return the noise of Eq. 4 of the paper.

    One misprint is corrected: the norm of spherical Laplace noise has a Gamma distribution
    with shape p.
    """
    if isinstance(budget, Pure):
        return SphericalLaplace(round_up(lipschitz / part))
    variance = 2 * (part - math.log(float(budget.delta))) / part**2
    return Gaussian(round_up(lipschitz * math.sqrt(variance)))
