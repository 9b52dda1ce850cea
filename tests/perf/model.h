/*
 * model.h: a model for tests of predictions, trained on a few kinds of edits of one function with
 * assigned effects. Its predictions for the same kinds of edits are certain.
 */
#ifndef HPC_TESTS_PERF_MODEL_H
#define HPC_TESTS_PERF_MODEL_H

#include "infer/perf/learn.h"
#include "tests/perf/history.h"

#define STEP(head, body)                                                                           \
    "#include <stdlib.h>\n#include <stdio.h>\n#include <math.h>\n\n" head                          \
    "void step(int n, double *a, const double *b)\n{\n" body "}\n"
#define PLAIN STEP("", "    for (int i = 0; i < n; i++)\n        a[i] += b[i];\n")
/* slower; the reverse is faster */
#define LOOPS                                                                                      \
    STEP("", "    for (int k = 0; k < n; k++)\n        for (int i = 0; i < n; i++)\n"              \
             "            a[i] += b[i];\n")
#define ALLOCATES                                                                                  \
    STEP("", "    for (int i = 0; i < n; i++) {\n        double *t = malloc(n * sizeof *t);\n"     \
             "        t[0] = b[i];\n        a[i] += t[0];\n        free(t);\n    }\n")
#define COMPUTES                                                                                   \
    STEP("", "    for (int i = 0; i < n; i++)\n        a[i] += exp(b[i]) / sqrt(b[i]);\n")
/* no effect */
#define RENAMES STEP("", "    for (int j = 0; j < n; j++)\n        a[j] += b[j];\n")
#define VERSION                                                                                    \
    STEP("int version(void)\n{\n    return 3;\n}\n\n",                                             \
         "    for (int i = 0; i < n; i++)\n        a[i] += b[i];\n")
#define CHECKS                                                                                     \
    STEP("", "    if (!a)\n        return;\n    for (int i = 0; i < n; i++)\n"                     \
             "        a[i] += b[i];\n")
/* slower as often as unchanged: no prediction */
#define DOUBTFUL                                                                                   \
    STEP("", "    for (int i = 0; i < n; i++)\n        a[i] += 2 * b[i] + b[i] * a[i];\n")
/* comments only */
#define COMMENTED                                                                                  \
    STEP("/* as it was */\n", "    for (int i = 0; i < n; i++)\n        a[i] += b[i];\n")

/* Writes NAME/model.json into the folder. */
static inline void make_model(place *p, const char *name)
{
    static const struct {
        const char *from, *to;
        hpc_perf_verdict label, other; /* `other`: label of every second example */
        int n;
    } kinds[] = {
        {PLAIN, LOOPS, HPC_PERF_SLOWER, HPC_PERF_SLOWER, 20},
        {RENAMES, LOOPS, HPC_PERF_SLOWER, HPC_PERF_SLOWER, 20},
        {PLAIN, ALLOCATES, HPC_PERF_SLOWER, HPC_PERF_SLOWER, 20},
        {PLAIN, COMPUTES, HPC_PERF_SLOWER, HPC_PERF_SLOWER, 20},
        {LOOPS, PLAIN, HPC_PERF_FASTER, HPC_PERF_FASTER, 20},
        {LOOPS, RENAMES, HPC_PERF_FASTER, HPC_PERF_FASTER, 20},
        {ALLOCATES, PLAIN, HPC_PERF_FASTER, HPC_PERF_FASTER, 20},
        {COMPUTES, PLAIN, HPC_PERF_FASTER, HPC_PERF_FASTER, 20},
        {PLAIN, RENAMES, HPC_PERF_SAME, HPC_PERF_SAME, 40},
        {PLAIN, VERSION, HPC_PERF_SAME, HPC_PERF_SAME, 40},
        {PLAIN, CHECKS, HPC_PERF_SAME, HPC_PERF_SAME, 40},
        {CHECKS, PLAIN, HPC_PERF_SAME, HPC_PERF_SAME, 20},
        {VERSION, PLAIN, HPC_PERF_SAME, HPC_PERF_SAME, 20},
        {PLAIN, DOUBTFUL, HPC_PERF_SLOWER, HPC_PERF_SAME, 60},
    };
    enum { KINDS = sizeof kinds / sizeof *kinds, MOST = 400 };
    history h = {.p = p};
    hpc_perf_example *e = calloc(MOST, sizeof *e);
    hpc_perf_model *model = NULL;
    char path[64];
    int n = 0;
    assert_non_null(e);
    for (int k = 0; k < KINDS; k++) {
        commit_from(&h, 0);
        with(&h, "step.c", kinds[k].from);
        commit_from(&h, 2 * k + 1);
        with(&h, "step.c", kinds[k].to);
    }
    history_open(&h, NULL);
    for (int k = 0; k < KINDS; k++) {
        look(&h, 2 * k + 1, 2 * k + 2);
        for (int i = 0; i < kinds[k].n; i++) {
            hpc_perf_verdict label = i / 4 % 2 ? kinds[k].other : kinds[k].label;
            e[n] = (hpc_perf_example){.x = h.features.commit, .label = label};
            e[n].change = label == HPC_PERF_SLOWER ? 0.5 : label == HPC_PERF_FASTER ? -0.3 : 0;
            e[n].group = i % 4;
            e[n++].time = 1600000000 + 1000 * i;
        }
    }
    history_close(&h);
    script(p, "rm -rf r in marks");
    if (hpc_perf_learn(&model, e, n, NULL) < 0) fail_msg("%s", hpc_error_get()->text);
    snprintf(path, sizeof path, "%s/model.json", name);
    char folder[128];
    snprintf(folder, sizeof folder, "mkdir -p %s", name);
    script(p, folder);
    if (hpc_perf_model_write(model, in(p, path)) < 0) fail_msg("%s", hpc_error_get()->text);
    hpc_perf_model_free(model);
    free(e);
}

/* One model for all tests of a program, as cmocka's group setup and teardown. */
static inline place *models(void)
{
    static place p;
    return &p;
}

static inline int models_setup(void **state)
{
    void *made = NULL;
    (void)state;
    if (place_setup(&made) != 0) return -1;
    *models() = *(place *)made;
    free(made);
    make_model(models(), "m");
    return 0;
}

static inline int models_teardown(void **state)
{
    place *p = malloc(sizeof *p);
    void *made = p;
    (void)state;
    if (!p) return -1;
    *p = *models();
    return place_teardown(&made);
}

#endif
