/*
 * pragma_tree.c: fuzz target: any syntax tree that the libclang process may send: types, symbols
 * and nodes come from the input, as far as the protocol accepts them.
 *
 * The text is fixed. Loops are at its loops, so that their directives are judged.
 */
#include <stdlib.h>
#include <string.h>

#include "infer/pragma/pragma.h"
#include "runtime/source/tree_priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { NODES = 1200, FULL = 400, TYPES = 12, SYMBOLS = 14, DEPTH = 24 };

static const char text[] =
    "struct s { int a, b; };\nint a, b, c, d;\nvoid f(int *e, int *g, int h)\n{\n"
    "#pragma omp parallel for private(a) reduction(+:b) collapse(2)\n"
    "    for (int i = 0; i < h; i++) for (int j = 0; j < h; j++) e[i] += g[j];\n"
    "#pragma omp parallel private(c)\n    {\n#pragma omp for lastprivate(d) linear(k:2)\n"
    "    for (int i = 0; i < h; i++) e[i] = g[i];\n    }\n"
    "#pragma omp simd\n    for (int i = 0; i < h; i++) e[i] = a;\n"
    "#pragma omp taskloop shared(e) firstprivate(a, l[0:m])\n    for (int i = 0; i < h; i++) c++;\n"
    "    for (int i = 0; i < h; i++) d = d < g[i] ? d : g[i];\n"
    "    while (h-- > 0) e[h] = 0;\n}\n";

typedef struct making {
    const uint8_t *at, *end;
    hpc_clang_node node[NODES];
    int64_t value[NODES];
    hpc_tree_type type[TYPES];
    hpc_symbol symbol[SYMBOLS];
    char name[2 * SYMBOLS + 1];
    size_t n, values_n;
    const char *loop; /* where the next one lies */
} making;

static unsigned byte(making *m)
{
    return m->at < m->end ? *m->at++ : 0;
}

static void make_types(making *m)
{
    for (int i = 0; i < TYPES; i++) {
        unsigned kind = byte(m) % (HPC_TYPE_FUNCTION + 1);
        bool leads =
            kind == HPC_TYPE_POINTER || kind == HPC_TYPE_ARRAY || kind == HPC_TYPE_REFERENCE;
        if (leads && i == 0) kind = HPC_TYPE_INTEGER;
        m->type[i] = (hpc_tree_type){.kind = (uint8_t)kind,
                                     .flags = (uint8_t)(byte(m) & byte(m)),
                                     .to = leads && i > 0 ? (int32_t)(byte(m) % (unsigned)i) : -1,
                                     .n = (int64_t)(byte(m) % 9) - 1,
                                     .bytes = (int64_t)(byte(m) % 17) - 1};
    }
}

static void make_symbols(making *m)
{
    for (int i = 0; i < SYMBOLS; i++) {
        m->name[2 * i + 1] = (char)('a' + i);
        m->symbol[i] = (hpc_symbol){.kind = (uint8_t)(byte(m) % (HPC_SYMBOL_CONSTANT + 1)),
                                    .flags = byte(m) | (byte(m) & byte(m)) << 8,
                                    .type = (int32_t)(byte(m) % (TYPES + 1)) - 1,
                                    .node = -1,
                                    .name = (uint32_t)(2 * i + 1),
                                    .line = byte(m) % 16,
                                    .value = (int8_t)byte(m)};
    }
}

static size_t begin(making *m, unsigned kind)
{
    size_t i = m->n++;
    unsigned at = byte(m) * 2 % (sizeof text - 40);
    m->node[i] = (hpc_clang_node){.kind = (uint8_t)kind,
                                  .type = (int32_t)(byte(m) % (TYPES + 1)) - 1,
                                  .symbol = (int32_t)(byte(m) % (SYMBOLS + 1)) - 1,
                                  .flags = (uint16_t)(byte(m) & byte(m) & 15),
                                  .at = at,
                                  .to = at + byte(m) % 32};
    return i;
}

static void statement(making *m, int depth);

