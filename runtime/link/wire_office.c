/*
 * wire_office.c: a process's endpoint on the wire: sending and receiving letters, the
 * progress thread, and propagating a failure to all ranks.
 *
 * It only passes letters to links; operations are in wire_collective.c and
 * wire_message.c.
 */
#include "runtime/link/wire_priv.h"

#include <sched.h>
#include <string.h>
#include <time.h>

enum {
    TAG_LETTER = 1,
    TAG_FIRST = 2,      /* of data */
    SPINS = 100,        /* polls before a thread that waits gives its CPU away */
    YIELDS = 60,        /* and before it sleeps */
    MOST_US = 200,      /* sleep of the progress thread, which doubles up to this */
    LINGER = 25,        /* sleeps of MOST_US with nothing in flight before it waits to be woken */
    LETTERS_A_POLL = 64 /* so that a flood of them does not hold the lock for ever */
};

/* ---- letters --------------------------------------------------------------- */
static letter *letter_make(office *o)
{
    return hpc_alloc(1, sizeof(letter) + o->letter_bytes);
}

int hpc_office_reserve(office *o, int letters)
{
    for (int i = 0; i < letters; i++) {
        letter *l = letter_make(o);
        if (!l) return HPC_E_NOMEM;
        l->next = o->spare;
        o->spare = l;
    }
    return 0;
}

/* Enough letters are reserved for every operation in flight. Only a rank that runs far ahead
 * needs more, for example with messages that no rank has requested yet. */
letter *hpc_letter_take(office *o)
{
    letter *l = o->spare;
    if (l) {
        o->spare = l->next;
    } else {
        l = letter_make(o);
        if (!l) return NULL;
    }
    l->next = NULL;
    return l;
}

void hpc_letter_return(office *o, letter *l)
{
    l->next = o->spare;
    o->spare = l;
}

static void letters_free(letter *l)
{
    for (letter *next; l; l = next) {
        next = l->next;
        hpc_free(l);
    }
}

void hpc_office_check(office *o, int code)
{
    char text[HPC_WIRE_TEXT];
    if (code == 0) return;
    o->wire->text(o->self, code, text);
    o->lost = true;
    hpc_office_abort(o, o->info.rank, text);
}

void hpc_letter_send(office *o, letter *l, int to)
{
    bool done = false;
    int code = o->wire->send(o->self, &l->request, &l->head, sizeof l->head + l->head.bytes, to,
                             TAG_LETTER);
    if (code == 0) code = o->wire->test(o->self, &l->request, &done);
    if (done || code != 0) {
        hpc_letter_return(o, l);
    } else {
        l->next = o->sending;
        o->sending = l;
    }
    hpc_office_check(o, code);
}

static void poll_sending(office *o)
{
    for (letter **at = &o->sending; *at;) {
        letter *l = *at;
        bool done = false;
        int code = o->wire->test(o->self, &l->request, &done);
        if (done || code != 0) {
            *at = l->next;
            hpc_letter_return(o, l);
        } else {
            at = &l->next;
        }
        hpc_office_check(o, code);
    }
}

static int post(office *o, int slot)
{
    letter *l = o->posted[slot];
    return o->wire->recv(o->self, &l->request, &l->head, sizeof l->head + o->letter_bytes,
                         HPC_WIRE_ANY, TAG_LETTER);
}

int hpc_office_tag(office *o)
{
    int64_t pairs = (o->info.tag_most - TAG_FIRST) / 2;
    return (int)(TAG_FIRST + 2 * (o->tags_taken++ % pairs));
}

/* ---- failures -------------------------------------------------------------- */
static void tell_all(office *o, letter_type type, int failed, const char *why)
{
    for (int r = 0; r < o->info.size; r++) {
        if (r == o->info.rank) continue;
        letter *l = hpc_letter_take(o);
        if (!l) {
            o->lost = true; /* no other rank can be informed, so closing cannot be orderly */
            hpc_error_clear();
            return;
        }
        l->head = (letter_head){.type = (int16_t)type, .from = o->info.rank, .peer = failed};
        l->head.bytes = (uint32_t)strlen(why) + 1;
        memcpy(l->data, why, l->head.bytes);
        hpc_letter_send(o, l, r);
    }
}

