/*
 * torch.h: compares programs on each kind of device with results that PyTorch computed:
 * tests/fixtures/torch/, made by tests/fixtures/make_torch.py.
 *
 * Differences are relative to a tensor's largest number.
 */
#ifndef HPC_TEST_TORCH_H
#define HPC_TEST_TORCH_H

#include "tests/support/values.h"

/* ---- numbers ------------------------------------------------------------------ */
/* A tensor of a case; sections `given` and `seed` are rounded to f32. */
typedef struct hpc_test_numbers {
    double *data; /* the caller frees */
    int64_t n, extent[HPC_RANK_MAX];
    int rank;
} hpc_test_numbers;

/* Reads FAMILY.json; asserts that it exists. */
hpc_json *hpc_test_torch_file(const char *family);
const hpc_json *hpc_test_torch_find(const hpc_json *root, const char *name); /* a case */
bool hpc_test_torch_has(const hpc_json *item, const char *section, const char *name);
/* name NULL: the section itself, like `seed`. Asserts that it exists. */
hpc_test_numbers hpc_test_torch_read(const hpc_json *item, const char *section, const char *name);
double hpc_test_torch_attr(const hpc_json *item, const char *name, double if_absent);

/* ---- ways to compute ---------------------------------------------------------- */
typedef struct hpc_test_way {
    const char *name;
    hpc_device_options device;
    hpc_dtype dtype; /* type of all real values */
} hpc_test_way;
/* f32 with the best and with the baseline instruction set, f64 reference, f32 on mock. */
enum { HPC_TEST_WAY_N = 4 };
hpc_test_way hpc_test_way_at(int i);

/* A case's program on one of these. */
typedef struct hpc_test_torch_run {
    const hpc_json *item;
    hpc_test_way way;
    double bound; /* for f32; f64 has its own */
    hpc_program *p;
    hpc_device *d;
    hpc_exec *e;
} hpc_test_torch_run;
/* Opens a device and an executor for r->p, which is checked and then owned by r; arenas are
 * poisoned. */
void hpc_test_torch_open(hpc_test_torch_run *r);
void hpc_test_torch_close(hpc_test_torch_run *r);
/* Assert that got[0..n), or all of v, is near the fixture's numbers from `first` on. */
void hpc_test_torch_near(const hpc_test_torch_run *r, const double *got, int64_t n,
                         const char *section, const char *name, int64_t first);
void hpc_test_torch_value_near(const hpc_test_torch_run *r, hpc_value v, const char *section,
                               const char *name, int64_t first);

/* ---- a case that is a function of its inputs, and its gradient ------------------------------- */
typedef struct hpc_test_torch {
    const hpc_json *item;
    hpc_program *p; /* emits into its segment forward[0] */
    hpc_dtype dtype;
} hpc_test_torch;
/* An input with the fixture's type, a given value or an index. */
hpc_value hpc_test_torch_input(hpc_test_torch *t, const char *name);
hpc_value hpc_test_torch_param(hpc_test_torch *t, const char *name);

typedef struct hpc_test_torch_case {
    const char *name;
    hpc_value (*emit)(hpc_test_torch *t); /* y */
    double bound;                         /* for f32, relative to the largest number */
} hpc_test_torch_case;
/* Asserts y and all gradients of the fixture, in all ways. */
void hpc_test_torch_check(const char *family, const hpc_test_torch_case *c);
/* Asserts that the file has exactly these n cases. */
void hpc_test_torch_covers(const char *family, const hpc_test_torch_case *c, int n);

#endif
