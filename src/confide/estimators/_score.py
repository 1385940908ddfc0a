"""Private scores of a released model: check and sum the rows, charge, and release."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import validate_data

from confide._types import AnyArray, Array
from confide.accounting import Event, group_events
from confide.data import Schema, read_table
from confide.data.matrix.matrix import Matrix
from confide.data.matrix.sums import MAX_ROWS, Partial, pairwise_sum
from confide.data.partitioned.cluster_rows import collected
from confide.data.schema.case_weights import NO_CASES
from confide.data.tables.files import FileTable, open_table, walk
from confide.errors import InvalidData, InvalidParameter
from confide.estimators._model_file import coefficients_hash, kept_text
from confide.estimators._predict_chunks import Margins, check_width
from confide.estimators._prepare import dataset_name
from confide.estimators._readings import PartedTable, SplitChunk, parted_table
from confide.estimators._spec import LedgerSetting, NeighbourSetting
from confide.estimators._target import ReadTarget, TargetInfo
from confide.estimators._validate import refuse_empty
from confide.evaluation import ModelScore, ScoreRule, noises_for
from confide.evaluation.noises import THEOREM, Noises
from confide.evaluation.score_file import file_record, score_hash
from confide.ledger import Ledger
from confide.mechanisms.release import NoiseRecord
from confide.noise import Entropy, RandomState
from confide.privacy import (
    Budget,
    Guarantee,
    Neighbours,
    Status,
    check_budget,
    row_budget,
    warn_of_budget,
)
from confide.privacy.guarantee import ROW_BY_ROW

BLOCK_ROWS = 2**14


@dataclass(frozen=True, slots=True, repr=False)
class ScoreChunk:
    """Picklable function that computes the sums of a score over the rows of a chunk."""

    split: SplitChunk
    read: ReadTarget
    margins: Margins
    rule: ScoreRule

    def __call__(self, piece: Any) -> Partial:
        """Return the sums, and the number of rows including rows without a target."""
        features, target, listed, table = self.split(piece)
        kept = self.read(target, features.shape[0])
        margins = self.margins_of(features, table)
        return *tally_in_blocks(self.rule, margins, kept), np.array(listed)

    def margins_of(self, features: Matrix, table: Any) -> Array:
        """Return the linear predictors, including offsets, of rows that have been read."""
        check_width(features.shape[1], self.margins.width)
        schema = self.margins.schema
        cases = NO_CASES if schema is None else schema.cases(table)
        return self.margins.of(features, cases)


def tally_in_blocks(rule: ScoreRule, margins: Array, target: AnyArray) -> Partial:
    """Return the sums of a score over rows, computed in blocks without rounding errors."""
    starts = range(0, max(len(margins), 1), BLOCK_ROWS)
    return pairwise_sum(
        rule.tally(margins[at : at + BLOCK_ROWS], target[at : at + BLOCK_ROWS])
        for at in starts
    )


@dataclass(frozen=True, slots=True, repr=False)
class ScoredRows:
    """Rows to score, in memory or in parts, with a function that splits off the target.

    Rows in memory are in ``piece``. Rows that are read in parts are in ``table``.
    """

    split: SplitChunk
    table: PartedTable | None
    piece: Any = None

    @classmethod
    def of(cls, schema: Schema | None, X: Any, y: Any, *, classifies: bool) -> "ScoredRows":
        """Create the rows to score from a table of any form that a fit accepts."""
        named = isinstance(y, str)
        split = SplitChunk(
            schema, y if named and schema is None else None, beside=not (named or y is None)
        )
        if schema is None and y is None:
            raise InvalidParameter(
                "y", "the target of every row, or the name of its column", y
            )
        beside = None if named else y
        table = parted_table(X, beside)
        if table is None and schema is None and isinstance(X, str | Path):
            table = open_table(X)
        if schema is None and isinstance(table, FileTable):
            others = tuple(n for n in table.names if n != y or not classifies)
            table = replace(table, numbers=others)
        if table is not None:
            return cls(split, table)
        if schema is not None:
            X = read_table(X, schema, target=beside is None)
        return cls(split, None, X if beside is None else (X, beside))

    def check_names(self, model: Any) -> None:
        """Raise an error unless the columns match those of a model without a schema."""
        names = getattr(model, "feature_names_in_", None)
        if self.split.schema is not None:
            return
        if self.table is None:
            X = self.piece[0] if isinstance(self.piece, tuple) else self.piece
            validate_data(model, X, reset=False, skip_check_array=True)
            return
        held = [name for name in self.table.names or () if name != self.split.target]
        if held and names is not None and held != [str(name) for name in names]:
            raise InvalidData(
                "the table must have the columns that the model was fitted on, in the same "
                f"order: {[str(name) for name in names]}; it has {held}."
            )

    def split_for(self, schema: Schema | None) -> SplitChunk:
        """Return the function that splits chunks according to another model's schema."""
        return replace(self.split, schema=schema)

    def each(self, work: Callable[[Any], Any]) -> Iterable[Any]:
        """Apply a function to every chunk, on the machine where the chunk is stored."""
        table = self.table
        if table is None:
            return [work(self.piece)]
        sources = table.sources(self.split.schema, target=not self.split.beside)
        if table.cluster is None:
            return walk(sources, work, table.expected)
        return collected(table.cluster, sources, work)


