/*
 * checkpoint_ranks.c: checkpoints of many ranks: each row of each tensor is written once, readers
 * read only the parts that they need, training continues during a saving, and errors name missing,
 * damaged or foreign parts.
 */
#include <stdlib.h>

#include "tests/support/fault.h"
#include "tests/train/data.h"
#include "train/checkpoint_priv.h"

enum { RANKS = 4, STATE = 1 << 20 };

typedef struct grid {
    int data, depth, row, zero;
} grid;

typedef struct job {
    hpc_trainer_options o;
    hpc_grid_shape shape;
    hpc_loader_source source;
    char data[PATH_MAX], folder[PATH_MAX];
    int64_t step;    /* to be saved */
    int steps_after; /* while the saving is under way */
    bool found;
    int64_t got; /* step loaded */
    int said;
    char line[800];
    uint64_t hash;                      /* of all state, gathered */
    int64_t sent[RANKS], part_n[RANKS]; /* bytes to be written, by rank */
} job;

static void hear(const char *line, void *user)
{
    job *j = user;
    j->said++;
    snprintf(j->line, sizeof j->line, "%s", line);
}

static job *start(hpc_test_folder *f, const char *name, const grid *g)
{
    job *j = hpc_alloc(1, sizeof *j);
    assert_non_null(j);
    j->o = tiny_trainer(HPC_OPT_ADAMW);
    j->o.rows = 8;
    j->o.device.threads = 1;
    j->o.part_bytes = 2048;
    j->o.parallel.zero = g->zero;
    j->shape = (hpc_grid_shape){
        .extent = {
            [HPC_AXIS_DATA] = g->data, [HPC_AXIS_DEPTH] = g->depth, [HPC_AXIS_ROW] = g->row}};
    hpc_test_path(j->data, f, "data");
    if (!hpc_file_exists(j->data)) data_make(j->data, 400, NULL, 7, data_tokenizer);
    j->source.path = j->data;
    hpc_test_path(j->folder, f, name);
    j->step = 2;
    return j;
}

static int open_trainer(hpc_trainer **t, hpc_grid **g, job *j, hpc_link *world)
{
    hpc_trainer_options o = j->o;
    int rc;
    TRY(hpc_grid_open(&o.grid, world, &j->shape));
    *g = o.grid;
    TRY(hpc_trainer_open(t, &o, false));
out:
    return rc;
}

static int take_steps(hpc_trainer *t, const job *j, int from, int to)
{
    hpc_loader_options l = {
        .source = &j->source, .source_n = 1, .length = 24, .documents = 6, .seed = 5};
    hpc_loader *loader;
    hpc_trainer_result r;
    int rc;
    TRY(hpc_loader_open(&loader, &l));
    for (int k = from; k <= to; k++) {
        TRY(hpc_trainer_load(t, loader));
        TRY(hpc_trainer_step(&r, t, k, 0.01, INFINITY));
    }
out:
    hpc_loader_close(loader);
    return rc;
}

/* Of all state, by whole tensors; on the first rank. */
static int hash_state(uint64_t *hash, hpc_trainer *t)
{
    uint8_t *room = hpc_alloc(STATE, 1);
    int rc = room ? HPC_OK : HPC_E_NOMEM;
    TRY(rc);
    if (!trainer_leads(t)) {
        TRY(trainer_attend(t));
        goto out;
    }
    *hash = 0;
    for (hpc_value v = 0; v < t->p->value_n; v++) {
        if (!trainer_keeps(t, v)) continue;
        /* A sum over what each rank has, which the first has of its own. */
        if (strcmp(t->p->value[v].name, "norm.squares") == 0) continue;
        TRY(trainer_fetch(room, t, v));
        *hash = hpc_hash(room, hpc_type_bytes(&t->whole[v]), *hash);
    }
    TRY(trainer_dismiss(t));
out:
    hpc_free(room);
    return rc;
}

static int count_parts(job *j, const hpc_trainer *t, int rank)
{
    checkpoint_part *part = NULL;
    int64_t n;
    int rc = checkpoint_parts(&part, &n, t, NULL, rank);
    for (int64_t k = 0; rc >= 0 && k < n; k++) j->sent[rank] += (int64_t)part[k].bytes;
    j->part_n[rank] = n;
    hpc_free(part);
    return rc;
}

