/*
 * priv.h: what the files of this folder share: a unit, and the walk that makes a tree of one.
 *
 * A walk first collects the cursors of one function with a single visit, because each visit costs
 * as much as ten cursors, and then makes nodes of them. Memory that is short ends the process here
 * as it does within libclang.
 */
#ifndef HPC_SOURCE_CLANG_PRIV_H
#define HPC_SOURCE_CLANG_PRIV_H

#include <clang-c/Index.h>

#include "runtime/source/clang/clang.h"

typedef struct walk walk;

struct hpc_clang_unit {
    CXIndex index;
    CXTranslationUnit unit;
    CXFile file;        /* its own */
    CXFile outer;       /* the one that includes it last, if that is another */
    unsigned outer_end; /* where it does so */
    bool is_c, is_cuda;
    CXFileUniqueID *kept; /* files of the headers that were kept */
    size_t kept_n, kept_cap;
    walk *walk; /* NULL: no tree was asked for */
};

/* ---- tables ------------------------------------------------------------ */
typedef struct walk_slot {
    uint64_t hash; /* 0: empty */
    CXCursor key;  /* of cursors */
    const void *pointer;
    int32_t value;
} walk_slot;
typedef struct walk_table {
    walk_slot *slot;
    size_t n, cap;
} walk_table;

/* A cursor within a function, with those below it. */
typedef struct walk_item {
    CXCursor c;
    int32_t first, last, next; /* 0: none */
    bool cut;                  /* an item below it that is not an expression was dropped */
} walk_item;

typedef struct walk_place {
    uint32_t at, to;
    bool macro;
} walk_place;

struct walk {
    hpc_clang_unit *u;
    const char *text; /* of the file */
    size_t text_n;
    CXFile other;           /* the last that was not the unit's */
    CXSourceLocation first; /* of the file; later locations are numbered by bytes */
    bool numbered;
    walk_item *item;
    size_t items_n, items_cap;
    int32_t *open; /* items whose children are being collected */
    size_t open_n, open_cap;
    hpc_clang_node *node;
    size_t n, cap;
    int32_t *parent; /* by node */
    size_t parents_cap;
    int32_t top; /* the node whose children come next */
    int depth;
    int64_t *value;
    size_t values_n, values_cap;
    hpc_tree_type *type;
    size_t types_n, types_cap;
    hpc_symbol *symbol;
    size_t symbols_n, symbols_cap;
    int32_t *made_from; /* by symbol: the function that it is an instance of, or -1 */
    size_t made_from_cap;
    char *name;
    size_t names_n, names_cap;
    int64_t pointer_bytes;
    walk_table names, types, symbols, scopes, unknown, made;
    CXCursor *declared; /* by symbol: of functions */
    size_t declared_cap;
    bool elsewhere; /* in a function of a header */
    bool cut;
};

/* ---- types and names (tree_table.c) ----------------------------------------------------- */
/* *array_ptr has room for n. */
void walk_grow(void *array_ptr, size_t *cap, size_t n, size_t size);
uint32_t walk_name(walk *w, const char *text, size_t n);
uint32_t walk_name_take(walk *w, CXString s);
int32_t walk_type(walk *w, CXType t); /* -1: it has none */
/* Of an array or a function it is a pointer; libclang shows what was written. */
int32_t walk_type_of_parameter(walk *w, CXType t, bool is_restrict);
int32_t walk_type_reference(walk *w, int32_t to); /* `to` itself if it is one, or -1 */
bool walk_find_pointer(int32_t *value, walk_table *t, const void *p);
void walk_add_pointer(walk_table *t, const void *p, int32_t value);
bool walk_find(int32_t *value, walk_table *t, CXCursor c);
void walk_add(walk_table *t, CXCursor c, int32_t value);
void walk_tables_clear(walk *w);
void walk_tables_release(walk *w);

/* ---- iterators and views (tree_view.c) -------------------------------------------------- */
/* The type of the elements that a class leads to; -1: it is not an HPC_TYPE_VIEW. */
int32_t walk_view_target(walk *w, CXType c, const char *name);
/* Each makes a node for an item, or returns false: it is something else. An operator's call, with
 * the item of its function; a comparison that the compiler made of "==" or "<=>"; a copy. */
