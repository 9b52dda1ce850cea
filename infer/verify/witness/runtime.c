/*
 * runtime.c: observes the serial loops of a user's program and reports two iterations of a loop
 * that access the same memory, at least one of them writing. It replaces the library of the thread
 * sanitizer for code that this sanitizer instrumented. It is not part of hpccoder: the program's
 * own compiler compiles it, and it is linked to the program.
 *
 * Each 8 bytes of memory have a shadow cell with the iteration that wrote them last, the one that
 * read them first, and the places. Iteration numbers only grow, so accesses of an earlier loop need
 * no clearing. Smaller accesses split a cell.
 *
 * Not observed, on purpose: registers (hpc_witness_name keeps named variables out of them),
 * accesses in libraries without instrumentation, other threads, and the stack below the loop's
 * frame, which is new in every iteration.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "infer/verify/witness/priv.h"

__thread watch hpc_witness_self;
__thread unsigned long long hpc_witness_accesses;
cell **hpc_witness_chunks;
static loop_record record[LOOPS_MOST];
static uintptr_t far[FAR_MOST]; /* code too far away for 31 bits */
static int far_n;
static uint32_t counter; /* iterations of all loops so far */
static int busy;         /* a thread is watching */
static int report = -1;
static cell *pool;
static int pool_left;
static range own; /* variables of the thread that were met */

/* ---- the report: lines of words, each written at once, because the program may crash -------- */

static void say(const char *text, int n)
{
    const char *path = getenv("HPC_WITNESS_REPORT");
    int kept = errno;
    if (report < 0 && path) report = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (report >= 0 && n > 0 && write(report, text, (size_t)n) < 0) report = -1;
    errno = kept;
}

static void keep_shared(const watch *s)
{
    for (int k = 0; k < s->ranges_n; k++)
        if (s->range[k].shared && s->range[k].name >= 0 && s->range[k].name < NAMES_MOST)
            record[s->loop].shared[s->range[k].name] = true;
}

__attribute__((destructor)) static void say_end(void)
{
    char line[400];
    if (hpc_witness_self.frame) hpc_witness_stop(&hpc_witness_self);
    for (int k = 0; k < LOOPS_MOST; k++) {
        const loop_record *l = &record[k];
        if (l->entered == 0 && l->refused == 0) continue;
        say(line, snprintf(line, sizeof line, "loop %d %lld %lld %lld %lld %d\n", k, l->entered,
                           l->iterations, l->hits, l->refused, l->hidden));
        if (l->cost > 0)
            say(line, snprintf(line, sizeof line, "cost %d %lld %lld %lld %lld %lld\n", k, l->cost,
                               l->most, l->by_static, l->by_guided, l->by_dynamic));
        for (int name = 0; name < NAMES_MOST; name++)
            if (l->shared[name]) say(line, snprintf(line, sizeof line, "shared %d %d\n", k, name));
    }
    if (report < 0) return;
    say(line, snprintf(line, sizeof line, "accesses %llu\nend\n", hpc_witness_accesses));
}

/* HPC_WITNESS_LOOPS: numbers between commas; without it, all loops. */
__attribute__((constructor)) static void read_wanted(void)
{
    const char *p = getenv("HPC_WITNESS_LOOPS");
    for (int k = 0; k < LOOPS_MOST; k++) record[k].wanted = !p || !*p;
    while (p && *p) {
        char *end;
        long k = strtol(p, &end, 10);
        if (end == p) break;
        if (k >= 0 && k < LOOPS_MOST) record[k].wanted = true;
        p = end + (*end == ',');
    }
}

/* ---- places in the code as 31 bits: near ones as a distance, others by number --------------- */

uint32_t hpc_witness_far(uintptr_t pc)
{
    for (int k = 0; k < far_n; k++)
        if (far[k] == pc) return 0x80000000U + (uint32_t)k;
    if (far_n == FAR_MOST) return 0;
    far[far_n] = pc;
    return 0x80000000U + (uint32_t)far_n++;
}

static uintptr_t code_at(uint32_t place)
{
    if (place & 0x80000000U) return far[place & 0x7fffffffU];
    return (uintptr_t)&hpc_witness_enter + place - 0x40000000U;
}

