/*
 * peers.c: the shared object with the products of other libraries, and the environment variables
 * that configure these libraries before they start.
 *
 * It is never unloaded: the libraries' threads outlive every call.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "eval/bench/priv.h"

struct hpc_bench_peers {
    const hpc_peer *const *list;
};

/* A library that does not know the CPU falls back on old kernels; one that knows more than the
 * instruction set being measured is held back. What the user has set stays. */
static const struct {
    const char *isa, *variable, *value;
} settings[] = {
    {"amx", "OPENBLAS_CORETYPE", "SkylakeX"},
    {"avx512bf16", "OPENBLAS_CORETYPE", "SkylakeX"},
    {"avx512bf16", "ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16"},
    {"avx512vnni", "OPENBLAS_CORETYPE", "SkylakeX"},
    {"avx512vnni", "ONEDNN_MAX_CPU_ISA", "AVX512_CORE_VNNI"},
    {"avx512", "OPENBLAS_CORETYPE", "SkylakeX"},
    {"avx512", "ONEDNN_MAX_CPU_ISA", "AVX512_CORE"},
    {"avx2", "OPENBLAS_CORETYPE", "Haswell"},
    {"avx2", "ONEDNN_MAX_CPU_ISA", "AVX2"},
    {"base", "OPENBLAS_CORETYPE", "Prescott"},
    {"base", "ONEDNN_MAX_CPU_ISA", "SSE41"},
};

static int tell_libraries(const char *isa, int threads)
{
    char text[16];
    snprintf(text, sizeof text, "%d", threads);
    bool failed = setenv("OMP_NUM_THREADS", text, 1) != 0;
    for (size_t k = 0; k < sizeof settings / sizeof *settings; k++)
        if (strcmp(settings[k].isa, isa) == 0)
            failed = setenv(settings[k].variable, settings[k].value, 0) != 0 || failed;
    return failed ? hpc_fail_os(HPC_E_NOMEM, "cannot set the environment of the peers") : HPC_OK;
}

/* The executable's folder, without a final slash. */
static int program_folder(char out[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", out, PATH_MAX - 1);
    if (n < 0) return hpc_fail_os(HPC_E_IO, "cannot find the path of this program");
    out[n] = '\0';
    char *slash = strrchr(out, '/');
    if (slash) *slash = '\0';
    return HPC_OK;
}

/* NULL with a note of why. */
static void *open_object(char note[BENCH_TEXT], const char *folder)
{
    static const char *const places[] = {"hpccoder-peer.so", "../lib/hpccoder/hpccoder-peer.so"};
    snprintf(note, BENCH_TEXT,
             "hpccoder-peer.so is missing: this build found neither oneDNN nor OpenBLAS");
    for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
        char path[PATH_MAX];
        if (snprintf(path, sizeof path, "%s/%s", folder, places[k]) >= (int)sizeof path) continue;
        if (!hpc_file_exists(path)) continue;
        void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        if (object) return object;
        snprintf(note, BENCH_TEXT, "%s", dlerror());
    }
    return NULL;
}

int hpc_bench_peers_open(hpc_bench_peers **out, char note[BENCH_TEXT], const char *isa, int threads)
{
    char folder[PATH_MAX];
    int rc;
    *out = NULL;
    TRY(program_folder(folder));
    TRY(tell_libraries(isa, threads));
    void *object = open_object(note, folder);
    const hpc_peer *const *list = object ? dlsym(object, HPC_PEER_SYMBOL) : NULL;
    if (object && !list) snprintf(note, BENCH_TEXT, "hpccoder-peer.so has no %s", HPC_PEER_SYMBOL);
    if (!list) return HPC_OK;
    hpc_bench_peers *p = hpc_alloc(1, sizeof *p);
    if (!p) TRY(HPC_E_NOMEM);
    p->list = list;
    note[0] = '\0';
    *out = p;
out:
    return rc;
}

void hpc_bench_peers_close(hpc_bench_peers *p)
{
    hpc_free(p);
}

const hpc_peer *const *hpc_bench_peers_list(const hpc_bench_peers *p)
{
    return p->list;
}

bool hpc_bench_product(hpc_peer_product *out, const hpc_bench_job *job, int threads)
{
    const hpc_matmul_attr *at = (const hpc_matmul_attr *)job->attr;
    if (job->c->op != &hpc_op_matmul || job->extent_n != 3) return false;
    if ((job->packed && at->trans_b) || job->dtype != job->weights || at->act != HPC_ACT_NONE ||
        at->alpha != 1)
        return false;
    if (at->symmetric || (at->halves && job->dtype == HPC_F32))
        return false; /* not the same work */
    *out = (hpc_peer_product){.m = job->shape[0],
                              .k = job->shape[1],
                              .n = job->shape[2],
                              .trans_a = at->trans_a,
                              .trans_b = at->trans_b,
                              .dtype = job->dtype,
                              .threads = threads};
    return true;
}
