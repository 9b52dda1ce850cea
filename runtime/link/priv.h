/*
 * priv.h: internals of runtime/link: helpers for every kind of link, and the structures
 * of the `threads` link. The contract is link.h.
 */
#ifndef HPC_LINK_PRIV_H
#define HPC_LINK_PRIV_H

#include "runtime/link/link.h"

#include <pthread.h>
#include <stdatomic.h>

/* ---- for every kind of link ------------------------------------------------ */
size_t hpc_comm_bytes(hpc_dtype dtype, int64_t n);
/* "all_reduce(max) bf16[12]" */
const char *hpc_comm_text(char out[96], const hpc_comm *c);
/* Fills a record that belongs to no thread. Returns code. */
int hpc_error_note(hpc_error *out, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* recv[size * n] = every rank's send[n], outside of the traffic count. */
int hpc_link_exchange(hpc_link *l, int64_t *recv, const int64_t *send, int64_t n);
int64_t hpc_comm_send_n(const hpc_comm *c, int r); /* ALL_TO_ALL: by counts or not */
int64_t hpc_comm_recv_n(const hpc_comm *c, int r);
/* Compares rank's part in one collective with the parts of all ranks that have arrived (the
 * others' comm[] are NULL). Returns 0, or a code with `why`. member[r]: the rank that messages
 * name. */
int hpc_comm_compare(hpc_error *why, int64_t seq, const hpc_comm *const *comm, int size, int rank,
                     const int *member);
int hpc_message_compare(hpc_error *why, const hpc_comm *send, int from, const hpc_comm *recv,
                        int to);
/* Records the error of a rank that waits for a message to itself without starting the other end. */
int hpc_message_alone(const hpc_comm *c, int rank);
/* Splitting, from the choices (color, key) of all ranks of the parent: the position of `rank` in
 * its new link; and the parent's names of that link's members, in order, into out[]. Returns
 * their number. */
enum { HPC_COLOR, HPC_KEY, HPC_CHOICE_N };
int hpc_split_position(const int64_t *choice, int size, int rank);
int hpc_split_members(int *out, const int64_t *choice, const int *parent, int size, int rank);
/* Fails on all ranks alike if a rank could not allocate; code[stride * r] is the result of rank
 * r. */
int hpc_split_agree(const int64_t *code, int stride, const int *member, int size);
/* dst[n] = src[0] + src[1] + ... (or the maximum), in this order, as hpc_comm specifies. A NaN
 * in any operand gives a NaN; integers wrap. */
void hpc_link_reduce(void *dst, const void *const *src, int src_n, hpc_dtype dtype,
                     hpc_comm_reduce how, int64_t n);

/* ---- threads: the world ----------------------------------------------------
 * All state that ranks share belongs to one world on hpc_threads_run's stack. Lock order: group,
 * then seat. No lock is taken while the world's lock is held. */

/* Where a rank sleeps, whichever of its links it waits for. */
typedef struct seat {
    _Alignas(64) pthread_mutex_t lock;
    pthread_cond_t changed;
    atomic_uint epoch;   /* grows whenever something may have changed for this rank */
    struct ticket *live; /* its collectives in flight, on all links; its own thread only */
} seat;

typedef struct threads_world {
    int n;
    seat *seat; /* by rank */
    hpc_delay_fn *delay;
    void *user; /* of delay */
    pthread_mutex_t lock;
    atomic_bool aborted; /* once true, `why` does not change */
    hpc_error why;
} threads_world;

void hpc_world_abort(threads_world *w, int rank, const char *why);
bool hpc_world_aborted(const threads_world *w);
void hpc_seat_wake(seat *s);
/* Returns once the epoch differs from `seen`: spins briefly, then sleeps. */
void hpc_seat_sleep(seat *s, unsigned seen);

/* ---- threads: a group and its operations ----------------------------------- */
typedef struct mailbox {  /* of one rank; oldest first */
    struct ticket *sends; /* to this rank, not received yet */
    struct ticket *recvs; /* started by this rank, not matched yet */
} mailbox;

/* The ranks of one link. `lock` guards all members below it, except constant ones. */
typedef struct group {
    threads_world *world;
    int size;
    int *member; /* world ranks */
    pthread_mutex_t lock;
    int open;               /* links not yet closed: the last one frees the group */
    bool *gone;             /* by rank: has closed its link */
    struct meeting *active; /* by sequence number */
    struct meeting *spare;
    struct meeting *owned; /* all meetings of the group */
    int64_t meeting_n;
    mailbox *box; /* by rank */
} group;

/* One collective, identified by its sequence number, with the tickets of its ranks. */
typedef struct meeting {
    struct meeting *next, *sibling; /* in active or spare; in owned */
    int64_t seq;
    int phase_n;
    int arrived, left;
    int busy;                /* ranks that are accessing buffers of other ranks */
    int done[2];             /* ranks that have finished each phase */
    hpc_error error;         /* code HPC_OK: none */
    const hpc_comm **comm;   /* scratch for comparing, by rank */
    struct ticket *ticket[]; /* by rank; NULL before it arrives and after it leaves */
} meeting;

typedef struct threads_link {
    hpc_link base;
    group *group;
    seat *seat;
    struct ticket *owned, *spare;
    int64_t seq; /* of the next collective */
    int used_n;  /* tickets in flight */
} threads_link;

typedef enum message_state { POSTED, MOVING, MOVED, FAILED } message_state;

/* Results of settle, unless negative. HIDDEN: only further polls make the message visible. */
enum { PENDING = 0, DONE = 1, HIDDEN = 2 };

/* One rank's part in one operation. */
typedef struct ticket {
    struct ticket *next;                   /* in a mailbox or the link's spare ones */
    struct ticket *sibling;                /* in the link's owned ones */
    struct ticket *live_next, **live_link; /* in the seat's live ones */
    threads_link *link;
    bool used;
    hpc_comm comm;
    meeting *meeting; /* of collectives */
    int phase;
    message_state state; /* of messages, as the next two; guarded by the group's lock */
    int hidden;          /* polls of the receiver that are still to fail */
    hpc_error error;
    const void **source; /* scratch for a reduction, by rank */
    int64_t count[];     /* ALL_TO_ALL: to each rank, then from each */
} ticket;

int hpc_group_create(group **out, threads_world *w, const int *member, int size);
void hpc_group_free(group *g);
void hpc_group_wake(group *g);
/* Fails if no operation can start any more: the world is aborted, or the peer (any member, if
 * negative) has closed its link. */
int hpc_group_refusal(hpc_error *out, const group *g, int peer);

int hpc_threads_link_create(threads_link **out);
void hpc_threads_link_enter(threads_link *l, group *g, int rank);
int hpc_threads_split(hpc_link **out, hpc_link *l, int color, int key);
void hpc_threads_close(hpc_link *l);

/* Collectives. join: this rank arrives. advance: does the work that is possible now. settle: the
 * state; after DONE or a failure the ticket is released. abandon: gives up; true once released. */
int hpc_meeting_join(ticket *t);
void hpc_meeting_advance(ticket *t);
int hpc_meeting_settle(ticket *t);
bool hpc_meeting_abandon(ticket *t);
/* This link closes: collectives that its rank has not joined fail. The caller holds the lock. */
void hpc_meeting_forsake(threads_link *l);

/* Messages. The second ticket of a pair to be posted moves the data, so neither rank depends on
 * the other for progress. Functions as for collectives. */
int hpc_message_post(ticket *t);
int hpc_message_settle(ticket *t);
bool hpc_message_abandon(ticket *t);
void hpc_message_forsake(threads_link *l);

#endif
