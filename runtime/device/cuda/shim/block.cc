/*
 * block.cc: a block's threads in turns, its barriers and collectives, and the rules of shared
 * memory.
 */
#include "runtime/device/cuda/shim/block.cuh"

#include <stdio.h>
#include <string.h>

/* ---- broken rules: the first is kept --------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void broken(shim_block *b, const char *format, ...)
{
    if (b->why[0]) return;
    int n = snprintf(b->why, HPC_CUDA_TEXT, "%s, block %d,%d, thread %d: ", b->name, b->x, b->y,
                     b->running);
    va_list list;
    va_start(list, format);
    if (n > 0 && n < HPC_CUDA_TEXT)
        vsnprintf(b->why + n, (size_t)(HPC_CUDA_TEXT - n), format, list);
    va_end(list);
}

/* ---- shared memory ---------------------------------------------------------------------- */

static shim_access now(const shim_block *b)
{
    const shim_thread *t = &b->thread[(size_t)b->running];
    return {b->running, t->barrier, t->collective};
}

/* Is access a ordered before b, of the running thread? */
static inline bool is_ordered(const shim_access &a, const shim_access &b)
{
    if (a.thread < 0 || a.thread == b.thread || a.barrier < b.barrier) return true;
    return a.thread / SIMT_WARP == b.thread / SIMT_WARP && a.collective < b.collective;
}

/* bytes: a power of two. */
static inline bool is_inside(shim_block *b, int byte, int bytes)
{
    if (byte >= 0 && byte + bytes <= (int)b->memory.size() && (byte & (bytes - 1)) == 0)
        return true;
    broken(b, "bytes %d to %d of %d bytes of shared memory", byte, byte + bytes - 1,
           (int)b->memory.size());
    return false;
}

void hpc_shim_outside(shim_block *b, int index, int n)
{
    broken(b, "element %d of a shared array of %d", index, n);
}

static inline void check_read(shim_block *b, int byte, const shim_access &access)
{
    shim_grain *s = &b->grain[(size_t)byte / SHIM_GRAIN];
    if (s->copier >= 0)
        broken(b, "reads shared byte %d before the copy by thread %d is waited for", byte,
               s->copier);
    else if (s->write.thread < 0)
        broken(b, "reads shared byte %d, which was never written", byte);
    else if (!is_ordered(s->write, access))
        broken(b, "reads shared byte %d, which thread %d wrote without a barrier between", byte,
               s->write.thread);
    if (s->read.thread >= 0 && s->read.thread != access.thread) s->other = s->read;
    s->read = access;
}

static inline void check_write(shim_block *b, int byte, const shim_access &access)
{
    shim_grain *s = &b->grain[(size_t)byte / SHIM_GRAIN];
    const shim_access *rival = !is_ordered(s->write, access)   ? &s->write
                               : !is_ordered(s->read, access)  ? &s->read
                               : !is_ordered(s->other, access) ? &s->other
                                                               : nullptr;
    if (s->copier >= 0)
        broken(b, "writes shared byte %d while a copy by thread %d is in flight", byte, s->copier);
    else if (rival)
        broken(b, "writes shared byte %d, which thread %d %s without a barrier between", byte,
               rival->thread, rival == &s->write ? "wrote" : "read");
    s->write = access;
    s->read.thread = s->other.thread = -1;
}

static unsigned char *refuge(shim_block *b)
{
    return (unsigned char *)b->word.data();
}

const void *hpc_shim_read(shim_block *b, int byte, int bytes)
{
    if (!is_inside(b, byte, bytes)) return refuge(b);
    const shim_access access = now(b);
    for (int k = 0; k < bytes; k += SHIM_GRAIN) check_read(b, byte + k, access);
    return b->memory.data() + byte;
}

void *hpc_shim_write(shim_block *b, int byte, int bytes)
{
    if (!is_inside(b, byte, bytes)) return refuge(b);
    const shim_access access = now(b);
    for (int k = 0; k < bytes; k += SHIM_GRAIN) check_write(b, byte + k, access);
    return b->memory.data() + byte;
}