bool walk_view_operator(walk *w, int32_t item, int32_t function);
bool walk_view_compared(walk *w, int32_t item);
bool walk_view_copied(walk *w, int32_t item);

/* ---- symbols (tree_symbol.c) --------------------------------------------------------------- */
/* Of a declaration; -1 for other cursors. */
int32_t walk_symbol(walk *w, CXCursor declaration);
/* The symbol of a whole structured binding, a variable without a name, or of one of its names,
 * which is a reference. */
int32_t walk_symbol_binding(walk *w, CXCursor c, bool whole);
/* Of a name that means nothing that is known. */
int32_t walk_symbol_unknown(walk *w, uint32_t name);
/* Notes the node of a function or variable, and gives those that are made from it the same. */
void walk_symbol_node(walk *w, int32_t symbol, int32_t node, bool definition);
void walk_symbols_finish(walk *w);
bool walk_evaluate(int64_t *out, CXCursor c);
bool walk_is_function(enum CXCursorKind k);

/* ---- places (tree_place.c) ---------------------------------------------------------------- */
/* Where libclang sees the end of a file: on the line end that it ends with, if it does. */
unsigned walk_end_of(const char *text, size_t n);
/* What follows is in this file of the unit; false: it has no text. */
bool walk_go_to(walk *w, CXFile file);
/* True if a location is in the unit's own file; a macro's location is where it is used. */
bool walk_in_file(walk *w, CXSourceLocation l, uint32_t *at);
walk_place walk_place_of(walk *w, CXCursor c);
/* Where the first token of it was written; false when that is not in this file. */
bool walk_spelled(walk *w, CXCursor c, uint32_t *at);
/* The offset after blanks and comments from `at` on. */
uint32_t walk_skip(const walk *w, uint32_t at);
/* The parts of a "for" at `at` that are present, as bits of three; -1: unknown. */
int walk_for_parts(const walk *w, uint32_t at);
/* The integer that is written here. */
bool walk_integer(int64_t *out, const walk *w, uint32_t at);

/* ---- the whole (tree.c) ------------------------------------------------------------------- */
void walk_tree(hpc_clang_tree *out, hpc_clang_unit *u);
void walk_close(hpc_clang_unit *u);

/* ---- nodes (tree.c, tree_statement.c, tree_expression.c) ------------------------------------ */
int32_t walk_begin(walk *w, hpc_tree_kind kind, CXCursor c);
/* At the beginning, or at the end, of the node above. */
void walk_nothing(walk *w);
void walk_end(walk *w, int32_t node);
/* A node for an item, whatever it is. */
void walk_any(walk *w, int32_t item);
void walk_below(walk *w, int32_t item);     /* one for each item below it */
bool walk_statement(walk *w, int32_t item); /* false: not a statement */
void walk_expression(walk *w, int32_t item);
void walk_block(walk *w, int32_t item);
/* With its initialiser if there is an item of it (0: none). */
void walk_variable(walk *w, CXCursor c, int32_t initialiser);
void walk_declared(walk *w, int32_t item);
/* ---- code that the text does not show (tree_act.c) ---- */
/* The default argument k of a function calls another one, or reads a variable that may change. */
bool walk_argument_acts(CXCursor function, int k);
/* Objects of the type run code when they begin, through initialisers of members, or end. */
bool walk_type_acts(CXType type);

/* ---- threadprivate variables (tree_thread.c) ---- */
/* Marks those of the symbols so far. */
void walk_threadprivate(walk *w);

/* ---- structured bindings (tree_binding.c) ---- */
bool walk_is_bindings(CXCursor c);
/* The variable of the whole, with its initialiser (0: none); a reference for each name. */
void walk_bound(walk *w, int32_t item, int32_t initialiser);
void walk_bindings(walk *w, int32_t item);
/* Collects what is below a cursor; returns its item. */
int32_t walk_collect(walk *w, CXCursor c);
int32_t walk_peel(walk *w, int32_t item); /* without parentheses and implicit conversions */
int walk_count(const walk *w, int32_t item);

#endif
