/*
 * backend.c: the mock backend: allocation, copies, launches, events and fences.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/device/mock/priv.h"

enum { MOCK_CPU, MOCK_GPU, MOCK_N }; /* devices, by what they answer */

static mock *mock_of(hpc_device *d)
{
    return (mock *)d;
}

block *hpc_mock_block(mock *m, const void *p, size_t bytes)
{
    const uint8_t *at = p;
    for (int64_t k = 0; k < m->block_n; k++) {
        block *b = &m->block[k];
        if (at >= b->device && at + bytes <= b->device + b->bytes) return b;
    }
    return NULL;
}

void *hpc_mock_host(mock *m, const void *p)
{
    if (!p) return NULL;
    const block *b = hpc_mock_block(m, p, 1);
    if (!b) b = hpc_mock_block(m, p, 0); /* an empty tensor at a block's very end */
    return b ? b->host + ((const uint8_t *)p - b->device) : NULL;
}

void hpc_mock_fault(mock *m)
{
    if (m->fault.code == HPC_OK) m->fault = *hpc_error_get();
    hpc_error_clear();
}

/* A broken rule is the device's fault; only lack of memory is the caller's at once. */
static int note(mock *m, int rc)
{
    if (rc == HPC_E_NOMEM) return rc;
    if (rc < 0) hpc_mock_fault(m);
    return HPC_OK;
}

static void mock_close(hpc_device *d)
{
    mock *m = mock_of(d);
    for (int q = 0; q < HPC_QUEUE_N; q++) hpc_free(m->queue[q].command);
    hpc_free(m->block);
    hpc_free(m->event);
    hpc_free(m->args);
    hpc_free(m->own);
    hpc_free(m);
}

static int mock_open(hpc_device **out, const hpc_device_options *o)
{
    int rc = HPC_OK;
    mock *m = hpc_alloc(1, sizeof *m);
    if (!m) return HPC_E_NOMEM;
    m->base.backend = &hpc_backend_mock;
    m->base.reference = &hpc_ref_kernels;
    m->base.info = (hpc_device_info){.backend = "mock", .threads = 1};
    hpc_barrier_init(&m->alone, 1);
    for (int q = 0; q < HPC_QUEUE_N; q++) m->stream[q] = (mock_stream){m, (hpc_queue)q};
    TRY(hpc_cpu_kernels_find(&m->base.kernels, &m->base.info.isa, o->isa));
    m->base.cpu = hpc_cpu_traits_read(m->base.info.isa);
    m->base.info.cpu = &m->base.cpu;
    if (o->index == MOCK_GPU) m->base.info.activations = HPC_BF16;
    *out = &m->base;
    m = NULL;
out:
    if (m) mock_close(&m->base);
    return rc;
}

static void unmap(block *b)
{
    if (b->device) munmap(b->device, b->bytes);
    hpc_free(b->host);
    hpc_free(b->granule);
}

static int mock_alloc(void **out, hpc_device *d, size_t bytes)
{
    mock *m = mock_of(d);
    int rc = HPC_OK;
    block b = {.bytes = (bytes + 4095) / 4096 * 4096};
    if (b.bytes == 0) b.bytes = 4096;
    TRY(hpc_grow(&m->block, &m->block_cap, m->block_n + 1, sizeof *m->block));
    b.host = hpc_alloc_aligned(b.bytes, 1, HPC_ALIGN);
    b.granule = hpc_alloc(b.bytes / GRANULE, sizeof *b.granule);
    if (!b.host || !b.granule) TRY(HPC_E_NOMEM);
    void *p = mmap(NULL, b.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) TRY(hpc_fail_os(HPC_E_NOMEM, "reserving %zu bytes of addresses", b.bytes));
    b.device = p;
    memset(b.host, 0xff, b.bytes);
    m->block[m->block_n++] = b;
    *out = b.device;
    b = (block){0};
out:
    unmap(&b);
    return rc;
}

static void mock_release(hpc_device *d, void *p)
{
    mock *m = mock_of(d);
    for (int64_t k = 0; k < m->block_n; k++) {
        if (m->block[k].device != p) continue;
        unmap(&m->block[k]);
        m->block[k] = m->block[--m->block_n];
        return;
    }
}

