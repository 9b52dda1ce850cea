/*
 * program.h: a model as data: typed values, instructions, segments, and the
 * passes that turn programs into programs.
 *
 * To write a pass: walk p->segment[s].insn[i], read types and tags (never
 * names), emit through hpc_emit, and let hpc_program_check prove what is left.
 * To add an op: program/op/op.h. To run or schedule: program/run/run.h.
 *
 * Values are assigned once. State alone is written again, each write giving a
 * new version; an instruction names the version that it reads. Dependencies
 * follow from values and versions, never from positions.
 */
#ifndef HPC_PROGRAM_H
#define HPC_PROGRAM_H

#include "runtime/device/device.h"
#include "runtime/device/kernel/kernel.h"
#include "runtime/link/link.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_program hpc_program;
typedef struct hpc_op hpc_op;

/* ---- values ---------------------------------------------------------------- */
typedef int32_t hpc_value; /* an index into p->value */
enum {
    HPC_NONE = -1, /* an absent optional operand */
    HPC_NEW = -2   /* as an output given to hpc_emit: create it */
};

/* Layout of a value on one grid axis. A split value's extent here is the local one
 * once hpc_shard has run, the global one before. */
enum { HPC_REPLICATED = 0, HPC_PARTIAL = -1, HPC_LOGARITHM = -2 /* of a partial sum */ };
#define HPC_SPLIT(dim) (1 + (dim))
/* Split as well, with parts that lie within those of every axis that has HPC_SPLIT(dim). Where an
 * operand of an instruction is split this way and another one plainly, this one is gathered. */
#define HPC_INNER(dim) (1 + HPC_RANK_MAX + (dim))
/* The dimension that a layout splits, either way; below 0: none. */
static inline bool hpc_layout_inner(int8_t layout)
{
    return layout > HPC_RANK_MAX;
}
static inline int hpc_layout_dim(int8_t layout)
{
    return hpc_layout_inner(layout) ? layout - 1 - HPC_RANK_MAX : layout - 1;
}
static inline int8_t hpc_layout_split(int dim, bool inner)
{
    return (int8_t)(inner ? HPC_INNER(dim) : HPC_SPLIT(dim));
}
/* In a shape rule, as a type's count: the value that operand k of this instruction will be. */
#define HPC_COUNT_OF(k) (-16 - (k))

typedef struct hpc_type {
    uint8_t dtype, pack;       /* hpc_dtype; HPC_PLAIN, HPC_PANEL16 */
    int8_t rank, ragged;       /* ragged: the dimension with a run-time extent, or -1 */
    int8_t layout[HPC_AXIS_N]; /* HPC_REPLICATED, ..., HPC_SPLIT(dim) or HPC_INNER(dim) */
    hpc_value count;           /* i32 value of the run-time extents, or HPC_NONE */
    hpc_value picked; /* 1 + the index (i32 state) by which these were picked from a tensor, or 0 */
    int64_t extent[HPC_RANK_MAX]; /* maxima */
} hpc_type;
hpc_type hpc_type_of(hpc_dtype dtype, int rank, const int64_t *extent);
hpc_type hpc_type_ragged(hpc_type t, int dim, hpc_value count);
size_t hpc_type_bytes(const hpc_type *t);
/* Where a rank's part begins along a dimension of the whole, given the part's type. */
int64_t hpc_type_first(const hpc_type *local, int dim, const hpc_grid_shape *shape,
                       const int *coord);
const char *hpc_type_text(char out[128], const hpc_type *t); /* "f32[256,768]{data:0}" */

typedef enum hpc_value_kind {
    HPC_VALUE_INPUT, /* written by the host for each slot; stays until written again */
    HPC_VALUE_STATE, /* one for all slots, lives as long as the executor */
    HPC_VALUE_TEMP   /* computed; lives from its instruction to its last use, for each slot */
} hpc_value_kind;

