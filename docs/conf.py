"""Settings of Sphinx. `scripts/make_site.py` assembles the pages and builds them."""

project = "slackwater"
author = "The slackwater developers"
project_copyright = "2026 The slackwater developers"
html_title = "slackwater"

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "myst_nb",
    "sphinx_copybutton",
    "site_extension",
]
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb"}
autodoc_mock_imports = ["gymnasium", "ray"]
default_role = "code"
# Options have two hyphens, which are no dash.
smartquotes_action = "qe"

# The outputs in notebooks are those that the tests compare: nothing is run here.
nb_execution_mode = "off"
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4

# What is copied runs: without the prompts of sessions and shells.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
# Types by their last name: a signature with `datetime.datetime` four times is not read.
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 80
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
add_module_names = False

# References to our own names must exist. Those to other packages would need their
# inventories from the network, and are shown without a link.
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(?!slackwater\.).*|slackwater\.(\w+\.)*_.*")]

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
templates_path = []
pygments_style = "friendly"
pygments_dark_style = "github-dark"
html_math_renderer = "mathml"
