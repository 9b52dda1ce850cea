/*
 * Tests of corpus/history/metric.c: what a metric is, and how it is read from what a run prints or
 * valgrind counts.
 */
/* tsan: left out, starts no thread. */
#include "corpus/history/history.h"
#include "runtime/proc/proc.h"
#include "tests/git/repository.h"

static double parsed_value(const char *metric, const char *printed)
{
    hpc_buf text = {0};
    hpc_history_metric m;
    double value = -1;
    assert_int_equal(hpc_history_metric_parse(&m, metric), 0);
    assert_int_equal(hpc_buf_text(&text, printed), 0);
    if (history_parse(&value, &m, &text) < 0) {
        assert_int_equal(hpc_error_get()->code, HPC_E_FORMAT);
        hpc_error_clear();
        value = -1;
    }
    hpc_buf_release(&text);
    hpc_history_metric_release(&m);
    return value;
}

static void metrics_are_read(void **state)
{
    static const struct {
        const char *metric, *printed;
        double value;
    } cases[] = {{"t=took ([0-9.]+) s", "it took 1.5 s\n", 1.5},
                 {"t=took (\\d+[.]\\d+) s", "took 1.5 s\nand took 2.5 s\n", 2.5},
                 {"t=^x: (.*)$", "y: 1\nx: 1e3\nz: 2", 1000},
                 {"t=n (.*)", "n 1,234,567.5", 1234567.5},
                 {"rate/s=Triad +(\\d+)", "Triad   4000 MB", 1.0 / 4000},
                 {"t=took (\\d+)", "nothing", -1},
                 {"t=took (.*)", "took long", -1},
                 {"t=took (.*)", "took 0", -1},
                 {"t=took (-?\\d+)", "took -4", -1},
                 {"t=took (.*)", "took nan", -1},
                 {"t=()x", "xx", -1}};
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        if (!(parsed_value(cases[k].metric, cases[k].printed) == cases[k].value))
            fail_msg("%s of %s", cases[k].metric, cases[k].printed);
}

static void what_is_no_metric_is_refused(void **state)
{
    static const struct {
        const char *metric, *part;
    } cases[] = {{"speed", "unknown metric 'speed': expected time, user"},
                 {"", "unknown metric"},
                 {"=x(y)", "the name before '='"},
                 {"/s=x(y)", "the name before '='"},
                 {"t=abc", "has no group ( )"},
                 {"t=(abc", "metric t: '(abc':"},
                 {"time=(x)", "'time' is measured directly"},
                 {"t=x([", "metric t:"}};
    hpc_history_metric m;
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        assert_refused(hpc_history_metric_parse(&m, cases[k].metric), HPC_E_ARG, cases[k].part);
    assert_int_equal(hpc_history_metric_parse(&m, "cost"), 0);
    assert_int_equal(m.kind, HISTORY_COST);
}

static void instructions_are_of_the_processor_where_it_counts(void **state)
{
    bool counts = hpc_proc_counts(HPC_COUNTER_INSTRUCTIONS);
    hpc_history_metric m;
    (void)state;
    assert_int_equal(hpc_history_metric_parse(&m, "instructions"), 0);
    assert_int_equal(m.kind, counts ? HISTORY_HARDWARE : HISTORY_INSTRUCTIONS);
    assert_string_equal(m.name, counts ? "instructions-hardware" : "instructions-valgrind");
}

static void counts_are_read(void **state)
{
    static const char whole[] = "desc: I1 cache: x\ncmd: ./a\n"
                                "events: Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw \nfl=x\nfn=y\n"
                                "1 2 3\nsummary: 1000 10 1 200 20 2 300 30 3\n";
    history_counts c = {0};
    (void)state;
    assert_true(history_counts_add(&c, whole));
    assert_true(c.instructions == 1000 && c.first == 60 && c.last == 6);
    assert_true(history_counts_add(&c, "cmd: x\nevents: Ir \nsummary: 5\n"));
    assert_true(c.instructions == 1005 && c.first == 60);
    assert_false(history_counts_add(&c, "cmd: x\nevents: Ir \n"));
    assert_false(history_counts_add(&c, "cmd: x\nevents: Ir Dr\nsummary: 5\n"));
    assert_false(history_counts_add(&c, ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metrics_are_read),
        cmocka_unit_test(what_is_no_metric_is_refused),
        cmocka_unit_test(instructions_are_of_the_processor_where_it_counts),
        cmocka_unit_test(counts_are_read),
    };
    return cmocka_run_group_tests_name("history/metric", tests, NULL, NULL);
}
