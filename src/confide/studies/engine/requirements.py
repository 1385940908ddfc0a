"""What must be there before a study starts: its datasets, and on workers confide itself."""

from collections.abc import Sequence

from confide import __version__
from confide.data import DATASETS
from confide.errors import ConfideError, DataNotFound, InvalidParameter
from confide.parallel.dask_cluster import Client
from confide.studies.engine.process_pool import Run
from confide.studies.engine.study import Study


def check_datasets(study: Study) -> None:
    """Raise an error unless this machine has, or can get, the datasets of a study."""
    _check_names(study)
    missing = _missing(study.datasets)
    if missing:
        raise DataNotFound(f"the study {study.name} needs {missing}")


def check_workers(client: Client, study: Study) -> None:
    """Raise an error unless every worker has the same confide, the study and its data."""
    _check_names(study)
    found = client.run(_found_by, study.run, study.datasets, on_error="return")
    for worker, answer in found.items():
        if isinstance(answer, BaseException):
            raise InvalidParameter(
                "run",
                "a function that workers can import",
                study.run,
                f"The worker {worker} says: {type(answer).__name__}: {answer}.",
            )
        version, missing = answer
        if version != __version__:
            raise InvalidParameter(
                "cluster",
                f"one whose workers have confide {__version__}",
                version,
                f"Install that version where {worker} runs.",
            )
        if missing:
            raise DataNotFound(
                f"the study {study.name} needs, on the worker {worker}, {missing}"
            )


def _check_names(study: Study) -> None:
    for name in study.datasets:
        if name not in DATASETS:
            raise InvalidParameter(
                f"the datasets of {study.name}", f"among {', '.join(DATASETS)}", name
            )


def _found_by(run: Run, datasets: Sequence[str]) -> tuple[str, str]:
    """Return the version of a worker that could import the function, and what it lacks."""
    del run
    return __version__, _missing(datasets)


def _missing(datasets: Sequence[str]) -> str:
    for name in datasets:
        try:
            DATASETS[name].fetch()
        except ConfideError as error:
            return f"the dataset {name}. {error}"
    return ""
