/*
 * grammar.c: the state of a grammar, advanced by tokens, and a cache of masks.
 *
 * Owed bytes come before the automaton; its state describes the whole prefix and it is asked only
 * about the bytes after them. A mask depends on the state alone and is cached with it. The least
 * recently used mask makes room for a new one.
 */
#include "infer/engine/grammar_priv.h"

#include <string.h>

enum { MASKS = 64, MASKS_MOST = 1 << 20, OWED_MOST = 1024, NAMES_MOST = UINT16_MAX };

typedef struct mask {
    grammar_state state;
    uint64_t hash, used; /* used 0: empty */
    bool begins, nothing;
} mask;

struct hpc_grammar {
    const hpc_vocabulary *v;
    const grammar_kind *kind;
    hpc_grammar_rule rule; /* states point to it */
    char **names;
    int32_t *end;
    int64_t end_n, mask_n, words;
    bool begins; /* as asked for */
    bool first, ended;
    grammar_state state;
    grammar_walk walk;
    mask *mask;
    uint32_t *bits;  /* [mask_n, words] */
    uint32_t *none;  /* [words] */
    hpc_buf owed;    /* what has to be spelled first, */
    size_t owed_at;  /* so much of which has been, */
    uint32_t *owing; /* [words]: mask until `owed` is spelled; NULL: no owed bytes */
    uint64_t now;
    hpc_grammar_counts counts;
};

/* ---- texts ----------------------------------------------------------------------------------- */

size_t grammar_step_all(grammar_state *s, const grammar_kind *k, const char *text, size_t n)
{
    size_t at = 0;

    while (at < n && k->step(s, (uint8_t)text[at])) at++;
    return at;
}

static size_t any_start(grammar_state *s, const hpc_grammar_rule *r, const char *prefix, size_t n)
{
    (void)s, (void)r, (void)prefix;
    return n;
}

static bool any_step(grammar_state *s, uint8_t byte)
{
    (void)s, (void)byte;
    return true;
}

static bool any_may_end(const grammar_state *s)
{
    (void)s;
    return true;
}

static uint32_t any_of_all(const grammar_state *s, size_t most)
{
    (void)s, (void)most;
    return BYTE_ANY;
}

static const grammar_kind any_kind = {.name = "text",
                                      .start = any_start,
                                      .step = any_step,
                                      .may_end = any_may_end,
                                      .any_of = any_of_all};

static size_t gbnf_start(grammar_state *s, const hpc_grammar_rule *r, const char *prefix, size_t n)
{
    (void)prefix;
    hpc_assert(r->gbnf);
    s->gbnf = (grammar_gbnf){.g = r->gbnf, .number = hpc_gbnf_start(r->gbnf)};
    return n;
}

static bool gbnf_step(grammar_state *s, uint8_t byte)
{
    s->gbnf.number = hpc_gbnf_step(s->gbnf.g, (int32_t)s->gbnf.number, byte);
    return s->gbnf.number >= 0;
}

static bool gbnf_may_end(const grammar_state *s)
{
    return hpc_gbnf_may_end(s->gbnf.g, (int32_t)s->gbnf.number);
}

static uint32_t any_of_none(const grammar_state *s, size_t most)
{
    (void)s, (void)most;
    return 0;
}

static const grammar_kind gbnf_grammar = {.name = "text of the grammar",
                                          .start = gbnf_start,
                                          .step = gbnf_step,
                                          .may_end = gbnf_may_end,
                                          .any_of = any_of_none};

static const grammar_kind *const kinds[HPC_GRAMMAR_KIND_N] = {
    [HPC_GRAMMAR_BRACKETS] = &grammar_brackets_kind,
    [HPC_GRAMMAR_DIRECTIVE] = &grammar_directive_kind,
    [HPC_GRAMMAR_JSON] = &grammar_json_kind,
    [HPC_GRAMMAR_GBNF] = &gbnf_grammar,
    [HPC_GRAMMAR_ANY] = &any_kind,
};

