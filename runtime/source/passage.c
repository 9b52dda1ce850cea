/*
 * passage.c: looking up texts in a passage index.
 *
 * The file is verified when it is opened, so that later look-ups cannot fail or read
 * outside the file.
 */
#include "runtime/source/passage.h"

#include <string.h>

#include "runtime/source/passage_priv.h"

enum { WINDOWS = 6, TELLING = 2, NAMES = 3, RECENT = 8, WORDS = HPC_PASSAGE_SOURCES_MOST / 64 };
_Static_assert(WINDOWS *HPC_PASSAGE_STRIDE + HPC_PASSAGE_WINDOW - 1 == HPC_PASSAGE_TOKENS,
               "a run has so many windows four apart wherever it begins");
_Static_assert((WINDOWS - 1) * HPC_PASSAGE_STRIDE + HPC_PASSAGE_WINDOW == HPC_PASSAGE_SPAN,
               "they cover the span");

typedef struct source_set { /* of sources, as bits */
    uint64_t bit[WORDS];
} source_set;

struct hpc_passages {
    hpc_file_view view; /* when it was opened by its name */
    const char *name;
    const uint8_t *data;
    size_t bytes;
    char *names;
    hpc_source *source;
    source_set *set; /* by value: of single sources, then of several */
    uint64_t count[PASSAGE_COUNTS];
    uint32_t common; /* value of a common window */
    hpc_fuse map;
};

/* ---- opening ------------------------------------------------------------------------------- */

static int check_header(const hpc_passages *p)
{
    const uint8_t *d = p->data;
    uint64_t lexer = 0;
    if (p->bytes < PASSAGE_HEADER + PASSAGE_HASH || memcmp(d, PASSAGE_MAGIC, 8) != 0)
        return hpc_fail(HPC_E_FORMAT, "%s is not a passage index", p->name);
    uint32_t version = hpc_get32(d + PASSAGE_AT_VERSION);
    if (version < 1 || version > PASSAGE_VERSION)
        return hpc_fail(
            HPC_E_UNSUPPORTED,
            "%s has format version %u, this program reads versions 1 to %d: rebuild it with "
            "`hpccoder corpus passages`",
            p->name, version, PASSAGE_VERSION);
    size_t body = p->bytes - PASSAGE_HASH;
    if (!hpc_same_hash(hpc_hash_wide(d, body), hpc_get_hash(d + body)))
        return hpc_fail(HPC_E_FORMAT, "%s is damaged: its checksum is wrong", p->name);
    int rc = hpc_lexer_hash(&lexer);
    if (rc >= 0 && lexer != hpc_get64(d + PASSAGE_AT_LEXER))
        rc = hpc_fail(HPC_E_UNSUPPORTED,
                      "%s was built with a different lexer and would find nothing: rebuild it with "
                      "`hpccoder corpus passages`",
                      p->name);
    return rc;
}

static int does_not_fit(const hpc_passages *p)
{
    return hpc_fail(HPC_E_FORMAT, "%s: its numbers are inconsistent", p->name);
}

/* "repository TAB licence LF" of each. */
static int read_names(hpc_passages *p, const uint8_t *text)
{
    size_t n = p->count[PASSAGE_TEXT_BYTES];
    p->names = hpc_alloc(n + 1, 1);
    p->source = hpc_alloc(p->count[PASSAGE_SOURCES_N] + 1, sizeof *p->source);
    if (!p->names || !p->source) return HPC_E_NOMEM;
    memcpy(p->names, text, n);
    char *at = p->names;
    for (uint64_t k = 0; k < p->count[PASSAGE_SOURCES_N]; k++) {
        char *end = strchr(at, '\n');
        char *tab = end ? memchr(at, '\t', (size_t)(end - at)) : NULL;
        if (!tab) return does_not_fit(p);
        *tab = *end = '\0';
        p->source[k] = (hpc_source){at, tab + 1};
        at = end + 1;
    }
    return HPC_OK;
}

