/*
 * settings.c: reads the settings of a CUDA device: "graphs=off", and for the shim a schedule and
 * what its driver answers, as "permuted memory=1000000".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/device/cuda/cuda.h"

const char *const hpc_cuda_schedules[] = {"ascending", "descending", "permuted", NULL};

typedef struct word {
    const char *text;
    size_t n;
} word;

static bool is_word(const word *w, const char *name)
{
    return strlen(name) == w->n && strncmp(w->text, name, w->n) == 0;
}

/* The number of "NAME=NUMBER". */
static bool has_number(long long *out, const word *w, const char *name)
{
    const size_t n = strlen(name);
    char *end;
    if (w->n <= n + 1 || strncmp(w->text, name, n) != 0 || w->text[n] != '=') return false;
    *out = strtoll(w->text + n + 1, &end, 10);
    return end == w->text + w->n && *out >= 0;
}

static bool read_shim(hpc_cuda_settings *s, const word *w)
{
    long long n = 0;
    for (int k = 0; hpc_cuda_schedules[k]; k++)
        if (is_word(w, hpc_cuda_schedules[k])) {
            s->schedule = k;
            return true;
        }
    if (w->n > 3 && strncmp(w->text, "lt-", 3) == 0 && !s->lt) {
        s->lt = true;
        return read_shim(s, &(word){.text = w->text + 3, .n = w->n - 3});
    }
    if (has_number(&n, w, "driver")) return s->driver = (int)n, true;
    if (has_number(&n, w, "devices")) return s->devices = (int)n, true;
    if (has_number(&n, w, "architecture")) return s->architecture = (int)n, true;
    if (has_number(&n, w, "memory")) return s->memory = (size_t)n, true;
    if (has_number(&n, w, "others")) return s->others = (size_t)n, true;
    if (has_number(&n, w, "full-at")) return s->full_at = (int)n, true;
    if (has_number(&n, w, "lost-at")) return s->lost_at = (int)n, true;
    return false;
}

static bool read_word(hpc_cuda_settings *s, const word *w, bool shim)
{
    const bool off = is_word(w, "graphs=off");
    if (off || is_word(w, "graphs=on")) {
        s->graphs = !off;
        return true;
    }
    return shim && read_shim(s, w);
}

int hpc_cuda_settings_read(hpc_cuda_settings *out, const char *text, bool shim, char *why)
{
    *out = (hpc_cuda_settings){.graphs = true, .driver = 13000, .devices = 1, .architecture = 90};
    for (word w = {.text = text ? text : ""}; *w.text; w.text += w.n) {
        w.text += strspn(w.text, " ");
        w.n = strcspn(w.text, " ");
        if (w.n == 0 || read_word(out, &w, shim)) continue;
        snprintf(why, HPC_CUDA_TEXT, "no %s '%.*s': use %sgraphs=on or graphs=off",
                 shim ? "schedule or setting" : "setting", (int)w.n, w.text,
                 shim ? "ascending, descending, permuted, " : "");
        return 1;
    }
    return 0;
}
