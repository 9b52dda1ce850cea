# hpccoder: one Makefile for everything. `make help` lists the targets.
#
# Output goes to build/<variant>/ for gcc and build/<compiler>[-<variant>]/ for any other
# compiler. What the machine has is found by config.sh, once for each of these folders.
VARIANT ?= release
CUDA    ?= auto
PREFIX  ?= /usr/local
ifeq ($(origin CC),default)
CC := gcc
endif
ifeq ($(origin CXX),default)
CXX := $(patsubst %gcc,%g++,$(patsubst %clang,%clang++,$(firstword $(CC))))
endif
compiler := $(filter-out gcc cc,$(notdir $(firstword $(CC))))
B := build/$(if $(compiler),$(compiler)$(VARIANT:%=-%),$(VARIANT))
B := $(B:%-release=%)

# Work in parallel unless told how; the first make alone decides.
JOBS ?= $(shell nproc)
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(JOBS)
endif
MAKEFLAGS += --no-print-directory
Q := $(if $(V),,@)
say = $(if $(V),@:,@printf '  %-5s %s\n' $(1) $@)
include docs/docs.mk
# These neither need a configured machine nor make one; what they call does.
UNCONFIGURED += help deps deps-check deps-lint check check-long fuzz demo lint asan tsan format clean
CONFIGURED := $(filter-out $(UNCONFIGURED),$(or $(MAKECMDGOALS),all))
ifneq ($(CONFIGURED),)
include $(B)/config.mk
endif

# ---- flags: CFLAGS, CPPFLAGS, LDFLAGS and LDLIBS are the user's, and come last ----
CFLAGS_release := -O2 -g
CFLAGS_debug   := -O0 -g
CFLAGS_asan    := -O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
CFLAGS_tsan    := -O1 -g1 -fsanitize=thread -fno-omit-frame-pointer
CFLAGS_fuzz    := -O1 -g -fsanitize=fuzzer-no-link,address,undefined \
                  -fno-sanitize-recover=all -fno-omit-frame-pointer -Wno-pass-failed
$(if $(CFLAGS_$(VARIANT)),,$(error VARIANT=$(VARIANT) is not known: release, debug, asan, tsan or fuzz))
WERROR ?= -Werror
WARN   := -Wall -Wextra $(WERROR) -Wundef -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla
COMPILE = $(CC) -std=c11 -fvisibility=hidden -I. -I$(B) $(INCLUDES) -D_GNU_SOURCE $(WARN) $(CFLAGS_$(VARIANT)) -fPIC \
          -pthread -ffp-contract=off $(CPPFLAGS) $(CFLAGS)
COMPILE_CXX = $(CXX) -std=c++17 -fvisibility=hidden -I. -I$(B) -Wall -Wextra $(WERROR) $(CFLAGS_$(VARIANT)) -fPIC -pthread
LINKER  = $(CC) $(CFLAGS_$(VARIANT)) -pthread $(CFLAGS) $(LDFLAGS)
LIBRARIES = -ljansson -lsqlite3 -lzstd -lpcre2-8 -lutf8proc -lm -ldl $(LDLIBS)

ISAS_x86_64  := base avx2 avx512 avx512vnni avx512bf16 amx
ISAS_aarch64 := neon
ISAS := $(ISAS_$(shell $(CC) -dumpmachine | cut -d- -f1))
# Sets of the same vector width share the objects of kernels/vector/.
width = $(if $(filter avx512%,$(1:amx=avx512)),avx512,$(1))
ISA_base := -march=x86-64
ISA_avx2 := -mavx2 -mfma -mf16c
ISA_avx512 := $(ISA_avx2) -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512
ISA_avx512vnni := $(ISA_avx512) -mavx512vnni
ISA_avx512bf16 := $(ISA_avx512vnni) -mavx512bf16
ISA_amx := $(ISA_avx512bf16) -mamx-tile -mamx-bf16 -mamx-int8
# Kernels: contraction for FMA, and vector maths without errno or traps; sums are never reordered. Default
# visibility prevents inlining of global kernels, which would contract other sums. Sanitizers need no -O3.
KFLAGS_tsan := -O2
KFLAGS_asan := -O2 -fno-sanitize=null,alignment,pointer-overflow
KFLAGS := $(or $(KFLAGS_$(VARIANT)),-O3) -fvisibility=default -ffp-contract=fast -fopenmp-simd -fno-math-errno -fno-trapping-math

FLAGS = $(COMPILE) $(COMPILE_CXX) $(KFLAGS) $(foreach i,$(ISAS),$(ISA_$(i))) $(LINKER) $(LIBRARIES) \
        $(foreach s,$(SHARED) clang,$(LIBS_$(s)) $(FLAGS_$(s)))

