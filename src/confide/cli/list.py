"""`confide list`: the available mechanisms, losses, datasets and studies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Any

import typer

import confide
from confide.cli.output import AsJson, console, print_json, print_note

ABOUT_STATUS = (
    "PROVED: the proof covers all published digits, also of intervals. CLAIMED: the proof "
    "holds for real numbers only; it does not cover the rounding of noise in double "
    "precision, whose last digits may reveal a row. See docs/proofs/finite-precision.md"
)
KINDS: Mapping[str, Callable[[], Iterable[tuple[str, ...]]]] = {
    "mechanisms": lambda: _mechanism_lines(by_package(confide.mechanisms.MECHANISMS)),
    "selectors": lambda: _class_lines(by_package(confide.selection.SELECTORS)),
    "losses": lambda: _class_lines(confide.objectives.LOSSES),
    "penalties": lambda: _class_lines(confide.objectives.PENALTIES),
    "constraints": lambda: _class_lines(confide.objectives.CONSTRAINTS),
    "datasets": lambda: ((k, one.source) for k, one in confide.data.DATASETS.items()),
    "studies": lambda: (
        (k, one.title) for k, one in sorted(confide.studies.STUDIES.items())
    ),
}


def list_parts(
    what: Annotated[str, typer.Argument(help=", ".join(KINDS))] = "",
    as_json: AsJson = False,
) -> None:
    """List mechanisms, losses, penalties and other parts, with the status of guarantees.

    Example: [bold]confide list mechanisms[/bold]
    """
    if what and what not in KINDS:
        raise typer.BadParameter(f"choose one of {', '.join(KINDS)}")
    chosen = {kind: [*KINDS[kind]()] for kind in ([what] if what else KINDS)}
    if as_json:
        print_json({kind: [list(line) for line in lines] for kind, lines in chosen.items()})
        return
    for kind, lines in chosen.items():
        console.print(f"[bold]{kind}[/bold]")
        width = max((len(line[0]) for line in lines), default=0)
        for name, *rest in lines:
            line = f"  {name:<{width}}  {'  '.join(rest)}"
            console.print(line, soft_wrap=True, markup=False)
        if kind == "mechanisms":
            print_note(f"\n{ABOUT_STATUS}")
        console.print()


def by_package(registry: Mapping[str, type[Any]]) -> dict[str, type[Any]]:
    """Return classes sorted by package, then by name."""

    def place(entry: tuple[str, type[Any]]) -> tuple[str, str]:
        name, kind = entry
        return kind.__module__.rpartition(".")[0], name

    return dict(sorted(registry.items(), key=place))


def _mechanism_lines(registry: Mapping[str, type[Any]]) -> Iterator[tuple[str, ...]]:
    for name, kind in registry.items():
        proved = kind.theorems and not confide.privacy.shortfall(kind.theorems)
        status = confide.Status.PROVED if proved else confide.Status.CLAIMED
        yield name, str(status), _first_line(kind)


def _class_lines(registry: Mapping[str, type[Any]]) -> Iterator[tuple[str, ...]]:
    return ((name, _first_line(kind)) for name, kind in registry.items())


def _first_line(kind: type[Any]) -> str:
    return (kind.__doc__ or "").strip().splitlines()[0]