static int place_words(char *out, size_t most, uint32_t place)
{
    Dl_info i;
    uintptr_t pc = code_at(place) - 1; /* within the call's line */
    if (!dladdr((const void *)pc, &i) || !i.dli_fname) return snprintf(out, most, " 0 ?");
    /* An executable at fixed addresses has unmodified addresses in its line tables. */
    const unsigned char *elf = i.dli_fbase;
    bool fixed = elf[16] == 2;
    return snprintf(out, most, " %llx %s",
                    (unsigned long long)(fixed ? pc : pc - (uintptr_t)i.dli_fbase), i.dli_fname);
}

/* ---- what two iterations did ---------------------------------------------------------------- */

/* The variable's value in an earlier iteration, as in loops that step evenly. */
static long long value_of(const watch *s, uint32_t iteration)
{
    long long done = (long long)s->now - s->base, k = (long long)iteration - s->base;
    return done == 0 ? s->value : s->first + (s->value - s->first) / done * k;
}

/* "found LOOP KIND BYTES BEFORE VALUE NOW VALUE (NAME OFFSET ELEMENT SUBSCRIPTS)...\n" and two
 * lines of places.
 */
static void say_finding(const watch *s, char kind, uintptr_t at, unsigned bytes, uint32_t before,
                        uint32_t place_before, uint32_t place)
{
    char line[8192];
    size_t most = sizeof line - 1;
    size_t n = (size_t)snprintf(line, most, "found %d %c %u %u %lld %u %lld", s->loop, kind, bytes,
                                before - s->base, value_of(s, before), s->now - s->base, s->value);
    for (int k = 0; k < s->ranges_n && n < 3000; k++) {
        const range *r = &s->range[k];
        uintptr_t d = at - r->at;
        if (r->bytes ? d >= r->bytes
                     : !r->at || (intptr_t)d <= -(1 << 20) || (intptr_t)d >= 1L << 40)
            continue;
        n += (size_t)snprintf(line + n, most - n, " %d %lld %lu ", r->name, (long long)(intptr_t)d,
                              (unsigned long)r->element);
        n += (size_t)hpc_witness_subscripts(line + n, most - n, r, at);
    }
    for (int k = 0; k < 2; k++) {
        n += (size_t)snprintf(line + n, most - n, "\nplace");
        int m = place_words(line + n, most - n, k ? place : place_before);
        n += m > 0 && (size_t)m < most - n ? (size_t)m : 0;
    }
    line[n++] = '\n';
    say(line, (int)n);
}

static int find_thread_local(struct dl_phdr_info *i, size_t size, void *user)
{
    (void)size;
    for (int k = 0; k < i->dlpi_phnum; k++) {
        const ElfW(Phdr) *h = &i->dlpi_phdr[k];
        range *r = user;
        uintptr_t d = r->at - (uintptr_t)i->dlpi_tls_data;
        if (h->p_type != PT_TLS || !i->dlpi_tls_data || d >= h->p_memsz) continue;
        *r = (range){.at = (uintptr_t)i->dlpi_tls_data, .bytes = h->p_memsz};
        return 1;
    }
    return 0;
}

void hpc_witness_found(char kind, uintptr_t at, unsigned bytes, uint32_t before,
                       uint32_t place_before, uint32_t place)
{
    watch *s = &hpc_witness_self;
    loop_record *l = &record[s->loop];
    /* Each thread has its own errno: only a value that comes from another iteration counts. */
    if (kind != 'f' && at - own.at < own.bytes) return;
    if (++l->hits > HITS_MOST) {
        l->done = true;
        s->now = 0;
        return;
    }
    for (int k = 0; k < l->findings_n; k++)
        if (l->finding[k].kind == kind && l->finding[k].pc == place &&
            l->finding[k].pc_before == place_before)
            return;
    if (l->findings_n == FINDINGS_MOST) return;
    if (kind != 'f') {
        range r = {.at = at};
        if (dl_iterate_phdr(find_thread_local, &r)) {
            own = r;
            return;
        }
    }
    l->finding[l->findings_n++] = (finding){kind, place, place_before};
    say_finding(s, kind, at, bytes, before, place_before, place);
}

/* ---- shadow --------------------------------------------------------------------------------- */

/* NULL: memory is exhausted; nothing is watched from here on, and the program continues. */
static void *from_system(size_t bytes)
{
    static const char text[] = "memory\n";
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    if (p != MAP_FAILED) return p;
    say(text, sizeof text - 1);
    for (int k = 0; k < LOOPS_MOST; k++) record[k].done = true;
    hpc_witness_self.now = 0;
    return NULL;
}