static int read_sets(hpc_passages *p, const uint8_t *at)
{
    uint64_t n = p->count[PASSAGE_SOURCES_N], sets = p->count[PASSAGE_SETS_N];
    p->set = hpc_alloc(n + sets + 1, sizeof *p->set);
    if (!p->set) return HPC_E_NOMEM;
    for (uint64_t k = 0; k < n; k++) p->set[k].bit[k / 64] |= UINT64_C(1) << k % 64;
    for (uint64_t k = 0; k < sets * HPC_PASSAGE_SOURCES; k++, at += 2) {
        unsigned s = at[0] | (unsigned)at[1] << 8;
        if (s == PASSAGE_NO_SOURCE) continue;
        if (s >= n) return does_not_fit(p);
        p->set[n + k / HPC_PASSAGE_SOURCES].bit[s / 64] |= UINT64_C(1) << s % 64;
    }
    return HPC_OK;
}

static int read_body(hpc_passages *p)
{
    size_t left = p->bytes - PASSAGE_HEADER - PASSAGE_HASH;
    const uint8_t *d = p->data, *at = d + PASSAGE_HEADER;
    for (int k = 0; k < PASSAGE_COUNTS; k++) p->count[k] = hpc_get64(d + PASSAGE_AT_COUNTS + 8 * k);
    uint64_t text = p->count[PASSAGE_TEXT_BYTES], sets = p->count[PASSAGE_SETS_N];
    uint64_t log2 = hpc_get64(d + PASSAGE_AT_MAP + 8), bits = p->count[PASSAGE_BITS];
    if (hpc_get32(d + PASSAGE_AT_VERSION) == 1) bits = bits <= 2 ? 8 * bits : 0;
    uint64_t segments = hpc_get64(d + PASSAGE_AT_MAP + 16);
    if (p->count[PASSAGE_SOURCES_N] > HPC_PASSAGE_SOURCES_MOST || sets > 0x8000 ||
        bits - 1 >= HPC_FUSE_BITS_MOST || log2 > 63 || segments > UINT32_MAX || text > left ||
        sets * 2 * HPC_PASSAGE_SOURCES > left - text)
        return does_not_fit(p);
    left -= text + sets * 2 * HPC_PASSAGE_SOURCES;
    p->common = (uint32_t)(p->count[PASSAGE_SOURCES_N] + sets);
    p->map = (hpc_fuse){.seed = hpc_get64(d + PASSAGE_AT_MAP),
                        .segment_log2 = (uint32_t)log2,
                        .segments = (uint32_t)segments,
                        .bits = (uint32_t)bits};
    uint64_t slots = hpc_fuse_slots(&p->map);
    if ((slots == 0) != (segments == 0) || hpc_fuse_bytes(&p->map) != left) return does_not_fit(p);
    _Static_assert((int)PASSAGE_HASH >= (int)HPC_FUSE_PAD, "the checksum follows the slots");
    if (slots > 0) p->map.slots = at + text + sets * 2 * HPC_PASSAGE_SOURCES;
    int rc = read_names(p, at);
    return rc < 0 ? rc : read_sets(p, at + text);
}

int hpc_passages_parse(hpc_passages **out, const uint8_t *data, size_t n, const char *name)
{
    int rc;
    hpc_passages *p = hpc_alloc(1, sizeof *p);
    *out = NULL;
    if (!p) return HPC_E_NOMEM;
    p->name = name;
    p->data = data;
    p->bytes = n;
    TRY(check_header(p));
    TRY(read_body(p));
    *out = p;
    p = NULL;
out:
    hpc_passages_close(p);
    return rc;
}

int hpc_passages_open(hpc_passages **out, const char *path)
{
    hpc_file_view view;
    *out = NULL;
    int rc = hpc_file_open(&view, path);
    if (rc < 0) return rc;
    rc = hpc_passages_parse(out, view.data, view.bytes, path);
    if (rc < 0)
        hpc_file_close(&view);
    else
        (*out)->view = view;
    return rc;
}

