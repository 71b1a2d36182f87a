# `make demo` and `make test` need Python 3.11 or later, its venv module, and a package index that pip can reach.
# Each makes its own environment beside this file (.venv-demo, .venv-test) and makes it anew when pyproject.toml changes.
# `make generated` writes the files that are generated (TypeScript types by node and npm), `make generated CHECK=1`
# compares them; `make docs` builds the pages and the API reference into build/docs.

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
PYTEST_ARGS ?=

.PHONY: demo test generated docs clean python

demo: .venv-demo/ready
	.venv-demo/bin/sigcontract show examples/torch-block.dump.json --graph decode/bs=1
	.venv-demo/bin/sigcontract diff examples/triton-scale-2.dump.json examples/triton-scale-3.dump.json || test $$? -eq 1

test: .venv-test/ready
	.venv-test/bin/python -m pytest -n auto --maxprocesses 8 --dist worksteal $(PYTEST_ARGS)

generated: .venv-test/ready
	.venv-test/bin/python -m tools.generate $(if $(CHECK),--check)

docs: .venv-docs/ready
	.venv-docs/bin/python -m sphinx --builder dirhtml --fail-on-warning --keep-going --quiet docs build/docs
	.venv-docs/bin/python -m tools.links build/docs

clean:
	rm -rf .venv-demo .venv-test .venv-docs build

.venv-demo/ready: EXTRAS = report,zstd
.venv-test/ready: EXTRAS = test
.venv-docs/ready: EXTRAS = docs
.venv-%/ready: pyproject.toml | python
	$(PYTHON) -m venv --clear $(@D)
	$(@D)/bin/python -m pip install --quiet --upgrade pip
	$(@D)/bin/python -m pip install --quiet --editable '.[$(EXTRAS)]'
	@touch $@

python:
	@test -n "$(PYTHON)" || { echo "sigcontract needs Python 3.11 or later on PATH; install it, or say where it is: make PYTHON=/path/to/python3 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "$(PYTHON) is too old: sigcontract needs Python 3.11 or later" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' || { echo "$(PYTHON) lacks the venv module; install it (Debian, Ubuntu: apt install python3-venv)" >&2; exit 1; }
