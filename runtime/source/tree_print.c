/*
 * tree_print.c: text form of a tree, one line per node, for tests and debugging.
 */
#include <string.h>

#include "runtime/source/tree.h"

static const char *const kinds[HPC_TREE_KIND_N] = {
    [HPC_TREE_OTHER] = "OTHER",
    [HPC_TREE_NOTHING] = "NOTHING",
    [HPC_TREE_FILE] = "FILE",
    [HPC_TREE_FUNCTION] = "FUNCTION",
    [HPC_TREE_VARIABLE] = "VARIABLE",
    [HPC_TREE_DECLARE] = "DECLARE",
    [HPC_TREE_BLOCK] = "BLOCK",
    [HPC_TREE_IF] = "IF",
    [HPC_TREE_FOR] = "FOR",
    [HPC_TREE_RANGE] = "RANGE",
    [HPC_TREE_WHILE] = "WHILE",
    [HPC_TREE_DO] = "DO",
    [HPC_TREE_SWITCH] = "SWITCH",
    [HPC_TREE_CASE] = "CASE",
    [HPC_TREE_BREAK] = "BREAK",
    [HPC_TREE_CONTINUE] = "CONTINUE",
    [HPC_TREE_RETURN] = "RETURN",
    [HPC_TREE_GOTO] = "GOTO",
    [HPC_TREE_LABEL] = "LABEL",
    [HPC_TREE_TRY] = "TRY",
    [HPC_TREE_CATCH] = "CATCH",
    [HPC_TREE_ASM] = "ASM",
    [HPC_TREE_NUMBER] = "NUMBER",
    [HPC_TREE_FLOAT] = "FLOAT",
    [HPC_TREE_STRING] = "STRING",
    [HPC_TREE_NAME] = "NAME",
    [HPC_TREE_THIS] = "THIS",
    [HPC_TREE_MEMBER] = "MEMBER",
    [HPC_TREE_INDEX] = "INDEX",
    [HPC_TREE_CALL] = "CALL",
    [HPC_TREE_CONSTRUCT] = "CONSTRUCT",
    [HPC_TREE_UNARY] = "UNARY",
    [HPC_TREE_BINARY] = "BINARY",
    [HPC_TREE_ASSIGN] = "ASSIGN",
    [HPC_TREE_CHOOSE] = "CHOOSE",
    [HPC_TREE_CAST] = "CAST",
    [HPC_TREE_LIST] = "LIST",
    [HPC_TREE_NEW] = "NEW",
    [HPC_TREE_DELETE] = "DELETE",
    [HPC_TREE_THROW] = "THROW",
    [HPC_TREE_LAMBDA] = "LAMBDA",
};

static const char *const ops[] = {
    [HPC_OP_SHIFT_LEFT] = "<<",
    [HPC_OP_SHIFT_RIGHT] = ">>",
    [HPC_OP_LESS_EQUAL] = "<=",
    [HPC_OP_GREATER_EQUAL] = ">=",
    [HPC_OP_EQUAL] = "==",
    [HPC_OP_NOT_EQUAL] = "!=",
    [HPC_OP_AND] = "&&",
    [HPC_OP_OR] = "||",
    [HPC_OP_PRE_INCREMENT] = "++x",
    [HPC_OP_PRE_DECREMENT] = "--x",
    [HPC_OP_POST_INCREMENT] = "x++",
    [HPC_OP_POST_DECREMENT] = "x--",
    [HPC_OP_OTHER] = "?",
};

static void print_op(hpc_buf *out, int op)
{
    if (op == HPC_OP_NONE) return;
    if (op > ' ' && op < 127)
        hpc_buf_printf(out, " %c", op);
    else if ((size_t)op < sizeof ops / sizeof *ops && ops[op])
        hpc_buf_printf(out, " %s", ops[op]);
    else
        hpc_buf_text(out, " ?");
}

/* ---- types ---------------------------------------------------------------------------------- */

static void print_flags(hpc_buf *out, const hpc_tree_type *t)
{
    if (t->flags & HPC_TYPE_CONST) hpc_buf_text(out, "const ");
    if (t->flags & HPC_TYPE_VOLATILE) hpc_buf_text(out, "volatile ");
    if (t->flags & HPC_TYPE_RESTRICT) hpc_buf_text(out, "restrict ");
    if (t->flags & HPC_TYPE_ATOMIC) hpc_buf_text(out, "atomic ");
}

