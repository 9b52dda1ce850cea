/*
 * gguf_value.c: typed access to values of GGUF files by key.
 *
 * Integers may have any width; an integer is accepted for a real.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/gguf_priv.h"

static int missing(const hpc_gguf *g, const char *key)
{
    return hpc_fail(HPC_E_FORMAT, "%s: key %s is missing", model_gguf_path(g), key);
}

static int other_kind(const hpc_gguf *g, const char *key, const char *want)
{
    return hpc_fail(HPC_E_FORMAT, "%s: key %s: expected %s", model_gguf_path(g), key, want);
}

int model_gguf_int(int64_t *out, const hpc_gguf *g, const char *key, int64_t fallback)
{
    const hpc_gguf_value *v = hpc_gguf_get(g, key);
    uint64_t bits = 0;
    *out = fallback;
    if (!v) return fallback == MODEL_REQUIRED ? missing(g, key) : HPC_OK;
    if (v->bytes <= sizeof bits && v->kind != HPC_GGUF_TEXT && v->kind != HPC_GGUF_LIST)
        memcpy(&bits, v->data, v->bytes);
    switch (v->kind) {
    case HPC_GGUF_U8:
    case HPC_GGUF_U16:
    case HPC_GGUF_U32:
    case HPC_GGUF_I64: *out = (int64_t)bits; return HPC_OK;
    case HPC_GGUF_I8: *out = (int8_t)bits; return HPC_OK;
    case HPC_GGUF_I16: *out = (int16_t)bits; return HPC_OK;
    case HPC_GGUF_I32: *out = (int32_t)bits; return HPC_OK;
    case HPC_GGUF_U64:
        if (bits > INT64_MAX) return other_kind(g, key, "a 63-bit integer");
        *out = (int64_t)bits;
        return HPC_OK;
    default: return other_kind(g, key, "an integer");
    }
}

/* As a double the shortest decimal that is this float: 1e-5 and not 9.99999975e-06. */
static double widened(float f)
{
    char text[32];
    for (int digits = 6; digits < 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)f);
        if (strtof(text, NULL) == f) return strtod(text, NULL);
    }
    return f;
}

int model_gguf_real(double *out, const hpc_gguf *g, const char *key, double fallback)
{
    const hpc_gguf_value *v = hpc_gguf_get(g, key);
    int64_t whole;
    float f;
    *out = fallback;
    if (!v) return fallback == MODEL_REQUIRED ? missing(g, key) : HPC_OK;
    if (v->kind == HPC_GGUF_F64) {
        memcpy(out, v->data, sizeof *out);
    } else if (v->kind == HPC_GGUF_F32) {
        memcpy(&f, v->data, sizeof f);
        *out = widened(f);
    } else {
        int rc = model_gguf_int(&whole, g, key, 0);
        if (rc < 0) return rc;
        *out = (double)whole;
    }
    return HPC_OK;
}

int model_gguf_bool(bool *out, const hpc_gguf *g, const char *key, bool fallback)
{
    const hpc_gguf_value *v = hpc_gguf_get(g, key);
    *out = fallback;
    if (!v) return HPC_OK;
    if (v->kind != HPC_GGUF_BOOL) return other_kind(g, key, "true or false");
    *out = *(const uint8_t *)v->data;
    return HPC_OK;
}

/* Cut to room - 1 bytes; absent: "". */
int model_gguf_text(char *out, size_t room, const hpc_gguf *g, const char *key)
{
    const hpc_gguf_value *v = hpc_gguf_get(g, key);
    out[0] = '\0';
    if (!v) return HPC_OK;
    if (v->kind != HPC_GGUF_TEXT) return other_kind(g, key, "a text");
    size_t n = v->bytes < room ? v->bytes : room - 1;
    memcpy(out, v->data, n);
    for (size_t i = 0; i < n; i++) /* used in one-line messages */
        if (out[i] < 0x20 || out[i] > 0x7E) out[i] = '?';
    out[n] = '\0';
    return HPC_OK;
}
