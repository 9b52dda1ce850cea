/*
 * checkpoint.c: the record of a checkpoint, loading the newest intact one, and removing old ones.
 *
 * checkpoint_write.c saves. Values are stored by logical name and range, never by rank, so a run
 * on another grid can load them.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/checkpoint_priv.h"
#include "train/plan.h"

enum { VERSION = 3 }; /* 1: one file; 2: also many files; 3: also with a base model */

int checkpoint_path(char out[CHECKPOINT_PATH], const char *folder, const char *name)
{
    int n = snprintf(out, CHECKPOINT_PATH, "%s/%s", folder, name);
    return n < CHECKPOINT_PATH ? HPC_OK : hpc_fail(HPC_E_ARG, "%s: the path is too long", folder);
}

void checkpoint_name(char out[CHECKPOINT_NAME], int64_t step, const char *ending)
{
    snprintf(out, CHECKPOINT_NAME, "step-%08lld.%s", (long long)step, ending);
}

/* ---- hashes -----------------------------------------------------------------------------------
 */

void checkpoint_hash_text(char out[CHECKPOINT_HASH], hpc_hash128 h)
{
    snprintf(out, CHECKPOINT_HASH, "%016" PRIx64 "%016" PRIx64, h.high, h.low);
}

int checkpoint_hash_file(char out[CHECKPOINT_HASH], const char *path)
{
    hpc_file_view v = {0};
    int rc = hpc_file_open(&v, path);
    if (rc < 0) return rc;
    checkpoint_hash_text(out, hpc_hash_wide(v.data, v.bytes));
    hpc_file_close(&v);
    return HPC_OK;
}

int checkpoint_hash_read(hpc_hash128 *out, const char *text)
{
    if (strlen(text) != CHECKPOINT_HASH - 1 || text[strspn(text, "0123456789abcdef")] != '\0')
        return hpc_fail(HPC_E_FORMAT, "hash: '%.40s' is invalid", text);
    char high[17];
    memcpy(high, text, 16);
    high[16] = '\0';
    out->high = strtoull(high, NULL, 16);
    out->low = strtoull(text + 16, NULL, 16);
    return HPC_OK;
}

/* ---- the record -------------------------------------------------------------------------------
 */

static void put_loader(hpc_json_out *w, const hpc_loader_state *s)
{
    int64_t n = HPC_LOADER_SOURCES;
    while (n > 0 && s->taken[n - 1] == 0) n--;
    hpc_json_put_int(w, "rows", s->rows);
    hpc_json_open(w, "taken", '[');
    for (int64_t k = 0; k < n; k++) hpc_json_put_int(w, NULL, s->taken[k]);
    hpc_json_close(w, ']');
}

/* Reals as hexadecimal text: a resumed run continues with the same bits. */
static void put_exact(hpc_json_out *w, const char *key, double x)
{
    char text[40];
    snprintf(text, sizeof text, "%a", x);
    hpc_json_put_text(w, key, text);
}

static void put_row(hpc_json_out *w, const hpc_metrics_row *row)
{
    hpc_json_open(w, "owed", '[');
    for (int m = 0; m < HPC_METRIC_N; m++) {
        if (row->absent[m])
            hpc_json_put_text(w, NULL, "");
        else
            put_exact(w, NULL, row->value[m]);
    }
    hpc_json_close(w, ']');
}

/* Writes the model's configuration, for `hpccoder export`. */
static int put_model(hpc_json_out *w, const hpc_model_config *c)
{
    hpc_buf text = {0};
    hpc_json *root = NULL;
    int rc;
    TRY(hpc_model_config_write(&text, c));
    TRY(hpc_json_parse(&root, text.data, text.n, "model"));
    hpc_json_put(w, "model", root);
    hpc_json_open(w, "adapter", '{');
    hpc_json_put_int(w, "rank", c->adapter.rank);
    put_exact(w, "alpha", c->adapter.alpha);
    hpc_json_put_int(w, "targets", c->adapter.targets);
    hpc_json_open(w, "tokens", '[');
    for (int64_t k = 0; k < c->adapter.token_n; k++) hpc_json_put_int(w, NULL, c->adapter.token[k]);
    hpc_json_close(w, ']');
    hpc_json_close(w, '}');
out:
    hpc_json_free(root);
    hpc_buf_release(&text);
    return rc;
}

