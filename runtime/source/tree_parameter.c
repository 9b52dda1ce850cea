/*
 * tree_parameter.c: marks parameters that are declared as arrays. Their type is a
 * pointer, and libclang's type does not show the difference.
 */
#include <string.h>

#include "runtime/source/tree_priv.h"

/* The type "pointer to `to`", created if it does not exist. */
static int tree_pointer_to(int32_t *out, hpc_tree *t, int32_t to)
{
    for (int64_t i = 0; i < t->types_n; i++)
        if (t->type[i].kind == HPC_TYPE_POINTER && t->type[i].flags == 0 && t->type[i].to == to) {
            *out = (int32_t)i;
            return HPC_OK;
        }
    hpc_tree_type *more = hpc_alloc((size_t)t->types_n + 1, sizeof *more);
    if (!more) return HPC_E_NOMEM;
    memcpy(more, t->type, (size_t)t->types_n * sizeof *more);
    hpc_free(t->type);
    t->type = more;
    t->type[t->types_n] =
        (hpc_tree_type){.kind = HPC_TYPE_POINTER, .to = to, .bytes = sizeof(void *)};
    *out = (int32_t)t->types_n++;
    return HPC_OK;
}

int tree_parameters(hpc_tree *t)
{
    int rc = HPC_OK;
    for (int64_t v = 0; v < t->symbols_n; v++) {
        hpc_symbol *x = &t->symbol[v];
        if (x->kind != HPC_SYMBOL_PARAMETER || x->type < 0) continue;
        if (t->type[x->type].kind != HPC_TYPE_ARRAY) continue;
        TRY(tree_pointer_to(&x->type, t, t->type[x->type].to));
    }
    for (int64_t i = 0; i < t->n; i++) {
        hpc_tree_node *n = &t->node[i];
        bool names = n->kind == HPC_TREE_NAME || n->kind == HPC_TREE_VARIABLE;
        if (names && n->symbol >= 0 && t->symbol[n->symbol].kind == HPC_SYMBOL_PARAMETER &&
            n->type >= 0 && t->type[n->type].kind == HPC_TYPE_ARRAY)
            n->type = t->symbol[n->symbol].type;
    }
out:
    return rc;
}