typedef struct hpc_value_info {
    const char *name; /* of inputs and state; NULL for temporaries */
    uint64_t name_hash;
    hpc_value_kind kind;
    hpc_type type;
    bool trainable;             /* state: differentiation makes an accumulator for it */
    hpc_value grad;             /* state: that accumulator, or HPC_NONE */
    hpc_value index;            /* trainable: the elements that learn, the others being 0, and of
                                   which alone the accumulator is; HPC_NONE: all */
    int64_t picks;              /* state, such an index: how many of them are in this rank's part */
    hpc_value whole;            /* state: where it is kept gathered (hpc_shard), or HPC_NONE */
    int8_t settled[HPC_AXIS_N]; /* state, of partial sums: the layout in which they are read */
    hpc_value base;             /* a view: the value whose memory it shares, or HPC_NONE */
    int64_t base_element;       /* and from where */
    bool anew;                  /* such an accumulator: each run of backward begins it anew */
    bool kept;                  /* temporary: the host reads it, so it lives to the end */
    int32_t version;            /* state: the newest */
    int32_t segment, insn;      /* temporaries: where assigned */
} hpc_value_info;

/* ---- instructions ---------------------------------------------------------- */
typedef enum hpc_phase {
    HPC_FORWARD,
    HPC_BACKWARD,
    HPC_ACCUMULATE,
    HPC_UPDATE,
    HPC_REFRESH,
    HPC_DECODE,
    HPC_PHASE_N
} hpc_phase;
const char *hpc_phase_name(hpc_phase f);

typedef struct hpc_tags {
    hpc_phase phase;
    int16_t block;      /* which layer of the model, or -1 */
    int16_t microbatch; /* -1: whichever the slot holds */
    int16_t group;      /* parameter group, or -1 */
    uint8_t queue;      /* hpc_queue */
    int32_t origin;     /* instruction of the forward segment that it stems from, or -1 */
    bool anew;          /* what it would add to state is stored there instead */
    bool again;         /* forward has made it before: hpc_recompute */
    bool idle;          /* another rank does it: here it only stands where it stands there */
    hpc_value guard;    /* i32 scalar: runs where it is not 0; HPC_NONE: always */
} hpc_tags;

typedef struct hpc_insn {
    const hpc_op *op;
    hpc_value operand[HPC_OPERAND_MAX]; /* in the order of op->sig */
    int32_t version[HPC_OPERAND_MAX];   /* of state operands: read (before any write here) */
    void *attr;                         /* op->sig.attr_bytes, owned by the program */
    hpc_tags tags;
} hpc_insn;

typedef struct hpc_segment {
    hpc_phase phase;
    int index; /* stage or group */
    hpc_insn *insn;
    int64_t insn_n, insn_cap;
    char name[24]; /* "forward[0]" */
} hpc_segment;

/* Read freely; write through the functions below. */
struct hpc_program {
    hpc_arena *arena;
    hpc_value_info *value;
    int64_t value_n, value_cap;
    hpc_segment *segment; /* in the order in which a slot goes through them */
    int64_t segment_n, segment_cap;
    int current;     /* segment that emission appends to */
    hpc_tags tags;   /* given to what is emitted next; set at will */
    hpc_error error; /* of the first failed emission: later ones do nothing */
};

hpc_program *hpc_program_create(void);
void hpc_program_free(hpc_program *p);
hpc_value hpc_program_input(hpc_program *p, const char *name, hpc_type t);
hpc_value hpc_program_state(hpc_program *p, const char *name, hpc_type t, bool trainable);
void hpc_program_keep(hpc_program *p, hpc_value v); /* the host will read this temporary */
hpc_value hpc_program_find(const hpc_program *p, const char *name); /* HPC_NONE if absent */
/* Appends a segment, makes it current, resets tags; its index in p->segment, or a code. */
int hpc_program_segment(hpc_program *p, hpc_phase phase, int index);
/* Appends an instruction. operand: op->sig.operand_n values, outputs HPC_NEW, HPC_NONE (optional)
 * or state (ACC, INOUT); attr may be NULL for all zeros. Returns the first output (an existing
 * state if that is what it is), HPC_NONE if there is none or after a failure; new outputs are
 * stored back into operand. A misfit names segment, instruction, operand and both shapes. */
