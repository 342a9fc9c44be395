# Every target sets up what it needs: a fresh clone and `make test` are enough.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
CODE := src studies tests benchmarks docs examples setup.py conftest.py

# One thread: the matrices are small, and BLAS threads that wait for each other cost more than they save.
export OMP_NUM_THREADS = 1
export OPENBLAS_NUM_THREADS = 1
# Hundreds of tests start a process, which is to find our modules compiled.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test more check cluster slow fuzz torch spark lint types imports bench docs site site-links gallery notebooks wheels sanitize clean reproduce suite

demo: $(INSTALLED)
	$(BIN)/rejo demo --overwrite

# What a newcomer runs: minutes.
test: $(INSTALLED)
	$(BIN)/python -m pytest -n 2

# All that CI runs.
check: test more cluster torch site notebooks demo lint types imports

# More settings, browsers, servers, long lists of hostile files.
more: $(INSTALLED)
	$(BIN)/python -m pytest -n 2 -m "check and not slow"

# Dask clusters, in a network namespace with nothing but loopback where the system allows it.
cluster: $(INSTALLED)
	$(BIN)/python -m tests.cluster_setup $(BIN)/python -m pytest -m cluster \
		$$(grep -rl --include='test_*.py' 'mark\.cluster' tests)

slow: fuzz
	$(BIN)/python -m pytest -n 2 -m slow

# Hostile model files, each tried in a process with limits on time and memory; takes minutes.
FILES ?= 20000
SEED ?= 0
fuzz: $(INSTALLED)
	$(BIN)/python -m tests.fuzz --files $(FILES) --seed $(SEED)

lint: $(INSTALLED)
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)

types: $(INSTALLED)
	$(BIN)/mypy
	$(BIN)/mypy --strict --implicit-reexport --follow-imports=silent src/rejo/replication.py src/rejo/metrics

imports: $(INSTALLED)
	$(BIN)/lint-imports --no-cache

# The paper's figures and claims, and all methods on real tables: a quick look at either, or with FULL=1 the
# whole (one hour, three hours). DATA=DIR has the tables; DASK=tcp://... is a cluster that does the work.
STUDY = $(if $(FULL),--full) $(if $(DATA),--data $(DATA)) $(if $(DASK),--dask $(DASK))
reproduce: $(INSTALLED)
	$(BIN)/python -m studies reproduce $(STUDY)

suite: $(INSTALLED)
	$(BIN)/python -m studies suite $(STUDY)

bench: $(INSTALLED)
	$(BIN)/python -m benchmarks.bench_svm
	$(BIN)/python -m benchmarks.bench_kernel_logistic
	$(BIN)/python -m benchmarks.bench_linear
	$(BIN)/python -m benchmarks.bench_mlp
	$(BIN)/python -m benchmarks.bench_path
	$(BIN)/python -m benchmarks.bench_embedded --quick
	$(BIN)/python -m benchmarks.bench_predict
	$(BIN)/python -m benchmarks.bench_train

# PyTorch is large: only its own tests and one example need it. For Linux, PyPI's builds bring CUDA with
# gigabytes of libraries: TORCH_INDEX="--extra-index-url https://download.pytorch.org/whl/cpu" avoids them.
TORCH_INDEX ?=
torch: $(INSTALLED)
	$(BIN)/python -m pip install --quiet $(TORCH_INDEX) "torch==2.13.0"
	$(BIN)/python -m pytest tests/test_torch.py src/rejo/torch.py

# The section on Spark of the guide; needs Java. pyspark is too large (490 MB) for every CI run, and stays
# outside the environment.
SPARK := build/spark
spark: $(INSTALLED)
	test -d $(SPARK)/pyspark || $(BIN)/python -m pip install --quiet --target $(SPARK) "pyspark>=4.0"
	PYTHONPATH=$(abspath $(SPARK)) $(BIN)/python -m tests.cluster_setup $(BIN)/python -m pytest \
		-m cluster tests/distributed/test_spark.py

docs: $(INSTALLED)
	$(BIN)/python docs/pictures.py
	$(BIN)/python docs/transcripts.py
	$(BIN)/python docs/report_picture.py
	$(BIN)/python -m pytest docs README.md

# The site in build/site: guide, reference, gallery. A warning is an error, and nothing is fetched.
# SITE="-D plot_gallery=0" leaves the examples unrun.
SITE ?=
site: $(VENV)/.site
	$(BIN)/python -m sphinx -W --keep-going -q -j 2 -d build/site-trees $(SITE) docs build/site
	$(BIN)/python -m pytest -m site tests/test_site.py