void hpc_passages_close(hpc_passages *p)
{
    if (!p) return;
    if (p->view.data) hpc_file_close(&p->view);
    hpc_free(p->names);
    hpc_free(p->source);
    hpc_free(p->set);
    hpc_free(p);
}

const hpc_source *hpc_passages_source(const hpc_passages *p, int64_t i)
{
    hpc_assert(i >= 0 && (uint64_t)i < p->count[PASSAGE_SOURCES_N]);
    return &p->source[i];
}

void hpc_passages_describe(hpc_passages_facts *out, const hpc_passages *p)
{
    *out = (hpc_passages_facts){.bytes = (int64_t)p->bytes,
                                .sources_n = (int64_t)p->count[PASSAGE_SOURCES_N],
                                .sets_n = (int64_t)p->count[PASSAGE_SETS_N],
                                .tokens_n = (int64_t)p->count[PASSAGE_TOKENS_N],
                                .windows_n = (int64_t)p->count[PASSAGE_WINDOWS_N],
                                .common_n = (int64_t)p->count[PASSAGE_COMMON_N]};
}

/* ---- windows ------------------------------------------------------------------------------- */

int passage_code_of(passage_code *out, const hpc_tokens *t, int64_t lo, int64_t hi)
{
    int rc;
    out->n = 0;
    TRY(hpc_grow(&out->hash, &out->cap, hi - lo + 1, sizeof *out->hash));
    TRY(hpc_grow(&out->item, &out->item_cap, hi - lo + 1, sizeof *out->item));
    for (int64_t i = lo; i < hi; i++) {
        if (!hpc_token_is_code(&t->item[i])) continue;
        out->hash[out->n] = t->item[i].hash;
        out->item[out->n++] = (uint32_t)i;
    }
out:
    return rc;
}

void passage_code_release(passage_code *c)
{
    hpc_free(c->hash);
    hpc_free(c->item);
    *c = (passage_code){0};
}

int64_t passage_windows(const passage_code *c)
{
    return c->n < HPC_PASSAGE_WINDOW ? 0 : c->n - HPC_PASSAGE_WINDOW + 1;
}

uint64_t passage_key(uint64_t *sum, const passage_code *c, int64_t at)
{
    if (at == 0) {
        *sum = 0;
        for (int k = 0; k < HPC_PASSAGE_WINDOW; k++) *sum = *sum * HPC_ROLL_BASE + c->hash[k];
    } else {
        uint64_t top = 1; /* the compiler's to work out */
        for (int k = 0; k < HPC_PASSAGE_WINDOW; k++) top *= HPC_ROLL_BASE;
        *sum = *sum * HPC_ROLL_BASE + c->hash[at + HPC_PASSAGE_WINDOW - 1] - c->hash[at - 1] * top;
    }
    uint64_t key = hpc_mix(*sum);
    return key ? key : 1;
}

/* ---- finding ------------------------------------------------------------------------------- */

typedef struct search {
    const hpc_passages *p;
    const hpc_tokens *t;
    passage_code code;
    uint32_t *value; /* of each window; above p->common: it is not there */
    int64_t *begin;  /* of each passage found, in code tokens */
    source_set *set; /* and who has it */
    int64_t value_cap, begin_cap, set_cap;
} search;

static int look_up(search *s)
{
    const hpc_passages *p = s->p;
    int64_t n = passage_windows(&s->code);
    uint64_t sum = 0;
    int rc = hpc_grow(&s->value, &s->value_cap, n + 1, sizeof *s->value);
    if (rc < 0) return rc;
    for (int64_t i = 0; i < n; i++) {
        hpc_fuse_at at = hpc_fuse_place(&p->map, passage_key(&sum, &s->code, i));
        s->value[i] = hpc_fuse_value(&p->map, &at);
    }
    return HPC_OK;
}

