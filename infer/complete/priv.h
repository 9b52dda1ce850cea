/*
 * priv.h: the parts of a completion: its end (stop.c, outline.c), repetitions of the text after the
 * cursor (repeat.c), its indentation (indent.c), the columns of fixed-form Fortran (card.c), the
 * length of the prompt (budget.c), and the prompt itself (prompt.c).
 */
#ifndef HPC_COMPLETE_PRIV_H
#define HPC_COMPLETE_PRIV_H

#include "infer/complete/complete.h"
#include "runtime/source/bracket.h"
#include "tokenizer/tokenizer.h"

enum { COMPLETE_TAB = 8 }; /* columns */

/* ---- text (lines.c) ---------------------------------------------------------------------- */
size_t complete_line_begin(const char *text, size_t at);         /* start of the line with `at` */
size_t complete_line_end(const char *text, size_t n, size_t at); /* its line feed, or n */
size_t complete_indent_of(const char *text, size_t n,
                          size_t at); /* indentation of that line in columns */
size_t complete_blanks(const char *text, size_t n,
                       size_t at);                  /* first byte after spaces and tabs */
bool complete_is_blank(const char *text, size_t n); /* only white space */

/* ---- the end (stop.c) -------------------------------------------------------------------- */
enum { COMPLETE_OPEN_MOST = 1024 }; /* constructs around the cursor, the innermost ones */
typedef struct complete_open {      /* a construct that is open at the cursor */
    uint8_t kind;                   /* hpc_bracket_kind */
    bool closed;                    /* closed by the text after the cursor */
    size_t indent;                  /* indentation of the line where it begins */
} complete_open;
typedef struct complete_stop {
    const hpc_spot *d;
    hpc_complete_stop kind;
    hpc_buf lead;        /* text from the start of the statement, comment or string to the cursor */
    complete_open *open; /* innermost first */
    int64_t open_n, open_cap;
    int64_t target; /* index of the construct to close; -1: none */
    bool begins;    /* only blanks separate the cursor from a brace before it */
    bool followed;  /* the line continues after the cursor, not with a closing bracket */
    hpc_tokens tokens;
    hpc_brackets brackets;
    hpc_buf text;
} complete_stop;
/* kind: the requested one; s->kind is that of hpc_complete_stop_at. */
int complete_stop_create(complete_stop *s, const hpc_spot *d, hpc_complete_stop kind);
void complete_stop_release(complete_stop *s);
/* The length of the completion within the generated text[0..n). *over: it ends there. last: the
 * text is complete. More text never shortens an earlier answer, except within its last line. */
int complete_stop_find(size_t *end, bool *over, complete_stop *s, const char *text, size_t n,
                       bool last);
/* The brackets of lead + text[0..n), in s->brackets; offsets are those of s->text. */
int complete_stop_read(complete_stop *s, const char *text, size_t n);
bool complete_stop_is_known(const complete_stop *s,
                            const hpc_bracket *b); /* a bracket of the lead */
bool complete_stop_closes_open(const complete_stop *s, const hpc_bracket *b);
/* The index in s->open, from `from` on, that a closer of that kind closes; -1: none. */
int64_t complete_stop_closed_by(const complete_stop *s, int kind, int64_t from);
bool complete_is_inline(int kind); /* a parenthesis or a square bracket */

/* ---- unclosed constructs (close.c) -------------------------------------------------------- */
/* Counts what text[0..n) at the cursor leaves open: its own brackets, comments and strings, and the
 * brackets between the cursor and the target that neither it nor the text after the cursor closes.
 */
int complete_open_count(int64_t *open, complete_stop *s, const char *text, size_t n);
/* The end of the last complete statement of text[0..n), or 0. open_too: the beginning of a block
 * counts as well as an end. */
int complete_statement_end(size_t *end, complete_stop *s, const char *text, size_t n,
                           bool open_too);
/* Appends closers for all brackets that complete_open_count counts, each brace on its own line.
 * Appends nothing for Fortran, where the form of the end statement is unknown. */
int complete_close(hpc_buf *out, complete_stop *s, const char *text, size_t n);
/* *sound: no unmatched closer, and at least half of the lines are distinct. A sound text gets more
 * tokens. */
int complete_is_sound(bool *sound, complete_stop *s, const char *text, size_t n);

/* ---- the task of the function (body.c) --------------------------------------------------- */
enum { COMPLETE_MODELS = 3 }; /* OpenMP, MPI, CUDA */
typedef struct complete_body {
    bool asks;                   /* the cursor begins a body that has work to do */
    bool model[COMPLETE_MODELS]; /* requested before the cursor, but not used there */
} complete_body;
int complete_body_find(complete_body *out, hpc_tokens *tokens, const hpc_spot *d);
/* *trivial: the completion does no work. *missing: a model that it lacks, or NULL. */
int complete_body_judge(bool *trivial, const char **missing, const complete_body *b,
                        hpc_tokens *tokens, const hpc_spot *d, const hpc_buf *text);

