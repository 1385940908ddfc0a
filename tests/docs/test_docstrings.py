"""Docstrings are complete, and their examples show what they say."""

import ast
import doctest
import importlib
import inspect
import sys
import textwrap
from enum import Enum
from functools import cache
from pathlib import Path

import numpydoc.validate
import pytest
from docutils.frontend import get_default_settings
from docutils.parsers.rst import Parser
from docutils.utils import new_document
from numpydoc.docscrape_sphinx import SphinxDocString

from confide import errors

WHOLE_ROOMS = (
    *(
        "privacy",
        "accounting",
        "ledger",
        "noise",
        "errors",
        "estimators",
        "solvers",
        "parallel.dask_cluster",
    ),
    *("testing", "objectives", "planning", "inference", "evaluation", "description"),
    *("tuning", "selection", "reporting", "mechanisms", "mechanisms.published"),
    *("attacks", "studies", "web"),
)
"""Rooms in which methods and properties of exported names have every section as well."""
ROOMS = (*WHOLE_ROOMS, "data")
"""Every room that exports names; all of these are documented."""
SUMMARY = ("GL08", "SS01", "SS02", "SS03")
EVERYWHERE = (
    *SUMMARY,
    *("PR01", "PR02", "PR03", "PR04", "PR07", "PR10"),
    *("RT01", "RT03", "YD01"),
)
"""What numpydoc wants of every public name: a summary, parameters, and what comes back."""
OF_EXPORTED_NAMES = (*EVERYWHERE, "EX01", "GL06", "GL07")
"""What it wants of what a room exports: an example as well, and sections in order."""
MADE = ("PR01", "PR02", "RT01")
"""Not asked of enumerations, protocols, and exceptions that Python makes."""
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def is_documented(thing):
    """Classes and functions have docstrings, constants and types' other names have none."""
    ours = getattr(thing, "__module__", "").startswith("confide.")
    return ours and (inspect.isclass(thing) or inspect.isroutine(inspect.unwrap(thing)))


def exported(room):
    """Return the classes and functions of a room, by name."""
    module = importlib.import_module(f"confide.{room}")
    own = [n for n, v in vars(module).items() if is_own(n, v, module.__name__)]
    names = getattr(module, "__all__", own)
    found = {name: getattr(module, name) for name in names}
    return {name: thing for name, thing in found.items() if is_documented(thing)}


def is_own(name, thing, module):
    return not name.startswith("_") and getattr(thing, "__module__", "") == module


def members(owner):
    """Return the public methods and properties of a class that it or ours defined."""
    return {
        name
        for kind in owner.__mro__
        if is_ours(kind)
        for name, value in vars(kind).items()
        if not name.startswith("_") and is_member(value)
    }


def is_member(value):
    kinds = (property, classmethod, staticmethod)
    return isinstance(value, kinds) or inspect.isroutine(value) or hasattr(value, "func")


def is_made(thing):
    """Say whether Python, not we, wrote what makes an object of a class."""
    if not inspect.isclass(thing):
        return False
    if not issubclass(thing, Enum | Exception) and not getattr(
        thing, "_is_protocol", False
    ):
        return False
    makers = (vars(k).get("__init__") for k in thing.__mro__ if is_ours(k))
    return not any(is_ours(maker) for maker in makers if maker is not None)


def is_described_by_a_protocol(room, name, member):
    """Say whether parameters of a method are described once, for all that implement it."""
    return any(
        member in vars(kind)
        for other, kind in exported(room).items()
        if other != name and getattr(kind, "_is_protocol", False)
    )


def is_ours(kind):
    return kind.__module__.startswith("confide.")


NAMES = [(room, name) for room in ROOMS for name in exported(room)]
MEMBERS = [
    (room, name, member)
    for room, name in NAMES
    if room in WHOLE_ROOMS and inspect.isclass(exported(room)[name])
    for member in sorted(members(exported(room)[name]))
]