/* Saves at j->step, and steps on before it waits. */
static int save_rank(hpc_link *world, void *user)
{
    job *j = user;
    hpc_checkpoint c = {.step = j->step, .run = 7, .best = INFINITY};
    hpc_saving *s = NULL;
    hpc_trainer *t = NULL;
    hpc_grid *g = NULL;
    bool done = false;
    int rc;
    TRY(open_trainer(&t, &g, j, world));
    TRY(take_steps(t, j, 1, (int)j->step));
    TRY(hash_state(&j->hash, t));
    if (hpc_link_rank(world) == 0)
        for (int r = 0; r < hpc_link_size(world); r++) TRY(count_parts(j, t, r));
    TRY(hpc_saving_start(&s, t, j->folder, &c));
    TRY(take_steps(t, j, (int)j->step + 1, (int)j->step + j->steps_after));
    TRY(hpc_saving_poll(s, false, &done));
    TRY(hpc_saving_poll(s, true, &done));
    if (!done) rc = hpc_fail(HPC_E_FAULT, "a wait without an end");
out:
    if (rc < 0) hpc_link_abort(world, hpc_error_get()->text); /* before its links are closed */
    hpc_saving_end(s);
    hpc_trainer_close(t);
    hpc_grid_close(g);
    return rc;
}

static int load_rank(hpc_link *world, void *user)
{
    job *j = user;
    hpc_checkpoint c;
    hpc_trainer *t = NULL;
    hpc_grid *g = NULL;
    bool found;
    int rc;
    TRY(open_trainer(&t, &g, j, world));
    TRY(hpc_checkpoint_load(&c, &found, t, j->folder, hear, j));
    if (hpc_link_rank(world) == 0) j->found = found, j->got = c.step;
    TRY(hash_state(&j->hash, t));
out:
    hpc_trainer_close(t);
    hpc_grid_close(g);
    return rc;
}

static int run_job(job *j, int (*fn)(hpc_link *, void *))
{
    j->said = 0;
    return hpc_threads_run(hpc_grid_size(&j->shape), fn, j);
}

static void path_in(char out[PATH_MAX], const job *j, const char *name)
{
    assert_true(snprintf(out, PATH_MAX, "%s/%s", j->folder, name) < PATH_MAX);
}

/* The first file of the folder whose name has these in it. */
static void find(char out[PATH_MAX], const job *j, const char *a, const char *b)
{
    hpc_buf names = {0};
    int64_t n;
    test_ok(hpc_file_list(&names, &n, j->folder));
    const char *name = names.data;
    for (; n > 0 && !(strstr(name, a) && strstr(name, b)); n--) name += strlen(name) + 1;
    assert_true(n > 0);
    path_in(out, j, name);
    hpc_buf_release(&names);
}

/* ---- writing and reading -----------------------------------------------------------------------
 */

static const grid grids[] = {{4, 1, 1, 0}, {4, 1, 1, 3}, {1, 1, 2, 0}, {2, 2, 1, 1},
                             {2, 1, 2, 2}, {1, 4, 1, 0}, {1, 1, 1, 0}};
enum { GRIDS = sizeof grids / sizeof *grids };

/* Every row of every tensor, by the index: as many elements as there are, and none twice. */
static void each_row_once(const job *j)
{
    char path[PATH_MAX];
    checkpoint_index x;
    find(path, j, ".index", "");
    test_ok(checkpoint_index_read(&x, path));
    assert_int_equal(x.file_n, hpc_grid_size(&j->shape));
    assert_true(x.step == 2 && x.run == 7);
    for (int64_t k = 0; k < x.tensor_n; k++) {
        const checkpoint_tensor *t = &x.tensor[k];
        static uint8_t seen[STATE];
        int64_t all = 1;
        for (int d = 0; d < t->rank; d++) all *= t->extent[d];
        assert_true(all <= STATE && t->rank <= 2);
        memset(seen, 0, (size_t)all);
        for (int64_t i = t->part; i < t->part + t->part_n; i++) {
            const checkpoint_part *p = &x.part[i];
            int64_t rows = t->rank > 0 ? p->extent[0] : 1, cols = t->rank > 1 ? p->extent[1] : 1;
            for (int64_t e = 0; e < rows * cols; e++) {
                int64_t row = e / cols + (t->rank > 0 ? p->first[0] : 0);
                int64_t col = e % cols + (t->rank > 1 ? p->first[1] : 0);
                seen[row * (t->rank > 1 ? t->extent[1] : 1) + col]++;
            }
        }
        for (int64_t e = 0; e < all; e++) assert_int_equal(seen[e], 1);
    }
    checkpoint_index_release(&x);
}

