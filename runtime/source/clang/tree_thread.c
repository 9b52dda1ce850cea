/*
 * tree_thread.c: variables that a threadprivate directive gives each thread of its own. A tree is
 * read without OpenMP, so the directives are found in the text of the unit's files. A name in a
 * comment counts, which costs at most a verdict.
 */
#include <ctype.h>
#include <string.h>

#include "runtime/source/clang/priv.h"

static const char word[] = "threadprivate";

static bool is_name_byte(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Marks the variables of a name that outlive their function. */
static void mark(walk *w, const char *name, size_t n)
{
    for (size_t k = 0; k < w->symbols_n; k++) {
        hpc_symbol *s = &w->symbol[k];
        const char *own = w->name + s->name;
        if (s->kind == HPC_SYMBOL_VARIABLE && !(s->flags & HPC_SYMBOL_LOCAL) && strlen(own) == n &&
            memcmp(own, name, n) == 0)
            s->flags |= HPC_SYMBOL_THREAD;
    }
}

/* The names in the parentheses that follow a directive's word. */
static void read_names(walk *w, const char *text, const char *end)
{
    while (text < end && (isspace((unsigned char)*text) || *text == '\\')) text++;
    if (text == end || *text != '(') return;
    for (text++; text < end && *text != ')';) {
        const char *from = text;
        while (text < end && is_name_byte(*text)) text++;
        if (text > from)
            mark(w, from, (size_t)(text - from));
        else
            text++;
    }
}

static void read_file(CXFile file, CXSourceLocation *stack, unsigned n, CXClientData user)
{
    walk *w = user;
    size_t size = 0;
    const char *text = clang_getFileContents(w->u->unit, file, &size);
    const char *end = text ? text + size : NULL;
    (void)stack, (void)n;
    while (text) {
        text = memmem(text, (size_t)(end - text), word, sizeof word - 1);
        if (text) read_names(w, text += sizeof word - 1, end);
    }
}

void walk_threadprivate(walk *w)
{
    clang_getInclusions(w->u->unit, read_file, w);
}