static int mock_fence(hpc_device *d)
{
    return hpc_mock_run(mock_of(d));
}

static int check_copy(mock *m, hpc_queue q, void *dst, const void *src, size_t bytes,
                      hpc_direction way)
{
    int rc = HPC_OK;
    if (way != HPC_TO_DEVICE)
        TRY(hpc_mock_check_read(m, q, src, bytes, ANY_VALUE, "a copy's source"));
    if (way != HPC_TO_HOST)
        TRY(hpc_mock_check_write(m, q, dst, bytes, ANY_VALUE, "a copy's destination"));
out:
    return rc;
}

/* The host's destination is spoiled at once: using it before the fence shows. */
static int mock_copy(hpc_device *d, hpc_queue q, void *dst, const void *src, size_t bytes,
                     hpc_direction way)
{
    mock *m = mock_of(d);
    m->queue[q].number++;
    int rc = check_copy(m, q, dst, src, bytes, way);
    if (rc < 0) return note(m, rc);
    command c = {.kind = COMMAND_COPY, .dst = dst, .src = src, .bytes = bytes};
    if (way != HPC_TO_HOST) c.dst = hpc_mock_host(m, dst);
    if (way != HPC_TO_DEVICE) c.src = hpc_mock_host(m, src);
    if (way == HPC_TO_HOST) memset(dst, 0xff, bytes);
    return hpc_mock_push(m, q, &c);
}

static int keep_args(mock *m, const hpc_signature *s, const void *args, size_t *at)
{
    size_t n = (size_t)s->operand_n * sizeof(hpc_tensor) + s->attr_bytes;
    size_t room = (n + HPC_ALIGN - 1) / HPC_ALIGN * HPC_ALIGN;
    int rc = hpc_grow(&m->args, &m->args_cap, m->args_n + (int64_t)room, 1);
    if (rc < 0) return rc;
    *at = (size_t)m->args_n;
    m->args_n += (int64_t)room;
    memcpy(m->args + *at, args, n);
    for (int k = 0; k < s->operand_n; k++) {
        hpc_tensor *t = hpc_args_operand(m->args + *at, k);
        t->data = hpc_mock_host(m, t->data);
        t->count = hpc_mock_host(m, t->count);
    }
    return HPC_OK;
}

static int mock_launch(hpc_device *d, hpc_queue q, const hpc_plan *p, const hpc_signature *s,
                       const void *args, void *workspace, const int32_t *guard, hpc_origin at)
{
    mock *m = mock_of(d);
    m->queue[q].number++;
    int rc = hpc_mock_check_launch(m, q, p, s, args, workspace, guard);
    if (rc < 0) {
        hpc_error_where("%s #%d %s", at.segment, at.insn, s->name);
        return note(m, rc);
    }
    command c = {.kind = COMMAND_LAUNCH,
                 .plan = *p,
                 .workspace = p->workspace ? workspace : NULL,
                 .guard = guard,
                 .at = at};
    TRY(keep_args(m, s, args, &c.args));
    TRY(hpc_mock_push(m, q, &c));
out:
    return rc;
}

static int mock_record(hpc_device *d, hpc_queue q, int *event_out)
{
    mock *m = mock_of(d);
    int rc = HPC_OK;
    if (m->recycle) m->event_n = 0;
    m->recycle = false;
    TRY(hpc_grow(&m->event, &m->event_cap, m->event_n + 1, sizeof *m->event));
    event *e = &m->event[m->event_n];
    memcpy(e->clock, m->queue[q].clock, sizeof e->clock);
    e->clock[q] = m->queue[q].number;
    e->reached = false;
    *event_out = (int)m->event_n++;
    TRY(hpc_mock_push(m, q, &(command){.kind = COMMAND_RECORD, .event = *event_out}));
out:
    return rc;
}