void hpc_office_abort(office *o, int rank, const char *why)
{
    if (atomic_load(&o->aborted)) return;
    hpc_error_note(&o->why, HPC_E_ABORTED, "rank %d failed: %s", rank, why);
    o->aborted_ns = hpc_clock_ns();
    atomic_store(&o->aborted, true);
    tell_all(o, LETTER_ABORT, rank, why);
}

/* ---- coming in ------------------------------------------------------------- */
static void sort(office *o, letter *l)
{
    wire_link *link;
    switch (l->head.type) {
    case LETTER_ABORT:
        o->quiet[l->head.from] = true;
        l->data[l->head.bytes - 1] = '\0';
        hpc_office_abort(o, l->head.peer, l->data);
        hpc_letter_return(o, l);
        return;
    case LETTER_BYE:
        o->quiet[l->head.from] = true;
        o->byes++;
        hpc_letter_return(o, l);
        return;
    default:
        link = hpc_wire_find(o, l->head.link);
        if (link) {
            hpc_wire_deliver(link, l);
        } else if (l->head.link < o->next_id) { /* it has been closed here */
            hpc_letter_return(o, l);
        } else {
            letter **end = &o->foreign;
            while (*end) end = &(*end)->next;
            *end = l;
        }
    }
}

/* Letters come out of the slots in the order in which they were posted, so those of one rank are
 * sorted in the order in which it sent them. */
static bool poll_posted(office *o)
{
    bool moved = false;
    for (int i = 0; i < LETTERS_A_POLL && o->posted_n == SLOTS; i++) {
        int slot = o->next_posted;
        bool done = false;
        int code = o->wire->test(o->self, &o->posted[slot]->request, &done);
        hpc_office_check(o, code);
        if (code != 0) o->posted_n = 0;
        if (!done || code != 0) break;
        letter *came = o->posted[slot], *fresh = hpc_letter_take(o);
        if (!fresh) {
            hpc_office_abort(o, o->info.rank, "out of memory for a message from another rank");
            hpc_error_clear();
            fresh = came; /* its content is lost: the abort fails everything anyway */
            came = NULL;
        }
        o->posted[slot] = fresh;
        o->next_posted = (slot + 1) % SLOTS;
        hpc_office_check(o, post(o, slot));
        if (came) sort(o, came);
        moved = true;
    }
    return moved;
}

bool hpc_office_poll(office *o)
{
    bool moved = poll_posted(o);
    poll_sending(o);
    for (wire_link *l = o->link; l; l = l->next) moved = hpc_wire_advance(l) || moved;
    return moved;
}

/* ---- progress -------------------------------------------------------------- */
static void sleep_us(int us)
{
    const struct timespec t = {.tv_nsec = 1000L * us};
    nanosleep(&t, NULL);
}

void hpc_office_pause(int *idle, bool moved, int most_us)
{
    *idle = moved ? 0 : *idle + 1;
    if (*idle <= SPINS) return;
    int over = *idle - SPINS - YIELDS;
    if (over <= 0) {
        sched_yield();
        return;
    }
    int us = over < 16 ? 2 << (over / 2) : most_us;
    sleep_us(us < most_us ? us : most_us);
}

static void sleep_until_busy(office *o)
{
    pthread_mutex_lock(&o->lock);
    o->asleep = true;
    while (atomic_load(&o->busy) == 0 && !atomic_load(&o->stop))
        pthread_cond_wait(&o->changed, &o->lock);
    o->asleep = false;
    pthread_mutex_unlock(&o->lock);
}

/* While the rank waits it makes progress itself, and this thread only looks up now and then. After
 * the last operation it lingers, so that a rank that goes from one to the next need not wake it. */
static void *progress(void *arg)
{
    office *o = arg;
    int idle = 0, lingered = 0, us = MOST_US;
    while (!atomic_load(&o->stop)) {
        if (atomic_load(&o->busy) == 0 && ++lingered > LINGER) {
            sleep_until_busy(o);
            lingered = 0;
            continue;
        }
        if (atomic_load(&o->busy) == 0 || atomic_load(&o->waiting)) {
            sleep_us(MOST_US);
            continue;
        }
        lingered = 0;
        pthread_mutex_lock(&o->lock);
        bool moved = hpc_office_poll(o);
        pthread_mutex_unlock(&o->lock);
        idle = moved ? 0 : idle + 1;
        us = idle < 8 ? 10 << idle / 2 : idle < 100 ? MOST_US : 5 * MOST_US;
        if (!moved) sleep_us(us);
        if (moved) sched_yield();
    }
    return NULL;
}

