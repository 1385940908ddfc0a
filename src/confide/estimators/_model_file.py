"""Model files: the release and the public settings of a fit, in JSON and without rows."""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np

from confide._version import __version__
from confide.accounting.event_records import event_from
from confide.accounting.events import EVENTS
from confide.data import EntryBounds, Schema
from confide.data.schema.schema import EARLIER_SHARE_POWER
from confide.ledger import Charge, Ledger
from confide.mechanisms import MECHANISMS, Release
from confide.mechanisms.release import (
    IntervalRelease,
    NoiseRecord,
    PlainLaw,
    RangeRelease,
    RowBounds,
    Uncertainty,
    lowered,
)
from confide.objectives import LOSSES, PENALTIES
from confide.privacy import (
    Approx,
    Guarantee,
    Neighbours,
    Pure,
    Status,
    Zcdp,
    fraction_of,
)
from confide.reporting import guarantee_record
from confide.selection import FINDERS, SELECTORS

FORMAT = "confide-model"
FORMAT_VERSION = 2
BUDGETS: dict[str, Any] = {"pure": Pure, "approx": Approx, "zcdp": Zcdp}
PARTS: dict[str, Any] = {
    "mechanism": MECHANISMS,
    "selector": SELECTORS,
    "finder": FINDERS,
}
"""Registries of the components that a mechanism may contain."""
NOT_STORED = ("budget", "schema", "mechanism", "penalty", "ledger", "random_state")
"""Parameters of an estimator that are stored outside ``settings``, or not at all."""


def file_content(record: Mapping[str, Any]) -> bytes:
    r"""Return a model file as bytes.

    Parameters
    ----------
    record : mapping
        Content of the file, as values that JSON can represent.

    Returns
    -------
    bytes
        JSON in UTF-8.

    Examples
    --------
    >>> from confide.estimators import file_content
    >>> file_content({"format": "confide-model"})
    b'{\n "format": "confide-model"\n}\n'

    The file is plain text that people can read and programs can compare.
    """
    return (json.dumps(record, indent=1, allow_nan=False) + "\n").encode()


def kept_text(record: Any) -> str:
    """Return compact JSON with keys in the order of the file, as stored in ledgers."""
    return json.dumps(record, separators=(",", ":"), allow_nan=False)


def canonical(record: Any) -> str:
    """Return canonical JSON: compact, with sorted keys, for hashes of releases."""
    return json.dumps(record, sort_keys=True, separators=(",", ":"), allow_nan=False)


def release_hash(release: Release) -> str:
    """Return the SHA-256 of a release.

    Parameters
    ----------
    release : Release
        The release of a fitted model.

    Returns
    -------
    str
        Hash of its canonical JSON, in hexadecimal, as recorded in ledgers.

    Examples
    --------
    >>> import numpy as np
    >>> from confide import LinearRegression, Pure
    >>> from confide.estimators import release_hash
    >>> X = np.linspace(-1, 1, 100)[:, None]
    >>> model = LinearRegression(Pure(1), row_norm=1, target_bound=1).fit(X, X[:, 0])
    >>> len(release_hash(model.release_))
    64

    Two releases have the same 64 digits only if they are the same.
    """
    return hashlib.sha256(canonical(release_record(release)).encode("ascii")).hexdigest()


def coefficients_hash(release: Release) -> str:
    """Return the SHA-256 of released coefficients, by which a score identifies its model.

    Parameters
    ----------
    release : Release
        The release of a fitted model.

    Returns
    -------
    str
        Hash of the coefficients in double precision, in hexadecimal.

    Examples
    --------
    >>> import numpy as np
    >>> from confide import LinearRegression, Pure
    >>> from confide.estimators import coefficients_hash
    >>> X = np.linspace(-1, 1, 100)[:, None]
    >>> model = LinearRegression(Pure(1), row_norm=1, target_bound=1).fit(X, X[:, 0])
    >>> score = model.private_score(X, Pure(1), y=X[:, 0])
    >>> score.model == coefficients_hash(model.release_)
    True

    The score is that of this model.
    """
    return hashlib.sha256(np.ascontiguousarray(release.value, "<f8").tobytes()).hexdigest()


