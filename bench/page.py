"""The results on disk, and the page that is written from them."""

import json

from bench.child import ROOT

RESULTS = ROOT / "docs" / "benchmarks.json"
PAGE = ROOT / "docs" / "benchmarks.md"

INTRO = """\
# Benchmarks

Written by `make bench`; do not edit. Each figure is a ratio of two things measured in one
run, side by side, or an error on real data. Measurements run in fresh processes. Speed is
processor time, measured in alternation with the pass by which it is divided, and medians
are reported. Some figures move by several percent between runs on a busy machine.
`python -m bench --only speed,import` repeats some sections and keeps the others
(`docs/benchmarks.json`).
"""


def load():
    """Return what earlier runs found, by section."""
    if not RESULTS.exists():
        return {}
    return json.loads(RESULTS.read_text("utf-8"))


def save(found, sections):
    """Keep the results and write the page from them."""
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    PAGE.write_text(render(found, sections), "utf-8")


def render(found, sections):
    """Return the page; a section that was never measured is left out."""
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
            parts.append("*Measured with `--quick`: few repeats.*\n")
        parts.append(section.page(result["jobs"]) + "\n")
    return "\n".join(parts)
