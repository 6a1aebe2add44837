# `make demo` and `make test` set up everything they need in .venv, from nothing but Python 3.11+ and make.

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
OLDEST := .venv-oldest
OLD_PYTHON ?= $(shell for p in python3.11 python3.12; do command -v $$p && break; done)
PIP := $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
# uv does in seconds what pip does in minutes; where it cannot be had, or finds less than pip does, pip goes on
UV := $(VENV)/bin/uv pip install --quiet --python $(VENV)/bin/python --constraint constraints.txt
install = { $(PIP) uv==0.13.9 && $(UV) --editable '$(1)'; } || $(PIP) --editable '$(1)'
comma := ,
JOBS ?= auto
KILLS ?= 50
# what stands on each dependency of the core: models, solvers, masters, the loop, estimators
CORE := tests/certificates tests/problems tests/solvers/test_solver_svm.py tests/estimators/test_certificates_of_all.py \
	tests/estimators/test_deadlines.py \
	$(patsubst %,tests/colgen/test_%.py,driver masters formulation formulation_constraints stumps highs_live run)
PROBLEMS ?= 20000
MUTATIONS ?= 10000
CERTIFIED ?= 2000
FIRST ?= 0
PAPER ?= all
MINUTES ?= 50
CORES ?= 2
INPUTS := pyproject.toml constraints.txt Makefile

INPUTS_OF_OLDEST := pyproject.toml constraints-oldest.txt Makefile

.PHONY: demo test test-oldest sweep mutants notebooks fuzz reproduce pages docs paper lint dist clean

demo: $(VENV)/.base
	$(VENV)/bin/cvxens crosscheck

test: $(VENV)/.test
	$(VENV)/bin/python -m pytest -n $(JOBS) --dist worksteal

# the core with the least version of everything that it depends on
test-oldest: $(OLDEST)/.core
	$(OLDEST)/bin/python -m pytest -n $(JOBS) --dist worksteal $(CORE)

# deeper versions of tests, which `make test` leaves out
sweep: $(VENV)/.test
	$(VENV)/bin/python -m pytest -n $(JOBS) --dist worksteal -m sweep

# faults in copies of the package, each of which its tests have to find; NAMES="checker bands" for some
mutants: $(VENV)/.test
	$(VENV)/bin/python tests/mutants.py $(NAMES)

notebooks: $(VENV)/.test
	$(VENV)/bin/python -m notebooks

fuzz: $(VENV)/.test
	$(VENV)/bin/python tests/colgen/killed_run.py $(KILLS)
	$(VENV)/bin/python tests/dask/killed_workers.py 20
	for what in solvers attacks formulations interactions; do \
		$(VENV)/bin/python tests/fuzz/fuzz.py $$what $(PROBLEMS) $(FIRST) || exit 1; done
	$(VENV)/bin/python tests/fuzz/fuzz.py problems $(CERTIFIED) $(FIRST)
	$(VENV)/bin/python tests/proofs/proof_mutations.py $(MUTATIONS)
	$(VENV)/bin/python tests/colgen/gaps_and_levels.py $(PROBLEMS) $(FIRST)
	$(VENV)/bin/python -m pytest -n $(JOBS) --dist worksteal --hypothesis-profile fuzz -m hypothesis tests

# what fits into an hour on two cores, the pages included, or with MINUTES=inf all of it, from where it was left
reproduce: $(VENV)/.plot
	$(VENV)/bin/python -m reproduction $(PAPER) all --minutes $(MINUTES) --jobs $(CORES) --page docs/reproduction

# the pages on the papers, from the trials in the repository; with nothing measured since they are as they were, byte for byte
pages: $(VENV)/.plot
	rm -f docs/reproduction/*.png
	$(VENV)/bin/python -m reproduction all all --only-pages

# the site, and what a browser finds there; with QUICK=1 the notebooks have the outputs that they were committed with
docs: $(VENV)/.docs
	$(VENV)/bin/python -m sphinx -W --keep-going -q -d build/doctrees $(if $(QUICK),-t quick) -b html docs docs/_build/html
	$(VENV)/bin/python -m pytest -n 0 docs/test_site.py

# the paper's figure and numbers, and build/paper/paper.pdf where there is a pdflatex
paper: $(VENV)/.plot
	$(VENV)/bin/python paper/figures.py
	$(VENV)/bin/python paper/measured.py
	rm -rf build/paper && mkdir -p build/paper && cp paper/*.tex paper/*.bib paper/*.txt paper/*.pdf build/paper
	@command -v pdflatex > /dev/null || { echo "found no pdflatex: build/paper has the source, which compiles anywhere"; exit 0; }; \
	cd build/paper && for run in 1 2 3; do pdflatex -interaction=batchmode -halt-on-error paper > /dev/null || exit 1; \
		test $$run != 1 || bibtex -terse paper || exit 1; done

lint: $(VENV)/.lint
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/mypy

dist: $(VENV)/.test
	rm -rf dist build
	$(VENV)/bin/python -c "from setuptools.build_meta import build_sdist, build_wheel; build_wheel('dist'), build_sdist('dist')"
	cd dist && tar -xzf *.tar.gz && cd cvxens-*/ && $(CURDIR)/$(VENV)/bin/python -m pytest tests/tables tests/cli

clean:
	rm -rf dist docs/_build $(VENV) $(OLDEST) .pytest_cache .mypy_cache .ruff_cache .hypothesis build *.egg-info

$(VENV)/.python:
	@test -n "$(PYTHON)" || { echo "error: no Python 3.11 or later found; install one, or name it: make PYTHON=/path/to/python"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.base: $(VENV)/.python $(INPUTS)
	$(call install,.)
	@touch $@

$(OLDEST)/.core: $(INPUTS_OF_OLDEST)
	@test -n "$(OLD_PYTHON)" || { echo "error: the oldest versions are for Python 3.11 and 3.12; name one: make test-oldest OLD_PYTHON=/path/to/python"; exit 2; }
	$(OLD_PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints-oldest.txt --editable '.[core-test]'
	@touch $@

$(VENV)/.test: $(VENV)/.base
	$(call install,.[test])
	@touch $@

$(VENV)/.plot: $(VENV)/.base
	$(call install,.[plot])
	@touch $@

# all of them at once
$(VENV)/.all: $(VENV)/.python $(INPUTS)
	$(call install,.[test$(comma)plot$(comma)docs$(comma)lint])
	@touch $(addprefix $(VENV)/.,base test plot docs lint) $@

$(VENV)/.docs: $(VENV)/.test
	$(call install,.[docs])
	@touch $@

$(VENV)/.lint: $(VENV)/.test
	$(call install,.[lint])
	@touch $@
