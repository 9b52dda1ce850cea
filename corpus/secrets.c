/*
 * secrets.c: masks keys, tokens, passwords and e-mail addresses with fixed words before a text is
 * stored.
 *
 * Credentials are found by their shape, other secrets by the name that they are assigned to. A
 * secret that looks like an ordinary word is not found.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "corpus/secrets.h"

static const char email_word[] = "email@example.com", secret_word[] = "SECRET_REMOVED";

typedef struct edit {
    size_t lo, hi; /* bytes of the text, which become `word` */
    const char *word;
} edit;

typedef struct masking {
    hpc_buf edits; /* in order of discovery */
    const char *text;
    size_t n;
    const hpc_tokens *tokens;
    size_t name_end, key_end; /* end of the last one; earlier text is not searched again */
} masking;

static int replace(masking *m, size_t lo, size_t hi, const char *word)
{
    edit e = {.lo = lo, .hi = hi, .word = word};
    return hpc_buf_add(&m->edits, &e, sizeof e);
}

static int compare_edits(const void *a, const void *b)
{
    const edit *x = a, *y = b;
    if (x->lo != y->lo) return x->lo < y->lo ? -1 : 1;
    return x->hi > y->hi ? -1 : x->hi < y->hi; /* the longer first */
}

/* The first of overlapping edits is kept and extended over all of them. */
static int apply(hpc_buf *out, int64_t *applied, edit *e, size_t edits_n, const char *text,
                 size_t n)
{
    size_t copied = 0;
    int rc = 0;
    qsort(e, edits_n, sizeof *e, compare_edits);
    for (size_t k = 0; k < edits_n && rc == 0; k++) {
        size_t hi = e[k].hi;
        const edit *first = &e[k];
        while (k + 1 < edits_n && e[k + 1].lo < hi) {
            k++;
            if (e[k].hi > hi) hi = e[k].hi;
        }
        rc = hpc_buf_add(out, text + copied, first->lo - copied);
        if (rc == 0) rc = hpc_buf_text(out, first->word);
        copied = hi;
        ++*applied;
    }
    return rc < 0 ? rc : hpc_buf_add(out, text + copied, n - copied);
}

/* ---- classes of characters ------------------------------------------------------- */

static bool is_local(char c) /* of an address, before the @ */
{
    return secrets_is_alnum(c) || c == '.' || c == '_' || c == '%' || c == '+' || c == '-';
}

static bool is_host(char c)
{
    return secrets_is_alnum(c) || c == '.' || c == '-';
}

static bool is_key(char c) /* of keys in base64 and its relatives */
{
    return secrets_is_alnum(c) || c == '_' || c == '-' || c == '+' || c == '/' || c == '=';
}

static size_t run(const char *s, size_t lo, size_t hi, bool (*is)(char))
{
    size_t at = lo;
    while (at < hi && is(s[at])) at++;
    return at - lo;
}

/* ---- e-mail addresses and passwords in URLs ---------------------------------------- */

/* The length of a host name with a top-level domain of letters, or 0. */
static size_t host_name(const char *s, size_t lo, size_t hi)
{
    size_t n = run(s, lo, hi, is_host);
    while (n > 0 && (s[lo + n - 1] == '.' || s[lo + n - 1] == '-')) n--;
    size_t dot = n;
    while (dot > 0 && s[lo + dot - 1] != '.') dot--;
    if (dot < 2 || n - dot < 2) return 0;
    for (size_t k = dot; k < n; k++)
        if (s[lo + k] >= '0' && s[lo + k] <= '9') return 0;
    return n;
}

static bool is_example(const char *host, size_t n)
{
    return (n == 11 &&
            (strncasecmp(host, "example.com", n) == 0 || strncasecmp(host, "example.org", n) == 0));
}

/* "//user:password@": the start of user, or `at` itself. */
static size_t user_info(const char *s, size_t at)
{
    size_t p = at;
    bool colon = false;
    while (p > 0 && at - p < 256 && s[p - 1] != '/' && s[p - 1] != ' ' && s[p - 1] != '"' &&
           s[p - 1] != '\n')
        colon |= s[--p] == ':';
    return colon && p >= 3 && memcmp(s + p - 3, "://", 3) == 0 ? p : at;
}

static int mask_at(masking *m, size_t at)
{
    const char *s = m->text;
    size_t info = user_info(s, at), begin = at;
    if (info < at) return replace(m, info, at, secret_word);
    while (begin > 0 && is_local(s[begin - 1])) begin--;
    while (begin < at && s[begin] == '.') begin++;
    size_t host = host_name(s, at + 1, m->n);
    if (begin == at || host == 0 || is_example(s + at + 1, host)) return HPC_OK;
    return replace(m, begin, at + 1 + host, email_word);
}

