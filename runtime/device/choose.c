/*
 * choose.c: devices by name: the form that users write.
 */
#include <stdio.h>
#include <stdlib.h>

#include "runtime/device/priv.h"

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
    return b ? (*out = b->name, HPC_OK) : fail_unknown(text);
}

int hpc_device_read(hpc_device_options *out, const char *text)
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