static void expression(making *m, int depth)
{
    static const uint8_t kinds[] = {
        HPC_TREE_NAME,   HPC_TREE_NUMBER, HPC_TREE_INDEX,  HPC_TREE_BINARY, HPC_TREE_ASSIGN,
        HPC_TREE_UNARY,  HPC_TREE_NAME,   HPC_TREE_CALL,   HPC_TREE_MEMBER, HPC_TREE_CHOOSE,
        HPC_TREE_INDEX,  HPC_TREE_CAST,   HPC_TREE_FLOAT,  HPC_TREE_STRING, HPC_TREE_THIS,
        HPC_TREE_LAMBDA, HPC_TREE_LIST,   HPC_TREE_OTHER,  HPC_TREE_NEW,    HPC_TREE_CONSTRUCT,
        HPC_TREE_THROW,  HPC_TREE_DELETE, HPC_TREE_ASSIGN, HPC_TREE_BINARY};
    static const uint8_t ops[] = {'+',
                                  '-',
                                  '*',
                                  '/',
                                  '%',
                                  '<',
                                  '=',
                                  '&',
                                  '|',
                                  '>',
                                  '!',
                                  HPC_OP_AND,
                                  HPC_OP_EQUAL,
                                  HPC_OP_PRE_INCREMENT,
                                  HPC_OP_POST_DECREMENT,
                                  HPC_OP_LESS_EQUAL,
                                  '.',
                                  '^'};
    bool leaf = depth > DEPTH || m->n + 40 > FULL;
    unsigned kind = leaf ? HPC_TREE_NAME : kinds[byte(m) % sizeof kinds];
    size_t i = begin(m, kind);
    m->node[i].op = ops[byte(m) % sizeof ops];
    if (kind == HPC_TREE_NUMBER) m->value[m->values_n++] = (int8_t)byte(m);
    int parts = kind == HPC_TREE_INDEX || kind == HPC_TREE_BINARY || kind == HPC_TREE_ASSIGN ? 2
                : kind == HPC_TREE_CHOOSE                                                    ? 3
                : kind == HPC_TREE_CALL ? 1 + (int)byte(m) % 3
                : kind == HPC_TREE_UNARY || kind == HPC_TREE_MEMBER || kind == HPC_TREE_CAST ? 1
                : kind == HPC_TREE_LIST || kind == HPC_TREE_OTHER || kind == HPC_TREE_CONSTRUCT
                    ? (int)byte(m) % 3
                    : 0;
    for (int k = 0; k < parts; k++) expression(m, depth + 1);
    if (kind == HPC_TREE_LAMBDA) {
        size_t block = begin(m, HPC_TREE_BLOCK);
        statement(m, depth + 1);
        m->node[block].end = (int32_t)m->n;
    }
    m->node[i].end = (int32_t)m->n;
}

static void variable(making *m, int depth)
{
    size_t i = begin(m, HPC_TREE_VARIABLE);
    int32_t v = m->node[i].symbol;
    if (v >= 0 && m->symbol[v].node < 0) m->symbol[v].node = (int32_t)i;
    if (byte(m) & 1) expression(m, depth + 1);
    m->node[i].end = (int32_t)m->n;
}

/* Where the text has its next loop. */
static void place_loop(making *m, size_t i)
{
    const char *next = m->loop ? strstr(m->loop, "for (") : NULL;
    if (!next) return;
    m->node[i].at = (uint32_t)(next - text);
    m->node[i].to = (uint32_t)(strchr(next, '\n') - text);
    m->loop = next + 4;
}

static void statement(making *m, int depth)
{
    static const uint8_t kinds[] = {
        HPC_TREE_FOR,      HPC_TREE_BLOCK, HPC_TREE_IF,     HPC_TREE_DECLARE, HPC_TREE_WHILE,
        HPC_TREE_RANGE,    HPC_TREE_DO,    HPC_TREE_SWITCH, HPC_TREE_CASE,    HPC_TREE_BREAK,
        HPC_TREE_CONTINUE, HPC_TREE_GOTO,  HPC_TREE_LABEL,  HPC_TREE_RETURN,  HPC_TREE_NOTHING,
        HPC_TREE_ASM,      HPC_TREE_FOR,   HPC_TREE_BLOCK};
    unsigned which = byte(m) % 32;
    if (depth > DEPTH || m->n + 60 > FULL || which >= sizeof kinds) {
        expression(m, depth + 1);
        return;
    }
    unsigned kind = kinds[which];
    size_t i = begin(m, kind);
    if (kind == HPC_TREE_FOR || kind == HPC_TREE_RANGE) place_loop(m, i);
    if (kind == HPC_TREE_DECLARE || kind == HPC_TREE_RANGE) variable(m, depth);
    if (kind == HPC_TREE_FOR) statement(m, depth + 3);
    if (kind == HPC_TREE_DO) statement(m, depth + 1);
    if (kind == HPC_TREE_IF || kind == HPC_TREE_FOR || kind == HPC_TREE_WHILE ||
        kind == HPC_TREE_DO || kind == HPC_TREE_SWITCH || kind == HPC_TREE_CASE ||
        kind == HPC_TREE_RANGE || kind == HPC_TREE_RETURN)
        expression(m, depth + 1);
    if (kind == HPC_TREE_FOR) expression(m, depth + 1);
    int parts = kind == HPC_TREE_BLOCK ? (int)byte(m) % 6
                : kind == HPC_TREE_IF  ? 2
                : kind == HPC_TREE_FOR || kind == HPC_TREE_WHILE || kind == HPC_TREE_SWITCH ||
                        kind == HPC_TREE_CASE || kind == HPC_TREE_LABEL || kind == HPC_TREE_RANGE
                    ? 1
                    : 0;
    for (int k = 0; k < parts; k++) statement(m, depth + 1);
    m->node[i].end = (int32_t)m->n;
}

