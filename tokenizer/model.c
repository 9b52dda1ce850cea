/*
 * model.c: reads a tokenizer.model: protobuf, parsed by hand, only the fields that encoding needs.
 *
 * The file is untrusted. Features that we do not implement are errors that name them: models other
 * than BPE, blanks as suffixes, blanks that are not escaped, and normalisation after decoding.
 */
#include <math.h>
#include <string.h>

#include "tokenizer/spm.h"

/* Of merges there may be as many as the file has bytes, of 32 bytes each in memory; that of 256k
 * pieces has 5 MB. A long piece costs its length squared once. */
enum { FILE_MOST = 16 << 20 };

/* ---- protobuf ------------------------------------------------------------------------ */

typedef struct reader {
    const uint8_t *at, *end;
    const uint8_t *start; /* of the file, for messages */
    const char *name;
} reader;

typedef struct field {
    uint64_t number;
    uint64_t value; /* of varints and fixed numbers */
    reader bytes;   /* contents of a length-delimited field */
    unsigned wire;
} field;

static int damaged(const reader *r, const char *what)
{
    return hpc_fail(HPC_E_FORMAT, "%s: %s at byte %zu; the tokenizer.model is damaged or truncated",
                    r->name, what, (size_t)(r->at - r->start));
}

static int read_varint(uint64_t *out, reader *r)
{
    if (r->at < r->end && *r->at < 0x80) return *out = *r->at++, HPC_OK; /* nearly all */
    *out = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (r->at == r->end) return damaged(r, "a number is truncated");
        uint8_t byte = *r->at++;
        *out |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) return HPC_OK;
    }
    return damaged(r, "a number is too long");
}

static int read_fixed(uint64_t *out, reader *r, size_t bytes)
{
    *out = 0;
    if ((size_t)(r->end - r->at) < bytes) return damaged(r, "a number is truncated");
    for (size_t i = 0; i < bytes; i++) *out |= (uint64_t)r->at[i] << 8 * i;
    r->at += bytes;
    return HPC_OK;
}

/* 1: a field; 0: the end. */
static int read_field(field *f, reader *r)
{
    int rc = HPC_OK;
    uint64_t key, n;
    if (r->at == r->end) return 0;
    TRY(read_varint(&key, r));
    *f = (field){.number = key >> 3, .wire = key & 7};
    if (f->number == 0) TRY(damaged(r, "a field has the number 0"));
    switch (f->wire) {
    case 0: TRY(read_varint(&f->value, r)); break;
    case 1: TRY(read_fixed(&f->value, r, 8)); break;
    case 5: TRY(read_fixed(&f->value, r, 4)); break;
    case 2:
        TRY(read_varint(&n, r));
        if (n > (uint64_t)(r->end - r->at)) TRY(damaged(r, "a field is truncated"));
        f->bytes = (reader){.at = r->at, .end = r->at + n, .start = r->start, .name = r->name};
        r->at += n;
        break;
    default: TRY(damaged(r, "a field has an unknown type"));
    }
    return 1;
out:
    return rc;
}

static int wire_is(const field *f, const reader *r, unsigned wire)
{
    return f->wire == wire ? HPC_OK : damaged(r, "a field has the wrong type");
}

static int read_flag(bool *out, const field *f, const reader *r)
{
    int rc = wire_is(f, r, 0);
    if (rc < 0) return rc;
    *out = f->value != 0;
    return HPC_OK;
}

/* A copy, ended by NUL. */
static int read_bytes(const char **out, size_t *n, const field *f, const reader *r, hpc_arena *a)
{
    int rc = wire_is(f, r, 2);
    if (rc < 0) return rc;
    size_t bytes = (size_t)(f->bytes.end - f->bytes.at);
    char *copy = hpc_arena_alloc(a, bytes + 1, 1);
    if (!copy) return HPC_E_NOMEM;
    memcpy(copy, f->bytes.at, bytes);
    *out = copy;
    if (n) *n = bytes;
    return HPC_OK;
}

