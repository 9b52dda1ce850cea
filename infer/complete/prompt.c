/*
 * prompt.c: builds the prompt from a file and parts of other files, in the order of the model's
 * training. Models without marks for files get file names as comments. A text that is too long
 * loses the tokens furthest from the cursor, many at a time, so that the beginning of the prompt
 * stays the same while the user types.
 */
#include <string.h>

#include "infer/complete/priv.h"

enum {
    STEP = 64,         /* tokens that are lost at a time */
    BYTES_A_TOKEN = 6, /* at most, nearly always */
    GRID = 4096,       /* bytes: where the text that is looked at may begin */
    TYPE_UNKNOWN = 2,  /* kinds of pieces that are no text */
    TYPE_CONTROL = 3
};

/* ---- the model's marks ----------------------------------------------------------------------- */

static int add_id(hpc_ids *ids, int32_t id)
{
    int rc = hpc_grow(&ids->id, &ids->cap, ids->n + 1, sizeof *ids->id);
    if (rc >= 0) ids->id[ids->n++] = id;
    return rc;
}

/* Not all of what the model ends with need be control tokens in its file: Qwen's marks are not. */
static bool is_stop(const complete_prompter *p, int32_t id)
{
    float score;
    for (int s = 0; s < HPC_SPECIAL_N; s++)
        if (p->special[s] == id) return true;
    int type = hpc_tokenizer_piece_type(&score, p->t, id);
    return type == TYPE_CONTROL || type == TYPE_UNKNOWN;
}

static int add_stop(complete_prompter *p, int32_t id)
{
    int rc = hpc_grow(&p->stop, &p->stop_cap, p->stop_n + 1, sizeof *p->stop);
    if (rc >= 0) p->stop[p->stop_n++] = id;
    return rc;
}

static int find_stops(complete_prompter *p)
{
    int rc = HPC_OK;
    for (int32_t id = 0; id < hpc_tokenizer_n(p->t); id++)
        if (is_stop(p, id)) TRY(add_stop(p, id));
out:
    return rc;
}

int complete_prompter_stop_behind(complete_prompter *p, int64_t vocab)
{
    int rc = HPC_OK;
    for (int64_t id = hpc_tokenizer_n(p->t); id < vocab; id++) TRY(add_stop(p, (int32_t)id));
out:
    return rc;
}

/* Marks of files and repositories are used with models that were trained to fill in the middle:
 * vocabularies of others have them as well, and their models never saw them around code. */
static void forget_files(complete_prompter *p)
{
    p->special[HPC_SPECIAL_FILE] = -1;
    p->special[HPC_SPECIAL_REPOSITORY] = -1;
}

int complete_prompter_open(complete_prompter *p, const hpc_tokenizer *t)
{
    hpc_tokenizer_special special = hpc_tokenizer_specials(t);
    int rc;
    *p = (complete_prompter){.t = t, .begin = special.add_begin ? special.begin : -1};
    for (int s = 0; s < HPC_SPECIAL_N; s++)
        hpc_tokenizer_special_name(t, (hpc_special)s, &p->special[s]);
    p->order = hpc_tokenizer_fim_order(t);
    TRY(hpc_tokenizer_scratch_create(&p->scratch, t));
    TRY(find_stops(p));
    if (p->order == HPC_FIM_NONE) forget_files(p);
out:
    if (rc < 0) complete_prompter_close(p);
    return rc;
}

void complete_prompter_close(complete_prompter *p)
{
    hpc_tokenizer_scratch_free(p->scratch);
    hpc_free(p->stop);
    hpc_buf_release(&p->text);
    hpc_free(p->work.id);
    *p = (complete_prompter){0};
}

/* ---- texts that fit -------------------------------------------------------------------------- */

static int append(hpc_ids *ids, const int32_t *id, int64_t n)
{
    int rc = hpc_grow(&ids->id, &ids->cap, ids->n + n, sizeof *ids->id);
    if (rc < 0) return rc;
    if (n > 0) memcpy(ids->id + ids->n, id, (size_t)n * sizeof *id);
    ids->n += n;
    return HPC_OK;
}

static int encode(complete_prompter *p, const char *text, size_t n, unsigned flags)
{
    p->work.n = 0;
    return hpc_tokenizer_encode(&p->work, p->t, p->scratch, text, n, flags);
}

