"""Print the oldest release of every dependency that pyproject.toml admits, as requirements for pip."""

import re
import tomllib
from pathlib import Path

#: Extras that users install; what tests and developers need beside them may be as new as it likes. Of the extras for
#: one CUDA each, only the oldest: the others cannot be in the same environment.
EXTRAS = ("cuda12", "fleet", "observe", "pytest", "report", "zstd")

project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
extras = project["optional-dependencies"]
for requirement in [*project["dependencies"], *(line for extra in EXTRAS for line in extras[extra])]:
    print(re.sub(r"^([\w-]+)>=([\w.]+)(,<[\w.]+)?", r"\1==\2", requirement))