static const grammar_kind *kind_of(const hpc_grammar_rule *r)
{
    hpc_assert((unsigned)r->kind < HPC_GRAMMAR_KIND_N);
    return kinds[r->kind];
}

static size_t start(grammar_state *s, const hpc_grammar_rule *r, const char *prefix, size_t n)
{
    memset(s, 0, sizeof *s);
    return kind_of(r)->start(s, r, prefix ? prefix : "", n);
}

bool hpc_grammar_accepts(const hpc_grammar_rule *r, const char *prefix, size_t prefix_n,
                         const char *text, size_t n, bool *complete)
{
    const grammar_kind *k = kind_of(r);
    grammar_state s;
    bool taken = start(&s, r, prefix, prefix_n) == prefix_n;

    for (size_t i = 0; taken && i < n; i++) taken = k->step(&s, (uint8_t)text[i]);
    if (complete) *complete = taken && k->may_end(&s);
    return taken;
}

/* ---- life ------------------------------------------------------------------------------------ */

static int set_ends(hpc_grammar *g, const hpc_grammar_options *o)
{
    for (int64_t k = 0; k < o->end_n; k++)
        if (o->end[k] < 0 || o->end[k] >= g->v->n)
            return hpc_fail(HPC_E_ARG, "end token %d: the vocabulary has %lld", (int)o->end[k],
                            (long long)g->v->n);
    g->end = hpc_alloc((size_t)o->end_n + 1, sizeof *g->end);
    if (!g->end) return HPC_E_NOMEM;
    g->end_n = o->end_n;
    if (o->end_n > 0) memcpy(g->end, o->end, (size_t)o->end_n * sizeof *g->end);
    return HPC_OK;
}

static bool is_identifier(const char *name)
{
    if (*name >= '0' && *name <= '9') return false;
    for (const char *c = name; *c; c++)
        if (grammar_class((uint8_t)*c) != BYTE_WORD) return false;
    return *name != 0;
}

/* One block: the list, then what it points to. */
static int set_names(hpc_grammar *g)
{
    const char *const *names = g->rule.names;
    size_t bytes = 0, n = (size_t)g->rule.names_n;

    if (!names) return HPC_OK;
    if (g->rule.names_n < 1 || n > NAMES_MOST)
        return hpc_fail(HPC_E_ARG, "a grammar of %lld names, of 1 to %d",
                        (long long)g->rule.names_n, NAMES_MOST);
    for (size_t k = 0; k < n; k++) {
        size_t length = strlen(names[k]);
        if (length > NAMES_MOST || !is_identifier(names[k]))
            return hpc_fail(HPC_E_ARG, "name %zu of a grammar is no identifier: \"%.40s\"", k,
                            names[k]);
        if (k > 0 && strcmp(names[k - 1], names[k]) >= 0)
            return hpc_fail(HPC_E_ARG, "names of a grammar are not sorted: \"%.40s\" at %zu",
                            names[k], k);
        bytes += length + 1;
    }
    g->names = hpc_alloc(n * sizeof *g->names + bytes, 1);
    if (!g->names) return HPC_E_NOMEM;
    char *at = (char *)(g->names + n);
    for (size_t k = 0; k < n; k++) {
        size_t length = strlen(names[k]) + 1;
        g->names[k] = memcpy(at, names[k], length);
        at += length;
    }
    g->rule.names = (const char *const *)g->names;
    return HPC_OK;
}

static int set_owed(hpc_grammar *g, const hpc_grammar_options *o)
{
    if (o->owed == 0) return HPC_OK;
    if (o->owed > o->prefix_n || o->owed > OWED_MOST)
        return hpc_fail(HPC_E_ARG, "a grammar with %zu pending bytes of %zu, at most %d", o->owed,
                        o->prefix_n, OWED_MOST);
    g->owing = hpc_alloc((size_t)g->words, sizeof *g->owing);
    if (!g->owing) return HPC_E_NOMEM;
    return hpc_buf_add(&g->owed, o->prefix + (o->prefix_n - o->owed), o->owed);
}

