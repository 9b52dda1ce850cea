/*
 * program.h: a model as data: typed values, instructions, segments, and the passes that transform
 * programs.
 *
 * To write a pass: walk p->segment[s].insn[i], read types and tags (never names), emit with
 * hpc_emit, and call hpc_program_check, which proves the rest. To add an op: program/op/op.h. To
 * run or schedule: program/run/run.h.
 *
 * Inputs and temporaries are assigned once. Only state is written repeatedly: each write creates a
 * new version, and an instruction names the version that it reads. Dependencies follow from values
 * and versions, never from positions.
 */
#ifndef HPC_PROGRAM_H
#define HPC_PROGRAM_H

#include "runtime/device/device.h"
#include "runtime/device/kernel/kernel.h"
#include "runtime/program/layout.h"
#include "runtime/link/link.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_program hpc_program;
typedef struct hpc_op hpc_op;

/* ---- values ---------------------------------------------------------------- */
typedef int32_t hpc_value; /* an index into p->value */
enum {
    HPC_NONE = -1,    /* an absent optional operand */
    HPC_NEW = -2,     /* as an output given to hpc_emit: create it */
    HPC_NEW_WIDE = -3 /* the same, in f32 where the op would make bf16 */
};

/* The `count` of a type in a shape rule: the value of operand k of the same instruction. */
#define HPC_COUNT_OF(k) (-16 - (k))

typedef struct hpc_type {
    uint8_t dtype, pack;       /* hpc_dtype; layout, device.h */
    int8_t rank, ragged;       /* ragged: the dimension with a run-time extent, or -1 */
    int8_t layout[HPC_AXIS_N]; /* HPC_REPLICATED, ..., HPC_SPLIT(dim) or HPC_INNER(dim) */
    hpc_value count;           /* i32 value of the run-time extents, or HPC_NONE */
    hpc_value
        picked; /* 1 + the i32 state with these elements' indices in a tensor; 0: not picked */
    int64_t extent[HPC_RANK_MAX]; /* maxima */
} hpc_type;
hpc_type hpc_type_of(hpc_dtype dtype, int rank, const int64_t *extent);
hpc_type hpc_type_ragged(hpc_type t, int dim, hpc_value count);
size_t hpc_type_bytes(const hpc_type *t);
/* The global index at which a rank's part begins along a dimension, given the part's type. */
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
    bool trainable;   /* state: differentiation makes an accumulator for it */
    hpc_value grad;   /* state: that accumulator, or HPC_NONE */
    hpc_value index;  /* trainable: state with the indices of the elements that learn (the
                         others are 0); the accumulator has only these. HPC_NONE: all */
    int64_t picks;    /* state that is such an index: its elements in this rank's part */
    hpc_value whole;  /* state: its gathered copy (hpc_shard), or HPC_NONE */
    hpc_value master; /* a parameter: the state that updates change instead, or HPC_NONE */
    hpc_value param;  /* state that is a master: the parameter; or HPC_NONE */
    int8_t settled[HPC_AXIS_N]; /* state of partial sums: the layout in which they are read */
    hpc_value base;             /* a view: the value whose memory it shares, or HPC_NONE */
    int64_t base_element;       /* first element of the view in `base` */
    bool anew;                  /* accumulator: every run of backward overwrites it first */
    bool kept;                  /* temporary: the host reads it, so it lives to the end */
    int32_t version;            /* state: the newest version */
    int32_t segment, insn;      /* temporaries: where assigned */
    bool absent;                /* state of another stage: has no memory on this rank */
    bool joined;                /* temporary: sharding will sum it over ranks */
    bool outside;               /* state in an outside memory: only fetch and stow use it */
    bool buffer;                /* state without a value between runs of segments */
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
    int16_t block;      /* layer of the model, or -1 */
    int16_t microbatch; /* -1: that of the slot */
    int16_t group;      /* parameter group, or -1 */
    uint8_t queue;      /* hpc_queue */
    int32_t origin;     /* instruction of the forward segment that it was derived from, or -1 */
    bool anew;          /* overwrites state instead of adding to it */
    bool again;         /* recomputes a forward instruction (hpc_recompute) */
    bool idle;          /* another rank executes it; here it only keeps that rank's position */
    hpc_value guard;    /* i32 scalar: runs if it is not 0; HPC_NONE: always */
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
    hpc_segment *segment; /* in the order in which a slot runs them */
    int64_t segment_n, segment_cap;
    int current;     /* segment that emission appends to */
    hpc_tags tags;   /* of the instructions emitted next; passes may set them */
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
/* Appends an instruction. operand: op->sig.operand_n values, outputs HPC_NEW, HPC_NONE
 * (optional) or state (ACC, INOUT); attr may be NULL for all zeros. Returns the first output (an
 * existing state if it was given); HPC_NONE if there is no output or after a failure. New
 * outputs are stored in operand. The error for operands that do not match names segment,
 * instruction, operand and both shapes. */