static void put_pruning(hpc_json_out *w, const hpc_checkpoint *c)
{
    hpc_json_open(w, "prune", '{');
    put_exact(w, "sparsity", c->sparsity);
    hpc_json_put_int(w, "masks", c->masks->mask_n);
    hpc_json_put_int(w, "agreed", c->agreed);
    hpc_json_put_bool(w, "frozen", c->frozen);
    hpc_json_close(w, '}');
}

int checkpoint_record_put(hpc_buf *out, const hpc_checkpoint *c, const hpc_trainer *t,
                          const char *hash, const char *index)
{
    hpc_json_out w = {.buf = out, .indent = 2};
    char run[20];
    snprintf(run, sizeof run, "%016" PRIx64, c->run);
    hpc_json_open(&w, NULL, '{');
    hpc_json_put_text(&w, "format", "hpccoder-checkpoint");
    hpc_json_put_int(&w, "version", checkpoint_needs_base(t) ? VERSION : index ? 2 : 1);
    hpc_json_put_text(&w, "hash", hash);
    if (index) hpc_json_put_text(&w, "index", index);
    hpc_json_put_text(&w, "run", run);
    hpc_json_put_int(&w, "step", c->step);
    hpc_json_put_int(&w, "tokens", c->tokens);
    put_loader(&w, &c->loader);
    put_exact(&w, "norm_average", c->norm_average);
    put_exact(&w, "best", c->best);
    hpc_json_put_int(&w, "best_step", c->best_step);
    put_exact(&w, "seconds", c->seconds);
    if (c->owed) put_row(&w, &c->row);
    if (c->masks) put_pruning(&w, c);
    checkpoint_base_put(&w, t);
    /* A model that config.json cannot express is still saved; exporting it reports the error. */
    int rc = put_model(&w, &t->o.model);
    if (rc == HPC_E_NOMEM) return rc;
    if (rc < 0) hpc_error_clear();
    w.indent = 0;
    hpc_plan_put(&w, "plan", t->value);
    hpc_json_close(&w, '}');
    hpc_buf_text(out, "\n");
    return out->failed;
}

/* ---- reading it --------------------------------------------------------------------------------
 */

static int parse_exact(double *out, const char *text, const char *key)
{
    char *end;
    *out = strtod(text, &end);
    return end != text && *end == '\0'
               ? HPC_OK
               : hpc_fail(HPC_E_FORMAT, "%s: '%s' is not a number", key, text);
}

static int get_exact(double *out, const hpc_json *o, const char *key)
{
    const char *text;
    int rc = hpc_json_text(&text, hpc_json_get(o, key), key);
    return rc < 0 ? rc : parse_exact(out, text, key);
}

static int get_row(hpc_metrics_row *row, const hpc_json *list)
{
    const char *text;
    int rc = HPC_OK;
    /* Those that came later are missing where an older program saved. */
    int64_t n = hpc_json_n(list);
    if (n > HPC_METRIC_N) TRY(hpc_fail(HPC_E_FORMAT, "owed: %lld numbers", (long long)n));
    for (int m = 0; m < HPC_METRIC_N; m++) row->absent[m] = m >= n;
    for (int m = 0; m < n; m++) {
        TRY(hpc_json_text(&text, hpc_json_at(list, m), "owed"));
        row->absent[m] = *text == '\0';
        if (!row->absent[m]) TRY(parse_exact(&row->value[m], text, "owed"));
    }
out:
    return rc;
}

static int get_loader(hpc_loader_state *s, const hpc_json *o)
{
    const hpc_json *taken = hpc_json_get(o, "taken");
    int64_t n = hpc_json_n(taken);
    int rc;
    TRY(hpc_json_int(&s->rows, hpc_json_get(o, "rows"), "rows"));
    if (n > HPC_LOADER_SOURCES) TRY(hpc_fail(HPC_E_FORMAT, "taken: %lld numbers", (long long)n));
    for (int64_t k = 0; k < n; k++) TRY(hpc_json_int(&s->taken[k], hpc_json_at(taken, k), "taken"));
out:
    return rc;
}

static int get_pruning(hpc_checkpoint *c, const hpc_json *o)
{
    int rc = HPC_OK;
    if (!o) return rc;
    TRY(get_exact(&c->sparsity, o, "sparsity"));
    TRY(hpc_json_int(&c->agreed, hpc_json_get(o, "agreed"), "agreed"));
    TRY(hpc_json_bool(&c->frozen, hpc_json_get(o, "frozen"), "frozen"));
out:
    return rc;
}

