"""Loading of model files: restore a fitted estimator with its release."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from confide._files import read_limited
from confide.errors import ConfideError, Described, InvalidParameter
from confide.estimators._base import PrivateLinearModel
from confide.estimators._model_file import (
    FORMAT,
    FORMAT_VERSION,
    NOT_STORED,
    budget_of,
    mechanism_of,
    parameter_of,
    penalty_of,
    release_of,
    schema_of,
)
from confide.estimators.catalogue import ESTIMATORS
from confide.ledger.chain import anchor_text, read_anchor

CLASS_TYPES = "biufUO"
EARLIER_CLASSES = "one-vs-rest"
"""Value of ``multi_class`` for files of earlier versions, which do not store it."""
_MALFORMED = (KeyError, TypeError, ValueError, AttributeError, OverflowError, IndexError)


def load_model(path: str | Path) -> Any:
    """Load a fitted model from a file that `save` wrote.

    The loaded model predicts and prints exactly like the saved one. The ledger and the
    seed are not stored.

    Parameters
    ----------
    path : str or Path
        Model file.

    Returns
    -------
    estimator
        The fitted model.

    Raises
    ------
    InvalidParameter
        The file cannot be read, is not a model file, or has another format version.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from confide import LinearRegression, Pure, load_model
    >>> X = np.linspace(-1, 1, 100)[:, None]
    >>> model = LinearRegression(Pure(1), row_norm=1, target_bound=1).fit(X, X[:, 0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(Path(folder, "model.json"))
    ...     again = load_model(Path(folder, "model.json"))
    >>> bool(again.predict([[0.5]]) == model.predict([[0.5]]))
    True

    The file contains everything that predictions need, and no row of the table.
    """
    record = read_record(Path(path))
    try:
        return _build(record)
    except (*_MALFORMED, ConfideError, ZeroDivisionError, RecursionError) as error:
        cause = error if isinstance(error, ConfideError) else "damaged"
        reason = Described(f"{path} ({cause})")
        raise InvalidParameter(
            "model file",
            "unchanged since confide wrote it",
            reason,
            "Save the model again, or restore the file from a backup.",
        ) from None


def read_record(path: Path) -> dict[str, Any]:
    try:
        record = json.loads(read_limited(path, "model file").decode("utf-8"))
    except InvalidParameter:
        raise
    except (ValueError, RecursionError):
        raise InvalidParameter("model file", "JSON in UTF-8", str(path)) from None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise InvalidParameter("model file", "written by model.save", str(path))
    found = record.get("format_version")
    if type(found) is not int or found != FORMAT_VERSION:
        raise InvalidParameter(
            "model file",
            f"of format {FORMAT_VERSION}",
            Described(f"{path}, which has format {found}"),
            "Read it with the version of confide that wrote it.",
        )
    return record


def _build(record: dict[str, Any]) -> PrivateLinearModel:
    kind = ESTIMATORS[record["estimator"]].kind
    known = set(kind().get_params(deep=False)) - set(NOT_STORED)
    settings = {
        name: parameter_of(x) for name, x in record["settings"].items() if name in known
    }
    if "multi_class" in known:
        settings.setdefault("multi_class", EARLIER_CLASSES)
    if record.get("penalty") is not None:
        settings["penalty"] = penalty_of(record["penalty"])
    model: PrivateLinearModel = kind(
        budget_of(record["budget"]),
        schema=schema_of(record["schema"]),
        mechanism=mechanism_of(record["mechanism"]),
        **settings,
    )
    release = release_of(record["release"])
    model.n_features_in_ = int(record["features"])
    if record.get("fitted_on") is not None:
        model.fitted_on_ = date.fromisoformat(record["fitted_on"]).isoformat()
    model.rows_ = None if record.get("rows") is None else int(record["rows"])
    if record.get("anchor") is not None:
        model.anchor_ = anchor_text(*read_anchor(record["anchor"]))
    if record["feature_names"] is not None:
        model.feature_names_in_ = _names(record["feature_names"], model.n_features_in_)
    if record["classes"] is not None:
        model.classes_ = _classes(record["classes"])
    model._check_release(release)  # noqa: SLF001
    model.release_ = release
    model._set_coefficients(release.value)  # noqa: SLF001
    model.summary()
    return model


def _names(names: Any, count: int) -> Any:
    texts = isinstance(names, list) and all(isinstance(name, str) for name in names)
    if not texts or len(names) != count:
        raise ValueError("feature_names")
    return np.array(names, dtype=object)


def _classes(record: dict[str, Any]) -> Any:
    dtype = np.dtype(record["dtype"])
    values = np.array(record["values"], dtype=dtype)
    if dtype.kind not in CLASS_TYPES or values.ndim != 1 or len(values) < 2:
        raise ValueError("classes")
    return values
