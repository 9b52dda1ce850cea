/*
 * Tests of runtime/git/resolve.c, commit.c and range.c: resolution of names and commits of ranges,
 * compared with the git program's.
 */
/* tsan: left out, starts no thread. */
#include "tests/git/repository.h"

/* Merges across branches, of different lengths, with clocks that go backwards once. */
#define BRANCHES                                                                                   \
    "new r; at() { export GIT_COMMITTER_DATE=\"$1 +0100\"; }; "                                    \
    "one() { echo $1 >> $2; at $((1700000000 + $1 * 60)); save $1; }; "                            \
    "one 1 a.c; one 2 d.txt; git branch side; one 3 a.c; git tag -a v1 -m v1; one 4 b.c; "         \
    "git checkout -q side; one 5 c.c; one 6 d.txt; git checkout -q main; at 1700000430; "          \
    "git merge -q --no-edit side; one 8 a.c; git checkout -q side; one 9 c.c; "                    \
    "git checkout -q main; at 1700000100; git merge -q --no-edit side; one 11 d.txt; "             \
    "git update-ref refs/remotes/origin/topic side; "

/* ---- names ------------------------------------------------------------------------------------
 */

static void assert_names(hpc_git *g, place *p, const char *name, const char *same)
{
    hpc_git_id id, expected = parsed(p, "r", same);
    if (hpc_git_resolve(&id, g, name) < 0) fail_msg("%s", hpc_error_get()->text);
    assert_memory_equal(&id, &expected, sizeof id);
}

static void names_mean_what_git_says(void **state)
{
    static const char *const same[] = {"HEAD",       "main",   "refs/heads/side", "heads/side",
                                       "HEAD~3",     "HEAD^",  "HEAD^^",          "main~1^2",
                                       "main~1^2~1", "HEAD^0", "origin/topic"};
    place *p = *state;
    char digits[41];
    hpc_git_id id;
    script(p, BRANCHES);
    hpc_git *g = opened(p, "r");
    for (size_t k = 0; k < sizeof same / sizeof *same; k++) assert_names(g, p, same[k], same[k]);
    assert_names(g, p, "@~2", "HEAD~2");
    assert_names(g, p, "v1", "v1^{commit}");
    assert_names(g, p, "v1~1", "v1~1");
    id = parsed(p, "r", "HEAD~4");
    hpc_git_id_text(digits, &id);
    assert_names(g, p, digits, "HEAD~4");
    digits[12] = '\0';
    assert_names(g, p, digits, "HEAD~4");
    script(p, "cd r; git gc -q --prune=now");
    hpc_git_close(g);
    g = opened(p, "r");
    assert_names(g, p, digits, "HEAD~4");
    assert_names(g, p, "v1", "v1^{commit}");
    hpc_git_close(g);
}

static void what_names_nothing_is_refused(void **state)
{
    static const struct {
        const char *name, *part;
    } refused[] = {{"nobody", "'nobody' names no commit"},
                   {"", "names no commit"},
                   {"~1", "names no commit"},
                   {"HEAD~100", "is beyond the start of the history"},
                   {"HEAD^3", "is beyond the start of the history"},
                   {"HEAD~-1", "not by '-1'"},
                   {"HEAD^{tree}", "not by '{tree}'"},
                   {"HEAD:a.c", "names no commit"},
                   {"abc", "names no commit"},
                   {"0123456789012345678901234567890123456789", "names no commit"},
                   {"blob", "not a commit"}};
    place *p = *state;
    hpc_git_id id;
    script(p, BRANCHES "git tag blob $(git rev-parse HEAD:a.c); ");
    hpc_git *g = opened(p, "r");
    for (size_t k = 0; k < sizeof refused / sizeof *refused; k++)
        assert_refused(hpc_git_resolve(&id, g, refused[k].name), HPC_E_ARG, refused[k].part);
    hpc_git_close(g);
}

/* Of 700 commits some begin with the same two digits; four digits are asked for. */
static void a_beginning_of_several_is_refused(void **state)
{
    place *p = *state;
    hpc_git_id id;
    script(p, "new r; for k in $(seq 700); do printf 'commit refs/heads/main\\ncommitter a <a@b> "
              "%d +0000\\ndata 1\\nm\\n' $k; done | git fast-import --quiet; "
              "git rev-list --all | cut -c1-4 | sort | uniq -d | head -1 > ../twice; "
              "[ -s ../twice ] || git rev-list --all | cut -c1-4 | head -1 > ../twice");
    char *twice = text_of(p, "twice");
    hpc_git *g = opened(p, "r");
    script(p, "cd r; git rev-list --all | grep -c \"^$(cat ../twice)\" > ../many");
    char *many = text_of(p, "many");
    int rc = hpc_git_resolve(&id, g, twice);
    if (atoi(many) > 1)
        assert_refused(rc, HPC_E_ARG, "commits start with");
    else
        assert_int_equal(rc, HPC_OK);
    hpc_free(twice);
    hpc_free(many);
    hpc_git_close(g);
}