def enter_release(ledger: Ledger, charge: Charge, model: Any) -> None:
    """Record the release and the file content of a model in a ledger, under its charge."""
    ledger.enter(charge, release_hash(model.release_), kept_text(model_record(model)))


def model_record(model: Any) -> dict[str, Any]:
    """Return the content of a model file, as values that JSON can represent."""
    classes = getattr(model, "classes_", None)
    # A schema already contains the names.
    names = None if model.schema else getattr(model, "feature_names_in_", None)
    rows = getattr(model, "rows_", None)
    params = model.get_params(deep=False)
    settings = {k: _parameter(v) for k, v in params.items() if k not in NOT_STORED}
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "library_version": __version__,
        "fitted_on": getattr(model, "fitted_on_", None),
        **({} if rows is None else {"rows": rows}),
        "anchor": getattr(model, "anchor_", None),
        "estimator": type(model).__name__,
        "budget": budget_record(model.budget),
        "settings": settings,
        "mechanism": _mechanism_record(model.mechanism),
        "penalty": penalty_record(model.penalty),
        "schema": None if model.schema is None else model.schema.to_mapping(),
        "features": int(model.n_features_in_),
        "feature_names": None if names is None else [str(name) for name in names],
        "classes": None
        if classes is None
        else {"dtype": classes.dtype.str, "values": plain(classes)},
        "release": release_record(model.release_),
    }


def release_record(release: Release) -> dict[str, Any]:
    """Return a release as JSON-compatible values, with exact fractions as text."""
    promise = guarantee_record(release.guarantee, budget_record)
    if not promise["reason"]:
        del promise["reason"]
    return {
        "value": plain(release.value),
        "guarantee": promise,
        "noise": [plain(record) for record in release.noise],
        "l2": plain(release.l2),
        "events": [_tagged(event, dict(EVENTS)) for event in release.events],
        "extras": _extras_record(release),
    }


def release_of(record: Mapping[str, Any]) -> Release:
    """Restore a release from the record that `release_record` made.

    The status of its guarantee is the one in the file, or a lower one if the theorem has
    been downgraded since.
    """
    promise = record["guarantee"]
    guarantee = Guarantee(
        budget_of(promise["budget"]),
        Neighbours.of(promise["neighbours"]),
        Status(promise["status"]),
        _text(promise["theorem"]),
        tuple(_text(line) for line in promise["assumptions"]),
        promise["private"] is True,
        _text(promise.get("reason", "")),
    )
    noise = tuple(map(_noise_of, record["noise"]))
    guarantee = lowered(guarantee, noise)
    value = np.array(record["value"], dtype=np.float64)
    if value.ndim not in (1, 2) or not np.isfinite(value).all():
        raise ValueError("value")
    events = tuple(_event_of(event) for event in record["events"])
    ridge, extras = _number(record["l2"]), record.get("extras", {})
    return Release(value, guarantee, noise, ridge, events, **_extras_of(extras))


def _extras_record(release: Release) -> dict[str, Any]:
    """Return the fields that only some mechanisms release, by their names in the file."""
    parts: dict[str, Any] = {
        "support": release.support,
        "weights": release.weights,
        "retrieved": release.retrieved,
        "ridges": release.ridges,
        "record_norm": release.record_norm,
    }
    if release.row_bounds is not None:
        height = {"height": release.row_bounds.height}
        parts["bounds"] = plain(release.row_bounds.entries) | height
    if release.ranges is not None:
        parts["ranges"] = release.ranges
    if release.intervals is not None:
        intervals = plain(release.intervals)
        intervals["boundary"] = intervals.pop("on_boundary")
        if not release.intervals.plain:
            # Without plain laws, the file is the same as in earlier versions.
            del intervals["plain"], intervals["of"]
        for law in intervals.get("plain", ()):
            for name in ("alone", "dispersion"):
                if law[name] is None:
                    del law[name]
        parts["intervals"] = intervals
    return {name: plain(part) for name, part in parts.items() if part is not None}


