"""The house is as docs/architecture.md draws it."""

import ast
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "confide"
BASE = {"errors", "_types"}
CORE = {"privacy", "data", "objectives", "solvers", "noise", "accounting"}
MAY_IMPORT = {
    "errors": set(),
    "_types": set(),
    "privacy": BASE,
    "data": BASE,
    "objectives": {"data", *BASE},
    "solvers": {"objectives", "data", *BASE},
    "noise": BASE,
    "accounting": {"privacy", *BASE},
    "bounds": {"privacy", "objectives", *BASE},
    "mechanisms": CORE | BASE,
    "selection": {"mechanisms", *CORE, *BASE},
    "inference": {"mechanisms", "objectives", "noise", "privacy", "data", *BASE},
    "reporting": {"inference", "mechanisms", "privacy", *BASE},
    "attacks": {"mechanisms", "inference", *CORE, *BASE},
    "estimators": {"attacks", "selection", "mechanisms", "inference", *CORE, *BASE},
    "demo": {"estimators", "mechanisms", "inference", *CORE, *BASE},
    "studies": {
        *("estimators", "selection", "attacks", "mechanisms", "inference", "bounds"),
        *("confide", *CORE, *BASE),
    },
    "cli": {
        *("demo", "estimators", "reporting", "attacks", "mechanisms", "inference"),
        *("studies", "selection", "confide", *CORE, *BASE),
    },
    "testing": {
        *("estimators", "selection", "attacks", "mechanisms", "inference"),
        *(*CORE, *BASE),
    },
    "__init__": {"estimators", "inference", "mechanisms", *CORE, *BASE},
    "__main__": {"cli"},
}
FILES = sorted(SOURCE.rglob("*.py"))


def room_of(path):
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_rooms(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        modules = []
        if isinstance(node, ast.ImportFrom) and node.module:
            modules = [node.module]
        elif isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        for module in modules:
            if module == "confide":
                yield "confide"
            elif module.startswith("confide."):
                yield module.split(".")[1]


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_rooms_import_only_what_the_table_allows(path):
    room = room_of(path)
    for other in imported_rooms(path):
        assert other == room or other in MAY_IMPORT[room], f"{room} must not import {other}"


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
    assert lines <= 420, f"{lines} lines: does this file still hold one idea?"


@pytest.mark.parametrize(
    "room", sorted(r for r in MAY_IMPORT if (SOURCE / r / "__init__.py").exists())
)
def test_all_lists_what_a_room_exports(room):
    module = importlib.import_module(f"confide.{room}")
    public = {
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and getattr(value, "__module__", "").startswith("confide")
    }
    listed = set(getattr(module, "__all__", ()))
    assert listed <= set(dir(module))
    undeclared = {
        n
        for n in public - listed
        if getattr(vars(module)[n], "__module__", "") == module.__name__
    }
    assert not undeclared


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


def test_dask_is_imported_only_where_it_is_asked_for():
    for path in FILES:
        for node in ast.parse(path.read_text("utf-8")).body:
            names = [alias.name for alias in getattr(node, "names", ())]
            modules = [getattr(node, "module", None) or "", *names]
            assert not {"dask", "distributed"} & {m.split(".")[0] for m in modules}, path
