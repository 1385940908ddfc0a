"""Score files: released scores with their guarantees, as JSON without any data."""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any

from confide._files import write_file
from confide.accounting.event_records import event_fields, event_from
from confide.accounting.events import EVENTS
from confide.errors import Described, InvalidParameter
from confide.evaluation.estimates import ScoreEstimate
from confide.evaluation.score import Curve, CurvePoint, ModelScore
from confide.mechanisms.release import NoiseRecord
from confide.privacy import Approx, Budget, Guarantee, Neighbours, Pure, Status, Zcdp
from confide.reporting import guarantee_record

FORMAT = "confide-score"
FORMAT_VERSION = 1
BUDGETS: dict[str, Any] = {"pure": Pure, "approx": Approx, "zcdp": Zcdp}
MALFORMED = (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError)


def score_record(score: ModelScore) -> dict[str, Any]:
    """Return a score as a dictionary of plain values, with exact numbers as text.

    Parameters
    ----------
    score : ModelScore
        Released score.

    Returns
    -------
    dict
        Values that can be written as JSON.

    Examples
    --------
    >>> from confide.evaluation import ModelScore, ScoreEstimate, score_record
    >>> from confide.privacy import Guarantee, Neighbours, Pure, Status
    >>> theorem = "evaluation.md#tables-exact"
    >>> promise = Guarantee(Pure(1), Neighbours.ADD_REMOVE, Status.PROVED, theorem)
    >>> accuracy = ScoreEstimate("accuracy", 0.84, 0.82, 0.86)
    >>> score = ModelScore("Score of a classifier", promise, (), (), 0.95, (accuracy,))
    >>> score_record(score)["guarantee"]["budget"]
    {'kind': 'pure', 'epsilon': '1'}

    The budget is stored exactly, as a fraction in text form.
    """
    names = {kind: name for name, kind in EVENTS.items()}
    return {
        "title": score.title,
        "level": score.level,
        "estimates": [asdict(one) for one in score.estimates],
        "curves": [asdict(curve) for curve in score.curves],
        "notes": list(score.notes),
        "guarantee": guarantee_record(score.guarantee, _budget_record),
        "noise": [asdict(one) for one in score.noise],
        "events": [
            {"kind": names[type(one)], **event_fields(one, str)} for one in score.events
        ],
        **({"model": score.model} if score.model else {}),
    }


