/*
 * priv.h: the parts of a completion: where it ends (stop.c, outline.c), what of it repeats what
 * follows (repeat.c), how it is indented (indent.c), the columns of
 * fixed-form Fortran (card.c), how long a prompt may be (budget.c),
 * and what the model is shown (prompt.c).
 */
#ifndef HPC_COMPLETE_PRIV_H
#define HPC_COMPLETE_PRIV_H

#include "infer/complete/complete.h"
#include "runtime/source/bracket.h"
#include "tokenizer/tokenizer.h"

enum { COMPLETE_TAB = 8 }; /* columns */

/* ---- text (lines.c) ---------------------------------------------------------------------- */
size_t complete_line_begin(const char *text, size_t at);          /* of the line that holds `at` */
size_t complete_line_end(const char *text, size_t n, size_t at);  /* its line feed, or n */
size_t complete_indent_of(const char *text, size_t n, size_t at); /* columns before that line */
size_t complete_blanks(const char *text, size_t n, size_t at);    /* behind spaces and tabs */
bool complete_is_blank(const char *text, size_t n);               /* no more than white space */

/* ---- where it ends (stop.c) -------------------------------------------------------------- */
typedef struct complete_open { /* what is open at the place */
    uint8_t kind;              /* hpc_bracket_kind */
    bool closed;               /* by what stands behind the place */
    size_t indent;             /* columns before the line in which it begins */
} complete_open;
typedef struct complete_stop {
    const hpc_spot *d;
    hpc_complete_stop kind;
    hpc_buf lead;        /* from the start of the statement, and of the comment or string around */
    complete_open *open; /* the innermost first */
    int64_t open_n, open_cap;
    int64_t target; /* which of them is to be closed; -1: none */
    hpc_tokens tokens;
    hpc_brackets brackets;
    hpc_buf text;
} complete_stop;
int complete_stop_create(complete_stop *s, const hpc_spot *d, hpc_complete_stop kind);
void complete_stop_release(complete_stop *s);
/* How much of text[0..n), which goes on behind the place, belongs to it; *over: what comes behind
 * does not. last: nothing comes any more. More text never takes back what was said to belong to it,
 * unless that is the last bytes since the last line feed. */
int complete_stop_find(size_t *end, bool *over, complete_stop *s, const char *text, size_t n,
                       bool last);
/* The brackets of lead + text[0..n), in s->brackets; offsets are those of s->text. */
int complete_stop_read(complete_stop *s, const char *text, size_t n);
bool complete_stop_is_known(const complete_stop *s, const hpc_bracket *b); /* one of the lead */
bool complete_stop_closes_open(const complete_stop *s, const hpc_bracket *b);
/* Which of s->open a closing bracket of that kind closes, from `from` on; -1: none. */
int64_t complete_stop_closed_by(const complete_stop *s, int kind, int64_t from);
bool complete_is_inline(int kind); /* a parenthesis or a square bracket */

/* ---- what it leaves open (close.c) -------------------------------------------------------- */
/* Brackets that text[0..n) at the cursor leaves open: its own, and those from the innermost at the
 * cursor to the target that neither it nor the text after the cursor closes. */
int complete_open_count(int64_t *open, complete_stop *s, const char *text, size_t n);
/* Where the last complete statement of text[0..n) ends: 0 if there is none. open_too: or where a
 * block begins. */
int complete_statement_end(size_t *end, complete_stop *s, const char *text, size_t n,
                           bool open_too);
/* Appends what closes all that complete_open_count counts, each brace on a line of its own.
 * Appends nothing for Fortran, where the name of the end statement is not known. */
int complete_close(hpc_buf *out, complete_stop *s, const char *text, size_t n);
/* *sound: it is worth more tokens. It closes no bracket too many, and at least half of its lines
 * are distinct. */
int complete_is_sound(bool *sound, complete_stop *s, const char *text, size_t n);

/* ---- what its function asks for (body.c) ------------------------------------------------- */
enum { COMPLETE_MODELS = 3 }; /* OpenMP, MPI, CUDA */
typedef struct complete_body {
    bool asks;                   /* the cursor begins a body that has work to do */
    bool model[COMPLETE_MODELS]; /* asked for before the cursor, and not used there */
} complete_body;
int complete_body_find(complete_body *out, hpc_tokens *tokens, const hpc_spot *d);
/* *trivial: the completion does no work. *missing: a model that it lacks, or NULL. */
int complete_body_judge(bool *trivial, const char **missing, const complete_body *b,
                        hpc_tokens *tokens, const hpc_spot *d, const hpc_buf *text);

