/*
 * Directives for the loops of one file: the analysis, which loops get a directive, and the edits
 * that put directives into the text.
 */
#ifndef HPC_PRAGMA_DIRECTIVES_H
#define HPC_PRAGMA_DIRECTIVES_H

#include "infer/pragma/pragma.h"
#include "runtime/source/check.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_directive_choice { /* for one loop */
    const char *directive;            /* proposed, with its if clause; NULL: none */
    bool put;                         /* the edits contain it */
    const char *because;              /* why it is not proposed, or not put in; NULL */
    int64_t rank;                     /* among the proposals of the file, from 1; 0: no proposal */
} hpc_directive_choice;

/* The caller owns path and text; release frees the rest. Zero to begin with. */
typedef struct hpc_directive_file {
    const char *path;
    hpc_buf text;
    hpc_language language;
    hpc_pragma_loops loops;
    hpc_directive_choice *choice; /* for each loop */
    const char *kept;             /* why the file gets no directive at all; NULL */
    const char *untyped; /* why there is no syntax tree; the caller may set it: libclang is not
                            asked then. NULL: there is one */
    int64_t errors;      /* of the compiler */
    const char *error;   /* the first, with its position: "a.c:7: ...", "a.c: x.h:2: ..."; NULL */
    char missing[128];   /* a header */
    bool searched;       /* folders of its headers were found in the tree around it */
    bool cut;            /* too large: functions at its end are left out */
    hpc_arena *arena;
} hpc_directive_file;

typedef struct hpc_directive_options {
    hpc_pragma_options loops;
    bool guard;                   /* conditional loops get if clauses that test what they assume */
    bool conditional;             /* or their assumptions are taken for granted */
    const hpc_check_flags *flags; /* NULL: none */
    /* Called between the analysis and the limits on threads, and after them; NULL: not. */
    int (*ask)(hpc_directive_file *f, const hpc_tree *tree, void *user);
    int (*verify)(hpc_directive_file *f, const hpc_tree *tree, void *user);
    void *user;
} hpc_directive_options;

/* Reads the file at f->path and detects its language. HPC_E_ARG: not a regular file, or its name
 * names no known language. HPC_E_FORMAT: not UTF-8 text. */
int hpc_directive_file_read(hpc_directive_file *f);
/* HPC_E_ARG: the text has no such line; 0: any. */
int hpc_directive_file_check_line(const hpc_directive_file *f, int64_t line);

/* Analyses f->text, chooses, and ranks. A file without a syntax tree lists its loops as unknown. */
int hpc_directives_find(hpc_directive_file *f, hpc_checker *checker,
                        const hpc_directive_options *o);
/* Lowers the confidence of verdicts with one line of evidence, if a header is missing, or the flags
 * are not the file's own (doubt.c). */
int hpc_directives_doubt(hpc_directive_file *f, const hpc_check_flags *flags);
/* All but path and text. */
void hpc_directive_file_release(hpc_directive_file *f);

/* The loop has a directive that gives a wrong result. */
bool hpc_directive_is_wrong(const hpc_pragma_loop *l);
const char *hpc_directive_advice(const hpc_pragma_loop *l); /* what to do about it; NULL: nothing */

/* ---- the evidence for a reader (brief.c) ---- */
enum { HPC_BRIEF_LINES = 5, HPC_BRIEF_VERIFY = 16, HPC_BRIEF_BYTES = 420 };
typedef struct hpc_brief_line {
    const char *kind; /* of the evidence, or "edit": the change that would make it parallel */
    uint32_t line;    /* 0: none */
    char text[HPC_BRIEF_BYTES];
} hpc_brief_line;
typedef struct hpc_brief {
    hpc_brief_line item[HPC_BRIEF_VERIFY + HPC_BRIEF_LINES];
    int n, verify; /* verify: results of running the program, which are not limited to few lines */
    int64_t left;  /* pieces of evidence that are not in it */
} hpc_brief;
void hpc_pragma_brief(hpc_brief *out, const hpc_pragma_loop *l);

/* ---- the choice (choose.c) ---- */
int hpc_directives_choose(hpc_directive_file *f, const hpc_directive_options *o);

/* ---- edits (edits.c) ----
 * A directive has a line of its own above the loop's, with its indentation and line end; where
 * something else stands before the loop on its line, the line is cut in two. */
typedef struct hpc_directive_edit { /* a line of the text becomes others */
    size_t at, end;                 /* with its end */
    uint32_t line;
    size_t to, to_n; /* of `text` below: what replaces it */
} hpc_directive_edit;
typedef struct hpc_directive_edits {
    hpc_directive_edit *item;
    int64_t n, cap, directives_n;
    hpc_buf text;
} hpc_directive_edits; /* zero to begin with */
/* only: the one loop to edit for; -1: all that are put in. */
int hpc_directive_edits_find(hpc_directive_edits *out, const hpc_directive_file *f, int64_t only);
void hpc_directive_edits_release(hpc_directive_edits *c);
int hpc_directive_edits_apply(hpc_buf *out, const hpc_directive_edits *c, const hpc_buf *text);

/* Where the line around `at` begins, and where its text ends: without the line's end. */
size_t hpc_line_begin(const hpc_buf *text, size_t at);
size_t hpc_line_end(const hpc_buf *text, size_t at);

#ifdef __cplusplus
}
#endif
#endif
