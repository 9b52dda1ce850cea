/*
 * wire_priv.h: internals of the link over a wire (mpi/wire.h), the ranks of which are
 * processes.
 *
 * An `office` is a process's endpoint on the wire. It sends and dispatches letters,
 * short messages with a header, for all links of the process. Long data go as flows:
 * the receiver posts its receives before it allows the sender to send, so a send that
 * has begun always completes, even after failures. The office's lock guards everything;
 * the rank's own thread and a progress thread take it.
 */
#ifndef HPC_LINK_WIRE_PRIV_H
#define HPC_LINK_WIRE_PRIV_H

#include "runtime/link/mpi/wire.h"
#include "runtime/link/priv.h"

enum {
    LETTER_SHORT = 2048, /* bytes of data that go with a header */
    SLOTS = 16,          /* receives posted for letters */
    PIECES = 16          /* of a flow, at most */
};

/* ---- letters --------------------------------------------------------------- */
typedef enum letter_type {
    LETTER_JOIN,  /* this rank has started a collective; counts and short data follow */
    LETTER_GO,    /* of a collective: my receives are posted under `data_tag`, send */
    LETTER_OFFER, /* SEND has been started; short data follow */
    LETTER_WANT,  /* RECV has been started; its receives are posted under `data_tag` */
    LETTER_LEAVE, /* this rank has closed its link: no part in collectives from `seq` on */
    LETTER_ABORT, /* rank `peer` failed; the reason follows. Every rank sends it once */
    LETTER_BYE    /* nothing more will come from this rank */
} letter_type;

typedef struct letter_head {
    int64_t link, seq, n;
    int32_t from; /* rank in the link; of ABORT and BYE in the world */
    int16_t type, kind, dtype, reduce;
    int32_t peer, tag, data_tag;
    uint32_t bytes; /* that follow */
    uint32_t counts_n;
    uint64_t unused; /* padding: data follow without a gap */
} letter_head;

typedef struct letter {
    struct letter *next;
    hpc_wire_request request;
    letter_head head; /* first byte on the wire */
    _Alignas(16) char data[];
} letter;
_Static_assert(offsetof(letter, data) == offsetof(letter, head) + sizeof(letter_head),
               "a letter is sent in one piece");

/* ---- flows: long data to or from one rank ---------------------------------- */
typedef struct flow {
    char *data;
    size_t bytes, piece;
    int peer; /* in the world */
    int tag;
    int16_t begun, done, n; /* pieces */
    bool send, cancelled;
    hpc_wire_request request[PIECES];
} flow;

/* ---- the office ------------------------------------------------------------ */
typedef struct office {
    const hpc_wire *wire;
    void *self; /* of wire */
    hpc_wire_info info;
    int *everyone; /* 0, 1, ...: the world's members */
    pthread_mutex_t lock;
    size_t letter_bytes;               /* data capacity of a letter */
    letter *spare, *sending, *foreign; /* foreign: for links that do not exist here yet */
    letter *posted[SLOTS];
    int posted_n, next_posted;
    struct wire_link *link; /* all that are open */
    int64_t next_id;        /* ids increase in the same way in every process */
    int64_t tags_taken;
    atomic_bool aborted; /* once true, `why` does not change */
    hpc_error why;
    int64_t aborted_ns;
    bool
        *quiet; /* by rank: its ABORT or BYE has arrived, so everything it sent before is matched */
    bool lost;  /* an operation could not be completed */
    int byes;
    /* progress */
    pthread_t thread;
    pthread_cond_t changed;
    bool threaded, asleep;
    atomic_int busy;     /* operations in flight */
    atomic_bool waiting; /* the rank's own thread makes progress */
    atomic_bool stop;
} office;

int hpc_office_open(office **out, const hpc_wire *wire);
void hpc_office_close(office *o, double seconds);
/* Reserves `letters` more letters. A failed allocation fails only the caller. */
int hpc_office_reserve(office *o, int letters);
letter *hpc_letter_take(office *o);
void hpc_letter_return(office *o, letter *l);
void hpc_letter_send(office *o, letter *l, int to); /* rank in the world; takes the letter */
int hpc_office_tag(
    office *o); /* a free pair of tags, this and the next, for receives of this rank */