def _extras_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """Restore fields of a release from the record that `_extras_record` made."""
    names = ("support", "weights", "retrieved", "ridges", "record_norm")
    fields = {name: _tuples(record[name]) for name in names if name in record}
    if "bounds" in record:
        fields["row_bounds"] = _bounds_of(record["bounds"])
    if "ranges" in record:
        fields["ranges"] = _ranges_of(record["ranges"])
    if "intervals" in record:
        fields["intervals"] = _intervals_of(record["intervals"])
    return fields


def _ranges_of(record: Mapping[str, Any]) -> RangeRelease:
    pairs = {
        _text(name): (_number(lower), _number(upper))
        for name, (lower, upper) in record["ranges"].items()
    }
    share, noise = fraction_of(_text(record["share"])), _noise_of(record["noise"])
    return RangeRelease(pairs, share, noise, tuple(map(_text, record.get("hidden", ()))))


def _noise_of(record: Mapping[str, Any]) -> NoiseRecord:
    return NoiseRecord(
        _text(record["kind"]), _number(record["scale"]), _text(record["added_to"])
    )


def _bounds_of(record: Mapping[str, Any]) -> RowBounds:
    length = None if record["length"] is None else _number(record["length"])
    entries = EntryBounds(_number(record["most"]), int(record["few"]), length)
    return RowBounds(entries, _number(record["height"]))


def _intervals_of(record: Mapping[str, Any]) -> IntervalRelease:
    return IntervalRelease(
        _number(record["level"]),
        _text(record["variant"]),
        int(record["samples"]),
        tuple(fraction_of(_text(part)) for part in record["split"]),
        record["boundary"] is True,
        tuple(map(_law_of, record["laws"])),
        _text(record.get("of", "penalised")),
        tuple(map(_plain_law_of, record.get("plain", ()))),
    )


def _plain_law_of(record: Mapping[str, Any]) -> PlainLaw:
    error = _law_of(record["error"])
    lines = len(error.sampling)
    shift = np.array(record["shift"], dtype=float)
    weak, absent = (
        np.array(record[name], dtype=float).reshape(lines, -1)
        for name in ("weak", "absent")
    )
    if shift.shape != (lines,):
        raise ValueError("intervals")
    alone, dispersion = np.zeros((lines, lines)), None
    if "alone" in record:
        alone = np.array(record["alone"], dtype=float)
    if "dispersion" in record:
        dispersion = _number(record["dispersion"])
    if alone.shape != (lines, lines):
        raise ValueError("intervals")
    if not all(np.isfinite(part).all() for part in (shift, weak, absent, alone)):
        raise ValueError("intervals")
    pull, known = _number(record["pull"]), alone if "alone" in record else None
    return PlainLaw(shift, error, weak, absent, pull, known, dispersion)


def _law_of(record: Mapping[str, Any]) -> Uncertainty:
    size = int(record["dimension"])
    matrices = [np.array(record[name], dtype=float) for name in ("sampling", "privacy")]
    lines = len(matrices[0])
    if any(m.shape != (lines, lines) or not np.isfinite(m).all() for m in matrices):
        raise ValueError("intervals")
    if not 0 < lines <= size:
        raise ValueError("intervals")
    return Uncertainty(matrices[0], matrices[1], _text(record["kind"]), size)


def budget_record(budget: Any) -> dict[str, str] | None:
    """Return a budget as exact fractions in text, such as "1/1000000"."""
    return None if budget is None else _tagged(budget, BUDGETS)


def budget_of(record: Any) -> Any:
    """Restore a budget from the record that `budget_record` made."""
    if record is None:
        return None
    parts = {name: fraction_of(_text(x)) for name, x in record.items() if name != "kind"}
    return BUDGETS[record["kind"]](**parts)


def schema_of(record: Any) -> Schema | None:
    """Restore the schema of a model from its record, or return None.

    If a file of an earlier version lacks ``share_power``, its former default is used.
    """
    if record is None:
        return None
    return Schema.from_mapping({"share_power": EARLIER_SHARE_POWER, **record})


