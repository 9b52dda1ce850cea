/*
 * checkpoint_write.c: saves in the background: copies what a rank owns, on devices with queues
 * during later steps, writes the copy in a thread, and writes index and record once every rank's
 * data is on disk. The record makes a checkpoint valid.
 *
 * The thread uses neither the trainer nor a link; ranks communicate in poll.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "train/checkpoint_priv.h"

typedef enum phase { COPYING, WRITING, COMMITTING, SAVED } phase;

struct hpc_saving {
    const hpc_trainer *t;
    hpc_checkpoint c;
    char folder[CHECKPOINT_PATH], save[CHECKPOINT_SAVE];
    int rank, ranks;
    hpc_masks *masks; /* a copy; NULL: none */
    char (*mask_name)[CHECKPOINT_MASK];
    checkpoint_part *part; /* this rank's */
    int64_t part_n;
    hpc_stored_tensor *list; /* of its file: parts of one tensor together */
    uint64_t *from;          /* where each of these is in data */
    int64_t list_n;
    uint8_t *data;   /* the copy; NULL once it is written */
    bool pinned;     /* data is the trainer's, which the device's queues fill */
    int64_t fence_n; /* COPYING: of the device; after the next fence the copy is there */
    uint64_t data_bytes, file_bytes;
    checkpoint_index index; /* the first rank's, while it commits */
    phase phase;
    pthread_t thread;
    bool running;
    int ended; /* the thread is through; atomic */
    int rc;    /* of it, and its error */
    hpc_error error;
};

static void name_shard(char out[CHECKPOINT_NAME], const hpc_saving *s, int rank)
{
    char ending[CHECKPOINT_NAME - 16] = "safetensors";
    if (s->ranks > 1)
        snprintf(ending, sizeof ending, "%s.%d-of-%d.safetensors", s->save, rank, s->ranks);
    checkpoint_name(out, s->c.step, ending);
}

/* ---- the copy ---------------------------------------------------------------------------------
 */

/* Describes a tensor by its number in the list of parts: values first, then masks. */
static hpc_stored_tensor about(const hpc_saving *s, int64_t tensor)
{
    int64_t n = s->t->p->value_n;
    if (tensor >= n)
        return (hpc_stored_tensor){.name = s->mask_name[tensor - n],
                                   .dtype = HPC_I32,
                                   .rank = 1,
                                   .extent = {s->masks->mask[tensor - n].kept}};
    const hpc_type *whole = &s->t->whole[tensor];
    hpc_stored_tensor x = {
        .name = s->t->p->value[tensor].name, .dtype = (hpc_dtype)whole->dtype, .rank = whole->rank};
    memcpy(x.extent, whole->extent, sizeof whole->extent);
    return x;
}

/* Others may be drawn while these are written. */
static int take_masks(hpc_saving *s, const hpc_masks *m)
{
    int rc;
    if (!m) return HPC_OK;
    TRY(hpc_masks_copy(&s->masks, m));
    s->c.masks = s->masks;
    s->mask_name = hpc_alloc((size_t)m->mask_n + 1, sizeof *s->mask_name);
    if (!s->mask_name) TRY(HPC_E_NOMEM);
    for (int64_t k = 0; k < m->mask_n; k++) checkpoint_mask_name(s->mask_name[k], &m->mask[k]);
out:
    return rc;
}

/* Parts of one tensor follow each other, and are one of the file. */
static int list_tensors(hpc_saving *s)
{
    s->list = hpc_alloc((size_t)s->part_n + 1, sizeof *s->list);
    s->from = hpc_alloc((size_t)s->part_n + 1, sizeof *s->from);
    if (!s->list || !s->from) return HPC_E_NOMEM;
    for (int64_t k = 0; k < s->part_n; k++) {
        const checkpoint_part *p = &s->part[k];
        hpc_stored_tensor *x = &s->list[s->list_n];
        if (k > 0 && p[-1].tensor == p->tensor) {
            x[-1].extent[0] += p->extent[0];
            x[-1].bytes += p->bytes;
        } else {
            *x = about(s, p->tensor);
            x->bytes = p->bytes;
            memcpy(x->extent, p->extent, sizeof p->extent);
            s->from[s->list_n++] = p->at;
        }
        s->data_bytes = p->at + p->bytes;
    }
    return HPC_OK;
}

typedef struct room {
    uint8_t *data;
    int64_t cap;
} room;

