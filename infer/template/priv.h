/* Values, syntax trees and the interpreter's state: private to infer/template. */
#ifndef HPC_TEMPLATE_PRIV_H
#define HPC_TEMPLATE_PRIV_H

#include "infer/template/template.h"

enum {
    TPL_SOURCE_MOST = 1 << 20,   /* bytes of a template */
    TPL_NESTING_MOST = 100,      /* of expressions, and of statements */
    TPL_DEPTH_MOST = 400,        /* calls of the interpreter, and levels of a value */
    TPL_STEPS_MOST = 10000000,   /* nodes, and each 64 bytes of text, of a rendering */
    TPL_MEMORY_MOST = 128 << 20, /* bytes of values */
    TPL_OUTPUT_MOST = 32 << 20,
    TPL_RANGE_MOST = 100000 /* as in Jinja's sandbox */
};

/* ---- values --------------------------------------------------------------------------------- */

typedef struct tpl_text { /* UTF-8; immutable */
    const char *data;
    size_t n;
    const uint8_t *mask; /* 1: the byte comes from a request. NULL: all bytes as `foreign` */
    bool foreign;
    bool markup; /* result of the filter `safe`, which Jinja handles as HTML */
} tpl_text;

typedef enum tpl_kind {
    TPL_UNDEFINED,
    TPL_NONE,
    TPL_BOOL,
    TPL_INT,
    TPL_REAL,
    TPL_TEXT,
    TPL_LIST,
    TPL_DICT,
    TPL_NAMESPACE, /* a dict whose members may be set */
    TPL_LOOP,
    TPL_MACRO,
    TPL_FUNCTION,
    TPL_METHOD
} tpl_kind;

typedef enum tpl_list_kind {
    TPL_IS_LIST,
    TPL_IS_TUPLE,
    TPL_IS_RANGE,
    TPL_IS_VIEW, /* of dict.items(), keys() and values() */
    TPL_IS_ONCE  /* a generator: empty after it was iterated */
} tpl_list_kind;

typedef struct tpl_value tpl_value;
typedef struct tpl_list {
    tpl_list_kind kind;
    tpl_value *item;
    int64_t n, cap;
} tpl_list;
typedef struct tpl_dict {
    tpl_value *key, *item; /* in order of insertion */
    int64_t n, cap;
} tpl_dict;
typedef struct tpl_node tpl_node;
typedef struct tpl_scope tpl_scope;
typedef struct tpl_loop {
    const tpl_list *list;
    int64_t at, depth;
    tpl_value *changed; /* argument of the last loop.changed(); NULL: none yet */
} tpl_loop;
typedef struct tpl_macro {
    const tpl_node *node;
    tpl_scope *scope; /* of its definition */
} tpl_macro;

struct tpl_value {
    tpl_kind kind;
    union {
        bool flag;
        int64_t i;
        double r;
        const tpl_text *text;
        tpl_list *list;
        tpl_dict *dict;
        tpl_loop *loop;
        const tpl_macro *macro;
        const char *name; /* of a function */
        const char *why;  /* message of an undefined value */
        const struct tpl_method *method;
    };
};
typedef struct tpl_method {
    tpl_value self;
    const char *name;
} tpl_method;

/* ---- syntax trees --------------------------------------------------------------------------- */

