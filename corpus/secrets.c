/*
 * secrets.c: keys, tokens, passwords and e-mail addresses are replaced by fixed
 * words before a text is kept.
 *
 * It knows the shapes of common credentials, and strings that look random and are
 * given to a variable called password, token or the like. A secret that looks like
 * an ordinary word cannot be found, and none is tried out.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "corpus/priv.h"

static const char email_word[] = "email@example.com", secret_word[] = "SECRET_REMOVED";

typedef struct edit {
    size_t lo, hi; /* bytes of the text, which become `word` */
    const char *word;
} edit;

typedef struct masking {
    hpc_buf edits; /* as they are found */
    const char *text;
    size_t n;
    size_t credential_end, key_end; /* of the last one: what is before is not looked at again */
    bool named;                     /* somewhere there is a word for a secret */
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

/* Of edits that overlap the first one stays, stretched over all of them. */
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

static bool is_alnum(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_local(char c) /* of an address, before the @ */
{
    return is_alnum(c) || c == '.' || c == '_' || c == '%' || c == '+' || c == '-';
}

static bool is_host(char c)
{
    return is_alnum(c) || c == '.' || c == '-';
}

static bool is_key(char c) /* of keys in base64 and its relatives */
{
    return is_alnum(c) || c == '_' || c == '-' || c == '+' || c == '/' || c == '=';
}

static bool is_word(char c)
{
    return is_alnum(c) || c == '_' || c == '-';
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

/* ---- credentials by their shape -------------------------------------------------------- */

enum { WORD_LEAST = 20 }; /* characters of the word in which one stands */

static const struct {
    const char *head;
    size_t least, most; /* characters behind the head */
} credentials[] = {
    {"AKIA", 16, 16},         {"ASIA", 16, 16},         {"AIza", 35, 35},     {"ghp_", 36, 255},
    {"gho_", 36, 255},        {"ghu_", 36, 255},        {"ghs_", 36, 255},    {"ghr_", 36, 255},
    {"github_pat_", 22, 255}, {"glpat-", 20, 255},      {"xoxb-", 20, 255},   {"xoxp-", 20, 255},
    {"xoxa-", 20, 255},       {"xoxs-", 20, 255},       {"sk-ant-", 20, 255}, {"sk-", 32, 255},
    {"sk_live_", 16, 255},    {"rk_live_", 16, 255},    {"npm_", 36, 36},     {"pypi-", 50, 255},
    {"hf_", 30, 255},         {"eyJhbGciOi", 20, 4096},
};

static bool is_token(char c) /* JWTs have dots */
{
    return is_word(c) || c == '.';
}

/* Those of a fixed length have letters and digits only, and end where these do. */
static size_t credential_run(const char *s, size_t at, size_t hi, size_t least, size_t most)
{
    if (hi - at > most) hi = at + most + 1; /* enough to see that it is too long */
    return run(s, at, hi, least == most ? is_alnum : most > 255 ? is_token : is_word);
}

static size_t credential(const char *s, size_t at, size_t hi)
{
    for (size_t k = 0; k < sizeof credentials / sizeof *credentials; k++) {
        size_t head = strlen(credentials[k].head), digits = 0;
        if (hi - at < head || memcmp(s + at, credentials[k].head, head) != 0) continue;
        size_t n = credential_run(s, at + head, hi, credentials[k].least, credentials[k].most);
        for (size_t i = at + head; i < at + head + n; i++) digits += s[i] >= '0' && s[i] <= '9';
        if (n >= credentials[k].least && n <= credentials[k].most && digits > 0) return head + n;
    }
    return 0;
}

/* The length of the word around `at`, as far as it matters. */
static size_t word_around(const char *s, size_t at, size_t hi)
{
    size_t lo = at;
    while (lo > 0 && at - lo < WORD_LEAST && is_word(s[lo - 1])) lo--;
    return at - lo + run(s, at, hi - at < WORD_LEAST ? hi : at + WORD_LEAST, is_word);
}

/* A head may also stand behind a prefix: "deploy-AKIA...", "x_ghp_...". */
static int mask_credential(masking *m, size_t at)
{
    const char *s = m->text;
    if (at < m->credential_end || (at > 0 && is_alnum(s[at - 1]))) return HPC_OK;
    size_t n = credential(s, at, m->n);
    if (n == 0 || word_around(s, at, m->n) < WORD_LEAST) return HPC_OK;
    m->credential_end = at + n;
    return replace(m, at, at + n, secret_word);
}

/* ---- private keys: lines of base64 between BEGIN and END, in one token or in several ------- */

static const char key_begins[] = "PRIVATE KEY-----";

/* Whether the KEY at `at` is that of a BEGIN; nothing counts twice. */
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

/* ---- a variable called password that is given a string --------------------------------------- */

static const struct {
    const char *word;
    size_t head; /* where the bytes stand by which it is found in a text */
} secret_names[] = {
    {"password", 2}, {"passwd", 2},     {"secret", 2}, {"api_key", 2},
    {"apikey", 1},   {"access_key", 5}, {"token", 0},  {"credential", 0},
};
enum { SECRET_NAMES = sizeof secret_names / sizeof *secret_names };

static bool names_secret(const char *s, size_t n)
{
    for (size_t k = 0; k < SECRET_NAMES; k++) {
        size_t m = strlen(secret_names[k].word);
        for (size_t i = 0; i + m <= n; i++)
            if (strncasecmp(s + i, secret_names[k].word, m) == 0) return true;
    }
    return false;
}

/* The same of one place in a text, where such bytes stand. */
static bool names_secret_at(const char *s, size_t at, size_t n)
{
    for (size_t k = 0; k < SECRET_NAMES; k++) {
        const char *word = secret_names[k].word;
        size_t lo = at - secret_names[k].head, m = strlen(word);
        if (at >= secret_names[k].head && n - lo >= m && (s[lo] | 32) == word[0] &&
            strncasecmp(s + lo, word, m) == 0)
            return true;
    }
    return false;
}

/* Letters and digits mixed, without blanks, and spread like random ones. */
static bool looks_random(const char *s, size_t n)
{
    int count[256] = {0};
    size_t digits = 0, letters = 0;
    double bits = 0;
    if (n < 16 || n > 512) return false;
    for (size_t k = 0; k < n; k++) {
        if (!is_key(s[k])) return false;
        bool digit = s[k] >= '0' && s[k] <= '9';
        digits += digit;
        letters += !digit;
        count[(unsigned char)s[k]]++;
    }
    for (int c = 0; c < 256; c++)
        if (count[c]) bits -= count[c] / (double)n * log2(count[c] / (double)n);
    return digits > 1 && letters > 1 && bits > 3.2;
}

static int mask_assigned(masking *m, const hpc_tokens *t, int64_t string)
{
    const hpc_token *v = &t->item[string];
    int64_t k = string - 1;
    for (int back = 0; k >= 0 && back < 4; k--, back++) {
        const hpc_token *x = &t->item[k];
        if (x->kind == HPC_TOKEN_NAME) break;
        if (x->kind != HPC_TOKEN_PUNCT) return 0;
    }
    if (k < 0 || t->item[k].kind != HPC_TOKEN_NAME || v->n < 2) return 0;
    const char *inside = m->text + v->at + 1;
    if (!names_secret(m->text + t->item[k].at, t->item[k].n) || !looks_random(inside, v->n - 2))
        return 0;
    return replace(m, v->at + 1, v->at + v->n - 1, secret_word);
}

static int mask_assignments(masking *m, const hpc_tokens *t)
{
    int rc = HPC_OK;
    for (int64_t k = 0; k < t->n && rc == 0; k++)
        if (t->item[k].kind == HPC_TOKEN_STRING && t->item[k].n >= 18) rc = mask_assigned(m, t, k);
    return rc;
}

/* ---- all of them --------------------------------------------------------------------------- */

/* Three bytes of each of the above. The rows are those, of many that were tried, in which the
 * fewest other bytes of real code pass for them. */
static const char *const heads[] = {
    "@..",
    "AKI ASI AIz KEY",
    "gho ghp ghr ghs ghu hf_",
    "git cre CRE",
    "glp npm pyp pik PIK",
    "sk- sk_ rk_",
    "xox ssw SSW",
    "eyJ tok TOK i_k I_K s_k S_K",
};

static int mask_place(masking *m, size_t at)
{
    if (m->text[at] == '@') return mask_at(m, at);
    if (m->text[at] == 'K') return mask_key(m, at);
    if (!m->named) m->named = names_secret_at(m->text, at, m->n);
    return mask_credential(m, at);
}

int corpus_mask(hpc_buf *out, int64_t *n_masked, const char *text, size_t n, const hpc_tokens *t)
{
    masking m = {.text = text, .n = n};
    corpus_heads h;
    int rc = 0;
    out->n = 0;
    *n_masked = 0;
    corpus_heads_init(&h, heads, sizeof heads / sizeof *heads);
    for (size_t at = 0; (at = corpus_heads_next(&h, text, n, at)) < n; at++)
        TRY(mask_place(&m, at));
    if (m.named) TRY(mask_assignments(&m, t));
    if (m.edits.n)
        TRY(apply(out, n_masked, (edit *)(void *)m.edits.data, m.edits.n / sizeof(edit), text, n));
out:
    hpc_buf_release(&m.edits);
    return rc;
}