static int ends_line(bool *ends, complete_prompter *p, int32_t id)
{
    p->text.n = 0;
    int rc = hpc_tokenizer_decode(&p->text, p->t, &id, 1, true);
    *ends = rc >= 0 && p->text.n > 0 && p->text.data[p->text.n - 1] == '\n';
    return rc;
}

/* The end of a text. */
static int add_tail(hpc_ids *ids, complete_prompter *p, const char *text, size_t n, int64_t most,
                    unsigned flags)
{
    size_t window = (size_t)most * BYTES_A_TOKEN, from = 0;
    bool ends = false;
    int rc = HPC_OK;
    if (most <= 0) return HPC_OK;
    if (n > window + GRID) {
        from = complete_line_end(text, n, (n - window) / GRID * GRID) + 1;
        if (n < from || n - from < window / 2) from = n - window;
    }
    TRY(encode(p, text + from, n - from, from > 0 ? flags | HPC_ENCODE_INNER : flags));
    int64_t lost = p->work.n > most ? (p->work.n - most + STEP - 1) / STEP * STEP : 0;
    if (lost > p->work.n) lost = p->work.n - most;
    for (int64_t k = lost; lost > 0 && k < lost + STEP && k < p->work.n && !ends; k++) {
        TRY(ends_line(&ends, p, p->work.id[k - 1]));
        if (ends) lost = k;
    }
    TRY(append(ids, p->work.id + lost, p->work.n - lost));
out:
    return rc;
}

/* The beginning of one. */
static int add_head(hpc_ids *ids, complete_prompter *p, const char *text, size_t n, int64_t most)
{
    size_t window = (size_t)most * BYTES_A_TOKEN;
    int rc = encode(p, text, n < window ? n : window, HPC_ENCODE_INNER);
    return rc < 0 ? rc : append(ids, p->work.id, p->work.n < most ? p->work.n : most);
}

/* ---- other files ----------------------------------------------------------------------------- */

static const char *comment_of(hpc_language l)
{
    return l == HPC_LANGUAGE_FORTRAN ? "! " : l == HPC_LANGUAGE_NONE ? "# " : "// ";
}

/* A mark, or what stands for it in a comment, and a line. */
static int add_line(hpc_ids *ids, complete_prompter *p, hpc_special s, const char *line,
                    hpc_language l)
{
    int rc = HPC_OK;
    if (p->special[s] >= 0) TRY(add_id(ids, p->special[s]));
    hpc_buf text = {0};
    hpc_buf_printf(&text, "%s%s\n", p->special[s] >= 0 ? "" : comment_of(l), line);
    rc = text.failed ? text.failed : encode(p, text.data, text.n, HPC_ENCODE_INNER);
    hpc_buf_release(&text);
    TRY(rc);
    TRY(append(ids, p->work.id, p->work.n));
out:
    return rc;
}

static int add_snippet(hpc_ids *ids, complete_prompter *p, const hpc_complete_request *r,
                       const hpc_snippet *s)
{
    int rc;
    TRY(add_line(ids, p, HPC_SPECIAL_FILE, s->path, r->spot->language));
    TRY(encode(p, s->text, s->n, HPC_ENCODE_INNER));
    TRY(append(ids, p->work.id, p->work.n));
out:
    return rc;
}

/* As many as fit, the most telling one last; and the file's own name, if the model knows such or
 * others have been named. */