typedef enum tpl_node_kind {
    /* expressions */
    TPL_CONST, /* value */
    TPL_NAME,  /* name */
    TPL_ATTRIBUTE,
    TPL_ITEM,
    TPL_SLICE,     /* a; b: start, c: end, d: step; NULL: absent */
    TPL_CALL,      /* a; kid: arguments */
    TPL_FILTER,    /* a; name; kid: arguments. a NULL: of the text of a block */
    TPL_TEST,      /* a; name; kid: arguments */
    TPL_MAKE_LIST, /* kid */
    TPL_MAKE_TUPLE,
    TPL_MAKE_DICT, /* kid: key, value, key, ... */
    TPL_BINARY,    /* a op b */
    TPL_UNARY,     /* op a */
    TPL_AND,
    TPL_OR,
    TPL_NOT,
    TPL_CHOICE,  /* b if a else c; c NULL: undefined */
    TPL_COMPARE, /* a; kid: TPL_OPERAND */
    TPL_OPERAND, /* op a */
    TPL_JOIN,    /* kid, joined by ~ */
    /* statements */
    TPL_PRINT,     /* a; a constant text: of the template */
    TPL_BODY,      /* kid */
    TPL_IF,        /* a: condition, b: body, c: the rest or NULL */
    TPL_FOR,       /* a: list, b: target, c: condition or NULL, d: body, e: else or NULL */
    TPL_SET,       /* b: target, a: value */
    TPL_SET_BLOCK, /* b: target, a: filters or NULL, d: body */
    TPL_DEFINE,    /* name; names: parameters, kid: their defaults or NULL; d: body */
    TPL_FILTERED,  /* a: filters, d: body */
    TPL_WITH,      /* kid: TPL_SET, d: body */
    TPL_BREAK,
    TPL_CONTINUE
} tpl_node_kind;

struct tpl_node {
    tpl_node_kind kind;
    int line, op; /* op: a token */
    const char *name;
    tpl_value value;
    tpl_node *a, *b, *c, *d, *e;
    tpl_node **kid;
    const char **names; /* of keyword arguments; NULL: by position. Of the parameters of a macro */
    int64_t kid_n, kid_cap;
};

/* Operators of two characters, next to those of one. */
enum { TPL_EQ = 256, TPL_NE, TPL_LE, TPL_GE, TPL_DIV, TPL_POW, TPL_IN, TPL_NOT_IN };

struct hpc_template {
    hpc_arena *arena;
    const tpl_node *body;
};

/* ---- interpreter ---------------------------------------------------------------------------- */

typedef struct tpl_binding {
    struct tpl_binding *next;
    const char *name;
    tpl_value value;
} tpl_binding;
struct tpl_scope {
    tpl_scope *parent;
    tpl_binding *first;
};

typedef struct tpl_run {
    hpc_arena *arena;
    hpc_template_output *out; /* of the block that is rendered */
    const hpc_template_input *in;
    int64_t steps, depth;
    size_t bytes;
    int line;
} tpl_run;

typedef struct tpl_args {
    tpl_value *item;
    const char **names; /* NULL: by position */
    int64_t n;
} tpl_args;

/* The code of a failed allocation: a limit, or no memory. */
#define tpl_code() (hpc_error_get()->code == HPC_E_ARG ? HPC_E_ARG : HPC_E_NOMEM)

