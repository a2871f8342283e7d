# Two commands set everything up on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
CORE := $(wildcard core/*.hpp core/*.cpp core/bindings/*.hpp core/bindings/*.cpp)
JOBS ?= 2

.PHONY: demo test anywhere browser site wheel lint format sanitize same_bits fuzz coverage mutants bench clean
.DEFAULT_GOAL := test

.venv/built: pyproject.toml CMakeLists.txt $(CORE)
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --editable '.[dev]'
	touch $@

demo: .venv/built
	$(BIN)/committee compare --example breast_cancer --folds 5 --jobs $(JOBS) --progress --report report.html \
	  --models committee,gradient_boosting,adaboost,random_forest,sbpmt,scikit-learn:random_forest,scikit-learn:hist_gradient_boosting

test: .venv/built
	$(BIN)/pytest -n $(JOBS) -m 'not slow and not browser'

# Tests of processes, signals, files, terminals, dates and caches in unusual surroundings: signals ignored, no home, the C locale and others.
anywhere: .venv/built
	JOBS=$(JOBS) $(BIN)/python tests/anywhere.py

# The pages of reports and the website in a real browser: Playwright drives the system's Chromium, axe-core checks that all can use them.
# What the extra asks for is installed without the package, which pip would build once more.
.venv/browser: .venv/built
	$(BIN)/pip install --quiet $$($(BIN)/python -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['project']['optional-dependencies']['browser'])")
	touch $@

browser: .venv/browser site
	$(BIN)/pytest -n $(JOBS) -m browser tests/browser

# The website, in build/site/html; warnings are errors, links that lead nowhere among them. What has not changed since the
# last time is not made again.
.venv/site: .venv/built
	$(BIN)/pip install --quiet $$($(BIN)/python -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['project']['optional-dependencies']['docs'])")
	touch $@

site: .venv/site
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going --jobs $(JOBS) docs build/site/html --doctree-dir build/site/doctrees
	$(BIN)/python -m tests.site_links build/site/html

lint: .venv/built
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror $(CORE) tests/core/same_bits.cpp benchmarks/kernels/floor.cpp
	$(BIN)/mypy

format: .venv/built
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CORE) tests/core/same_bits.cpp benchmarks/kernels/floor.cpp

# The kernels once more under AddressSanitizer and UBSan: a second build, put before the first on the path.
sanitize: .venv/built
	$(BIN)/python tests/sanitize.py

# The source distribution and this machine's wheel, in build/dist: built, looked at, installed elsewhere and tried.
.venv/wheel: .venv/built
	$(BIN)/pip install --quiet $$($(BIN)/python -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['project']['optional-dependencies']['wheel'])")
	touch $@

wheel: .venv/wheel
	$(BIN)/python tests/wheel.py

# The kernels for this processor's oldest instructions, and for ARM, which qemu runs: the same bits as here?
same_bits: .venv/built
	$(BIN)/python tests/same_bits.py

# Every fuzzer for its part of an hour, or for ROUNDS of a fixed number of cases, with a new seed that is printed, or SEED; found cases are left in build/fuzz.
MINUTES ?= 60
fuzz: .venv/built
	$(BIN)/python -m tests.fuzz $(if $(ROUNDS),--rounds $(ROUNDS),--minutes $(MINUTES)) $(if $(SEED),--seed $(SEED))

# Lines and branches that the tests run: of src, then of core by gcov. Counts of a part of the tests are added up by
# `coverage run -m pytest PART` for each, and one `coverage combine`.
coverage: .venv/built
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -q -n $(JOBS) -m 'not slow and not browser'
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report
	$(BIN)/python tests/gcov.py

# Faults put into the ten modules where a silent error costs most: do the tests notice?
mutants: .venv/built
	$(BIN)/python tests/mutants.py --jobs $(JOBS)

bench: .venv/built
	$(BIN)/python -m benchmarks

clean:
	rm -rf build .venv dist report.html .mypy_cache .ruff_cache .pytest_cache .hypothesis