hpc_value hpc_emit(hpc_program *p, const hpc_op *op, hpc_value *operand, const void *attr);
/* 0, or the first failed emission, recorded again: builders check once, at the end. */
int hpc_program_status(const hpc_program *p);
/* Proves single assignment, order, versions, and that counts and guards are such; after every pass,
 * in tests always. Shapes are emission's to prove. */
int hpc_program_check(const hpc_program *p);
/* For passes: deep copy; and an instruction's errors' prefix, "forward[0] #12 matmul (block 3)". */
hpc_program *hpc_program_copy(const hpc_program *p);
const char *hpc_insn_where(char out[96], const hpc_program *p, int segment, int64_t insn);

/* ---- passes ----------------------------------------------------------------- */
typedef struct hpc_diff_options {
    int forward, backward;    /* segments: from, and appended to (made by the caller) */
    int accumulate;           /* segment for "accumulator += gradient" in the order that a
                                 schedule fixes, or -1: backward adds in place */
    bool anew;                /* with accumulate -1, where gradients are used after each run of
                                 backward: the first of its instructions that adds to an
                                 accumulator overwrites it (value.anew), and nobody clears it */
    const hpc_value *seed_of; /* values whose gradients are given ... */
    const hpc_value *seed;    /* ... by these, to which what flows there is added */
    int64_t seed_n;
    const hpc_value *want; /* values, besides trainable state, to have gradients for */
    hpc_value *want_grad;  /* out: those; HPC_NONE where nothing flows */
    int64_t want_n;
} hpc_diff_options;
/* Refused: what a gradient passes that is guarded, or reads state which is written afterwards. */
int hpc_differentiate(hpc_program *p, const hpc_diff_options *o);
/* Where the gradients of a trainable state are added, f32 (f64 for f64); made if there is none. */
hpc_value hpc_accumulator(hpc_program *p, hpc_value state);

/* Backward makes again what it reads of forward, just before it first needs it, instead of keeping
 * it: the same bits, less memory, at most forward's flops once more. Candidates are temporaries
 * made in a block that nothing else reads in forward: the residual stream stays. BLOCK repeats all
 * of them, SELECTIVE only what takes few flops and saves memory: never products or attention.
 * Nothing kept, guarded, received from other ranks, or made of state that is written by the end of
 * backward is repeated. After hpc_differentiate, before hpc_shard; tags.origin names the repeated
 * instruction. */
typedef enum hpc_recompute_policy {
    HPC_RECOMPUTE_NONE,
    HPC_RECOMPUTE_SELECTIVE,
    HPC_RECOMPUTE_BLOCK
} hpc_recompute_policy;
typedef struct hpc_recompute_options {
    int forward, backward; /* segments */
    int policy;            /* hpc_recompute_policy */
    int blocks;            /* only blocks 0 to blocks - 1, by tag; 0: all */
} hpc_recompute_options;
int hpc_recompute(hpc_program *p, const hpc_recompute_options *o);

/* A rank's program: on entry types are global, with layouts on inputs and state as wished; layouts
 * are propagated through the op table, collectives enter where they differ, extents become local.
 * A temporary that has a layout is brought to it as soon as it is made; hpc_differentiate gives its
 * gradient the same.
 * A number that does not divide names value, extent and axis; blocks of rows that a view makes, and
 * that do not divide as the rows did, are put together as far as they need be. Rewrites p in place.
 *
 * Of a dimension split on several axes row has the coarsest parts, then col, expert, pipe, depth,
 * and data the finest (hpc_axis_nesting), but for what is split as HPC_INNER, finer than all. Where
 * state split on data or depth meets what flows, it is gathered, once in a segment, and not kept.
 * Accumulators have the layout that they are given; one that is given none takes that of what is
 * first added to it. What is added in another layout is converted first. Partial sums in state are
 * read as value.settled says. To state that is partial on an axis, what all its ranks have alike is
 * added by the first of them alone. */
