# A short way to the CMake presets of CMakePresets.json. `make help` lists the targets.
PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
FUZZ_SECONDS ?= 60
# Passed to CMake, e.g. make CMAKE_ARGS=-DHOOKE_DIRECT=OFF
CMAKE_ARGS ?=
export JOBS CMAKE_ARGS

.NOTPARALLEL:
.PHONY: all help setup demo studio test test-quick asan debug fuzz bench bench-gpu figures python install format format-check clean

all: setup
	@tools/configure.sh release build $(CMAKE_ARGS)
	@cmake --build build --parallel $(JOBS)

help:
	@echo 'make               build/hooke, build/libhooke.so, build/libhooke.a (installs what is missing)'
	@echo 'make demo          build the program alone, simulate a beam and a swing, draw them into out/demo'
	@echo 'make studio        build the program and the page, open Hooke Studio in the browser'
	@echo 'make test          every test: release, sanitizers, fuzz targets, ARM (emulated), the page of the studio, installation'
	@echo 'make test-quick    the tests of the release build only'
	@echo 'make asan          the tests under AddressSanitizer and UndefinedBehaviorSanitizer'
	@echo 'make debug         build-debug/hooke for the debugger'
	@echo 'make fuzz          run every fuzz target for FUZZ_SECONDS ($(FUZZ_SECONDS))'
	@echo 'make bench         build and run the benchmarks (build/bench_*)'
	@echo 'make bench-gpu     build without SuiteSparse and jansson, check the GPU against the CPU, time it'
	@echo 'make figures       redraw the figures of docs/methods.md (a quarter of an hour)'
	@echo 'make python        python/dist/hooke-*.whl, a wheel that carries libhooke.so'
	@echo 'make install       into DESTDIR/PREFIX (PREFIX=$(PREFIX)); then ldconfig, or what to do in its place'
	@echo 'make format        clang-format 14 over all sources; format-check only looks'
	@echo 'make clean         remove the build folders'
	@echo 'Variables: JOBS=$(JOBS) CMAKE_ARGS= FUZZ_SECONDS= PREFIX= DESTDIR= HOOKE_SETUP=no (install no packages)'

setup:
	@tools/setup.sh build

# What the demo shows needs the program alone: no tests, no benchmarks, no CUDA kernels, no lanes for
# other processors than any; a program that `make` has built already is taken as it is.
demo: setup
	@tools/demo.sh

# SCENE=my/part.json opens that one.
SCENE ?= scenes/studio/creature.json
studio: setup
	@tools/configure.sh release build $(CMAKE_ARGS)
	@cmake --build build --parallel $(JOBS) --target hooke_cli
	@tools/studio_page.sh build/studio-page
	@build/hooke studio $(SCENE)

test:
	@tools/setup.sh test
	@tools/test.sh release asan fuzz aarch64 page install python

test-quick: setup
	@tools/test.sh release

asan: setup
	@tools/test.sh asan

debug: setup
	@tools/configure.sh debug build-debug $(CMAKE_ARGS)
	@cmake --build build-debug --parallel $(JOBS)

fuzz:
	@tools/setup.sh test
	@tools/fuzz.sh $(FUZZ_SECONDS)

bench: all
	@tools/bench.sh

# Wants CMake, a C compiler and the CUDA toolkit: a GPU machine may have nothing else.
bench-gpu:
	@tools/configure.sh release build-gpu -DHOOKE_CUDA=ON -DHOOKE_DIRECT=OFF -DHOOKE_SCENES=OFF $(CMAKE_ARGS)
	@cmake --build build-gpu --parallel $(JOBS) --target bench_gpu bench_gpu_designs
	build-gpu/bench_gpu
	build-gpu/bench_gpu_designs

figures: all
	@scenes/figures/draw.sh

# Wants setuptools and wheel of a python3 (Debian: python3-setuptools python3-wheel).
python: all
	@cd python && ../tools/python.sh setuptools,wheel setup.py --quiet bdist_wheel
	@ls python/dist/*.whl

install: all
	@DESTDIR='$(DESTDIR)' cmake --install build --prefix '$(PREFIX)'
	@tools/ldconfig.sh build '$(DESTDIR)'

format:
	@tools/format.sh

format-check:
	@tools/format.sh --check

clean:
	rm -rf build build-asan build-debug build-fuzz build-gpu build-aarch64 build-demo out/demo \
	    python/build python/dist python/hooke.egg-info