/* i, first: of the list and of the parts; NULL where other ranks write all of v. */
static int copy_value(hpc_saving *s, hpc_value v, int64_t i, const checkpoint_part *first, room *r)
{
    const hpc_type tile = trainer_tile(s->t, v);
    size_t bytes = hpc_type_bytes(&tile);
    uint8_t *to = first ? s->data + s->from[i] : NULL;
    const bool whole = first && s->list[i].bytes == bytes;
    if (whole && trainer_dense_of(s->t, v) < 0)
        return hpc_exec_snapshot_fetch(s->t->exec, v, to, bytes);
    if (whole) return trainer_get_tile(to, s->t, v);
    int rc = HPC_OK;
    TRY(hpc_grow(&r->data, &r->cap, (int64_t)bytes, 1));
    TRY(trainer_get_tile(r->data, s->t, v));
    if (first) memcpy(to, r->data + checkpoint_part_place(s->t, first), s->list[i].bytes);
out:
    return rc;
}

static int copy_mask(hpc_saving *s, const checkpoint_part *p, room *r)
{
    int rc = HPC_OK;
    if (p->bytes == 0) return rc;
    TRY(hpc_grow(&r->data, &r->cap, (int64_t)p->bytes, 1));
    hpc_mask_list((int32_t *)(void *)r->data, &s->masks->mask[p->tensor - s->t->p->value_n]);
    memcpy(s->data + p->at, r->data, p->bytes);
out:
    return rc;
}

/* Pinned memory is slow to allocate, so that the trainer keeps it. */
static int take_memory(hpc_saving *s)
{
    trainer_copy *c = s->t->copy;
    int rc = HPC_OK;
    if (!s->pinned) {
        s->data = hpc_alloc(s->data_bytes + 1, 1);
        return s->data ? HPC_OK : HPC_E_NOMEM;
    }
    if (c->bytes < s->data_bytes + 1) {
        if (c->data) TRY(hpc_exec_fence(s->t->exec));
        hpc_device_host_free(s->t->device, c->data);
        *c = (trainer_copy){0};
        TRY(hpc_device_host_alloc(&c->data, s->t->device, s->data_bytes + 1));
        c->bytes = s->data_bytes + 1;
    }
    s->data = c->data;
out:
    return rc;
}

static void return_memory(hpc_saving *s)
{
    if (!s->pinned) hpc_free(s->data);
    s->data = NULL;
}

static int copy_state(hpc_saving *s)
{
    room r = {0}; /* for a tensor of which this rank writes a part */
    int64_t k = 0, i = 0;
    int rc = HPC_OK;
    TRY(take_memory(s));
    TRY(hpc_exec_snapshot_begin(s->t->exec));
    s->t->copy->reading = true;
    for (hpc_value v = 0; v < s->t->p->value_n; v++) {
        bool mine = k < s->part_n && s->part[k].tensor == v;
        if (!trainer_stores(s->t, v)) continue;
        if (mine || (trainer_shares(s->t, v) && !s->t->p->value[v].absent))
            TRY(copy_value(s, v, i, mine ? &s->part[k] : NULL, &r));
        i += mine;
        while (k < s->part_n && s->part[k].tensor == v) k++;
    }
    for (; k < s->part_n; k++) TRY(copy_mask(s, &s->part[k], &r));
out:
    hpc_free(r.data);
    return rc;
}

/* ---- the thread -------------------------------------------------------------------------------
 */

static int write_tensor(hpc_file_writer *w, int64_t i, void *user)
{
    const hpc_saving *s = user;
    return hpc_file_write(w, s->data + s->from[i], s->list[i].bytes);
}

static int save_record(const hpc_saving *s, const char *hash, const char *index)
{
    char path[CHECKPOINT_PATH], name[CHECKPOINT_NAME];
    hpc_buf text = {0};
    int rc;
    checkpoint_name(name, s->c.step, "json");
    TRY(checkpoint_path(path, s->folder, name));
    TRY(checkpoint_record_put(&text, &s->c, s->t, hash, index));
    TRY(hpc_file_save(path, text.data, text.n));
out:
    hpc_buf_release(&text);
    return rc;
}

static int write_all_in_one(hpc_saving *s, const char *path)
{
    static const char *const metadata[] = {"format", "hpccoder-checkpoint", NULL};
    char hash[CHECKPOINT_HASH];
    int rc;
    TRY(hpc_safetensors_save(path, s->list, s->list_n, metadata, write_tensor, s));
    TRY(checkpoint_hash_file(hash, path));
    TRY(save_record(s, hash, NULL));
out:
    return rc;
}

