"""The house is as docs/architecture.md draws it."""

import ast
import importlib
from pathlib import Path

import pytest

from confide.accounting.events import EVENTS
from confide.data import COLUMNS
from confide.noise import NOISES
from confide.objectives import LOSSES

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "confide"
BASE = {"errors", "_version", "_types", "_lazy", "_files", "_interrupts"}
CORE = {"privacy", "data", "objectives", "solvers", "noise", "accounting"}
MAY_IMPORT = {
    "errors": set(),
    "_types": set(),
    "_version": set(),
    "_lazy": set(),
    "_interrupts": set(),
    "_files": {"errors"},
    "_registry": BASE,
    "parallel": BASE,
    "privacy": BASE,
    "noise": {"_registry", *BASE},
    "data": {"_registry", "parallel", *BASE},
    "objectives": {"_registry", "data", *BASE},
    "solvers": {"objectives", "data", *BASE},
    "accounting": {"_registry", "privacy", *BASE},
    "ledger": {"accounting", "privacy", *BASE},
    "mechanisms": {"_registry", *CORE, *BASE},
    "selection": {"_registry", "mechanisms", *CORE, *BASE},
    "tuning": {"_registry", "mechanisms", "ledger", *CORE, *BASE},
    "reporting": {"privacy", *BASE},
    "inference": {"reporting", "mechanisms", "objectives", "noise", "privacy", *BASE},
    "evaluation": {"reporting", "mechanisms", *CORE, *BASE},
    "planning": {"estimators", "inference", "mechanisms", *CORE, *BASE},
    "attacks": {"mechanisms", *CORE, *BASE},
    "estimators": {
        *("_registry", "selection", "mechanisms", "inference", "reporting", "ledger"),
        *("evaluation", *CORE, *BASE),
    },
    "description": {
        *("estimators", "ledger", "mechanisms", "reporting", *CORE, *BASE),
    },
    "demo": {"estimators", "inference", *CORE, *BASE},
    "studies": {
        *("_registry", "estimators", "tuning", "attacks", "mechanisms", "inference"),
        *("parallel", "confide", *CORE, *BASE),
    },
    "cli": {
        *("demo", "estimators", "reporting", "attacks", "mechanisms", "inference"),
        *(
            "planning",
            "ledger",
            "parallel",
            "studies",
            "selection",
            "evaluation",
            "confide",
        ),
        *("description", "web", *CORE, *BASE),
    },
    "web": {
        *("estimators", "evaluation", "inference", "ledger", "planning", "reporting"),
        *("confide", *CORE, *BASE),
    },
    "testing": {"selection", "mechanisms", *CORE, *BASE},
    "__init__": {
        *("demo", "estimators", "reporting", "attacks", "mechanisms", "inference"),
        *("planning", "ledger", "parallel", "studies", "selection", "tuning"),
        *("evaluation", "description", "web", *CORE, *BASE),
    },
    "__main__": {"cli"},
}
WITHIN = {
    "data": ("matrix", "schema", "rows", "partitioned", "tables", "datasets"),
    "mechanisms": (
        *(".", "gradient", "objective", "intervals", "ranges", "statistics", "published"),
    ),
    "studies": ("engine", "intervals", "napp", "admm", "kst", "regression", "book"),
}
"""Rooms within rooms: each may import what comes before it; a dot is the room itself."""
FILES = sorted(SOURCE.rglob("*.py"))


