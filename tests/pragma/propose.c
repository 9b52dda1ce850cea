/*
 * propose.c: directives proposed for labelled loops by default, with vectors and for a device,
 * word for word where a comment gives them; no nest is collapsed unless its label allows it.
 */
/* tsan: left out, other tests start the same threads. */
#include "tests/pragma/suite.h"

typedef struct way {
    const char *name;
    hpc_pragma_options options;
    int64_t said, collapsed, simd, target;
} way;

static const hpc_pragma_loop *loop_at(const suite_file *f, uint32_t line)
{
    for (int64_t k = 0; k < f->loops.n; k++)
        if (f->loops.item[k].line == line) return &f->loops.item[k];
    fail_msg("no loop at line %u", line);
    return NULL;
}

/* "// plain: parallel for" above a loop; a line more begins with "// + ". */
static void hold_against_comments(way *w, const suite_file *f, const char *file)
{
    char open[32], want[400] = "";
    uint32_t line = 1;
    bool goes_on = false;
    snprintf(open, sizeof open, "// %s: ", w->name);
    for (const char *p = f->text.data; *p; line++) {
        const char *end = strchr(p, '\n'), *at = p + strspn(p, " \t");
        size_t n = strlen(want);
        if (!end) end = p + strlen(p);
        bool more = goes_on && strncmp(at, "// + ", 5) == 0;
        goes_on = more || strncmp(at, open, strlen(open)) == 0;
        if (goes_on) {
            at += more ? 5 : strlen(open);
            snprintf(want + n, sizeof want - n, "%s%.*s", more ? " " : "#pragma omp ",
                     (int)(end - at), at);
        } else if (want[0] && at[0] != '#' && strncmp(at, "//", 2) != 0) {
            const hpc_pragma_loop *l = loop_at(f, line);
            if (!l->pragma || strcmp(l->pragma, want) != 0)
                fail_msg("%s:%u: %s, not %s", file, line, l->pragma ? l->pragma : "nothing", want);
            w->said++;
            want[0] = '\0';
        }
        p = *end ? end + 1 : end;
    }
}

static int number_in(const char *text, const char *open)
{
    const char *p = text ? strstr(text, open) : NULL;
    return p ? (int)strtol(p + strlen(open), NULL, 10) : 1;
}

/* For files where a missing `collapse` in a label forbids collapsing. */
static void hold_against_labels(way *w, const suite_file *f, const char *file)
{
    bool claims = strcmp(file, "nests.c") == 0 || strncmp(file, "collapse.", 9) == 0;
    for (int64_t i = 0; i < f->labels_n; i++) {
        const hpc_pragma_loop *l = loop_at(f, f->label[i].line);
        int is = number_in(l->pragma, " collapse("), may = number_in(f->label[i].text, "collapse(");
        if (is > may && (claims || f->label[i].truth == HPC_TRUTH_CARRIED))
            fail_msg("%s:%u: %s, but %d may be one", file, l->line, l->pragma, may);
        w->collapsed += is > 1;
        w->simd += l->pragma && strstr(l->pragma, " simd");
        w->target += l->pragma && strstr(l->pragma, " target ");
        if (l->plain) assert_non_null(l->pragma);
        if (l->plain) assert_null(strstr(l->plain, "collapse"));
        if (l->vectors) assert_true(l->small);
    }
}

/* Each file is parsed once. */
static void one_file(way *w, int ways, hpc_checker *checker, const char *name)
{
    suite_file f;
    suite_open(&f, checker, name);
    hpc_language l = hpc_language_of(name, f.text.data, f.text.n);
    for (int k = 0; k < ways; k++) {
        hpc_pragma_loops_release(&f.loops);
        OK(hpc_pragma_find(&f.loops, &f.tree, f.text.data, f.text.n, l, &w[k].options));
        hold_against_comments(&w[k], &f, name);
        hold_against_labels(&w[k], &f, name);
    }
    suite_close(&f);
}

static void directives_as_they_should_be(void **state)
{
    (void)state;
    NEED_LIBRARY;
    way w[] = {{.name = "plain", .options = HPC_PRAGMA_DEFAULTS},
               {.name = "simd", .options = {.simd = true}},
               {.name = "target", .options = {.target = true}}};
    hpc_buf names = {0};
    int64_t n;
    hpc_checker *checker = open_checker(0);
    OK(hpc_file_list(&names, &n, "tests/pragma/loops"));
    const char *name = names.data;
    for (int64_t i = 0; i < n; i++, name += strlen(name) + 1)
        if (hpc_language_of_path(name) != HPC_LANGUAGE_NONE) one_file(w, 3, checker, name);
    hpc_buf_release(&names);
    hpc_checker_close(checker);
    for (int k = 0; k < 3; k++)
        print_message("%s: %lld as they should be; %lld collapsed, %lld with vectors, %lld for a "
                      "device\n",
                      w[k].name, (long long)w[k].said, (long long)w[k].collapsed,
                      (long long)w[k].simd, (long long)w[k].target);
    assert_true(w[0].said >= 30 && w[1].said >= 15 && w[2].said >= 15);
    assert_true(w[0].simd + w[0].target + w[1].target + w[2].simd == 0);
    assert_true(w[0].collapsed >= 20 && w[1].simd >= 100 && w[2].target >= 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(directives_as_they_should_be)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