static int get_checkpoint(hpc_checkpoint *c, const hpc_json *o)
{
    const char *run;
    int64_t version;
    int rc;
    TRY(hpc_json_int(&version, hpc_json_get(o, "version"), "version"));
    if (version > VERSION)
        TRY(hpc_fail(HPC_E_UNSUPPORTED,
                     "version %lld; this program knows up to %d: use a newer one",
                     (long long)version, VERSION));
    if (hpc_json_get(o, "run")) {
        TRY(hpc_json_text(&run, hpc_json_get(o, "run"), "run"));
        c->run = strtoull(run, NULL, 16);
    }
    TRY(hpc_json_int(&c->step, hpc_json_get(o, "step"), "step"));
    TRY(hpc_json_int(&c->tokens, hpc_json_get(o, "tokens"), "tokens"));
    TRY(get_loader(&c->loader, o));
    TRY(get_exact(&c->norm_average, o, "norm_average"));
    TRY(get_exact(&c->best, o, "best"));
    TRY(hpc_json_int(&c->best_step, hpc_json_get(o, "best_step"), "best_step"));
    TRY(get_exact(&c->seconds, o, "seconds"));
    c->owed = hpc_json_get(o, "owed") != NULL;
    if (c->owed) TRY(get_row(&c->row, hpc_json_get(o, "owed")));
    TRY(get_pruning(c, hpc_json_get(o, "prune")));
out:
    return rc;
}

int checkpoint_record_read(hpc_json **root, hpc_checkpoint *c, const char *folder, int64_t step)
{
    char path[CHECKPOINT_PATH], name[CHECKPOINT_NAME];
    int rc;
    *root = NULL;
    *c = (hpc_checkpoint){0};
    checkpoint_name(name, step, "json");
    TRY(checkpoint_path(path, folder, name));
    TRY(hpc_json_read(root, path));
    rc = get_checkpoint(c, *root);
    if (rc < 0) {
        hpc_error_where("%s", path);
        goto out;
    }
    if (c->step != step)
        TRY(hpc_fail(HPC_E_FORMAT, "%s: says step %lld", path, (long long)c->step));
out:
    return rc;
}

/* ---- loading ----------------------------------------------------------------------------------
 */

static bool same_shape(const hpc_stored_tensor *s, const hpc_type *t)
{
    if (s->rank != t->rank || s->dtype != (hpc_dtype)t->dtype) return false;
    return memcmp(s->extent, t->extent, (size_t)t->rank * sizeof *t->extent) == 0;
}

static int check_shapes(const checkpoint_state *s, const hpc_trainer *t)
{
    int64_t n = checkpoint_state_masks(s);
    int rc = HPC_OK;
    for (hpc_value v = 0; v < t->p->value_n; v++) {
        const hpc_value_info *info = &t->p->value[v];
        hpc_stored_tensor x;
        char want[128];
        if (!trainer_stores(t, v)) continue;
        n++;
        if (!checkpoint_state_find(&x, s, info->name))
            return hpc_fail(HPC_E_SHAPE, "it has no %s: it belongs to another model or optimizer",
                            info->name);
        if (!same_shape(&x, &t->whole[v]))
            TRY(hpc_fail(HPC_E_SHAPE, "its %s is %s of rank %d, this run's is %s", info->name,
                         hpc_dtype_get(x.dtype)->name, x.rank, hpc_type_text(want, &t->whole[v])));
    }
    if (n != checkpoint_state_n(s))
        TRY(hpc_fail(HPC_E_SHAPE,
                     "it has %lld values of state, this run has %lld: it belongs to another model "
                     "or optimizer",
                     (long long)checkpoint_state_n(s), (long long)n));
out:
    return rc;
}

static int load_value(hpc_trainer *t, checkpoint_state *s, hpc_value v)
{
    const hpc_type type = trainer_tile(t, v);
    int64_t first[HPC_RANK_MAX];
    int rc;
    if (t->p->value[v].absent) return HPC_OK;
    uint8_t *tile = hpc_alloc(hpc_type_bytes(&type) + 1, 1);
    if (!tile) return HPC_E_NOMEM;
    trainer_first(first, t, v);
    TRY(checkpoint_state_read(tile, s, t->p->value[v].name, first, type.extent));
    TRY(trainer_put_tile(t, v, tile));
out:
    hpc_free(tile);
    return rc;
}

