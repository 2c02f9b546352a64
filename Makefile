# Aliases for what cmake, ctest and tools/ do. The work itself is described in CMakeLists.txt and CMakePresets.json.
#
#   make MPI=mpich ...      with MPICH, in build-mpich/
#   make MPI=openmpi ...    with Open MPI, in build-openmpi/
#   make MPI=simgrid ...    with simulated ranks, in build-simgrid/
#   make ...                with the machine's MPI, in build/
MPI =
BUILD = build$(addprefix -,$(MPI))
JOBS = $(shell nproc)
PREFIX = /usr/local
DESTDIR =
SECONDS = 60
CASES = 2000000
FAULTS = 25000
COVERAGE = 98
export MPI DESTDIR
ifneq ($(filter-out mpich openmpi simgrid,$(MPI)),)
$(error MPI=$(MPI) is not known; it may be mpich, openmpi, simgrid or empty)
endif
MAKEFLAGS += --no-print-directory

.PHONY: all setup test demo install dist deb bench papers fuzz cover format check soak clean help
.SILENT:

all: $(BUILD)/Makefile ## build everything (the default)
	cmake --build $(BUILD) -j$(JOBS)

# Written last by cmake, so that a failed configuration is tried again. The folder of a preset is build-<preset>.
build/Makefile $(patsubst %,build-%/Makefile,mpich openmpi simgrid asan cover clang fuzz):
	command -v cmake >/dev/null || { echo "cmake is missing; 'make setup' installs what Sluice needs" >&2; exit 1; }
	cmake --preset $(patsubst build-%,%,$(patsubst build,default,$(@D))) || \
		{ echo "configuring failed; 'make setup' installs what is missing and names what is too old" >&2; exit 1; }

setup: ## install what is missing on Debian or Ubuntu; DEV=1: also what .ci/run needs; PEERS=1: peers of the benches
	tools/setup.sh $(if $(DEV),dev,$(if $(PEERS),bench))

test: setup ## build and run all tests
	$(MAKE) all
	ctest --test-dir $(BUILD) --output-on-failure -j$(JOBS)

demo: setup ## show Sluice at work
	echo 'Building in $(BUILD)/ ...'
	$(MAKE) all >/dev/null
	SLUICE_BIN=$(BUILD)/bin/sluice SLUICE_BUILD=$(BUILD) tools/demo.sh

install: all ## install below PREFIX (and DESTDIR)
	cmake --install $(BUILD) --prefix $(PREFIX)

dist: ## make a source archive, sluice-VERSION.tar.gz, of what is committed
	version=$$(sed -nE 's/.*SLUICE_VERSION_(MAJOR|MINOR|PATCH) ([0-9]+)/\2/p' include/sluice_version.h | paste -sd.) && \
		git archive --prefix="sluice-$$version/" -o "sluice-$$version.tar.gz" HEAD && echo "sluice-$$version.tar.gz"

deb: ## build Debian packages of what is committed, in build-deb/; needs debhelper
	command -v dh >/dev/null || { echo "dh is missing: apt-get install debhelper" >&2; exit 1; }
	rm -rf build-deb && mkdir -p build-deb/sluice && git archive HEAD | tar -x -C build-deb/sluice
	cd build-deb/sluice && DEB_BUILD_OPTIONS=parallel=$(JOBS) dpkg-buildpackage -b -us -uc

bench: all ## run the benches
	test '$(MPI)' != simgrid || exec bench/simgrid/delta.sh $(BUILD); \
	test '$(MPI)' = simgrid || for bench in $(BUILD)/bench/*; do test ! -x $$bench -o -d $$bench || $$bench || exit; done

papers: all ## run the experiments of the papers, QUICK=1: a few; writes papers-report.md and .html
	bench/papers.py --build $(BUILD) $(if $(QUICK),--quick) -o papers-report.md --html papers-report.html

fuzz: build-fuzz/Makefile ## run each fuzzer for SECONDS=60
	cmake --build build-fuzz --target fuzzers -j$(JOBS)
	tools/fuzz.sh build-fuzz $(SECONDS)

cover: build-cover/Makefile ## print the line coverage of src/set; fail below COVERAGE=98 %
	cmake --build build-cover -j$(JOBS)
	tools/cover.sh build-cover $(COVERAGE)

format: ## lay out all C files
	tools/check-format.sh fix

check: ## check format, layers and documents
	tools/check-format.sh
	tools/check-layers.sh
	tools/check-docs.sh

soak: all ## random tests with CASES=2000000, FAULTS=25000 on 1, 2, 3 and 4 ranks each, kills and power cuts, then the fuzzers for SECONDS=60
	for test in $(BUILD)/tests/*_random; do SLUICE_TEST_CASES=$(CASES) $$test || exit; done
	SLUICE_FAULTS=$(FAULTS) cmake --build $(BUILD) --target soak_faults
	SLUICE_CUTS=50 SLUICE_KILLS=all ctest --test-dir $(BUILD) --output-on-failure -R '^(power_cut|contained_kill)$$'
	$(MAKE) fuzz

clean: ## remove all build folders
	rm -rf build build-*/

help: ## list these targets
	sed -nE 's/^([a-z]+):.*## (.*)/make \1\t\2/p' Makefile | expand -t 16
	echo 'MPI=mpich or MPI=openmpi chooses the MPI and builds in build-mpich/ or build-openmpi/; MPI=simgrid simulates one.'
