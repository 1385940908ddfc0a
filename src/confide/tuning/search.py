"""Private tuning: select the best of several candidate settings with a single charge."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from confide.accounting import event_of
from confide.data.tables.files import is_in_parts
from confide.errors import (
    ClaimedGuarantee,
    Described,
    InvalidParameter,
    LooseBudget,
    RepeatedSpending,
)
from confide.ledger import Charge, Ledger
from confide.mechanisms import Release
from confide.noise import Entropy
from confide.privacy import (
    Budget,
    Guarantee,
    Neighbours,
    Status,
    assumptions_of,
    check_budget,
    warn_if_claimed,
    warn_of_budget,
    weakest,
)
from confide.privacy.guarantee import ONE_ROW, PUBLIC_LABELS
from confide.tuning.base import SearchMethod, SearchResult
from confide.tuning.chunks import ChunkedSearch
from confide.tuning.random_stopping import RandomStopping
from confide.tuning.scores import SearchTable, score_for

METHODS: dict[str, type[Any]] = {
    kind.name: kind for kind in (ChunkedSearch, RandomStopping)
}
SHARED_SETTINGS = {
    *("budget", "ledger", "random_state", "neighbours", "schema", "intervals"),
    *("classes", "target_bound"),
}
"""Settings that must be equal for all candidates, as they affect guarantees or scores."""


def _has(method: str) -> Callable[["PrivateSearch"], bool]:
    return lambda search: hasattr(search.estimator, method)


class PrivateSearch(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Tune an estimator of confide under differential privacy, with a single charge.

    Parameters
    ----------
    estimator : estimator of confide
        Estimator to tune. Its ledger is charged once for the whole search.
    param_grid : dict or list of dicts
        The candidates, as for scikit-learn's GridSearchCV. They are public: choose them
        before looking at the data.
    budget : Pure, Approx or Zcdp, optional
        Budget of the whole search; by default the budget of the estimator.
    method : {"chunks", "random-stopping"} or instance, default="chunks"
        Fit each candidate on separate rows (`ChunkedSearch`), or keep the best of a random
        number of fits on all rows (`RandomStopping`).
    scoring : str, optional
        "squared" or "absolute" for numeric targets, "misclassification" or "deviance" for
        classes. The loss of a record is capped at a public bound.
    random_state : int or generator, optional
        A seed makes the search repeatable and NOT private.

    Attributes
    ----------
    best_estimator_ : estimator
        The fitted winner; its ``release_`` has the guarantee of the whole search.
    best_params_ : dict
        Settings of the winner.
    best_index_ : int
        Position of the winner among the candidates.
    best_score_ : float
        With random stopping, minus the noisy sum of the winner's losses. With chunks there
        is no score, because no budget is spent on one. No results of other candidates are
        kept.

    Examples
    --------
    Choose between a ridge of 1 and a ridge of 1,000 at the cost of one fit:

    >>> import numpy as np
    >>> from confide import LogisticRegression, Pure
    >>> from confide.tuning import PrivateSearch
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(4000, 1))
    >>> y = (X[:, 0] + rng.normal(0, 0.1, 4000) > 0).astype(int)
    >>> model = LogisticRegression(Pure(1), row_norm=1.0, classes=[0, 1])
    >>> candidates = {"l2": [1, 1000]}
    >>> search = PrivateSearch(model, candidates, scoring="deviance", random_state=0)
    >>> search = search.fit(X, y)
    >>> search.best_params_
    {'l2': 1}
    >>> print(search.release_.guarantee.budget)
    ε = 1
    """

    def __init__(
        self,
        estimator: Any,
        param_grid: Any = None,
        budget: Any = None,
        *,
        method: Any = "chunks",
        scoring: Any = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.budget = budget
        self.method = method
        self.scoring = scoring
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> "PrivateSearch":
        """Search for the best candidate, and charge the ledger once for the whole search.

        Parameters
        ----------
        X : table or array
            Rows, as in the ``fit`` of the estimator; with a schema, a table that contains
            the target.
        y : array, optional
            Target, if there is no schema.

        Returns
        -------
        PrivateSearch
            The search itself.
        """
        budget, method, settings = self._budget(), self._method(), self._candidates()
        schema = self.estimator.schema
        _check_in_memory(X, named=schema is not None)
        rows_per_person = 1 if schema is None else schema.rows_per_person
        score = score_for(self.scoring, self.estimator)
        plan = method.plan(budget, len(settings), rows_per_person)
        models = [
            clone(self.estimator).set_params(**one, budget=plan.fit_budget)
            for one in settings
        ]
        promises = [model.rehearse(X, y) for model in models]
        guarantee = _common([promise.guarantee for promise in promises], settings)
        table = SearchTable.of(X, y, schema)
        plan.check_rows(table.count, guarantee.neighbours)
        labels = promises[0].labels
        if labels is not None:
            for model in models:
                model.set_params(classes=labels)
        if guarantee.neighbours is Neighbours.REPLACE_ONE:
            # A part of the rows may be rejected even if the whole table is not.
            part = table.take(np.arange(plan.smallest_part(table.count)))
            for model in models:
                part.rehearse(model)
        whole = replace(guarantee, budget=budget, theorem=method.theorem, assumptions=())
        parts = assumptions_of([whole, *(promise.guarantee for promise in promises)])
        assumed = tuple(line for line in parts if line != ONE_ROW)
        warn_if_claimed(whole, callers=2)
        public = guarantee.neighbours is Neighbours.REPLACE_ONE
        about = None if schema is None else schema.rows
        warn_of_budget(budget, table.count if public else about, callers=2)
        seed = self.random_state
        entropy = Entropy.of(self.estimator.random_state if seed is None else seed)
        dataset = promises[0].dataset
        charge_entry = self._pay(budget, whole, dataset, secret=entropy.secret)
        for model in models:
            # All models share one charge and one source of randomness.
            model.set_params(ledger=None, random_state=None)
        with warnings.catch_warnings():
            # The warnings above covered all candidates.
            warnings.simplefilter("ignore", ClaimedGuarantee)
            warnings.simplefilter("ignore", LooseBudget)
            warnings.simplefilter("ignore", RepeatedSpending)
            found = plan.run(models, table, score, guarantee.neighbours, entropy)
        promise = _of_winner(found.model.release_.guarantee, whole, assumed)
        if labels is not None:
            promise = promise.assuming(PUBLIC_LABELS)
        self._keep(found, settings, promise, budget, charge_entry)
        return self

    def _pay(
        self,
        budget: Budget,
        promise: Guarantee,
        dataset: str | None,
        *,
        secret: bool,
    ) -> Charge | None:
        """Charge the ledger for the whole search, before any random number is drawn."""
        if dataset is None:
            return None
        place = self.estimator.ledger
        ledger = place if isinstance(place, Ledger) else Ledger.open(place)
        return ledger.charge(
            dataset,
            budget,
            (event_of(budget),),
            neighbours=promise.neighbours,
            what=f"PrivateSearch of {type(self.estimator).__name__}",
            status=promise.status,
            private=secret,
        )

    def _keep(
        self,
        found: SearchResult,
        settings: list[dict[str, Any]],
        guarantee: Guarantee,
        budget: Budget,
        charge_entry: Charge | None,
    ) -> None:
        """Keep the winner, and nothing else that was learned from the data."""
        model, own = found.model, self.estimator
        model.set_params(ledger=own.ledger, random_state=own.random_state)
        if hasattr(own, "classes"):
            model.set_params(classes=own.classes)
        whole = replace(model.release_, guarantee=guarantee, events=(event_of(budget),))
        self.best_estimator_ = model.adopt(whole, charge_entry)
        self.best_index_ = found.index
        self.best_params_ = settings[found.index]
        if found.score is not None:
            self.best_score_ = found.score

    def _budget(self) -> Budget:
        own = getattr(self.estimator, "budget", None)
        if self.budget is not None and own is not None and self.budget != own:
            raise InvalidParameter(
                "budget",
                "given either to the search or to its estimator, not both",
                {"search": str(self.budget), "estimator": str(own)},
            )
        return check_budget(own if self.budget is None else self.budget)

    def _method(self) -> SearchMethod:
        if isinstance(self.method, str) and self.method in METHODS:
            return cast("SearchMethod", METHODS[self.method]())
        if isinstance(self.method, ChunkedSearch | RandomStopping):
            return self.method
        must = f"one of {sorted(METHODS)}, or ChunkedSearch() or RandomStopping()"
        raise InvalidParameter("method", must, self.method)

    def _candidates(self) -> list[dict[str, Any]]:
        from sklearn.model_selection import ParameterGrid  # slow to import

        if not hasattr(self.estimator, "rehearse"):
            raise InvalidParameter("estimator", "an estimator of confide", self.estimator)
        if getattr(self.estimator, "intervals", None) is not None:
            raise InvalidParameter(
                "intervals",
                "None in a search",
                self.estimator.intervals,
                "Intervals of the winner would not be valid, because it is selected by its "
                "score. After the search, fit the chosen settings with intervals=True.",
            )
        try:
            found = list(ParameterGrid({} if self.param_grid is None else self.param_grid))
        except (TypeError, ValueError) as error:
            must = "a dict of lists, or a list of such dicts"
            raise InvalidParameter("param_grid", must, str(error)) from None
        if len(found) < 2:
            must = "a grid of at least two candidates"
            got = Described("a grid with only one" if found else "an empty grid")
            raise InvalidParameter("param_grid", must, got)
        known = set(self.estimator.get_params(deep=False))
        named = {name for one in found for name in one}
        for wrong, must in (
            (named - known, f"parameters of {type(self.estimator).__name__}"),
            (named & SHARED_SETTINGS, "parameters in which candidates may differ"),
        ):
            if wrong:
                raise InvalidParameter("names in param_grid", must, sorted(wrong))
        return found

    @property
    def release_(self) -> Release:
        """The winner's release, with the guarantee of the whole search."""
        check_is_fitted(self, "best_estimator_")
        release: Release = self.best_estimator_.release_
        return release

    @property
    def classes_(self) -> Any:
        """The class labels of the winner."""
        return self._winner_attribute("classes_")

    @property
    def n_features_in_(self) -> int:
        """The number of features that the winner was fitted on."""
        return int(self._winner_attribute("n_features_in_"))

    @property
    def feature_names_in_(self) -> Any:
        """The names of the features, if the table had names."""
        return self._winner_attribute("feature_names_in_")

    def _winner_attribute(self, name: str) -> Any:
        if "best_estimator_" not in vars(self):
            raise AttributeError(f"PrivateSearch has no {name} before it is fitted")
        return getattr(self.best_estimator_, name)

    def _winner(self) -> Any:
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_

    @available_if(_has("predict"))  # type: ignore[untyped-decorator]
    def predict(self, X: Any) -> Any:
        """Predict with the winner.

        Parameters
        ----------
        X : table or array
            Rows.

        Returns
        -------
        ndarray
            A prediction for every row.
        """
        return self._winner().predict(X)

    @available_if(_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Predict probabilities with the winner.

        Parameters
        ----------
        X : table or array
            Rows.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Probabilities.
        """
        return self._winner().predict_proba(X)

    @available_if(_has("predict_log_proba"))  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Any:
        """Predict logarithms of probabilities with the winner.

        Parameters
        ----------
        X : table or array
            Rows.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Logarithms of `predict_proba`.
        """
        return self._winner().predict_log_proba(X)

    @available_if(_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Any:
        """Return the linear predictor of the winner.

        Parameters
        ----------
        X : table or array
            Rows.

        Returns
        -------
        ndarray
            A value for every row.
        """
        return self._winner().decision_function(X)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the accuracy or R² of the winner; this score is NOT private.

        Parameters
        ----------
        X : table or array
            Rows.
        y : array, optional
            True target; by default the column of ``X`` that the schema names.

        Returns
        -------
        float
            The score.
        """
        return float(self._winner().score(X, y))

    def summary(self) -> Any:
        """Return the winner's coefficients under the guarantee of the whole search.

        Returns
        -------
        Summary
            A table that prints as text.
        """
        return self._winner().summary()

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = inner.classifier_tags
        tags.regressor_tags = inner.regressor_tags
        tags.target_tags = inner.target_tags
        tags.input_tags = inner.input_tags
        return tags


def _common(promises: list[Guarantee], settings: list[dict[str, Any]]) -> Guarantee:
    """Return the weakest guarantee of the candidates.

    Refuted guarantees and different neighbour relations are rejected.
    """
    relations = {promise.neighbours for promise in promises}
    if len(relations) > 1:
        raise InvalidParameter(
            "neighbours",
            "the same for all candidates",
            sorted(map(str, relations)),
            "Set neighbours on the estimator.",
        )
    for promise, one in zip(promises, settings, strict=True):
        if promise.status is Status.REFUTED:
            raise InvalidParameter(
                "guarantees of the candidates",
                "PROVED or CLAIMED",
                Described(f"REFUTED for {one}"),
                "Leave this candidate out.",
            )
    return weakest(*promises)


def _of_winner(alone: Guarantee, whole: Guarantee, assumed: tuple[str, ...]) -> Guarantee:
    """Return the guarantee of the winner, restated for the whole search.

    ``assumed`` are the assumptions of the search and of all candidates.
    """
    promise = replace(
        alone,
        budget=whole.budget,
        theorem=whole.theorem,
        status=whole.status,
        reason=whole.reason,
    )
    for line in assumed:
        promise = promise.assuming(line)
    return promise


def _check_in_memory(X: Any, *, named: bool) -> None:
    """Reject tables that are not in memory: they cannot be divided among candidates."""
    if is_in_parts(X) or (isinstance(X, str | Path) and not named):
        raise InvalidParameter(
            "table",
            "in memory for a search, which distributes the rows among its candidates",
            Described("a table in files or in parts"),
            "Read it into memory, for example with confide.data.read_table, if it fits.",
        )
