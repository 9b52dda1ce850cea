/*
 * tree.h: the syntax tree of a file: functions, statements and expressions with their types and
 * symbols. libclang builds it in the checker's process (check.h); the result is a plain table that
 * does not depend on libclang.
 *
 * Only the file itself has nodes; its headers provide symbols and types. OpenMP
 * directives are not part of the tree (see hpc_loops_find): the text is parsed without
 * OpenMP, but with _OPENMP defined, so a loop with a directive is a plain loop. Files
 * that do not compile also have a tree. Code that the compiler did not understand is
 * OTHER or missing, and all nodes around it have ERRORS. Types that no header declares
 * are UNKNOWN, and so are types derived from them.
 */
#ifndef HPC_SOURCE_TREE_H
#define HPC_SOURCE_TREE_H

#include "runtime/source/check.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- types --------------------------------------------------------------------- */
typedef enum hpc_type_kind {
    HPC_TYPE_UNKNOWN, /* of a template's parameter, of an undeclared name, or not supported */
    HPC_TYPE_VOID,
    HPC_TYPE_BOOL,
    HPC_TYPE_INTEGER, /* also characters and enums */
    HPC_TYPE_FLOAT,   /* also _Complex: see bytes */
    HPC_TYPE_POINTER,
    HPC_TYPE_ARRAY,     /* of `to`; n elements, or -1: not a constant */
    HPC_TYPE_REFERENCE, /* to `to`; also && */
    HPC_TYPE_RECORD,    /* struct, class, union */
    HPC_TYPE_FUNCTION
} hpc_type_kind;
enum {
    HPC_TYPE_CONST = 1 << 0,
    HPC_TYPE_VOLATILE = 1 << 1,
    HPC_TYPE_RESTRICT = 1 << 2,
    HPC_TYPE_ATOMIC = 1 << 3,
    HPC_TYPE_UNSIGNED = 1 << 4,
    HPC_TYPE_ACTIVE = 1 << 4, /* RECORD: objects run a destructor, or functions for their members */
    HPC_TYPE_UNION = 1 << 5,
    HPC_TYPE_CHARACTER = 1 << 6, /* char, signed char, unsigned char, std::byte: may alias all */
    HPC_TYPE_LAMBDA = 1 << 7,    /* RECORD */
    /* POINTER: an iterator of a contiguous container, a span or a string_view. Its operators appear
     * as those of pointers. */
    HPC_TYPE_VIEW = 1 << 7
};
typedef struct hpc_tree_type { /* canonical: typedefs are resolved */
    uint8_t kind;
    uint8_t flags; /* of this level */
    int32_t to;    /* POINTER, ARRAY, REFERENCE: the type referred to; else -1 */
    int64_t n;     /* ARRAY: elements */
    int64_t bytes; /* -1: unknown size */
    uint32_t name; /* of a RECORD or VIEW, qualified: "std::vector<double, ...>" */
} hpc_tree_type;