static int write_shard(hpc_saving *s, const char *path)
{
    char run[20], step[24], rank[16], ranks[16];
    const char *const metadata[] = {"format", "hpccoder-checkpoint-shard",
                                    "run",    run,
                                    "step",   step,
                                    "save",   s->save,
                                    "rank",   rank,
                                    "ranks",  ranks,
                                    NULL};
    hpc_file_view v = {0};
    int rc;
    snprintf(run, sizeof run, "%016llx", (unsigned long long)s->c.run);
    snprintf(step, sizeof step, "%lld", (long long)s->c.step);
    snprintf(rank, sizeof rank, "%d", s->rank);
    snprintf(ranks, sizeof ranks, "%d", s->ranks);
    for (int64_t k = 0; k < s->part_n; k++)
        s->part[k].hash = hpc_hash_wide(s->data + s->part[k].at, s->part[k].bytes);
    TRY(hpc_safetensors_save(path, s->list, s->list_n, metadata, write_tensor, s));
    TRY(hpc_file_open(&v, path));
    s->file_bytes = v.bytes;
    hpc_file_close(&v);
out:
    return rc;
}

static int write_state(hpc_saving *s)
{
    char path[CHECKPOINT_PATH], name[CHECKPOINT_NAME];
    int rc;
    name_shard(name, s, s->rank);
    TRY(checkpoint_path(path, s->folder, name));
    TRY(s->ranks > 1 ? write_shard(s, path) : write_all_in_one(s, path));
out:
    return_memory(s);
    return rc;
}

/* Checks that this rank sees the other ranks' files: otherwise no rank could load them. */
static int check_shards(const hpc_saving *s)
{
    char path[CHECKPOINT_PATH];
    int rc = HPC_OK;
    for (int64_t k = 0; k < s->index.file_n; k++) {
        hpc_file_view v = {0};
        TRY(checkpoint_path(path, s->folder, s->index.file[k].name));
        bool there = hpc_file_exists(path) && hpc_file_open(&v, path) >= 0;
        bool whole = there && v.bytes == s->index.file[k].bytes;
        hpc_file_close(&v);
        hpc_error_clear();
        if (!whole)
            TRY(hpc_fail(HPC_E_IO,
                         "rank 0 cannot see %s, which rank %lld wrote: --out must be on a file "
                         "system that all ranks share",
                         path, (long long)k));
    }
out:
    return rc;
}

static int commit(hpc_saving *s)
{
    char path[CHECKPOINT_PATH], name[CHECKPOINT_NAME], ending[32], hash[CHECKPOINT_HASH];
    hpc_buf text = {0};
    int rc;
    snprintf(ending, sizeof ending, "%s.index", s->save);
    checkpoint_name(name, s->c.step, ending);
    TRY(checkpoint_path(path, s->folder, name));
    TRY(check_shards(s));
    TRY(checkpoint_index_put(&text, &s->index));
    TRY(hpc_file_save(path, text.data, text.n));
    checkpoint_hash_text(hash, hpc_hash_wide(text.data, text.n));
    TRY(save_record(s, hash, name));
out:
    hpc_buf_release(&text);
    return rc;
}

static void *work(void *user)
{
    hpc_saving *s = user;
    s->rc = s->phase == WRITING ? write_state(s) : commit(s);
    s->error = *hpc_error_get();
    __atomic_store_n(&s->ended, 1, __ATOMIC_RELEASE);
    return NULL;
}

static int start_thread(hpc_saving *s)
{
    s->ended = 0;
    if (pthread_create(&s->thread, NULL, work, s) != 0)
        return hpc_fail(HPC_E_NOMEM, "cannot start the thread that writes the checkpoint");
    s->running = true;
    return HPC_OK;
}

/* The thread writes the copy once it is complete: after a fence, which `wait` makes. */
static int write_copy(hpc_saving *s, bool wait)
{
    int rc = HPC_OK;
    if (s->phase != COPYING) return HPC_OK;
    const bool there = !s->pinned || hpc_device_about(s->t->device).fence_n > s->fence_n;
    if (!there && !wait) return HPC_OK;
    if (!there) TRY(hpc_exec_fence(s->t->exec));
    s->phase = WRITING;
    TRY(start_thread(s));
out:
    return rc;
}

/* The thread's failure becomes the caller's. */
static int join(hpc_saving *s)
{
    if (!s->running) return HPC_OK;
    pthread_join(s->thread, NULL);
    s->running = false;
    if (s->rc < 0) hpc_error_adopt(&s->error);
    return s->rc;
}

