/*
 * Secrets that have no shape of their own: strings assigned to names like password, token or
 * api_key, and such assignments within strings and comments.
 *
 * A value counts when it looks random, or mixes enough classes of characters to be a password.
 * Placeholders, formats and words do not.
 */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "corpus/secrets.h"

enum { VALUE_MOST = 512, NAME_MOST = 64 };

/* ---- names ---------------------------------------------------------------------------------- */

static bool names_secret(const char *s, size_t n)
{
    static const char *const names[] = {
        "password",    "passwd",     "passphrase", "secret",     "api_key",     "apikey",
        "access_key",  "accesskey",  "token",      "credential", "private_key", "privatekey",
        "account_key", "accountkey", "auth_key",   "authkey",    "client_key",  "service_key",
        "db_pass",     "dbpass",     "pwd",        "sharedkey",  "license_key", "encryption_key",
        "signing_key", "secretkey"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        size_t m = strlen(names[k]);
        for (size_t i = 0; i + m <= n; i++)
            if ((s[i] | 32) == names[k][0] && strncasecmp(s + i, names[k], m) == 0) return true;
    }
    return false;
}

/* ---- values --------------------------------------------------------------------------------- */

typedef struct value {
    size_t lower, upper, digits, marks; /* characters of each class */
    size_t special;                     /* marks that names, paths and sentences lack */
    size_t turns;                       /* from a small letter to a capital, or back */
    double bits;                        /* of entropy, per character */
    bool plain;                         /* letters, digits and what base64 has */
    bool odd;                           /* a blank, or a character of formats and placeholders */
} value;

static void add_entropy(value *v, const int count[256], size_t n)
{
    for (int c = 0; c < 256; c++)
        if (count[c]) v->bits -= count[c] / (double)n * log2(count[c] / (double)n);
}

static bool turns(char a, char b)
{
    bool letters = ((a | 32) >= 'a' && (a | 32) <= 'z') && ((b | 32) >= 'a' && (b | 32) <= 'z');
    return letters && ((a ^ b) & 32);
}

static value value_of(const char *s, size_t n)
{
    value v = {.plain = true};
    int count[256] = {0};
    for (size_t k = 0; k < n; k++) {
        unsigned char c = (unsigned char)s[k];
        count[c]++;
        v.lower += c >= 'a' && c <= 'z';
        v.upper += c >= 'A' && c <= 'Z';
        v.digits += c >= '0' && c <= '9';
        v.marks += !secret_is_alnum(s[k]);
        v.special += c && strchr("#$!^*@&?~|", c) != NULL;
        v.turns += k > 0 && turns(s[k - 1], s[k]);
        v.plain = v.plain && secret_is_key(s[k]) && (c != '=' || k + 2 >= n); /* padding */
        v.odd = v.odd || c <= ' ' || c > '~' || strchr("%<>{}()[]\\\"'`", c) != NULL;
    }
    if (n > 0) add_entropy(&v, count, n);
    return v;
}

/* Letters and digits mixed, without blanks, and spread like random ones. */
static bool looks_random(const char *s, size_t n)
{
    if (n < 16 || n > VALUE_MOST) return false;
    value v = value_of(s, n);
    return v.plain && v.digits > 1 && v.digits + 1 < n && v.bits > 3.2;
}

/* A password that a person or a manager made: unusual marks beside letters, or letters of both
 * kinds with digits or in disorder. File names, options and sentences have other marks. */
static bool looks_strong(const char *s, size_t n, size_t least)
{
    if (n < least || n > 128 || strchr("/.:~-", s[0])) return false;
    value v = value_of(s, n);
    bool both = v.lower > 0 && v.upper > 0;
    bool marked =
        v.special > 0 && v.lower + v.upper > 0 && (v.digits > 0 || (both && v.special > 1));
    bool mixed = v.marks == 0 && both && (v.digits > 0 ? v.turns + v.digits > 2 : v.turns > 3);
    bool path = memmem(s, n, "://", 3) || memmem(s, n, "->", 2) || memmem(s, n, "&&", 2) ||
                memmem(s, n, "||", 2);
    bool variable = strchr("$#@&*!", s[0]) && v.marks == 1;
    return !v.odd && !path && !variable && (marked || mixed) && v.bits > 2.75;
}

/* ---- a string that is given to a name ------------------------------------------------------- */

static bool is_short_name(const char *s, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (!secret_is_word(s[k]) && s[k] != '.') return false;
    return n > 0 && n < NAME_MOST && names_secret(s, n);
}

