/*
 * json_steps.c: reads the normalizer, pre_tokenizer, post_processor and decoder of a
 * tokenizer.json.
 *
 * Anything that the supported families do not use is an error that names it and its position in
 * the file.
 */
#include <string.h>

#include "tokenizer/byte_level.h"

static const char gpt2_pattern[] =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

enum { DEPTH_MOST = 8 };

typedef struct steps {
    hpc_tokenizer *t;
    byte_level *b;
    hpc_arena *arena; /* of places in messages */
    bool nfc, bytes;  /* bytes: the step ByteLevel was read; it must be the last */
} steps;

int json_known_keys(const hpc_json *object, const char *const *keys, const char *where)
{
    for (int64_t i = 0; i < hpc_json_n(object); i++) {
        const char *key = hpc_json_key(object, i, NULL);
        const char *const *k = keys;
        while (*k && strcmp(*k, key) != 0) k++;
        if (*k) continue;
        return hpc_fail(HPC_E_UNSUPPORTED, "%.200s: unknown value \"%.60s\"", where, key);
    }
    return 0;
}

int json_flag(bool *out, const hpc_json *object, const char *key, const char *where)
{
    const hpc_json *v = hpc_json_get(object, key);
    *out = false;
    if (!v || hpc_json_kind_of(v) == HPC_JSON_NULL) return 0;
    int rc = hpc_json_bool(out, v, key);
    if (rc < 0) hpc_error_where("%.200s", where);
    return rc;
}

static int type_of(const char **out, const hpc_json *v, const char *where)
{
    const hpc_json *type = hpc_json_get(v, "type");
    if (!type) return hpc_fail(HPC_E_FORMAT, "%.200s: no \"type\"", where);
    *out = "";
    int rc = hpc_json_text(out, type, "type");
    if (rc < 0) hpc_error_where("%.200s", where);
    return rc;
}

static int unsupported(const char *where, const char *type)
{
    return hpc_fail(HPC_E_UNSUPPORTED, "%.200s: %.60s is not supported", where, type);
}

/* Calls one() for each item of the list under `key`. */
static int each(steps *s, const hpc_json *v, const char *key, const char *where, int depth,
                int (*one)(steps *s, const hpc_json *v, const char *where, int depth))
{
    const hpc_json *list = hpc_json_get(v, key);
    const char *keys[] = {"type", key, NULL};
    int rc = json_known_keys(v, keys, where);
    if (rc < 0) return rc;
    if (!list || hpc_json_kind_of(list) != HPC_JSON_LIST) {
        return hpc_fail(HPC_E_FORMAT, "%.200s: no list \"%s\"", where, key);
    }
    if (depth == DEPTH_MOST) {
        return hpc_fail(HPC_E_UNSUPPORTED, "%.200s: sequences more than %d deep", where,
                        DEPTH_MOST);
    }
    for (int64_t i = 0; i < hpc_json_n(list); i++) {
        const char *place = hpc_arena_text(s->arena, "%s.%s[%lld]", where, key, (long long)i);
        if (!place) return HPC_E_NOMEM;
        rc = one(s, hpc_json_at(list, i), place, depth + 1);
        if (rc < 0) return rc;
    }
    return 0;
}

/* ---- normalizer ------------------------------------------------------------------------- */

static int normalizer(steps *s, const hpc_json *v, const char *where, int depth)
{
    const char *type = "";
    int rc = type_of(&type, v, where);
    if (rc < 0) return rc;
    if (strcmp(type, "Sequence") == 0) {
        return each(s, v, "normalizers", where, depth, normalizer);
    }
    if (strcmp(type, "Prepend") == 0 || strcmp(type, "Replace") == 0) {
        return hpc_fail(
            HPC_E_UNSUPPORTED,
            "%.200s: %s is not supported; if the tokenizer also has a tokenizer.model, use that",
            where, type);
    }
    if (strcmp(type, "NFC") != 0) return unsupported(where, type);
    s->nfc = true;
    return json_known_keys(v, (const char *const[]){"type", NULL}, where);
}

/* ---- pre_tokenizer ----------------------------------------------------------------------- */

static int behaviour_of(split_behaviour *out, const hpc_json *v, const char *where)
{
    static const char *const names[] = {
        [SPLIT_ISOLATED] = "Isolated",          [SPLIT_REMOVED] = "Removed",
        [SPLIT_CONTIGUOUS] = "Contiguous",      [SPLIT_MERGED_PREVIOUS] = "MergedWithPrevious",
        [SPLIT_MERGED_NEXT] = "MergedWithNext",
    };
    const hpc_json *b = hpc_json_get(v, "behavior");
    const char *name = "Isolated";
    if (b && hpc_json_text(&name, b, "behavior") < 0) return hpc_error_where("%.200s", where);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i], name) != 0) continue;
        *out = (split_behaviour)i;
        return 0;
    }
    return hpc_fail(HPC_E_UNSUPPORTED, "%.200s: behavior \"%.60s\" is not supported", where, name);
}

