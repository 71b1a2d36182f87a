"""How the pages and the API reference are built: ``make docs``. Nothing is fetched, neither here nor by a reader."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

project = "sigcontract"
root_doc = "index"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "tools.fields", "tools.reference"]

html_theme = "furo"
html_title = "sigcontract"
html_show_copyright = False

default_role = "py:obj"  # a name in a docstring is a link where the reference has it
add_module_names = False
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True

napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False

myst_heading_anchors = 3
