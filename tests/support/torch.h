/*
 * torch.h: the numbers of tests/fixtures/torch/, which PyTorch computed
 * (tests/fixtures/make_torch.py), and the same computation as a program, held
 * against them on each kind of device.
 *
 * Differences are relative to the largest number of a tensor.
 */
#ifndef HPC_TEST_TORCH_H
#define HPC_TEST_TORCH_H

#include "tests/support/values.h"

/* ---- numbers ------------------------------------------------------------------ */
/* A tensor of a case; what is in the sections given and seed is rounded to f32. */
typedef struct hpc_test_numbers {
    double *data; /* the caller frees */
    int64_t n, extent[HPC_RANK_MAX];
    int rank;
} hpc_test_numbers;

/* FAMILY.json; asserts that it is there. */
hpc_json *hpc_test_torch_file(const char *family);
const hpc_json *hpc_test_torch_find(const hpc_json *root, const char *name); /* a case */
bool hpc_test_torch_has(const hpc_json *item, const char *section, const char *name);
/* name NULL: the section itself, as seed is. Asserts that it is there. */
hpc_test_numbers hpc_test_torch_read(const hpc_json *item, const char *section, const char *name);
double hpc_test_torch_attr(const hpc_json *item, const char *name, double if_absent);

/* ---- ways to compute ---------------------------------------------------------- */
typedef struct hpc_test_way {
    const char *name;
    hpc_device_options device;
    hpc_dtype dtype; /* of all real values */
} hpc_test_way;
/* f32 by the best and the plainest instruction set, the f64 reference, f32 on mock. */
enum { HPC_TEST_WAY_N = 4 };
hpc_test_way hpc_test_way_at(int i);

/* A case's program on one of them. */
typedef struct hpc_test_torch_run {
    const hpc_json *item;
    hpc_test_way way;
    double bound; /* of f32; f64 has its own */
    hpc_program *p;
    hpc_device *d;
    hpc_exec *e;
} hpc_test_torch_run;
/* Opens a device and an executor for r->p, which is checked and then r's; arenas are poisoned. */
void hpc_test_torch_open(hpc_test_torch_run *r);
void hpc_test_torch_close(hpc_test_torch_run *r);
/* Assert that got[0..n), or all of v, is near the fixture's numbers from `first` on. */
void hpc_test_torch_near(const hpc_test_torch_run *r, const double *got, int64_t n,
                         const char *section, const char *name, int64_t first);
void hpc_test_torch_value_near(const hpc_test_torch_run *r, hpc_value v, const char *section,
                               const char *name, int64_t first);

/* ---- a case that is a function of what it is given, and its gradient ---------- */
typedef struct hpc_test_torch {
    const hpc_json *item;
    hpc_program *p; /* emission goes to its segment forward[0] */
    hpc_dtype dtype;
} hpc_test_torch;
/* Of the type that the fixture has, given or an index. */
hpc_value hpc_test_torch_input(hpc_test_torch *t, const char *name);
hpc_value hpc_test_torch_param(hpc_test_torch *t, const char *name);

typedef struct hpc_test_torch_case {
    const char *name;
    hpc_value (*emit)(hpc_test_torch *t); /* y */
    double bound;                         /* of f32, relative to the largest number */
} hpc_test_torch_case;
/* Asserts y and all gradients of the fixture, in all ways. */
void hpc_test_torch_check(const char *family, const hpc_test_torch_case *c);
/* Asserts that the file has these n cases and no other. */
void hpc_test_torch_covers(const char *family, const hpc_test_torch_case *c, int n);

#endif