/* ---- asynchronous copies ----------------------------------------------------------------- */

enum { COPY_BYTES = 16 };

void hpc_shim_copy(shim_block *b, int byte, const void *src)
{
    shim_thread *t = &b->thread[(size_t)b->running];
    if (!is_inside(b, byte, COPY_BYTES)) return;
    if ((uintptr_t)src % COPY_BYTES != 0) broken(b, "copies from an address that is not aligned");
    const shim_access access = now(b);
    for (int k = 0; k < COPY_BYTES; k += SHIM_GRAIN) {
        check_write(b, byte + k, access);
        b->grain[(size_t)((byte + k) / SHIM_GRAIN)].copier = b->running;
    }
    memset(b->memory.data() + byte, 0xff, COPY_BYTES);
    t->copying.push_back({byte, t->group, src});
}

void hpc_shim_commit(shim_block *b)
{
    b->thread[(size_t)b->running].group++;
}

void hpc_shim_wait(shim_block *b, int most)
{
    shim_thread *t = &b->thread[(size_t)b->running];
    size_t kept = 0;
    for (size_t k = 0; k < t->copying.size(); k++) {
        const shim_copying c = t->copying[k];
        if (c.group >= t->group - most) {
            t->copying[kept++] = c;
            continue;
        }
        memcpy(b->memory.data() + c.byte, c.src, COPY_BYTES);
        for (int i = 0; i < COPY_BYTES; i += SHIM_GRAIN) {
            shim_grain *g = &b->grain[(size_t)((c.byte + i) / SHIM_GRAIN)];
            g->copier = -1;
            g->write = now(b);
        }
    }
    t->copying.resize(kept);
}

/* ---- barriers and collectives -------------------------------------------------------------- */

static void pause(shim_block *b, shim_state state)
{
    shim_thread *t = &b->thread[(size_t)b->running];
    if (b->shape.independent) {
        broken(b, "waits, in a kernel that was launched as independent");
        return;
    }
    t->state = state;
    hpc_shim_fiber_switch(&t->fiber, &b->home, false);
}

void hpc_shim_sync(shim_block *b)
{
    b->thread[(size_t)b->running].what = "sync";
    pause(b, SHIM_AT_BARRIER);
}

/* Two buffers: a lane writes the one of the next collective only after all have read the other. */
const uint32_t (*hpc_shim_exchange(shim_block *b, const char *what, const uint32_t *word,
                                   int words))[SHIM_WORDS]
{
    shim_thread *t = &b->thread[(size_t)b->running];
    const size_t buffer = (size_t)(b->running / SIMT_WARP * 2 + t->collective % 2);
    uint32_t *all = b->word.data() + buffer * SIMT_WARP * SHIM_WORDS;
    t->what = what;
    if (words > 0) memcpy(all + b->running % SIMT_WARP * SHIM_WORDS, word, (size_t)words * 4);
    pause(b, SHIM_AT_COLLECTIVE);
    return (const uint32_t(*)[SHIM_WORDS])all;
}

int hpc_shim_thread(const shim_block *b)
{
    return b->running;
}

void hpc_shim_fail(shim_block *b, int kind, const int64_t number[4])
{
    if (b->fault->kind != HPC_FAULT_NONE) return;
    b->fault->kind = kind;
    b->fault->at = b->at;
    memcpy(b->fault->number, number, sizeof b->fault->number);
}

/* ---- matrices -------------------------------------------------------------------------------- */