/* ---- blocks by indentation (outline.c) ----------------------------------------------- */
/* Like complete_stop_find, without a lexer. text: from the start of the cursor's line; the cursor
 * is at `lead`. */
void complete_outline_find(size_t *end, bool *over, hpc_complete_stop kind, const char *text,
                           size_t n, size_t lead, bool last);

/* ---- repetition of the text after the cursor (repeat.c) ----------------------------------- */
/* Like complete_stop_find: the end is where the text begins to repeat the text after the cursor. */
void complete_repeat_find(size_t *end, bool *over, const hpc_spot *d, const char *text, size_t n,
                          bool last);

/* ---- repetition of itself (circle.c) ------------------------------------------------ */
/* The same for a text that repeats its own lines, as small models do: the end is where the first
 * repetition begins. */
void complete_circle_find(size_t *end, bool *over, const char *text, size_t n, bool last);

/* ---- indentation (indent.c) -------------------------------------------------------------- */
typedef struct complete_indent {
    const hpc_spot *d;
    bool tabs;       /* lines of the file begin with tabs */
    size_t unit;     /* columns of a level; 8 if a level is a tab */
    bool regular;    /* lines before the cursor are indented by their blocks */
    bool decided;    /* a line has determined the change of later lines: */
    size_t base;     /* after this column, */
    size_t from, to; /* a level of `from` columns becomes one of `to`, */
    int64_t moved;   /* and all lines are shifted by this */
} complete_indent;
int complete_indent_create(complete_indent *i, const hpc_spot *d);
/* Appends text[0..n) with the indentation of the file. `s` has just read that text. Complete lines
 * keep their result when more text follows. */
int complete_indent_apply(hpc_buf *out, complete_indent *i, const complete_stop *s,
                          const char *text, size_t n);

/* ---- columns of fixed-form Fortran (card.c) ------------------------------------------ */
/* Appends text[0..n) at the cursor, laid out in columns 1 to 72. Complete lines keep their result
 * when more text follows. */
int complete_card_put(hpc_buf *out, const hpc_spot *d, const char *text, size_t n);

/* ---- token healing (heal.c) -------------------------------------------------------------- */
/* False if no vocabulary could heal this text; then none needs to be built. */
bool complete_heal_may(const char *text, size_t n);
/* The number of last tokens to remove, at most 3, because a longer token begins with the last bytes
 * of the text. *owed: the bytes of the removed tokens. */
int64_t complete_heal(size_t *owed, const hpc_vocabulary *v, const char *text, size_t n,
                      const int32_t *id, int64_t id_n);

/* ---- length of prompts (budget.c) -------------------------------------------------------- */
/* Least limit in tokens: shorter prompts are not limited by time. A prompt that is cut there keeps
 * at least 512, because whole lines and at most 144 tokens more than necessary are dropped. */
enum { COMPLETE_BUDGET_LEAST = 512 + 144 };
/* Measured on the first 320 tokens of a prompt, which stay in the cache. */
int complete_budget_measure(double *ns_per_flop, hpc_engine *e, const hpc_ids *prompt);
/* Lets a port read the first tokens of a prompt, which stay in the cache, to measure its rate. */
int complete_budget_read(const hpc_complete_request *r, const hpc_ids *prompt);
/* Tokens that the model reads in this time, at least COMPLETE_BUDGET_LEAST. */
int64_t complete_budget_tokens(const hpc_model_config *m, double ns_per_flop, int64_t ns);

/* ---- the prompt (prompt.c) --------------------------------------------------------------- */
typedef struct complete_prompter {
    const hpc_tokenizer *t;
    hpc_tokenizer_scratch *scratch;
    int32_t special[HPC_SPECIAL_N]; /* -1: the model has none */
    hpc_fim_order order;            /* NONE: it does not accept the text after the cursor */
    int32_t begin;                  /* token at the beginning of texts; -1: none */
    int32_t *stop;                  /* tokens that are not text */
    int64_t stop_n, stop_cap;
    const hpc_vocabulary *vocabulary; /* for token healing; NULL: none */
    size_t owed;                      /* bytes before the cursor that the last prompt omits */
    hpc_buf text;
    hpc_ids work;
} complete_prompter;
int complete_prompter_open(complete_prompter *p, const hpc_tokenizer *t);
void complete_prompter_close(complete_prompter *p);
/* Adds tokens beyond the tokenizer to `stop`: a model may have such rows, which are untrained. */
int complete_prompter_stop_behind(complete_prompter *p, int64_t vocab);
/* Replaces ids by at most `most` tokens. The suffix comes first if the model was trained with that
 * order: then an edit before the cursor keeps the cached suffix. */
int complete_prompt(hpc_ids *ids, complete_prompter *p, const hpc_complete_request *r,
                    int64_t most);

#endif
