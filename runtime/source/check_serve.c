/*
 * check_serve.c: the server in the libclang process: it answers requests until the
 * caller closes the connection.
 *
 * An internal failure ends the process; the caller detects this.
 */
#include <string.h>
#include <unistd.h>

#include "runtime/source/check_share.h"
#include "runtime/source/tree_priv.h"

/* A file that was opened, and the message that opened it, in which its texts and flags are. */
typedef struct unit {
    hpc_buf message;
    hpc_clang_text text[CHECK_TEXTS_MOST];
    size_t texts_n;
    hpc_clang_unit *clang; /* NULL: not open */
    int64_t shared;        /* the number of the unit that it shares, from 1; 0: none */
} unit;

typedef struct server {
    int fd;
    const hpc_clang *table;
    unit *unit;
    int64_t n, cap;
    hpc_buf question, answer, text;
    check_issues issues;
    check_share share;
} server;

static void __attribute__((noreturn)) give_up(void)
{
    _exit(1);
}

/* ---- answers -------------------------------------------------------------------------------- */

static bool take_issue(const hpc_clang_issue *issue, void *user)
{
    check_issues *s = user;
    size_t n = strlen(issue->text), header_n = strlen(issue->header);
    if (s->n == CHECK_ISSUES_MOST) {
        s->cut = true;
        return false;
    }
    if (n > CHECK_MESSAGE_MOST) n = CHECK_MESSAGE_MOST;
    if (header_n > CHECK_MESSAGE_MOST) header_n = CHECK_MESSAGE_MOST;
    if (hpc_grow(&s->item, &s->cap, s->n + 1, sizeof *s->item) < 0) give_up();
    s->item[s->n++] = (check_issue){
        .flags = (issue->parse ? CHECK_PARSE : 0u) | (issue->inside ? CHECK_INSIDE : 0u),
        .line = issue->line,
        .column = issue->column,
        .at = issue->at,
        .text_at = (uint32_t)s->text.n,
        .text_n = (uint32_t)n,
        .header_at = (uint32_t)(s->text.n + n),
        .header_n = (uint32_t)header_n,
        .header_line = issue->header_line,
    };
    if (hpc_buf_add(&s->text, issue->text, n) < 0) give_up();
    if (hpc_buf_add(&s->text, issue->header, header_n) < 0) give_up();
    return true;
}

/* Answers with the issues of the unit, or with the error that prevented the parse. */
static void answer(server *s, const unit *u, const char *error)
{
    s->answer.n = 0;
    check_put(&s->answer, error != NULL);
    if (error) check_put_bytes(&s->answer, error, strlen(error));
    if (!error) {
        s->issues.n = 0;
        s->issues.text.n = 0;
        s->issues.cut = false;
        s->table->issues(u->clang, take_issue, &s->issues);
        check_put_issues(&s->answer, &s->issues);
    }
    if (check_send(s->fd, &s->answer, 0) != 0) give_up();
}

/* ---- units ---------------------------------------------------------------------------------- */

static unit *unit_of(server *s, uint64_t id)
{
    if (id >= CHECK_FILES_MOST) give_up();
    if (hpc_grow(&s->unit, &s->cap, (int64_t)id + 1, sizeof *s->unit) < 0) give_up();
    if (s->n <= (int64_t)id) s->n = (int64_t)id + 1;
    return &s->unit[id];
}

static void close_unit(server *s, unit *u)
{
    if (u->shared)
        check_share_close(&s->share, u->shared - 1);
    else
        s->table->close(u->clang);
    hpc_buf_release(&u->message);
    *u = (unit){0};
}

/* Reads what opens a file; the result points into the message, which is the unit's. */
static const char **take_texts(unit *u, check_reader *r)
{
    size_t length;
    u->texts_n = (size_t)check_get(r);
    if (u->texts_n < 2 || u->texts_n > CHECK_TEXTS_MOST) give_up();
    for (size_t k = 0; k < u->texts_n; k++) {
        u->text[k].path = check_get_bytes(r, &length);
        u->text[k].text = check_get_bytes(r, &u->text[k].n);
    }
    uint64_t n = check_get(r);
    if (r->failed || n > (uint64_t)(r->end - r->at)) give_up();
    const char **flags = hpc_alloc((size_t)n + 1, sizeof *flags);
    if (!flags) give_up();
    for (uint64_t k = 0; k < n; k++) flags[k] = check_get_bytes(r, &length);
    if (r->failed) give_up();
    return flags;
}