static int create_masks(hpc_grammar *g)
{
    size_t way = g->v->longest + 1;

    g->words = (g->v->n + 31) / 32;
    g->mask = hpc_alloc((size_t)g->mask_n, sizeof *g->mask);
    g->bits = hpc_alloc((size_t)g->mask_n, (size_t)g->words * sizeof *g->bits);
    g->none = hpc_alloc((size_t)g->words, sizeof *g->none);
    g->walk = (grammar_walk){.v = g->v, .kind = g->kind};
    g->walk.state = hpc_alloc(way, sizeof *g->walk.state);
    g->walk.any_of = hpc_alloc(way, sizeof *g->walk.any_of);
    return g->mask && g->bits && g->none && g->walk.state && g->walk.any_of ? HPC_OK : HPC_E_NOMEM;
}

int hpc_grammar_create(hpc_grammar **out, const hpc_vocabulary *v, const hpc_grammar_options *o)
{
    hpc_grammar *g;
    int rc;

    *out = NULL;
    if (o->masks < 0 || o->masks > MASKS_MOST || o->rule.closers < -1)
        return hpc_fail(HPC_E_ARG, "a grammar that keeps %lld masks and closes %lld brackets",
                        (long long)o->masks, (long long)o->rule.closers);
    g = hpc_alloc(1, sizeof *g);
    if (!g) return HPC_E_NOMEM;
    g->v = v;
    g->kind = kind_of(&o->rule);
    g->rule = o->rule;
    g->begins = o->begins;
    g->mask_n = o->masks > 0 ? o->masks : MASKS;
    TRY(set_names(g));
    TRY(set_ends(g, o));
    TRY(create_masks(g));
    TRY(hpc_grammar_restart(g, o->prefix, o->prefix_n));
    TRY(set_owed(g, o));
    *out = g;
    return HPC_OK;
out:
    hpc_grammar_free(g);
    return rc;
}

void hpc_grammar_free(hpc_grammar *g)
{
    if (!g) return;
    hpc_free(g->names);
    hpc_free(g->end);
    hpc_free(g->mask);
    hpc_free(g->bits);
    hpc_free(g->none);
    hpc_free(g->owing);
    hpc_buf_release(&g->owed);
    hpc_free(g->walk.state);
    hpc_free(g->walk.any_of);
    hpc_free(g);
}

int hpc_grammar_restart(hpc_grammar *g, const char *prefix, size_t n)
{
    size_t at = start(&g->state, &g->rule, prefix, n);

    g->first = g->begins;
    g->owed_at = g->owed.n;
    g->ended = at < n;
    if (at == n) return HPC_OK;
    return hpc_fail(HPC_E_ARG, "the text before the cursor is not a %s from byte %lld: \"%.*s\"",
                    g->kind->name, (long long)at, (int)(n - at < 40 ? n - at : 40), prefix + at);
}

size_t hpc_grammar_owes(const hpc_grammar *g)
{
    return g->owed.n - g->owed_at;
}

hpc_grammar_counts hpc_grammar_counts_of(const hpc_grammar *g)
{
    return g->counts;
}

/* ---- masks ----------------------------------------------------------------------------------- */

static bool is_end(const hpc_grammar *g, int32_t token)
{
    for (int64_t k = 0; k < g->end_n; k++)
        if (g->end[k] == token) return true;
    return false;
}

/* Where this state's mask is, or may be put. */
static mask *find_mask(hpc_grammar *g, uint64_t hash)
{
    mask *oldest = &g->mask[0];

    for (mask *m = g->mask; m < g->mask + g->mask_n; m++) {
        if (m->used > 0 && m->hash == hash && m->begins == g->first &&
            memcmp(m->state.word, g->state.word, sizeof m->state.word) == 0)
            return m;
        if (m->used < oldest->used) oldest = m;
    }
    oldest->used = 0;
    return oldest;
}

