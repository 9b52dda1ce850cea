/*
 * priv.h: what the files of this folder share: versions of files as they are kept, the words that
 * cost time, and what happens in a function, in which loop.
 */
#ifndef HPC_PERF_PRIV_H
#define HPC_PERF_PRIV_H

#include "infer/perf/change.h"
#include "infer/perf/feature.h"
#include "runtime/source/bracket.h"
#include "runtime/source/diff.h"
#include "runtime/source/pair.h"

/* ---- cache.c: versions of files ------------------------------------------------------------- */
typedef struct perf_part { /* a function, or what is in none */
    uint64_t content;      /* of its code */
    uint64_t bytes;        /* of its text, comments and white space too */
} perf_part;
typedef struct perf_kept perf_kept;
struct perf_kept {
    hpc_perf_source s; /* first: a source that is handed out is one of these */
    hpc_git_id id;
    uint64_t key;     /* of id and of what of the path matters */
    perf_part *part;  /* of functions, then of what is in none */
    size_t bytes;     /* of memory, about */
    int64_t used;     /* the change that used it last */
    perf_kept *chain; /* of the same slot */
};
static inline const perf_part *perf_part_of(const hpc_perf_source *s, int64_t function)
{
    const perf_kept *k = (const perf_kept *)(const void *)s;
    return &k->part[function < 0 ? s->f.n : function];
}
typedef struct perf_work_file { /* of the working tree */
    const hpc_perf_text *file;
    hpc_git_id id;   /* zero: it does not exist */
    hpc_git_id base; /* its blob in the commit; zero: none */
} perf_work_file;
enum { PERF_SLOTS = 4096 };
struct hpc_perf_reader {
    hpc_git *git;
    hpc_perf_limits limits;
    bool leaves_aside; /* files that the program does not contain */
    const hpc_perf_program *program;
    perf_work_file *work; /* by path */
    int64_t work_n;
    perf_kept *slot[PERF_SLOTS];
    size_t bytes;        /* of all that is kept */
    size_t change_bytes; /* of text, of this change */
    int64_t change, read_n, kept_n;
    hpc_git_changes diff;
    hpc_buf scratch;
    hpc_edits edits;
};
/* The file of that id; reads and parses it unless it is there. */
int perf_cache_get(const hpc_perf_source **out, hpc_perf_reader *r, const hpc_git_id *id,
                   const char *path);
void perf_cache_trim(hpc_perf_reader *r); /* forgets what this change did not use */
void perf_cache_free(hpc_perf_reader *r);

/* ---- worktree.c -------------------------------------------------------------------------------
 */
/* As hpc_git_diff into r->diff, with the files of the working tree as head. */
int perf_work_diff(hpc_perf_reader *r, const hpc_git_id *base,
                   bool (*want)(const char *path, void *user), void *user);
/* The file with this id; NULL: the id is a blob's. */
const hpc_perf_text *perf_work_find(const hpc_perf_reader *r, const hpc_git_id *id);

/* ---- match.c: which is which ----------------------------------------------------------------- */
/* Files of `diff` become those of out: what was renamed is one. */
int perf_match_files(hpc_perf_change *out, hpc_perf_reader *r);
int perf_match_functions(hpc_perf_change *out, hpc_perf_reader *r);

/* ---- lines.c ----------------------------------------------------------------------------------
 */
int perf_line_edits(hpc_perf_change *out, hpc_perf_function *f, hpc_perf_reader *r);

/* ---- build.c ----------------------------------------------------------------------------------
 */
bool perf_is_build(const char *path);
int perf_build_words(hpc_tokens *out, const char *text, size_t n);

/* ---- program.c --------------------------------------------------------------------------------
 */
/* NULL ends the list; case does not matter. */
bool perf_is_one_of(const char *word, size_t n, const char *const *list);

/* ---- words.c ----------------------------------------------------------------------------------
 */
enum {                       /* when a word counts */
       PERF_WORD_CALLED = 1, /* before a parenthesis */
       PERF_WORD_MEMBER = 2, /* and behind '.', '->' or '::' */
       PERF_WORD_ALONE = 4,  /* anywhere */
       PERF_WORD_CPP = 8,    /* not in C or Fortran */
       PERF_WORD_TYPE =
           16, /* the name of a type that is not copied for nothing, before a variable */
       PERF_WORD_KEYWORD = 32, /* what is called before a parenthesis is not this */
       PERF_WORD_SCALAR = 64,  /* a type of one number */
       PERF_WORD_FORTRAN = 128 /* in Fortran alone */
};
typedef struct perf_word {
    uint32_t hash;
    uint8_t kind, how; /* how 0: a free slot */
} perf_word;
enum { PERF_WORD_SLOTS = 2048 };
typedef struct perf_words {
    perf_word c[PERF_WORD_SLOTS], fortran[PERF_WORD_SLOTS];
} perf_words;
void perf_words_init(perf_words *w);
/* What a token of that spelling says; how 0: nothing. */
perf_word perf_word_find(const perf_word *slot, uint32_t hash);

