# A thin front to cmake, ctest and the scripts; `make help` lists the targets.
PRESET ?= default
LAYLINE_BUILD_DIR ?= $(if $(filter default,$(PRESET)),build,build/$(PRESET))
BUILD := $(LAYLINE_BUILD_DIR)
JOBS ?= $(shell nproc)
export LAYLINE_BUILD_DIR
# libMLIR is not instrumented: see the preset `sanitize`.
export ASAN_OPTIONS ?= detect_container_overflow=0

.DEFAULT_GOAL := help
.PHONY: help setup configure build demo generate test bench gpu-test gpu-bench docs format clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' Makefile
	@echo "  PRESET=default|debug|sanitize, LAYLINE_BUILD_DIR=$(BUILD), JOBS=$(JOBS)"

setup: ## Install the Debian packages that are missing
	@tools/setup.sh

configure: setup
	@cmake --preset $(PRESET) -B $(BUILD) >/dev/null

build: configure ## Build everything
	cmake --build $(BUILD) -j $(JOBS)

demo: configure ## Build the compiler, then compile, prove and run two models
	cmake --build $(BUILD) -j $(JOBS) --target layline
	examples/demo.sh

generate: configure ## Fetch a small language model, plan it for 3, 1, 2 and 4 ranks, and let it write
	cmake --build $(BUILD) -j $(JOBS) --target layline layline-generate
	examples/generate/generate.sh

test: build ## Build everything and run all tests
	ctest --test-dir $(BUILD) -j $(JOBS) --output-on-failure --no-tests=error

bench: configure ## Measure compile time and the runtime's overhead
	cmake --build $(BUILD) -j $(JOBS) --target run-benchmarks

gpu-test: configure ## Test kernels and golden models on this machine's GPUs (ARGS=--help)
	cmake --build $(BUILD) -j $(JOBS) --target layline-gpu-tests
	$(BUILD)/bin/layline-gpu-tests $(ARGS)

gpu-bench: configure ## Time kernels on this machine's GPUs: a table for layline calibrate
	cmake --build $(BUILD) -j $(JOBS) --target layline-gpu-bench
	$(BUILD)/bin/layline-gpu-bench > $(BUILD)/gpu-bench.csv.part
	mv $(BUILD)/gpu-bench.csv.part $(BUILD)/gpu-bench.csv
	@echo "$(BUILD)/gpu-bench.csv: for $(BUILD)/bin/layline calibrate $(BUILD)/gpu-bench.csv --target ... -o ..."

docs: configure ## Regenerate docs/generated from the .td files
	cmake --build $(BUILD) -j $(JOBS) --target layline-docs

format: ## Format the C++ sources
	git ls-files '*.h' '*.cpp' '*.cu' '*.cuh' | xargs -r clang-format -i

clean: ## Remove what the build made
	rm -rf $(BUILD) out