/* ---- symbols ------------------------------------------------------------------- */
typedef enum hpc_symbol_kind {
    HPC_SYMBOL_OTHER,
    HPC_SYMBOL_VARIABLE, /* of a function or of a file */
    HPC_SYMBOL_PARAMETER,
    HPC_SYMBOL_FIELD,
    HPC_SYMBOL_FUNCTION, /* also methods */
    HPC_SYMBOL_CONSTANT  /* an enumerator with its `value` */
} hpc_symbol_kind;
enum {
    HPC_SYMBOL_LOCAL = 1 << 0,    /* lives until the end of its block; also parameters */
    HPC_SYMBOL_STATIC = 1 << 1,   /* one for all calls: static within a function, or a member */
    HPC_SYMBOL_INTERNAL = 1 << 2, /* internal linkage: static or in an unnamed namespace */
    HPC_SYMBOL_THREAD = 1 << 3,   /* thread_local, _Thread_local, __thread, threadprivate */
    HPC_SYMBOL_PURE = 1 << 4,     /* __attribute__((pure)) or ((const)) */
    HPC_SYMBOL_CONST = 1 << 5,    /* ((const)) only; a method: does not modify its object (const) */
    HPC_SYMBOL_METHOD = 1 << 6,   /* not static: has an object */
    HPC_SYMBOL_VIRTUAL = 1 << 7,
    HPC_SYMBOL_VARIADIC = 1 << 8,
    HPC_SYMBOL_SYSTEM = 1 << 9, /* declared in a system header */
    HPC_SYMBOL_IN_FILE = 1 << 10,
    HPC_SYMBOL_NORETURN = 1 << 11,
    HPC_SYMBOL_KNOWN = 1 << 12, /* a const variable with a constant `value` */
    HPC_SYMBOL_EXTERN_C = 1 << 13,
    HPC_SYMBOL_DEVICE = 1 << 14,   /* __global__ or __device__, and not __host__: runs on a GPU */
    HPC_SYMBOL_UNSIZED = 1 << 15,  /* an array of unknown extent, as a(*), which no clause copies */
    HPC_SYMBOL_OVERLAID = 1 << 16, /* a field that shares its memory with others: of a union */
    HPC_SYMBOL_BINDING = 1 << 17,  /* a name of a structured binding, which no clause takes */
    HPC_SYMBOL_DEFAULTED = 1 << 18 /* a member function that the compiler writes */
};
typedef struct hpc_symbol {
    uint8_t kind;
    uint32_t flags;
    int32_t type;   /* of a function: its return type */
    int32_t node;   /* its definition, else its declaration in this file (FUNCTION, VARIABLE); -1 */
    uint32_t name;  /* "x" */
    uint32_t scope; /* the enclosing class or namespace: "std::vector", or "" */
    uint32_t line;  /* of that declaration in this file, else 0; with `why`: of the reason */
    /* FIELD: its number in its class from 1, plus HPC_FIELDS times the number of fields; 0: a class
     * with bases, or with a field that is neither a number, a pointer nor a reference. */
    int64_t value;
    /* FUNCTION of Fortran without a body here: why its calls are not analysed: "keeps a saved
     * variable"; or "". */
    uint32_t why;
} hpc_symbol;

enum { HPC_FIELDS = 1 << 16 };