# Links to other sites; needs a network.
site-links: $(VENV)/.site
	$(BIN)/python -m sphinx -b linkcheck -q -d build/site-trees -D plot_gallery=0 docs build/site-links

# Every example of the gallery, as a script and as a notebook. EXAMPLE=plot_novelty runs only this one.
EXAMPLE ?=
gallery: $(VENV)/.site
	$(BIN)/python -m tests.gallery_runs $(EXAMPLE)

# The same as notebooks only: `make site` runs them as scripts. And the programs that the guide compares.
notebooks: $(VENV)/.site
	$(BIN)/python -m tests.gallery_runs --form notebook $(EXAMPLE)
	$(BIN)/python -m pytest tests/test_same_job.py

$(VENV)/.site: $(INSTALLED)
	$(BIN)/python -m pip install --quiet "rejo[docs,examples]"
	touch $@

# The sdist and wheels as a release builds them, each installed into a clean environment, without a compiler
# where that must not matter: make wheels PYTHONS="python3.11 python3.12". Needs a network.
PYTHONS ?= $(PYTHON)
wheels:
	$(PYTHON) tests/wheel_check.py build $(addprefix --python ,$(PYTHONS))

# The extension with AddressSanitizer and UBSan, built beside the normal one. The first tests run every
# instruction set by themselves; the others, with the hostile calls of the classifiers, once on each.
# libstdc++ is loaded with libasan, which otherwise cannot follow C++ exceptions into Python.
SANITIZED := build/sanitize
SANITIZER = LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libstdc++.so)" \
	ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 \
	UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 PYTHONPATH=$(SANITIZED)/lib
sanitize: $(INSTALLED)
	rm -rf $(SANITIZED)
	REJO_SANITIZE=1 $(BIN)/python setup.py -q build --build-base $(SANITIZED) --build-lib $(SANITIZED)/lib
	ls $(addprefix $(SANITIZED)/lib/rejo/solvers/,_embedded*.so _svm*.so _trees*.so)
	$(SANITIZER) $(BIN)/python -m pytest -n 2 -m 'not slow' tests/solvers/test_entry_points.py \
		tests/solvers/test_extensions.py tests/solvers/test_engines.py tests/solvers/test_margins.py \
		tests/solvers/test_boosted_trees.py tests/solvers/test_boosting.py tests/solvers/test_embedded.py
	@found="$$($(SANITIZER) $(BIN)/python -c 'from rejo.solvers import _svm; print(*_svm.architectures())')"; \
	for engine in baseline avx2 avx512; do \
		case " $$found " in \
		*" $$engine "*) echo "=== sanitize: $$engine ==="; \
			REJO_ENGINE=$$engine $(SANITIZER) $(BIN)/python -m pytest -n 2 -m 'not slow' tests/test_hostile_calls.py \
				tests/estimators/test_limits.py tests/solvers/test_oracle.py tests/solvers/test_properties.py \
				|| exit 1;; \
		*) echo "!!! sanitize: this processor cannot run $$engine, which was NOT TESTED !!!";; \
		esac; \
	done

clean:
	rm -rf $(VENV) build dist src/*.egg-info src/rejo/solvers/*.so src/rejo/solvers/*.pyd
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis rejo-demo*
	rm -rf docs/api docs/gallery docs/sg_execution_times.rst
	find src tests benchmarks docs -name __pycache__ -type d -prune -exec rm -rf {} +

# An editable installation: Python files are used where they stand, and a change of the C++ files or of
# the build installs again. The old extension goes first: if the new one did not compile, it would stay.
SOURCES := $(wildcard src/rejo/solvers/*.cpp src/rejo/solvers/*.hpp)
$(INSTALLED): pyproject.toml setup.py src/rejo/__init__.py $(SOURCES)
	@$(PYTHON) -c 'import sys; sys.exit("rejo needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	rm -f src/rejo/solvers/*.so
	$(BIN)/python -m pip install --quiet --editable ".[all,dev]"
	@$(BIN)/python -c "import rejo.solvers._embedded, rejo.solvers._svm, rejo.solvers._trees" 2>/dev/null \
	|| echo "The C++ extension was not built (is there a C++ compiler?); rejo runs without it, slower."
	touch $@