# ---- sources: each module of tests/lint/rooms is an archive; the linker takes users first ----
MODULES := $(shell awk '/^[a-z]/ { all = $$1 ":" $$2 " " all } END { print all }' tests/lint/rooms)
SHARED := peer spm mpi nccl microhttpd
PARTS_device := cpu ref mock cuda
PARTS_program := op run prove
sources = $(filter-out cmd/main.c,$(wildcard $(addsuffix /*.c,$(2) $(addprefix $(2)/,$(PARTS_$(1))))))
module = SRC_$(1) := $(call sources,$(1),$(2))$(if $(call sources,$(1),$(2)),$(eval ROOMS += $(1)))
$(foreach m,$(MODULES),$(eval $(call module,$(word 1,$(subst :, ,$(m))),$(word 2,$(subst :, ,$(m))))))
shared_of = $(foreach s,$(1),$(eval SRC_$(notdir $(s)) := $(wildcard $(s)/*.c)))
$(call shared_of,$(addprefix runtime/,device/peer source/clang source/flang link/mpi link/nccl) infer/serve/microhttpd)
SRC_spm     := $(wildcard tokenizer/sentencepiece/*.cc)
SRC_main    := $(wildcard cmd/main.c)
KERNELS     := $(wildcard runtime/device/cpu/kernels/*.c)
VECTORS     := $(wildcard runtime/device/cpu/kernels/vector/*.c)
FORMATTED   := $(shell find runtime tokenizer corpus model train infer eval cmd tests -name '*.[ch]' -o -name '*.cc')

obj = $(patsubst %,$(B)/%.o,$(basename $(1)))
OBJ_device_isa := $(foreach i,$(ISAS),$(patsubst %.c,$(B)/%.$(i).o,$(KERNELS) $(if $(filter $(i),$(call width,$(i))),$(VECTORS))))
OBJECTS := $(foreach r,$(ROOMS) main,$(call obj,$(SRC_$(r)))) $(OBJ_device_isa)
LIBS := $(foreach r,$(ROOMS),$(B)/libhpc-$(r).a)
PROGRAM := $(if $(SRC_main),$(B)/hpccoder)
DOCS := $(if $(SRC_main),$(B)/man/done $(B)/hpccoder.bash)
OPENED := $(foreach s,$(SHARED) clang flang,$(if $(SRC_$(s)),$(if $(LIBS_$(s)),$(B)/hpccoder-$(s)$(if $(filter $(SHARED),$(s)),.so))))
include runtime/device/cuda/cuda.mk

# $(B)/FLAGS and $(B)/OBJECTS hold these texts and change with them: everything is made again when
# the compiler or a flag changes, and archives when a source has gone.
define remember
ifneq ($$(strip $$($(1))),$$(file <$(B)/$(1)))
$$(shell mkdir -p $(B))$$(file >$(B)/$(1),$$(strip $$($(1))))
endif
endef
ifneq ($(CONFIGURED),)
$(foreach t,FLAGS OBJECTS,$(eval $(call remember,$(t))))
endif

all: $(LIBS) $(PROGRAM) $(OPENED) $(CUDA_SHIM) $(DOCS) ## build: build everything that this machine can build
objects: $(OBJECTS) ## build: compile the product and link nothing, for another architecture

# Of an included file: made first, and again when config.sh or what was asked for has changed.
$(B)/config.mk: config.sh $(if $(filter-out $(CUDA),$(or $(CONFIG_CUDA),$(CUDA))),force)
	@CC='$(CC)' CUDA='$(CUDA)' sh config.sh $(B)

define archive
$(B)/$(1).a: $(call obj,$(SRC_$(2))) $(OBJ_$(2)_isa) $(B)/OBJECTS
	$$(call say,AR)
	$$(Q)mkdir -p $$(@D) && rm -f $$@ && $$(AR) rcs $$@ $$(filter %.o,$$^)
endef
$(foreach r,$(ROOMS),$(eval $(call archive,libhpc-$(r),$(r))))

define isa
$(B)/%.$(1).o: %.c $(B)/FLAGS
	$$(call say,CC)
	$$(Q)mkdir -p $$(@D) && $$(COMPILE) $$(KFLAGS) $$(ISA_$(1)) -DHPC_ISA_NAME=$(1) -DHPC_WIDTH_NAME=$(call width,$(1)) -MMD -MP \
	    -c $$< -o $$@
endef
$(foreach i,$(ISAS),$(eval $(call isa,$(i))))

$(B)/%.o: %.c $(B)/FLAGS
	$(call say,CC)
	$(Q)mkdir -p $(@D) && $(COMPILE) -MMD -MP -c $< -o $@

# The reference runs on one thread, and the tests wait for it longest.
$(B)/runtime/device/ref/%.o: CFLAGS_tsan += -fno-sanitize=thread -O2
$(B)/runtime/device/ref/%.o: CFLAGS_asan += $(KFLAGS_asan)

$(B)/hpccoder: $(B)/cmd/main.o $(LIBS)
	$(call say,LINK)
	$(Q)$(LINKER) $< -Wl,--start-group $(LIBS) -Wl,--end-group $(LIBRARIES) -o $@

# Libraries in shared objects that the program opens at run time.
define shared
$(B)/hpccoder-$(1).so: $(call obj,$(SRC_$(1)))
	$$(call say,LINK)
	$$(Q)$$(LINKER) -shared $$^ $$(LIBS_$(1)) -lm -o $$@
$(call obj,$(SRC_$(1))): INCLUDES := $$(FLAGS_$(1))
endef
$(foreach s,$(SHARED),$(eval $(call shared,$(s))))
$(call obj,$(SRC_clang)): INCLUDES := $(FLAGS_clang)
$(B)/hpccoder-clang: $(call obj,$(SRC_clang)) $(B)/libhpc-source.a $(B)/libhpc-base.a
	$(call say,LINK)
	$(Q)$(LINKER) $^ $(LIBS_clang) $(LIBRARIES) -o $@
# The headers of flang take half a minute to compile, so its files are one unit.
UNITS_flang := $(wildcard runtime/source/flang/*.cc)
$(B)/runtime/source/flang/all.cc: $(UNITS_flang)
	$(Q)mkdir -p $(@D) && printf '#include "%s"\n' $^ >$@
$(B)/runtime/source/flang/all.o: $(B)/runtime/source/flang/all.cc $(B)/FLAGS $(B)/config.mk
	$(call say,CXX)
	$(Q)$(COMPILE_CXX) $(FLAGS_flang) -I. -I$(B) -MMD -MP -c $< -o $@
$(B)/runtime/source/flang/all.o: CFLAGS_release := -O1
$(B)/runtime/source/flang/all.o: CFLAGS_asan := -O1
$(B)/runtime/source/flang/all.o: CFLAGS_tsan := -O1
$(B)/hpccoder-flang: $(call obj,$(SRC_flang)) $(B)/runtime/source/flang/all.o $(B)/libhpc-source.a $(B)/libhpc-base.a
	$(call say,LINK)
	$(Q)$(CXX) $(CFLAGS_$(VARIANT)) -pthread $(LDFLAGS) -s -Wl,--gc-sections $^ $(LIBS_flang) $(LIBRARIES) -o $@
$(B)/infer/verify/tools.o: $(wildcard infer/verify/witness/*)

$(B)/%.o: %.cc $(B)/FLAGS
	$(call say,CXX)
	$(Q)mkdir -p $(@D) && $(COMPILE_CXX) -MMD -MP -c $< -o $@

$(B)/man/done: $(B)/hpccoder
	$(call say,MAN)
	$(Q)rm -rf $(@D) && mkdir -p $(@D) && $< --man-pages $(@D) && touch $@
$(B)/hpccoder.bash: $(B)/hpccoder
	$(call say,GEN)
	$(Q)$< --completion bash > $@.new && mv $@.new $@

include tests/tests.mk

demo: deps ## build: install packages, build, and show a completion, directives and a prediction
	@$(MAKE) all
	@sh pilot/demo.sh $(B)/hpccoder

model: all ## build: install the default model in the user's data folder; pip gets its base
	@sh recipes/install.sh $(B)/hpccoder

deps: ## build: install the packages that the build needs
	@sh config.sh --install build peer
deps-check: ## build: the same, and those that the tests need
	@sh config.sh --install build peer check
deps-lint: ## build: the same, and those that lint needs
	@sh config.sh --install build peer check lint

lint: deps-lint ## style: run the formatter, static analysis and the checks of tests/lint
	@$(MAKE) lint-run
lint-run: $(LIBS) $(PROGRAM)
	@CC='$(CC)' sh tests/lint/run.sh $(B)
format: ## style: format all C files
	clang-format-14 -i $(FORMATTED)

root = $(DESTDIR)$(PREFIX)
install: all ## build: install program, man pages, completion and documentation (PREFIX=, DESTDIR=)
	install -D -m 755 $(B)/hpccoder $(root)/bin/hpccoder
	install -D -m 644 -t $(root)/share/man/man1 $(B)/man/man1/*.1
	install -D -m 644 $(B)/hpccoder.bash $(root)/share/bash-completion/completions/hpccoder
	mkdir -p $(root)/share/hpccoder && cp -R share/. $(root)/share/hpccoder && chmod -R a+rX $(root)/share/hpccoder
	$(if $(OPENED),install -D -m 755 -t $(root)/lib/hpccoder $(OPENED))

clean: ## build: remove build/
	rm -rf build
help: ## build: list these targets
	@awk -f docs/help.awk $(filter %Makefile docs/% tests/%,$(MAKEFILE_LIST))

ifneq ($(CONFIGURED),)
-include $(shell find $(B) -name '*.d' 2>/dev/null)
endif
.DEFAULT_GOAL := all
.PHONY: all model objects demo deps deps-check deps-lint lint lint-run format install clean help force
.SECONDARY .DELETE_ON_ERROR:
