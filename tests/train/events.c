/*
 * Tests of train/events.c: the bytes equal those of TensorBoard's own writer, and the rows of a
 * run, decoded here.
 */
/* tsan: left out, starts no thread. */
#include <dirent.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/folder.h"
#include "train/metrics.h"

static void ok(int rc)
{
    if (rc < 0) fail_msg("%s", hpc_error_get()->text);
}

/* The only event file of a folder. */
static void read_events(hpc_buf *out, const hpc_test_folder *f)
{
    char path[PATH_MAX];
    int found = 0;
    DIR *d = opendir(f->root);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));)
        if (strncmp(e->d_name, "events.out.tfevents.", 20) == 0 && ++found)
            ok(hpc_file_read(out, hpc_test_path(path, f, e->d_name), 1 << 20));
    closedir(d);
    assert_int_equal(found, 1);
}

static void equals_tensorboards_writer(void **state)
{
    const hpc_test_folder *f = *state;
    char path[PATH_MAX], tag[201];
    hpc_buf ours = {0}, theirs = {0};
    hpc_events *e;
    memset(tag, 't', 200);
    tag[200] = '\0';
    const hpc_event_scalar two[] = {{"train/loss", 2.5f}, {"train/lr", 0}};
    ok(hpc_events_open(&e, f->root, 300, 1700000000.25, "node-1.x"));
    ok(hpc_events_add(e, 301, 1700000001.5, two, 2));
    ok(hpc_events_add(e, 5000000000, 1700000002.125, &(hpc_event_scalar){"validation/loss", -0.1f},
                      1));
    ok(hpc_events_add(e, 5000000001, 1700000003.0, &(hpc_event_scalar){tag, 1.0f / 0.0f}, 1));
    hpc_events_close(e);
    ok(hpc_file_read(&ours, hpc_test_path(path, f, "events.out.tfevents.1700000000.node-1.x"),
                     1 << 20));
    ok(hpc_file_read(&theirs, "tests/fixtures/events.bin", 1 << 20));
    assert_int_equal(ours.n, theirs.n);
    assert_memory_equal(ours.data, theirs.data, ours.n);
    hpc_buf_release(&ours);
    hpc_buf_release(&theirs);
}

static void hosts_are_made_names(void **state)
{
    const hpc_test_folder *f = *state;
    char path[PATH_MAX];
    hpc_events *e;
    ok(hpc_events_open(&e, f->root, 0, 5.5, "a/../b c"));
    hpc_events_close(e);
    assert_true(hpc_file_exists(hpc_test_path(path, f, "events.out.tfevents.0000000005.a_.._b_c")));
    ok(hpc_events_open(&e, f->root, 0, 1e9, ""));
    hpc_events_close(e);
    assert_true(
        hpc_file_exists(hpc_test_path(path, f, "events.out.tfevents.1000000000.localhost")));
    hpc_events_close(NULL);
    assert_int_equal(hpc_events_open(&e, "/nowhere/at/all", 0, 1, "h"), HPC_E_IO);
    assert_null(e);
    hpc_error_clear();
}

/* ---- a decoder --------------------------------------------------------------------- */

/* By the polynomial in its usual direction, over reversed bits: another way than the product's. */
static uint32_t reversed(uint32_t v, int bits)
{
    uint32_t r = 0;
    for (int k = 0; k < bits; k++) r |= (v >> k & 1) << (bits - 1 - k);
    return r;
}

static uint32_t checksum(const uint8_t *p, size_t n)
{
    uint32_t crc = ~0u;
    for (size_t k = 0; k < n; k++) {
        crc ^= reversed(p[k], 8) << 24;
        for (int bit = 0; bit < 8; bit++) crc = crc << 1 ^ (crc >> 31 ? 0x1edc6f41u : 0);
    }
    return reversed(~crc, 32);
}

static uint32_t unmasked(const uint8_t *p)
{
    uint32_t masked;
    memcpy(&masked, p, 4);
    masked -= 0xa282ead8u;
    return masked >> 17 | masked << 15;
}

typedef struct field {
    int number, wire;
    uint64_t value;      /* of a number: its bits */
    const uint8_t *data; /* of bytes: value of them */
} field;

static uint64_t varint(const uint8_t **p)
{
    uint64_t v = 0;
    for (int shift = 0;; shift += 7) {
        uint8_t byte = *(*p)++;
        v |= (uint64_t)(byte & 127) << shift;
        if (!(byte & 128)) return v;
    }
}

