# make quickstart   tables and a report in a minute or two: data, evaluation on a local Dask cluster, results
# make test         the test suite
# make test-fast    unit tests without clusters, in about a minute once machine code is cached
# make test-long    checks that take hours: bytes of experiments, bit flips, bad visitors, killed processes, fuzzing
# make lint         what CI checks beside the tests
# make notebooks    run the notebooks
# make docs         the site of the documentation, in site/, for a browser without network
# make wheel        the wheel for every machine
# make wheel-with-machine-code   the wheel for this Python on x86-64, with the machine code of all learners, in four minutes
# make screenshots  make the pictures of the documentation; needs Chromium
# make grand        every learner on every data set, for hours, and the tables of docs/grand-comparison.md; it goes on where it stopped
# make clean        remove everything that the targets above made
#
# Needs Python 3.11, 3.12 or 3.13 and the package index. Another interpreter: make quickstart PYTHON=python3.12

PYTHON ?= python3
BIN := .venv/bin
OUT := quickstart
HOME_OF_DATA := OLSCALE_DATASETS=$(CURDIR)/$(OUT)
STORE := $(OUT)/store

.DELETE_ON_ERROR:
.PHONY: quickstart test test-fast test-long lint notebooks docs wheel wheel-with-machine-code screenshots grand grand-page clean

quickstart: .venv/installed $(OUT)/digits/manifest.json $(OUT)/breast_cancer/manifest.json $(OUT)/rotating-xor/manifest.json
	@$(HOME_OF_DATA) $(BIN)/olscale evaluate quickstart --workers 2 --store $(STORE)
	@$(HOME_OF_DATA) $(BIN)/olscale evaluate rotating-xor --store $(STORE)
	@echo
	@$(BIN)/olscale results $(STORE)
	@echo
	@$(BIN)/olscale report $(STORE) --out $(OUT)/report
	@echo "The page with all figures is $(CURDIR)/$(OUT)/report/index.html"
	@echo "The metrics store is $(CURDIR)/$(STORE). Look again with: $(BIN)/olscale results $(STORE)"

$(OUT)/rotating-xor/manifest.json: | .venv/installed
	@$(BIN)/olscale datasets generate rotating-xor $(@D)

$(OUT)/%/manifest.json: | .venv/installed
	@$(BIN)/olscale ingest sklearn:$* $(@D)

# Bytecode is kept whatever the environment says: hundreds of processes would each compile olscale, and pytest the tests.
test test-fast test-long: export PYTHONDONTWRITEBYTECODE =

# Three processes on two cores: while one waits for a cluster, the others compute. A test that crashes its process ends the
# run: with another process in its place, pytest-xdist may wait for ever for tests that it has given to nobody.
test: .venv/dev
	$(BIN)/python -m pytest --numprocesses 3 --max-worker-restart 0 --dist loadfile --no-loadscope-reorder --durations 25 -rs

FAST := $(addprefix tests/,analysis data evaluation results testing)

test-fast: .venv/dev
	$(BIN)/python -m pytest --numprocesses 2 --max-worker-restart 0 --dist worksteal -m "not slow and not chaos and not long" $(FAST)

test-long: .venv/dev
	$(BIN)/python -m tests.golden
	$(BIN)/python -m tests.fuzz.flips
	$(BIN)/python -m tests.calibration
	$(BIN)/python -m tests.soak
	$(BIN)/python -m tests.chaos --minutes 3
	$(BIN)/python -m tests.chaos.nights
	$(BIN)/python -m tests.chaos.told_runs --kills 100
	$(BIN)/python -m pytest -m "slow or chaos"
	$(BIN)/python -m tests.fuzz --inputs 10000

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

notebooks: .venv/notebooks
	$(BIN)/jupyter-execute notebooks/*.ipynb

docs: .venv/dev
	$(BIN)/python -m docs.site site

WHEEL := $(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

wheel: .venv/dev
	rm -rf olscale/machine_code
	$(WHEEL)

wheel-with-machine-code: .venv/dev
	$(BIN)/olscale warm --for-wheel
	$(WHEEL)

screenshots: .venv/dev
	$(BIN)/python -m docs.screenshots

GRAND := grand
PAGE := docs/grand-comparison.md
SOME := $(addprefix --dataset ,electricity-2000 letter-2000 a9a-2000 mnist-1000)
AS_PAGE = --format markdown >>$(GRAND)/page.md

grand: .venv/installed
	for pipeline in grand grand-peers grand-drift; do \
	    $(BIN)/olscale evaluate pipelines/$$pipeline.toml --store $(GRAND)/store || exit; \
	done
	@$(MAKE) --no-print-directory grand-page

# Without long enumerations: the page says what is missing, and the pipeline has the grids.
grand-page:
	sed '/^## Figures/q' $(PAGE) >$(GRAND)/page.md
	printf '\n<!-- make grand-page -->\n\n' >>$(GRAND)/page.md
	for metric in cumulative_error test_error; do \
	    $(BIN)/olscale compare $(GRAND)/store --experiment grand --metric $$metric $(AS_PAGE) || exit; \
	    echo >>$(GRAND)/page.md; \
	done
	$(BIN)/olscale results $(GRAND)/store --dataset noisy-sines --dataset gaussian-novelties $(AS_PAGE)
	echo >>$(GRAND)/page.md
	for metric in rows_per_cpu_second model_bytes; do \
	    $(BIN)/olscale results $(GRAND)/store --experiment grand --experiment grand-peers --metric $$metric $(SOME) $(AS_PAGE) || exit; \
	    echo >>$(GRAND)/page.md; \
	done
	printf '## Beside MOA, River and Vowpal Wabbit\n\n' >>$(GRAND)/page.md
	for metric in cumulative_error test_error; do \
	    $(BIN)/olscale compare $(GRAND)/store --experiment grand-peers --metric $$metric $(AS_PAGE) || exit; \
	    echo >>$(GRAND)/page.md; \
	done
	printf '## On drifting streams\n\n' >>$(GRAND)/page.md
	$(BIN)/olscale compare $(GRAND)/store --experiment grand-drift --metric cumulative_error --baseline drift-ensemble $(AS_PAGE)
	printf '\n<!-- end -->\n' >>$(GRAND)/page.md
	sed -E '/^- (Left out for want|No significant difference within|Tuned on)/d' $(GRAND)/page.md >$(PAGE)

clean:
	rm -rf .venv $(OUT) site .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

# One environment; a stamp for each set of dependencies that is in it.
.venv/bin/python:
	@$(PYTHON) -c 'import sys; ok = (3, 11) <= sys.version_info < (3, 14); sys.exit(None if ok else \
	    "olscale needs Python 3.11, 3.12 or 3.13; $(PYTHON) is %d.%d; try: make PYTHON=python3.12" % sys.version_info[:2])'
	$(PYTHON) -m venv .venv

.venv/installed: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[report]'
	@touch $@

.venv/dev: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ .venv/installed

.venv/notebooks: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[notebooks]'
	@touch $@ .venv/installed