static int split(steps *s, const hpc_json *v, const char *where)
{
    int rc = 0;
    split_behaviour behaviour = SPLIT_ISOLATED;
    bool invert = false;
    const char *text = NULL;
    const hpc_json *pattern = hpc_json_get(v, "pattern");
    TRY(json_known_keys(v, (const char *const[]){"type", "pattern", "behavior", "invert", NULL},
                        where));
    TRY(behaviour_of(&behaviour, v, where));
    TRY(json_flag(&invert, v, "invert", where));
    const hpc_json *regex = pattern ? hpc_json_get(pattern, "Regex") : NULL;
    const hpc_json *literal = pattern ? hpc_json_get(pattern, "String") : NULL;
    if (!regex == !literal || hpc_json_n(pattern) != 1) {
        return hpc_fail(HPC_E_FORMAT, "%.200s: pattern is neither a Regex nor a String", where);
    }
    rc = hpc_json_text(&text, regex ? regex : literal, "pattern");
    if (rc < 0) return hpc_error_where("%.200s", where);
    rc = regex ? tokenizer_split_regex(&s->b->split, text, behaviour, invert, where)
               : tokenizer_split_literal(&s->b->split, text, behaviour, invert, where);
out:
    return rc;
}

static int byte_step(steps *s, const hpc_json *v, const char *where)
{
    int rc = 0;
    bool regex = true;
    byte_level *b = s->b;
    const hpc_json *use = hpc_json_get(v, "use_regex");
    TRY(json_known_keys(
        v, (const char *const[]){"type", "add_prefix_space", "trim_offsets", "use_regex", NULL},
        where));
    TRY(json_flag(&b->prefix_space, v, "add_prefix_space", where));
    if (use) TRY(json_flag(&regex, v, "use_regex", where));
    if (b->prefix_space && b->split.n > 0) {
        return hpc_fail(HPC_E_UNSUPPORTED, "%.200s: add_prefix_space after other steps", where);
    }
    if (regex) TRY(tokenizer_split_regex(&b->split, gpt2_pattern, SPLIT_ISOLATED, false, where));
    s->bytes = true;
out:
    return rc;
}

static int pre_tokenizer(steps *s, const hpc_json *v, const char *where, int depth)
{
    int rc = 0;
    const char *type = "";
    bool single = false;
    split_behaviour behaviour = SPLIT_ISOLATED;
    TRY(type_of(&type, v, where));
    if (strcmp(type, "Sequence") == 0) {
        return each(s, v, "pretokenizers", where, depth, pre_tokenizer);
    }
    if (s->bytes) {
        return hpc_fail(HPC_E_UNSUPPORTED, "%.200s: %.60s after ByteLevel", where, type);
    }
    if (strcmp(type, "Split") == 0) return split(s, v, where);
    if (strcmp(type, "ByteLevel") == 0) return byte_step(s, v, where);
    if (strcmp(type, "Digits") == 0) {
        TRY(json_known_keys(v, (const char *const[]){"type", "individual_digits", NULL}, where));
        TRY(json_flag(&single, v, "individual_digits", where));
        return tokenizer_split_class(&s->b->split, UNI_NEW_NUMBER,
                                     single ? SPLIT_ISOLATED : SPLIT_CONTIGUOUS, where);
    }
    if (strcmp(type, "Punctuation") == 0) {
        TRY(json_known_keys(v, (const char *const[]){"type", "behavior", NULL}, where));
        TRY(behaviour_of(&behaviour, v, where));
        return tokenizer_split_class(&s->b->split, UNI_OLD_PUNCT, behaviour, where);
    }
    rc = unsupported(where, type);
out:
    return rc;
}

/* ---- post_processor ------------------------------------------------------------------------ */