static int add_files(hpc_ids *ids, complete_prompter *p, const hpc_complete_request *r,
                     int64_t most)
{
    hpc_language l = r->spot->language;
    hpc_ids one = {0};
    int64_t used = 0, n = 0;
    int rc = HPC_OK;
    for (; n < r->snippet_n; n++) {
        one.n = 0;
        TRY(add_snippet(&one, p, r, &r->snippet[n]));
        if (used + one.n > most) break;
        used += one.n;
    }
    if (n > 0 && r->repository && p->special[HPC_SPECIAL_REPOSITORY] >= 0)
        TRY(add_line(ids, p, HPC_SPECIAL_REPOSITORY, r->repository, l));
    for (int64_t k = n - 1; k >= 0; k--) TRY(add_snippet(ids, p, r, &r->snippet[k]));
    if (r->path && (p->special[HPC_SPECIAL_FILE] >= 0 || n > 0))
        TRY(add_line(ids, p, HPC_SPECIAL_FILE, r->path, l));
out:
    hpc_free(one.id);
    return rc;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Before the place: other files where they are comments, and the file. */
static int add_before(hpc_ids *ids, complete_prompter *p, const hpc_complete_request *r,
                      const hpc_ids *files, int64_t most, bool begins)
{
    const hpc_spot *d = r->spot;
    bool inside = p->special[HPC_SPECIAL_FILE] < 0 && files->n > 0;
    int64_t before;
    int rc = HPC_OK;
    if (inside) TRY(append(ids, files->id, files->n));
    before = ids->n + 1; /* one token is left: there are texts that have no others */
    TRY(add_tail(ids, p, d->text.data, d->at, most, begins && !inside ? 0 : HPC_ENCODE_INNER));
    if (p->vocabulary && ids->n > before)
        ids->n -= complete_heal(&p->owed, p->vocabulary, d->text.data, d->at, ids->id + before,
                                ids->n - before);
out:
    return rc;
}

/* A mark; nothing if the model has none. */
static int add_mark(hpc_ids *ids, const complete_prompter *p, hpc_special s)
{
    return p->special[s] < 0 ? HPC_OK : add_id(ids, p->special[s]);
}

/* The text before and after the cursor, with marks, in the model's order. */
static int add_around(hpc_ids *ids, complete_prompter *p, const hpc_complete_request *r,
                      const hpc_ids *files, const hpc_ids *behind, int64_t left)
{
    const hpc_special after = HPC_SPECIAL_FIM_SUFFIX, before = HPC_SPECIAL_FIM_PREFIX;
    int rc = HPC_OK;
    if (p->order != HPC_FIM_SUFFIX_FIRST) TRY(add_mark(ids, p, before));
    if (p->order == HPC_FIM_PREFIX_FIRST) TRY(add_before(ids, p, r, files, left, true));
    TRY(add_mark(ids, p, after));
    TRY(append(ids, behind->id, behind->n));
    if (p->order == HPC_FIM_SUFFIX_FIRST) {
        TRY(add_mark(ids, p, before));
        TRY(add_before(ids, p, r, files, left, true));
    }
    TRY(add_mark(ids, p, HPC_SPECIAL_FIM_MIDDLE));
    if (p->order == HPC_FIM_MIDDLE_LAST) TRY(add_before(ids, p, r, files, left, true));
out:
    return rc;
}

static int raw_prompt(hpc_ids *ids, complete_prompter *p, const hpc_spot *d, int64_t most)
{
    int rc = HPC_OK;
    if (p->begin >= 0) TRY(add_id(ids, p->begin));
    TRY(add_tail(ids, p, d->text.data, d->at, most - ids->n, 0));
out:
    return rc;
}

/* Other files and what follows get a quarter each at most, and the rest is for what comes before.
 */
int complete_prompt(hpc_ids *ids, complete_prompter *p, const hpc_complete_request *r, int64_t most)
{
    const hpc_spot *d = r->spot;
    const char *suffix = d->text.data + d->at;
    size_t suffix_n = d->text.n - d->at;
    bool fills = p->order != HPC_FIM_NONE && !complete_is_blank(suffix, suffix_n);
    bool named = p->special[HPC_SPECIAL_FILE] >= 0;
    hpc_ids files = {0}, behind = {0};
    int rc = HPC_OK;
    ids->n = 0;
    p->owed = 0;
    if (r->raw) return raw_prompt(ids, p, d, most);
    most -= fills ? 4 : 1; /* the marks, and where a text begins */
    TRY(add_files(&files, p, r, most / 4));
    if (fills) TRY(add_head(&behind, p, suffix, suffix_n, (most - files.n) / 4));
    int64_t left = most - files.n - behind.n;
    if (p->begin >= 0) TRY(add_id(ids, p->begin));
    if (named) TRY(append(ids, files.id, files.n));
    if (!fills)
        TRY(add_before(ids, p, r, &files, left, !named || files.n == 0));
    else
        TRY(add_around(ids, p, r, &files, &behind, left));
out:
    hpc_free(files.id);
    hpc_free(behind.id);
    return rc;
}