/* True if both have a source in common; then *a is the intersection. */
static bool meet(source_set *a, const source_set *b)
{
    source_set both;
    uint64_t any = 0;
    for (int k = 0; k < WORDS; k++) any |= both.bit[k] = a->bit[k] & b->bit[k];
    if (any) *a = both;
    return any != 0;
}

/* True if the windows that end with this one are in the index and have a source in common. */
static bool agree(source_set *out, const search *s, int64_t at)
{
    int telling = 0;
    memset(out, 0xff, sizeof *out);
    for (int k = 0; k < WINDOWS; k++) {
        uint32_t v = s->value[at - k * HPC_PASSAGE_STRIDE];
        if (v > s->p->common) return false;
        if (v == s->p->common) continue;
        if (!meet(out, &s->p->set[v])) return false;
        telling++;
    }
    return telling >= TELLING;
}

static bool says_something(const search *s, int64_t begin)
{
    uint32_t seen[NAMES];
    int n = 0;
    for (int64_t i = begin; i < begin + HPC_PASSAGE_SPAN && n < NAMES; i++) {
        bool is_new = s->t->item[s->code.item[i]].kind == HPC_TOKEN_NAME;
        for (int k = 0; k < n; k++) is_new &= seen[k] != s->code.hash[i];
        if (is_new) seen[n++] = s->code.hash[i];
    }
    return n == NAMES;
}

/* To a passage that it overlaps and that has a source in common with it, of the last few that were
 * found, or as a new one. */
static int add(hpc_passage_list *out, search *s, int64_t begin, const source_set *set)
{
    int rc;
    for (int64_t k = out->n; k-- > 0 && k >= out->n - RECENT;) {
        hpc_passage *p = &out->item[k];
        if (s->begin[k] + p->tokens <= begin || !meet(&s->set[k], set)) continue;
        p->tokens = begin + HPC_PASSAGE_SPAN - s->begin[k];
        return HPC_OK;
    }
    TRY(hpc_grow(&out->item, &out->cap, out->n + 1, sizeof *out->item));
    TRY(hpc_grow(&s->begin, &s->begin_cap, out->n + 1, sizeof *s->begin));
    TRY(hpc_grow(&s->set, &s->set_cap, out->n + 1, sizeof *s->set));
    out->item[out->n] = (hpc_passage){.tokens = HPC_PASSAGE_SPAN};
    s->begin[out->n] = begin;
    s->set[out->n++] = *set;
out:
    return rc;
}

static void finish(hpc_passage_list *out, const search *s)
{
    for (int64_t k = 0; k < out->n; k++) {
        hpc_passage *p = &out->item[k];
        p->first = s->code.item[s->begin[k]];
        p->last = s->code.item[s->begin[k] + p->tokens - 1] + 1;
        for (int32_t i = 0; i < HPC_PASSAGE_SOURCES_MOST; i++)
            if (s->set[k].bit[i / 64] >> i % 64 & 1 && p->sources_n < HPC_PASSAGE_SOURCES)
                p->source[p->sources_n++] = i;
    }
}

int hpc_passages_find(hpc_passage_list *out, const hpc_passages *p, const hpc_tokens *t, int64_t lo,
                      int64_t hi)
{
    const int64_t back = (WINDOWS - 1) * HPC_PASSAGE_STRIDE;
    search s = {.p = p, .t = t};
    source_set set;
    int rc = HPC_OK;
    out->n = 0;
    if (!p->map.slots) return HPC_OK;
    TRY(passage_code_of(&s.code, t, lo, hi));
    TRY(look_up(&s));
    for (int64_t at = back; at < passage_windows(&s.code); at++)
        if (agree(&set, &s, at) && says_something(&s, at - back))
            TRY(add(out, &s, at - back, &set));
    finish(out, &s);
out:
    passage_code_release(&s.code);
    hpc_free(s.value);
    hpc_free(s.begin);
    hpc_free(s.set);
    return rc;
}

void hpc_passage_list_release(hpc_passage_list *l)
{
    hpc_free(l->item);
    *l = (hpc_passage_list){0};
}