/* ---- ranges -----------------------------------------------------------------------------------
 */

static void sorted_ids(hpc_buf *out, const hpc_git_range *r)
{
    hpc_buf_text(out, "");
    for (int64_t k = 0; k < r->n; k++) {
        char hex[41];
        hpc_git_id_text(hex, &r->item[k].id);
        hpc_buf_printf(out, "%s\n", hex);
    }
    assert_int_equal(out->failed, 0);
}

static int64_t place_in(const hpc_git_range *r, const hpc_git_id *id)
{
    for (int64_t k = 0; k < r->n; k++)
        if (memcmp(&r->item[k].id, id, sizeof *id) == 0) return k;
    return -1;
}

static bool is_c(const char *path, void *user)
{
    size_t n = strlen(path);
    (void)user;
    return n > 2 && strcmp(path + n - 2, ".c") == 0;
}

/* The same commits, however many; parents first; and each one's parent is where it should be. */
static void assert_range(place *p, hpc_git *g, const char *base, const char *head, bool first,
                         bool of_c)
{
    hpc_git_range_options o = {.first_parent = first, .wants = of_c ? is_c : NULL};
    hpc_git_range r;
    hpc_git_id b, h;
    hpc_buf told = {0}, command = {0};
    assert_int_equal(hpc_git_resolve(&h, g, head), 0);
    if (base) assert_int_equal(hpc_git_resolve(&b, g, base), 0);
    if (hpc_git_range_find(&r, g, base ? &b : NULL, &h, &o) < 0)
        fail_msg("%s", hpc_error_get()->text);
    sorted_ids(&told, &r);
    FILE *f = fopen(in(p, "told"), "w");
    assert_non_null(f);
    fputs(told.data, f);
    fclose(f);
    hpc_buf_printf(&command,
                   "cd r; for c in $(git rev-list %s %s%s %s); do %s echo $c; done | sort -u > "
                   "../git.sorted; sort ../told > ../own; diff ../git.sorted ../own",
                   first ? "--first-parent" : "", base ? "^" : "", base ? base : "", head,
                   of_c ? "git diff-tree --root -r --name-only --no-commit-id -m --first-parent "
                          "$c | grep -q '[.]c$' || continue; "
                        : "");
    script(p, command.data);
    for (int64_t k = 0; k < r.n; k++) {
        int64_t parent = place_in(&r, &r.item[k].parent);
        assert_true(parent < k);
    }
    hpc_buf_release(&told);
    hpc_buf_release(&command);
    hpc_git_range_release(&r);
}

static void ranges_are_gits(void **state)
{
    static const struct {
        const char *base, *head;
    } ranges[] = {{"HEAD~3", "HEAD"}, {NULL, "HEAD"},      {"side", "main"}, {"main", "side"},
                  {"HEAD", "HEAD"},   {"HEAD", "HEAD~2"},  {"v1", "main"},   {"HEAD~5", "HEAD"},
                  {"side~1", "main"}, {"main~3^2", "main"}};
    place *p = *state;
    script(p, BRANCHES);
    hpc_git *g = opened(p, "r");
    for (size_t k = 0; k < sizeof ranges / sizeof *ranges; k++)
        for (int how = 0; how < 4; how++)
            assert_range(p, g, ranges[k].base, ranges[k].head, how & 1, how & 2);
    hpc_git_close(g);
}

/* Of 300 commits, a fifth of them merges of anything before. */
static void ranges_of_a_thicket_are_gits(void **state)
{
    place *p = *state;
    script(p, "new r; awk 'BEGIN { srand(7); for (k = 1; k <= 300; k++) {"
              " print \"commit refs/heads/b\" k; print \"mark :\" k;"
              " print \"committer a <a@b> \" 1700000000 + 60 * k + int(rand() * 300) \" +0000\";"
              " print \"data 1\"; print \"m\";"
              " if (k > 1) print \"from :\" k - 1 - int(rand() * (k > 6 ? 5 : 0));"
              " if (k > 9 && rand() < 0.2) print \"merge :\" 1 + int(rand() * (k - 8));"
              " print \"M 100644 inline f\" int(rand() * 9) (rand() < 0.5 ? \".c\" : \".txt\");"
              " print \"data 4\"; printf \"%04d\\n\", k; } }' | git fast-import --quiet; "
              "git update-ref refs/heads/main refs/heads/b300; ");
    hpc_git *g = opened(p, "r");
    for (int k = 0; k < 12; k++) {
        char base[16], head[16];
        snprintf(base, sizeof base, "b%d", 1 + (k * 97) % 280);
        snprintf(head, sizeof head, "b%d", 300 - (k * 13) % 60);
        assert_range(p, g, base, head, k & 1, false);
    }
    assert_range(p, g, NULL, "b300", false, false);
    assert_range(p, g, "b250", "b300", true, true);
    hpc_git_close(g);
}

