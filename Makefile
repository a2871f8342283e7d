# Two commands set everything up on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
CORE := $(shell find core -name '*.[ch]pp')
JOBS ?= 2
# Compiled modules are kept, whatever the shell says: hundreds of processes of the tests load the same ones.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test test-all slow anywhere setup_faults browser site wheel lint format sanitize same_bits fuzz coverage mutants bench clean
.DEFAULT_GOAL := test
.DELETE_ON_ERROR:

# An environment with pip is used, whoever has made it. One that this rule has begun and that has no pip is made anew.
works := $(BIN)/python -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
ifneq ($(shell $(works) && echo works),works)
.PHONY: .venv/made
endif
.venv/made:
	@command -v $(PYTHON) >/dev/null || { echo "There is no $(PYTHON): install Python 3.11 or later, or name one by 'make PYTHON=/path/to/python3'."; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "$(PYTHON) is older than Python 3.11: install a later one, and name it by 'make PYTHON=/path/to/python3'."; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "$(PYTHON) cannot make environments: install its module venv ('apt install python3-venv' on Debian and Ubuntu)."; exit 1; }
	@$(works) || test ! -e .venv || test -e .venv/begun || { echo ".venv has no Python 3.11 with pip, and make has not made it: remove it, and run make again."; exit 1; }
	@$(works) || { rm -rf .venv && mkdir .venv && touch .venv/begun && $(PYTHON) -m venv .venv; }
	@touch $@

# $(call install,EXTRAS): the packages of these extras, without the package itself, which pip would build once more.
install = @echo "Installing packages: $(1)" && $(BIN)/python tests/requirements.py $(1) >$@.txt
install += && { $(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement $@.txt
install += || { echo "Packages could not be installed: check the network, or pip's index ('$(BIN)/python -m pip config list'), and run make again."; exit 1; }; }
install += && touch $@

.venv/packages: .venv/made pyproject.toml tests/requirements.py
	$(call install,build project cli)
.venv/test: .venv/packages | .venv/built
	$(call install,test)
EXTRAS := lint sanitize coverage browser docs
$(EXTRAS:%=.venv/%): .venv/%: .venv/test
	$(call install,$*)
.venv/wheel: .venv/packages
	$(call install,wheel)

# Without a build environment of its own, so that paths stay the same and what has not changed is not compiled again.
.venv/built: .venv/packages CMakeLists.txt $(CORE)
	@for compiler in $(firstword $(CXX)) c++ clang++; do command -v $$compiler >/dev/null && exit 0; done; \
	  echo "There is no C++ compiler: install one by 'apt install g++' (Debian, Ubuntu), 'dnf install gcc-c++' (Fedora) or 'xcode-select --install' (macOS), and run make again."; exit 1
	@echo "Compiling the kernels, about a minute"
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --editable . || { echo "The kernels could not be built: mend what the lines above name, and run make again."; exit 1; }
	@touch $@

demo: .venv/built
	$(BIN)/committee compare --example breast_cancer --folds 5 --jobs $(JOBS) --progress --report report.html \
	  --models committee,gradient_boosting,adaboost,random_forest,sbpmt,scikit-learn:random_forest,scikit-learn:hist_gradient_boosting

# What a change must not break, in minutes. Neighbouring tests stay in one process, which shares what they set up.
PYTEST := $(BIN)/pytest -n $(JOBS) --dist worksteal
test: .venv/test
	$(PYTEST)

# All tests but the papers' runs of hours, with more random examples, and all other checks.
test-all: .venv/test
	$(PYTEST) -m 'not hours and not browser' --hypothesis-profile=all
	$(MAKE) --keep-going site browser lint sanitize same_bits anywhere setup_faults mutants wheel
	$(MAKE) fuzz ROUNDS=3

# One of twenty parts of what `make test` leaves out: PART is 0 to 19.
PART ?= 0
slow: .venv/test
	$(PYTEST) -m 'slow and not browser' --part $(PART)/20

# Tests of processes, signals, files, terminals, dates and caches in unusual surroundings: signals ignored, no home, the C locale and others.
anywhere: .venv/test
	JOBS=$(JOBS) $(BIN)/python tests/anywhere.py

# Set-up without a compiler, with an old one, without a network or a finished environment: one sentence on what to do.
setup_faults: .venv/built
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python tests/setup_faults.py

# The pages of reports and the website in a real browser: Playwright drives the system's Chromium, axe-core checks that all can use them.
browser: .venv/browser site
	$(BIN)/pytest -n $(JOBS) -m browser tests/browser

# The website, in build/site/html; warnings are errors, links that lead nowhere among them. What has not changed since the
# last time is not made again.
site: .venv/docs
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going --jobs $(JOBS) docs build/site/html --doctree-dir build/site/doctrees
	$(BIN)/python -m tests.site_links build/site/html

lint: .venv/lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror $(CORE) tests/core/same_bits.cpp benchmarks/kernels/floor.cpp
	$(BIN)/mypy

format: .venv/lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CORE) tests/core/same_bits.cpp benchmarks/kernels/floor.cpp

# The kernels once more under AddressSanitizer and UBSan: a second build, put before the first on the path.
sanitize: .venv/sanitize
	$(BIN)/python tests/instrumented.py sanitize

# The source distribution and this machine's wheel, in build/dist: built, looked at, installed elsewhere and tried.
wheel: .venv/wheel
	$(BIN)/python tests/wheel.py

# The kernels for this processor's oldest instructions, and for ARM, which qemu runs: the same bits as here?
same_bits: .venv/made
	$(BIN)/python tests/same_bits.py || [ $$? = 3 ]  # 3: no cross compiler or qemu, which it prints

# Every fuzzer for its part of an hour, or for ROUNDS of a fixed number of cases, with a new seed that is printed, or SEED; found cases are left in build/fuzz.
MINUTES ?= 60
fuzz: .venv/test
	$(BIN)/python -m tests.fuzz $(if $(ROUNDS),--rounds $(ROUNDS),--minutes $(MINUTES)) $(if $(SEED),--seed $(SEED))

# Lines and branches that the tests run: of src, then of core by gcov. Counts of a part of the tests are added up by
# `coverage run -m pytest PART` for each, and one `coverage combine`.
coverage: .venv/coverage
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -q -n $(JOBS) --dist worksteal
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report
	$(BIN)/python tests/instrumented.py gcov

# Faults put into the modules where a silent error costs most: do the tests notice?
mutants: .venv/coverage
	$(BIN)/python tests/mutants.py --jobs $(JOBS)

bench: .venv/test
	$(BIN)/python -m benchmarks

clean:
	rm -rf build .venv dist report.html .mypy_cache .ruff_cache .pytest_cache .hypothesis
