# Every target builds .venv itself when it is missing; nothing but Python 3.11 or newer is needed.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python

.PHONY: demo test test-all check bench bench-scale tables fuzz clean
.DEFAULT_GOAL := demo

$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet --upgrade pip
	$(RUN) -m pip install --quiet -c constraints.txt -e ".[dev]"
	touch $@

demo: $(VENV)/.ready          ## learn on data that ships inside scikit-learn, and show what was learned
	$(VENV)/bin/torte demo

test: $(VENV)/.ready          ## every test but the long ones
	$(RUN) -m pytest -m "not slow and not paper"

test-all: $(VENV)/.ready      ## the long ones too
	$(RUN) -m pytest

check: $(VENV)/.ready         ## lint, format, types, tests
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy
	$(MAKE) test

bench: $(VENV)/.ready         ## speed as ratios in one run, into benchmarks/results/
	$(RUN) benchmarks/speed.py
	$(RUN) benchmarks/features.py

tables: $(VENV)/.ready        ## accuracy and log loss on the tables in TORTE_DATA
	$(RUN) benchmarks/tables.py

fuzz: $(VENV)/.ready          ## ten thousand mutated model files
	$(RUN) -m pytest -n 0 -s -m slow tests/test_model_file_fuzz.py

bench-scale: $(VENV)/.ready   ## large n on the tables in TORTE_DATA: an hour; goes on where it stopped
	$(RUN) benchmarks/scale.py
	$(RUN) benchmarks/dask_scale.py
	$(RUN) benchmarks/cli_predict.py

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache
