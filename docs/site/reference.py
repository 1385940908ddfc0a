"""Pages of the API reference: one per package, and one per class or function."""

import ast
import importlib
import inspect
from pathlib import Path
from types import ModuleType
from typing import Any

from docstrings import adapt, escape
from sphinx.application import Sphinx
from theorems import DOCS, HEADING

ROOMS = {
    "estimators": "Models: fit, save, score and compare them",
    "data": "Schemas, columns, terms and tables",
    "privacy": "Budgets, neighbour relations and guarantees",
    "ledger": "Record of the budget spent on each dataset",
    "planning": "Expected accuracy for a budget",
    "inference": "Intervals, tests and contrasts after a fit",
    "evaluation": "Private scores of models",
    "description": "Private descriptive statistics",
    "tuning": "Private choice among settings",
    "selection": "Private selection of columns",
    "reporting": "Reports and model cards",
    "mechanisms": "Methods that fit models with noise",
    "mechanisms.published": "Published mechanisms, for comparison",
    "objectives": "Losses, penalties and constraints",
    "accounting": "Composition and conversion of guarantees",
    "noise": "Noise distributions and exact samplers",
    "solvers": "Minimisation with a certified error",
    "attacks": "Audits of mechanisms, and attacks",
    "studies": "Reproduction of tables and figures of papers",
    "testing": "Checks for extensions of your own",
    "web": "Local server of `confide open`",
    "errors": "Errors and warnings",
}
"""Modules that export names, in the order in which a user meets them."""


def exported(module: Any) -> list[str]:
    """Return the names that a module exports."""
    own = [
        n
        for n, v in vars(module).items()
        if inspect.isclass(v) and v.__module__ == module.__name__
    ]
    return sorted(getattr(module, "__all__", own), key=str.lower)


def is_page(thing: Any) -> bool:
    """Return whether an object is a class or function of confide, so that it has a page."""
    kind = inspect.isclass(thing) or inspect.isroutine(thing)
    return kind and getattr(thing, "__module__", "").startswith("confide")


