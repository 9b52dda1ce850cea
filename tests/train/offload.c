/*
 * offload.c: training with moments and masters in a mapped file has the bits of training in memory,
 * on one rank and on grids; the bytes of memory and of transfers are those of the closed form.
 */
/* tsan: left out, train/ranks starts the same threads. */
#include "tests/train/pipe.h"
#include "train/plan.h"

enum { BUCKET = 100 };

/* The same job with its optimizer state outside. */
static job *offloaded(const job *from, const hpc_test_folder *f)
{
    job *j = hpc_alloc(1, sizeof *j);
    assert_non_null(j);
    *j = *from;
    j->o.offload =
        (hpc_trainer_offload){.policy = HPC_OFFLOAD_OPTIMIZER, .bucket = BUCKET, .folder = f->root};
    return j;
}

static hpc_trainer_plan planned(hpc_trainer_options o)
{
    hpc_trainer *t;
    test_ok(hpc_trainer_open(&t, &o, true));
    hpc_trainer_plan p = hpc_trainer_about(t);
    hpc_trainer_close(t);
    return p;
}

/* ---- bits -------------------------------------------------------------------------------------
 */

static void one_rank_has_the_bits_of_memory(void **state)
{
    static const int kinds[] = {HPC_OPT_ADAMW, HPC_OPT_SGD, HPC_OPT_JORGE_MOMENTUM};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (int half = 0; half < 2; half++) {
            job *in = start(*state, kinds[k], NULL);
            in->o.model.dtype = half ? HPC_BF16 : HPC_F32;
            in->o.accumulate = 1 + half;
            in->steps = FEW;
            job *out = offloaded(in, *state);
            run_job(in);
            run_job(out);
            same_bits(in, out);
            hpc_free(in);
            hpc_free(out);
        }
}

static void grids_have_the_bits_of_memory(void **state)
{
    static const shape shapes[] = {
        {.pipe = 2}, {.data = 2, .zero = 1}, {.data = 2, .zero = 3}, {.pipe = 2, .row = 2}};
    job *serial = pipeline(*state, 2, 2);
    serial->o.optimizer.kind = HPC_OPT_ADAMW;
    serial->o.model.dtype = HPC_BF16;
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        job *in = copy_of(serial, &shapes[k], HPC_PIPE_1F1B), *out = offloaded(in, *state);
        run_job(in);
        run_job(out);
        same_bits(in, out);
        hpc_free(in);
        hpc_free(out);
    }
    hpc_free(serial);
}

/* Two steps, saved; then the others, with the state in the other kind of memory. */
static void checkpoints_move_between_file_and_memory(void **state)
{
    for (int first = 0; first < 2; first++) {
        char folder[PATH_MAX];
        job *whole = start(*state, HPC_OPT_ADAMW, NULL);
        job *in = start(*state, HPC_OPT_ADAMW, NULL), *out = offloaded(in, *state);
        job *before = first ? out : in, *after = first ? in : out;
        before->folder = after->folder = hpc_test_path(folder, *state, first ? "out" : "in");
        before->steps = after->from = FEW;
        run_job(whole);
        run_job(before);
        run_job(after);
        memcpy(after->loss, before->loss, FEW * sizeof *after->loss);
        memcpy(after->norm, before->norm, FEW * sizeof *after->norm);
        same_bits(after, whole);
        hpc_free(whole);
        hpc_free(in);
        hpc_free(out);
    }
}

/* ---- bytes ------------------------------------------------------------------------------------
 */

static double state_bytes(const hpc_trainer_plan *p)
{
    return p->parameter_bytes + p->gradient_bytes + p->optimizer_bytes;
}

/* Bytes of state in memory, for n elements. bf16: 2 for a parameter and 4 for its gradient, and the
 * buffers of a bucket in place of 12 for master and moments. f32: 4 and 4, and buffers in place
 * of 8. Others: frequencies of rotary positions, the sum of squares. */
static void bytes_are_those_of_the_closed_form(void **state)
{
    (void)state;
    for (int half = 0; half < 2; half++) {
        hpc_trainer_options o = tiny_trainer(HPC_OPT_ADAMW);
        o.model.dtype = half ? HPC_BF16 : HPC_F32;
        o.accumulate = 2;
        hpc_trainer_plan in = planned(o);
        o.offload = (hpc_trainer_offload){.policy = HPC_OFFLOAD_OPTIMIZER, .bucket = BUCKET};
        hpc_trainer_plan out = planned(o);
        double n = (double)out.trained, stays = half ? 6 : 8, outside = half ? 12 : 8;
        double others = state_bytes(&in) - (stays + outside) * n;
        assert_true(others >= 0 && others <= 64);
        assert_true(state_bytes(&out) == stays * n + outside * BUCKET + others);
        assert_true(out.outside_bytes == outside * n);
        assert_true(out.moved_bytes == 2 * outside * n);
        assert_true(out.activation_bytes == in.activation_bytes);
    }
}

