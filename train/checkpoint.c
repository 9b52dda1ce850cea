/*
 * checkpoint.c: all state of a trainer on disk, whole or not at all.
 *
 * Values are stored by logical name, whole; a run on another number of ranks
 * finds them by it.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/run_priv.h"

enum { VERSION = 1, PATH = 4096, TEXT_MOST = 1 << 20 };

static int path_of(char out[PATH], const char *folder, int64_t step, const char *ending)
{
    int n = snprintf(out, PATH, "%s/step-%08lld.%s", folder, (long long)step, ending);
    return n < PATH ? HPC_OK : hpc_fail(HPC_E_ARG, "%s: the path is too long", folder);
}

/* ---- saving --------------------------------------------------------------------------------- */

typedef struct saving {
    const hpc_trainer *t;
    hpc_value *value; /* by position in the list */
    void *room;
} saving;

static int list_state(hpc_stored_tensor **out, hpc_value **value, int64_t *n, size_t *most,
                      const hpc_trainer *t)
{
    const hpc_program *p = t->p;
    *n = 0;
    *out = hpc_alloc((size_t)p->value_n + 1, sizeof **out);
    *value = hpc_alloc((size_t)p->value_n + 1, sizeof **value);
    if (!*out || !*value) return HPC_E_NOMEM;
    for (hpc_value v = 0; v < p->value_n; v++) {
        if (!trainer_keeps(t, v)) continue;
        const hpc_type *type = &t->whole[v];
        hpc_stored_tensor *s = &(*out)[*n];
        s->name = p->value[v].name;
        s->dtype = (hpc_dtype)type->dtype;
        s->rank = type->rank;
        memcpy(s->extent, type->extent, sizeof type->extent);
        s->bytes = hpc_type_bytes(type);
        if (s->bytes > *most) *most = s->bytes;
        (*value)[(*n)++] = v;
    }
    return HPC_OK;
}

static int write_value(hpc_file_writer *w, int64_t i, void *user)
{
    saving *s = user;
    hpc_value v = s->value[i];
    size_t bytes = hpc_type_bytes(&s->t->whole[v]);
    int rc = trainer_fetch(s->room, s->t, v);
    return rc < 0 ? rc : hpc_file_write(w, s->room, bytes);
}

static int save_state(const hpc_trainer *t, const char *path)
{
    static const char *const metadata[] = {"format", "hpccoder-checkpoint", NULL};
    saving s = {.t = t};
    hpc_stored_tensor *list = NULL;
    int64_t n = 0;
    size_t most = 1;
    int rc;
    TRY(list_state(&list, &s.value, &n, &most, t));
    s.room = hpc_alloc(most, 1);
    if (!s.room) TRY(HPC_E_NOMEM);
    TRY(hpc_safetensors_save(path, list, n, metadata, write_value, &s));
out:
    hpc_free(list);
    hpc_free(s.value);
    hpc_free(s.room);
    return rc;
}

static int hash_of(char out[33], const char *path)
{
    hpc_file_view v = {0};
    int rc = hpc_file_open(&v, path);
    if (rc < 0) return rc;
    hpc_hash128 h = hpc_hash_wide(v.data, v.bytes);
    hpc_file_close(&v);
    snprintf(out, 33, "%016" PRIx64 "%016" PRIx64, h.high, h.low);
    return HPC_OK;
}

static void put_loader(hpc_json_out *w, const hpc_loader_state *s)
{
    int64_t n = HPC_LOADER_SOURCES;
    while (n > 0 && s->taken[n - 1] == 0) n--;
    hpc_json_put_int(w, "rows", s->rows);
    hpc_json_open(w, "taken", '[');
    for (int64_t k = 0; k < n; k++) hpc_json_put_int(w, NULL, s->taken[k]);
    hpc_json_close(w, ']');
}

/* Reals as text of all their bits: a run goes on exactly where it was. */
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

static void put_checkpoint(hpc_buf *out, const hpc_checkpoint *c, const char *hash)
{
    hpc_json_out w = {.buf = out, .indent = 2};
    hpc_json_open(&w, NULL, '{');
    hpc_json_put_text(&w, "format", "hpccoder-checkpoint");
    hpc_json_put_int(&w, "version", VERSION);
    hpc_json_put_text(&w, "hash", hash);
    hpc_json_put_int(&w, "step", c->step);
    hpc_json_put_int(&w, "tokens", c->tokens);
    put_loader(&w, &c->loader);
    put_exact(&w, "norm_average", c->norm_average);
    put_exact(&w, "best", c->best);
    hpc_json_put_int(&w, "best_step", c->best_step);
    put_exact(&w, "seconds", c->seconds);
    if (c->owed) put_row(&w, &c->row);
    hpc_json_close(&w, '}');
    hpc_buf_text(out, "\n");
}