def summary(thing: Any) -> str:
    """Return the first paragraph of a docstring in one line."""
    return escape(" ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split()))


def comment(module: ModuleType, name: str) -> str:
    """Return the string below the assignment of a constant."""
    body = ast.parse(inspect.getsource(module)).body
    for line, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(line, ast.ImportFrom) and line.module and not line.level:
            origin = importlib.import_module(line.module)
            if name in {alias.name for alias in line.names} and origin is not module:
                return comment(origin, name)
        targets = getattr(line, "targets", [getattr(line, "target", None)])
        if name in {getattr(target, "id", None) for target in targets}:
            text = getattr(getattr(after, "value", None), "value", "")
            return inspect.cleandoc(text) if isinstance(text, str) else ""
    return ""


def constant(module: ModuleType, name: str) -> str:
    """Return the entry of a constant or type alias."""
    thing = getattr(module, name)
    value = repr(thing)
    text = "\n\n".join(adapt(comment(module, name).split("\n\n")))
    lines = [f".. py:data:: {name}", f"   :module: {module.__name__}"]
    if len(value) <= 60 and " at 0x" not in value:
        lines.append(f"   :value: {value}")
    body = "\n".join(f"   {line}" if line else "" for line in text.splitlines())
    return "\n".join(lines) + f"\n\n{body}\n\n"


def title(text: str, line: str = "=") -> str:
    """Return a heading."""
    return f"{text}\n{line * len(text)}\n\n"


def table(rows: list[tuple[str, str]]) -> str:
    """Return a table of names and their descriptions."""
    lines = [".. list-table::", "   :widths: 35 65", "   :class: names", ""]
    for name, text in rows:
        lines += [f"   * - {name}", f"     - {text}"]
    return "\n".join(lines) + "\n\n"


def page(place: str, name: str, thing: Any) -> str:
    """Return the page of a class or a function."""
    if not inspect.isclass(thing):
        return title(name) + f".. autofunction:: {place}.{name}\n"
    text = (
        title(name)
        + f".. autoclass:: {place}.{name}\n   :members:\n   :inherited-members:\n"
    )
    if theorems_of(thing):
        text += "\n" + title("Theorems", "-")
        text += "".join(f"- {theorem}\n" for theorem in theorems_of(thing))
    return text


def theorems_of(thing: Any) -> tuple[str, ...]:
    """Return the theorems that a mechanism cites."""
    named = getattr(thing, "theorems", ())
    return named if isinstance(named, tuple) else ()


def proof_pages() -> list[Path]:
    """Return the proof pages, in the order of their numbers on the site."""
    listed = (DOCS / "proofs" / "README.md").read_text("utf-8").split()
    pages = (DOCS / "proofs").glob("*.md")
    return sorted(
        (p for p in pages if p.stem in listed), key=lambda p: listed.index(p.stem)
    )


def theorem_table(users: dict[str, list[str]]) -> str:
    """Return the page of all theorems, with the mechanisms that cite them."""
    rows = []
    for path in proof_pages():
        for heading, name in HEADING.findall(path.read_text("utf-8")):
            theorem = f"{path.name}#{name}"
            text = escape(heading.partition(" — ")[2])
            text = text[:1].upper() + text[1:]
            used = ", ".join(users.get(theorem, ()))
            rows.append((theorem, f"{text}. Named by {used}." if used else f"{text}."))
    return (
        title("Theorems")
        + "All theorems, by page, with the mechanisms whose guarantees cite them.\n\n"
        + table(rows)
    )


class Reference:
    """The pages of all packages; a name is documented in the first one that exports it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.places: dict[int, str] = {}
        self.theorems: dict[str, list[str]] = {}
        self.written: set[Path] = set()

    def write(self) -> None:
        """Write all pages, and delete pages of names that no longer exist."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for room, text in ROOMS.items():
            self.write_room(room, text)
        self.write_package()
        for old in set(self.folder.glob("*.rst")) - self.written:
            old.unlink()

    def save(self, name: str, text: str) -> None:
        """Write a page unless it is unchanged, because Sphinx reads newer files again."""
        file = self.folder / f"{name}.rst"
        self.written.add(file)
        if not file.is_file() or file.read_text("utf-8") != text:
            file.write_text(text, "utf-8")

    def write_room(self, room: str, text: str) -> None:
        """Write the page of a package, and the pages of the names that it exports first."""
        place = f"confide.{room}"
        module = importlib.import_module(place)
        rows, constants, pages = [], [], []
        for name in exported(module):
            thing = getattr(module, name)
            if not is_page(thing):
                constants.append(constant(module, name))
                continue
            if id(thing) not in self.places:
                self.places[id(thing)] = f"{place}.{name}"
                pages.append(f"{place}.{name}")
                self.save(f"{place}.{name}", page(place, name, thing))
                for theorem in theorems_of(thing):
                    self.theorems.setdefault(theorem, []).append(self.link(name, thing))
            rows.append((self.link(name, thing), summary(thing)))
        about = "\n".join(adapt((inspect.getdoc(module) or "").splitlines()))
        body = title(place) + f"{text}.\n\n{about}\n\n" + table(rows)
        if constants:
            body += title("Constants and types", "-") + "".join(constants)
        body += self.contents(pages)
        self.save(place, body)

    def link(self, name: str, thing: Any) -> str:
        """Return a link to the page of a class or function."""
        return f":py:obj:`{name} <{self.places[id(thing)]}>`"

    @staticmethod
    def contents(pages: list[str]) -> str:
        """Return a hidden list of pages."""
        lines = ["", ".. toctree::", "   :hidden:", "", *(f"   {p}" for p in pages)]
        return "\n".join(lines) + "\n"

    def write_package(self) -> None:
        """Write the page of the names that `confide` exports."""
        package = importlib.import_module("confide")
        things = [(name, getattr(package, name)) for name in exported(package)]
        rows = [(self.link(name, thing), summary(thing)) for name, thing in things]
        rooms = [(f":doc:`confide.{room}`", f"{text}.") for room, text in ROOMS.items()]
        body = (
            title("API reference")
            + "Import these names from ``confide``, and all others from their package: "
            + "``from confide.mechanisms import MomentumDescent``.\n\n"
            + table(rows)
            + title("Packages", "-")
            + table(rooms)
            + self.contents([*(f"confide.{room}" for room in ROOMS), "theorems"])
        )
        self.save("index", body)
        self.save("theorems", theorem_table(self.theorems))


def write_reference(app: Sphinx) -> None:
    """Write the pages before Sphinx looks for them."""
    Reference(Path(app.srcdir) / "reference").write()


def skip_foreign(
    _app: Sphinx, _what: str, _name: str, thing: Any, skip: bool, _options: Any
) -> bool | None:
    """Omit methods that are inherited from other packages."""
    function = getattr(thing, "fget", thing)
    module = getattr(inspect.unwrap(function), "__module__", "") or ""
    foreign = inspect.isroutine(function) and not module.startswith("confide")
    return True if foreign else skip or None


def setup(app: Sphinx) -> dict[str, Any]:
    """Write the reference from what the packages export."""
    app.connect("builder-inited", write_reference, priority=100)
    app.connect("autodoc-skip-member", skip_foreign)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
