"""Run the benchmarks and write the page."""

import argparse
import sys

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
)

from bench import (
    accuracy,
    adult,
    cost,
    csv_fit,
    descent,
    generated,
    imports,
    memory,
    poisson,
    regression,
    scale,
    speed,
    wide,
)
from bench.child import ChildFailed
from bench.machine import describe
from bench.page import PAGE, load, save

MODULES = (
    speed,
    csv_fit,
    memory,
    wide,
    scale,
    generated,
    imports,
    adult,
    accuracy,
    descent,
    poisson,
    regression,
    cost,
)
SECTIONS = tuple(module.SECTION for module in MODULES)


def main():
    given = _arguments()
    work = [(section, section.jobs(given.quick)) for section in _chosen(given.only)]
    found, failed = load(), []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True)) as progress:
        task = progress.add_task("", total=sum(len(jobs) for _, jobs in work))
        for section, jobs in work:
            if not jobs and section.name in found:
                continue
            results = {}
            try:
                for name, job in jobs.items():
                    progress.update(task, description=f"{section.name}: {name}")
                    results[name] = job()
                    progress.advance(task)
            except ChildFailed as error:
                failed.append(str(error))
                continue
            found[section.name] = {
                "machine": describe(),
                "quick": given.quick,
                "jobs": results,
            }
            save(found, SECTIONS)
    for message in failed:
        print(message, file=sys.stderr)
    print(f"wrote {PAGE}")
    return 1 if failed else 0


def _arguments():
    names = ",".join(section.name for section in SECTIONS)
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--only", default=names, help=f"sections to run, from {names}")
    parser.add_argument("--quick", action="store_true", help="few repetitions")
    given = parser.parse_args()
    unknown = set(given.only.split(",")) - set(names.split(","))
    if unknown:
        parser.error(f"unknown sections {sorted(unknown)}; known: {names}")
    return given


def _chosen(only):
    return [section for section in SECTIONS if section.name in only.split(",")]


if __name__ == "__main__":
    sys.exit(main())
