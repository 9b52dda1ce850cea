/*
 * gguf.h: for tests of GGUF models: fixtures of the families, comparison of models, and access to
 * a file.
 */
#ifndef HPC_TESTS_MODEL_GGUF_H
#define HPC_TESTS_MODEL_GGUF_H

#include <limits.h>
#include <stdio.h>

#include "model/priv.h"
#include "tests/support/folder.h"
#include "tests/support/model.h"

#define FIXTURE "tests/fixtures/families/"

static inline int read_from(float *out, const hpc_model_tensor *t, void *user)
{
    return hpc_weights_read(out, user, t);
}

static inline hpc_model_config fixture(const char *name, hpc_weights **w)
{
    char path[PATH_MAX];
    hpc_model_config c;
    snprintf(path, sizeof path, FIXTURE "%s", name);
    test_ok(hpc_model_config_read(&c, path));
    if (w) test_ok(hpc_weights_open(w, path, &c));
    return c;
}

static inline void same_config(const hpc_model_config *a, const hpc_model_config *b)
{
    double x = 0, y = 0;
    hpc_model_config other = *b;
    other.init_std = a->init_std;
    const char *key = model_config_difference(&x, &y, a, &other);
    if (key) print_error("%s: %g, %g\n", key, x, y);
    assert_null(key);
    assert_string_equal(a->family, b->family);
}

/* Stores a remark; the last one is kept. */
static inline void keep(const char *line, void *user)
{
    snprintf(user, 400, "%s", line);
}

static inline int64_t number(const char *path, const char *key)
{
    hpc_gguf *g;
    int64_t n;
    test_ok(hpc_gguf_open(&g, path));
    test_ok(model_gguf_int(&n, g, key, MODEL_REQUIRED));
    hpc_gguf_close(g);
    return n;
}

#endif