/* Returns true if anything made progress. */
bool hpc_office_poll(office *o);
/* rank failed (in the world). */
void hpc_office_abort(office *o, int rank, const char *why);
void hpc_office_check(office *o, int code); /* a wire error aborts */
/* Sleeps longer the longer there is no progress; *idle starts at 0. */
void hpc_office_pause(int *idle, bool moved, int most_us);

void hpc_flow_open(flow *f, bool send, const void *data, size_t bytes, int peer, int tag);
void hpc_flow_begin(office *o, flow *f, size_t ready); /* the pieces within `ready` bytes */
bool hpc_flow_advance(office *o, flow *f);             /* true if anything made progress */
size_t hpc_flow_moved(const flow *f);                  /* bytes, from the front */
bool hpc_flow_finished(const flow *f);
/* True once no request uses the buffer. `cancel`: cancels receives, for which no data can come. */
bool hpc_flow_quiet(office *o, flow *f, bool cancel);

/* ---- links and operations -------------------------------------------------- */
typedef struct wire_link {
    hpc_link base;
    office *office;
    struct wire_link *next;
    int64_t id, seq;      /* seq: of the next collective */
    int *member;          /* world ranks */
    int64_t *gone;        /* by rank: first collective without it; -1: still open */
    letter *early;        /* for operations not started here yet, oldest first */
    struct wire_op *live; /* oldest first */
    struct wire_op *owned, *spare[2];
    const hpc_comm **scratch; /* of comparing, by rank */
    int used_n;
} wire_link;

typedef enum op_state {
    OP_JOINING, /* waits for the others, or the other end */
    OP_MOVING,  /* flows are open */
    OP_DONE,
    OP_FAILED
} op_state;

enum { FLOW_IN, FLOW_OUT, FLOW_PARTS_IN, FLOW_PARTS_OUT, FLOW_KINDS };

typedef struct wire_op {
    struct wire_op *next, *sibling;
    wire_link *link;
    bool wide; /* collective: has capacity for all ranks */
    bool used;
    bool shortly; /* the letters carry the result */
    bool misfit;  /* message: the other end will never send */
    hpc_comm comm;
    op_state state;
    hpc_error error;
    int64_t seq;
    int64_t since_ns; /* time of the last progress, or when this rank began to wait; 0: neither */
    int tag;
    int arrived; /* other ranks */
    bool *go;    /* by rank */
    letter **head;
    hpc_comm *other; /* by rank: the operation it has started */
    flow *flow;      /* [FLOW_KINDS][size] of collectives, one of messages */
    const void **source;
    char *scratch;
    size_t scratch_bytes;
    int64_t part, part_n, reduced; /* ALL_REDUCE, REDUCE_SCATTER: start of this rank's part;
                                      progress of its reduction */
    int64_t count[];               /* ALL_TO_ALL by counts: to each rank, then from each */
} wire_op;

extern const hpc_link_ops hpc_wire_ops;
int hpc_wire_world(hpc_link **out, office *o); /* the first link; takes the office */
wire_link *hpc_wire_find(const office *o, int64_t id);
void hpc_wire_fail(wire_op *op, const hpc_error *why);
int hpc_wire_refusal(hpc_error *out, const wire_link *l, int64_t seq, int peer);
/* Handles a letter for this link; takes it. */
void hpc_wire_deliver(wire_link *l, letter *m);
/* All operations of a link. Returns true if anything made progress. */
bool hpc_wire_advance(wire_link *l);
void hpc_wire_adopt_foreign(wire_link *l); /* takes letters that arrived before the link existed */
letter *hpc_wire_letter(wire_op *op, letter_type type);

/* start: joins, or stores an error. deliver: true if the letter belongs here; it is then taken.
 * advance: makes progress. */
int hpc_wire_collective_reserve(wire_op *op);
void hpc_wire_collective_start(wire_op *op);
bool hpc_wire_collective_deliver(wire_link *l, letter *m);
bool hpc_wire_collective_advance(wire_op *op);
void hpc_wire_message_start(wire_op *op);
bool hpc_wire_message_deliver(wire_link *l, letter *m);
bool hpc_wire_message_advance(wire_op *op);

#endif
