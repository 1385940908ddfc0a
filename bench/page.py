"""Stored results of the benchmarks, and the page written from them."""

import json

from bench.child import ROOT

RESULTS = ROOT / "docs" / "benchmarks.json"
PAGE = ROOT / "docs" / "benchmarks.md"

INTRO = """\
# Benchmarks

This page is written by `make bench`; do not edit it. Most figures are ratios of two
quantities measured in the same run, or errors on real data. Every measurement runs in a new
process. Speed is the processor time of a fit, divided by that of a pass over the data; fits
and passes alternate, and medians are reported. Some figures vary by several percent between
runs on a busy machine. `python -m bench --only speed,import` repeats the sections on speed
and import, and keeps the results of the other sections (`docs/benchmarks.json`).
"""


def load():
    """Return the stored results, by section."""
    if not RESULTS.exists():
        return {}
    return json.loads(RESULTS.read_text("utf-8"))


def save(found, sections):
    """Store the results, and write the page from them."""
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    PAGE.write_text(render(found, sections), "utf-8")


def render(found, sections):
    """Return the page, without sections that were never measured."""
    known = [section for section in sections if section.name in found]
    machines = {found[section.name]["machine"] for section in known}
    parts = [INTRO]
    if len(machines) == 1:
        parts.append(f"Machine: {machines.pop()}.\n")
    for section in known:
        result = found[section.name]
        parts.append(f"## {section.title}\n")
        if machines:
            parts.append(f"Machine: {result['machine']}.\n")
        if result["quick"]:
            parts.append("*Measured with `--quick`: few repetitions.*\n")
        parts.append(section.page(result["jobs"]) + "\n")
    return "\n".join(parts)
