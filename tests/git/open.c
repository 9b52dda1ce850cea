/*
 * Tests of runtime/git/open.c, pack.c, describe.c and name.c: repositories that can be opened,
 * their description, and clear one-line errors for others.
 */
#include "tests/git/repository.h"

#include <sys/stat.h>
#include <unistd.h>

#define ONE_COMMIT "new a; echo one >f; save; cd ..; "

static void opens_all_forms(void **state)
{
    place *p = *state;
    script(p, ONE_COMMIT "git clone -q --bare a b.git; git -C a worktree add -q ../w; "
                         "git init -q --separate-git-dir=s.git s; ln -s a link");
    static const char *const form[] = {"a", "a/",    "a/.git", "b.git", "b.git/", "w",
                                       "s", "s.git", "link",   "./a/.", ".//a"};
    for (size_t k = 0; k < sizeof form / sizeof *form; k++) {
        hpc_git *g = opened(p, form[k]), *other = NULL;
        hpc_git_facts f;
        assert_int_equal(hpc_git_describe(&f, g), 0);
        bool empty = form[k][0] == 's';
        assert_int_equal(f.empty, empty);
        assert_int_equal(hpc_git_share(&other, g), 0);
        hpc_git_close(g); /* the second handle stands on its own */
        hpc_buf text = {0};
        assert_int_equal(hpc_git_read_path(&text, other, "f", 100), empty ? HPC_GIT_ABSENT : 0);
        if (!empty) assert_string_equal(text.data, "one\n");
        hpc_buf_release(&text);
        hpc_git_close(other);
    }
    hpc_git_close(NULL);
}

static void refuses_what_is_none(void **state)
{
    place *p = *state;
    hpc_git *g = NULL;
    script(p, ONE_COMMIT "mkdir a/sub empty dangling; echo x >file; "
                         "echo 'gitdir: /nowhere/at/all' >dangling/.git");
    static const char *const none[] = {"empty", "a/sub", "absent", "file", "dangling"};
    for (size_t k = 0; k < sizeof none / sizeof *none; k++) {
        int rc = hpc_git_open(&g, in(p, none[k]));
        assert_null(g);
        assert_refused(rc, HPC_E_IO, none[k]);
    }
}

static void refuses_other_hashes(void **state)
{
    place *p = *state;
    hpc_git *g;
    script(p, "git init -q --object-format=sha256 a; cd a; echo x >f; save");
    int rc = hpc_git_open(&g, in(p, "a"));
    assert_refused(rc, HPC_E_UNSUPPORTED, "SHA-1");
}

static void formats_are_told_apart(void **state)
{
    place *p = *state;
    static const struct {
        const char *setting, *refused; /* NULL: is read */
    } form[] = {
        {"core.repositoryformatversion 1", NULL},
        {"extensions.worktreeConfig true", NULL},
        {"extensions.preciousObjects true", NULL},
        {"extensions.objectFormat sha1", NULL},
        {"extensions.objectFormat sha256", "sha256"},
        {"extensions.refStorage reftable", "reftable"},
        {"extensions.fromTheFuture 1", "fromthefuture"},
        {"core.repositoryformatversion 2", "format 2"},
    };
    script(p, ONE_COMMIT);
    for (size_t k = 0; k < sizeof form / sizeof *form; k++) {
        char text[256];
        hpc_git *g = NULL;
        snprintf(text, sizeof text, "rm -rf b; cp -r a b; git config -f b/.git/config %s",
                 form[k].setting);
        script(p, text);
        int rc = hpc_git_open(&g, in(p, "b"));
        if (form[k].refused)
            assert_refused(rc, HPC_E_UNSUPPORTED, form[k].refused);
        else
            assert_int_equal(rc, 0);
        hpc_git_close(g);
    }
}

/* User settings and invalid configuration files are ignored. */
static void settings_of_the_user_do_not_matter(void **state)
{
    place *p = *state;
    char home[sizeof p->path];
    hpc_git_facts f;
    script(p, ONE_COMMIT "mkdir home; echo '[[[ no' >home/.gitconfig; rm a/.git/config");
    snprintf(home, sizeof home, "%s", in(p, "home"));
    const char *before = getenv("HOME");
    char *kept = before ? strdup(before) : NULL;
    setenv("HOME", home, 1);
    hpc_git *g = opened(p, "a");
    assert_int_equal(hpc_git_describe(&f, g), 0);
    hpc_git_close(g);
    if (kept)
        setenv("HOME", kept, 1);
    else
        unsetenv("HOME");
    free(kept);
}

static void refuses_damaged_settings(void **state)
{
    place *p = *state;
    hpc_git *g;
    script(p, ONE_COMMIT "echo '[[[ no' >>a/.git/config");
    int rc = hpc_git_open(&g, in(p, "a"));
    assert_refused(rc, HPC_E_FORMAT, "/a");
}