def room_of(path):
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_modules(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module, [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            yield from ((alias.name, []) for alias in node.names)


def imported_rooms(path):
    """Yield rooms that a file imports, or uses as attributes of the package."""
    used = []
    for module, names in imported_modules(path):
        if module == "confide":
            used += names
        elif module.startswith("confide."):
            yield module.split(".")[1]
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        value = getattr(node, "value", None)
        if isinstance(node, ast.Attribute) and getattr(value, "id", "") == "confide":
            used.append(node.attr)
    yield from (name if name in MAY_IMPORT else "confide" for name in used)


def inner_room(room, parts):
    """Return the room within a room in which a module lies."""
    return parts[0] if parts and (SOURCE / room / parts[0]).is_dir() else "."


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_rooms_import_only_what_the_table_allows(path):
    room = room_of(path)
    for other in imported_rooms(path):
        assert other == room or other in MAY_IMPORT[room], f"{room} must not import {other}"


@pytest.mark.parametrize(
    "path",
    [path for path in FILES if room_of(path) in WITHIN and path.name != "__init__.py"],
    ids=lambda p: str(p.relative_to(SOURCE)),
)
def test_rooms_within_rooms_import_only_what_comes_before(path):
    room, *parts = path.relative_to(SOURCE).parts
    order = WITHIN[room]
    own = order.index(inner_room(room, parts))
    for module, names in imported_modules(path):
        inside = module.split(".")[2:] if module.startswith(f"confide.{room}") else None
        if inside is None:
            continue
        assert inside, f"{path.name} imports from the exports of its own room"
        found = inner_room(room, inside)
        assert order.index(found) <= own, f"{order[own]} must not import {found}: {names}"


def test_every_room_within_a_room_has_its_place():
    for room in {room_of(path) for path in FILES}:
        folders = {path.parent.name for path in (SOURCE / room).glob("*/__init__.py")}
        assert folders == {*WITHIN.get(room, ())} - {"."}


def test_the_table_has_no_cycles_and_no_empty_rooms():
    done = set()
    while len(done) < len(MAY_IMPORT):
        ready = [r for r, needs in MAY_IMPORT.items() if needs - {"confide"} <= done]
        fresh = set(ready) - done
        assert fresh, "the import table has a cycle"
        done |= fresh
    assert {room_of(path) for path in FILES} == set(MAY_IMPORT)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_files_stay_small(path):
    lines = path.read_text("utf-8").count("\n")
    assert lines <= 500, f"{lines} lines: does this file still hold one idea?"


def for_types(tree):
    """Return what is imported for type checkers alone."""
    tests = [node for node in tree.body if isinstance(node, ast.If)]
    return [
        inner
        for test in tests
        if ast.unparse(test.test) == "TYPE_CHECKING"
        for inner in test.body
    ]


@pytest.mark.parametrize("package", ["", "estimators"])
def test_lazy_names_are_those_that_type_checkers_see(package):
    module = importlib.import_module(f"confide.{package}".rstrip("."))
    tree = ast.parse((SOURCE / package / "__init__.py").read_text("utf-8"))
    seen = set()
    for node in for_types(tree):
        home = importlib.import_module(node.module)
        for name in (alias.name for alias in node.names):
            seen.add(name)
            assert getattr(module, name) is getattr(home, name)
    assert set(module.__all__) <= seen <= set(dir(module))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = module.nothing


@pytest.mark.parametrize(
    "room", sorted(r for r in MAY_IMPORT if (SOURCE / r / "__init__.py").exists())
)
def test_all_lists_what_a_room_exports(room):
    """What an ``__init__`` imports or defines is listed, and what it lists is there."""
    tree = ast.parse((SOURCE / room / "__init__.py").read_text("utf-8"))
    bound = set()
    for node in (*tree.body, *for_types(tree)):
        if isinstance(node, ast.ImportFrom):
            bound |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            bound.add(node.name)
    module = importlib.import_module(f"confide.{room}")
    listed = set(getattr(module, "__all__", ()))
    helpers = {"moved", "lazy", "TYPE_CHECKING"}
    assert {name for name in bound if not name.startswith("_")} - helpers == listed
    assert all(hasattr(module, name) for name in listed)


def test_no_first_party_import_hides_inside_a_function():
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.FunctionDef):
                continue
            for inner in ast.walk(node):
                module = getattr(inner, "module", None) or ""
                assert not (
                    isinstance(inner, ast.ImportFrom) and module.startswith("confide")
                )


@pytest.mark.parametrize(
    "path",
    [path for path in FILES if "data/schema/columns" not in path.as_posix()],
    ids=lambda p: str(p.relative_to(SOURCE)),
)
def test_no_file_asks_which_kind_a_column_is(path):
    """Columns answer for themselves: a new kind is one class, in one file."""
    classes = {kind.__name__ for kind in COLUMNS.values()}
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.MatchClass):
            assert not names_in(node.cls) & classes, f"line {node.lineno}"
        elif isinstance(node, ast.Call) and names_in(node.func) == {"isinstance"}:
            assert not names_in(node.args[1]) & classes, f"line {node.lineno}"
        elif isinstance(node, ast.Compare) and getattr(node.left, "attr", "") == "kind":
            texts = {
                part.value for part in ast.walk(node) if isinstance(part, ast.Constant)
            }
            assert not texts & {*COLUMNS}, f"line {node.lineno}"


