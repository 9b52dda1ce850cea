# tests.mk: test programs, fuzzers, and the targets that run them.
#
# Included after the Makefile has defined its archives and how to compile and link.

# ---- tests: tests/<room>/<file>.c is one program; each links what it uses of tests/support/ ----
TEST_SRC := $(filter-out tests/support/% tests/fuzz/%,$(wildcard tests/*/*.c))
TESTS := $(patsubst tests/%.c,$(B)/tests/%,$(TEST_SRC))
SRC_support := $(wildcard tests/support/*.c)
SUPPORT := $(if $(SRC_support),$(B)/tests/support.a)
$(eval $(call archive,tests/support,support))
WRAP := malloc calloc realloc aligned_alloc posix_memalign mmap pthread_create open read write \
        fsync rename ftruncate close fstat mkdir
FAST := $(if $(compiler),lld,gold)
WRAPPED := $(if $(SUPPORT),$(WRAP:%=-Wl,--wrap=%) -u __wrap_malloc) $(if $(shell command -v ld.$(FAST)),-fuse-ld=$(FAST))
# The thread sanitizer of gcc 12 needs a plain address space, where setarch may give one.
RUNNER_tsan = $(shell setarch -R true 2>/dev/null && echo setarch -R)
# A test takes ten times as long under the thread sanitizer. A line "/* VARIANT: left out, REASON. */" of its
# file leaves it out of that variant. HPC_TEST_LONG=1: all.
UNSEEN := $(if $(HPC_TEST_LONG),,$(patsubst %.c,$(B)/%,$(shell grep -l '^/\* $(VARIANT): left out, ' $(TEST_SRC) /dev/null)))
SEEN := $(filter-out $(UNSEEN),$(filter $(if $(ONLY),$(B)/tests/$(ONLY),%),$(TESTS)))
$(TESTS): $(B)/tests/%: $(B)/tests/%.o $(SUPPORT) $(LIBS)
	$(call say,LINK)
	$(Q)$(LINKER) $(WRAPPED) $< -Wl,--start-group $(SUPPORT) $(LIBS) -Wl,--end-group -lcmocka \
	    $(LIBRARIES) -o $@

# Fuzz targets are libFuzzer's, so clang builds them: `make fuzz`.
FUZZERS := $(patsubst tests/%.c,$(B)/tests/%,$(wildcard tests/fuzz/*.c))
FUZZ_SECONDS ?= 600
$(FUZZERS): $(B)/tests/%: $(B)/tests/%.o $(LIBS)
	$(call say,LINK)
	$(Q)$(LINKER) -fsanitize=fuzzer $< -Wl,--start-group $(LIBS) -Wl,--end-group $(LIBRARIES) -o $@
fuzz-run: $(FUZZERS) $(filter %microhttpd.so,$(OPENED))
	@sh tests/fuzz/run.sh $(FUZZ_SECONDS) $(FUZZERS)

tests: $(TESTS) ## test: build the test programs
test: all $(SEEN) ## test: build, and run the quick tests of this VARIANT (ONLY=PATTERN: some of them)
	$(if $(UNSEEN),@echo 'left out: $(patsubst $(B)/tests/%,%,$(UNSEEN))')
	@$(RUNNER_$(VARIANT)) sh tests/run.sh $(SEEN)
check: deps-check ## test: install packages, build, and run all quick tests
	@$(MAKE) test
check-long: deps-check ## test: the same, with the tests that take longer than ten minutes, and fuzzing
	@HPC_TEST_LONG=1 HPC_TEST_TIMEOUT=$${HPC_TEST_TIMEOUT:-7200} $(MAKE) test
	@sh config.sh --install oracle
	@python3 tests/pragma/oracle.py
	@python3 tests/pragma/faults.py --hpccoder $(B)/hpccoder --each 6 tests/pragma/loops
	@python3 tests/pragma/faults.py --hpccoder $(B)/hpccoder --each 6 --loops 8 tests/pragma/loops20 -- -std=c++20
	@python3 tests/pragma/faults_fortran.py --hpccoder $(B)/hpccoder tests/pragma/fortran/*.f90 tests/pragma/fortran/*.f
	@python3 tests/pragma/witness.py --hpccoder $(B)/hpccoder --each 2 --rounds 3 --faults 400 tests/pragma/loops
	@HPC_LINT_DEEP=1 $(MAKE) lint fuzz
	@$(MAKE) CC=clang all
fuzz: deps-lint ## test: run each fuzzer (FUZZ_SECONDS=600)
	@$(MAKE) CC=clang VARIANT=fuzz fuzz-run
asan tsan: deps-check ## test: run the tests under the address or the thread sanitizer
	@HPC_TEST_TIMEOUT=$${HPC_TEST_TIMEOUT:-900} $(MAKE) VARIANT=$@ test

check-gpu: all tests $(if $(CUDA_GPU),$(B)/tests/cuda/primitives-gpu.so) ## test: run the tests of CUDA kernels on this machine's GPU; results in build/release/gpu.json
	@sh tools/gpu.sh --part check $(B)/gpu.json $(B)
bench-gpu: all tests $(if $(CUDA_GPU),$(B)/tests/cuda/primitives-gpu.so) ## test: the same, with benchmarks
	@sh tools/gpu.sh $(B)/gpu.json $(B)

.PHONY: check-gpu bench-gpu tests test check check-long fuzz fuzz-run asan tsan
