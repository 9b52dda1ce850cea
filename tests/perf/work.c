/*
 * Tests of infer/perf/work.c: the estimated effect of a change on run time: along calls, through
 * loops of known and unknown length, and under conditions.
 */
/* tsan: left out, starts no thread. */
#include <math.h>

#include "tests/perf/history.h"

typedef struct estimate {
    const char *what, *base, *head;
    double least, most;   /* percent, of exp - 1 where much more: of the logarithm */
    double share, within; /* of the work in functions that differ, in percent */
} estimate;

#define ALL HUGE_VAL

/* work(x) adds 1; main calls it 1000 times. */
#define CALLED(inside)                                                                             \
    "static double work(double x)\n{\n    " inside "\n}\n"                                         \
    "int main(void)\n{\n    double s = 0;\n    for (int i = 0; i < 1000; i++) s += work(i);\n"     \
    "    return s > 0;\n}\n"
#define UNCALLED(inside) "double other(double x)\n{\n    " inside "\n}\n" CALLED("return x + 1;")
#define HANDED(inside)                                                                             \
    "static int cmp(int x)\n{\n    " inside "\n}\n"                                                \
    "int main(void)\n{\n    for (int i = 0; i < 10; i++) each(i, cmp);\n    return 0;\n}\n"
#define VARIANTS                                                                                   \
    "#ifdef A\nint f(int x) { return x; }\n#else\nint f(int x) { return x / 7 / (x + 1) / 5; }\n"  \
    "#endif\n"
#define LOOP(before, head)                                                                         \
    before "int main(void)\n{\n    double s = 0;\n    " head " s += s * s;\n"                      \
           "    return s > 0;\n}\n"
#define GUARDED(guarded)                                                                           \
    "int main(void)\n{\n    double s = 0;\n    for (int i = 0; i < 1000; i++) {\n"                 \
    "        s += s * s + s * i - s * 3 + i * 5;\n" guarded "    }\n    return s > 0;\n}\n"

static const estimate cases[] = {
    {"what is called in a loop counts as often", CALLED("return x + 1;"), CALLED("return x / 3;"),
     30, 150, 90, 100},
    {"what is never called does not count", UNCALLED("return x;"), UNCALLED("return x / 3;"), 0, 0,
     0, 0},
    {"a call through another", "static int g(int x) { return x; }\n" CALLED("return g(x);"),
     "static int g(int x) { return x / 7 % 3; }\n" CALLED("return g(x);"), 30, 200, 50, 100},
    {"a loop twice as long", LOOP("", "for (int i = 0; i < 100; i++)"),
     LOOP("", "for (int i = 0; i < 200; i++)"), 60, 75, 90, 100},
    {"by a macro", LOOP("#define N 100\n", "for (int i = 0; i < N; i++)"),
     LOOP("#define N 200\n", "for (int i = 0; i < N; i++)"), 60, 75, 0, 0},
    {"a number gets a name", LOOP("", "for (int i = 0; i < 100; i++)"),
     LOOP("enum { ROUNDS = 100 };\n", "for (int i = 0; i < ROUNDS; i++)"), 0, 0, 90, 100},
    {"in steps", LOOP("", "for (int i = 0; i < 100; i++)"),
     LOOP("", "for (int i = 0; i < 100; i += 4)"), -145, -80, 90, 100},
    {"a check that gives up is hardly ever passed", GUARDED(""),
     GUARDED("        if (s < 0) { fprintf(stderr, \"bad\"); exit(1); }\n"), 1, 60, 90, 100},
    {"what is printed each time is not for nothing", GUARDED(""),
     GUARDED("        if (i % 2) printf(\"%d\", i);\n"), 100, ALL, 90, 100},
    {"what follows an else if is always done",
     GUARDED("        if (i < 3) {\n        } else if (i < 5) {\n        }\n        s += s * i;\n"),
     GUARDED("        if (i < 3) {\n        } else if (i < 5) {\n        }\n        s += s / i;\n"),
     55, 70, 90, 100},
    {"a second call of itself", "int f(int n) { return n < 2 ? n : f(n - 1) + 1; }\n",
     "int f(int n) { return n < 2 ? n : f(n - 1) + f(n - 2); }\n", 30, 90, 90, 100},
    {"what is handed over", HANDED("return x + 1;"), HANDED("return x / 3;"), 10, 150, 10, 100},
    {"variants of a function are compared each with itself",
     VARIANTS "int g(int x) { return x; }\n", VARIANTS "int g(int x) { return (int)x; }\n", 0, 0, 0,
     100},
    {"names", CALLED("return x + 1;"),
     "static double plus(double x)\n{\n    return x + 1;\n}\nint main(void)\n{\n    double s = 0;\n"
     "    for (int i = 0; i < 1000; i++) s += plus(i);\n    return s > 0;\n}\n",
     0, 0, 90, 100},
    {"taken apart", CALLED("return x / 3 + x * 2;"),
     "static double part(double x) { return x / 3; }\n" CALLED("return part(x) + x * 2;"), 0, 60,
     90, 100},
};
enum { CASES = sizeof cases / sizeof *cases };

