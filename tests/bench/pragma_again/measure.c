/*
 * measure.c: time to judge the loops of a C file again after edits of one line in its middle:
 * `measure CHECKER FILE REPEAT`. CHECKER is the path of hpccoder-clang.
 *
 * An edit changes one digit. Reports wall-clock and CPU time, including the libclang process; on a
 * busy machine the CPU time is the relevant one. The last verdicts are compared with those of a
 * newly opened file.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "infer/pragma/pragma.h"
#include "runtime/source/check_priv.h"

enum { PARSE, JUDGE, BOTH, PARTS };
typedef struct bench {
    hpc_checker *checker;
    hpc_tree_source *source;
    hpc_tree tree;
    hpc_pragma_loops loops;
    hpc_buf text;
    const char *path;
    size_t digit;
    int64_t *ns[PARTS], *cpu[PARTS]; /* [repeat] */
} bench;

/* Finds a digit after a '=' on the middle line, or on the first later line that has one. */
static int find_digit(size_t *out, const hpc_buf *text)
{
    size_t i = text->n / 2;
    while (i < text->n && text->data[i] != '=') i++;
    while (i < text->n && !isdigit((unsigned char)text->data[i])) i++;
    *out = i;
    return i < text->n ? HPC_OK : hpc_fail(HPC_E_ARG, "there is no number to edit");
}

static int open_file(bench *b)
{
    const hpc_tree_file f = {
        .path = b->path, .text = b->text.data, .n = b->text.n, .language = HPC_LANGUAGE_C};
    int64_t start = hpc_clock_ns();
    int rc;
    TRY(hpc_tree_open(&b->source, b->checker, &f));
    TRY(hpc_tree_get(&b->tree, b->source));
    printf("%s: %lld nodes, opened in %.1f ms\n", b->path, (long long)b->tree.n,
           (double)(hpc_clock_ns() - start) / 1e6);
out:
    return rc;
}

static int judge(hpc_pragma_loops *out, const bench *b)
{
    const hpc_pragma_options o = HPC_PRAGMA_DEFAULTS;
    return hpc_pragma_find(out, &b->tree, b->text.data, b->text.n, HPC_LANGUAGE_C, &o);
}

static int64_t clock_of(clockid_t clock)
{
    struct timespec t = {0};
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Of this process, and of that of libclang. */
static int64_t cpu_ns(const bench *b)
{
    clockid_t clock;
    int64_t ns = clock_of(CLOCK_PROCESS_CPUTIME_ID);
    return clock_getcpuclockid(b->checker->process.pid, &clock) == 0 ? ns + clock_of(clock) : ns;
}

static int edit(bench *b, int k)
{
    char *digit = &b->text.data[b->digit];
    int rc;
    *digit = (char)('1' + (*digit - '0') % 9);
    const int64_t start[] = {hpc_clock_ns(), cpu_ns(b)};
    TRY(hpc_tree_again(&b->tree, b->source, b->text.data, b->text.n));
    const int64_t parsed[] = {hpc_clock_ns(), cpu_ns(b)};
    TRY(judge(&b->loops, b));
    const int64_t judged[] = {hpc_clock_ns(), cpu_ns(b)};
    for (int i = 0; i < 2; i++) {
        int64_t *const *out = i == 0 ? b->ns : b->cpu;
        out[PARSE][k] = parsed[i] - start[i];
        out[JUDGE][k] = judged[i] - parsed[i];
        out[BOTH][k] = judged[i] - start[i];
    }
out:
    return rc;
}

static int by_number(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void print_times(const char *what, int64_t *ns, int64_t *cpu, int n)
{
    qsort(ns, (size_t)n, sizeof *ns, by_number);
    qsort(cpu, (size_t)n, sizeof *cpu, by_number);
    printf("  %-8s median %6.1f ms, best %6.1f ms; of processors median %6.1f ms, best %6.1f ms\n",
           what, (double)ns[n / 2] / 1e6, (double)ns[0] / 1e6, (double)cpu[n / 2] / 1e6,
           (double)cpu[0] / 1e6);
}

/* The same file once more, as if it had never been another. */
static int compare(const bench *b)
{
    bench fresh = {.checker = b->checker, .path = b->path, .text = b->text};
    int rc;
    TRY(open_file(&fresh));
    TRY(judge(&fresh.loops, &fresh));
    bool same = fresh.loops.n == b->loops.n;
    for (int64_t k = 0; same && k < b->loops.n; k++)
        same = fresh.loops.item[k].line == b->loops.item[k].line &&
               fresh.loops.item[k].verdict == b->loops.item[k].verdict;
    if (!same) TRY(hpc_fail(HPC_E_STATE, "loops judged again are others than those judged first"));
    printf("  %lld loops, as of a file opened anew\n", (long long)b->loops.n);
out:
    hpc_pragma_loops_release(&fresh.loops);
    hpc_tree_release(&fresh.tree);
    hpc_tree_close(fresh.source);
    return rc;
}

static int measure(bench *b, const char *checker, int repeat)
{
    hpc_checker_options o = HPC_CHECKER_DEFAULTS;
    int rc;
    o.program = checker;
    for (int i = 0; i < PARTS; i++) {
        b->ns[i] = hpc_alloc((size_t)repeat, sizeof *b->ns[i]);
        b->cpu[i] = hpc_alloc((size_t)repeat, sizeof *b->cpu[i]);
        if (!b->ns[i] || !b->cpu[i]) TRY(HPC_E_NOMEM);
    }
    TRY(hpc_file_read(&b->text, b->path, 16 << 20));
    TRY(find_digit(&b->digit, &b->text));
    TRY(hpc_checker_open(&b->checker, &o));
    TRY(open_file(b));
    for (int k = 0; k < repeat; k++) TRY(edit(b, k));
    print_times("parse", b->ns[PARSE], b->cpu[PARSE], repeat);
    print_times("analysis", b->ns[JUDGE], b->cpu[JUDGE], repeat);
    print_times("both", b->ns[BOTH], b->cpu[BOTH], repeat);
    TRY(compare(b));
out:
    return rc;
}

int main(int argc, char **argv)
{
    bench b = {0};
    const int repeat = argc == 4 ? atoi(argv[3]) : 0;
    if (repeat < 1) {
        fprintf(stderr, "measure LIBRARY FILE REPEAT\n");
        return EXIT_FAILURE;
    }
    b.path = argv[2];
    int rc = measure(&b, argv[1], repeat);
    if (rc < 0) fprintf(stderr, "measure: %s\n", hpc_error_get()->text);
    hpc_pragma_loops_release(&b.loops);
    hpc_tree_release(&b.tree);
    hpc_tree_close(b.source);
    hpc_checker_close(b.checker);
    hpc_buf_release(&b.text);
    for (int i = 0; i < PARTS; i++) {
        hpc_free(b.ns[i]);
        hpc_free(b.cpu[i]);
    }
    return rc < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