static bool next_field(const uint8_t **p, const uint8_t *end, field *f)
{
    assert_true(*p <= end);
    if (*p == end) return false;
    uint64_t key = varint(p);
    *f = (field){.number = (int)(key >> 3), .wire = (int)(key & 7)};
    size_t n = f->wire == 1 ? 8 : f->wire == 5 ? 4 : 0;
    if (f->wire == 0 || f->wire == 2) f->value = varint(p);
    if (f->wire == 2) n = f->value;
    assert_true(f->wire < 3 || f->wire == 5);
    assert_true(n <= (size_t)(end - *p));
    f->data = *p;
    if (n && f->wire != 2) memcpy(&f->value, *p, n);
    *p += n;
    return true;
}

typedef struct event {
    double time;
    int64_t step;
    int n;
    char tag[HPC_METRIC_N][64];
    float value[HPC_METRIC_N];
    char version[32];
    int status;
} event;

static void decode_value(event *e, const uint8_t *p, const uint8_t *end)
{
    field f;
    assert_true(e->n < HPC_METRIC_N);
    while (next_field(&p, end, &f)) {
        if (f.number == 1) snprintf(e->tag[e->n], 64, "%.*s", (int)f.value, (const char *)f.data);
        if (f.number == 2) memcpy(&e->value[e->n], &f.value, 4);
    }
    e->n++;
}

/* The event at *at, which moves on, with both checksums right. */
static event decode(const hpc_buf *b, size_t *at)
{
    const uint8_t *p = (const uint8_t *)b->data + *at;
    uint64_t n;
    event e = {0};
    field f, g;
    assert_true(*at + 16 <= b->n);
    memcpy(&n, p, 8);
    assert_int_equal(unmasked(p + 8), checksum(p, 8));
    assert_true(*at + 16 + n <= b->n);
    assert_int_equal(unmasked(p + 12 + n), checksum(p + 12, n));
    *at += 16 + n;
    p += 12;
    for (const uint8_t *end = p + n; next_field(&p, end, &f);) {
        const uint8_t *inner = f.data;
        if (f.number == 1) memcpy(&e.time, &f.value, 8);
        if (f.number == 2) e.step = (int64_t)f.value;
        if (f.number == 3) snprintf(e.version, sizeof e.version, "%.*s", (int)f.value, inner);
        if (f.number == 5)
            while (next_field(&inner, f.data + f.value, &g))
                decode_value(&e, g.data, g.data + g.value);
        if (f.number == 7 && next_field(&inner, f.data + f.value, &g)) e.status = (int)g.value;
    }
    return e;
}

/* Two rows after step `after`, the second with a validation. */
static void become_events(void **state, int after)
{
    hpc_metrics *m;
    hpc_metrics_row r = {.absent = {[HPC_METRIC_VALIDATION_LOSS] = true}};
    hpc_buf b = {0};
    size_t at = 0;
    assert_int_equal(checksum((const uint8_t *)"123456789", 9), 0xe3069283u);
    ok(hpc_metrics_open(&m, ((hpc_test_folder *)*state)->root, after));
    for (int step = after + 1; step <= after + 2; step++) {
        r.value[HPC_METRIC_STEP] = step;
        r.value[HPC_METRIC_LOSS] = 0.5 * step;
        if (step == after + 2) r.absent[HPC_METRIC_VALIDATION_LOSS] = false;
        if (step == after + 2) r.value[HPC_METRIC_VALIDATION_LOSS] = 1.25;
        ok(hpc_metrics_add(m, &r));
    }
    hpc_metrics_close(m);
    read_events(&b, *state);
    event e = decode(&b, &at);
    assert_string_equal(e.version, "brain.Event:2");
    assert_true(e.step == 0 && e.time > 1.6e9 && e.time <= hpc_events_time());
    e = decode(&b, &at);
    assert_true(e.status == 1 && e.step == after + 1); /* later events are void */
    for (int step = after + 1; step <= after + 2; step++) {
        e = decode(&b, &at);
        assert_int_equal(e.step, step);
        assert_int_equal(e.n, HPC_METRIC_N - (step == after + 1 ? 2 : 1)); /* step has no tag */
        assert_string_equal(e.tag[1], "train/loss");
        assert_true(e.value[1] == 0.5f * (float)step);
        if (step == after + 2) assert_string_equal(e.tag[10], "validation/loss");
        if (step == after + 2) assert_true(e.value[10] == 1.25f);
    }
    assert_int_equal(at, b.n);
    hpc_buf_release(&b);
}

static void rows_become_events(void **state)
{
    become_events(state, 0);
}
static void rows_of_a_restart_become_events(void **state)
{
    become_events(state, 6);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(equals_tensorboards_writer),
        TEST(hosts_are_made_names),
        TEST(rows_become_events),
        TEST(rows_of_a_restart_become_events),
    };
    return cmocka_run_group_tests_name("train/events", tests, NULL, NULL);
}