static float from_bf16(uint32_t half)
{
    const uint32_t bits = half << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

void simt::load(uint32_t r[4], simt_shared<uint16_t> s, int i, bool transposed) const
{
    uint16_t row[8];
    uint32_t word[4];
    if (s.byte % 16 != 0 || i % 8 != 0) hpc_shim_outside(b, i, s.n);
    for (int k = 0; k < 8; k++) row[k] = s[i + k];
    memcpy(word, row, sizeof word);
    const uint32_t(*all)[SHIM_WORDS] = hpc_shim_exchange(b, "load_matrices", word, 4);
    const int l = lane();
    for (int m = 0; m < 4; m++) {
        uint16_t pair[2];
        for (int k = 0; k < 2; k++) {
            const int at_row = transposed ? l % 4 * 2 + k : l / 4;
            const int at_col = transposed ? l / 4 : l % 4 * 2 + k;
            memcpy(row, all[m * 8 + at_row], sizeof row);
            pair[k] = row[at_col];
        }
        memcpy(&r[m], pair, sizeof pair);
    }
}

/* Lane l has of a: rows l / 4 (+ 8 in words 1, 3), columns 2 (l % 4) (+ 8 in words 2, 3) and the
 * next; of b: rows as a's columns, column l / 4; of d: rows as a's, columns 2 (l % 4) and the next.
 */
void simt::multiply(float d[4], const uint32_t a[4], uint32_t b0, uint32_t b1) const
{
    const uint32_t word[6] = {a[0], a[1], a[2], a[3], b0, b1};
    const uint32_t(*all)[SHIM_WORDS] = hpc_shim_exchange(b, "multiply", word, 6);
    const int l = lane();
    for (int e = 0; e < 4; e++) {
        const int row = l / 4 + e / 2 * 8, col = l % 4 * 2 + e % 2;
        float sum = d[e];
        for (int k = 0; k < 16; k++) {
            const uint32_t x = all[row % 8 * 4 + k % 8 / 2][row / 8 + k / 8 * 2];
            const uint32_t y = all[col * 4 + k % 8 / 2][4 + k / 8];
            sum += from_bf16(x >> k % 2 * 16 & 0xffff) * from_bf16(y >> k % 2 * 16 & 0xffff);
        }
        d[e] = sum;
    }
}

void simt::multiply_bytes(int d[4], const uint32_t a[2], uint32_t right) const
{
    const uint32_t word[3] = {a[0], a[1], right};
    const uint32_t(*all)[SHIM_WORDS] = hpc_shim_exchange(b, "multiply_bytes", word, 3);
    const int l = lane();
    for (int e = 0; e < 4; e++) {
        const int row = l / 4 + e / 2 * 8, col = l % 4 * 2 + e % 2;
        for (int k = 0; k < 4; k++)
            d[e] = dot4((int)all[row % 8 * 4 + k][row / 8], (int)all[col * 4 + k][2], d[e]);
    }
}

/* ---- turns --------------------------------------------------------------------------------------
 */

void hpc_shim_order(std::vector<int> &order, int n, shim_schedule schedule, uint32_t *seed)
{
    order.resize((size_t)n);
    for (int k = 0; k < n; k++) order[(size_t)k] = schedule == SHIM_DESCENDING ? n - 1 - k : k;
    for (int k = n - 1; schedule == SHIM_PERMUTED && k > 0; k--) {
        *seed = *seed * 1664525u + 1013904223u;
        const size_t other = (*seed >> 8) % (uint32_t)(k + 1);
        const int kept = order[other];
        order[other] = order[(size_t)k];
        order[(size_t)k] = kept;
    }
}

static void thread_main(void *user)
{
    shim_block *b = (shim_block *)user;
    shim_thread *t = &b->thread[(size_t)b->running];
    b->entry(b, b->args, b->x, b->y, &b->shape);
    t = &b->thread[(size_t)b->running];
    if (!t->copying.empty()) broken(b, "ends with copies in flight");
    t->state = SHIM_DONE;
    hpc_shim_fiber_switch(&t->fiber, &b->home, true);
}

static void begin(shim_block *b)
{
    for (int k = 0; k < b->shape.threads; k++) {
        shim_thread *t = &b->thread[(size_t)k];
        t->state = SHIM_READY;
        t->barrier = t->collective = t->group = 0;
        t->copying.clear();
        if (!b->shape.independent) hpc_shim_fiber_start(&t->fiber, thread_main, b);
    }
    b->memory.assign((size_t)b->shape.shared_bytes, 0xff);
    const shim_grain fresh = {{-1, 0, 0}, {-1, 0, 0}, {-1, 0, 0}, -1};
    b->grain.assign((size_t)b->shape.shared_bytes / SHIM_GRAIN + 1, fresh);
}

/* The lanes of a warp take turns until none can go on. Returns whether any did. */
static bool run_warp(shim_block *b, int warp, const std::vector<int> &order)
{
    bool any = false;
    for (;;) {
        int waiting = 0;
        const char *what = nullptr;
        for (int lane : order) {
            const int k = warp * SIMT_WARP + lane;
            shim_thread *t = &b->thread[(size_t)k];
            b->running = k;
            if (t->state == SHIM_READY) {
                hpc_shim_fiber_switch(&b->home, &t->fiber, false);
                any = true;
            }
            if (t->state != SHIM_AT_COLLECTIVE) continue;
            if (what && strcmp(what, t->what) != 0) {
                broken(b, "is at %s, other lanes at %s", t->what, what);
                return any;
            }
            what = t->what;
            waiting++;
        }
        if (waiting < SIMT_WARP) return any;
        for (int lane = 0; lane < SIMT_WARP; lane++) {
            shim_thread *t = &b->thread[(size_t)(warp * SIMT_WARP + lane)];
            t->state = SHIM_READY;
            t->collective++;
        }
    }
}

/* Nothing can go on: names a thread that waits and one that does not come. */
static void report_stuck(shim_block *b)
{
    int waits = -1, absent = -1;
    for (int k = 0; k < b->shape.threads; k++)
        if (b->thread[(size_t)k].state == SHIM_AT_COLLECTIVE) waits = k;
    for (int k = 0; k < b->shape.threads && waits < 0; k++)
        if (b->thread[(size_t)k].state == SHIM_AT_BARRIER) waits = k;
    const shim_thread *w = &b->thread[(size_t)waits];
    for (int k = 0; k < b->shape.threads && absent < 0; k++) {
        const bool alike = w->state == SHIM_AT_BARRIER || k / SIMT_WARP == waits / SIMT_WARP;
        if (alike && b->thread[(size_t)k].state != w->state) absent = k;
    }
    b->running = absent;
    broken(b, "%s and never comes to the %s that thread %d waits in",
           b->thread[(size_t)absent].state == SHIM_DONE ? "has ended" : "waits elsewhere", w->what,
           waits);
}

/* True when all have ended; false: go on, unless a rule is broken. */
static bool pass_barrier(shim_block *b)
{
    int at = 0, done = 0;
    for (int k = 0; k < b->shape.threads; k++) {
        at += b->thread[(size_t)k].state == SHIM_AT_BARRIER;
        done += b->thread[(size_t)k].state == SHIM_DONE;
    }
    if (done == b->shape.threads) return true;
    if (at < b->shape.threads) {
        report_stuck(b);
        return true;
    }
    for (int k = 0; k < b->shape.threads; k++) {
        b->thread[(size_t)k].state = SHIM_READY;
        b->thread[(size_t)k].barrier++;
    }
    return false;
}

void hpc_shim_run_block(shim_block *b, int x, int y)
{
    std::vector<int> lanes;
    b->x = x;
    b->y = y;
    begin(b);
    if (b->shape.independent) {
        hpc_shim_order(b->order, b->shape.threads, b->schedule, &b->seed);
        for (int k : b->order) {
            b->running = k;
            b->entry(b, b->args, x, y, &b->shape);
        }
        return;
    }
    do {
        hpc_shim_order(b->order, b->shape.threads / SIMT_WARP, b->schedule, &b->seed);
        hpc_shim_order(lanes, SIMT_WARP, b->schedule, &b->seed);
        for (int warp : b->order) run_warp(b, warp, lanes);
    } while (!pass_barrier(b));
}