static int mock_wait(hpc_device *d, hpc_queue q, int event_in)
{
    mock *m = mock_of(d);
    const event *e = &m->event[event_in];
    for (int o = 0; o < HPC_QUEUE_N; o++)
        if (e->clock[o] > m->queue[q].clock[o]) m->queue[q].clock[o] = e->clock[o];
    return hpc_mock_push(m, q, &(command){.kind = COMMAND_WAIT, .event = event_in});
}

/* Other commands may have run by then, but only those before the event are ordered. */
static int mock_sync(hpc_device *d, int event_in)
{
    mock *m = mock_of(d);
    const event *e = &m->event[event_in];
    hpc_mock_drain(m);
    for (int q = 0; q < HPC_QUEUE_N; q++)
        for (int o = 0; o < HPC_QUEUE_N; o++)
            if (e->clock[o] > m->queue[q].clock[o]) m->queue[q].clock[o] = e->clock[o];
    return HPC_OK;
}

static int mock_elapsed(hpc_device *d, int from, int to, int64_t *ns)
{
    const mock *m = mock_of(d);
    *ns = m->event[to].at - m->event[from].at;
    return HPC_OK;
}

static int mock_fill(hpc_device *d, hpc_queue q, void *p, int byte, size_t bytes)
{
    mock *m = mock_of(d);
    m->queue[q].number++;
    int rc = hpc_mock_check_write(m, q, p, bytes, ANY_VALUE, "filled memory");
    if (rc < 0) return note(m, rc);
    return hpc_mock_push(
        m, q,
        &(command){.kind = COMMAND_FILL, .dst = hpc_mock_host(m, p), .byte = byte, .bytes = bytes});
}

static hpc_layout mock_layout(const hpc_device *d, hpc_weight_role role, hpc_dtype t)
{
    if (d->info.index == MOCK_CPU) return hpc_backend_cpu.layout(d, role, t);
    return (hpc_layout){.pack = HPC_PLAIN};
}

static int mock_list(hpc_device_entry *out, int most)
{
    static const hpc_device_entry all[MOCK_N] = {
        {"mock", true, "the CPU, with the memory rules and the queues of a GPU; for tests"},
        {"mock:1", true, "the same, with the weight layouts and the bf16 activations of a GPU"}};
    for (int k = 0; k < MOCK_N && k < most; k++) out[k] = all[k];
    return MOCK_N < most ? (int)MOCK_N : most;
}

static void *mock_stream_of(hpc_device *d, hpc_queue q)
{
    return &mock_of(d)->stream[q];
}

int hpc_mock_transfer(mock_stream *s, const mock_transfer *list, int n, int (*run)(void *user),
                      void *user)
{
    mock *m = s->m;
    int rc = HPC_OK;
    m->queue[s->queue].number++;
    for (int k = 0; k < n && rc >= 0; k++) {
        const mock_transfer *t = &list[k];
        rc = hpc_mock_check_read(m, s->queue, t->send, t->send_bytes, ANY_VALUE, "sent memory");
        if (rc >= 0)
            rc = hpc_mock_check_write(m, s->queue, t->recv, t->recv_bytes, ANY_VALUE,
                                      "received memory");
    }
    rc = note(m, rc);
    if (rc < 0) return rc;
    return hpc_mock_push(m, s->queue,
                         &(command){.kind = COMMAND_TRANSFER, .transfer = run, .user = user});
}

static int mock_wrote(hpc_device *d, hpc_queue q, void *p, size_t bytes, uint32_t id)
{
    mock *m = mock_of(d);
    return note(m, hpc_mock_check_write(m, q, p, bytes, id, "a write from outside"));
}

const hpc_backend hpc_backend_mock = {
    .name = "mock",
    .open = mock_open,
    .close = mock_close,
    .alloc = mock_alloc,
    .release = mock_release,
    .fence = mock_fence,
    .copy = mock_copy,
    .launch = mock_launch,
    .record = mock_record,
    .wait = mock_wait,
    .stream = mock_stream_of,
    .wrote = mock_wrote,
    .sync = mock_sync,
    .elapsed = mock_elapsed,
    .fill = mock_fill,
    .poisoned = true,
    .layout = mock_layout,
    .list = mock_list,
};