/* Excluded commits are replaced by their nearest counted ancestors. */
static void parents_are_the_nearest_that_count(void **state)
{
    place *p = *state;
    hpc_git_range r;
    script(p, "new r; for k in 1 2 3 4 5 6; do export GIT_COMMITTER_DATE=\"170000000$k +0000\"; "
              "if [ $k = 3 ] || [ $k = 4 ]; then echo $k > n.txt; else echo $k > a.c; fi; "
              "save; done");
    hpc_git *g = opened(p, "r");
    hpc_git_id head = parsed(p, "r", "HEAD"), base = parsed(p, "r", "HEAD~5");
    hpc_git_range_options o = {.first_parent = true, .wants = is_c};
    assert_int_equal(hpc_git_range_find(&r, g, &base, &head, &o), 0);
    assert_int_equal(r.n, 3);
    assert_memory_equal(&r.item[0].parent, &base, sizeof base);
    assert_memory_equal(&r.item[1].parent, &r.item[0].id, sizeof base);
    assert_memory_equal(&r.item[2].parent, &r.item[1].id, sizeof base);
    assert_int_equal(r.item[1].time, 1700000005);
    assert_int_equal(r.item[1].parents, 1);
    hpc_git_range_release(&r);
    hpc_git_close(g);
}

/* A shallow clone ends at a recorded boundary. */
static void a_shallow_clone_is_cut(void **state)
{
    place *p = *state;
    hpc_git_range r;
    hpc_git_range_options o = {.first_parent = true};
    script(p, BRANCHES "cd ..; git clone -q --depth 2 file://\"$PWD\"/r shallow");
    hpc_git *g = opened(p, "shallow");
    hpc_git_id head = parsed(p, "r", "HEAD"), early = parsed(p, "r", "HEAD~3");
    assert_int_equal(hpc_git_range_find(&r, g, NULL, &head, &o), 0);
    assert_int_equal(r.n, 2);
    assert_true(r.item[0].cut);
    assert_false(r.item[1].cut);
    hpc_git_range_release(&r);
    assert_refused(hpc_git_range_find(&r, g, &early, &head, &o), HPC_E_ARG, "not in this clone");
    assert_refused(hpc_git_resolve(&head, g, "HEAD~2"), HPC_E_ARG, "which is not in this clone");
    hpc_git_close(g);
}

static void messages_are_whole(void **state)
{
    place *p = *state;
    hpc_buf text = {0};
    script(p, "new r; echo 1 > a; git add a; git commit -q -m 'first line' -m 'Perf-Ack: yes'");
    hpc_git *g = opened(p, "r");
    hpc_git_id head = parsed(p, "r", "HEAD"), none = {{1}};
    assert_int_equal(hpc_git_message(&text, g, &head), HPC_GIT_READ);
    assert_string_equal(text.data, "first line\n\nPerf-Ack: yes\n");
    assert_int_equal(hpc_git_message(&text, g, &none), HPC_GIT_ABSENT);
    hpc_buf_release(&text);
    hpc_git_close(g);
}

typedef struct asked {
    hpc_git *g;
    hpc_git_id base, head;
} asked;

static int ask(void *user)
{
    const hpc_git_range_options o = {.wants = is_c};
    asked *a = user;
    hpc_git_range r = {0};
    hpc_git_id id;
    int rc = hpc_git_resolve(&id, a->g, "side~1");
    if (rc >= 0) rc = hpc_git_range_find(&r, a->g, &a->base, &a->head, &o);
    hpc_git_range_release(&r);
    return rc < 0 ? rc : HPC_OK;
}

static void memory_running_out_is_told(void **state)
{
    place *p = *state;
    script(p, BRANCHES);
    asked a = {.g = opened(p, "r"), parsed(p, "r", "HEAD~3"), parsed(p, "r", "HEAD")};
    assert_true(hpc_test_each_alloc(ask, &a) > 10);
    hpc_git_close(a.g);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, place_setup, place_teardown)
    const struct CMUnitTest tests[] = {TEST(names_mean_what_git_says),
                                       TEST(what_names_nothing_is_refused),
                                       TEST(a_beginning_of_several_is_refused),
                                       TEST(ranges_are_gits),
                                       TEST(ranges_of_a_thicket_are_gits),
                                       TEST(parents_are_the_nearest_that_count),
                                       TEST(a_shallow_clone_is_cut),
                                       TEST(messages_are_whole),
                                       TEST(memory_running_out_is_told)};
    return cmocka_run_group_tests_name("git/range", tests, NULL, NULL);
}
