# hpccoder: one Makefile for everything. `make help` lists the targets.
VARIANT ?= release
CC      ?= gcc
B       := build/$(VARIANT)

-include $(B)/config.mk
CFLAGS_release := -O2 -g
CFLAGS_debug   := -O0 -g
CFLAGS_asan    := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
CFLAGS_tsan    := -O1 -g -fsanitize=thread -fno-omit-frame-pointer
WARN    := -Wall -Wextra -Werror -Wundef -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla
CPPFLAGS += -I. -I$(B) -D_GNU_SOURCE
CFLAGS  += -std=c11 $(WARN) $(CFLAGS_$(VARIANT)) -fPIC -pthread -ffp-contract=off
LDFLAGS += $(CFLAGS_$(VARIANT)) -pthread
LDLIBS  += -ljansson -lm -ldl

ARCH := $(shell $(CC) -dumpmachine | cut -d- -f1)
ISAS_x86_64  := base avx2 avx512 avx512bf16
ISAS_aarch64 := neon
ISAS := $(ISAS_$(ARCH))
ISA_base := -march=x86-64
ISA_avx2 := -mavx2 -mfma -mf16c
ISA_avx512 := $(ISA_avx2) -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512
ISA_avx512bf16 := $(ISA_avx512) -mavx512bf16 -mavx512vnni
# Kernels: contraction for FMA, and vector maths without errno or traps; sums are never reordered.
KFLAGS := -O3 -ffp-contract=fast -fopenmp-simd -fno-math-errno -fno-trapping-math

# Each room is an archive, in the order in which they may know each other.
ROOMS := base device link program model
SRC_base    := $(wildcard runtime/base/*.c)
SRC_device  := $(wildcard runtime/device/*.c runtime/device/cpu/*.c runtime/device/ref/*.c runtime/device/mock/*.c)
SRC_link    := $(wildcard runtime/link/*.c)
SRC_program := $(wildcard runtime/program/*.c runtime/program/op/*.c runtime/program/run/*.c)
SRC_model   := $(wildcard model/*.c)
KERNELS     := $(wildcard runtime/device/cpu/kernels/*.c)

obj = $(patsubst %.c,$(B)/%.o,$(1))
OBJ_device_isa := $(foreach i,$(ISAS),$(patsubst %.c,$(B)/%.$(i).o,$(KERNELS)))
LIBS := $(foreach r,$(ROOMS),$(B)/libhpc-$(r).a)
LINK := $(foreach r,model program link device base,$(B)/libhpc-$(r).a)

all: $(LIBS)

define room
$(B)/libhpc-$(1).a: $(call obj,$(SRC_$(1))) $(OBJ_$(1)_isa)
	@rm -f $$@; $(AR) rcs $$@ $$^
endef
$(foreach r,$(ROOMS),$(eval $(call room,$(r))))

define isa
$(B)/%.$(1).o: %.c
	@mkdir -p $$(@D)
	$$(CC) $$(CPPFLAGS) $$(CFLAGS) $$(KFLAGS) $$(ISA_$(1)) -DHPC_ISA_NAME=$(1) -MMD -MP -c $$< -o $$@
endef
$(foreach i,$(ISAS),$(eval $(call isa,$(i))))

$(B)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

# Tests: tests/<room>/<file>.c is one program; tests/support/ is linked to all.
TEST_SRC := $(filter-out tests/support/%,$(wildcard tests/*/*.c))
TESTS := $(patsubst tests/%.c,$(B)/tests/%,$(TEST_SRC))
SUPPORT := $(call obj,$(wildcard tests/support/*.c))
WRAP := malloc calloc realloc aligned_alloc posix_memalign mmap open read write fsync rename ftruncate
$(B)/tests/%: $(B)/tests/%.o $(SUPPORT) $(LINK)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) $(addprefix -Wl$(comma)--wrap=,$(WRAP)) $< $(SUPPORT) -Wl,--start-group $(LINK) -Wl,--end-group -lcmocka $(LDLIBS) -o $@
comma := ,
tests: $(TESTS)

clean:
	rm -rf build
-include $(shell find $(B) -name '*.d' 2>/dev/null)
.PHONY: all tests clean
.SECONDARY:
