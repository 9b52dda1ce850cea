/*
 * tree_wire.c: a tree as a message. The message is untrusted (check_wire.c), and users of a tree
 * check nothing, so reading checks everything that tree.h promises. Nodes are sent without
 * redundant fields: ends imply the parents, and a position implies its line.
 */
#include <string.h>

#include "runtime/source/tree_priv.h"

/* ---- writing -------------------------------------------------------------------------------- */

void tree_put(hpc_buf *b, const hpc_clang_tree *t)
{
    const size_t counts[] = {t->n, t->values_n, t->types_n, t->symbols_n, t->names_bytes, t->cut};
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) check_put(b, counts[k]);
    hpc_buf_add(b, t->node, t->n * sizeof *t->node);
    hpc_buf_add(b, t->value, t->values_n * sizeof *t->value);
    hpc_buf_add(b, t->type, t->types_n * sizeof *t->type);
    hpc_buf_add(b, t->symbol, t->symbols_n * sizeof *t->symbol);
    hpc_buf_add(b, t->name, t->names_bytes);
}

/* ---- reading -------------------------------------------------------------------------------- */

typedef struct taking {
    hpc_tree *t;
    check_reader *r;
    const uint8_t *node, *value; /* where they lie in the message */
    int64_t values_n;
    uint16_t *depth; /* by node */
    const char *text;
    size_t text_n;
} taking;

static int wrong(const char *what, int64_t i)
{
    return hpc_fail(HPC_E_FORMAT, "the process of libclang sent an invalid answer: %s %lld", what,
                    (long long)i);
}

/* n things in the message; NULL when they are not there. */
static const uint8_t *part(check_reader *r, uint64_t n, size_t size)
{
    const uint8_t *at = r->at;
    if (r->failed || n > (size_t)(r->end - r->at) / size) {
        r->failed = true;
        return NULL;
    }
    r->at += n * size;
    return at;
}

static int copy(void *array_ptr, check_reader *r, uint64_t n, size_t size)
{
    const uint8_t *from = part(r, n, size);
    if (!from) return wrong("it is too short by", (int64_t)n);
    void *data = hpc_alloc(n + 1, size);
    if (!data) return HPC_E_NOMEM;
    if (n > 0) memcpy(data, from, n * size);
    memcpy(array_ptr, &data, sizeof data);
    return HPC_OK;
}

static int take_parts(taking *k)
{
    hpc_tree *t = k->t;
    check_reader *r = k->r;
    const uint64_t n = check_get(r), values_n = check_get(r), types_n = check_get(r),
                   symbols_n = check_get(r), names_n = check_get(r);
    int rc;
    t->cut = check_get(r) != 0;
    if (n < 1 || n > INT32_MAX || types_n > INT32_MAX || symbols_n > INT32_MAX || names_n < 1 ||
        names_n > UINT32_MAX)
        return wrong("counts of a tree with nodes", (int64_t)n);
    k->node = part(r, n, sizeof(hpc_clang_node));
    k->value = part(r, values_n, sizeof(int64_t));
    TRY(copy(&t->type, r, types_n, sizeof *t->type));
    TRY(copy(&t->symbol, r, symbols_n, sizeof *t->symbol));
    TRY(copy(&t->name, r, names_n, 1));
    t->node = hpc_alloc(n, sizeof *t->node);
    k->depth = hpc_alloc(n, sizeof *k->depth);
    if (!t->node || !k->depth) return HPC_E_NOMEM;
    t->n = (int64_t)n;
    k->values_n = (int64_t)values_n;
    t->types_n = (int64_t)types_n;
    t->symbols_n = (int64_t)symbols_n;
    t->names_bytes = names_n;
    if (t->name[0] != '\0' || t->name[names_n - 1] != '\0') return wrong("names of bytes", 0);
out:
    return rc;
}

/* ---- types and symbols ---------------------------------------------------------------------- */

static bool is_type(const hpc_tree *t, int32_t i)
{
    return i >= -1 && i < t->types_n;
}

/* A type leads to one that came before it, so that no way through them is endless. */
static int check_types(const hpc_tree *t)
{
    for (int64_t i = 0; i < t->types_n; i++) {
        const hpc_tree_type *p = &t->type[i];
        const bool leads = p->kind == HPC_TYPE_POINTER || p->kind == HPC_TYPE_ARRAY ||
                           p->kind == HPC_TYPE_REFERENCE;
        if (p->kind > HPC_TYPE_FUNCTION || p->name >= t->names_bytes || p->bytes < -1 ||
            p->n < -1 || (leads ? p->to < 0 || p->to >= i : p->to != -1))
            return wrong("type", i);
    }
    return HPC_OK;
}

static int check_symbols(const hpc_tree *t)
{
    for (int64_t i = 0; i < t->symbols_n; i++) {
        const hpc_symbol *s = &t->symbol[i];
        if (s->kind > HPC_SYMBOL_CONSTANT || !is_type(t, s->type) || s->node < -1 ||
            s->node >= t->n || s->name >= t->names_bytes || s->scope >= t->names_bytes ||
            s->why >= t->names_bytes)
            return wrong("symbol", i);
        const int kind = s->node < 0 ? -1 : t->node[s->node].kind;
        if (kind >= 0 && kind != HPC_TREE_FUNCTION && kind != HPC_TREE_VARIABLE)
            return wrong("node of symbol", i);
    }
    return HPC_OK;
}

/* ---- nodes ---------------------------------------------------------------------------------- */

/* In the order of the nodes: the parent is the last before it that has not ended. */
static int take_node(taking *k, int64_t i, int64_t *values)
{
    hpc_clang_node c;
    hpc_tree *t = k->t;
    hpc_tree_node *n = &t->node[i];
    memcpy(&c, k->node + i * (int64_t)sizeof c, sizeof c);
    int32_t above = (int32_t)i - 1;
    while (above >= 0 && t->node[above].end <= i) above = t->node[above].parent;
    if ((i == 0) != (above < 0) || (i == 0) != (c.kind == HPC_TREE_FILE)) return wrong("node", i);
    if (c.end <= i || c.end > (above < 0 ? t->n : t->node[above].end) || (i == 0 && c.end != t->n))
        return wrong("end of node", i);
    if (c.kind >= HPC_TREE_KIND_N || !is_type(t, c.type) || c.symbol < -1 ||
        c.symbol >= t->symbols_n || c.at > c.to || c.to > k->text_n)
        return wrong("node", i);
    k->depth[i] = above < 0 ? 0 : (uint16_t)(k->depth[above] + 1);
    if (k->depth[i] > HPC_TREE_DEPTH_MOST) return wrong("depth of node", i);
    *n = (hpc_tree_node){.kind = c.kind,
                         .op = c.op,
                         .flags = c.flags,
                         .end = c.end,
                         .parent = above,
                         .type = c.type,
                         .symbol = c.symbol,
                         .at = c.at,
                         .to = c.to};
    if (c.kind == HPC_TREE_NUMBER) {
        if (*values >= k->values_n) return wrong("value of node", i);
        memcpy(&n->value, k->value + 8 * (*values)++, 8);
    }
    return HPC_OK;
}

/* ---- what stands below what ----------------------------------------------------------------- */

enum { ANY = 1 << 16 };

/* How many children a kind has: from and to. */
static const struct {
    int from, to;
} children[HPC_TREE_KIND_N] = {
    [HPC_TREE_OTHER] = {0, ANY},  [HPC_TREE_FILE] = {0, ANY},    [HPC_TREE_FUNCTION] = {1, ANY},
    [HPC_TREE_VARIABLE] = {0, 1}, [HPC_TREE_DECLARE] = {0, ANY}, [HPC_TREE_BLOCK] = {0, ANY},
    [HPC_TREE_IF] = {3, 3},       [HPC_TREE_FOR] = {4, 4},       [HPC_TREE_RANGE] = {3, 3},
    [HPC_TREE_WHILE] = {2, 2},    [HPC_TREE_DO] = {2, 2},        [HPC_TREE_SWITCH] = {2, 2},
    [HPC_TREE_CASE] = {2, 2},     [HPC_TREE_RETURN] = {1, 1},    [HPC_TREE_LABEL] = {1, 1},
    [HPC_TREE_TRY] = {1, ANY},    [HPC_TREE_CATCH] = {0, 2},     [HPC_TREE_MEMBER] = {1, 1},
    [HPC_TREE_INDEX] = {2, 2},    [HPC_TREE_CALL] = {1, ANY},    [HPC_TREE_CONSTRUCT] = {0, ANY},
    [HPC_TREE_UNARY] = {1, 1},    [HPC_TREE_BINARY] = {2, 2},    [HPC_TREE_ASSIGN] = {2, 2},
    [HPC_TREE_CHOOSE] = {3, 3},   [HPC_TREE_CAST] = {1, 1},      [HPC_TREE_LIST] = {0, ANY},
    [HPC_TREE_NEW] = {0, ANY},    [HPC_TREE_DELETE] = {0, ANY},  [HPC_TREE_THROW] = {0, 1},
    [HPC_TREE_LAMBDA] = {1, ANY},
};

