/*
 * program.h: the analysed file: its text and tree, the uses of each symbol, the effects of each
 * function.
 */
#ifndef HPC_PRAGMA_PROGRAM_H
#define HPC_PRAGMA_PROGRAM_H

#include "infer/pragma/call_known.h"

typedef struct symbol_use {
    int32_t writes_n; /* assignments in the whole file, without the initialiser */
    int32_t write;    /* the last of them */
    bool addressed;   /* its address is taken, a reference is bound to it, or a lambda captures it
                         by reference */
    bool bound;       /* an object may hold a reference to it */
    bool copied;      /* a pointer: its value is stored in another one */
    int32_t last;     /* the last node that names it */
    bool by_thread;   /* a thread-local variable, or a function that reaches one */
} symbol_use;

/* The effects of a function, except for its return value (effect.c). */
enum {
    EFFECT_NONE,   /* reads at most the values of its arguments */
    EFFECT_READS,  /* reads memory */
    EFFECT_WRITES, /* writes through arguments */
    EFFECT_BAD,    /* writes state, does I/O, or does not return: `why` */
    EFFECT_UNKNOWN /* `why` */
};
enum { ARG_NONE = 0, ARG_READ = 1, ARG_WRITE = 2, ARG_ONE = 4 /* only the object pointed to */ };
enum { EFFECT_GLOBALS = 8, EFFECT_ARGUMENTS = 16 };
typedef struct effect {
    uint8_t state; /* 0: not analysed, 1: being analysed, 2: known */
    uint8_t kind;
    uint8_t arg[EFFECT_ARGUMENTS];  /* accesses through each argument: ARG_... */
    int32_t type[EFFECT_ARGUMENTS]; /* with ARG_WRITE: the type of all that it writes there; -1:
                                       several */
    uint8_t object;                 /* accesses to the object of a method */
    bool asserts;                   /* it ends the program where an assertion does not hold */
    bool hidden;         /* it may read any memory that a variable of the program leads to */
    int32_t hidden_type; /* the type that it reads there; -1: several */
    uint8_t globals_n;
    int32_t global[EFFECT_GLOBALS]; /* variables of the file that it reads */
    uint32_t line;
    const char *why;
} effect;

typedef struct program {
    const hpc_tree *t;
    const char *text; /* the source of t */
    size_t text_n;
    hpc_language language;
    hpc_arena *work;      /* numbers and states; rewound after each loop */
    hpc_arena *out;       /* text and lists of the answers */
    symbol_use *use;      /* by symbol */
    effect *effect;       /* by symbol of a function; effect_of fills it */
    const bool *captured; /* by symbol, of `captured_n`: a lambda that replaces its calls refers to
                             this variable, so no clause of the loop reaches it; NULL: none */
    int64_t captured_n;
} program;
/* Needs all fields except use and effect. */
int program_init(program *p);
/* The effects of a function. While they are being found (recursion), state is 1. */
const effect *effect_of(const program *p, int32_t symbol);
/* The evaluation of an expression may change something. */
bool has_effects(const program *p, int32_t e);
/* The next node after `from` within a loop that names a variable as a lambda captured it; 0: none.
 */
int32_t next_captured(const program *p, int32_t loop, int32_t from);
/* The source of a node, shortened and on one line; lives in p->out. For the declaration of a
 * range-based loop: "x (element of v)". */
const char *node_text(const program *p, int32_t node);
/* The same also for a name that such a loop declares. */
const char *access_text(const program *p, int32_t node);

#endif