/* The id of the special token named in a template. */
static int template_token(int32_t *out, steps *s, const hpc_json *token, const hpc_json *specials,
                          const char *where)
{
    const char *name = NULL;
    int64_t id;
    const hpc_json *v = hpc_json_get(token, "id");
    if (!v || hpc_json_text(&name, v, "id") < 0) {
        return hpc_fail(HPC_E_FORMAT, "%.200s: a SpecialToken without id", where);
    }
    const hpc_json *entry = specials ? hpc_json_get(specials, name) : NULL;
    const hpc_json *ids = entry ? hpc_json_get(entry, "ids") : NULL;
    if (!ids || hpc_json_n(ids) != 1) {
        return hpc_fail(HPC_E_UNSUPPORTED,
                        "%.200s: special token \"%.60s\" must have exactly one id", where, name);
    }
    int rc = hpc_json_int(&id, hpc_json_at(ids, 0), "ids");
    if (rc < 0) return hpc_error_where("%.200s", where);
    if (id < 0 || id >= s->t->n || !s->t->piece[id].text) {
        return hpc_fail(HPC_E_FORMAT,
                        "%.200s: special token \"%.60s\" has id %lld, but no token has it", where,
                        name, (long long)id);
    }
    *out = (int32_t)id;
    return 0;
}

static int template(steps *s, const hpc_json *v, const char *where)
{
    hpc_tokenizer_special *special = &s->t->special;
    const hpc_json *list = hpc_json_get(v, "single");
    bool text = false;
    for (int64_t i = 0; list && i < hpc_json_n(list); i++) {
        const hpc_json *item = hpc_json_at(list, i);
        const hpc_json *token = hpc_json_get(item, "SpecialToken");
        if (!token) {
            if (text || !hpc_json_get(item, "Sequence")) break;
            text = true;
            continue;
        }
        bool *has = text ? &special->add_end : &special->add_begin;
        if (*has) {
            return hpc_fail(HPC_E_UNSUPPORTED, "%.200s: more than one token %s a text", where,
                            text ? "after" : "before");
        }
        int rc = template_token(text ? &special->end : &special->begin, s, token,
                                hpc_json_get(v, "special_tokens"), where);
        if (rc < 0) return rc;
        *has = true;
    }
    if (text) return 0;
    return hpc_fail(HPC_E_FORMAT, "%.200s: \"single\" is not a template with one text", where);
}

static int post_processor(steps *s, const hpc_json *v, const char *where, int depth)
{
    const char *type = "";
    int rc = type_of(&type, v, where);
    if (rc < 0) return rc;
    if (strcmp(type, "Sequence") == 0) {
        return each(s, v, "processors", where, depth, post_processor);
    }
    if (strcmp(type, "TemplateProcessing") == 0) return template(s, v, where);
    return strcmp(type, "ByteLevel") == 0 ? 0 : unsupported(where, type); /* offsets only */
}

static int decoder(steps *s, const hpc_json *v, const char *where, int depth)
{
    const char *type = "";
    int rc = type_of(&type, v, where);
    if (rc < 0) return rc;
    if (strcmp(type, "Sequence") == 0) return each(s, v, "decoders", where, depth, decoder);
    return strcmp(type, "ByteLevel") == 0 ? 0 : unsupported(where, type);
}

/* Reads the part under `key`, if there is one. */
static int part(steps *s, const hpc_json *root, const char *key, const char *name,
                int (*read)(steps *s, const hpc_json *v, const char *where, int depth))
{
    const hpc_json *v = hpc_json_get(root, key);
    if (!v || hpc_json_kind_of(v) == HPC_JSON_NULL) return 0;
    const char *where = hpc_arena_text(s->arena, "%s: %s", name, key);
    return where ? read(s, v, where, 0) : HPC_E_NOMEM;
}

int json_read_steps(hpc_tokenizer *t, byte_level *b, const hpc_json *root, const char *name)
{
    int rc = 0;
    steps s = {.t = t, .b = b, .arena = hpc_arena_create(0)};
    if (!s.arena) return HPC_E_NOMEM;
    TRY(part(&s, root, "normalizer", name, normalizer));
    TRY(part(&s, root, "pre_tokenizer", name, pre_tokenizer));
    TRY(part(&s, root, "decoder", name, decoder));
    if (!s.bytes) {
        TRY(hpc_fail(HPC_E_UNSUPPORTED,
                     "%.200s: pre_tokenizer has no ByteLevel; only byte-level BPE is supported in "
                     "a tokenizer.json (if there is also a tokenizer.model, use that)",
                     name));
    }
    b->nfc = s.nfc;
out:
    hpc_arena_free(s.arena);
    return rc;
}

int json_read_template(hpc_tokenizer *t, const hpc_json *root, const char *name)
{
    steps s = {.t = t, .arena = hpc_arena_create(0)};
    if (!s.arena) return HPC_E_NOMEM;
    int rc = part(&s, root, "post_processor", name, post_processor);
    hpc_arena_free(s.arena);
    return rc;
}