@cache
def problems(path):
    return [tuple(found) for found in numpydoc.validate.validate(path)["errors"]]


def docstring(thing):
    return inspect.getdoc(inspect.unwrap(thing)) or ""


@pytest.mark.parametrize(("room", "name"), NAMES)
def test_exported_names_have_every_section(room, name):
    found = problems(f"confide.{room}.{name}")
    wanted = {*OF_EXPORTED_NAMES} - ({*MADE} if is_made(exported(room)[name]) else set())
    assert [text for code, text in found if code in wanted] == []
    assert ">>>" in docstring(exported(room)[name])


@pytest.mark.parametrize(("room", "name", "member"), MEMBERS)
def test_methods_and_properties_have_every_section(room, name, member):
    found = problems(f"confide.{room}.{name}.{member}")
    short = is_described_by_a_protocol(room, name, member)
    assert [
        text for code, text in found if code in (SUMMARY if short else EVERYWHERE)
    ] == []


ERRORS = {
    name
    for name, kind in vars(errors).items()
    if inspect.isclass(kind) and issubclass(kind, errors.ConfideError)
}


def raised(thing):
    """Return the errors of confide that a function, or a class when it is made, raises."""
    makers = ("__init__", "__post_init__")
    sources = [vars(thing).get(m) for m in makers] if inspect.isclass(thing) else [thing]
    functions = filter(inspect.isfunction, map(inspect.unwrap, sources))
    trees = (
        ast.parse(textwrap.dedent(inspect.getsource(function)))
        for function in functions
        if function.__code__.co_filename != "<string>"
    )
    return {
        called.id
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Raise)
        for called in [getattr(node.exc, "func", node.exc)]
        if isinstance(called, ast.Name) and called.id in ERRORS
    }


@pytest.mark.parametrize(("room", "name"), NAMES)
def test_errors_that_the_source_raises_are_listed(room, name):
    thing = exported(room)[name]
    listed = docstring(thing).partition("Raises\n------\n")[2].splitlines()
    assert raised(thing) <= set(listed)


@pytest.fixture(scope="module")
def adapt():
    """Return what the site does to the lines of a docstring before it is read."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(Path(__file__).parents[2] / "docs" / "site")
        import docstrings

        yield docstrings.adapt
    sys.modules.pop("docstrings", None)


@cache
def complaints(text, adapt):
    """Return the warnings of docutils; roles and directives of Sphinx it does not know."""
    settings = get_default_settings(Parser)
    settings.report_level, settings.halt_level = 5, 5
    document, found = new_document("docstring", settings), []
    document.reporter.attach_observer(found.append)
    Parser().parse(str(SphinxDocString("\n".join(adapt(text.splitlines())))), document)
    texts = [message.astext() for message in found if message["level"] >= 2]
    return [text for text in texts if "nknown" not in text]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("A list:\n\n- one item\n- and another\n", 0),
        ("A list:\n\n- an item that goes\non without an indent\n", 1),
        ("A list:\n\n- an item\n    with a quotation\n  that ends\n", 1),
    ],
)
def test_wrong_markup_is_found(adapt, text, wanted):
    assert len(complaints(text, adapt)) == wanted


@pytest.mark.slow
@pytest.mark.parametrize(("room", "name"), NAMES)
def test_docstrings_are_valid_markup(adapt, room, name):
    thing = exported(room)[name]
    assert complaints(docstring(thing), adapt) == []
    if inspect.isclass(thing):
        for member in members(thing):
            text = docstring(getattr(thing, member))
            assert complaints(text, adapt) == [], member


@pytest.mark.parametrize(("room", "name"), NAMES)
def test_examples_show_what_they_say(room, name):
    thing = inspect.unwrap(exported(room)[name])
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner(optionflags=FLAGS)
    said = []
    for examples in finder.find(thing, name, globs={}):
        runner.run(examples, out=said.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(said)