static void from_any_to_any(void **state)
{
    uint64_t serial = 0;
    for (int a = 0; a < GRIDS; a++) {
        char name[32];
        snprintf(name, sizeof name, "from%d", a);
        job *from = start(*state, name, &grids[a]);
        test_ok(run_job(from, save_rank));
        if (grids[a].data * grids[a].depth * grids[a].row > 1) each_row_once(from);
        for (int b = 0; b < GRIDS; b++) {
            job *to = start(*state, name, &grids[b]);
            test_ok(run_job(to, load_rank));
            assert_true(to->found && to->got == 2 && to->said == 0);
            assert_true(to->hash == from->hash);
            hpc_free(to);
        }
        serial = from->hash;
        hpc_free(from);
    }
    assert_true(serial != 0);
}

/* Replicas share the work: of four that hold the same, each writes about a quarter. */
static void replicas_share_the_rows(void **state)
{
    job *j = start(*state, "shared", &grids[0]);
    int64_t all = 0;
    test_ok(run_job(j, save_rank));
    for (int r = 0; r < RANKS; r++) all += j->sent[r];
    for (int r = 0; r < RANKS; r++) {
        assert_true(j->sent[r] * 4 > all * 8 / 10 && j->sent[r] * 4 < all * 12 / 10);
        assert_true(j->part_n[r] > 40); /* tensors are cut in parts of 2 KiB */
    }
    hpc_free(j);
}

/* The saved state is that of the start, however far training has advanced. */
static void training_goes_on(void **state)
{
    job *j = start(*state, "behind", &grids[1]), *to = start(*state, "behind", &grids[2]);
    j->steps_after = 3;
    test_ok(run_job(j, save_rank));
    test_ok(run_job(to, load_rank));
    assert_true(to->hash == j->hash && to->got == 2);
    hpc_free(j);
    hpc_free(to);
}

/* ---- what goes wrong ---------------------------------------------------------------------------
 */

static void flip(const char *path, size_t at)
{
    hpc_buf text = {0};
    test_ok(hpc_file_read(&text, path, 1 << 24));
    text.data[at < text.n ? at : text.n - 1] ^= 4;
    test_ok(hpc_file_save(path, text.data, text.n));
    hpc_buf_release(&text);
}

static void copy(const char *to, const char *from)
{
    hpc_buf text = {0};
    test_ok(hpc_file_read(&text, from, 1 << 24));
    test_ok(hpc_file_save(to, text.data, text.n));
    hpc_buf_release(&text);
}

/* Two checkpoints; the newer is spoilt in one way after the other, which is said, and the older is
 * taken, on all ranks alike. */
