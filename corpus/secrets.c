/*
 * Masking of secrets: keys, tokens, passwords and e-mail addresses become fixed words before a text
 * is kept.
 *
 * This file has the shapes of common credentials, addresses and private keys;
 * secrets_assigned.c has what is assigned to a name. A secret that looks like an ordinary word is
 * not found, and none is tried out.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "corpus/secrets.h"

static const char email_word[] = "email@example.com", secret_word[] = "SECRET_REMOVED";

typedef secret_edit edit;

static int replace(masking *m, size_t lo, size_t hi, const char *word)
{
    edit e = {.lo = lo, .hi = hi, .word = word};
    return hpc_buf_add(&m->edits, &e, sizeof e);
}

int secret_replace(masking *m, size_t lo, size_t hi)
{
    return replace(m, lo, hi, secret_word);
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

static bool is_local(char c) /* of an address, before the @ */
{
    return secret_is_alnum(c) || c == '.' || c == '_' || c == '%' || c == '+' || c == '-';
}

static bool is_host(char c)
{
    return secret_is_alnum(c) || c == '.' || c == '-';
}

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static bool is_dotted(char c) /* JWTs have dots, and what is signed like them */
{
    return secret_is_word(c) || c == '.';
}

static bool is_path(char c)
{
    return is_dotted(c) || c == '/';
}

/* ---- e-mail addresses and passwords in URLs ---------------------------------------- */

