"""Summaries and guarantees that reports are made of."""

import dataclasses
import math
from html.parser import HTMLParser

from hypothesis import strategies as st

from confide.privacy import (
    Approx,
    Guarantee,
    Neighbours,
    Pure,
    Status,
    Zcdp,
)
from confide.reporting import (
    Coefficient,
    Summary,
)

THEOREM = "objective-perturbation.md#objective-pure"
PURE = Guarantee(Pure(1), Neighbours.ADD_REMOVE, Status.PROVED, THEOREM)
APPROX = Guarantee(Approx(2, "1e-6"), Neighbours.REPLACE_ONE, Status.PROVED, THEOREM)
ZCDP = Guarantee(Zcdp("0.05"), Neighbours.REPLACE_ONE, Status.CLAIMED, "Somebody 2020")
REFUTED = Guarantee(None, Neighbours.ADD_REMOVE, Status.REFUTED, "Somebody 2013")
FACTS = (("Noise", "spherical Laplace 1.02"), ("Ridge", "l2 = 12.5"))
ATTACK = '<script>alert("x")</script>&\'"><img src=x onerror=y>'
BUDGETS = st.one_of(
    st.builds(Pure, st.floats(1e-12, 1e12)),
    st.builds(Approx, st.floats(1e-12, 1e12), st.floats(1e-300, 0.999)),
    st.builds(Zcdp, st.floats(1e-24, 1e12)),
)


def a_summary(guarantee=PURE, rows=None, title="LogisticRegression"):
    given_rows = (Coefficient("age", 0.25), Coefficient("(intercept)", -1.5))
    return Summary(title, guarantee, given_rows if rows is None else tuple(rows), FACTS)


class Reader(HTMLParser):
    """Keeps every tag, attribute and piece of text; notices tags left open."""

    VOID = frozenset({"meta", "line", "circle", "path"})

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.open, self.said = [], [], [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.said.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.said).split())


WITH_PARTS = (
    Coefficient("age", 0.5, 0.2, 0.8, 0.1),
    Coefficient("income", -0.1, -0.6, 0.4, 0.49),
    Coefficient("region", 0.2, -math.inf, math.inf, 1.0),
)


def bounded(level=0.9, caution=""):
    return dataclasses.replace(a_summary(rows=WITH_PARTS), level=level, caution=caution)