static void damage_is_named(void **state)
{
    static const char *const says[] = {"is missing, one of its 4 shards: restore it",
                                       "is damaged: bytes ",
                                       "is damaged: it has ",
                                       "is a shard of step 2: restore the shard of step 4",
                                       "is a shard of another run",
                                       "its content differs from the saved content",
                                       "cannot open",
                                       "comes from another save of this step"};
    for (int way = 0; way < 8; way++) {
        char name[32], path[PATH_MAX], other[PATH_MAX];
        snprintf(name, sizeof name, "damaged%d", way);
        job *j = start(*state, name, &grids[1]), *to = start(*state, name, &grids[2]);
        test_ok(run_job(j, save_rank));
        uint64_t first = j->hash;
        j->step = 4;
        if (way == 7) {
            j->o.seed = 9; /* other parameters */
            test_ok(run_job(j, save_rank));
            find(path, j, "step-00000004", "2-of-4");
            copy(hpc_test_path(other, *state, "kept"), path);
            j->o.seed = 3;
        }
        test_ok(run_job(j, save_rank));
        if (way == 7) test_ok(hpc_checkpoint_prune(j->folder, 2, 4));
        find(path, j, "step-00000004", way == 5 || way == 6 ? ".index" : "2-of-4");
        find(other, j, "step-00000002", "2-of-4");
        switch (way) {
        case 0:
        case 6: test_ok(hpc_file_remove(path)); break;
        case 1: flip(path, 1 << 24); break;
        case 2: test_ok(hpc_file_save(path, "short", 5)); break;
        case 3: copy(path, other); break;
        case 4: {
            hpc_buf text = {0};
            test_ok(hpc_file_read(&text, path, 1 << 24));
            char *run = strstr(text.data + 8, "0000000000000007"); /* after the length */
            assert_non_null(run);
            run[0] = '1';
            text.data[text.n - 1] ^= 1;
            test_ok(hpc_file_save(path, text.data, text.n));
            hpc_buf_release(&text);
            break;
        }
        case 5: flip(path, 60); break;
        case 7: copy(path, hpc_test_path(other, *state, "kept")); break;
        }
        test_ok(run_job(to, load_rank));
        if (to->said != 1 || !strstr(to->line, says[way]) ||
            !strstr(to->line, "checkpoint of step 4 is damaged"))
            fail_msg("way %d: %s", way, to->line);
        assert_true(to->found && to->got == 2 && to->hash == first);
        hpc_free(j);
        hpc_free(to);
    }
}

static void one_alone_is_an_error(void **state)
{
    char path[PATH_MAX];
    job *j = start(*state, "alone", &grids[1]);
    test_ok(run_job(j, save_rank));
    find(path, j, "step-00000002", "3-of-4");
    test_ok(hpc_file_remove(path));
    test_fails(run_job(j, load_rank), HPC_E_FORMAT, "all of its 1 checkpoints are damaged (rank ");
    assert_int_equal(j->said, 0);
    hpc_free(j);
}

static void of_another_model(void **state)
{
    job *j = start(*state, "other", &grids[1]);
    test_ok(run_job(j, save_rank));
    j->o.model.ffn = 64;
    test_fails(run_job(j, load_rank), HPC_E_SHAPE, "its model.layers.0.mlp.gate_proj.weight is");
    hpc_free(j);
}

/* One call after the other fails, on whichever rank: the run ends, and what was there is taken. */
static void a_failed_write_leaves_the_one_before(void **state)
{
    int64_t failed = 0, step = getenv("HPC_TEST_LONG") ? 1 : 11;
    bool whole = false;
    job *j = start(*state, "full", &grids[3]), *to = start(*state, "full", &grids[6]);
    test_ok(run_job(j, save_rank));
    j->step = 3;
    for (int64_t n = 1; !whole; n += step) {
        hpc_test_fail_io(n);
        int rc = run_job(j, save_rank);
        whole = !hpc_test_io_failed();
        hpc_test_fault_reset();
        failed += rc < 0;
        if (rc < 0 && rc != HPC_E_IO && rc != HPC_E_FORMAT)
            fail_msg("call %lld: %s", (long long)n, hpc_error_get()->text);
        hpc_error_clear();
        test_ok(run_job(to, load_rank));
        assert_true(to->found && to->said == 0 && to->got >= (rc < 0 ? 2 : 3));
    }
    assert_true(failed > 3);
    hpc_free(j);
    hpc_free(to);
}

/* A box of which one file has all is read without the others, which are not even there. */
static void only_what_is_needed(void **state)
{
    static float room[STATE];
    char path[PATH_MAX];
    checkpoint_index x = {0};
    checkpoint_state *s = NULL;
    hpc_checkpoint c;
    hpc_json *root = NULL;
    job *j = start(*state, "needed", &grids[1]);
    test_ok(run_job(j, save_rank));
    find(path, j, ".index", "");
    test_ok(checkpoint_index_read(&x, path));
    for (int r = 1; r < RANKS; r++) {
        path_in(path, j, x.file[r].name);
        test_ok(hpc_file_remove(path));
    }
    test_ok(checkpoint_record_read(&root, &c, j->folder, 2));
    test_ok(checkpoint_state_open(&s, j->folder, 2, root));
    int64_t there = 0, gone = 0;
    for (int64_t k = 0; k < x.part_n; k++) {
        const checkpoint_part *p = &x.part[k];
        const char *name = x.tensor[p->tensor].name;
        int rc = checkpoint_state_read(room, s, name, p->first, p->extent);
        if (p->file == 0) {
            test_ok(rc);
            there++;
        } else {
            test_fails(rc, HPC_E_FORMAT, "is missing, one of its 4 shards");
            gone++;
        }
    }
    assert_true(there > 40 && gone > 100);
    checkpoint_state_close(s);
    checkpoint_index_release(&x);
    hpc_json_free(root);
    hpc_free(j);
}