static void refuses_damaged_packs(void **state)
{
    place *p = *state;
    static const struct {
        const char *harm, *says;
    } harm[] = {
        {"truncate -s 500 $idx", ".idx is truncated"},
        {"truncate -s -28 $idx", ".idx is truncated"},
        {": >$idx", ".idx is truncated"},
        {"printf '\\377' | dd of=$idx bs=1 seek=20 conv=notrunc", ".idx is damaged"},
        {"printf '\\011' | dd of=$idx bs=1 seek=7 conv=notrunc", "unknown version"},
        {"head -c 2000 /dev/zero >>$idx", ".idx is longer"},
        {"truncate -s 10 $pack", ".pack is truncated"},
        {"truncate -s -5 $pack", "does not end where its index ends"},
        {"printf 'X' | dd of=$pack bs=1 seek=0 conv=notrunc", ".pack is not a pack"},
        {"printf '\\011' | dd of=$pack bs=1 seek=7 conv=notrunc", "unknown version"},
        {"printf '\\011' | dd of=$pack bs=1 seek=11 conv=notrunc", "a different number of objects"},
    };
    script(p, ONE_COMMIT "git -C a gc -q; chmod u+w a/.git/objects/pack/*");
    for (size_t k = 0; k < sizeof harm / sizeof *harm; k++) {
        char text[512];
        hpc_git *g = NULL;
        snprintf(text, sizeof text,
                 "rm -rf b; cp -r a b; idx=$(echo b/.git/objects/pack/*.idx); "
                 "pack=$(echo b/.git/objects/pack/*.pack); %s",
                 harm[k].harm);
        script(p, text);
        int rc = hpc_git_open(&g, in(p, "b"));
        assert_null(g);
        assert_refused(rc, HPC_E_FORMAT, harm[k].says);
    }
}

static void accepts_a_pack_without_its_half(void **state)
{
    place *p = *state;
    /* As between two steps of a repack by somebody else. */
    script(p, ONE_COMMIT "git -C a gc -q; cp -r a b; cp -r a c; rm -f b/.git/objects/pack/*.idx "
                         "c/.git/objects/pack/*.pack");
    hpc_git_close(opened(p, "b"));
    hpc_git_close(opened(p, "c"));
}

static void names_come_from_origin(void **state)
{
    place *p = *state;
    static const struct {
        const char *url, *name;
    } form[] = {
        {"https://host.example/owner/name.git", "owner/name"},
        {"https://host.example/owner/name", "owner/name"},
        {"https://user:secret@host.example/owner/name.git/", "owner/name"},
        {"https://host.example/group/sub/name", "sub/name"},
        {"git@host.example:owner/name.git", "owner/name"},
        {"host.example:owner/na.me", "owner/na.me"},
        {"ssh://git@host.example:22/owner/name.git", "owner/name"},
        {"git://host.example/owner/name", "owner/name"},
        {"https://host.example/ow ner/na;me", "ow-ner/na-me"},
        {"https://host.example/owner/name.git?x=/y", "owner/name"},
        {"https://host.example/name", ""},
        {"https://host.example", ""},
        {"https://host.example//", ""},
        {"https://host.example/../name", ""},
        {"https://host.example/owner/..", ""},
        {"file:///srv/owner/name.git", ""},
        {"/srv/owner/name.git", ""},
        {"../owner/name.git", ""},
        {"./a:b/c", ""},
        {"host.example:name", ""},
        {":owner/name", ""},
        {"", ""},
    };
    hpc_git_facts f;
    script(p, ONE_COMMIT);
    for (size_t k = 0; k < sizeof form / sizeof *form; k++) {
        char text[256];
        snprintf(text, sizeof text, "git -C a config remote.origin.url '%s'", form[k].url);
        script(p, text);
        hpc_git *g = opened(p, "a");
        assert_int_equal(hpc_git_describe(&f, g), 0);
        if (strcmp(f.name, form[k].name) != 0)
            fail_msg("%s: \"%s\", not \"%s\"", form[k].url, f.name, form[k].name);
        hpc_git_close(g);
    }
    hpc_buf text = {0};
    assert_int_equal(hpc_buf_text(&text, "git -C a config remote.origin.url https://h/"), 0);
    for (int k = 0; k < 300; k++) assert_int_equal(hpc_buf_text(&text, "o"), 0);
    assert_int_equal(hpc_buf_text(&text, "/n"), 0);
    script(p, text.data);
    hpc_git *g = opened(p, "a");
    assert_int_equal(hpc_git_describe(&f, g), 0);
    assert_string_equal(f.name, "");
    hpc_git_close(g);
    hpc_buf_release(&text);
}