/* ---- the parts of a model -------------------------------------------------------------- */

static int kind_of(uint8_t *out, uint64_t type, const reader *r)
{
    static const uint8_t kinds[] = {[1] = PIECE_NORMAL, [2] = PIECE_UNKNOWN, [3] = PIECE_CONTROL,
                                    [4] = PIECE_USER,   [5] = PIECE_UNUSED,  [6] = PIECE_BYTE};
    if (type < 1 || type >= sizeof kinds) return damaged(r, "a token of an unknown type");
    *out = kinds[type];
    return HPC_OK;
}

/* Stores texts contiguously, NUL-terminated; that takes less space than the file uses for them. */
static int read_piece(spm_file *m, char **texts, reader *r)
{
    int rc = HPC_OK;
    field f;
    size_t n = 0;
    tokenizer_piece p = {.kind = PIECE_NORMAL};
    while ((rc = read_field(&f, r)) > 0) {
        if (f.number == 1) {
            TRY(wire_is(&f, r, 2));
            n = (size_t)(f.bytes.end - f.bytes.at);
            memcpy(*texts, f.bytes.at, n);
            p.text = *texts;
            *texts += n + 1;
        } else if (f.number == 2) {
            uint32_t bits = (uint32_t)f.value;
            TRY(wire_is(&f, r, 5));
            memcpy(&p.score, &bits, sizeof bits);
        } else if (f.number == 3) {
            TRY(wire_is(&f, r, 0));
            TRY(kind_of(&p.kind, f.value, r));
        }
    }
    if (rc < 0) goto out;
    if (n == 0) TRY(damaged(r, "an empty token"));
    if (n > SPM_PIECE_MOST) TRY(damaged(r, "a token of more than 1024 bytes"));
    if (isnan(p.score)) TRY(damaged(r, "a score that is not a number"));
    p.n = (uint32_t)n;
    m->piece[m->n++] = p;
out:
    return rc;
}

static int read_trainer(spm_file *m, reader *r, hpc_arena *a)
{
    int rc = HPC_OK;
    field f;
    while ((rc = read_field(&f, r)) > 0) {
        switch (f.number) {
        case 3:
            TRY(wire_is(&f, r, 0));
            m->model_type = (int64_t)f.value;
            break;
        case 24: TRY(read_flag(&m->suffix_blanks, &f, r)); break;
        case 35: TRY(read_flag(&m->byte_fallback, &f, r)); break;
        case 44: TRY(read_bytes(&m->unknown_text, NULL, &f, r, a)); break;
        case 46: TRY(read_bytes(&m->begin, NULL, &f, r, a)); break;
        case 47: TRY(read_bytes(&m->end, NULL, &f, r, a)); break;
        case 48: TRY(read_bytes(&m->pad, NULL, &f, r, a)); break;
        default: break;
        }
    }
out:
    return rc;
}

static int read_normaliser(spm_file *m, reader *r, hpc_arena *a)
{
    int rc = HPC_OK;
    field f;
    while ((rc = read_field(&f, r)) > 0) {
        switch (f.number) {
        case 2: TRY(read_bytes(&m->rules, &m->rules_n, &f, r, a)); break;
        case 3: TRY(read_flag(&m->dummy_prefix, &f, r)); break;
        case 4: TRY(read_flag(&m->squeeze_blanks, &f, r)); break;
        case 5: TRY(read_flag(&m->escape_blanks, &f, r)); break;
        default: break;
        }
    }
out:
    return rc;
}

static int read_denormaliser(spm_file *m, reader *r, hpc_arena *a)
{
    int rc = HPC_OK;
    field f;
    while ((rc = read_field(&f, r)) > 0)
        if (f.number == 2) TRY(read_bytes(&m->back_rules, &m->back_rules_n, &f, r, a));
out:
    return rc;
}