def names_in(node):
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


KINDS = {
    "objectives": LOSSES,
    "noise": NOISES,
    "accounting": EVENTS,
}
"""Rooms whose kinds answer for themselves, with the registry of each."""


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_no_other_room_asks_which_loss_noise_or_event_it_has(path):
    """A new kind is one class: nothing else has a ladder over kinds to be lengthened."""
    room = path.relative_to(SOURCE).parts[0]
    if "published" in path.parts:
        pytest.skip("papers list the losses that they are about")
    kinds = {
        kind.__name__
        for own, registry in KINDS.items()
        for kind in registry.values()
        if own != room
    } | ({"Clipped"} if room != "objectives" else set())
    texts = {*NOISES, *LOSSES}
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.MatchClass):
            assert not names_in(node.cls) & kinds, f"line {node.lineno}"
        elif isinstance(node, ast.Call) and names_in(node.func) == {"isinstance"}:
            assert not names_in(node.args[1]) & kinds, f"line {node.lineno}"
        elif isinstance(node, ast.Compare) and getattr(node.left, "attr", "") == "kind":
            compared = {
                part.value for part in ast.walk(node) if isinstance(part, ast.Constant)
            }
            assert room in KINDS or not compared & texts, f"line {node.lineno}"


MATRIX_KINDS = {"Dense", "Csr", "CodedDesign"}
RAW_INPUT = {"estimators/_validate.py", "tuning/scores.py"}
"""What users pass is looked at here, before it is wrapped."""


def asked_kinds(tree):
    """Yield what is asked about the kind of a matrix: a name, or an attribute."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if called in {"issparse", "isspmatrix"}:
            yield called
        elif called == "isinstance":
            names = {getattr(n, "id", getattr(n, "attr", "")) for n in ast.walk(node)}
            yield from names & MATRIX_KINDS
        elif called in {"hasattr", "getattr"}:
            texts = {getattr(n, "value", None) for n in node.args}
            yield from texts & {"toarray", "todense", "tocsr"}


def test_the_kind_of_a_matrix_is_asked_for_only_where_kinds_are_defined():
    found = {
        str(path.relative_to(SOURCE))
        for path in FILES
        if path.parent != SOURCE / "data" / "matrix"
        and [*asked_kinds(ast.parse(path.read_text("utf-8")))]
    }
    assert found == RAW_INPUT


def test_dask_is_imported_only_where_it_is_asked_for():
    for path in FILES:
        for node in ast.parse(path.read_text("utf-8")).body:
            names = [alias.name for alias in getattr(node, "names", ())]
            modules = [getattr(node, "module", None) or "", *names]
            assert not {"dask", "distributed"} & {m.split(".")[0] for m in modules}, path


def test_no_class_name_is_used_twice():
    names = [
        node.name
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]
    assert sorted(names) == sorted(set(names))