static void functions(making *m)
{
    size_t file = begin(m, HPC_TREE_FILE);
    do {
        size_t i = begin(m, HPC_TREE_FUNCTION);
        int32_t v = m->node[i].symbol;
        if (v >= 0 && m->symbol[v].node < 0) m->symbol[v].node = (int32_t)i;
        for (int k = (int)byte(m) % 4; k > 0; k--) variable(m, DEPTH);
        size_t block = begin(m, HPC_TREE_BLOCK);
        for (int k = 1 + (int)byte(m) % 8; k > 0; k--) statement(m, 2);
        m->node[block].end = m->node[i].end = (int32_t)m->n;
    } while (m->at < m->end && m->n + 100 < FULL);
    m->node[file].end = (int32_t)m->n;
}

/* What holds for any answer. */
static void check_answer(const hpc_pragma_loops *l)
{
    for (int64_t i = 0; i < l->n; i++) {
        const hpc_pragma_loop *x = &l->item[i];
        hpc_assert((x->pragma != NULL) == (x->verdict >= HPC_VERDICT_CONDITIONAL));
        hpc_assert(!x->pragma || !strpbrk(x->pragma, "\n\r"));
        hpc_assert((x->existing != NULL) == (x->existing_is != HPC_EXISTING_NONE));
        hpc_assert((x->assumptions_n > 0) == (x->verdict == HPC_VERDICT_CONDITIONAL));
        hpc_assert(x->evidence_n > 0 && x->outer < i);
        for (int64_t k = 0; k < x->evidence_n; k++) hpc_assert(x->evidence[k].text[0]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    making *m = calloc(1, sizeof *m);
    hpc_buf wire = {0};
    hpc_tree tree = {0};
    hpc_pragma_loops loops;
    if (!m || n == 0) {
        free(m);
        return 0;
    }
    hpc_pragma_options o = {.default_none = data[0] & 1,
                            .simd = data[0] & 16,
                            .target = data[0] & 32,
                            .line = data[0] & 2 ? data[0] / 8 : 0};
    hpc_language l = data[0] & 4 ? HPC_LANGUAGE_CPP : HPC_LANGUAGE_C;
    m->at = data + 1;
    m->end = data + n;
    m->loop = text;
    make_types(m);
    make_symbols(m);
    functions(m);
    hpc_assert(m->n <= NODES);
    tree_put(&wire, &(hpc_clang_tree){.node = m->node,
                                      .value = m->value,
                                      .type = m->type,
                                      .symbol = m->symbol,
                                      .name = m->name,
                                      .n = m->n,
                                      .values_n = m->values_n,
                                      .types_n = TYPES,
                                      .symbols_n = SYMBOLS,
                                      .names_bytes = sizeof m->name});
    check_reader r = {.at = (const uint8_t *)wire.data, .end = (const uint8_t *)wire.data + wire.n};
    hpc_assert(tree_take(&tree, &r, text, sizeof text - 1) == HPC_OK);
    hpc_assert(tree_parameters(&tree) == HPC_OK);
    hpc_assert(hpc_pragma_find(&loops, &tree, text, sizeof text - 1, l, &o) == HPC_OK);
    check_answer(&loops);
    hpc_pragma_loops_release(&loops);
    hpc_tree_release(&tree);
    hpc_buf_release(&wire);
    free(m);
    return 0;
}
