"""The website: `make site` makes it of these pages, the docstrings and the examples."""

import os
import sys
from importlib.metadata import version as version_of
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS))  # for the folder site_parts

project = "committee"
author = "The committee developers"
project_copyright = author
version = release = version_of("committee")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "sphinx_llms_txt",
    "sphinx_sitemap",
    "site_parts.links_outside",
    "site_parts.listed_references",
    "site_parts.mathml",
    "site_parts.plain_docstrings",
    "site_parts.public_members",
]
templates_path = ["_templates"]
exclude_patterns = ["site_parts", "gallery/*.ipynb", "gallery/*.py", "sg_execution_times.rst"]
nitpicky = False
suppress_warnings = ["config.cache"]  # the scraper of the gallery is a function

# Pages ------------------------------------------------------------------------------------------------------------

myst_enable_extensions = ["colon_fence", "dollarmath", "amsmath"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

# Reference --------------------------------------------------------------------------------------------------------

autosummary_generate = True
add_module_names = False
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"  # the docstrings have them, in words
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# Gallery ----------------------------------------------------------------------------------------------------------

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "image_scrapers": ("site_parts.display_pictures.display_scraper",),
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "remove_config_comments": True,
    "abort_on_example_error": True,
}

# Appearance -------------------------------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = "committee"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/committee.svg"
html_search_scorer = str(DOCS / "_static" / "scorer.js")
html_show_sourcelink = False
html_copy_source = True
html_baseurl = os.environ.get("SITE_URL", "http://localhost/")
"""Where the site stands; `.github/workflows/site.yml` knows it."""
html_theme_options = {
    "logo": {"text": "committee", "image_light": "_static/committee.svg", "image_dark": "_static/committee.svg"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "navbar_persistent": ["search-button"],
    "show_toc_level": 2,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "footer_start": ["copyright"],
    "footer_end": [],
    "back_to_top_button": False,
}
html_sidebars = {"index": []}
html_context = {"default_mode": "auto"}

sitemap_url_scheme = "{link}"
sitemap_show_lastmod = False

llms_txt_summary = (
    "committee makes models that vote, for small and medium tables: boosting, forests, subagging and whole ensembles"
    " weighed by rows they have not seen, with scikit-learn's conventions. Any ensemble, scikit-learn's forests and"
    " XGBoost's and LightGBM's boosters included, can be pruned, re-weighted, certified, explained and saved."
)
llms_txt_full_file = False
llms_txt_uri_template = "{base_url}{docname}.html"
