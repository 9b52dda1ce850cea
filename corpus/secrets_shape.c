/*
 * secrets_shape.c: recognises credentials with a fixed shape: an issuer's prefix, lengths and
 * alphabets.
 *
 * Shapes are those documented by issuers and public scanners. secrets_value.c finds other
 * credentials by the name that they are assigned to.
 */
#include <string.h>

#include "corpus/secrets.h"

enum { WORD_LEAST = 20 /* characters; every shape has a word of at least so many */ };

/* Literal text, and %CN or %CN-M: N to M characters of class C. A shape that begins with '?' has a
 * prefix so common that the rest must mix digits or cases. Classes:
 *   a letters and digits    l lower case and digits    u upper case and digits    d digits
 *   x hexadecimal           w a and _ -                t w and .    z t and ~     k w and + / =
 */
static const char *const shapes[] = {
    "A3T%u17", /* AWS */
    "ABIA%u16",
    "ABSK%k109-269",
    "ACCA%u16",
    "AKIA%u16",
    "ASIA%u16",
    "AIza%w35", /* Google */
    "GOCSPX-%w28",
    "ya29.%w30-400",
    "LTAI%a20", /* Alibaba */
    "dop_v1_%x64",
    "doo_v1_%x64",
    "dor_v1_%x64",
    "dapi%x32", /* Databricks */
    "gho_%a36-255",
    "ghp_%a36-255",
    "ghr_%a36-255",
    "ghs_%a36-255",
    "ghu_%a36-255",
    "github_pat_%w22-255",
    "GR1348941%w20-50",
    "glagent-%w50-255",
    "glcbt-%w20-255",
    "gldt-%w20-255",
    "glffct-%w20-255",
    "glft-%w20-255",
    "glimt-%w25-255",
    "gloas-%w64-255",
    "glpat-%t20-300",
    "glptt-%w40-255",
    "glrt-%t20-300",
    "glsoat-%w20-255",
    "xapp-%d1-%w20-255", /* Slack */
    "xoxa-%w20-255",
    "xoxb-%w20-255",
    "xoxe-%w20-255",
    "xoxe.xoxb-%w20-255",
    "xoxe.xoxp-%w20-255",
    "xoxo-%w20-255",
    "xoxp-%w20-255",
    "xoxr-%w20-255",
    "xoxs-%w20-255",
    "hooks.slack.com/services/%a8-14/%a8-14/%a20-30",
    "M%w23-25.%w6.%w27-38", /* Discord */
    "N%w23-25.%w6.%w27-38",
    "O%w23-25.%w6.%w27-38",
    "AC%x32", /* Twilio */
    "SK%x32",
    "SG.%w22.%w43", /* SendGrid */
    "key-%x32",     /* Mailgun */
    "xkeysib-%x64-%a16",
    "?sk-%w32-255", /* OpenAI and others */
    "sk-ant-%w20-255",
    "gsk_%a52",
    "pplx-%a48",
    "nvapi-%w60-70",
    "r8_%a37",
    "?hf_%a30-255",
    "rk_live_%a16-255", /* Stripe */
    "rk_test_%a16-255",
    "sk_live_%a16-255",
    "sk_test_%a16-255",
    "whsec_%k32-64",
    "EAAA%w56-60", /* Square */
    "sq0atp-%w22-60",
    "sq0csp-%w43",
    "shpat_%x32",
    "shpca_%x32",
    "shppa_%x32",
    "shpss_%x32",
    "?npm_%a36",
    "pypi-%w50-255",
    "rubygems_%x48",
    "dckr_pat_%w27",
    "AKCp%a69", /* Artifactory */
    "cmVmd%a59",
    "hvb.%w90-300", /* Vault */
    "hvs.%w90-120",
    "ATATT3%k180-200", /* Atlassian */
    "glc_%k32-400",    /* Grafana */
    "glsa_%a32_%x8",
    "AGE-SECRET-KEY-1%u58",
    "PMAK-%x24-%x34",
    "NRAK-%u27",
    "dt0c01.%u24.%u64",
    "dp.pt.%a43",
    "lin_api_%a40",
    "ntn_%a46",
    "pul-%x40",
    "sntryu_%x64",
    "pscale_tkn_%t32-64",
    "pscale_pw_%t32-64",
    "tfp_%t59",
    "EZAK%a54",
    "sha256~%w43", /* OpenShift */
    "eyJ%w14-512.eyJ%w10-2048.%w10-2048",
    "eyJhbGciOi%t20-2048",
};

enum { SHAPES = sizeof shapes / sizeof *shapes };
_Static_assert(SHAPES <= (int)SECRETS_SHAPES_MOST, "order has room for all shapes");

/* Those without a prefix are tried only in words that have the literal. */
static const struct {
    const char *shape, *literal;
} inner_shapes[] = {
    {"%z3%d1Q~%z31-34", "~"},         /* Azure AD */
    {"%d8-10:A%w34", ":A"},           /* Telegram */
    {"%x32-us%d1-2", "-us"},          /* Mailchimp */
    {"%a14.atlasv1.%w60-70", ".atl"}, /* Terraform */
};
enum { INNER_SHAPES = sizeof inner_shapes / sizeof *inner_shapes };

static bool in_class(char class, char c)
{
    bool word = secrets_is_alnum(c) || c == '_' || c == '-';
    switch (class) {
    case 'a': return secrets_is_alnum(c);
    case 'l': return secrets_is_lower(c) || secrets_is_digit(c);
    case 'u': return secrets_is_upper(c) || secrets_is_digit(c);
    case 'd': return secrets_is_digit(c);
    case 'x': return secrets_is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    case 'w': return word;
    case 't': return word || c == '.';
    case 'z': return word || c == '.' || c == '~';
    case 'k': return word || c == '+' || c == '/' || c == '=';
    default: return false;
    }
}