def mechanism_of(record: Any) -> Any:
    """Return the name of a mechanism, or the mechanism if its settings were stored."""
    name, settings = _text(record["name"]), record["settings"]
    if settings is None or name not in MECHANISMS:
        return name
    if name == "mpadmm" and "noise" in settings:
        name, settings = _earlier_mpadmm(settings)
    return _made(MECHANISMS[name], settings)


def _earlier_mpadmm(settings: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the current name and settings of an mpADMM mechanism from version 0.1.

    That version had one mechanism, whose ``noise`` setting chose between the present two.
    """
    kept = {name: value for name, value in settings.items() if name != "noise"}
    if settings["noise"] == "all":
        return "mpadmm-published", kept
    return "mpadmm", {
        name: value
        for name, value in kept.items()
        if name not in ("sensitivity", "accept_unproved")
    }


def penalty_record(penalty: Any) -> dict[str, Any] | None:
    """Return the name and settings of a penalty, as values that JSON can represent."""
    return None if penalty is None else _tagged(penalty, dict(PENALTIES))


def penalty_of(record: Any) -> Any:
    """Restore a penalty from the record that `penalty_record` made."""
    if record is None:
        return None
    parts = {name: _tuples(part) for name, part in record.items() if name != "kind"}
    return PENALTIES[record["kind"]](**parts)


def _parameter(value: Any) -> Any:
    """Return a parameter as JSON-compatible values; a loss as its name and settings."""
    kinds = dict(LOSSES)
    return _tagged(value, kinds) if type(value) in kinds.values() else plain(value)


def parameter_of(value: Any) -> Any:
    """Restore a parameter from its values in a model file."""
    if isinstance(value, Mapping) and value.get("kind") in LOSSES:
        parts = {name: part for name, part in value.items() if name != "kind"}
        return LOSSES[value["kind"]](**parts)
    return value


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def plain(value: Any) -> Any:
    """Convert a value for JSON; an unsupported object becomes the name of its type."""
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(part) for part in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    return type(value).__name__


def _mechanism_record(mechanism: Any) -> dict[str, Any]:
    if isinstance(mechanism, str):
        return {"name": mechanism, "settings": None}
    name = getattr(mechanism, "name", type(mechanism).__name__)
    known = name in MECHANISMS and type(mechanism) is MECHANISMS[name]
    try:
        settings = _settings(mechanism) if known else None
    except _NotStored:
        settings = None
    return {"name": str(name), "settings": settings}


class _NotStored(Exception):
    """A component of a mechanism is not registered, so it cannot be stored in a file."""


def _settings(part: Any) -> dict[str, Any]:
    """Return the fields of a mechanism, with its components as nested records."""
    values = {field.name: getattr(part, field.name) for field in fields(part)}
    return {name: _setting(value) for name, value in values.items()}


def _setting(value: Any) -> Any:
    for kind, known in PARTS.items():
        name = getattr(value, "name", None)
        if isinstance(name, str) and name in known and type(value) is known[name]:
            return {"part": kind, "name": name, "settings": _settings(value)}
    if value is None or isinstance(value, bool | int | float | str | Fraction | Enum):
        return plain(value)
    raise _NotStored


def _made(kind: Any, settings: Mapping[str, Any]) -> Any:
    """Restore a mechanism, or a component of one, from the record of its fields."""
    return kind(**{name: _made_part(value) for name, value in settings.items()})


def _made_part(value: Any) -> Any:
    if not isinstance(value, Mapping) or "part" not in value:
        return value
    return _made(PARTS[value["part"]][value["name"]], value["settings"])


def _tagged(value: Any, kinds: dict[str, Any]) -> dict[str, Any]:
    kind = next(name for name, known in kinds.items() if type(value) is known)
    return {"kind": kind, **plain(value)}


def _event_of(record: Mapping[str, Any]) -> Any:
    return event_from(EVENTS[record["kind"]], record)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("text")
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool | list | dict) or value is None:
        raise TypeError("number")
    return float(value)
