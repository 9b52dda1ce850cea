/*
 * self.c: the link of one rank: copies, messages to itself, errors, zero traffic.
 */
#include "tests/support/ranks.h"

static hpc_link *open_self(void)
{
    hpc_link *l;
    assert_no_failure(hpc_link_self(&l));
    assert_int_equal(hpc_link_rank(l), 0);
    assert_int_equal(hpc_link_size(l), 1);
    return l;
}

static void every_collective_is_a_copy(void **state)
{
    (void)state;
    hpc_link *l = open_self();
    const float send[3] = {1.5F, -2, 3};
    for (int k = HPC_ALL_REDUCE; k <= HPC_BROADCAST; k++) {
        float recv[4] = {9, 9, 9, 9};
        hpc_comm c = {.kind = (hpc_comm_kind)k, .n = 3, .send = send, .recv = recv};
        assert_no_failure(hpc_link_run(l, &c));
        assert_memory_equal(recv, send, sizeof send);
        assert_true(recv[3] == 9);
    }
    int64_t counts[1] = {2};
    float recv[3] = {9, 9, 9};
    hpc_comm c = {
        .kind = HPC_ALL_TO_ALL, .send = send, .recv = recv, .send_n = counts, .recv_n = counts};
    assert_no_failure(hpc_link_run(l, &c));
    assert_true(recv[0] == 1.5F && recv[1] == -2 && recv[2] == 9);
    hpc_comm nothing = {.kind = HPC_ALL_REDUCE};
    assert_no_failure(hpc_link_run(l, &nothing));
    hpc_comm root = {.kind = HPC_BROADCAST, .n = 3, .send = send};
    assert_no_failure(hpc_link_run(l, &root));
    for (int k = 0; k < HPC_COMM_KIND_N; k++) {
        assert_int_equal(l->traffic.messages[k], 0);
        assert_int_equal(l->traffic.bytes[k], 0);
    }
    hpc_link_close(l);
}

static void messages_match_by_tag(void **state)
{
    (void)state;
    hpc_link *l = open_self();
    int32_t a = 1, b = 2, c = 3, got[3] = {0};
    hpc_handle h[6] = {{0}};
    bool done;
    hpc_comm send = {.kind = HPC_SEND, .dtype = HPC_I32, .tag = 7, .n = 1, .send = &a};
    hpc_comm recv = {.kind = HPC_RECV, .dtype = HPC_I32, .tag = 8, .n = 1, .recv = &got[0]};
    assert_no_failure(hpc_link_start(l, &h[0], &send));
    send.send = &b;
    assert_no_failure(hpc_link_start(l, &h[1], &send));
    assert_no_failure(hpc_link_start(l, &h[2], &recv));
    assert_no_failure(hpc_link_test(&h[2], &done));
    assert_false(done);
    recv.tag = 7;
    recv.recv = &got[1];
    assert_no_failure(hpc_link_start(l, &h[3], &recv));
    assert_no_failure(hpc_link_wait(&h[3]));
    recv.recv = &got[2];
    assert_no_failure(hpc_link_start(l, &h[4], &recv));
    send.send = &c;
    send.tag = 8;
    assert_no_failure(hpc_link_start(l, &h[5], &send));
    for (int i = 0; i < 6; i++) assert_no_failure(hpc_link_wait(&h[i]));
    assert_int_equal(got[0], 3);
    assert_int_equal(got[1], 1);
    assert_int_equal(got[2], 2);
    assert_int_equal(l->traffic.messages[HPC_SEND], 0);
    hpc_link_close(l);
}

static void assert_failure(int rc, int code, const char *part)
{
    const char *const parts[] = {part, NULL};
    assert_no_failure(expect_failure(rc, code, parts));
}

