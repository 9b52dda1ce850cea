/*
 * probe.c: selects the probe of an instruction set by name.
 */
#include "runtime/device/cpu/priv.h"
#include "runtime/device/cpu/probe.h"

/* Defined by kernels/probe.c, once for each set. */
#if defined(__x86_64__)
extern const hpc_cpu_probe hpc_cpu_probe_base, hpc_cpu_probe_avx2, hpc_cpu_probe_avx512,
    hpc_cpu_probe_avx512vnni, hpc_cpu_probe_avx512bf16, hpc_cpu_probe_amx;
#else
extern const hpc_cpu_probe hpc_cpu_probe_neon;
#endif

static const struct {
    const char *isa;
    const hpc_cpu_probe *probe;
} probes[] = {
#if defined(__x86_64__)
    {"base", &hpc_cpu_probe_base},
    {"avx2", &hpc_cpu_probe_avx2},
    {"avx512", &hpc_cpu_probe_avx512},
    {"avx512vnni", &hpc_cpu_probe_avx512vnni},
    {"avx512bf16", &hpc_cpu_probe_avx512bf16},
    {"amx", &hpc_cpu_probe_amx},
#else
    {"neon", &hpc_cpu_probe_neon},
#endif
};

int hpc_cpu_probe_find(const hpc_cpu_probe **out, const char *isa)
{
    const hpc_kernels *kernels;
    const char *name;
    int rc = hpc_cpu_kernels_find(&kernels, &name, isa); /* rejects a set that this CPU lacks */
    if (rc < 0) return rc;
    for (size_t k = 0; k < sizeof probes / sizeof *probes; k++) {
        if (strcmp(probes[k].isa, name) != 0) continue;
        *out = probes[k].probe;
        return HPC_OK;
    }
    return hpc_fail(HPC_E_UNSUPPORTED, "no probe for the instruction set '%s'", name);
}