/* ---- blocks by indentation (outline.c) ----------------------------------------------- */
/* The same without a lexer. text: from the beginning of the cursor's line, which is at `lead`. */
void complete_outline_find(size_t *end, bool *over, hpc_complete_stop kind, const char *text,
                           size_t n, size_t lead, bool last);

/* ---- what repeats (repeat.c) ------------------------------------------------------------- */
/* As complete_stop_find, of a text that ends there: where it begins to say what follows it. */
void complete_repeat_find(size_t *end, bool *over, const hpc_spot *d, const char *text, size_t n,
                          bool last);

/* ---- what goes round in circles (circle.c) ------------------------------------------ */
/* The same of a text that says the same lines over and over, as small models do: where the second
 * time begins. */
void complete_circle_find(size_t *end, bool *over, const char *text, size_t n, bool last);

/* ---- how it is indented (indent.c) ------------------------------------------------------- */
typedef struct complete_indent {
    const hpc_spot *d;
    bool tabs;       /* the file's lines begin with tabs */
    size_t unit;     /* columns of a level; 8 where a level is a tab */
    bool regular;    /* the file's lines before the place are as deep as their blocks */
    bool decided;    /* by the first line that comes and tells, how those that come are changed: */
    size_t base;     /* of the columns behind this one */
    size_t from, to; /* so many become so many, */
    int64_t moved;   /* and all move by these */
} complete_indent;
int complete_indent_create(complete_indent *i, const hpc_spot *d);
/* Appends text[0..n), which `s` has just been asked about, as the file would have it. What was told
 * of its lines stays so when more of them come. */
int complete_indent_apply(hpc_buf *out, complete_indent *i, const complete_stop *s,
                          const char *text, size_t n);

/* ---- columns of fixed-form Fortran (card.c) ------------------------------------------ */
/* Appends text[0..n), which comes at the cursor, in columns 1 to 72. What was appended for whole
 * lines stays when more of them come. */
int complete_card_put(hpc_buf *out, const hpc_spot *d, const char *text, size_t n);

/* ---- tokens that are chosen anew (heal.c) ------------------------------------------------ */
/* Whether it is worth a vocabulary to ask. */
bool complete_heal_may(const char *text, size_t n);
/* How many of the tokens that a text ends with are taken back, at most 3, for some token begins
 * with its last bytes and is longer; *owed: bytes of the text that these stand for. */
int64_t complete_heal(size_t *owed, const hpc_vocabulary *v, const char *text, size_t n,
                      const int32_t *id, int64_t id_n);

/* ---- how long a prompt may be (budget.c) ------------------------------------------------- */
enum { COMPLETE_BUDGET_LEAST = 512 }; /* tokens: shorter prompts are not limited by time */
/* From the time that the first 320 tokens of a prompt take, which stay in the cache. */
int complete_budget_measure(double *ns_per_flop, hpc_engine *e, const hpc_ids *prompt);
/* Has a port read the first tokens of a prompt, which stay in the cache, so that it knows its rate.
 */
int complete_budget_read(const hpc_complete_request *r, const hpc_ids *prompt);
/* Tokens that the model reads in this time, at least COMPLETE_BUDGET_LEAST. */
int64_t complete_budget_tokens(const hpc_model_config *m, double ns_per_flop, int64_t ns);

/* ---- what the model is shown (prompt.c) -------------------------------------------------- */
typedef struct complete_prompter {
    const hpc_tokenizer *t;
    hpc_tokenizer_scratch *scratch;
    int32_t special[HPC_SPECIAL_N]; /* -1: the model has none */
    bool fills;                     /* it can be shown what follows, */
    bool suffix_first;              /* and was trained with that before what comes first, too */
    int32_t begin;                  /* -1: texts have none */
    int32_t *stop;                  /* tokens that are no text */
    int64_t stop_n, stop_cap;
    const hpc_vocabulary *vocabulary; /* to take tokens back by; NULL: none are */
    size_t owed;                      /* bytes before the place that the last prompt leaves out */
    hpc_buf text;
    hpc_ids work;
} complete_prompter;
int complete_prompter_open(complete_prompter *p, const hpc_tokenizer *t);
void complete_prompter_close(complete_prompter *p);
/* A model may have more tokens than its tokenizer: rows that nobody trained, and no text. */
int complete_prompter_stop_behind(complete_prompter *p, int64_t vocab);
/* Replaces ids: at most so many. What follows comes first where the model knows that order, so that
 * an edit before the place leaves its part of the cache as it is. */
int complete_prompt(hpc_ids *ids, complete_prompter *p, const hpc_complete_request *r,
                    int64_t most);

#endif
