"""How the site is built: `make docs`."""

import sys
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS / "site"))

from confide import __version__  # noqa: E402

project = "confide"
author = "The confide developers"
project_copyright = "The confide developers, MIT licence"
version = release = __version__
language = "en"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "maths",
    "links",
    "docstrings",
    "reference",
    "theorems",
]
exclude_patterns = ["_build", "site", "examples", "**/GALLERY_HEADER.md"]
nitpicky = True
nitpick_ignore_regex = [("py:class", ".*")]  # types as annotations write them
default_role = "literal"
suppress_warnings = ["config.cache"]

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]

autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

EXAMPLES = DOCS / "examples"
sphinx_gallery_conf = {
    "examples_dirs": [str(EXAMPLES)],
    "gallery_dirs": ["gallery"],
    "ignore_pattern": r"(^|/)(?!plot_)[^/]*\.py$",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "write_computation_times": False,
    "show_signature": False,
    "matplotlib_animations": False,
    "min_reported_time": 5,
    "within_subsection_order": "gallery_order.GalleryOrder",
}

html_theme = "pydata_sphinx_theme"
html_title = "confide"
html_static_path = ["_static", "explorer"]
html_css_files = ["site.css"]
html_js_files = [("site.js", {"defer": "defer"})]
templates_path = ["site/templates"]
ALONE = ("attacks", "benchmarks", "changelog", "cite", "comparison", "explorer")
html_sidebars = {page: [] for page in ALONE}  # no section, no list of its pages
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "confide"},
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