/* ---- the ranks together -----------------------------------------------------------------------
 */

static hpc_link *world_of(const hpc_saving *s)
{
    return hpc_grid_world(s->t->o.grid);
}

/* A rank's message to the first: the size of its file, and its parts' hashes. */
static int send_parts(const hpc_saving *s)
{
    int64_t n = 1 + 2 * s->part_n, *word = hpc_alloc((size_t)n, sizeof *word);
    if (!word) return HPC_E_NOMEM;
    word[0] = (int64_t)s->file_bytes;
    for (int64_t k = 0; k < s->part_n; k++) {
        word[1 + 2 * k] = (int64_t)s->part[k].hash.low;
        word[2 + 2 * k] = (int64_t)s->part[k].hash.high;
    }
    int rc = hpc_link_run(world_of(s),
                          &(hpc_comm){.kind = HPC_SEND, .dtype = HPC_I64, .n = n, .send = word});
    hpc_free(word);
    return rc;
}

/* Receives rank r's parts: positions follow from the layouts; rank r sends offsets and hashes. */
static int receive_parts(checkpoint_part **out, int64_t *n, uint64_t *file_bytes,
                         const hpc_saving *s, int r)
{
    int64_t *word = NULL;
    int rc;
    TRY(checkpoint_parts(out, n, s->t, s->masks, r));
    word = hpc_alloc((size_t)(1 + 2 * *n), sizeof *word);
    if (!word) TRY(HPC_E_NOMEM);
    if (r == 0) {
        memcpy(*out, s->part, (size_t)*n * sizeof **out);
        *file_bytes = s->file_bytes;
        goto out;
    }
    TRY(hpc_link_run(
        world_of(s),
        &(hpc_comm){.kind = HPC_RECV, .dtype = HPC_I64, .peer = r, .n = 1 + 2 * *n, .recv = word}));
    *file_bytes = (uint64_t)word[0];
    for (int64_t k = 0; k < *n; k++)
        (*out)[k].hash =
            (hpc_hash128){.low = (uint64_t)word[1 + 2 * k], .high = (uint64_t)word[2 + 2 * k]};
out:
    hpc_free(word);
    return rc;
}

static int add_file(hpc_saving *s, int64_t *cap, int r)
{
    checkpoint_index *x = &s->index;
    checkpoint_part *part = NULL;
    uint64_t bytes = 0, data = 0;
    int64_t n = 0;
    int rc;
    TRY(receive_parts(&part, &n, &bytes, s, r));
    TRY(hpc_grow(&x->part, cap, x->part_n + n, sizeof *x->part));
    for (int64_t k = 0; k < n; k++) data += part[k].bytes;
    for (int64_t k = 0; k < n; k++) part[k].at += bytes - data;
    if (n > 0) memcpy(x->part + x->part_n, part, (size_t)n * sizeof *part);
    x->part_n += n;
    x->file[r].bytes = bytes;
    name_shard(x->file[r].name, s, r);
    x->file_n = r + 1;
out:
    hpc_free(part);
    return rc;
}