static void print_integer(hpc_buf *out, const hpc_tree_type *t)
{
    static const char *const names[] = {[1] = "char", [2] = "short", [4] = "int", [8] = "long"};
    const bool named = t->bytes > 0 && t->bytes <= 8 && names[t->bytes];
    if (t->flags & HPC_TYPE_UNSIGNED) hpc_buf_text(out, "unsigned ");
    hpc_buf_text(out, named ? names[t->bytes] : "integer");
}

static void print_plain(hpc_buf *out, const hpc_tree *t, const hpc_tree_type *p)
{
    switch (p->kind) {
    case HPC_TYPE_VOID: hpc_buf_text(out, "void"); break;
    case HPC_TYPE_BOOL: hpc_buf_text(out, "bool"); break;
    case HPC_TYPE_INTEGER: print_integer(out, p); break;
    case HPC_TYPE_FLOAT:
        if (p->bytes == 4 || p->bytes == 8)
            hpc_buf_text(out, p->bytes == 4 ? "float" : "double");
        else
            hpc_buf_printf(out, "float%lld", (long long)p->bytes * 8);
        break;
    case HPC_TYPE_RECORD:
        if (p->flags & HPC_TYPE_UNION) hpc_buf_text(out, "union ");
        hpc_buf_text(out, p->flags & HPC_TYPE_LAMBDA ? "lambda"
                          : p->name                  ? t->name + p->name
                                                     : "record");
        break;
    case HPC_TYPE_FUNCTION: hpc_buf_text(out, "function"); break;
    default: hpc_buf_text(out, "unknown"); break;
    }
}

/* Read from the left: "const pointer to double", so that nothing stands inside anything. */
static void print_type(hpc_buf *out, const hpc_tree *t, int32_t type)
{
    for (; type >= 0; type = t->type[type].to) {
        const hpc_tree_type *p = &t->type[type];
        print_flags(out, p);
        if (p->kind == HPC_TYPE_POINTER)
            hpc_buf_text(out, p->flags & HPC_TYPE_VIEW ? "view " : "*");
        else if (p->kind == HPC_TYPE_REFERENCE)
            hpc_buf_text(out, "&");
        else if (p->kind == HPC_TYPE_ARRAY && p->n >= 0)
            hpc_buf_printf(out, "[%lld]", (long long)p->n);
        else if (p->kind == HPC_TYPE_ARRAY)
            hpc_buf_text(out, "[]");
        else
            print_plain(out, t, p);
    }
}

/* ---- nodes ---------------------------------------------------------------------------------- */

static void print_symbol(hpc_buf *out, const hpc_tree *t, int32_t symbol)
{
    const hpc_symbol *s = &t->symbol[symbol];
    hpc_buf_printf(out, " '%s%s%s'", t->name + s->scope, s->scope ? "::" : "", t->name + s->name);
}

static void print_node(hpc_buf *out, const hpc_tree *t, int32_t i, int depth)
{
    const hpc_tree_node *n = &t->node[i];
    hpc_buf_printf(out, "%*s%s", 2 * depth, "", kinds[n->kind]);
    print_op(out, n->op);
    hpc_buf_printf(out, " %u:%u", n->line, n->column);
    if (n->symbol >= 0) print_symbol(out, t, n->symbol);
    if (n->kind == HPC_TREE_NUMBER) hpc_buf_printf(out, " %lld", (long long)n->value);
    if (n->type >= 0) hpc_buf_text(out, " ");
    print_type(out, t, n->type);
    if (n->flags & HPC_TREE_MACRO) hpc_buf_text(out, " macro");
    if (n->flags & HPC_TREE_OPERATOR) hpc_buf_text(out, " operator");
    if (n->flags & HPC_TREE_BY_REFERENCE) hpc_buf_text(out, " by-reference");
    if (n->flags & HPC_TREE_ERRORS) hpc_buf_text(out, " errors");
    if (n->flags & HPC_TREE_ELSEWHERE) hpc_buf_text(out, " elsewhere");
    hpc_buf_text(out, "\n");
}

int hpc_tree_print(hpc_buf *out, const hpc_tree *t, int32_t node)
{
    int depth = 0;
    int32_t above = node;
    for (int32_t i = node; i < t->node[node].end && !out->failed; i++) {
        while (i > node && t->node[above].end <= i) {
            above = t->node[above].parent;
            depth--;
        }
        print_node(out, t, i, depth);
        above = i;
        depth++;
    }
    return out->failed;
}
