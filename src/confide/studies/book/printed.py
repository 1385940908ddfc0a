"""Numbers printed in the five papers, for use in the page templates."""

from confide.studies.admm import printed_values as admm
from confide.studies.intervals import printed_datasets as interval_data
from confide.studies.intervals import printed_values as intervals
from confide.studies.kst import printed_values as kst
from confide.studies.napp import printed_values as napp
from confide.studies.regression import printed_values as regression

__all__ = ["admm", "interval_data", "intervals", "kst", "napp", "regression"]