/* Keeps the question, because texts and flags lie in it. */
static void open_unit(server *s, uint64_t id, check_reader r)
{
    char error[HPC_CLANG_ERROR_BYTES] = "";
    unit *u = unit_of(s, id);
    int rc = 0;
    close_unit(s, u);
    u->message = s->question;
    s->question = (hpc_buf){0};
    const uint64_t how = check_get(&r);
    check_headers set;
    for (size_t k = 0; k < sizeof set.bits / sizeof *set.bits; k++) set.bits[k] = check_get(&r);
    const char **flags = take_texts(u, &r);
    if (how & CHECK_ONCE)
        u->shared = check_share_open(&s->share, &set, how & CHECK_REOPENED,
                                     &(check_texts){u->text, u->texts_n, flags}) +
                    1;
    if (u->shared)
        u->clang = check_share_unit(&s->share, u->shared - 1);
    else
        rc = s->table->open(&u->clang, &s->share.kept, u->text, u->texts_n, flags,
                            how & CHECK_BODIES, !(how & CHECK_ONCE), error);
    hpc_free(flags);
    answer(s, u, rc < 0 ? error : NULL);
}

/* The file with something else in its gap. */
static void parse_unit(server *s, uint64_t id, check_reader *r)
{
    char error[HPC_CLANG_ERROR_BYTES] = "";
    unit *u = unit_of(s, id);
    size_t n, lo = (size_t)check_get(r), hi = (size_t)check_get(r);
    const char *middle = check_get_bytes(r, &n);
    if (r->failed || !u->clang || lo > hi || hi > u->text[0].n) give_up();
    hpc_clang_text before = u->text[0];
    s->text.n = 0;
    hpc_buf_add(&s->text, before.text, lo);
    hpc_buf_add(&s->text, middle, n);
    hpc_buf_add(&s->text, before.text + hi, before.n - hi);
    if (s->text.failed) give_up();
    u->text[0].text = s->text.data;
    u->text[0].n = s->text.n;
    const check_texts texts = {u->text, u->texts_n, NULL};
    bool done = u->shared ? check_share_parse(&s->share, u->shared - 1, &texts)
                          : s->table->parse(u->clang, u->text, u->texts_n, 0, error) == 0;
    u->text[0] = before;
    if (!done) give_up(); /* the unit is of no use any more */
    answer(s, u, NULL);
}

static void answer_tree(server *s, uint64_t id)
{
    hpc_clang_tree tree;
    unit *u = unit_of(s, id);
    if (!u->clang) give_up();
    s->table->tree(&tree, u->clang);
    s->answer.n = 0;
    check_put(&s->answer, 0);
    tree_put(&s->answer, &tree);
    if (check_send(s->fd, &s->answer, 0) != 0) give_up();
}

/* The other side ends what takes too long. Were it killed itself, the alarm would. */
static void serve_one(server *s)
{
    check_reader r = {.at = (const uint8_t *)s->question.data};
    r.end = r.at + s->question.n;
    uint64_t kind = check_get(&r), id = check_get(&r), seconds = check_get(&r);
    if (r.failed) give_up();
    alarm((unsigned)(seconds < 86400 ? seconds : 86400) + 2);
    switch (kind) {
    case CHECK_OPEN: open_unit(s, id, r); break;
    case CHECK_PARSE_AGAIN: parse_unit(s, id, &r); break;
    case CHECK_TREE: answer_tree(s, id); break;
    case CHECK_CLOSE: close_unit(s, unit_of(s, id)); break;
    default: give_up();
    }
}

void check_serve(int fd, const hpc_clang *table, const char *program)
{
    server s = {.fd = fd, .table = table};
    check_put(&s.answer, CHECK_VERSION);
    if (check_send(fd, &s.answer, 0) != 0) give_up();
    check_share_init(&s.share, table, program);
    while (check_receive(&s.question, fd, 0) == 0) {
        serve_one(&s);
        alarm(0);
    }
    _exit(0);
}
