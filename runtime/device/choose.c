/*
 * choose.c: devices by name: the form that users write, and the list of those that this machine
 * has.
 */
#include <stdio.h>
#include <stdlib.h>

#include "runtime/device/priv.h"

/* Backends that users may ask for, and that this build does not have. */
static const struct {
    const char *name, *why;
} absent[] = {
    {"cuda", "not available yet, because kernels for attention, losses and block formats are "
             "missing; use cpu"},
};
enum { ABSENT_N = sizeof absent / sizeof *absent };

static int fail_unknown(const char *text)
{
    char known[128] = "";
    size_t used = 0;
    for (const char *const *k = hpc_device_backends(); *k; k++)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", *k);
    return hpc_fail(HPC_E_UNSUPPORTED, "unknown device '%s'; this build has %s", text, known);
}

static int find_name(const char **out, const char *text, size_t n)
{
    const hpc_backend *b = hpc_backend_named(text, n);
    if (b) return *out = b->name, HPC_OK;
    for (int k = 0; k < ABSENT_N; k++)
        if (strlen(absent[k].name) == n && strncmp(absent[k].name, text, n) == 0)
            return hpc_fail(HPC_E_UNSUPPORTED, "device %s: %s", text, absent[k].why);
    return fail_unknown(text);
}

int hpc_device_choose(hpc_device_options *out, const char *text)
{
    const char *colon = strchr(text, ':');
    size_t n = colon ? (size_t)(colon - text) : strlen(text);
    int rc = HPC_OK;
    TRY(find_name(&out->backend, text, n));
    if (!colon) goto out;
    char *end;
    long index = strtol(colon + 1, &end, 10);
    if (end == colon + 1 || *end || index < 0 || index > 1023)
        TRY(hpc_fail(HPC_E_ARG, "device '%s': write a number from 0 on after the colon, as %s:0",
                     text, out->backend));
    out->index = (int)index;
out:
    return rc;
}

int hpc_device_list(hpc_device_entry *out, int most)
{
    int n = hpc_device_entries(out, most);
    for (int k = 0; k < ABSENT_N && n < most; k++) {
        hpc_device_entry *e = &out[n++];
        *e = (hpc_device_entry){.usable = false};
        snprintf(e->name, sizeof e->name, "%s", absent[k].name);
        snprintf(e->about, sizeof e->about, "%s", absent[k].why);
    }
    return n;
}