/* name = "...", name("..."), name[] = {"..."}, {"name", "..."}, map["name"] = "..." */
static bool has_secret_name(const masking *m, const hpc_tokens *t, int64_t string)
{
    int64_t k = string - 1;
    for (int back = 0; k >= 0 && back < 5; k--, back++) {
        const hpc_token *x = &t->item[k];
        const char *text = m->text + x->at;
        if (x->kind == HPC_TOKEN_NAME) return names_secret(text, x->n);
        if (x->kind == HPC_TOKEN_STRING) return x->n > 2 && is_short_name(text + 1, x->n - 2);
        if (x->kind != HPC_TOKEN_PUNCT || *text == ';') return false;
    }
    return false;
}

/* ---- assignments within a text --------------------------------------------------------------- */

static bool is_name_byte(char c)
{
    return secret_is_word(c) || c == '.';
}

static bool is_value_byte(char c)
{
    return c > ' ' && c <= '~' && !strchr(";&\"'<>(){}[]\\,`", c);
}

/* The first byte of the value after text[at], which is '=' or ':'; n: none follows. */
static size_t value_begin(const char *s, size_t at, size_t n)
{
    at++;
    while (at < n && (s[at] == ' ' || s[at] == '=')) at++;
    if (at + 1 < n && s[at] == '\\') at++; /* \" */
    if (at < n && (s[at] == '"' || s[at] == '\'')) at++;
    return at;
}

/* "Password=hunter2x;": in a string that is code, a mixture of letters and digits will do. */
static bool is_assigned_secret(const char *s, size_t n, bool comment)
{
    if (looks_random(s, n) || looks_strong(s, n, comment ? 12 : 8)) return true;
    if (comment || n < 8 || n > 128 || strchr("$%*#", s[0])) return false;
    value v = value_of(s, n);
    return !v.odd && v.digits > 0 && v.lower + v.upper > 0 && v.digits + v.lower + v.upper + 2 >= n;
}

static int mask_within(masking *m, size_t lo, size_t hi, bool comment)
{
    const char *s = m->text;
    int rc = HPC_OK;
    for (size_t at = lo; at < hi; at++) {
        if (s[at] != '=' && s[at] != ':') continue;
        size_t end = at, begin;
        while (end > lo && (s[end - 1] == ' ' || s[end - 1] == '"' || s[end - 1] == '\\')) end--;
        for (begin = end; begin > lo && end - begin < NAME_MOST && is_name_byte(s[begin - 1]);)
            begin--;
        if (begin == end || !names_secret(s + begin, end - begin)) continue;
        size_t from = value_begin(s, at, hi), n = secret_run(s, from, hi, is_value_byte);
        if (!is_assigned_secret(s + from, n, comment)) continue;
        TRY(secret_replace(m, from, from + n));
        at = from + n;
    }
out:
    return rc;
}

/* ---- structure without a head -----------------------------------------------------------------
 */

/* "24.6.27": an account's number, a time stamp, a signature. */
static bool is_bot_token(const char *s, size_t n)
{
    size_t a = secret_run(s, 0, n, secret_is_word);
    if (a < 23 || a > 28 || a >= n || s[a] != '.') return false;
    size_t b = secret_run(s, a + 1, n, secret_is_word), at = a + 1 + b;
    if (b < 6 || b > 7 || at >= n || s[at] != '.') return false;
    size_t c = secret_run(s, at + 1, n, secret_is_word);
    value v = value_of(s, n);
    return c >= 27 && c <= 40 && at + 1 + c == n && v.digits > 1 && v.upper > 1 && v.lower > 1;
}

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* "0123...-us12" */
static bool is_list_key(const char *s, size_t n)
{
    return n >= 36 && n <= 37 && secret_run(s, 0, n, is_hex) == 32 &&
           memcmp(s + 32, "-us", 3) == 0 && s[35] >= '0' && s[35] <= '9';
}

/* ---- all tokens -------------------------------------------------------------------------------
 */

static int mask_string(masking *m, const hpc_tokens *t, int64_t k)
{
    const hpc_token *v = &t->item[k];
    size_t lo = v->at + 1, hi = v->at + v->n - 1;
    const char *inside = m->text + lo;
    bool secret = is_bot_token(inside, hi - lo) || is_list_key(inside, hi - lo);
    if (!secret && (looks_random(inside, hi - lo) || looks_strong(inside, hi - lo, 10)))
        secret = has_secret_name(m, t, k);
    return secret ? secret_replace(m, lo, hi) : mask_within(m, lo, hi, false);
}

int secret_mask_assignments(masking *m, const hpc_tokens *t)
{
    int rc = HPC_OK;
    for (int64_t k = 0; k < t->n && rc >= 0; k++) {
        const hpc_token *x = &t->item[k];
        if (x->n < 10) continue;
        if (x->kind == HPC_TOKEN_STRING) rc = mask_string(m, t, k);
        if (x->kind == HPC_TOKEN_COMMENT) rc = mask_within(m, x->at, x->at + x->n, true);
    }
    return rc;
}