/* ---- opening and closing --------------------------------------------------- */
static void office_free(office *o)
{
    letters_free(o->spare);
    letters_free(o->foreign);
    if (!o->lost) letters_free(o->sending); /* else the library may still read them */
    for (int i = 0; i < SLOTS && !o->lost; i++) hpc_free(o->posted[i]);
    pthread_cond_destroy(&o->changed);
    pthread_mutex_destroy(&o->lock);
    hpc_free(o->everyone);
    hpc_free(o->quiet);
    hpc_free(o);
}

static int prepare(office *o)
{
    size_t size = (size_t)o->info.size, counts = 2 * size * sizeof(int64_t);
    o->letter_bytes = counts + LETTER_SHORT;
    o->everyone = hpc_alloc(size, sizeof *o->everyone);
    o->quiet = hpc_alloc(size, sizeof *o->quiet);
    if (!o->everyone || !o->quiet) return HPC_E_NOMEM;
    for (int r = 0; r < o->info.size; r++) o->everyone[r] = r;
    for (int i = 0; i < SLOTS; i++) {
        o->posted[i] = letter_make(o);
        if (!o->posted[i]) return HPC_E_NOMEM;
    }
    return hpc_office_reserve(o, SLOTS + 4 * o->info.size);
}

static int post_all(office *o)
{
    char text[HPC_WIRE_TEXT];
    for (int i = 0; i < SLOTS; i++) {
        int code = post(o, i);
        if (code == 0) continue;
        o->wire->text(o->self, code, text);
        o->lost = true;
        return hpc_fail(HPC_E_IO, "mpi: receiving: %s", text);
    }
    o->posted_n = SLOTS;
    return 0;
}

int hpc_office_open(office **out, const hpc_wire *wire)
{
    char why[HPC_WIRE_TEXT] = "";
    int rc = 0;
    *out = NULL;
    office *o = hpc_alloc(1, sizeof *o);
    if (!o) return HPC_E_NOMEM;
    pthread_mutex_init(&o->lock, NULL);
    pthread_cond_init(&o->changed, NULL);
    o->wire = wire;
    if (wire->open(&o->self, &o->info, why) != 0) TRY(hpc_fail(HPC_E_UNSUPPORTED, "mpi: %s", why));
    TRY(prepare(o));
    TRY(post_all(o));
    if (o->info.size > 1 && pthread_create(&o->thread, NULL, progress, o) != 0)
        TRY(hpc_fail(HPC_E_NOMEM, "mpi: cannot start the thread that makes progress"));
    o->threaded = o->info.size > 1;
    *out = o;
    o = NULL;
out:
    if (o) {
        if (o->self) wire->close(o->self, false);
        office_free(o);
    }
    return rc;
}

/* Whoever ends MPI while others still send to it spoils their ends: everyone says goodbye, and
 * waits asleep for the others to do so; after an abort only so long. */
static void part(office *o, double seconds)
{
    int idle = 0;
    tell_all(o, LETTER_BYE, 0, "");
    while (!o->lost && (o->byes < o->info.size - 1 || o->sending)) {
        bool limited = atomic_load(&o->aborted);
        bool moved = hpc_office_poll(o);
        hpc_office_pause(&idle, moved, 1000);
        if (limited && hpc_clock_ns() - o->aborted_ns > (int64_t)(seconds * 1e9)) o->lost = true;
    }
}

static void withdraw(office *o)
{
    for (int i = 0; i < o->posted_n && !o->lost; i++) {
        bool done = false;
        int code = o->wire->cancel(o->self, &o->posted[i]->request);
        while (code == 0 && !done) code = o->wire->test(o->self, &o->posted[i]->request, &done);
        o->lost = code != 0;
    }
}

void hpc_office_close(office *o, double seconds)
{
    atomic_store(&o->stop, true);
    if (o->threaded) {
        pthread_mutex_lock(&o->lock);
        pthread_cond_signal(&o->changed);
        pthread_mutex_unlock(&o->lock);
        pthread_join(o->thread, NULL);
    }
    part(o, seconds);
    withdraw(o);
    o->wire->close(o->self, !o->lost);
    office_free(o);
}