/* Recomputation comes first; its limit is where offloading begins. */
static void budget_offloads_after_recomputation(void **state)
{
    (void)state;
    hpc_trainer_options o = tiny_trainer(HPC_OPT_ADAMW), all = o, fits;
    all.step.recompute = HPC_RECOMPUTE_BLOCK;
    all.step.recompute_blocks = (int)o.model.layers;
    hpc_trainer_plan p = planned(all);
    double bytes = state_bytes(&p) + p.activation_bytes;
    o.offload.bucket = BUCKET;
    fits = o;
    test_ok(hpc_trainer_fit(&fits, bytes));
    assert_int_equal(fits.offload.policy, HPC_OFFLOAD_AUTO);
    fits = o;
    test_ok(hpc_trainer_fit(&fits, bytes - 1));
    assert_int_equal(fits.offload.policy, HPC_OFFLOAD_OPTIMIZER);
    p = planned(fits);
    assert_true(p.outside_bytes > 0 && state_bytes(&p) + p.activation_bytes < bytes);
    fits = o;
    test_fails(hpc_trainer_fit(&fits, 1000), HPC_E_ARG,
               "GiB with every block recomputed and optimizer state offloaded, memory allows "
               "9.31e-07: use fewer rows, a shorter length or a smaller model");
    fits = o;
    fits.offload.policy = HPC_OFFLOAD_NONE;
    test_fails(hpc_trainer_fit(&fits, bytes - 1), HPC_E_ARG, "with every block recomputed, memory");
}

/* ---- overflow ---------------------------------------------------------------------------------
 */

static void spoil(hpc_trainer *t)
{
    static float bad[NUMBERS];
    for (hpc_value v = 0; v < t->p->value_n; v++) {
        hpc_value g = t->p->value[v].grad;
        if (!t->p->value[v].trainable || g < 0 || t->p->value[g].absent) continue;
        size_t bytes = hpc_type_bytes(&t->p->value[g].type);
        bad[0] = NAN;
        assert_true(bytes <= sizeof bad);
        test_ok(hpc_exec_write(t->exec, 0, g, bad, bytes));
        return;
    }
    fail();
}

/* The last rank alone has a gradient that is not finite: no rank stows a bucket. */
static int overflow(hpc_link *world, void *user)
{
    job *j = user;
    hpc_trainer_options o = j->o;
    hpc_loader *l;
    hpc_trainer *t;
    hpc_trainer_result r;
    o.device.threads = 1;
    test_ok(hpc_grid_open(&o.grid, world, &j->shape));
    test_ok(hpc_trainer_open(&t, &o, false));
    test_ok(hpc_loader_open(&l, &(hpc_loader_options){.source = &j->source,
                                                      .source_n = 1,
                                                      .length = o.length,
                                                      .documents = o.documents,
                                                      .seed = o.seed}));
    uint64_t before = 0;
    for (int64_t s = 1; s <= 3; s++) {
        before = hpc_hash(t->outside->data, t->outside->bytes, 0);
        test_ok(hpc_trainer_load(t, l));
        if (s == 2 && hpc_link_rank(world) == hpc_link_size(world) - 1) spoil(t);
        test_ok(hpc_trainer_step(&r, t, s, 0.01, INFINITY));
        bool same = hpc_hash(t->outside->data, t->outside->bytes, 0) == before;
        assert_true(r.skipped == (s == 2) && same == (s == 2));
    }
    hpc_loader_close(l);
    hpc_trainer_close(t);
    hpc_grid_close(o.grid);
    return HPC_OK;
}

static void overflow_on_one_rank_writes_no_bucket(void **state)
{
    static const shape shapes[] = {{.pipe = 2}, {.data = 2, .zero = 1}};
    job *serial = pipeline(*state, 2, 2);
    serial->o.optimizer.kind = HPC_OPT_ADAMW;
    serial->o.model.dtype = HPC_BF16;
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        job *in = copy_of(serial, &shapes[k], HPC_PIPE_1F1B), *out = offloaded(in, *state);
        test_ok(hpc_threads_run(hpc_grid_size(&out->shape), overflow, out));
        hpc_free(in);
        hpc_free(out);
    }
    hpc_free(serial);
}