/* Room for as many pieces as there are. */
static int make_room(spm_file *m, reader r, hpc_arena *a)
{
    int rc;
    int64_t n = 0;
    field f;
    while ((rc = read_field(&f, &r)) > 0) n += f.number == 1;
    if (rc < 0) return rc;
    m->piece = hpc_arena_alloc(a, (size_t)n, sizeof *m->piece);
    return m->piece ? HPC_OK : HPC_E_NOMEM;
}

static int read_model(spm_file *m, reader *r, hpc_arena *a)
{
    int rc = HPC_OK;
    field f;
    char *texts = hpc_arena_alloc(a, (size_t)(r->end - r->at), 1);
    if (!texts) return HPC_E_NOMEM;
    TRY(make_room(m, *r, a));
    while ((rc = read_field(&f, r)) > 0) {
        if (f.number < 1 || f.number > 5) continue;
        TRY(wire_is(&f, r, 2));
        if (f.number == 1) TRY(read_piece(m, &texts, &f.bytes));
        if (f.number == 2) TRY(read_trainer(m, &f.bytes, a));
        if (f.number == 3) TRY(read_normaliser(m, &f.bytes, a));
        if (f.number == 5) TRY(read_denormaliser(m, &f.bytes, a));
    }
out:
    return rc;
}

/* ---- what we cannot do ------------------------------------------------------------------ */

static int refuse(const char *name, const char *what)
{
    return hpc_fail(HPC_E_UNSUPPORTED,
                    "%s: %s; only BPE models with blanks as prefixes are supported", name, what);
}

static int check_support(const spm_file *m, const char *name)
{
    if (m->model_type == 1) return refuse(name, "the model is of type unigram");
    if (m->model_type == 3) return refuse(name, "the model is of type word");
    if (m->model_type == 4) return refuse(name, "the model is of type char");
    if (m->model_type != 2) return refuse(name, "the model is of an unknown type");
    if (m->suffix_blanks) return refuse(name, "treat_whitespace_as_suffix is set");
    if (!m->escape_blanks) return refuse(name, "escape_whitespaces is off");
    if (m->back_rules_n > 0) return refuse(name, "it has a denormalizer");
    return HPC_OK;
}

int hpc_tokenizer_open_model(hpc_tokenizer **out, const void *data, size_t n, const char *name)
{
    int rc = HPC_OK;
    spm_file *m = NULL;
    reader r = {.at = data, .end = (const uint8_t *)data + n, .start = data, .name = name};
    hpc_tokenizer *t = hpc_alloc(1, sizeof *t);
    *out = NULL;
    if (!t) return HPC_E_NOMEM;
    t->arena = hpc_arena_create(0);
    t->index = hpc_map_create();
    if (!t->arena || !t->index) TRY(HPC_E_NOMEM);
    m = hpc_arena_alloc(t->arena, 1, sizeof *m);
    if (!m) TRY(HPC_E_NOMEM);
    if (n > FILE_MOST)
        TRY(hpc_fail(HPC_E_UNSUPPORTED, "%s: a tokenizer.model of more than 16 MiB", name));
    *m = (spm_file){.model_type = 1,
                    .dummy_prefix = true,
                    .squeeze_blanks = true,
                    .escape_blanks = true,
                    .unknown_text = " \xE2\x81\x87 ",
                    .begin = "<s>",
                    .end = "</s>",
                    .pad = "<pad>"};
    TRY(read_model(m, &r, t->arena));
    if (m->n == 0) TRY(damaged(&r, "no pieces until the end,"));
    TRY(check_support(m, name));
    t->hash = hpc_hash_wide(data, n);
    t->n = m->n;
    t->piece = m->piece;
    TRY(spm_prepare(t, m, name));
    *out = t;
    t = NULL;
out:
    hpc_tokenizer_close(t);
    return rc;
}
