# The short way to everything. Each goal first installs the Debian packages it lacks.
PREFIX ?= /usr/local
JOBS   ?= $(shell nproc)
FUZZ_SECONDS ?= 600
ALONE = env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL

.PHONY: help run build test test-long bench bench-net sabotage uci90 uci-regression python python-test docs docs-links install fuzz coverage format clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "make %-14s %s\n", $$1, $$2}' Makefile

run: build ## build, then show what one layer norm changes: a table, and build/demo/report.html
	@tools/bootstrap.sh run || echo "going on without XGBoost"
	@build/farfield demo --report build/demo

build: ## the command at build/farfield, the libraries at build/libfarfield.*
	@tools/bootstrap.sh build
	@[ -f build/Makefile ] || cmake --preset release -DFAR_TESTS=OFF -DFAR_BENCH=OFF >/dev/null
	@$(ALONE) cmake --build build -j $(JOBS) --target farfield farfield_static farfield_shared \
	    farfield_extras_static farfield_extras_shared

test: ## all tests, optimised and under sanitizers (address, undefined, memory)
	@tools/bootstrap.sh test
	@$(ALONE) tools/run_tests.sh $(JOBS)

test-long: ## the same with all draws, and the experiments that take long (about an hour)
	@tools/bootstrap.sh test
	@$(ALONE) FARFIELD_TESTS=long tools/run_tests.sh $(JOBS)

bench: ## kernel speed, beside the roofline and neural-tangents
	@tools/bootstrap.sh bench
	@$(ALONE) tools/bench.sh $(JOBS)

bench-net: ## finite networks: training and tangent kernels, beside PyTorch
	@tools/bootstrap.sh bench
	@$(ALONE) tools/bench_net.sh $(JOBS)

sabotage: build ## experiments without their mechanism, every claim must fail; DATA=folder of data sets
	@build/farfield reproduce all --quick --sabotage -q $(if $(DATA),--data "$(DATA)") -o build/sabotage
	@build/farfield reproduce linearized --cifar2 --quick --sabotage -q -o build/sabotage/linearized-cifar2

uci90: ## 90 small classification sets beside published results; DATA=archive or folder
	@tools/bootstrap.sh build
	@[ -n "$(DATA)" ] || { echo "make uci90 DATA=uci90_arora2020.tar.xz (see docs/reproductions/uci-90.md)"; exit 2; }
	@$(ALONE) experiments/uci90.sh "$(DATA)"

uci-regression: ## nine regression sets on their published splits; DATA=archive or folder
	@tools/bootstrap.sh build
	@[ -n "$(DATA)" ] || { echo "make uci-regression DATA=hernandez_lobato_splits.tar.xz (see docs/reproductions/uci-regression.md)"; exit 2; }
	@$(ALONE) experiments/uci_regression.sh "$(DATA)"

python: ## dist/: the Python package as a wheel that needs nothing else, and as sdist
	@tools/bootstrap.sh python
	@$(ALONE) tools/wheel.sh

python-test: build ## the tests of the Python package, and again over the wheel in a fresh environment
	@tools/bootstrap.sh python
	@tools/python_tests.sh
	@$(ALONE) tools/wheel.sh
	@tools/python_tests.sh wheel

docs: build ## the documentation as a site that needs no network: build/docs/html/index.html
	@tools/bootstrap.sh docs
	@tools/docs.sh

docs-links: build ## ask the web whether the addresses in the documentation are still there
	@tools/bootstrap.sh docs
	@tools/docs.sh links

install: build ## under PREFIX (/usr/local); respects DESTDIR
	@cmake --install build --prefix $(PREFIX)
	@if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" = 0 ]; then ldconfig; fi

fuzz: ## FUZZ_SECONDS (600) of libFuzzer for each fuzz target, JOBS at a time
	@tools/bootstrap.sh fuzz
	@$(ALONE) tools/fuzz.sh $(JOBS) $(FUZZ_SECONDS)

coverage: ## what the tests run: lines and branches of src, by file and room
	@tools/bootstrap.sh coverage
	@$(ALONE) tools/coverage.sh $(JOBS)

format: ## clang-format 14 over all C files
	@tools/bootstrap.sh format
	@find include src cli tests bench examples experiments -name '*.[ch]' | xargs clang-format-14 -i

clean: ## remove everything that was built
	@rm -rf build build-dev build-fuzz build-memory build-coverage dist
