/*
 * traits.c: vendor and caches of the CPU, by CPUID or from the files of the kernel.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/device/cpu/priv.h"

#if defined(__x86_64__)
#include <cpuid.h>

static bool is_intel(void)
{
    unsigned a, b = 0, c = 0, d = 0;
    return __get_cpuid(0, &a, &b, &c, &d) && b == signature_INTEL_ebx && d == signature_INTEL_edx &&
           c == signature_INTEL_ecx;
}

/* Intel and AMD describe a cache in each subleaf of a leaf of their own, in the same layout. */
hpc_cpu_traits hpc_cpu_traits_read(const char *isa)
{
    enum { INTEL_CACHES = 4, AMD_CACHES = (int)0x8000001d, DATA = 1, UNIFIED = 3, MOST = 16 };
    const bool intel = is_intel();
    hpc_cpu_traits out = {.intel = intel && strcmp(isa, "amx") == 0};
    unsigned leaf = intel ? INTEL_CACHES : (unsigned)AMD_CACHES, a, b, c, d;
    for (unsigned k = 0; k < MOST && __get_cpuid_count(leaf, k, &a, &b, &c, &d); k++) {
        const unsigned type = a & 31, level = a >> 5 & 7, ways = (b >> 22) + 1;
        const size_t lines = (size_t)ways * ((b >> 12 & 1023) + 1) * ((size_t)c + 1);
        if (type == 0) break;
        if (type != DATA && type != UNIFIED) continue;
        if (level == 1) out.l1_ways = (int)ways;
        if (level == 2) out.l2_bytes = lines * ((b & 4095) + 1);
    }
    return out;
}
#else
/* A number in a file about a cache of the first CPU; 0: unknown. */
static size_t read_number(int index, const char *name)
{
    char path[96];
    hpc_buf text = {0};
    size_t n = 0;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, name);
    if (hpc_file_exists(path) && hpc_file_read(&text, path, 1 << 16) >= 0 && text.data)
        n = strtoul(text.data, NULL, 10);
    hpc_error_clear();
    hpc_buf_release(&text);
    return n;
}

hpc_cpu_traits hpc_cpu_traits_read(const char *isa)
{
    (void)isa;
    hpc_cpu_traits out = {.l1_ways = (int)read_number(0, "ways_of_associativity")};
    for (int index = 1; index < 4; index++)
        if (read_number(index, "level") == 2) out.l2_bytes = read_number(index, "size") << 10;
    return out;
}
#endif