static void errors(void **state)
{
    (void)state;
    hpc_link *l = open_self(), *other;
    float x[4] = {0}, y[4];
    int64_t two = 2, three = 3;
    hpc_handle h = {0}, g = {0};
    hpc_comm alone = {.kind = HPC_RECV, .n = 1, .recv = x, .tag = 5};
    assert_failure(hpc_link_run(l, &alone), HPC_E_STATE,
                   "recv: rank 0 waits for itself under tag 5");
    hpc_comm uneven = {
        .kind = HPC_ALL_TO_ALL, .send = x, .recv = y, .send_n = &two, .recv_n = &three};
    assert_failure(hpc_link_run(l, &uneven), HPC_E_SHAPE,
                   "rank 0 sends 2 f32 to rank 0, which expects 3");
    hpc_comm send = {.kind = HPC_SEND, .n = 2, .send = y, .tag = 5};
    assert_no_failure(hpc_link_start(l, &h, &alone));
    assert_failure(hpc_link_start(l, &h, &alone), HPC_E_STATE, "still has an operation in flight");
    assert_no_failure(hpc_link_start(l, &g, &send));
    assert_failure(hpc_link_wait(&h), HPC_E_SHAPE, "send f32[2]");
    assert_failure(hpc_link_wait(&g), HPC_E_SHAPE, "recv f32[1]");
    assert_no_failure(hpc_link_split(&other, l, -1, 0));
    assert_null(other);
    assert_no_failure(hpc_link_split(&other, l, 3, 0));
    assert_int_equal(hpc_link_size(other), 1);
    hpc_link_close(other);
    hpc_link_close(NULL);
    assert_no_failure(hpc_link_start(l, &h, &alone));
    hpc_link_abort(l, "no more");
    assert_failure(hpc_link_wait(&h), HPC_E_ABORTED, "rank 0 failed: no more");
    hpc_comm c = {.kind = HPC_ALL_REDUCE, .n = 1, .send = x, .recv = y};
    assert_failure(hpc_link_run(l, &c), HPC_E_ABORTED, "no more");
    assert_failure(hpc_link_split(&other, l, 0, 0), HPC_E_ABORTED, "no more");
    hpc_link_close(l);
}

/* Records come from a free list; operations in flight at close leak nothing. */
static void steady_state_allocates_nothing(void **state)
{
    (void)state;
    hpc_link *l = open_self();
    float x = 1, y = 0;
    int64_t before = 0;
    hpc_comm send = {.kind = HPC_SEND, .n = 1, .send = &x};
    hpc_comm recv = {.kind = HPC_RECV, .n = 1, .recv = &y};
    hpc_handle h[2] = {{0}};
    for (int i = 0; i < 10; i++) {
        if (i == 1) before = hpc_test_alloc_count();
        assert_no_failure(hpc_link_start(l, &h[0], &send));
        assert_no_failure(hpc_link_start(l, &h[1], &recv));
        assert_no_failure(hpc_link_wait(&h[0]));
        assert_no_failure(hpc_link_wait(&h[1]));
    }
    assert_int_equal(hpc_test_alloc_count(), before);
    assert_no_failure(hpc_link_start(l, &h[0], &send));
    hpc_link_close(l);
}

static int make_and_send(void *user)
{
    (void)user;
    hpc_link *l;
    float x = 1;
    hpc_handle h = {0};
    hpc_comm send = {.kind = HPC_SEND, .n = 1, .send = &x};
    int rc = hpc_link_self(&l);
    if (rc < 0) return rc;
    rc = hpc_link_start(l, &h, &send);
    hpc_link_close(l);
    return rc;
}

static void failing_allocations(void **state)
{
    (void)state;
    assert_int_equal(hpc_test_each_alloc(make_and_send, NULL), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_collective_is_a_copy, start_over),
        cmocka_unit_test_setup(messages_match_by_tag, start_over),
        cmocka_unit_test_setup(errors, start_over),
        cmocka_unit_test_setup(steady_state_allocates_nothing, start_over),
        cmocka_unit_test_setup(failing_allocations, start_over),
    };
    return cmocka_run_group_tests_name("link/self", tests, NULL, NULL);
}