/* ---- nodes --------------------------------------------------------------------- */
typedef enum hpc_tree_kind {
    /* Code that is not understood, or irrelevant; with any children. */
    HPC_TREE_OTHER,
    HPC_TREE_NOTHING,  /* an empty statement, or an absent part of its parent */
    HPC_TREE_FILE,     /* node 0: FUNCTION, VARIABLE, OTHER */
    HPC_TREE_FUNCTION, /* PARAMETERs as VARIABLE, then BLOCK; only with a body. A constructor's
                          member initialisers are OTHER, before the BLOCK. After the file's
                          functions come those of non-system headers and of local classes that they
                          call, directly or not: all their nodes are ELSEWHERE */
    HPC_TREE_VARIABLE, /* the initialiser, or no child */
    /* statements */
    /* VARIABLE... A structured binding: a VARIABLE without a name for the whole, and one for each
     * name, a reference that is initialised with the part of the whole. Their type and OTHER if the
     * parts are not members or elements */
    HPC_TREE_DECLARE,
    HPC_TREE_BLOCK,
    HPC_TREE_IF,  /* condition, then, else (NOTHING if absent); a declaration in its head: OTHER */
    HPC_TREE_FOR, /* first, condition, step, body; each may be NOTHING */
    HPC_TREE_RANGE,  /* VARIABLE, the range, body (which begins with the names of a binding) */
    HPC_TREE_WHILE,  /* condition, body */
    HPC_TREE_DO,     /* body, condition */
    HPC_TREE_SWITCH, /* value, body */
    HPC_TREE_CASE,   /* value (NOTHING: default), statement */
    HPC_TREE_BREAK,
    HPC_TREE_CONTINUE,
    HPC_TREE_RETURN, /* value, or NOTHING */
    HPC_TREE_GOTO,
    HPC_TREE_LABEL, /* statement */
    HPC_TREE_TRY,   /* BLOCK, CATCH... */
    HPC_TREE_CATCH, /* VARIABLE if there is one, BLOCK */
    HPC_TREE_ASM,
    /* expressions; parentheses and implicit conversions have no nodes */
    HPC_TREE_NUMBER, /* an integer, a character, a bool, sizeof, nullptr: `value` */
    HPC_TREE_FLOAT,  /* a floating constant */
    HPC_TREE_STRING,
    HPC_TREE_NAME, /* `symbol`; if it depends on a template's parameters: of kind OTHER, with a name
                    * only */
    HPC_TREE_THIS,
    HPC_TREE_MEMBER, /* object (an implicit one: THIS); `symbol`; op '>' for "->", else '.' */
    HPC_TREE_INDEX,  /* array or pointer, index */
    HPC_TREE_CALL,   /* callee, arguments...; `symbol` is the function or -1. The callee of a method
                      * is MEMBER. An overloaded operator is a call with the flag OPERATOR: NAME of
                      * the operator's function, then operands in order, the object first. */
    HPC_TREE_CONSTRUCT, /* arguments...: constructs an object of the node's type */
    HPC_TREE_UNARY,     /* op, below; operand */
    HPC_TREE_BINARY,    /* op; left, right */
    HPC_TREE_ASSIGN,    /* op '=' or that of a compound assignment; left, right */
    HPC_TREE_CHOOSE,    /* condition, then, else */
    HPC_TREE_CAST,      /* an explicit cast; its operand */
    HPC_TREE_LIST,      /* { ... } */
    HPC_TREE_NEW,       /* any arguments */
    HPC_TREE_DELETE,
    HPC_TREE_THROW,
    /* Captures as NAME (flag BY_REFERENCE), init-captures ("[k = n]") and parameters as VARIABLE,
     * then BLOCK. op: the capture default '&' or '='; OTHER: unknown. */
    HPC_TREE_LAMBDA,
    HPC_TREE_KIND_N
} hpc_tree_kind;
/* Operators of one character are ASCII: + - * / % & | ^ < > = ! ~ ,  others are below. Unary minus
 * is '-', dereference '*', address '&'. */
typedef enum hpc_tree_op {
    HPC_OP_NONE,
    HPC_OP_SHIFT_LEFT = 1,
    HPC_OP_SHIFT_RIGHT,
    HPC_OP_LESS_EQUAL,
    HPC_OP_GREATER_EQUAL,
    HPC_OP_EQUAL,
    HPC_OP_NOT_EQUAL,
    HPC_OP_AND, /* && */
    HPC_OP_OR,
    HPC_OP_PRE_INCREMENT,
    HPC_OP_PRE_DECREMENT,
    HPC_OP_POST_INCREMENT,
    HPC_OP_POST_DECREMENT,
    HPC_OP_OTHER = 31
} hpc_tree_op;
enum {
    HPC_TREE_MACRO = 1 << 0,    /* at least partly from a macro: at, to are those of its use */
    HPC_TREE_OPERATOR = 1 << 1, /* CALL: an overloaded operator */
    HPC_TREE_BY_REFERENCE = 1 << 2,
    HPC_TREE_ERRORS = 1 << 3, /* the compiler found an error in it: parts may be missing */
    HPC_TREE_ELSEWHERE =
        1 << 4, /* in a header or a local class: it has no position, and line and column 0 */
    HPC_TREE_TEMPLATE = 1 << 5 /* FUNCTION: of a template, which leaves types open */
};
/* The name of a function without arguments that, as a subscript of Fortran, stands for all elements
 * of a dimension. */