/* Splits a cell into n parts, 2 or 8; each part inherits the whole's records. */
static cell *split(cell *c, uint32_t n)
{
    if (c->w == SPLIT && c->wpc >= n) return parts_of(c);
    if (pool_left < (int)n) {
        pool = from_system(POOL_CELLS * sizeof *pool);
        pool_left = pool ? POOL_CELLS : 0;
        if (!pool) return NULL;
    }
    cell *parts = pool, *old = c->w == SPLIT ? parts_of(c) : NULL;
    pool += n;
    pool_left -= (int)n;
    for (uint32_t k = 0; k < n; k++) parts[k] = old ? old[k * c->wpc / n] : *c;
    c->r = (uint32_t)(uintptr_t)parts;
    c->rpc = (uint32_t)((uintptr_t)parts >> 32);
    c->wpc = n;
    c->w = SPLIT;
    return parts;
}

static cell *cell_at(uintptr_t at)
{
    if (at >> ADDRESS_BITS) return NULL;
    cell **chunk = &hpc_witness_chunks[at >> CHUNK_BITS];
    if (!*chunk) *chunk = from_system(CHUNK_CELLS * sizeof(cell));
    if (!*chunk) return NULL;
    return *chunk + ((at & ((1 << CHUNK_BITS) - 1)) >> 3);
}

/* One access within 8 bytes. */
static void touch_within(uintptr_t at, unsigned bytes, bool write, bool apart, uint32_t place)
{
    cell *c = cell_at(at);
    if (!c) return;
    unsigned in = at & 7;
    if (bytes == 8 && c->w != SPLIT) {
        judge(c, at, bytes, write, apart, place);
        return;
    }
    if (c->w != SPLIT || c->wpc == 2) {
        bool half = (bytes == 4 || bytes == 8) && in % 4 == 0;
        if (!split(c, half ? 2 : 8)) return;
    }
    cell *part = parts_of(c);
    unsigned n = c->wpc, each = 8 / n;
    for (unsigned k = in / each; k * each < in + bytes; k++)
        judge(&part[k], at, bytes, write, apart, place);
}

/* What of the memory around `at` counts: 1, 0: not at all, 2: as something private. */
static int weight_of(watch *s, uintptr_t at, bool on_stack)
{
    const range *r = &s->range[s->hit];
    if (s->hit >= s->ranges_n || at - r->at >= r->bytes) {
        int found_at = -1;
        for (int k = 0; k < s->ranges_n; k++) {
            const range *q = &s->range[k];
            if (at - q->at < q->bytes && (found_at < 0 || q->kind > s->range[found_at].kind))
                found_at = k;
        }
        if (found_at < 0) return on_stack ? 0 : 1;
        s->hit = found_at;
        r = &s->range[found_at];
    }
    return r->kind == HPC_WITNESS_IGNORED ? 0 : r->kind == HPC_WITNESS_PRIVATE ? 2 : 1;
}

/* An access of what the directive gives to each thread or combines. */
static void touch_handled(range *r, uint32_t now, bool write)
{
    r->shared |= r->last && r->last != now && (write || r->written);
    r->written |= write;
    r->last = now;
}

void hpc_witness_touch(uintptr_t at, size_t bytes, bool write, uintptr_t pc)
{
    hpc_witness_accesses += (bytes + 7) / 8;
    hpc_witness_judge(at, bytes, write, pc);
}

void hpc_witness_judge(uintptr_t at, size_t bytes, bool write, uintptr_t pc)
{
    watch *s = &hpc_witness_self;
    if (!s->now || bytes == 0) return;
    bool on_stack = at - STACK() < s->frame - STACK();
    int weight = 1;
    if (on_stack || at - s->apart_at < s->apart_bytes) weight = weight_of(s, at, on_stack);
    if (weight != 1 && s->hit < s->ranges_n && at - s->range[s->hit].at < s->range[s->hit].bytes)
        touch_handled(&s->range[s->hit], s->now, write);
    if (weight == 0) return;
    uint32_t place = place_of(pc);
    while (bytes && s->now) {
        size_t n = 8 - (at & 7);
        if (n > bytes) n = bytes;
        touch_within(at, (unsigned)n, write, weight == 2, place);
        at += n;
        bytes -= n;
    }
}