/* ---- the plan, and mistakes -------------------------------------------------------------------
 */

static void plan_records_the_bucket(void **state)
{
    hpc_trainer_options o = tiny_trainer(HPC_OPT_ADAMW);
    hpc_train_plan *plan;
    hpc_json *root;
    hpc_trainer *t;
    hpc_buf text = {0};
    (void)state;
    o.offload = (hpc_trainer_offload){.policy = HPC_OFFLOAD_OPTIMIZER, .bucket = BUCKET};
    test_ok(hpc_trainer_open(&t, &o, true));
    hpc_plan_put(&(hpc_json_out){.buf = &text}, NULL, t->value);
    hpc_trainer_close(t);
    test_ok(hpc_json_parse(&root, text.data, text.n, "plan"));
    test_ok(hpc_plan_get(&plan, root));
    assert_int_equal(plan->offload, BUCKET);
    o.offload = (hpc_trainer_offload){0};
    o.plan = plan;
    assert_true(planned(o).outside_bytes > 0);
    hpc_plan_free(plan);
    hpc_json_free(root);
    hpc_buf_release(&text);
}

/* A plan of an older version has no bucket: options decide, and it is written without one. */
static void plan_without_a_bucket_leaves_it_to_the_options(void **state)
{
    static const char key[] = ",\"offload_bucket\":0";
    hpc_trainer_options o = tiny_trainer(HPC_OPT_ADAMW);
    hpc_train_plan *plan;
    hpc_json *root;
    hpc_trainer *t;
    hpc_buf text = {0}, again = {0};
    (void)state;
    test_ok(hpc_trainer_open(&t, &o, true));
    hpc_plan_put(&(hpc_json_out){.buf = &text}, NULL, t->value);
    hpc_trainer_close(t);
    char *at = strstr(text.data, key);
    assert_non_null(at);
    memmove(at, at + strlen(key), strlen(at + strlen(key)) + 1);
    test_ok(hpc_json_parse(&root, text.data, strlen(text.data), "plan"));
    test_ok(hpc_plan_get(&plan, root));
    hpc_plan_put(&(hpc_json_out){.buf = &again}, NULL, plan);
    assert_string_equal(again.data, text.data);
    o.plan = plan;
    assert_true(planned(o).outside_bytes == 0);
    o.offload = (hpc_trainer_offload){.policy = HPC_OFFLOAD_OPTIMIZER, .bucket = BUCKET};
    assert_true(planned(o).outside_bytes > 0);
    hpc_plan_free(plan);
    hpc_json_free(root);
    hpc_buf_release(&text);
    hpc_buf_release(&again);
}

static void rejects_what_cannot_be_offloaded(void **state)
{
    hpc_trainer_options o = tiny_trainer(HPC_OPT_ADAMW);
    hpc_trainer *t;
    (void)state;
    o.offload = (hpc_trainer_offload){.policy = HPC_OFFLOAD_OPTIMIZER, .folder = "/nowhere"};
    test_fails(hpc_trainer_open(&t, &o, false), HPC_E_IO, "offload: cannot create a file in /now");
    o.step.adama = true;
    test_fails(hpc_trainer_open(&t, &o, true), HPC_E_ARG,
               "offload: the optimizer has no moments or masters that only element-wise updates "
               "use; use adamw without adama, or offload=none");
    o.step.adama = false;
    o.device.backend = "mock:1";
    test_fails(
        hpc_trainer_open(&t, &o, true), HPC_E_UNSUPPORTED,
        "offload: device mock cannot read a mapped file or pinned memory; use device=cpu, or "
        "offload=none");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_rank_has_the_bits_of_memory),
        cmocka_unit_test(grids_have_the_bits_of_memory),
        cmocka_unit_test(checkpoints_move_between_file_and_memory),
        cmocka_unit_test(bytes_are_those_of_the_closed_form),
        cmocka_unit_test(budget_offloads_after_recomputation),
        cmocka_unit_test(overflow_on_one_rank_writes_no_bucket),
        cmocka_unit_test(plan_records_the_bucket),
        cmocka_unit_test(plan_without_a_bucket_leaves_it_to_the_options),
        cmocka_unit_test(rejects_what_cannot_be_offloaded)};
    return cmocka_run_group_tests_name("train/offload", tests, hpc_test_folder_setup,
                                       hpc_test_folder_teardown);
}