int hpc_checkpoint_save(const hpc_trainer *t, const char *folder, const hpc_checkpoint *c)
{
    char data[PATH], about[PATH], hash[33];
    hpc_buf text = {0};
    int rc;
    TRY(path_of(data, folder, c->step, "safetensors"));
    TRY(path_of(about, folder, c->step, "json"));
    if (!trainer_leads(t)) return trainer_attend(t);
    TRY(hpc_file_mkdir(folder));
    TRY(save_state(t, data));
    TRY(trainer_dismiss(t));
    TRY(hash_of(hash, data));
    put_checkpoint(&text, c, hash);
    TRY(text.failed);
    TRY(hpc_file_save(about, text.data, text.n));
out:
    hpc_buf_release(&text);
    return rc;
}

/* ---- loading -------------------------------------------------------------------------------- */

static int parse_exact(double *out, const char *text, const char *key)
{
    char *end;
    *out = strtod(text, &end);
    return end != text && *end == '\0' ? HPC_OK
                                       : hpc_fail(HPC_E_FORMAT, "%s: '%s' is no number", key, text);
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
    if (hpc_json_n(list) != HPC_METRIC_N)
        TRY(hpc_fail(HPC_E_FORMAT, "owed: %lld numbers", (long long)hpc_json_n(list)));
    for (int m = 0; m < HPC_METRIC_N; m++) {
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

static int get_checkpoint(hpc_checkpoint *c, const char **hash, const hpc_json *o)
{
    int64_t version;
    int rc;
    TRY(hpc_json_int(&version, hpc_json_get(o, "version"), "version"));
    if (version > VERSION)
        TRY(hpc_fail(HPC_E_UNSUPPORTED,
                     "version %lld; this program knows up to %d: use a newer one",
                     (long long)version, VERSION));
    TRY(hpc_json_text(hash, hpc_json_get(o, "hash"), "hash"));
    TRY(hpc_json_int(&c->step, hpc_json_get(o, "step"), "step"));
    TRY(hpc_json_int(&c->tokens, hpc_json_get(o, "tokens"), "tokens"));
    TRY(get_loader(&c->loader, o));
    TRY(get_exact(&c->norm_average, o, "norm_average"));
    TRY(get_exact(&c->best, o, "best"));
    TRY(hpc_json_int(&c->best_step, hpc_json_get(o, "best_step"), "best_step"));
    TRY(get_exact(&c->seconds, o, "seconds"));
    c->owed = hpc_json_get(o, "owed") != NULL;
    if (c->owed) TRY(get_row(&c->row, hpc_json_get(o, "owed")));
out:
    return rc;
}

static bool same_shape(const hpc_stored_tensor *s, const hpc_type *t)
{
    if (s->rank != t->rank || s->dtype != (hpc_dtype)t->dtype) return false;
    return memcmp(s->extent, t->extent, (size_t)t->rank * sizeof *t->extent) == 0;
}

static int check_shapes(const hpc_safetensors *s, const hpc_trainer *t)
{
    int64_t n = 0;
    int rc = HPC_OK;
    for (hpc_value v = 0; v < t->p->value_n; v++) {
        const hpc_value_info *info = &t->p->value[v];
        hpc_stored_tensor x;
        char want[128];
        if (!trainer_keeps(t, v)) continue;
        n++;
        if (hpc_safetensors_find(&x, s, info->name) < 0) {
            hpc_error_clear();
            return hpc_fail(HPC_E_SHAPE, "it has no %s: it is of another model or optimizer",
                            info->name);
        }
        if (!same_shape(&x, &t->whole[v]))
            TRY(hpc_fail(HPC_E_SHAPE, "its %s is %s of rank %d, this run's is %s", info->name,
                         hpc_dtype_get(x.dtype)->name, x.rank, hpc_type_text(want, &t->whole[v])));
    }
    if (n != hpc_safetensors_n(s))
        TRY(hpc_fail(HPC_E_SHAPE,
                     "it has %lld values of state, this run has %lld: it is of another "
                     "model or optimizer",
                     (long long)hpc_safetensors_n(s), (long long)n));
out:
    return rc;
}

static int load_value(hpc_trainer *t, const hpc_safetensors *s, hpc_value v)
{
    const hpc_type *type = &t->p->value[v].type;
    size_t bytes = hpc_type_bytes(type);
    hpc_stored_tensor x;
    int rc = hpc_safetensors_find(&x, s, t->p->value[v].name);
    if (rc < 0) return rc;
    if (x.bytes == bytes) return hpc_exec_write(t->exec, 0, v, x.data, bytes);
    void *tile = hpc_alloc(bytes ? bytes : 1, 1);
    if (!tile) return HPC_E_NOMEM;
    trainer_cut(tile, t, v, x.data, hpc_dtype_get((hpc_dtype)type->dtype)->block_bytes);
    rc = hpc_exec_write(t->exec, 0, v, tile, bytes);
    hpc_free(tile);
    return rc;
}

static int load_state(hpc_trainer *t, const char *path, const char *hash)
{
    hpc_safetensors *s = NULL;
    char seen[33];
    int rc;
    TRY(hash_of(seen, path));
    if (strcmp(seen, hash) != 0)
        TRY(hpc_fail(HPC_E_FORMAT, "%s: its content is not what was saved", path));
    TRY(hpc_safetensors_open(&s, path));
    TRY(check_shapes(s, t));
    for (hpc_value v = 0; v < t->p->value_n; v++)
        if (trainer_keeps(t, v)) TRY(load_value(t, s, v));
    TRY(trainer_written(t));
out:
    hpc_safetensors_close(s);
    return rc;
}

static int load_one(hpc_checkpoint *c, hpc_trainer *t, const char *folder, int64_t step)
{
    char data[PATH], about[PATH];
    hpc_json *root = NULL;
    const char *hash;
    int rc;
    *c = (hpc_checkpoint){0};
    TRY(path_of(data, folder, step, "safetensors"));
    TRY(path_of(about, folder, step, "json"));
    TRY(hpc_json_read(&root, about));
    rc = get_checkpoint(c, &hash, root);
    if (rc < 0) {
        hpc_error_where("%s", about);
        goto out;
    }
    if (c->step != step)
        TRY(hpc_fail(HPC_E_FORMAT, "%s: says step %lld", about, (long long)c->step));
    rc = load_state(t, data, hash);
    if (rc == HPC_E_SHAPE) hpc_error_where("%s", data);
out:
    hpc_json_free(root);
    return rc;
}

/* Steps of the folder's files step-N.ENDING, ascending. */
static int list_steps(int64_t **out, int64_t *n, const char *folder, const char *ending)
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
    int rc = list_steps(&list, &n, folder, "json");
    *step = rc == HPC_OK && n > 0 ? list[n - 1] : -1;
    hpc_free(list);
    return rc;
}

int hpc_checkpoint_load(hpc_checkpoint *c, bool *found, hpc_trainer *t, const char *folder,
                        void (*say)(const char *line, void *user), void *user)
{
    int64_t *step = NULL, n = 0, k;
    int rc;
    *found = false;
    TRY(list_steps(&step, &n, folder, "json"));
    for (k = n - 1; k >= 0 && !*found; k--) {
        rc = load_one(c, t, folder, step[k]);
        *found = rc >= 0;
        if (*found) break;
        /* Another model is the user's mistake, and no memory ours: only damage is passed over. */
        if (rc != HPC_E_FORMAT && rc != HPC_E_IO) goto out;
        char line[700];
        snprintf(line, sizeof line, "checkpoint of step %lld is damaged (%s): passed over",
                 (long long)step[k], hpc_error_get()->text);
        say(line, user);
        hpc_error_clear();
    }
    rc = HPC_OK;
    if (n > 0 && !*found)
        rc = hpc_fail(HPC_E_FORMAT, "%s: none of its %lld checkpoints is whole", folder,
                      (long long)n);
out:
    hpc_free(step);
    return rc;
}

static int remove_step(const char *folder, int64_t step, const char *ending)
{
    char path[PATH];
    int rc = path_of(path, folder, step, ending);
    return rc < 0 ? rc : hpc_file_remove(path);
}

/* Data without a description is what a kill left behind, unless it is being written. */
static int remove_orphans(const char *folder, const int64_t *whole, int64_t whole_n)
{
    int64_t *step = NULL, n = 0, k = 0;
    int rc;
    TRY(list_steps(&step, &n, folder, "safetensors"));
    for (int64_t i = 0; step && i < n; i++) {
        while (k < whole_n && whole[k] < step[i]) k++;
        if (k < whole_n && whole[k] == step[i]) continue;
        TRY(remove_step(folder, step[i], "safetensors"));
    }
out:
    hpc_free(step);
    return rc;
}

/* The description goes first, so that a kill leaves no checkpoint rather than half of one. */
int hpc_checkpoint_prune(const char *folder, int64_t keep, int64_t newest)
{
    int64_t *step = NULL, n = 0, ours = 0;
    int rc;
    TRY(list_steps(&step, &n, folder, "json"));
    while (step && ours < n && step[ours] <= newest) ours++;
    for (int64_t k = 0; step && keep > 0 && k + keep < ours; k++) {
        TRY(remove_step(folder, step[k], "json"));
        TRY(remove_step(folder, step[k], "safetensors"));
    }
    if (step) TRY(remove_orphans(folder, step, n));
    if (hpc_file_exists(folder)) TRY(hpc_file_sweep(folder));
out:
    hpc_free(step);
    return rc;
}
