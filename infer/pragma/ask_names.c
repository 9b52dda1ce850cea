/*
 * ask_names.c: the variables that a directive before a loop may name.
 */
#include "infer/pragma/ask_names.h"

#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A name that a directive grammar accepts. */
static bool is_plain(const char *name)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    return n > 0 && name[n] == '\0';
}

static bool may_be_named(const hpc_tree *t, int32_t loop, int32_t symbol)
{
    if (symbol < 0) return false;
    const hpc_symbol *v = &t->symbol[symbol];
    bool variable = v->kind == HPC_SYMBOL_VARIABLE || v->kind == HPC_SYMBOL_PARAMETER;
    bool inside = v->node > loop && v->node < t->node[loop].end;
    return variable && !inside && is_plain(t->name + v->name) && !t->name[v->scope];
}

int ask_names_find(ask_names *out, const hpc_tree *t, int32_t loop)
{
    int64_t n = 0;
    int rc = HPC_OK;
    for (int32_t i = loop; i < t->node[loop].end; i++) {
        if (t->node[i].kind != HPC_TREE_NAME || !may_be_named(t, loop, t->node[i].symbol)) continue;
        TRY(hpc_grow(&out->item, &out->cap, out->n + 1, sizeof *out->item));
        out->item[out->n++] = t->name + t->symbol[t->node[i].symbol].name;
    }
    if (out->n > 1) qsort(out->item, (size_t)out->n, sizeof *out->item, compare);
    for (int64_t k = 0; k < out->n; k++)
        if (n == 0 || strcmp(out->item[n - 1], out->item[k]) != 0) out->item[n++] = out->item[k];
    out->n = n;
out:
    return rc;
}

void ask_names_release(ask_names *names)
{
    hpc_free(names->item);
    *names = (ask_names){0};
}