static int by_tensor(const void *a, const void *b)
{
    const checkpoint_part *x = a, *y = b;
    if (x->tensor != y->tensor) return x->tensor < y->tensor ? -1 : 1;
    if (x->file != y->file) return x->file < y->file ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* From parts by rank to tensors with their parts. */
static int add_tensors(hpc_saving *s)
{
    checkpoint_index *x = &s->index;
    x->tensor = hpc_alloc((size_t)x->part_n + 1, sizeof *x->tensor);
    if (!x->tensor) return HPC_E_NOMEM;
    qsort(x->part, (size_t)x->part_n, sizeof *x->part, by_tensor);
    for (int64_t k = 0; k < x->part_n; k++) {
        if (k > 0 && x->part[k - 1].tensor == x->part[k].tensor) {
            x->tensor[x->tensor_n - 1].part_n++;
            continue;
        }
        checkpoint_tensor *t = &x->tensor[x->tensor_n++];
        hpc_stored_tensor whole = about(s, x->part[k].tensor);
        *t = (checkpoint_tensor){
            .name = whole.name, .dtype = whole.dtype, .rank = whole.rank, .part = k, .part_n = 1};
        memcpy(t->extent, whole.extent, sizeof t->extent);
    }
    return HPC_OK;
}

static int collect(hpc_saving *s)
{
    int64_t cap = 0;
    int rc;
    s->phase = COMMITTING;
    if (s->rank != 0) return send_parts(s);
    s->index.step = s->c.step;
    s->index.run = s->c.run;
    memcpy(s->index.save, s->save, sizeof s->save);
    s->index.file = hpc_alloc((size_t)s->ranks, sizeof *s->index.file);
    if (!s->index.file) TRY(HPC_E_NOMEM);
    for (int r = 0; r < s->ranks; r++) TRY(add_file(s, &cap, r));
    TRY(add_tensors(s));
    TRY(start_thread(s));
out:
    return rc;
}

static int all_ended(bool *all, hpc_saving *s)
{
    int64_t mine = !s->running && s->phase != COPYING, sum = mine;
    int rc = HPC_OK;
    if (s->ranks > 1)
        rc = hpc_link_run(
            world_of(s),
            &(hpc_comm){
                .kind = HPC_ALL_REDUCE, .dtype = HPC_I64, .n = 1, .send = &mine, .recv = &sum});
    *all = sum == s->ranks;
    return rc;
}

int hpc_saving_poll(hpc_saving *s, bool wait, bool *done)
{
    static const struct timespec nap = {.tv_nsec = 2000000};
    bool all;
    int rc = HPC_OK;
    while (s->phase != SAVED) {
        TRY(write_copy(s, wait));
        if (wait && s->ranks == 1) TRY(join(s));
        if (s->running && __atomic_load_n(&s->ended, __ATOMIC_ACQUIRE)) TRY(join(s));
        TRY(all_ended(&all, s));
        if (all && s->phase == WRITING && s->ranks > 1)
            TRY(collect(s));
        else if (all)
            s->phase = SAVED;
        else if (wait)
            nanosleep(&nap, NULL); /* others that wait hear from this rank in between */
        if (!wait) break;
    }
    *done = s->phase == SAVED;
out:
    return rc;
}

/* ---- beginning and end ------------------------------------------------------------------------
 */

/* A number that no other saving in the folder has, but for an accident: the first rank's. */
static int draw_save(hpc_saving *s)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t mixed[3] = {now.tv_sec, now.tv_nsec, s->c.step};
    int64_t word = (int64_t)(hpc_hash(mixed, sizeof mixed, s->c.run) & 0xffffffff);
    int rc = trainer_tell(s->t, &word);
    snprintf(s->save, sizeof s->save, "%08llx", (unsigned long long)word);
    return rc;
}

int hpc_saving_start(hpc_saving **out, const hpc_trainer *t, const char *folder,
                     const hpc_checkpoint *c)
{
    hpc_saving *s = hpc_alloc(1, sizeof *s);
    int rc = s ? HPC_OK : HPC_E_NOMEM;
    *out = NULL;
    TRY(rc);
    s->t = t;
    s->pinned = !hpc_device_about(t->device).host_memory;
    s->c = *c;
    s->rank = t->o.grid ? hpc_link_rank(hpc_grid_world(t->o.grid)) : 0;
    s->ranks = t->o.grid ? hpc_link_size(hpc_grid_world(t->o.grid)) : 1;
    TRY(checkpoint_path(s->folder, folder, ""));
    s->folder[strlen(folder)] = '\0';
    if (s->rank == 0) TRY(hpc_file_mkdir(folder));
    TRY(draw_save(s));
    TRY(take_masks(s, c->masks));
    TRY(checkpoint_parts(&s->part, &s->part_n, t, s->masks, s->rank));
    TRY(list_tensors(s));
    TRY(copy_state(s));
    s->fence_n = hpc_device_about(t->device).fence_n;
    if (!s->pinned) TRY(write_copy(s, false));
    *out = s;
    s = NULL;
out:
    hpc_saving_end(s);
    return rc;
}

void hpc_saving_end(hpc_saving *s)
{
    if (!s) return;
    if (s->running) pthread_join(s->thread, NULL);
    s->running = false;
    hpc_masks_free(s->masks);
    hpc_free(s->mask_name);
    hpc_free(s->part);
    hpc_free(s->list);
    hpc_free(s->from);
    return_memory(s);
    checkpoint_index_release(&s->index);
    hpc_free(s);
}

int hpc_checkpoint_save(const hpc_trainer *t, const char *folder, const hpc_checkpoint *c)
{
    hpc_saving *s = NULL;
    bool done;
    int rc;
    TRY(hpc_saving_start(&s, t, folder, c));
    TRY(hpc_saving_poll(s, true, &done));
out:
    hpc_saving_end(s);
    return rc;
}
