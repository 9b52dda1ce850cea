/*
 * cache.c: a cache of recently read packed objects, which are bases of others. Objects are
 * reference-counted. The cache holds references until other objects are used more.
 */
#include <stdlib.h>

#include "runtime/git/priv.h"

enum { SLOTS = 1 << 12 };

struct git_cache {
    git_held *slot[SLOTS];
    git_held *newest, *oldest;
    size_t bytes;
};

git_held *git_held_create(git_object_t type, size_t n)
{
    git_held *h = malloc(sizeof *h + n + GIT_SLACK); /* all of it will be written */
    if (!h) {
        hpc_fail(HPC_E_NOMEM, "out of memory for a git object of %zu bytes", n);
        return NULL;
    }
    *h = (git_held){.users = 1, .type = type, .n = n};
    return h;
}

void git_held_release(git_held *h)
{
    if (h && __atomic_sub_fetch(&h->users, 1, __ATOMIC_ACQ_REL) == 0) free(h);
}

git_cache *git_cache_create(void)
{
    return hpc_alloc(1, sizeof(git_cache));
}

static git_held **slot_of(git_cache *c, const git_pack *pack, uint64_t offset)
{
    uint64_t key = (offset ^ (uint64_t)(uintptr_t)pack << 20) * UINT64_C(0x9e3779b97f4a7c15);
    return &c->slot[key >> 52];
}

/* ---- in the order of their last use ----------------------------------------------- */

static void unlink_used(git_cache *c, git_held *h)
{
    *(h->newer ? &h->newer->older : &c->newest) = h->older;
    *(h->older ? &h->older->newer : &c->oldest) = h->newer;
}

static void link_used(git_cache *c, git_held *h)
{
    h->newer = NULL;
    h->older = c->newest;
    *(c->newest ? &c->newest->newer : &c->oldest) = h;
    c->newest = h;
}

static void drop_oldest(git_cache *c)
{
    git_held *h = c->oldest, **at = slot_of(c, h->pack, h->offset);
    while (*at != h) at = &(*at)->next;
    *at = h->next;
    unlink_used(c, h);
    c->bytes -= sizeof *h + h->n + GIT_SLACK;
    git_held_release(h);
}

void git_cache_free(git_cache *c)
{
    while (c && c->oldest) drop_oldest(c);
    hpc_free(c);
}

/* ---- by their place ----------------------------------------------------------------- */

git_held *git_cache_get(git_cache *c, const git_pack *pack, uint64_t offset)
{
    git_held *h = *slot_of(c, pack, offset);
    while (h && (h->pack != pack || h->offset != offset)) h = h->next;
    if (!h) return NULL;
    if (h != c->newest) {
        unlink_used(c, h);
        link_used(c, h);
    }
    __atomic_add_fetch(&h->users, 1, __ATOMIC_RELAXED);
    return h;
}

void git_cache_put(git_cache *c, git_held *h, const git_pack *pack, uint64_t offset, size_t room)
{
    size_t bytes = sizeof *h + h->n + GIT_SLACK;
    if (bytes > room / 4) return;
    while (c->oldest && c->bytes + bytes > room) drop_oldest(c);
    git_held **at = slot_of(c, pack, offset);
    h->pack = pack;
    h->offset = offset;
    h->next = *at;
    *at = h;
    link_used(c, h);
    c->bytes += bytes;
    __atomic_add_fetch(&h->users, 1, __ATOMIC_RELAXED);
}