static int load_state(hpc_trainer *t, checkpoint_state *s)
{
    int rc = check_shapes(s, t);
    for (hpc_value v = 0; v < t->p->value_n && rc >= 0; v++)
        if (trainer_stores(t, v)) rc = load_value(t, s, v);
    return rc;
}

/* What the checkpoint leaves to the base model, the trainer has read from there. */
static int check_base(hpc_trainer *t, const hpc_json *record)
{
    checkpoint_base b;
    int rc = checkpoint_base_read(&b, record);
    if (rc < 0) return rc;
    t->stores_base = b.path == NULL;
    if (!b.path || t->o.model.adapter.rank == 0) return HPC_OK;
    return checkpoint_base_compare(&b, t->o.init ? t->o.init : "", t->base_hash, "--init");
}

static int load_one(hpc_checkpoint *c, hpc_trainer *t, const char *folder, int64_t step)
{
    checkpoint_state *s = NULL;
    hpc_json *root = NULL;
    int rc;
    TRY(checkpoint_record_read(&root, c, folder, step));
    TRY(check_base(t, root));
    TRY(checkpoint_state_open(&s, folder, step, root));
    if (c->frozen != (t->o.masks != NULL)) {
        TRY(checkpoint_state_check(s)); /* a damaged one is skipped, pruned or not */
        rc = hpc_fail(HPC_E_SHAPE, "it is %s, this trainer is %s",
                      c->frozen ? "pruned" : "not pruned", c->frozen ? "not" : "pruned");
    } else {
        rc = load_state(t, s);
    }
    if (rc == HPC_E_SHAPE) hpc_error_where("%s, step %lld", folder, (long long)step);
out:
    checkpoint_state_close(s);
    hpc_json_free(root);
    return rc;
}

int checkpoint_steps(int64_t **out, int64_t *n, const char *folder, const char *ending)
{
    hpc_buf names = {0};
    int64_t files = 0;
    int rc = HPC_OK;
    *n = 0;
    *out = NULL;
    if (!hpc_file_exists(folder)) return HPC_OK;
    TRY(hpc_file_list(&names, &files, folder));
    *out = hpc_alloc((size_t)files + 1, sizeof **out);
    if (!*out) TRY(HPC_E_NOMEM);
    const char *name = names.data;
    for (int64_t k = 0; k < files; k++, name += strlen(name) + 1) {
        long long step;
        char want[64];
        if (sscanf(name, "step-%lld.", &step) != 1) continue;
        snprintf(want, sizeof want, "step-%08lld.%s", step, ending);
        if (strcmp(name, want) == 0) (*out)[(*n)++] = step;
    }
out:
    hpc_buf_release(&names);
    return rc;
}

int hpc_checkpoint_newest(int64_t *step, const char *folder)
{
    int64_t *list = NULL, n = 0;
    int rc = checkpoint_steps(&list, &n, folder, "json");
    *step = rc == HPC_OK && n > 0 ? list[n - 1] : -1;
    hpc_free(list);
    return rc;
}

/* The steps that the first rank sees: the others try the same. */
static int next_step(int64_t *step, const hpc_trainer *t, const int64_t *list, int64_t k)
{
    *step = trainer_leads(t) && k >= 0 ? list[k] : -1;
    return trainer_tell(t, step);
}

static void say_passed(int64_t step, void (*say)(const char *line, void *user), void *user)
{
    char line[700];
    snprintf(line, sizeof line, "checkpoint of step %lld is damaged (%s): skipping it",
             (long long)step, hpc_error_get()->text);
    say(line, user);
}

int hpc_checkpoint_load(hpc_checkpoint *c, bool *found, hpc_trainer *t, const char *folder,
                        void (*say)(const char *line, void *user), void *user)
{
    int64_t *list = NULL, n = 0, step, tried = 0;
    char first[256] = "";
    int rc;
    *found = false;
    TRY(trainer_agree(t, checkpoint_steps(&list, &n, folder, "json")));
    for (;;) {
        TRY(next_step(&step, t, list, n - 1 - tried));
        if (step < 0) break;
        rc = trainer_agree(t, load_one(c, t, folder, step));
        *found = rc >= 0;
        if (*found) break;
        /* Only damage is skipped; another model or lack of memory is an error. */
        if (rc != HPC_E_FORMAT && rc != HPC_E_IO) goto out;
        if (tried++ == 0) snprintf(first, sizeof first, "%.255s", hpc_error_get()->text);
        if (trainer_leads(t) && tried < n) say_passed(step, say, user);
        hpc_error_clear();
    }
    rc = HPC_OK;
    if (*found)
        rc = trainer_written(t);
    else if (tried > 0)
        rc = hpc_fail(HPC_E_FORMAT, "%s: all of its %lld checkpoints are damaged (%s)", folder,
                      (long long)tried, first);
out:
    hpc_free(list);
    return rc;
}

