"""The order of the gallery: from a first fit to a refuted claim."""

ORDER = (
    "income_logistic",
    "dose_warfarin",
    "visits_poisson",
    "three_classes",
    "unbalanced_outcomes",
    "reference_levels",
    "splines_interactions",
    "first_table",
    "plan_before_spending",
    "ledger_limits",
    "score_calibration",
    "interval_coverage",
    "select_columns",
    "tuning_one_charge",
    "admm_scad",
    "multi_response",
    "parquet_dask",
    "audit_mechanism",
    "refuted_claim",
)


class GalleryOrder:
    """Sort key of an example: its place in `ORDER`."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, name: str) -> int:
        """Return the place of a file; it must be listed."""
        return ORDER.index(name.removeprefix("plot_").removesuffix(".py"))

    def __repr__(self) -> str:
        return "GalleryOrder()"