@dataclass(frozen=True, slots=True)
class ScorePrice:
    """Guarantee, noise and privacy cost of a score, from public information alone."""

    rule: ScoreRule
    level: float
    guarantee: Guarantee
    noises: Noises
    events: tuple[Event, ...]
    model: str = ""

    @classmethod
    def of(
        cls,
        rule: ScoreRule,
        budget: Budget,
        neighbours: Neighbours,
        schema: Schema | None,
        level: float,
    ) -> "ScorePrice":
        """Calibrate a score for as many rows per person as the schema allows."""
        rows = 1 if schema is None else schema.rows_per_person
        noises = noises_for(row_budget(budget, rows), rule.looks(neighbours))
        guarantee = Guarantee(budget, neighbours, Status.PROVED, THEOREM)
        guarantee = guarantee.of_persons(rows)
        price = cls(rule, level, guarantee, noises, group_events(noises.events, rows))
        return price.assuming((ROW_BY_ROW,) if schema is None else schema.assumptions)

    def assuming(self, lines: Iterable[str]) -> "ScorePrice":
        """Return a copy whose guarantee has these additional assumptions."""
        guarantee = self.guarantee
        for line in lines:
            guarantee = guarantee.assuming(line)
        return replace(self, guarantee=guarantee)

    def release(self, sums: Partial, entropy: Entropy) -> ModelScore:
        """Draw the noise and return the score."""
        found = self.rule.release(sums, self.noises.each, entropy, self.level)
        stated = self.guarantee if entropy.secret else self.guarantee.seeded()
        return ModelScore(
            self.rule.title,
            stated,
            tuple(
                NoiseRecord(noise.kind, noise.scale, f"look {place}")
                for place, noise in enumerate(self.noises.each, start=1)
            ),
            self.events,
            self.level,
            found.estimates,
            found.curves,
            found.notes,
            self.model,
        )


def private_score(
    model: Any,
    X: Any,
    budget: Budget | None,
    *,
    y: Any,
    neighbours: NeighbourSetting,
    ledger: LedgerSetting,
    random_state: RandomState,
    level: float,
) -> ModelScore:
    """Score a released model on a table; see `PrivateLinearModel.private_score`."""
    price = check_budget(budget)
    check_level(level)
    relation = relation_of(model, neighbours)
    schema, rule = model.schema_, model.score_rule()
    cost = ScorePrice.of(rule, price, relation, schema, level)
    name = None if ledger is None else dataset_name(schema, ledger)
    rows = ScoredRows.of(schema, X, y, classifies=is_classifier(model))
    rows.check_names(model)
    sums = tallied(rows, chunk_of(model, rows.split, rule), cost, callers=3)
    what = f"score of {type(model).__name__}"
    cost = replace(cost, model=coefficients_hash(model.release_))
    return paid_score(cost, sums, Payment(ledger, name, what), random_state)


@dataclass(frozen=True, slots=True)
class Payment:
    """The ledger to charge (if any), and the dataset and purpose to record."""

    ledger: LedgerSetting
    dataset: str | None
    what: str


def paid_score(
    cost: ScorePrice, sums: Partial, payment: Payment, random_state: RandomState
) -> ModelScore:
    """Charge the ledger, if any, and release the score. All checks precede this call."""
    entropy = Entropy.of(random_state)
    if payment.ledger is None:
        return cost.release(sums, entropy)
    ledger = payment.ledger
    book = ledger if isinstance(ledger, Ledger) else Ledger.open(ledger)
    promise = cost.guarantee
    charge = book.charge(
        str(payment.dataset),
        check_budget(promise.budget),
        cost.events,
        neighbours=promise.neighbours,
        what=payment.what,
        status=promise.status,
        private=entropy.secret,
    )
    found = cost.release(sums, entropy)
    book.enter(charge, score_hash(found), kept_text(file_record(found)))
    return found


def check_level(level: Any) -> None:
    """Reject a confidence level outside (0, 1)."""
    if not isinstance(level, float) or not 0 < level < 1:
        raise InvalidParameter("level", "between 0 and 1, such as 0.95", level)


def relation_of(model: Any, neighbours: NeighbourSetting) -> Neighbours:
    """Return the requested neighbour relation, by default that of the model."""
    usual = model.release_.guarantee.neighbours
    return Neighbours.of(usual if neighbours is None else neighbours)


def chunk_of(model: Any, split: SplitChunk, rule: ScoreRule) -> ScoreChunk:
    """Return the function that computes the sums of a score for a chunk of a table."""
    found = TargetInfo(getattr(model, "classes_", None))
    read = model.target_rule().spec(found).read
    return ScoreChunk(split, read, model.margin_map(), rule)


def tallied(
    rows: ScoredRows, chunk: Callable[[Any], Partial], cost: ScorePrice, callers: int
) -> Partial:
    """Return the sums of a score over a table, computed in a single pass.

    The number of rows is checked. If the budget is large, a warning is issued. It points to
    the function that is ``callers`` levels up in the call stack.
    """
    *sums, listed = pairwise_sum(rows.each(chunk))
    promise, schema = cost.guarantee, rows.split.schema
    check_length(int(listed), promise.neighbours)
    known = None if schema is None else schema.rows
    if promise.neighbours is Neighbours.REPLACE_ONE:
        known = int(listed)
    warn_of_budget(check_budget(promise.budget), known, callers=callers + 1)
    return tuple(sums)


def check_length(listed: int, relation: Neighbours) -> None:
    """Raise an error if there are too many rows, or if there are none under replace-one."""
    if relation is Neighbours.REPLACE_ONE:
        refuse_empty(listed)
    if listed > MAX_ROWS:
        raise InvalidData(f"scores are available for tables of at most {MAX_ROWS:,} rows.")