static int read_whole(void *user)
{
    static uint8_t room[STATE];
    static const int64_t origin[HPC_RANK_MAX];
    const job *j = user;
    checkpoint_state *s = NULL;
    checkpoint_index x = {0};
    hpc_checkpoint c;
    hpc_json *root = NULL;
    char path[PATH_MAX];
    int rc;
    find(path, j, ".index", "");
    TRY(checkpoint_record_read(&root, &c, j->folder, 2));
    TRY(checkpoint_state_open(&s, j->folder, 2, root));
    TRY(checkpoint_index_read(&x, path));
    for (int64_t k = 0; k < x.tensor_n; k++)
        TRY(checkpoint_state_read(room, s, x.tensor[k].name, origin, x.tensor[k].extent));
out:
    checkpoint_index_release(&x);
    checkpoint_state_close(s);
    hpc_json_free(root);
    return rc;
}

static void each_allocation_may_fail(void **state)
{
    job *j = start(*state, "little", &grids[4]);
    test_ok(run_job(j, save_rank));
    test_ok(read_whole(j));
    char path[PATH_MAX]; /* what `find` allocates is the test's own */
    find(path, j, ".index", "");
    int64_t failed = 0;
    for (int64_t n = 1, hit = 1; hit; n += 5) {
        hpc_error_clear();
        hpc_test_fail_alloc(n);
        checkpoint_index x = {0};
        int rc = checkpoint_index_read(&x, path);
        hit = hpc_test_alloc_failed();
        hpc_test_fault_reset();
        assert_int_equal(rc, hit ? HPC_E_NOMEM : HPC_OK);
        checkpoint_index_release(&x);
        failed += rc < 0;
    }
    assert_true(failed > 5);
    hpc_error_clear();
    hpc_free(j);
}

/* A step saved again exists twice until the record names the second. */
static void orphans_go(void **state)
{
    char path[PATH_MAX];
    job *j = start(*state, "orphans", &grids[1]);
    for (int k = 0; k < 2; k++) test_ok(run_job(j, save_rank));
    j->step = 4;
    test_ok(run_job(j, save_rank));
    assert_int_equal(hpc_test_entries(j->folder), 6 + 5 + 6);
    test_ok(hpc_checkpoint_prune(j->folder, 0, 4));
    assert_int_equal(hpc_test_entries(j->folder), 6 + 6);
    path_in(path, j, "step-00000004.json"); /* as a kill leaves it */
    test_ok(hpc_file_remove(path));
    test_ok(hpc_checkpoint_prune(j->folder, 1, 4));
    assert_int_equal(hpc_test_entries(j->folder), 6);
    test_ok(run_job(j, load_rank));
    assert_true(j->found && j->got == 2 && j->said == 0);
    hpc_free(j);
}

int main(void)
{
#define IN_FOLDER(test)                                                                            \
    cmocka_unit_test_setup_teardown(test, hpc_test_folder_setup, hpc_test_folder_teardown)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(from_any_to_any),
        IN_FOLDER(replicas_share_the_rows),
        IN_FOLDER(training_goes_on),
        IN_FOLDER(damage_is_named),
        IN_FOLDER(one_alone_is_an_error),
        IN_FOLDER(of_another_model),
        IN_FOLDER(only_what_is_needed),
        IN_FOLDER(each_allocation_may_fail),
        IN_FOLDER(orphans_go),
        IN_FOLDER(a_failed_write_leaves_the_one_before),
    };
    return cmocka_run_group_tests_name("train/checkpoint_ranks", tests, NULL, NULL);
}