static void make_mask(hpc_grammar *g, mask *m, uint32_t *bits)
{
    bool ends = hpc_grammar_may_end(g);
    uint32_t any = 0;

    memset(bits, 0, (size_t)g->words * sizeof *bits);
    g->walk.bits = bits;
    g->walk.steps = 0;
    g->walk.owed_n = hpc_grammar_owes(g);
    g->walk.owed = g->walk.owed_n > 0 ? g->owed.data + g->owed_at : NULL;
    g->walk.state[0] = g->state;
    if (g->first)
        grammar_walk_begin(&g->walk);
    else
        grammar_walk_all(&g->walk);
    for (int64_t k = 0; k < g->end_n; k++) {
        uint32_t bit = 1u << g->end[k] % 32;
        bits[g->end[k] / 32] &= ~bit;
        bits[g->end[k] / 32] |= ends ? bit : 0;
    }
    for (int64_t k = 0; k < g->words; k++) any |= bits[k];
    m->state = g->state;
    m->begins = g->first;
    m->nothing = any == 0;
    g->counts.made++;
    g->counts.steps += g->walk.steps;
}

const uint32_t *hpc_grammar_allowed(hpc_grammar *g)
{
    uint64_t hash = hpc_hash(g->state.word, sizeof g->state.word, 0);

    if (g->ended) {
        (void)hpc_fail(HPC_E_STATE, "the %s has ended: no token is allowed", g->kind->name);
        return g->none;
    }
    mask owing = {.used = 0}, *m = hpc_grammar_owes(g) > 0 ? &owing : find_mask(g, hash);
    uint32_t *bits = m == &owing ? g->owing : g->bits + (m - g->mask) * g->words;
    if (m->used > 0) {
        g->counts.found++;
    } else {
        make_mask(g, m, bits);
        m->hash = hash;
    }
    m->used = ++g->now;
    if (m->nothing)
        (void)hpc_fail(HPC_E_STATE, "no token of the vocabulary is allowed, and the %s %s",
                       g->kind->name,
                       hpc_grammar_may_end(g) ? "has no end token" : "cannot end here");
    return bits;
}

/* ---- what comes ------------------------------------------------------------------------------ */

int hpc_grammar_take(hpc_grammar *g, int32_t token)
{
    grammar_state s = g->state;
    size_t owed = g->owed_at;
    bool taken = !g->ended && token >= 0 && token < g->v->n;

    if (taken && is_end(g, token)) {
        taken = hpc_grammar_may_end(g);
        g->ended = taken;
    } else if (taken) {
        const vocabulary_piece *p = &g->v->piece[token];
        taken = p->n > 0;
        for (uint32_t i = g->first && g->v->loses[token]; taken && i < p->n; i++) {
            uint8_t byte = (uint8_t)g->v->bytes.data[p->at + i];
            taken =
                owed < g->owed.n ? byte == (uint8_t)g->owed.data[owed++] : g->kind->step(&s, byte);
        }
    }
    if (!taken)
        return hpc_fail(HPC_E_STATE, "token %d is not allowed here by the %s", (int)token,
                        g->kind->name);
    g->state = s;
    g->owed_at = owed;
    g->first = false;
    return HPC_OK;
}

bool hpc_grammar_may_end(const hpc_grammar *g)
{
    return !g->ended && hpc_grammar_owes(g) == 0 && g->kind->may_end(&g->state);
}

bool hpc_grammar_is_over(const hpc_grammar *g)
{
    bool over = g->ended || hpc_grammar_may_end(g);

    for (int byte = 0; over && !g->ended && byte < 256; byte++) {
        grammar_state s = g->state;
        over = !g->kind->step(&s, (uint8_t)byte);
    }
    return over;
}
