"""Estimate of a study's remaining run time, from expected and measured processor times."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class TimeLeft:
    """Estimator of the remaining run time, from the processor times of grid cells.

    Parameters
    ----------
    expected
        Seconds by key of the cell, from an earlier run, perhaps on another machine.
    open_keys
        Keys of the cells that are still to be computed.
    jobs
        Number of cells computed at once.
    measured
        Seconds by key of the cell, from this run.
    """

    expected: dict[str, float]
    open_keys: set[str]
    jobs: int
    measured: dict[str, float] = field(default_factory=dict)

    def note(self, key: str, seconds: float) -> None:
        """Record the processor time of a finished cell."""
        self.measured[key] = seconds
        self.open_keys.discard(key)

    def seconds(self) -> float | None:
        """Return the estimated number of seconds left; None if it cannot be estimated."""
        known = [key for key in self.open_keys if key in self.expected]
        unknown = len(self.open_keys) - len(known)
        if not self.measured and (unknown or not self.expected):
            return 0.0 if not self.open_keys else None
        both = [key for key in self.measured if key in self.expected]
        before = sum(self.expected[key] for key in both)
        speed = sum(self.measured[key] for key in both) / before if before > 0 else 1.0
        mean = sum(self.measured.values()) / max(1, len(self.measured))
        total = speed * sum(self.expected[key] for key in known) + unknown * mean
        return total / max(1, min(self.jobs, len(self.open_keys)))
