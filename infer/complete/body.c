/*
 * Checks that a completion does what its function asks for: that it does any work, and uses the
 * parallel programming model that a comment or the signature names. Reads tokens only, so it also
 * works for code that does not compile.
 */
#include <ctype.h>
#include <string.h>

#include "infer/complete/priv.h"

enum { ASKED_MOST = 2048 }; /* bytes before the cursor that can ask for something */

static bool is_mark(const char *text, const hpc_token *t, char mark)
{
    return t->n == 1 && text[t->at] == mark;
}

static bool is_token(const hpc_token *t, const char *text, const char *word, size_t n)
{
    return t->n == n && memcmp(text + t->at, word, n) == 0;
}

/* ---- parallel programming models ------------------------------------------------------------ */

typedef struct model {
    const char *name;
    const char *words; /* of comments and signatures that ask for it, between blanks */
    const char *uses;  /* what code of it has one of, between blanks */
} model;
static const model models[COMPLETE_MODELS] = {
    {"OpenMP", " openmp omp ", " omp omp_ "},
    {"MPI", " mpi ", " MPI_ "},
    {"CUDA", " cuda __global__ ", " threadIdx blockIdx blockDim gridDim cuda <<< __syncthreads "},
};

static bool is_word_of(const char *list, const char *word, size_t n)
{
    char lower[32];
    if (n == 0 || n >= sizeof lower) return false;
    for (size_t k = 0; k < n; k++) lower[k] = (char)tolower((uint8_t)word[k]);
    for (const char *p = list; (p = memmem(p, strlen(p), lower, n)) != NULL; p += n)
        if (p > list && p[-1] == ' ' && p[n] == ' ') return true;
    return false;
}

static bool has_word(const char *text, size_t n, const char *list)
{
    for (size_t at = 0; at < n;) {
        size_t end = at;
        while (end < n && (isalnum((uint8_t)text[end]) || text[end] == '_')) end++;
        if (is_word_of(list, text + at, end - at)) return true;
        at = end + 1;
    }
    return false;
}

static bool uses(const hpc_token *t, const char *text, const char *list)
{
    for (const char *p = list + 1; *p;) {
        size_t n = strcspn(p, " ");
        bool prefix = p[n - 1] == '_';
        if (prefix ? t->n > n && memcmp(text + t->at, p, n) == 0 : is_token(t, text, p, n))
            return true;
        p += n + 1;
    }
    return false;
}

/* Comments and the signature since the last function ask; code after the brace may already do. */
static void find_asked(complete_body *out, const hpc_tokens *t, const char *text, size_t from)
{
    for (int64_t i = 0; i < t->n; i++) {
        const hpc_token *k = &t->item[i];
        if (k->at < from) continue;
        if (is_mark(text, k, '}')) memset(out->model, 0, sizeof out->model);
        bool tells = k->kind == HPC_TOKEN_COMMENT || k->kind == HPC_TOKEN_NAME;
        bool code = hpc_token_is_code(k) || (k->flags & HPC_TOKEN_IN_DIRECTIVE);
        for (int m = 0; m < COMPLETE_MODELS; m++) {
            if (tells && has_word(text + k->at, k->n, models[m].words)) out->model[m] = true;
            if (code && k->kind != HPC_TOKEN_COMMENT && uses(k, text, models[m].uses))
                out->model[m] = false;
        }
    }
}

/* ---- the function at the cursor ------------------------------------------------------------- */

static bool is_of_c(const hpc_spot *d)
{
    return d->language != HPC_LANGUAGE_NONE && d->language != HPC_LANGUAGE_FORTRAN;
}

/* The last code token before the cursor; -1: none. s->tokens are those of the text before it. */
static int64_t last_code(const hpc_tokens *t)
{
    for (int64_t i = t->n - 1; i >= 0; i--)
        if (hpc_token_is_code(&t->item[i])) return i;
    return -1;
}

/* True if the function has parameters, or a comment before its declaration. */
static bool asks_for_work(const hpc_tokens *t, const char *text, int64_t brace)
{
    int64_t depth = 0, i = brace - 1;
    bool parameters = false;
    for (; i >= 0; i--) {
        const hpc_token *k = &t->item[i];
        if (k->kind == HPC_TOKEN_COMMENT && depth == 0) return true;
        if (!hpc_token_is_code(k)) continue;
        if (depth == 0 && (is_mark(text, k, ';') || is_mark(text, k, '}') || is_mark(text, k, '{')))
            break;
        if (depth > 0 && k->kind == HPC_TOKEN_NAME && !is_token(k, text, "void", 4))
            parameters = true;
        depth += is_mark(text, k, ')') - is_mark(text, k, '(');
    }
    return parameters;
}

int complete_body_find(complete_body *out, hpc_tokens *tokens, const hpc_spot *d)
{
    *out = (complete_body){0};
    if (!is_of_c(d)) return HPC_OK;
    const char *text = d->text.data ? d->text.data : "";
    int rc = hpc_lex(tokens, text, d->at, d->language, d->fixed);
    if (rc < 0) return rc;
    int64_t i = last_code(tokens);
    if (i >= 0 && is_mark(text, &tokens->item[i], '{')) out->asks = asks_for_work(tokens, text, i);
    size_t from = d->at > ASKED_MOST ? d->at - ASKED_MOST : 0;
    find_asked(out, tokens, text, from);
    return HPC_OK;
}

/* ---- work ----------------------------------------------------------------------------------- */

static bool is_constant(const char *text, const hpc_token *t)
{
    static const char *const words[] = {"true", "false", "nullptr", "NULL"};
    if (t->kind == HPC_TOKEN_NUMBER || is_mark(text, t, '-')) return true;
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (is_token(t, text, words[k], strlen(words[k]))) return true;
    return false;
}

/* Nothing, or a return of nothing or of a constant. */
static bool is_trivial(const hpc_tokens *t, const char *text)
{
    for (int64_t i = 0; i < t->n; i++) {
        const hpc_token *k = &t->item[i];
        if (!hpc_token_is_code(k) && !(k->flags & HPC_TOKEN_IN_DIRECTIVE)) continue;
        if (is_mark(text, k, ';') || is_mark(text, k, '{') || is_mark(text, k, '}')) continue;
        if (is_mark(text, k, '(') || is_mark(text, k, ')') || is_constant(text, k)) continue;
        if (!is_token(k, text, "return", 6)) return false;
    }
    return true;
}

/* ---- judging ------------------------------------------------------------------------------ */

static const char *model_missing(const complete_body *b, const hpc_tokens *t, const char *text)
{
    for (int m = 0; m < COMPLETE_MODELS; m++) {
        bool used = !b->model[m];
        for (int64_t i = 0; i < t->n && !used; i++)
            used = t->item[i].kind != HPC_TOKEN_COMMENT && uses(&t->item[i], text, models[m].uses);
        if (!used) return models[m].name;
    }
    return NULL;
}

int complete_body_judge(bool *trivial, const char **missing, const complete_body *b,
                        hpc_tokens *tokens, const hpc_spot *d, const hpc_buf *text)
{
    *trivial = false;
    *missing = NULL;
    if (!is_of_c(d)) return HPC_OK;
    const char *bytes = text->data ? text->data : "";
    int rc = hpc_lex(tokens, bytes, text->n, d->language, d->fixed);
    if (rc < 0) return rc;
    *trivial = b->asks && is_trivial(tokens, bytes);
    *missing = model_missing(b, tokens, bytes);
    return HPC_OK;
}