#define HPC_TREE_ALL_ELEMENTS "(:)"
enum { HPC_TREE_DEPTH_MOST = 1024 }; /* of a node; deeper code is OTHER without children */
typedef struct hpc_tree_node {
    uint8_t kind, op;
    uint16_t flags;
    int32_t end;     /* after its last descendant: children of i are in (i, end) */
    int32_t parent;  /* -1 of the file */
    int32_t type;    /* of an expression or variable; -1 */
    int32_t symbol;  /* -1 */
    uint32_t at, to; /* bytes of the text, [at, to) */
    uint32_t line, column;
    int64_t value; /* NUMBER */
} hpc_tree_node;

typedef struct hpc_tree {
    hpc_tree_node *node; /* in the order of the text */
    hpc_tree_type *type;
    hpc_symbol *symbol;
    char *name; /* NUL-terminated, name[0] is '\0' */
    int64_t n, types_n, symbols_n;
    size_t names_bytes;
    int64_t errors;      /* of the compiler, in the file and its headers */
    char error[400];     /* the first, or the first header that was not found; "" */
    char error_in[128];  /* the header that the error is in; "": the file itself */
    uint32_t error_line; /* 0: not known */
    char missing[128];   /* the first header that was not found, or "" */
    bool cut;            /* too large: functions at the end are missing */
} hpc_tree;              /* zero to begin with */
void hpc_tree_release(hpc_tree *t);

/* The first child of a node, and the next one after child c; 0 at the end. */
static inline int32_t hpc_tree_first(const hpc_tree *t, int32_t i)
{
    return i + 1 < t->node[i].end ? i + 1 : 0;
}
static inline int32_t hpc_tree_next(const hpc_tree *t, int32_t c)
{
    int32_t e = t->node[c].end;
    return e < t->node[t->node[c].parent].end ? e : 0;
}
/* Child k from 0, or 0. */
int32_t hpc_tree_child(const hpc_tree *t, int32_t i, int k);
/* The spelling of an hpc_tree_op, without operands: "<=", "++"; "" if it has none. May use out. */
const char *hpc_tree_op_text(char out[4], uint8_t op);
/* Prints one indented line per node: "FOR 12:5", "  ASSIGN + 13:9 double"; types read from the
 * left: "const *restrict double". */
int hpc_tree_print(hpc_buf *out, const hpc_tree *t, int32_t node);

/* ---- from a file ----------------------------------------------------------------- */
typedef struct hpc_tree_source hpc_tree_source; /* a file that is open in a checker's process */
typedef struct hpc_tree_file {
    const char *path; /* need not exist; quoted includes are searched in its folder */
    const char *text;
    size_t n; /* at most 16 MiB */
    hpc_language language;
    const hpc_check_flags *flags; /* NULL: none */
    /* One of many files, without a later hpc_tree_again: files share parses of standard headers. */
    bool once;
} hpc_tree_file;
/* True if there are trees of the language; those of Fortran need hpccoder-flang. */
bool hpc_tree_knows(hpc_language l);
/* Parses the file; its headers are parsed only once. HPC_E_UNSUPPORTED: not C, C++ or Fortran (CUDA
 * and HIP are read with a few declarations of ours), or the compiler fails on it or is missing: the
 * message has the reason. Fortran: see runtime/source/flang/priv.h for how its variables appear. */
int hpc_tree_open(hpc_tree_source **out, hpc_checker *c, const hpc_tree_file *f);
/* Builds the tree. */
int hpc_tree_get(hpc_tree *out, hpc_tree_source *s);
/* Builds the tree of another text of the file. Headers are not parsed again as long as the lines
 * that include them are the same. */
int hpc_tree_again(hpc_tree *out, hpc_tree_source *s, const char *text, size_t n);
void hpc_tree_close(hpc_tree_source *s); /* NULL is fine; before the checker */

#ifdef __cplusplus
}
#endif
#endif
