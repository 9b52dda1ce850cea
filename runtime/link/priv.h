/*
 * priv.h: what the files of runtime/link share: helpers for every kind of link,
 * and the parts of the `threads` link.
 *
 * Nothing here is for other folders; link.h is the contract.
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
/* Of one collective: rank's part against those of all that are there (others NULL). 0, or a code
 * and why. `member`: ranks as they are named. */
int hpc_comm_compare(hpc_error *why, int64_t seq, const hpc_comm *const *comm, int size, int rank,
                     const int *member);
int hpc_message_compare(hpc_error *why, const hpc_comm *send, int from, const hpc_comm *recv,
                        int to);
/* Records that a rank waits for its own message before it has started the other end. */
int hpc_message_alone(const hpc_comm *c, int rank);
/* Splitting, by what all ranks of the parent choose: how many of rank's color come before it in the
 * new link; and out[n] = parent's names of its members, in order. Returns n. */
enum { HPC_COLOR, HPC_KEY, HPC_CHOICE_N };
int hpc_split_position(const int64_t *choice, int size, int rank);
int hpc_split_members(int *out, const int64_t *choice, const int *parent, int size, int rank);
/* Either every rank has what it needs, or all fail alike; code[stride * r] is r's. */
int hpc_split_agree(const int64_t *code, int stride, const int *member, int size);
/* dst[n] = src[0] + src[1] + ... (or their maximum), in this order, as hpc_comm promises. A NaN
 * in any operand gives a NaN; integers wrap. */
void hpc_link_reduce(void *dst, const void *const *src, int src_n, hpc_dtype dtype,
                     hpc_comm_reduce how, int64_t n);

/* Opens `library`, or the shared object `name` of this build, for good. HPC_E_UNSUPPORTED. */
int hpc_link_library(void **out, const char *library, const char *name, const char *package);

/* ---- threads: the world ----------------------------------------------------
 * Everything that ranks share hangs off one world on hpc_threads_run's stack.
 * Locks are taken in the order group, seat; the world's own lock is a leaf too. */

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
    atomic_bool aborted; /* once true, `why` stays as it is */
    hpc_error why;
} threads_world;

void hpc_world_abort(threads_world *w, int rank, const char *why);
bool hpc_world_aborted(const threads_world *w);
void hpc_seat_wake(seat *s);
/* Returns once the epoch is no longer `seen`: spins a little, then sleeps. */
void hpc_seat_sleep(seat *s, unsigned seen);

/* ---- threads: a group and its operations ----------------------------------- */
typedef struct mailbox {  /* of one rank; oldest first */
    struct ticket *sends; /* addressed to it, and not received yet */
    struct ticket *recvs; /* that it has started, and nobody has answered yet */
} mailbox;

/* The ranks of one link. Everything below is guarded by `lock`, except what never changes. */
typedef struct group {
    threads_world *world;
    int size;
    int *member; /* world ranks */
    pthread_mutex_t lock;
    int open;               /* links not yet closed: the last one frees the group */
    bool *gone;             /* by rank: has closed its link */
    struct meeting *active; /* by sequence number */
    struct meeting *spare;
    struct meeting *owned; /* all that were ever made */
    int64_t meeting_n;
    mailbox *box; /* by rank */
} group;

/* One collective: where the ranks' tickets of one sequence number come together. */
typedef struct meeting {
    struct meeting *next, *sibling; /* in active or spare; in owned */
    int64_t seq;
    int phase_n;
    int arrived, left;
    int busy;                /* ranks that touch buffers of others right now */
    int done[2];             /* ranks that are through with each phase */
    hpc_error error;         /* code HPC_OK: none */
    const hpc_comm **comm;   /* scratch of comparing, by rank */
    struct ticket *ticket[]; /* by rank; NULL before it arrives and after it left */
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

/* What settle says, when not a negative code. HIDDEN: only further polls will bring it out. */
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
/* Why nothing can be started any more: aborted, or a member (peer, or any if < 0) is gone. */
int hpc_group_refusal(hpc_error *out, const group *g, int peer);

int hpc_threads_link_create(threads_link **out);
void hpc_threads_link_enter(threads_link *l, group *g, int rank);
int hpc_threads_split(hpc_link **out, hpc_link *l, int color, int key);
void hpc_threads_close(hpc_link *l);

/* Collectives. join: this rank arrives. advance: does what can be done now. settle: how it stands;
 * after DONE or a failure the ticket is out. abandon: true once it is out. */
int hpc_meeting_join(ticket *t);
void hpc_meeting_advance(ticket *t);
int hpc_meeting_settle(ticket *t);
bool hpc_meeting_abandon(ticket *t);
/* This link is closing: what its rank has not joined can never take place. Under the lock. */
void hpc_meeting_forsake(threads_link *l);

/* Messages: the second of a pair to be posted moves the data, so neither needs the other to make
 * progress. The rest as above. */
int hpc_message_post(ticket *t);
int hpc_message_settle(ticket *t);
bool hpc_message_abandon(ticket *t);
void hpc_message_forsake(threads_link *l);

#endif
