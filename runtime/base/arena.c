/*
 * arena.c: arena allocator over a chain of blocks.
 *
 * The blocks after the current one are free. Rewinding only moves the current position,
 * so a repeated step allocates nothing after its first run. Single objects cannot be
 * freed. One thread at a time may use an arena.
 */
#include "runtime/base/base.h"

#include <stdio.h>
#include <string.h>

enum { ALIGN = 16, DEFAULT_BLOCK_BYTES = 64 << 10 };

typedef struct block {
    struct block *next;
    size_t size, used; /* of data; used counts up to the current block only */
    _Alignas(ALIGN) char data[];
} block;

struct hpc_arena {
    block *first;
    block *current;     /* NULL: nothing is in use */
    size_t block_bytes; /* header included */
    size_t bytes;       /* of all blocks, headers included */
};

hpc_arena *hpc_arena_create(size_t block_bytes)
{
    hpc_assert(block_bytes <= PTRDIFF_MAX);
    hpc_arena *a = hpc_alloc(1, sizeof *a);
    if (!a) return NULL;
    a->block_bytes = block_bytes > 0 ? block_bytes : DEFAULT_BLOCK_BYTES;
    return a;
}

void hpc_arena_free(hpc_arena *a)
{
    if (!a) return;
    for (block *b = a->first, *next; b; b = next) {
        next = b->next;
        hpc_free(b);
    }
    hpc_free(a);
}

/* The link to the block after the current one. */
static block **tail(hpc_arena *a)
{
    return a->current ? &a->current->next : &a->first;
}

/* Takes the first free block that is large enough out of the chain. */
static block *take_free(hpc_arena *a, size_t bytes)
{
    for (block **link = tail(a); *link; link = &(*link)->next) {
        block *b = *link;
        if (b->size < bytes) continue;
        *link = b->next;
        return b;
    }
    return NULL;
}

/* Whole multiples of the block size, so that blocks of a few sizes serve all requests and
 * runs that differ a little do not each leave blocks of their own. */
static block *reserve(hpc_arena *a, size_t bytes)
{
    size_t need = sizeof(block) + bytes, over = need % a->block_bytes;
    size_t total = over > 0 ? need + (a->block_bytes - over) : need;
    block *b = hpc_alloc(1, total);
    if (!b) return NULL;
    b->size = total - sizeof *b;
    a->bytes += total;
    return b;
}

/* Makes a block with room for `bytes` the current one. */
static int advance(hpc_arena *a, size_t bytes)
{
    block *b = take_free(a, bytes);
    if (!b) b = reserve(a, bytes);
    if (!b) return HPC_E_NOMEM;
    b->used = 0;
    b->next = *tail(a);
    *tail(a) = b;
    a->current = b;
    return HPC_OK;
}

void *hpc_arena_alloc(hpc_arena *a, size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes) || bytes > PTRDIFF_MAX - sizeof(block) - ALIGN) {
        hpc_fail(HPC_E_NOMEM, "out of memory for %zu items of %zu bytes; ask for less", n, size);
        return NULL;
    }
    /* An empty object still gets an address of its own. */
    bytes = bytes > 0 ? (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1) : ALIGN;
    block *b = a->current;
    if (!b || b->size - b->used < bytes) {
        if (advance(a, bytes) < 0) return NULL;
        b = a->current;
    }
    char *p = b->data + b->used;
    b->used += bytes;
    return memset(p, 0, bytes);
}

char *hpc_arena_text(hpc_arena *a, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n < 0) {
        hpc_fail(HPC_E_ARG, "cannot format text by \"%s\"", format);
        return NULL;
    }
    char *text = hpc_arena_alloc(a, (size_t)n + 1, 1);
    if (!text) return NULL;
    va_start(args, format);
    vsnprintf(text, (size_t)n + 1, format, args);
    va_end(args);
    return text;
}

hpc_arena_mark hpc_arena_here(const hpc_arena *a)
{
    return (hpc_arena_mark){a->current, a->current ? a->current->used : 0};
}

void hpc_arena_rewind(hpc_arena *a, hpc_arena_mark mark)
{
    a->current = mark.block;
    if (a->current) {
        hpc_assert(mark.used <= a->current->used);
        a->current->used = mark.used;
    }
}

size_t hpc_arena_bytes(const hpc_arena *a)
{
    return a->bytes;
}