static bool is_any_of(int kind, int a, int b, int c)
{
    return kind == a || kind == b || kind == c;
}

/* Child k of n below a kind. */
static bool may_stand(int above, int kind, int64_t k, bool last)
{
    switch (above) {
    case HPC_TREE_FILE:
        return is_any_of(kind, HPC_TREE_FUNCTION, HPC_TREE_VARIABLE, HPC_TREE_OTHER);
    case HPC_TREE_FUNCTION:
        return last ? kind == HPC_TREE_BLOCK
                    : is_any_of(kind, HPC_TREE_VARIABLE, HPC_TREE_OTHER, -1);
    case HPC_TREE_LAMBDA:
        return last ? kind == HPC_TREE_BLOCK
                    : is_any_of(kind, HPC_TREE_NAME, HPC_TREE_VARIABLE, -1);
    case HPC_TREE_CATCH: return last ? kind == HPC_TREE_BLOCK : kind == HPC_TREE_VARIABLE;
    case HPC_TREE_TRY: return kind == (k == 0 ? HPC_TREE_BLOCK : HPC_TREE_CATCH);
    case HPC_TREE_DECLARE: return is_any_of(kind, HPC_TREE_VARIABLE, HPC_TREE_OTHER, -1);
    case HPC_TREE_RANGE: return k > 0 || is_any_of(kind, HPC_TREE_VARIABLE, HPC_TREE_OTHER, -1);
    default: return kind != HPC_TREE_FUNCTION;
    }
}

static int check_children(const hpc_tree *t, int32_t i)
{
    const int kind = t->node[i].kind;
    int64_t n = 0;
    for (int32_t c = hpc_tree_first(t, i), next; c; c = next, n++) {
        next = hpc_tree_next(t, c);
        if (!may_stand(kind, t->node[c].kind, n, next == 0)) return wrong("child of node", i);
    }
    if (n < children[kind].from || (children[kind].to < ANY && n > children[kind].to))
        return wrong("children of node", i);
    return HPC_OK;
}

static int take_nodes(taking *k)
{
    int64_t values = 0;
    int rc = HPC_OK;
    for (int64_t i = 0; i < k->t->n; i++) TRY(take_node(k, i, &values));
    for (int32_t i = 0; i < k->t->n; i++) TRY(check_children(k->t, i));
out:
    return rc;
}

/* ---- lines ---------------------------------------------------------------------------------- */

/* Places mostly go forward; for one that lies back, the text is gone through from its begin. */
static int set_lines(taking *k)
{
    int64_t n = 1, cap = 0;
    uint32_t *start = NULL;
    int rc;
    TRY(hpc_grow(&start, &cap, 1, sizeof *start));
    for (const char *p = k->text, *end = k->text + k->text_n; p < end;) {
        const char *line = memchr(p, '\n', (size_t)(end - p));
        if (!line) break;
        p = line + 1;
        TRY(hpc_grow(&start, &cap, n + 1, sizeof *start));
        start[n++] = (uint32_t)(p - k->text);
    }
    for (int64_t i = 0, line = 0; i < k->t->n; i++) {
        hpc_tree_node *node = &k->t->node[i];
        if (start[line] > node->at) line = 0;
        for (int64_t step = n; step > 0; step /= 2)
            while (line + step < n && start[line + step] <= node->at) line += step;
        node->line = (uint32_t)line + 1;
        node->column = node->at - start[line] + 1;
        if (node->flags & HPC_TREE_ELSEWHERE) node->line = node->column = 0;
    }
out:
    hpc_free(start);
    return rc;
}

int tree_take(hpc_tree *out, check_reader *r, const char *text, size_t n)
{
    taking k = {.t = out, .r = r, .text = text, .text_n = n};
    int rc;
    hpc_tree_release(out);
    TRY(take_parts(&k));
    TRY(check_types(out));
    TRY(take_nodes(&k));
    TRY(check_symbols(out));
    TRY(set_lines(&k));
out:
    hpc_free(k.depth);
    if (rc < 0) hpc_tree_release(out);
    return rc;
}