/* A failure at the line of the run; its value is the code. */
#define tpl_fail(x, code, ...) (tpl_report((x), (code), __VA_ARGS__), (code))
void tpl_report(const tpl_run *x, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int tpl_spend(tpl_run *x, size_t steps);
void *tpl_alloc(tpl_run *x, size_t n, size_t size); /* NULL: a limit, or no memory */
int tpl_enter(tpl_run *x);                          /* x->depth--: leaves */

/* value.c */
tpl_value tpl_undefined(tpl_run *x, const char *format, ...) __attribute__((format(printf, 2, 3)));
int tpl_from_json(tpl_value *out, tpl_run *x, const hpc_json *v, bool foreign);
int tpl_list_new(tpl_list **out, tpl_run *x, tpl_list_kind kind);
int tpl_list_add(tpl_run *x, tpl_list *l, tpl_value v);
int tpl_dict_new(tpl_dict **out, tpl_run *x);
/* HPC_E_ARG: Python cannot hash the value. */
int tpl_check_key(tpl_run *x, tpl_value v);
int tpl_dict_put(tpl_run *x, tpl_dict *d, tpl_value key, tpl_value v);
tpl_value *tpl_dict_find(tpl_run *x, const tpl_dict *d, tpl_value key); /* NULL: absent */
tpl_value *tpl_dict_name(tpl_run *x, const tpl_dict *d, const char *name);
tpl_value tpl_of_list(tpl_list *l);
tpl_value tpl_of_dict(tpl_dict *d);
tpl_value tpl_of_bool(bool b);
tpl_value tpl_of_int(int64_t i);
int tpl_of_name(tpl_value *out, tpl_run *x, const char *text);
bool tpl_truth(tpl_value v);
int tpl_equal(bool *out, tpl_run *x, tpl_value a, tpl_value b);
int tpl_compare(int *out, tpl_run *x, tpl_value a, tpl_value b);
const char *tpl_type(tpl_value v); /* Python's name */
bool tpl_is_number(tpl_value v);   /* including bool */
double tpl_real(tpl_value v);
bool tpl_whole(int64_t *out, tpl_value v); /* int or bool */
/* The elements of what can be iterated, as a new list or the value's own. */
int tpl_iterate(tpl_list **out, tpl_run *x, tpl_value v);
int tpl_length(int64_t *out, tpl_run *x, tpl_value v);
int tpl_contains(bool *out, tpl_run *x, tpl_value item, tpl_value in);

/* text.c */
int tpl_put(hpc_template_output *out, const char *data, size_t n, bool foreign);
int tpl_put_part(hpc_template_output *out, const tpl_text *t, size_t from, size_t to);
/* Takes the bytes out of `made`, which is empty after it. */
int tpl_take_text(tpl_value *out, tpl_run *x, hpc_template_output *made);
int tpl_part(tpl_value *out, tpl_run *x, const tpl_text *t, size_t from, size_t to);
size_t tpl_next(uint32_t *code, const char *data, size_t n, size_t at); /* bytes of a character */
int64_t tpl_characters(const tpl_text *t);
size_t tpl_offset(const tpl_text *t, int64_t character);
bool tpl_is_space(uint32_t code); /* str.isspace of Python */
void tpl_trim(size_t *from, size_t *to, const tpl_text *t, const tpl_text *of, int sides);
bool tpl_is(const tpl_text *t, const char *word);
/* str(v) of Python */
int tpl_put_str(hpc_template_output *out, tpl_run *x, tpl_value v);
int tpl_str(tpl_value *out, tpl_run *x, tpl_value v);
void tpl_real_text(char out[40], double r);

/* json.c */
int tpl_tojson(tpl_value *out, tpl_run *x, tpl_value v, const tpl_args *args);

/* evaluate.c, render.c */
int tpl_evaluate(tpl_value *out, tpl_run *x, tpl_scope *s, const tpl_node *n);
int tpl_item(tpl_value *out, tpl_run *x, tpl_value v, tpl_value key);
int tpl_call_macro(tpl_value *out, tpl_run *x, const tpl_macro *m, const tpl_args *args);
/* value.item[k] of an argument by position k or by name; NULL: absent */
const tpl_value *tpl_arg(const tpl_args *args, int64_t k, const char *name);
int tpl_check_args(tpl_run *x, const char *what, const tpl_args *args, int64_t most);

/* filter.c, filter_list.c, test.c, method.c, function.c */
typedef int tpl_filter_fn(tpl_value *out, tpl_run *x, tpl_value v, const tpl_args *args);
typedef struct tpl_filter {
    const char *name;
    tpl_filter_fn *run;
    int64_t most; /* arguments */
} tpl_filter;
int tpl_apply_filter(tpl_value *out, tpl_run *x, const char *name, tpl_value v,
                     const tpl_args *args);
extern const tpl_filter tpl_list_filters[]; /* ends with a name of NULL */
int tpl_apply_test(bool *out, tpl_run *x, const char *name, tpl_value v, const tpl_args *args);
int tpl_find_method(tpl_value *out, tpl_run *x, tpl_value self, const char *name); /* 1: found */
int tpl_call(tpl_value *out, tpl_run *x, tpl_value f, const tpl_args *args);
int tpl_global(tpl_value *out, tpl_run *x, const char *name); /* 1: found */
int tpl_text_method(tpl_value *out, tpl_run *x, const tpl_text *t, const char *name,
                    const tpl_args *args);

#endif
