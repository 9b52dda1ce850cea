/*
 * library.c: opening of the shared objects that this build puts next to the program.
 */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/base.h"

int hpc_library_open(void **out, const char *file, const char *name, const char *package)
{
    static const char *const places[] = {"", "../lib/hpccoder/"};
    char program[PATH_MAX] = "", path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    char *slash = n > 0 ? strrchr(program, '/') : NULL;
    if (slash) slash[1] = '\0';
    snprintf(path, sizeof path, "%s", file ? file : "");
    for (size_t k = 0; !file && k < sizeof places / sizeof *places; k++) {
        int length = snprintf(path, sizeof path, "%s%s%s", program, places[k], name);
        if (length < (int)sizeof path && hpc_file_exists(path)) break;
        path[0] = '\0';
    }
    if (!path[0] || !hpc_file_exists(path))
        return hpc_fail(HPC_E_UNSUPPORTED, "%s is missing: install %s and rebuild", name, package);
    /* Global, because plug-ins of the library look for its symbols; never unloaded, because its
     * threads and handlers outlive every call. */
    *out = dlopen(path, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
    if (*out) return 0;
    return hpc_fail(HPC_E_UNSUPPORTED, "%s cannot be opened: %s", name, dlerror());
}
