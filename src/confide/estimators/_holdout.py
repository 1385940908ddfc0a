"""Held-out rows: fit on some rows and score on the others, with a single charge.

Every row of the input has its own secret random bit, drawn before any row is dropped, so no
row can affect both the fit and the score (docs/proofs/evaluation.md#holdout-exact).
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from sklearn.base import is_classifier

from confide._types import AnyArray
from confide.accounting import Event, group_events
from confide.accounting.events import larger_events
from confide.data import Schema, read_table
from confide.data.matrix.sums import Partial, pairwise_sum
from confide.data.partitioned.division import Division, row_count, take_rows
from confide.data.schema.parse_values import as_cells
from confide.data.tables.files import FileTable, open_table
from confide.errors import InvalidData, InvalidParameter
from confide.estimators._model_file import coefficients_hash
from confide.estimators._predict_chunks import check_width
from confide.estimators._prepare import PreparedFit
from confide.estimators._readings import PartedTable, SplitChunk, parted_table
from confide.estimators._score import (
    ScoreChunk,
    ScoredRows,
    ScorePrice,
    check_length,
    chunk_of,
)
from confide.estimators._spec import FitSpec
from confide.estimators._target import ReadTarget
from confide.evaluation import ModelScore, ScoreRule, noises_for
from confide.evaluation.noises import Look
from confide.mechanisms import Release
from confide.noise import Entropy, PlaceCoins
from confide.privacy import Guarantee, Neighbours, row_budget

THEOREM = "evaluation.md#holdout-exact"
SHARED = "this budget covers the fit together with the score of the rows held out"
COINS = "SHAKE-256 with a secret key cannot be distinguished from random bits"
OPTIMISTIC = (
    "Rows of one person may be on both sides of the split, so scores are too optimistic. "
    "Name the column that identifies persons: Holdout(share, person=...), or --person."
)
LEVEL = 0.95
RawRows: TypeAlias = tuple[Any, Any, Any]
"""Table, target and record weights as passed to a fit; the last two may be None."""


@dataclass(frozen=True, slots=True)
class Holdout:
    """Share of the rows to hold out of a fit, and an optional grouping by person.

    Secret random bits assign each row to either the fit or the score, so one charge
    covers both (docs/proofs/evaluation.md#holdout-exact).

    Parameters
    ----------
    share : float
        Share of the rows to score on, from 0.01 to 0.99. A larger share makes the score
        more precise and the fit less precise.
    person : str, optional
        Column that identifies persons. All rows of a person are then on the same side of
        the split; otherwise scores are too optimistic if persons have several rows. Only
        for data frames and the add-remove relation.

    Raises
    ------
    InvalidParameter
        The share is not a number from 0.01 to 0.99, or ``person`` is not a string.

    Examples
    --------
    >>> import numpy as np
    >>> from confide import Holdout, LogisticRegression, Pure
    >>> X = np.linspace(-1, 1, 4000)[:, None]
    >>> y = (X[:, 0] > 0).astype(int)
    >>> model = LogisticRegression(Pure(1), row_norm=1, classes=[0, 1], random_state=0)
    >>> score = model.fit(X, y, holdout=Holdout(0.25)).holdout_score_
    >>> round(score["accuracy"].value, 1), str(score.guarantee.budget)
    (1.0, 'ε = 1')

    Nearly all held-out rows are predicted correctly. Fit and score together cost ε = 1.
    """

    share: float
    person: str | None = None

    def __post_init__(self) -> None:
        real = isinstance(self.share, float | np.floating)
        if not real or not 0.01 <= self.share <= 0.99:
            must = "a share of the rows from 0.01 to 0.99, such as 0.2"
            raise InvalidParameter("holdout", must, self.share)
        named = isinstance(self.person, str | None)
        if not named:
            must = "the name of a column"
            raise InvalidParameter("person of the holdout", must, self.person)

    @classmethod
    def of(cls, value: Any, neighbours: Neighbours) -> "Holdout":
        """Read the ``holdout`` argument of a fit.

        Parameters
        ----------
        value : float or Holdout
            A share, or a complete `Holdout`.
        neighbours : Neighbours
            Neighbour relation of the fit.

        Returns
        -------
        Holdout
            The settings.

        Raises
        ------
        InvalidParameter
            ``person`` is set under the replace-one relation, where a replaced row could
            move to the other side of the split.
        """
        found = value if isinstance(value, Holdout) else cls(value)
        if found.person is not None and neighbours is Neighbours.REPLACE_ONE:
            raise InvalidParameter(
                "person of the holdout",
                "left out under replace-one neighbours: a replaced row may belong to "
                "another person on the other side of the split, and so change both fit "
                "and score",
                found.person,
                "Fit with neighbours='add-remove'.",
            )
        return found


def divide(
    schema: Schema | None, rows: RawRows, held: Holdout, entropy: Entropy
) -> tuple[RawRows, RawRows]:
    """Return the rows to fit on and the held-out rows, with targets and weights."""
    X, y, weights = rows
    coins = PlaceCoins.drawn(float(held.share), entropy)
    table = parted_table(X, None if isinstance(y, str) else y)
    if table is None and schema is None and isinstance(X, str | Path):
        table = open_table(X)
    if table is not None:
        return _divide_parts(table, (y, weights), held, coins)
    beside = None if isinstance(y, str) else y
    if schema is not None and held.person is None:
        X = read_table(X, schema, target=beside is None)
    count = row_count(X)
    heads = coins.heads(0, 0, count)
    if held.person is not None:
        heads = coins.heads_of(_persons(X, held.person))
    for column in (beside, weights):
        if column is not None and row_count(column) != count:
            raise InvalidData(
                "X, the target y and sample_weight must have the same number of rows."
            )
    first, second = (
        (
            take_rows(X, mask),
            y if beside is None else take_rows(beside, mask),
            None if weights is None else take_rows(weights, mask),
        )
        for mask in (~heads, heads)
    )
    return first, second


def _divide_parts(
    table: PartedTable, beside: tuple[Any, Any], held: Holdout, coins: PlaceCoins
) -> tuple[RawRows, RawRows]:
    if held.person is not None:
        raise InvalidParameter(
            "person of the holdout",
            "left out, because the table is not in memory",
            held.person,
        )
    if isinstance(table, FileTable):
        table = table.keep_parsed()
    first, second = (
        (replace(table, division=Division(coins.heads, heads)), *beside)
        for heads in (False, True)
    )
    return first, second


def _persons(X: Any, person: str) -> list[str]:
    """Return an identifier of the person of each row; missing values form one person."""
    if not isinstance(X, pd.DataFrame) or list(X.columns).count(person) != 1:
        must = f"a pandas DataFrame with one column {person!r}, which identifies persons"
        held = list(X.columns) if isinstance(X, pd.DataFrame) else type(X).__name__
        raise InvalidParameter("X", must, held)
    cells: AnyArray = np.asarray(as_cells(X[person]), dtype=object)
    return [f"{type(cell).__name__}:{cell}" for cell in cells]


@dataclass(frozen=True, slots=True, repr=False)
class PreparedScore:
    """Prepared score on held-out rows; the charge of the fit covers its cost."""

    rows: ScoredRows
    events: tuple[Event, ...]
    optimistic: bool

    @classmethod
    def of(
        cls, model: Any, ready: PreparedFit, others: RawRows, held: Holdout
    ) -> "PreparedScore":
        """Read the held-out rows and run all checks that can raise an error."""
        spec, task = ready.spec, ready.task
        X, y, _ = others
        named = isinstance(y, str) and spec.schema is not None
        rows = ScoredRows.of(
            spec.schema, X, None if named else y, classifies=is_classifier(model)
        )
        check = CheckChunk(rows.split, task.read, ready.reading.width)
        (listed,) = pairwise_sum(rows.each(check))
        check_length(int(listed), Neighbours.ADD_REMOVE)
        classes = 0 if task.classes is None else len(task.classes)
        looks = model.score_looks(classes, spec.neighbours)
        optimistic = spec.rows_per_person > 1 and held.person is None
        return cls(rows, joint_events(spec, ready, looks), optimistic)

    def joint(self, release: Release) -> Release:
        """Return the release of the fit, with the joint privacy cost of fit and score."""
        guarantee = release.guarantee.assuming(COINS).assuming(SHARED)
        return replace(release, guarantee=guarantee, events=self.events)

    def release(self, model: Any, spec: FitSpec, entropy: Entropy) -> ModelScore:
        """Compute and release the score. The rows were checked before the charge."""
        rule: ScoreRule = model.score_rule()
        split = replace(self.rows.split, schema=model.schema_)
        chunk: ScoreChunk = chunk_of(model, split, rule)
        *sums, _ = pairwise_sum(replace(self.rows, split=split).each(chunk))
        price = ScorePrice.of(rule, spec.budget, spec.neighbours, spec.schema, LEVEL)
        found = price.release(tuple(sums), entropy)
        guarantee = joint_guarantee(model.release_.guarantee, found.guarantee)
        notes = (*found.notes, *((OPTIMISTIC,) if self.optimistic else ()))
        return replace(
            found,
            guarantee=guarantee,
            events=self.events,
            notes=notes,
            model=coefficients_hash(model.release_),
        )


@dataclass(frozen=True, slots=True)
class CheckChunk:
    """Picklable function that checks a chunk of held-out rows before the charge."""

    split: SplitChunk
    read: ReadTarget
    width: int

    def __call__(self, piece: Any) -> Partial:
        """Return the number of rows, or raise an error if the chunk cannot be read."""
        features, target, listed, table = self.split(piece)
        check_width(features.shape[1], self.width)
        self.read(target, features.shape[0])
        if self.split.schema is not None:
            self.split.schema.cases(table)
        return (np.array(listed),)


def joint_events(
    spec: FitSpec, ready: PreparedFit, looks: tuple[Look, ...]
) -> tuple[Event, ...]:
    """Return accounting events that cover a person on either side of the split."""
    budget = row_budget(spec.budget, spec.rows_per_person)
    score = noises_for(budget, looks).events
    joint = larger_events(ready.calibration.events, score, budget)
    return group_events(joint, spec.rows_per_person)


def joint_guarantee(fit: Guarantee, score: Guarantee) -> Guarantee:
    """Return the guarantee of fit and score together, at the cost of the fit alone."""
    budget = None if fit.budget is None else score.budget
    found = replace(
        score, budget=budget, theorem=THEOREM, status=fit.status, reason=fit.reason
    )
    for line in (*fit.assumptions, COINS, SHARED):
        found = found.assuming(line)
    return found


def prepare_both(
    model: Any, rows: RawRows, holdout: Any, coins: Entropy | None
) -> tuple[PreparedFit, PreparedScore | None]:
    """Prepare a fit and, if random bits ``coins`` are given, the score of held-out rows."""
    if coins is None:
        return model._prepare(*rows), None  # noqa: SLF001
    spec: FitSpec = model._spec()  # noqa: SLF001
    held = Holdout.of(holdout, spec.neighbours)
    first, second = divide(spec.schema, rows, held, coins)
    ready = model._prepare(*first)  # noqa: SLF001
    return ready, PreparedScore.of(model, ready, second, held)