static double percent(const history *h)
{
    double v = value_of(&h->features.commit, "estimate_change");
    return v < 0 ? 1 - exp2(-v) : exp2(v) - 1;
}

static void changes_are_estimated(void **state)
{
    history h = {.p = *state};
    for (int k = 0; k < CASES; k++) {
        commit_from(&h, 0);
        with(&h, "f.c", cases[k].base);
        commit_from(&h, 2 * k + 1);
        with(&h, "f.c", cases[k].head);
    }
    history_open(&h, NULL);
    for (int k = 0; k < CASES; k++) {
        const estimate *c = &cases[k];
        look(&h, 2 * k + 1, 2 * k + 2);
        double there = percent(&h);
        double share = (exp2(value_of(&h.features.commit, "estimate_share")) - 1) / 10;
        if (!(there >= c->least - 1e-9 && there <= c->most + 1e-9))
            fail_msg("%s: %+.1f %%, not %+.1f to %+.1f", c->what, there, c->least, c->most);
        if (!(share >= c->share - 1e-9 && share <= c->within + 1e-9))
            fail_msg("%s: a share of %.1f %%", c->what, share);
        look(&h, 2 * k + 2, 2 * k + 1);
        if (!(fabs(there + percent(&h)) < 1e-9))
            fail_msg("%s: %+.1f %% there and %+.1f %% back", c->what, there, percent(&h));
    }
    history_close(&h);
}

/* Two programs are separate, whatever their files are called; of a library, functions without
 * callers are roots. */
static void programs_stand_side_by_side(void **state)
{
    history h = {.p = *state};
    commit_from(&h, 0);
    with(&h, "a.c", CALLED("return x + 1;"));
    with(&h, "b.c", CALLED("return x + 2;"));
    with(&h, "c.c", "int api(int x) { return x; }\nint more(int x) { return x; }\n");
    commit_from(&h, 1);
    with(&h, "a.c", CALLED("return x / 3;"));
    with(&h, "b.c", CALLED("return x + 3;"));
    commit_from(&h, 1);
    with(&h, "a.c", CALLED("return x / 3;"));
    commit_from(&h, 1);
    with(&h, "c.c", "int api(int x) { return x / 3 % 5; }\nint more(int x) { return x; }\n");
    history_open(&h, NULL);
    look(&h, 1, 3);
    double one = percent(&h);
    look(&h, 1, 2); /* the other program is as it was: half as much for both */
    assert_true(fabs(percent(&h) - one / 2) < 1e-6);
    look(&h, 1, 4);
    assert_true(percent(&h) > 30);
    history_close(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(changes_are_estimated, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(programs_stand_side_by_side, place_setup, place_teardown),
    };
    return cmocka_run_group_tests_name("perf/work", tests, NULL, NULL);
}