/* The length of a host name with a top-level domain of letters, or 0. */
static size_t host_name(const char *s, size_t lo, size_t hi)
{
    size_t n = secret_run(s, lo, hi, is_host);
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

/* Shapes: what begins a credential, and which and how many characters follow. One of a fixed length
 * ends where its characters do. */
static const struct {
    const char *head;
    size_t least, most;
    bool (*is)(char);
} credentials[] = {
    {"AKIA", 16, 16, secret_is_alnum},
    {"ASIA", 16, 16, secret_is_alnum},
    {"ABIA", 16, 16, secret_is_alnum},
    {"ACCA", 16, 16, secret_is_alnum},
    {"AIza", 35, 35, secret_is_word},
    {"AGE-SECRET-KEY-1", 58, 58, secret_is_alnum},
    {"ATATT3", 60, 255, secret_is_key},
    {"ghp_", 36, 255, secret_is_word},
    {"gho_", 36, 255, secret_is_word},
    {"ghu_", 36, 255, secret_is_word},
    {"ghs_", 36, 255, secret_is_word},
    {"ghr_", 36, 255, secret_is_word},
    {"github_pat_", 22, 255, secret_is_word},
    {"glpat-", 20, 255, secret_is_word},
    {"glptt-", 20, 255, secret_is_word},
    {"gldt-", 20, 255, secret_is_word},
    {"glrt-", 20, 255, secret_is_word},
    {"glsa_", 32, 255, secret_is_word},
    {"glc_", 32, 255, secret_is_key},
    {"xoxb-", 20, 255, secret_is_word},
    {"xoxp-", 20, 255, secret_is_word},
    {"xoxa-", 20, 255, secret_is_word},
    {"xoxs-", 20, 255, secret_is_word},
    {"xoxe-", 20, 255, secret_is_word},
    {"xapp-", 20, 255, secret_is_word},
    {"hooks.slack.com/services/", 20, 255, is_path},
    {"sk-ant-", 20, 255, secret_is_word},
    {"sk-", 32, 255, secret_is_word},
    {"sk_live_", 16, 255, secret_is_word},
    {"sk_test_", 16, 255, secret_is_word},
    {"rk_live_", 16, 255, secret_is_word},
    {"rk_test_", 16, 255, secret_is_word},
    {"SK", 32, 32, is_hex},
    {"SG.", 40, 255, is_dotted},
    {"sq0csp-", 40, 255, secret_is_word},
    {"sq0atp-", 20, 255, secret_is_word},
    {"shpat_", 32, 32, secret_is_alnum},
    {"shpca_", 32, 32, secret_is_alnum},
    {"shppa_", 32, 32, secret_is_alnum},
    {"shpss_", 32, 32, secret_is_alnum},
    {"npm_", 36, 36, secret_is_alnum},
    {"pypi-", 50, 255, secret_is_word},
    {"hf_", 30, 255, secret_is_word},
    {"hvs.", 24, 255, secret_is_word},
    {"hvb.", 24, 255, secret_is_word},
    {"dop_v1_", 64, 64, secret_is_alnum},
    {"doo_v1_", 64, 64, secret_is_alnum},
    {"dor_v1_", 64, 64, secret_is_alnum},
    {"dapi", 32, 32, is_hex},
    {"dp.pt.", 40, 64, secret_is_alnum},
    {"lin_api_", 40, 40, secret_is_alnum},
    {"key-", 32, 32, is_hex},
    {"PMAK-", 40, 255, secret_is_word},
    {"NRAK-", 27, 27, secret_is_alnum},
    {"eyJhbGciOi", 20, 4096, is_dotted},
};
enum { CREDENTIALS = sizeof credentials / sizeof *credentials };

/* Enough is read of one to see that it is too long. */
static size_t credential_run(const char *s, size_t at, size_t hi, int k)
{
    size_t most = credentials[k].most;
    if (hi - at > most) hi = at + most + 1;
    return secret_run(s, at, hi, credentials[k].is);
}

static size_t credential(const char *s, size_t at, size_t hi)
{
    for (int k = 0; k < CREDENTIALS; k++) {
        size_t head = strlen(credentials[k].head), digits = 0;
        if (hi - at < head || memcmp(s + at, credentials[k].head, head) != 0) continue;
        size_t n = credential_run(s, at + head, hi, k), after = at + head + n;
        for (size_t i = at + head; i < after; i++) digits += s[i] >= '0' && s[i] <= '9';
        bool ends =
            credentials[k].least < credentials[k].most || after == hi || !secret_is_alnum(s[after]);
        if (n >= credentials[k].least && n <= credentials[k].most && digits > 0 && ends)
            return head + n;
    }
    return 0;
}

/* A head may also stand behind a prefix: "deploy-AKIA...", "x_ghp_...". */
static int mask_credential(masking *m, size_t at)
{
    const char *s = m->text;
    if (at < m->credential_end || (at > 0 && secret_is_alnum(s[at - 1]))) return HPC_OK;
    size_t n = credential(s, at, m->n);
    if (n == 0) return HPC_OK;
    m->credential_end = at + n;
    return replace(m, at, at + n, secret_word);
}

/* "123456789:AA...": the number of a bot, and its token. */
static int mask_bot(masking *m, size_t at)
{
    enum { TOKEN = 35 };
    const char *s = m->text;
    size_t begin = at, n = secret_run(s, at + 1, m->n, secret_is_word);
    while (begin > 0 && s[begin - 1] >= '0' && s[begin - 1] <= '9') begin--;
    if (at - begin < 8 || at - begin > 10 || n != TOKEN || memcmp(s + at, ":AA", 3) != 0)
        return HPC_OK;
    return replace(m, begin, at + 1 + n, secret_word);
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
        size_t n = secret_run(s, at, m->n, secret_is_key);
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

/* ---- all of them --------------------------------------------------------------------------- */

/* Three bytes of each of the above. The rows are those, of many that were tried, in which the
 * fewest other bytes of real code pass for them. */
static const char *const heads[] = {
    "@..",
    "AKI ASI AIz KEY ABI ACC AGE ATA",
    "gho ghp ghr ghs ghu hf_ hvs hvb hoo",
    "git glp gld glr gls glc",
    "npm pyp shp sq0 lin dop doo dor dap dp.",
    "sk- sk_ rk_ key",
    "xox xap SG. PMA NRA",
    "eyJ :AA SK0 SK1 SK2 SK3 SK4 SK5 SK6 SK7 SK8 SK9 SKa SKb SKc SKd SKe SKf",
};

static int mask_place(masking *m, size_t at)
{
    if (m->text[at] == '@') return mask_at(m, at);
    if (m->text[at] == 'K') return mask_key(m, at);
    if (m->text[at] == ':') return mask_bot(m, at);
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
    TRY(secret_mask_assignments(&m, t));
    if (m.edits.n)
        TRY(apply(out, n_masked, (edit *)(void *)m.edits.data, m.edits.n / sizeof(edit), text, n));
out:
    hpc_buf_release(&m.edits);
    return rc;
}
