/*
 * library.c: loads the functions of libgit2 by name, and reads its errors. The version was
 * fixed when this was built; no other is tried.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "runtime/git/priv.h"

#define FUNCTION(name)                                                                             \
    {                                                                                              \
        "git_" #name, offsetof(git_library, name)                                                  \
    }

static const struct {
    const char *name;
    size_t at;
} functions[] = {
    FUNCTION(libgit2_init),
    FUNCTION(libgit2_opts),
    FUNCTION(error_last),
    FUNCTION(repository_open_bare),
    FUNCTION(repository_free),
    FUNCTION(repository_path),
    FUNCTION(repository_commondir),
    FUNCTION(config_open_ondisk),
    FUNCTION(config_free),
    FUNCTION(config_iterator_new),
    FUNCTION(config_iterator_free),
    FUNCTION(config_next),
    FUNCTION(reference_iterator_new),
    FUNCTION(reference_iterator_free),
    FUNCTION(reference_next),
    FUNCTION(reference_free),
    FUNCTION(reference_name),
    FUNCTION(reference_name_to_id),
    FUNCTION(reference_target),
    FUNCTION(reference_symbolic_target),
    FUNCTION(odb_new),
    FUNCTION(odb_free),
    FUNCTION(odb_refresh),
    FUNCTION(odb_add_backend),
    FUNCTION(odb_backend_pack),
    FUNCTION(odb_read),
    FUNCTION(odb_read_header),
    FUNCTION(odb_object_free),
    FUNCTION(odb_object_data),
    FUNCTION(odb_object_size),
    FUNCTION(odb_object_type),
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };
_Static_assert(FUNCTIONS * sizeof(void (*)(void)) == sizeof(git_library), "all of them");

static int missing(const char *name)
{
    const char *why = dlerror();
    return hpc_fail(HPC_E_UNSUPPORTED,
                    "git repositories cannot be read: %.300s; install libgit2, or rebuild",
                    why ? why : name);
}

/* Closed at once, but not unloaded: it is counted by libgit2 and used by threads that end later. */
int git_library_open(git_library *out, const char *name)
{
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    int rc = HPC_OK;
    if (!handle) return missing(name);
    for (int k = 0; k < FUNCTIONS; k++) {
        void *f = dlsym(handle, functions[k].name);
        if (!f) TRY(missing(name));
        memcpy((char *)out + functions[k].at, &f, sizeof f);
    }
out:
    dlclose(handle);
    return rc;
}

const char *git_reason(const git_library *l, char out[200])
{
    const git_error *e = l->error_last();
    snprintf(out, 200, "%s", e && e->message && e->message[0] ? e->message : "no reason given");
    for (char *p = out; *p; p++)
        if ((unsigned char)*p < ' ') *p = ' ';
    return out;
}

bool git_ran_out(const git_library *l)
{
    const git_error *e = l->error_last();
    return e && e->klass == GIT_ERROR_NOMEMORY;
}
