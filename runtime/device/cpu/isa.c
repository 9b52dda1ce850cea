/*
 * isa.c: detects which of the compiled instruction sets this CPU and its operating system support,
 * and how many CPUs this process may use.
 */
#include <sched.h>
#include <stdio.h>

#include "runtime/device/cpu/priv.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool has_base(void)
{
    return true;
}

static bool has_avx2(void)
{
    unsigned a, b, c = 0, d; /* not every compiler's cpu_supports knows f16c */
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_F16C)) return false;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

static bool has_avx512vnni(void)
{
    return has_avx512() && __builtin_cpu_supports("avx512vnni");
}

static bool has_avx512bf16(void)
{
    return has_avx512vnni() && __builtin_cpu_supports("avx512bf16");
}

/* Linux gives a process the large registers of AMX only when it asks; all its threads have them
 * then. */
static bool has_amx(void)
{
    enum { TILES = 1 << 24, TILES_BF16 = 1 << 22, TILES_I8 = 1 << 25 };
    enum { ASK = 0x1023, TILE_DATA = 18 }; /* ARCH_REQ_XCOMP_PERM */
    unsigned a, b, c, d = 0, all = TILES | TILES_BF16 | TILES_I8;

    if (!has_avx512bf16() || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d & all) != all)
        return false;
    return syscall(SYS_arch_prctl, ASK, TILE_DATA) == 0;
}
#else
static bool has_neon(void)
{
    return true;
} /* part of the architecture */
#endif

typedef struct isa {
    const char *name;
    const hpc_kernels *kernels;
    bool (*has)(void);
} isa;

/* Best first; each needs all that those after it need. */
static const isa isas[] = {
#if defined(__x86_64__)
    {"amx", &hpc_cpu_kernels_amx, has_amx},
    {"avx512bf16", &hpc_cpu_kernels_avx512bf16, has_avx512bf16},
    {"avx512vnni", &hpc_cpu_kernels_avx512vnni, has_avx512vnni},
    {"avx512", &hpc_cpu_kernels_avx512, has_avx512},
    {"avx2", &hpc_cpu_kernels_avx2, has_avx2},
    {"base", &hpc_cpu_kernels_base, has_base},
#else
    {"neon", &hpc_cpu_kernels_neon, has_neon},
#endif
};
enum { ISA_N = sizeof isas / sizeof isas[0] };

static int best(void)
{
    int i = 0;
    while (!isas[i].has()) i++; /* the last one always is there */
    return i;
}

const char *const *hpc_device_isas(void)
{
#if defined(__x86_64__)
    static const char *const names[] = {"amx",  "avx512bf16", "avx512vnni", "avx512",
                                        "avx2", "base",       NULL};
#else
    static const char *const names[] = {"neon", NULL};
#endif
    _Static_assert(sizeof names / sizeof names[0] == ISA_N + 1, "one name for each set");
    return names + best();
}

int hpc_cpu_kernels_find(const hpc_kernels **out, const char **name, const char *wanted)
{
    char here[128] = "";
    size_t used = 0;
    bool built = false;
    for (int i = 0; i < ISA_N; i++) {
        bool fits = !wanted || strcmp(isas[i].name, wanted) == 0;
        built = built || fits;
        if (!isas[i].has()) continue;
        if (fits) {
            *out = isas[i].kernels;
            *name = isas[i].name;
            return 0;
        }
        if (used < sizeof here) {
            used += (size_t)snprintf(here + used, sizeof here - used, "%s%s", used > 0 ? ", " : "",
                                     isas[i].name);
        }
    }
    return hpc_fail(HPC_E_UNSUPPORTED, "%s instruction set '%s'; this one runs %s",
                    built ? "this CPU lacks the" : "this build has no", wanted, here);
}

int hpc_cpu_threads(int wanted)
{
    cpu_set_t set[64]; /* 65536 CPUs: the kernel rejects a mask that is too short */
    if (wanted > 0) return wanted;
    CPU_ZERO_S(sizeof set, set);
    /* A sandbox may forbid the question; one worker always works. */
    return sched_getaffinity(0, sizeof set, set) == 0 ? CPU_COUNT_S(sizeof set, set) : 1;
}