static hpc_git_facts facts(place *p, const char *name)
{
    hpc_git_facts f;
    hpc_git *g = opened(p, name);
    if (hpc_git_describe(&f, g) < 0) fail_msg("%s", hpc_error_get()->text);
    hpc_git_close(g);
    return f;
}

static void describes_what_is_complete(void **state)
{
    place *p = *state;
    script(p, "new a; echo one >f; save; echo two >f; save; git config uploadpack.allowFilter true;"
              "cd ..; git init -q empty; git clone -q --depth 1 file://$PWD/a shallow;"
              "git clone -q --filter=blob:none --no-checkout file://$PWD/a partial;"
              "git clone -q --bare --filter=blob:none file://$PWD/a promised; rm promised/config;"
              "cp -r a gone; git -C gone checkout -q --orphan other");
    static const struct {
        const char *name;
        bool empty, shallow, partial, headless;
    } form[] = {
        {"a", false, false, false, false},       {"empty", true, false, false, true},
        {"shallow", false, true, false, false},  {"partial", false, false, true, false},
        {"promised", false, false, true, false}, {"gone", false, false, false, true},
    };
    for (size_t k = 0; k < sizeof form / sizeof *form; k++) {
        hpc_git_facts f = facts(p, form[k].name);
        hpc_git_id none = {{0}};
        assert_int_equal(f.empty, form[k].empty);
        assert_int_equal(f.shallow, form[k].shallow);
        assert_int_equal(f.partial, form[k].partial);
        assert_int_equal(memcmp(&f.head, &none, sizeof none) == 0, form[k].headless);
    }
    hpc_git_facts f = facts(p, "a");
    hpc_git_id head = parsed(p, "a", "HEAD");
    char text[41];
    assert_memory_equal(&f.head, &head, sizeof head);
    hpc_git_id_text(text, &head);
    assert_memory_equal(&f.head, id_of(text).byte, 20);
}

static void references_have_a_hash(void **state)
{
    place *p = *state;
    script(p, ONE_COMMIT);
    uint64_t first = facts(p, "a").refs, last = first;
    static const char *const same[] = {"git -C a pack-refs --all", "echo two >a/f",
                                       "git -C a gc -q"};
    static const char *const moves[] = {"cd a; echo two >f; save",
                                        "git -C a branch other",
                                        "git -C a tag light",
                                        "git -C a tag -a -m x heavy",
                                        "git -C a branch -q -d other",
                                        "git -C a branch -q -m main trunk",
                                        "git -C a checkout -q HEAD~1",
                                        "git -C a update-ref refs/heads/trunk HEAD",
                                        "git -C a symbolic-ref refs/x refs/heads/trunk"};
    for (size_t k = 0; k < sizeof same / sizeof *same; k++) {
        script(p, same[k]);
        assert_true(facts(p, "a").refs == first);
    }
    for (size_t k = 0; k < sizeof moves / sizeof *moves; k++) {
        script(p, moves[k]);
        uint64_t now = facts(p, "a").refs;
        if (now == last) fail_msg("not seen: %s", moves[k]);
        last = now;
    }
}

static void owner_does_not_matter(void **state)
{
    place *p = *state;
    if (geteuid() != 0) {
        print_message("SKIP: only root can give a folder to somebody else\n");
        skip();
    }
    script(p, ONE_COMMIT "chown -R 12345 a");
    hpc_git_close(opened(p, "a"));
    script(p, "chown -R 0 a");
}

static int open_and_close(void *user)
{
    hpc_git *g = NULL, *other = NULL;
    hpc_git_facts f;
    int rc = hpc_git_open(&g, user);
    if (rc >= 0) rc = hpc_git_share(&other, g);
    if (rc >= 0) rc = hpc_git_describe(&f, other);
    hpc_git_close(other);
    hpc_git_close(g);
    return rc;
}

static void survives_lack_of_memory(void **state)
{
    place *p = *state;
    script(p, ONE_COMMIT "git -C a gc -q; git -C a branch b; git -C a tag c");
    assert_true(hpc_test_each_alloc(open_and_close, (void *)(uintptr_t)in(p, "a")) > 5);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(opens_all_forms, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(refuses_what_is_none, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(refuses_other_hashes, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(formats_are_told_apart, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(settings_of_the_user_do_not_matter, place_setup,
                                        place_teardown),
        cmocka_unit_test_setup_teardown(refuses_damaged_settings, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(refuses_damaged_packs, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(accepts_a_pack_without_its_half, place_setup,
                                        place_teardown),
        cmocka_unit_test_setup_teardown(names_come_from_origin, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(describes_what_is_complete, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(references_have_a_hash, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(owner_does_not_matter, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(survives_lack_of_memory, place_setup, place_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