int hpc_checkpoint_load_step(hpc_checkpoint *c, hpc_trainer *t, const char *folder, int64_t step)
{
    int rc = trainer_agree(t, load_one(c, t, folder, step));
    return rc < 0 ? rc : trainer_written(t);
}

/* ---- removing ---------------------------------------------------------------------------------
 */

static int remove_named(const char *folder, const char *name)
{
    char path[CHECKPOINT_PATH];
    int rc = checkpoint_path(path, folder, name);
    return rc < 0 ? rc : hpc_file_remove(path);
}

/* Parses a checkpoint file's name: its step, and the rest of the name; NULL: not a
 * checkpoint file. */
static const char *ending_of(long long *step, const char *name)
{
    char want[CHECKPOINT_NAME];
    if (sscanf(name, "step-%lld.", step) != 1) return NULL;
    int n = snprintf(want, sizeof want, "step-%08lld.", *step);
    return strncmp(name, want, (size_t)n) == 0 ? name + n : NULL;
}

/* Prefix, after the step, of the data files of a valid checkpoint: "safetensors" or "SAVE."; "" if
 * its record cannot be read. */
static void head_of(char out[CHECKPOINT_NAME], const char *folder, int64_t step)
{
    hpc_checkpoint c;
    hpc_json *root = NULL;
    const char *index = NULL, *end;
    long long same;
    out[0] = '\0';
    if (checkpoint_record_read(&root, &c, folder, step) >= 0) {
        snprintf(out, CHECKPOINT_NAME, "safetensors");
        if (hpc_json_get(root, "index")) hpc_json_text(&index, hpc_json_get(root, "index"), "");
    }
    if (index && (end = ending_of(&same, index)))
        snprintf(out, CHECKPOINT_NAME, "%.*s", (int)(strcspn(end, ".") + 1), end);
    hpc_json_free(root);
    hpc_error_clear();
}

static bool is_listed(const int64_t *list, int64_t n, int64_t step)
{
    for (int64_t k = 0; k < n; k++)
        if (list[k] == step) return true;
    return false;
}

/* Removes data without a record, left by a killed process, and data of a saving that a later saving
 * of the same step replaced. */
static int remove_orphans(const char *folder, const int64_t *whole, int64_t whole_n)
{
    hpc_buf names = {0};
    char head[CHECKPOINT_NAME] = "";
    long long step, known = -1;
    int64_t n = 0;
    int rc;
    TRY(hpc_file_list(&names, &n, folder));
    const char *name = names.data;
    for (int64_t k = 0; k < n; k++, name += strlen(name) + 1) {
        const char *end = ending_of(&step, name);
        if (!end || strcmp(end, "json") == 0) continue;
        bool kept = is_listed(whole, whole_n, step);
        if (kept && step != known) head_of(head, folder, known = step);
        if (!kept || (head[0] && strncmp(end, head, strlen(head)) != 0))
            TRY(remove_named(folder, name));
    }
out:
    hpc_buf_release(&names);
    return rc;
}

/* Removes the record first, so that a kill leaves no incomplete checkpoint. */
int hpc_checkpoint_prune(const char *folder, int64_t keep, int64_t newest)
{
    int64_t *step = NULL, n = 0, ours = 0, gone = 0;
    char name[CHECKPOINT_NAME];
    int rc;
    TRY(checkpoint_steps(&step, &n, folder, "json"));
    while (step && ours < n && step[ours] <= newest) ours++;
    for (; step && keep > 0 && gone + keep < ours; gone++) {
        checkpoint_name(name, step[gone], "json");
        TRY(remove_named(folder, name));
    }
    if (step) TRY(remove_orphans(folder, step + gone, n - gone));
    if (hpc_file_exists(folder)) TRY(hpc_file_sweep(folder));
out:
    hpc_free(step);
    return rc;
}
