# cuda.mk: kernels for GPUs, compiled twice: by nvcc into hpccoder-cuda.so, if config.sh found CUDA, and
# by the C++ compiler into hpccoder-cuda-shim.so, which runs them on the CPU for tests.
#
# make CUDA_ARCHS=90 builds for one architecture. Sanitizers are for the shim, not for the GPU.
CUDA_ARCHS ?= 80 90
NVCC := $(CUDA_HOME_FOUND)/bin/nvcc
SRC_kernel := $(wildcard runtime/device/cuda/*.cu)
SRC_shim   := $(wildcard runtime/device/cuda/shim/*.cc)
# The thread sanitizer knows nothing of the shim's stacks.
CUDA_SHIM  := $(if $(filter tsan,$(VARIANT)),,$(B)/hpccoder-cuda-shim.so)
CUDA_GPU   := $(if $(filter 1release,$(HAVE_CUDA)$(VARIANT)),$(B)/hpccoder-cuda.so)
OPENED     += $(CUDA_GPU)

# No contraction: a sum on the CPU is rounded after each step, as the kernels are written.
COMPILE_SHIM = $(COMPILE_CXX) -DHPC_SIMT_SHIM=1 -ffp-contract=off -fno-exceptions
COMPILE_GPU = $(NVCC) -std=c++17 -O3 -DHPC_SIMT_SHIM=0 -I. -I$(B) -Xcompiler -fPIC,-fvisibility=hidden,-Wall \
    $(foreach a,$(CUDA_ARCHS),-gencode arch=compute_$(a),code=sm_$(a)) \
    -gencode arch=compute_$(firstword $(CUDA_ARCHS)),code=compute_$(firstword $(CUDA_ARCHS))
OBJ_shim := $(patsubst %.cu,$(B)/%.shim.o,$(filter-out %/driver.cu %/lt_open.cu,$(SRC_kernel))) $(patsubst %.cc,$(B)/%.shim.o,$(SRC_shim))
$(OBJ_shim): CFLAGS_asan += $(KFLAGS_asan)
OBJ_gpu  := $(patsubst %.cu,$(B)/%.gpu.o,$(SRC_kernel))

$(B)/%.shim.o: %.cu $(B)/FLAGS runtime/device/cuda/cuda.mk
	$(call say,SHIM)
	$(Q)mkdir -p $(@D) && $(COMPILE_SHIM) -MMD -MP -x c++ -c $< -o $@
$(B)/%.shim.o: %.cc $(B)/FLAGS runtime/device/cuda/cuda.mk
	$(call say,SHIM)
	$(Q)mkdir -p $(@D) && $(COMPILE_SHIM) -MMD -MP -c $< -o $@
# What ptxas says of registers, spills and shared memory is kept for tests/lint/ptxas.sh.
$(B)/%.gpu.o: %.cu $(B)/FLAGS runtime/device/cuda/cuda.mk
	$(call say,NVCC)
	$(Q)mkdir -p $(@D) && $(COMPILE_GPU) -MMD -MP -MF $(@:.o=.d) -Xptxas -v -c $< -o $@ >$(@:.o=.log) 2>&1 || \
	    { cat $(@:.o=.log) >&2; exit 1; }

$(CUDA_SHIM): $(OBJ_shim)
	$(call say,LINK)
	$(Q)$(CXX) $(CFLAGS_$(VARIANT)) -shared $^ -o $@
LINK_GPU = $(CXX) -shared
LIB_GPU  = -L$(CUDA_HOME_FOUND)/lib64 -Wl,-rpath,$(CUDA_HOME_FOUND)/lib64 -Wl,--exclude-libs,ALL -lcudart_static -lpthread -lrt -ldl
$(B)/hpccoder-cuda.so: $(OBJ_gpu)
	$(call say,LINK)
	$(Q)$(LINK_GPU) $^ $(LIB_GPU) -o $@

# Kernels with planted bugs, and of single primitives, for tests/cuda/planted.c and primitives.c.
$(B)/tests/cuda/%.so: $(OBJ_shim) $(B)/tests/cuda/%.shim.o
	$(call say,LINK)
	$(Q)$(CXX) $(CFLAGS_$(VARIANT)) -shared $^ -o $@
$(B)/tests/cuda/planted: $(B)/tests/cuda/planted.so
$(B)/tests/cuda/primitives: $(B)/tests/cuda/primitives.so

# The same primitives on a GPU: make check-gpu.
$(B)/tests/cuda/primitives-gpu.so: $(OBJ_gpu) $(B)/tests/cuda/primitives.gpu.o
	$(call say,LINK)
	$(Q)$(LINK_GPU) $^ $(LIB_GPU) -o $@
