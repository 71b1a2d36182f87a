"""Print the oldest release of every dependency that pyproject.toml admits, as requirements for pip."""

import re
import tomllib
from pathlib import Path

#: Extras that users install; what tests and developers need beside them may be as new as it likes.
EXTRAS = ("cuda", "observe", "report", "zstd")

project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
extras = project["optional-dependencies"]
for requirement in [*project["dependencies"], *(line for extra in EXTRAS for line in extras.get(extra, []))]:
    print(re.sub(r"^([\w-]+)>=([\w.]+)", r"\1==\2", requirement))