/* ---- private keys: lines of base64 between BEGIN and END, in one token or in several ------- */

static const char key_begins[] = "PRIVATE KEY-----";

/* Does the KEY at `at` belong to a BEGIN line? Nothing counts twice. */
static bool begins_key(masking *m, size_t at)
{
    static const char begin[] = "-----BEGIN ";
    const size_t ahead = strlen("PRIVATE "), behind = strlen("KEY-----");
    if (at < m->key_end + ahead || m->n - at < behind) return false;
    const char *p = m->text + at - ahead;
    size_t before = at - ahead - m->key_end;
    if (memcmp(p, key_begins, ahead + behind) != 0) return false;
    m->key_end = at + behind;
    before = before < 32 ? before : 32;
    return memmem(p - before, before, begin, sizeof begin - 1) != NULL;
}

static int mask_key(masking *m, size_t at)
{
    const char *s = m->text;
    if (!begins_key(m, at)) return HPC_OK;
    for (at = m->key_end, m->key_end = m->n; at < m->n;) {
        size_t n = run(s, at, m->n, is_key);
        if (n >= 8 && memcmp(s + at, "-----END", 8) == 0) {
            m->key_end = at + n;
            break;
        }
        if (n >= 16) {
            int rc = replace(m, at, at + n, secret_word);
            if (rc < 0) return rc;
        }
        at += n ? n : 1;
    }
    return HPC_OK;
}

/* ---- credentials by their shape, and values by their name ----------------------------------- */

static int mask_shapes(masking *m)
{
    int rc = HPC_OK;
    size_t at = 0, length;
    secrets_shapes shapes;
    secrets_shapes_init(&shapes);
    while ((length = secrets_next_shape(&at, &shapes, m->text, m->n)) > 0) {
        TRY(replace(m, at, at + length, secret_word));
        at += length;
    }
out:
    return rc;
}

/* The string or comment around `at`, or NULL. */
static const hpc_token *literal_around(const hpc_tokens *t, size_t at)
{
    int64_t lo = 0, hi = t->n;
    while (lo < hi) {
        int64_t k = lo + (hi - lo) / 2;
        if (t->item[k].at <= at)
            lo = k + 1;
        else
            hi = k;
    }
    const hpc_token *x = lo > 0 ? &t->item[lo - 1] : NULL;
    bool literal = x && (x->kind == HPC_TOKEN_STRING || x->kind == HPC_TOKEN_COMMENT);
    return literal && at < x->at + x->n ? x : NULL;
}

/* The value after a name in a comment is in the comment. */
static int mask_value(masking *m, size_t at)
{
    size_t end = at < m->name_end ? 0 : secrets_name_end(m->text, m->n, at), lo, hi;
    if (end == 0) return HPC_OK;
    m->name_end = end;
    const hpc_token *x = literal_around(m->tokens, at);
    size_t limit = x ? x->at + x->n : 0;
    size_t n = x && x->kind == HPC_TOKEN_COMMENT ? limit : m->n;
    if (end > n || !secrets_value(&lo, &hi, m->text, n, end, limit)) return HPC_OK;
    return replace(m, lo, hi, secret_word);
}

/* ---- all of them --------------------------------------------------------------------------- */

/* Three bytes of an address, of a private key and of each name in secrets_value.c. */
static const char *const heads[] = {
    "@..",
    "KEY Bea BEA",
    "cre CRE",
    "tok TOK",
    "ssw SSW ssp SSP ass ASS",
    "pwd PWD pik PIK i_k I_K i-k I-K",
    "s_k S_K s-k S-K t_k T_K e_k E_K h_k H_K n_k N_K g_k G_K",
    "sKe ske SKE ntK ntk NTK",
};

static int mask_at_head(masking *m, size_t at)
{
    if (m->text[at] == '@') return mask_at(m, at);
    if (m->text[at] == 'K') return mask_key(m, at);
    return mask_value(m, at);
}

int corpus_mask(hpc_buf *out, int64_t *n_masked, const char *text, size_t n, const hpc_tokens *t)
{
    masking m = {.text = text, .n = n, .tokens = t};
    corpus_heads h;
    int rc = 0;
    out->n = 0;
    *n_masked = 0;
    corpus_heads_init(&h, heads, sizeof heads / sizeof *heads);
    for (size_t at = 0; (at = corpus_heads_next(&h, text, n, at)) < n; at++)
        TRY(mask_at_head(&m, at));
    TRY(mask_shapes(&m));
    if (m.edits.n)
        TRY(apply(out, n_masked, (edit *)(void *)m.edits.data, m.edits.n / sizeof(edit), text, n));
out:
    hpc_buf_release(&m.edits);
    return rc;
}