hpc_value hpc_emit(hpc_program *p, const hpc_op *op, hpc_value *operand, const void *attr);
/* 0, or the code of the first failed emission, recorded again. Builders check it at the end. */
int hpc_program_status(const hpc_program *p);
/* Proves single assignment, order and versions, and that counts and guards have valid types.
 * Call it after every pass; tests always do. hpc_emit checks shapes. */
int hpc_program_check(const hpc_program *p);
hpc_program *hpc_program_copy(const hpc_program *p); /* deep */
/* Prefix of errors about an instruction: "forward[0] #12 matmul (block 3)". */
const char *hpc_insn_where(char out[96], const hpc_program *p, int segment, int64_t insn);

/* ---- passes ----------------------------------------------------------------- */
typedef struct hpc_diff_options {
    int forward, backward; /* segments: differentiated, and appended to (the caller creates it) */
    int accumulate;        /* segment for "accumulator += gradient" in the order that a
                              schedule fixes, or -1: backward adds in place */
    bool anew; /* with accumulate -1, for gradients that are used after each run of backward: the
                  first addition to an accumulator overwrites it, so it needs no clearing */
    const hpc_value *seed_of; /* [seed_n]: values with given gradients */
    const hpc_value *seed;    /* [seed_n]: these gradients; computed ones are added to them */
    int64_t seed_n;
    const hpc_value *want; /* [want_n]: further values that need gradients, not trainable state */
    hpc_value *want_grad;  /* out, [want_n]: their gradients; HPC_NONE where none flows */
    int64_t want_n;
    /* Takes gradients in place of accumulators, which only state read twice has (or NULL) */
    int (*fold)(hpc_program *p, hpc_value state, hpc_value gradient, void *user);
    void *user;
    bool send; /* with fold: also adds up those of state read twice as temporaries, which ranks of a
                  pipeline can send each other */
} hpc_diff_options;
/* HPC_E_UNSUPPORTED if a gradient passes a guarded instruction, or one that reads state which is
 * written later. */
int hpc_differentiate(hpc_program *p, const hpc_diff_options *o);
/* The f32 accumulator (f64 for f64) of a trainable state's gradient; created if it does not
 * exist. */
hpc_value hpc_accumulator(hpc_program *p, hpc_value state);

/* Backward recomputes forward values that it reads, just before their first use, instead of
 * keeping them: the same bits, less memory, at most forward's flops once more. Candidates are
 * temporaries of a block that no other block reads in forward: the residual stream is kept.
 * BLOCK recomputes all of them, SELECTIVE only those that take few flops and save memory: never
 * products or attention. An instruction is never recomputed if its result is kept, guarded or
 * received from other ranks, or if it reads state that is written before the end of backward. Nor
 * is one whose result is `joined`: backward then reads the sum that forward made, and repeats no
 * collective, unless repeat_joined is set.
 * Call it after hpc_differentiate, before hpc_shard; tags.origin names the recomputed
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
    bool repeat_joined;
} hpc_recompute_options;
int hpc_recompute(hpc_program *p, const hpc_recompute_options *o);

/* Rewrites p in place as the program of one rank. On entry types are global, with the requested
 * layouts on inputs and state. Layouts are propagated through the op table, collectives are
 * inserted where they differ, and extents become local. A temporary with a layout is converted
 * to it when it is computed; hpc_differentiate gives its gradient the same layout. The
 * error for an extent that is not divisible names value, extent and axis. If a view creates
 * blocks of rows that do not divide as the rows did, they are gathered as far as necessary.
 *
 * If several axes split a dimension, row has the coarsest parts, then col, expert, pipe, depth,
 * and data the finest (hpc_axis_nesting); HPC_INNER parts are finer than all. State that is
 * split on data or depth is gathered once in a segment where it is used, and not kept. An
 * accumulator keeps its given layout; without one it takes the layout of the first value added
 * to it. Values in another layout are converted before they are added. Partial sums in state are
 * read in the layout value.settled. If state is partial on an axis and all ranks of that axis
 * hold the same addend, only the first of them adds it. */
