"""Status of the privacy claims of published variants of NAPP-ERM, with the reasons."""

from dataclasses import dataclass

from confide.privacy import Status

INSTEAD = (
    "Use AdaptiveObjectivePerturbation (mechanism='adaptive'), which fixes the weights "
    "from a first private fit before the second fit; pass accept_unproved=True only for "
    "comparison."
)
PAGE = "napp.md#"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Status of a variant, with the section of docs/napp.md and a short explanation."""

    status: Status
    section: str
    why: str

    @property
    def theorem(self) -> str:
        """Page and section that a release cites as its theorem."""
        return PAGE + self.section


RETRIEVAL = Verdict(
    Status.REFUTED,
    "retrieval",
    "Retrieval computes Δε from the private iterate and then publishes it or acts on it. "
    "The budget that it returns was needed: the privacy loss of outcomes near 0 exceeds "
    "the remaining ε − Δε. Under MOOR Δε alone distinguishes neighbouring tables.",
)
SELECTION = Verdict(
    Status.REFUTED,
    "selection",
    "The term ⟨b,|θ|⟩ takes its signs from the data, so the noise no longer covers a shift "
    "of the gradient. With b > 0 an estimate can never exceed the estimate without noise, "
    "and this maximum depends on the table. After one record is added, the result is, with "
    "probability 0.22 at ε = 1, a value that was impossible before.",
)
WHOLE_SELECTION = Verdict(
    Status.REFUTED,
    "selection",
    "The term ⟨b,|θ|⟩ takes its signs from the data, so the noise no longer covers a shift "
    "of the gradient. From a balanced table an estimate is never negative: b < 0 pulls it "
    "up and b > 0 makes its sign flip until it is set to 0. One more negative record makes "
    "it negative with probability 0.18 at ε = 1.",
)
MOOR = Verdict(
    Status.REFUTED,
    "moor",
    "The weights depend on the previous private iterate, so the curvature is not fixed as "
    "the proof assumes. At the fixed point of the lasso the penalty is a straight line "
    "near 0 and has no curvature there at all. At ε = 1 and δ = 0 as claimed, δ(1) is at "
    "least 0.06 after 80 iterations and 0.03 after 20.",
)
STEPS = Verdict(
    Status.CLAIMED,
    "steps",
    "Every reweighting step depends on the data through the step before, and the published "
    "proof treats the weights of the last step as constants. Neither a counterexample nor "
    "a proof is known. With a convex fixed point, solver='convex' solves the same "
    "problem directly and is PROVED.",
)
AUGMENTED = Verdict(
    Status.CLAIMED,
    "augmented",
    "Augmented rows imitate ridge and noise only up to an error of order n_e^(−½). The "
    "published proof is about the limit. No theorem covers finitely many augmented rows.",
)
CONVEX = Verdict(
    Status.PROVED,
    "convex",
    "Without MOOR the fixed point minimises one convex objective with a ridge of 2Λ₀, "
    "so the variant is the objective perturbation of Kifer, Smith and Thakurta. The "
    "distance of the solution from the minimiser is certified.",
)


def verdict(
    *,
    adapts: bool,
    moor: bool,
    selection: bool,
    truncated: bool,
    retrieval: bool,
    augmented: bool,
    convex: bool,
    steps: int,
) -> Verdict:
    """Return the worst verdict that applies to a variant."""
    if retrieval:
        return RETRIEVAL
    if selection:
        return SELECTION if truncated else WHOLE_SELECTION
    if convex:
        return CONVEX
    if moor and adapts and steps > 1:
        return MOOR
    return AUGMENTED if augmented else STEPS


def refusal(found: Verdict) -> str:
    """Return the message of the error that rejects an unproved variant."""
    return f"The guarantee of this variant of NAPP is {found.status}. {found.why} {INSTEAD}"