typedef struct hpc_shard_options {
    /* Trainable state that is split on these axes, in its first dimension, is also kept gathered
     * over them, as "whole.NAME", for forward and backward to read: finer axes that split it must
     * be among them too. */
    hpc_axes keep;
    int gather; /* out: the segment, appended, that fills those from what was written; -1: none */
} hpc_shard_options;
/* o may be NULL. */
int hpc_shard(hpc_program *p, const hpc_grid_shape *shape, const int coord[HPC_AXIS_N],
              hpc_shard_options *o);

/* Communication behind computing. In each segment collectives begin as soon as what they send is
 * there, and what waits for one comes after all else that can be done meanwhile: what the next one
 * of the flow needs comes first, gradients of weights while it is under way. What is made again
 * waits until backward has come to the block behind its own. The bits are the same,
 * state is written in the same order, and ranks of one grid get one order: nothing here asks for
 * attributes. Segments with messages stay as they are. After hpc_shard. */
typedef struct hpc_overlap_options {
    int ahead; /* gathers of state begin up to so many blocks before the one that needs them; so
                  long may sums that end in state be under way, before their memory is wanted */
    size_t bucket_bytes; /* such sums go together, up to so many bytes a message; 0: each alone */
} hpc_overlap_options;
int hpc_overlap(hpc_program *p, const hpc_overlap_options *o);
/* Segment `from` behind what `into` has, so that both overlap: moved there, which leaves `from`
 * empty, or a copy with temporaries of its own. Segments between them must not mind. */
int hpc_program_move(hpc_program *p, int into, int from);
int hpc_program_append(hpc_program *p, int into, int from);

/* All real values become f64, all others stay: the reference for tests and bench. */
int hpc_to_double(hpc_program *p);

/* Memory. Spaces: state; one arena for each slot; one arena for what lives within a segment.
 * With one slot everything but state shares the slot arena. */
typedef enum hpc_space { HPC_SPACE_STATE, HPC_SPACE_SLOT, HPC_SPACE_LOCAL, HPC_SPACE_N } hpc_space;
typedef struct hpc_placement {
    uint8_t *space;             /* by value */
    int64_t *offset;            /* by value; views: of their base, displaced */
    int64_t **workspace;        /* by segment and instruction: offset in `workspace_space` */
    hpc_space *workspace_space; /* by segment */
    int64_t own;                /* offset of what workers have for themselves, in the same */
    size_t bytes[HPC_SPACE_N];  /* of each arena */
    size_t live[HPC_SPACE_N];   /* the largest set alive at once: the floor of bytes */
} hpc_placement;
/* elsewhere[value]: where state has memory already and needs none; NULL: nowhere.
 * workspace_bytes[segment][insn]; NULL: none. own_bytes: in use all the time. Allocates from `a`.
 */
int hpc_place(hpc_placement *out, hpc_arena *a, const hpc_program *p, const void *const *elsewhere,
              const size_t *const *workspace_bytes, size_t own_bytes, int slots);

/* ---- for people -------------------------------------------------------------- */
typedef struct hpc_cost {
    double flops, bytes;
} hpc_cost;
hpc_cost hpc_insn_cost(const hpc_program *p, const hpc_insn *i);
/* One line per instruction; `note` (optional) appends to a line (barriers, offsets). */
int hpc_program_print(hpc_buf *out, const hpc_program *p,
                      int (*note)(hpc_buf *out, void *user, int segment, int64_t insn), void *user);

#ifdef __cplusplus
}
#endif
#endif