typedef struct hpc_shard_options {
    /* Trainable state of which these axes split the rows, or a matrix's columns, is also kept
     * gathered over them, as "whole.NAME", for forward and backward to read. Finer axes that split
     * it must be in the set. */
    hpc_axes keep;
    hpc_axes staged; /* hpc_stage follows along these axes: it chooses the rank that adds a
                        replicated value to partial sums */
    int gather; /* out: the appended segment that gathers written state into those copies; -1: none
                 */
} hpc_shard_options;
/* o may be NULL. */
int hpc_shard(hpc_program *p, const hpc_grid_shape *shape, const int coord[HPC_AXIS_N],
              hpc_shard_options *o);

/* Overlaps communication with computation. In each segment collectives start as soon as their
 * input is ready, and instructions that wait for one come after all other possible work. Inputs
 * of the next collective on the critical path come first; weight gradients are computed while it
 * is in flight. Recomputation waits until backward has reached the following block. The bits do
 * not change, state is written in the same order, and all ranks of a grid get the same order.
 * Segments with messages are not changed. Call it after hpc_shard. */
typedef struct hpc_overlap_options {
    int ahead; /* state is gathered up to this many blocks before its use; sums that end in state
                  may be in flight equally long before their memory is needed */
    size_t bucket_bytes; /* combines these sums into messages of up to this many bytes; 0: none */
} hpc_overlap_options;
int hpc_overlap(hpc_program *p, const hpc_overlap_options *o);
/* Appends segment `from` to `into`, so that both overlap. move leaves `from` empty; append copies
 * it. The caller guarantees that the segments between them give the same results in that order. */
int hpc_program_move(hpc_program *p, int into, int from);
int hpc_program_append(hpc_program *p, int into, int from);

/* Converts all real values to f64: the reference for tests and bench. */
int hpc_to_double(hpc_program *p);

/* Memory spaces: state; one arena for each slot; one arena for values that live within a segment.
 * With one slot, everything but state shares the slot's arena. */
typedef enum hpc_space { HPC_SPACE_STATE, HPC_SPACE_SLOT, HPC_SPACE_LOCAL, HPC_SPACE_N } hpc_space;
typedef struct hpc_placement {
    uint8_t *space;             /* by value */
    int64_t *offset;            /* by value; of a view: its own, within its base */
    int64_t **workspace;        /* by segment and instruction: offset in `workspace_space` */
    hpc_space *workspace_space; /* by segment */
    int64_t own;                /* offset of the workers' own memory, in the same space */
    size_t bytes[HPC_SPACE_N];  /* of each arena */
    size_t live[HPC_SPACE_N];   /* the most that is alive at once: a lower bound of bytes */
} hpc_placement;
/* State that is outside gets no place, nor does state with memory elsewhere[value]; this may be
 * NULL. workspace_bytes[segment][insn]; NULL: none. own_bytes: always reserved. Allocates from `a`.
 */
int hpc_place(hpc_placement *out, hpc_arena *a, const hpc_program *p, const void *const *elsewhere,
              const size_t *const *workspace_bytes, size_t own_bytes, int slots);

/* ---- cost and text ----------------------------------------------------------- */
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