/* ---- scan.c: a function as a list of events -----------------------------------------------------
 */
typedef struct perf_region { /* what runs again and again: a loop */
    uint32_t from;           /* from this byte on; what begins a loop is done once */
    uint32_t end, at, line;
    uint32_t variable; /* the hash of what it counts with; 0: unknown */
    uint64_t bound;    /* of how far it goes; 0: unknown */
    float trips;       /* how often it goes round: what numbers say, or PERF_TRIPS */
    bool inner;        /* no other is inside */
} perf_region;
enum { PERF_TRIPS = 64 };
enum { PERF_DEPTH = 15, PERF_OPEN = 64 };
typedef struct perf_number { /* a name that stands for a number all over a file */
    uint32_t name;
    double value;
} perf_number;
typedef struct perf_scan {
    const perf_words *words;
    const perf_number *number; /* by name; those that loops may go by */
    int64_t numbers_n;
    const hpc_perf_source *s;
    int64_t function;
    bool fortran, cpp;
    hpc_buf code;   /* int64_t: the code tokens, by index in s->t */
    int64_t n;      /* of them */
    int32_t *mate;  /* of each: the bracket that closes or opens it, or -1 */
    uint8_t *depth; /* of each: loops around it */
    int64_t mate_cap, depth_cap;
    perf_region *region; /* by `from` */
    int64_t regions_n, regions_cap;
    hpc_perf_event *event;
    int64_t events_n, events_cap;
    hpc_loops loops;
    hpc_brackets brackets;
    hpc_tokens own; /* of the function, what is no code too */
    /* while it runs: */
    int64_t i; /* in `code` */
    int32_t open[PERF_OPEN];
    int32_t open_n; /* regions around i; deeper ones than PERF_OPEN are not told apart */
    int64_t next;   /* region */
    uint32_t choice[PERF_OPEN]; /* ends of the `switch`es around i */
    int32_t choices_n;
    struct {
        uint32_t end;
        float share;    /* of the times that come here, those that go on */
    } guard[PERF_OPEN]; /* `if`s around i */
    int32_t guards_n;
    int64_t late; /* where what an `if` guards begins */
} perf_scan;
int perf_scan_run(perf_scan *x, const hpc_perf_source *s, int64_t function);
void perf_scan_release(perf_scan *x);
static inline const hpc_token *perf_token(const perf_scan *x, int64_t i)
{
    return &x->s->t.item[((const int64_t *)(const void *)x->code.data)[i]];
}
static inline bool perf_is(const perf_scan *x, int64_t i, const char *word, size_t n)
{
    if (i < 0 || i >= x->n) return false;
    const hpc_token *t = perf_token(x, i);
    return t->n == n && __builtin_memcmp(x->s->text.data + t->at, word, n) == 0;
}
#define PERF_IS(x, i, word) perf_is(x, i, word, sizeof(word) - 1)
/* An event at token i, named like it. */
int perf_event_add(perf_scan *x, hpc_perf_event_kind kind, int64_t i);
int perf_scan_regions(perf_scan *x);                           /* regions.c */
int perf_scan_index(perf_scan *x, int64_t *behind, int64_t i); /* index.c: an access at name i */
int perf_scan_directive(perf_scan *x);                         /* directive.c: at x->i */
int perf_scan_build(perf_scan *x);                             /* build.c: all of it */
int perf_scan_fortran(perf_scan *x);            /* scan_fortran.c: the token at x->i */
int perf_scan_signature(perf_scan *x);          /* signature.c: parameters by value */
int perf_scan_element(perf_scan *x, int64_t i); /* signature.c: the `for` at i, of a container */
/* The hash of the last name of "A::f". */
uint32_t perf_function_name(const hpc_perf_source *s, int64_t function);
/* What a call of MPI at i is, or -1. */
int perf_scan_message(const perf_scan *x, int64_t i);
/* Whether the name at i is that of the function at hand. */
bool perf_scan_is_itself(const perf_scan *x, int64_t i);

#endif