static size_t number(const char **p)
{
    size_t n = 0;
    while (secrets_is_digit(**p)) n = 10 * n + (size_t)(*(*p)++ - '0');
    return n;
}

/* The digits of "N-M" are the numbers of a range only when a digit follows the '-'. */
static void read_range(char *class, size_t *least, size_t *most, const char **p)
{
    *class = *(*p)++;
    *least = *most = number(p);
    if (**p == '-' && secrets_is_digit((*p)[1])) {
        ++*p;
        *most = number(p);
    }
}

/* Length of the text that matches the shape; 0: no match, or the text is longer. */
static size_t match(const char *shape, const char *s, size_t n)
{
    size_t at = 0, least, most;
    char class = 'a';
    for (const char *p = shape; *p;) {
        if (*p != '%') {
            if (at >= n || s[at] != *p) return 0;
            at++, p++;
            continue;
        }
        p++;
        read_range(&class, &least, &most, &p);
        bool exact = least == most && *p;
        size_t end = at;
        while (end < n && end - at < most + !exact && in_class(class, s[end])) end++;
        if (end - at < least || end - at > most) return 0;
        at = end;
    }
    return at < n && secrets_is_alnum(s[at]) ? 0 : at;
}

/* True if digits or cases change in the word, as they do not in "task-force-of-many". */
static bool is_mixed(const char *s, size_t n)
{
    size_t changes = 0;
    for (size_t k = 1; k < n; k++)
        changes += secrets_is_alnum(s[k]) && secrets_is_alnum(s[k - 1]) &&
                   (secrets_is_digit(s[k]) != secrets_is_digit(s[k - 1]) ||
                    secrets_is_upper(s[k]) != secrets_is_upper(s[k - 1]));
    return changes * 8 >= n;
}

static bool is_word(char c)
{
    return secrets_is_alnum(c) || c == '_' || c == '-' || c == '.' || c == '~' || c == ':' ||
           c == '/';
}

static int first_byte(int shape)
{
    return shapes[shape][*shapes[shape] == '?'];
}

/* Sorts the shapes by their first byte. */
void secrets_shapes_init(secrets_shapes *out)
{
    *out = (secrets_shapes){0};
    for (int c = 0; c < 256; c++) out->word[c] = is_word((char)c);
    for (int k = 0; k < SHAPES; k++) out->end[first_byte(k)]++;
    for (int c = 1; c < 128; c++) out->end[c] = (uint8_t)(out->end[c] + out->end[c - 1]);
    for (int k = SHAPES - 1; k >= 0; k--) {
        int c = first_byte(k);
        out->order[out->end[c - 1] + out->n[c]++] = (uint8_t)k;
    }
}

static size_t shape_at(const secrets_shapes *x, const char *s, size_t n)
{
    int c = *s, first = x->end[c] - x->n[c];
    for (int k = 0; k < x->n[c]; k++) {
        const char *shape = shapes[x->order[first + k]];
        bool weak = *shape == '?';
        size_t length = match(shape + weak, s, n);
        if (length > 0 && (!weak || is_mixed(s, length))) return length;
    }
    return 0;
}

static size_t inner_shape_at(unsigned which, const char *s, size_t n)
{
    size_t length = 0;
    for (int k = 0; k < INNER_SHAPES && length == 0; k++)
        if (which >> k & 1) length = match(inner_shapes[k].shape, s, n);
    return length;
}

/* The inner shapes of which the word has the literal, as bits. */
static unsigned inner_shapes_in(const char *word, size_t n)
{
    unsigned found = 0;
    for (size_t at = 0; at < n; at++) {
        if (secrets_is_alnum(word[at])) continue;
        for (int k = 0; k < INNER_SHAPES; k++) {
            const char *literal = inner_shapes[k].literal;
            if (literal[0] != word[at]) continue;
            size_t length = strlen(literal);
            if (n - at >= length && memcmp(word + at, literal, length) == 0) found |= 1U << k;
        }
    }
    return found;
}

/* A prefix may also follow another word: "deploy-AKIA...", "x_ghp_...". */
static size_t shape_in(size_t *at, const secrets_shapes *x, const char *text, size_t n, size_t lo,
                       size_t hi)
{
    unsigned inner = inner_shapes_in(text + lo, hi - lo);
    for (size_t k = lo; k < hi; k++) {
        if (!secrets_is_alnum(text[k]) || (k > 0 && secrets_is_alnum(text[k - 1]))) continue;
        size_t length = shape_at(x, text + k, n - k);
        if (length == 0 && inner) length = inner_shape_at(inner, text + k, n - k);
        if (length == 0) continue;
        *at = k;
        return length;
    }
    return 0;
}

/* Looks at one byte in WORD_LEAST: no word in which a shape begins is shorter. */
size_t secrets_next_shape(size_t *at, const secrets_shapes *x, const char *text, size_t n)
{
    size_t from = *at;
    for (size_t probe = from + WORD_LEAST - 1; probe < n; probe += WORD_LEAST) {
        if (!x->word[(uint8_t)text[probe]]) continue;
        size_t lo = probe, hi = probe;
        while (lo > from && x->word[(uint8_t)text[lo - 1]]) lo--;
        while (hi < n && x->word[(uint8_t)text[hi]]) hi++;
        if (hi - lo >= WORD_LEAST) {
            size_t length = shape_in(at, x, text, n, lo, hi);
            if (length > 0) return length;
        }
        probe = from = hi;
    }
    return 0;
}