/* Memory that is allocated again in an iteration has no relation to its earlier contents. */
void hpc_witness_forget(uintptr_t at, size_t bytes)
{
    if (!hpc_witness_chunks || !hpc_witness_self.now) return;
    for (uintptr_t a = at & ~(uintptr_t)7; a < at + bytes; a += 8) {
        if (a >> ADDRESS_BITS) return;
        cell *chunk = hpc_witness_chunks[a >> CHUNK_BITS];
        if (!chunk) {
            a |= (1 << CHUNK_BITS) - 8;
            continue;
        }
        cell *c = chunk + ((a & ((1 << CHUNK_BITS) - 1)) >> 3);
        if (c->w == SPLIT)
            memset(parts_of(c), 0, c->wpc * sizeof *c);
        else
            *c = (cell){0};
    }
}

/* ---- what the program calls ----------------------------------------------------------------- */

void hpc_witness_stop(watch *s)
{
    keep_shared(s);
    hpc_witness_cost_leave(&record[s->loop], &s->costs);
    s->now = 0;
    s->frame = 0;
    __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
}

/* All iteration numbers are used: clears all cells. */
static void clear_all(void)
{
    size_t bytes = CHUNK_CELLS * sizeof(cell);
    for (size_t k = 0; k < (size_t)1 << (ADDRESS_BITS - CHUNK_BITS); k++)
        if (hpc_witness_chunks[k]) madvise(hpc_witness_chunks[k], bytes, MADV_DONTNEED);
    pool_left = 0; /* the parts are lost with the cells that knew them */
    counter = 0;
}

/* Field by field: the compiler would clear the whole by a call of memset, which counts as one of
 * the program's. */
static void begin_watch(watch *s, int loop, uintptr_t frame)
{
    s->now = 0;
    s->base = counter + 1;
    s->frame = frame;
    s->apart_at = s->apart_bytes = 0;
    s->loop = loop;
    s->depth = 0;
    s->first = s->value = 0;
    s->ranges_n = s->hit = 0;
}

int hpc_witness_enter(int loop, void *frame)
{
    watch *s = &hpc_witness_self;
    if (loop < 0 || loop >= LOOPS_MOST || !record[loop].wanted || record[loop].done) return 0;
    /* A frame above the watched one's: the loop was left without a call of hpc_witness_leave. */
    if (s->frame && (uintptr_t)frame > s->frame) hpc_witness_stop(s);
    if (s->frame || __atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE)) {
        record[loop].refused++;
        return 0;
    }
    if (!hpc_witness_chunks)
        hpc_witness_chunks = from_system(sizeof *hpc_witness_chunks << (ADDRESS_BITS - CHUNK_BITS));
    if (!hpc_witness_chunks) {
        __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
        return 0;
    }
    if (counter > 0xf0000000U) clear_all();
    begin_watch(s, loop, (uintptr_t)frame);
    record[loop].entered++;
    return 1;
}

void hpc_witness_name(int name, int kind, const volatile void *at, unsigned long bytes,
                      unsigned long element)
{
    watch *s = &hpc_witness_self;
    uintptr_t a = (uintptr_t)at;
    record[s->loop].hidden |= kind == HPC_WITNESS_HIDDEN;
    if (s->ranges_n == NAMES_MOST || (bytes == 0 && kind != HPC_WITNESS_BASE)) return;
    s->range[s->ranges_n++] = (range){a, bytes, element, name, kind, 0, false, false, NULL};
    if (a - STACK() < s->frame - STACK()) return;
    if (kind != HPC_WITNESS_PRIVATE && kind != HPC_WITNESS_IGNORED) return;
    uintptr_t lo = s->apart_bytes && s->apart_at < a ? s->apart_at : a;
    uintptr_t end = s->apart_bytes ? s->apart_at + s->apart_bytes : 0;
    s->apart_at = lo;
    s->apart_bytes = (end > a + bytes ? end : a + bytes) - lo;
}

void hpc_witness_iteration(int loop, void *frame, long long value)
{
    watch *s = &hpc_witness_self;
    if (s->frame != (uintptr_t)frame || s->loop != loop || !s->frame) return;
    if (record[loop].done || counter >= SPLIT - 2) {
        hpc_witness_stop(s);
        return;
    }
    record[loop].iterations++;
    hpc_witness_cost_next(&s->costs);
    s->now = ++counter;
    s->value = value;
    if (s->now == s->base) s->first = value;
}

void hpc_witness_leave(int loop, void *frame)
{
    if (hpc_witness_self.frame == (uintptr_t)frame && hpc_witness_self.loop == loop &&
        hpc_witness_self.frame)
        hpc_witness_stop(&hpc_witness_self);
}
