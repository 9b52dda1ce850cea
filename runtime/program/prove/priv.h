/*
 * priv.h: internals of the proof: maps, which describe the elements that a value holds,
 * and the state of a running proof.
 */
#ifndef HPC_PROVE_PRIV_H
#define HPC_PROVE_PRIV_H

#include "runtime/program/op/op.h"
#include "runtime/program/prove/prove.h"

/* ---- which elements (map.c) ------------------------------------------------------------
 * Element i of a value is element base + sum over axes of coord * by + stride of i in its root.
 * The stride of i is the sum of its digits in mixed radix, outermost first, each times its
 * stride. Views do not change a map, tiles reorder digits, gathering turns an axis into a digit,
 * and scattering does the opposite. */
enum { FACTORS = 24 };
typedef struct factor {
    int64_t n, stride;
} factor;
typedef struct map {
    hpc_value root;  /* value of the serial program; larger: an addend of its state */
    int32_t version; /* of a root that is state; -1 */
    int n;
    factor f[FACTORS];
    int64_t base;
    int64_t by[HPC_AXIS_N];     /* 0: ranks along the axis hold the same */
    int8_t partial[HPC_AXIS_N]; /* 0: whole; else HPC_PARTIAL, HPC_LOGARITHM or HPC_OWN(0) */
    int8_t joins; /* of logarithms being joined along `along`, what (soft.c); else 0 */
    int8_t along;
} map;
map map_whole(hpc_value root, int32_t version, int64_t elements);
int64_t map_elements(const map *m);
bool map_equal(const map *a, const map *b);
/* Each false where no map can say it. Rows [row, row + rows) of `row_n` elements each; */
bool map_rows(map *m, int64_t row, int64_t rows, int64_t row_n);
int64_t map_at(const map *m, int64_t element); /* relative to the base */
/* digits of radix b and c, of a * b * c * d elements, trade places; */
bool map_trade(map *m, int64_t b, int64_t c, int64_t d);
/* the parts of `ranks` along an axis, concatenated; one rank's part; every rank's share of that
 * part, concatenated. */
bool map_gather(map *m, int axis, int64_t ranks);
bool map_scatter(map *m, int axis, int64_t ranks);
bool map_exchange(map *m, int axis, int64_t ranks);
/* What a rank holds of a serial value, of type `global` and map `whole`, by the layout of `local`.
 * Where extents do not cover it once, false, and *dim says along which (-1: the map cannot say). */
bool map_place(map *out, int *dim, const map *whole, const hpc_type *global, const hpc_type *local,
               const hpc_grid_shape *shape);

/* ---- a proof under way (layout.c) -------------------------------------------------------- */
typedef struct addition { /* made for state, but added to it by a later instruction */
    int32_t segment, operand;
    int64_t insn; /* of the serial program */
    bool done;
} addition;

typedef struct bundle { /* what a value holds that others were put into */
    map part[HPC_BUNDLE_MAX];
    int n;
    int64_t parts; /* every part holds the same share of the ranks, concatenated */
} bundle;

typedef struct prover {
    const hpc_prove *w;
    const hpc_program *g, *p;  /* the serial program, and the first rank's */
    map *serial;               /* by serial value */
    map *held;                 /* by value: what ranks hold */
    int32_t *made_in;          /* by value: the segment that it is a temporary of */
    hpc_value *under;          /* by value: the guard that a move was made under, or HPC_NONE */
    int32_t *written, *newest; /* by serial state: writes matched, and the newest of them */
    int32_t *content;          /* by value, of copies that are kept whole: the version in them */
    hpc_value *copy_of;        /* by value: the serial state that it is a copy of, or HPC_NONE */
    int64_t first;             /* of the serial segment, before which all are matched */
    bool *matched;             /* by instruction of the current serial segment */
    bool *stands, *here;       /* by rank: has the current instruction; executes it */
    int64_t *at;               /* by rank: where it is in the segment */
    bundle *bundle;
    int64_t bundle_n, bundle_cap;
    int32_t *bundle_of; /* by value: 1 + which, or 0 */
    addition *add;
    int64_t add_n, add_cap;
    int segment;
    int64_t insn;
    hpc_proof *out;
} prover;

static inline int prove_extent_of(const hpc_grid_shape *s, int axis)
{
    return s->extent[axis] > 1 ? s->extent[axis] : 1;
}
static inline int prove_extent(const hpc_prove *w, int axis)
{
    return prove_extent_of(w->shape, axis);
}

typedef char value_text[160];
/* "operand"s value for messages: "%57, which holds blocks.0.q.weight". */
const char *prove_value(value_text out, const prover *w, hpc_value v);
/* What v holds now, as read; fails where state is read amid its additions. */
int prove_read(map *out, const prover *w, hpc_value v);
/* Of a serial value, of that type: how many elements it has, picked ones as a proof counts them;
 * and what a rank holds of it, as map_place says (picked.c). */
int64_t prove_elements(const prover *w, const hpc_type *global);
bool prove_place(map *out, int *dim, const prover *w, const map *whole, const hpc_type *global,
                 const hpc_type *local);
/* Picked elements are selected where their index lies, and meet none that were picked otherwise:
 * HPC_E_STATE; HPC_E_UNSUPPORTED for what has no rule. dims: of the serial instruction. */
int prove_picked(const prover *w, const hpc_insn *g, const hpc_dims *dims);
/* Output k of the current instruction holds m. */
int prove_hold(prover *w, hpc_value v, const map *m);
/* True if it only moves elements; the resulting map (move.c). */
bool prove_moves(const hpc_insn *i);
int prove_move(prover *w, const hpc_insn *i);
/* A tile that one rank has as well is computation: its blocks need not lie in one rank's rows. */
bool prove_tiles(const prover *w, const hpc_insn *i);
/* Serial views alone: out is the map of y. */
int prove_move_serial(map *out, const hpc_program *g, const hpc_insn *i, const map *x);
int prove_communicate(const prover *w, map *m, const hpc_insn *i);
/* Logarithms of partial sums that are joined by a collective over their largest, and one over
 * exponentials (soft.c). */
enum { PROVE_MOST = 1, PROVE_EXPONENTIALS, PROVE_SUM };
bool prove_joins(const hpc_insn *i);
int prove_join(prover *w, const hpc_insn *i);
/* Of bundles (bundle.c). */
bool prove_bundles(const prover *w, const hpc_insn *i);
int prove_bundle(prover *w, const hpc_insn *i);
/* Computation: its partner in the serial program, layouts, what is added to state (match.c). */
int prove_match(prover *w, const hpc_insn *i);
/* The layouts of a matched instruction's operands are legal, and `made` are its outputs' by axis.
 */
int prove_rule(int8_t made[HPC_OPERAND_MAX][HPC_AXIS_N], const prover *w, const hpc_insn *g,
               const hpc_insn *i);
/* Of a whole added to state of partial sums: by the first along those axes alone. */
int prove_presence(const prover *w, hpc_value state, const int8_t *added);
/* Read where it lies, besides what only adds to it. */
bool prove_input(const hpc_program *p, const hpc_insn *i, int k);

#endif