def score_hash(score: ModelScore) -> str:
    """Return the SHA-256 hash of the canonical JSON of a score, in hexadecimal."""
    text = json.dumps(score_record(score), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def file_record(score: ModelScore) -> dict[str, Any]:
    """Return the content of a score file as a dictionary."""
    return {"format": FORMAT, "format_version": FORMAT_VERSION, **score_record(score)}


def score_content(score: ModelScore) -> bytes:
    """Return the bytes of a score file.

    Parameters
    ----------
    score : ModelScore
        Released score.

    Returns
    -------
    bytes
        JSON in UTF-8.

    Examples
    --------
    >>> from confide.evaluation import ModelScore, ScoreEstimate, score_content
    >>> from confide.privacy import Guarantee, Neighbours, Pure, Status
    >>> theorem = "evaluation.md#tables-exact"
    >>> promise = Guarantee(Pure(1), Neighbours.ADD_REMOVE, Status.PROVED, theorem)
    >>> accuracy = ScoreEstimate("accuracy", 0.84, 0.82, 0.86)
    >>> score = ModelScore("Score of a classifier", promise, (), (), 0.95, (accuracy,))
    >>> b'"format": "confide-score"' in score_content(score)
    True

    The file names its format, so that later versions can read it.
    """
    return (json.dumps(file_record(score), indent=1, allow_nan=False) + "\n").encode()


def save_score(score: ModelScore, path: str | Path) -> None:
    """Write a score to a JSON file that `load_score` can read.

    Parameters
    ----------
    score : ModelScore
        Released score.
    path : str or Path
        File to write.

    Examples
    --------
    >>> import tempfile
    >>> from confide.evaluation import ModelScore, ScoreEstimate, load_score, save_score
    >>> from confide.privacy import Guarantee, Neighbours, Pure, Status
    >>> theorem = "evaluation.md#tables-exact"
    >>> promise = Guarantee(Pure(1), Neighbours.ADD_REMOVE, Status.PROVED, theorem)
    >>> accuracy = ScoreEstimate("accuracy", 0.84, 0.82, 0.86)
    >>> score = ModelScore("Score of a classifier", promise, (), (), 0.95, (accuracy,))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_score(score, f"{folder}/score.json")
    ...     load_score(f"{folder}/score.json") == score
    True

    The loaded score equals the saved one.
    """
    write_file(Path(path), score_content(score), "score file")


def load_score(path: str | Path) -> ModelScore:
    """Load a score that was written by `save_score` or ``confide score``.

    Parameters
    ----------
    path : str or Path
        Score file.

    Returns
    -------
    ModelScore
        The score, with its guarantee.

    Raises
    ------
    InvalidParameter
        The file cannot be read, or is not a score file of this format.

    Examples
    --------
    >>> import tempfile
    >>> from confide.evaluation import ModelScore, ScoreEstimate, load_score, save_score
    >>> from confide.privacy import Guarantee, Neighbours, Pure, Status
    >>> theorem = "evaluation.md#tables-exact"
    >>> promise = Guarantee(Pure(1), Neighbours.ADD_REMOVE, Status.PROVED, theorem)
    >>> accuracy = ScoreEstimate("accuracy", 0.84, 0.82, 0.86)
    >>> score = ModelScore("Score of a classifier", promise, (), (), 0.95, (accuracy,))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_score(score, f"{folder}/score.json")
    ...     load_score(f"{folder}/score.json")["accuracy"].value
    0.84

    Estimates are accessed by name.
    """
    try:
        record = json.loads(Path(path).read_text("utf-8"))
    except OSError as error:
        reason = Described(f"{path} ({error.strerror})")
        raise InvalidParameter("score file", "a file that can be read", reason) from None
    except (ValueError, RecursionError):
        raise InvalidParameter("score file", "JSON in UTF-8", str(path)) from None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise InvalidParameter("score file", "written by confide score", str(path))
    if record.get("format_version") != FORMAT_VERSION:
        raise InvalidParameter(
            "score file",
            f"of format {FORMAT_VERSION}",
            Described(f"{path}, which has another format"),
        )
    try:
        return score_of(record)
    except MALFORMED:
        must = "unchanged since confide wrote it"
        raise InvalidParameter("score file", must, Described(f"{path} (damaged)")) from None


def score_of(record: Mapping[str, Any]) -> ModelScore:
    """Return the score from a dictionary that `score_record` returned."""
    promise = record["guarantee"]
    return ModelScore(
        str(record["title"]),
        Guarantee(
            _budget_of(promise["budget"]),
            Neighbours.of(promise["neighbours"]),
            Status(promise["status"]),
            str(promise["theorem"]),
            tuple(map(str, promise["assumptions"])),
            promise["private"] is True,
            str(promise["reason"]),
        ),
        tuple(NoiseRecord(**one) for one in record["noise"]),
        tuple(event_from(EVENTS[one["kind"]], one) for one in record["events"]),
        float(record["level"]),
        tuple(_estimate(one) for one in record["estimates"]),
        tuple(_curve(one) for one in record["curves"]),
        tuple(map(str, record["notes"])),
        str(record.get("model", "")),
    )


def _estimate(record: Mapping[str, Any]) -> ScoreEstimate:
    ends = (_number(record[name]) for name in ("value", "lower", "upper"))
    return ScoreEstimate(str(record["name"]), *ends)


def _curve(record: Mapping[str, Any]) -> Curve:
    points = tuple(
        CurvePoint(**{name: _number(value) for name, value in point.items()})  # type: ignore[arg-type]
        for point in record["points"]
    )
    if any(point.x is None or point.y is None for point in points):
        raise ValueError("points")
    title, x, y = (str(record[name]) for name in ("title", "x_label", "y_label"))
    return Curve(title, x, y, points, record["joined"] is True, str(record["guide"]))


def _number(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not math.isfinite(float(value)):
        raise ValueError("number")
    return float(value)


def _budget_record(budget: Budget) -> dict[str, str]:
    kind = next(name for name, one in BUDGETS.items() if isinstance(budget, one))
    parts = {name: str(Fraction(getattr(budget, name))) for name in type(budget).__slots__}
    return {"kind": kind, **parts}


def _budget_of(record: Mapping[str, Any] | None) -> Budget | None:
    if record is None:
        return None
    parts = {name: Fraction(text) for name, text in record.items() if name != "kind"}
    found: Budget = BUDGETS[record["kind"]](**parts)
    return found
