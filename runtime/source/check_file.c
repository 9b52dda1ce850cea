/*
 * check_file.c: opening a file in the libclang process: its flags, the stand-ins for
 * missing headers, and the baseline with which candidates are compared.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/source/check_priv.h"
#include "runtime/source/tree.h"

enum { ROUNDS_MOST = 3, REOPENED_MOST = 12 };

/* ---- questions ------------------------------------------------------------------------------ */

static void begin(hpc_buf *b, int kind, const hpc_check_file *f, double seconds)
{
    b->n = 0;
    check_put(b, (uint64_t)kind);
    check_put(b, f->id);
    check_put(b, (uint64_t)seconds + 1);
}

/* As check_look, or 2 if libclang rejects the request; f->message has the reason. */
static int ask_any(check_reader *r, hpc_check_file *f, const hpc_buf *question, double seconds)
{
    int rc;
    TRY(check_process_ask(&f->answer, &f->c->process, question, seconds));
    if (rc == 1) return 1;
    *r = (check_reader){.at = (const uint8_t *)f->answer.data};
    r->end = r->at + f->answer.n;
    if (check_get(r) != 0) {
        size_t n;
        const char *text = check_get_bytes(r, &n);
        f->message.n = 0;
        TRY(hpc_buf_add(&f->message, text, n));
        rc = 2;
    }
out:
    return rc;
}

static int ask(check_issues *out, hpc_check_file *f, const hpc_buf *question, double seconds)
{
    check_reader r;
    int rc;
    TRY(ask_any(&r, f, question, seconds));
    if (rc == 0) TRY(check_get_issues(out, &r));
out:
    return rc;
}

int check_file_ask(check_reader *answer, hpc_check_file *f, int kind)
{
    const double seconds = f->c->options.open_seconds;
    begin(&f->message, kind, f, seconds);
    return ask_any(answer, f, &f->message, seconds);
}

/* As `ask`; the issues are those of the empty gap. */
static int open_in_process(hpc_check_file *f)
{
    int rc;
    TRY(check_restart(f->c));
    rc = ask(&f->empty.issues, f, &f->question, f->c->options.open_seconds);
    f->generation = rc == 0 ? f->c->generation : 0;
out:
    return rc;
}

int check_look(check_filled *out, hpc_check_file *f, const char *text, size_t n)
{
    int rc;
    out->mid_n = n;
    out->text.n = 0;
    TRY(hpc_buf_add(&out->text, f->text, f->lo));
    TRY(hpc_buf_add(&out->text, text, n));
    TRY(hpc_buf_add(&out->text, f->text + f->lo, f->n - f->lo));
    begin(&f->message, CHECK_PARSE_AGAIN, f, f->c->options.check_seconds);
    check_put(&f->message, f->lo);
    check_put(&f->message, f->lo);
    check_put_bytes(&f->message, text, n);
    TRY(ask(&out->issues, f, &f->message, f->c->options.check_seconds));
out:
    return rc;
}

/* ---- flags and texts of a file -------------------------------------------------------------- */

static const char *const flags_of_all[] = {"-Werror=return-type", "-fno-spell-checking",
                                           "-ferror-limit=0", "--no-default-config"};
static const char *const flags_of_cuda[] = {
    "--cuda-host-only",        "-nocudainc", "-nocudalib",
    "-I" CHECK_FOLDER "/cuda", "-include",   CHECK_FOLDER "/cuda/cuda_runtime.h"};
static const char *const flags_unless_known[] = {"-fopenmp", "-fopenmp-version=51"};
static const char *const flags_of_trees[] = {"-D_OPENMP=201811"};
/* Without it, each file instantiates again the templates that a shared preamble uses. */
static const char *const flags_of_shared[] = {"-fpch-instantiate-templates"};

static bool is_cuda(const hpc_check_file *f)
{
    return f->language == HPC_LANGUAGE_CUDA || f->language == HPC_LANGUAGE_HIP;
}

static bool is_cpp(const hpc_check_file *f)
{
    return f->language != HPC_LANGUAGE_C;
}

static void add_flags(hpc_check_file *f, const char *const *list, size_t n)
{
    for (size_t k = 0; k < n; k++) f->flags[f->flags_n++] = list[k];
}
#define ADD_FLAGS(f, list) add_flags((f), (list), sizeof(list) / sizeof *(list))

/* A standard of the other language comes with flags of a file that stands nearby. */
static bool is_fitting(const hpc_check_file *f, const char *flag)
{
    if (strncmp(flag, "-std=", 5) == 0) {
        const bool cpp = strstr(flag, "++") != NULL;
        return cpp == (f->language != HPC_LANGUAGE_C);
    }
    return true;
}

/* True for flags that libclang always accepts: its driver rejects unknown machines and
 * standards. */
static bool is_plain(const char *flag)
{
    return strncmp(flag, "-m", 2) != 0 && strncmp(flag, "-std", 4) != 0 &&
           strncmp(flag, "--target", 8) != 0;
}

static int add_given(hpc_check_file *f, const hpc_check_flags *given, bool plain)
{
    for (int64_t k = 0; k < given->n; k++) {
        const char *flag = given->item[k];
        if (plain && strcmp(flag, "-target") == 0)
            k++;
        else if (is_fitting(f, flag) && (!plain || is_plain(flag)) &&
                 !(f->for_tree && strncmp(flag, "-fopenmp", 8) == 0))
        {
            f->flags[f->flags_n] = hpc_arena_text(f->arena, "%s", flag);
            if (!f->flags[f->flags_n++]) return HPC_E_NOMEM;
        }
    }
    return HPC_OK;
}

/* plain: without flags that libclang may reject. */
static int make_flags(hpc_check_file *f, const hpc_check_flags *given, bool plain)
{
    const int64_t n = given ? given->n : 0;
    int rc = HPC_OK;
    f->flags = hpc_arena_alloc(f->arena, (size_t)n + 32, sizeof *f->flags);
    if (!f->flags) return HPC_E_NOMEM;
    f->flags_n = 0;
    f->flags[f->flags_n++] = "-x";
    f->flags[f->flags_n++] = is_cuda(f) ? "cuda" : f->language == HPC_LANGUAGE_CPP ? "c++" : "c";
    ADD_FLAGS(f, flags_of_all);
    if (is_cuda(f)) ADD_FLAGS(f, flags_of_cuda);
    if (f->for_tree) ADD_FLAGS(f, flags_of_trees);
    if (f->once) ADD_FLAGS(f, flags_of_shared);
    if (n > 0)
        TRY(add_given(f, given, plain));
    else if (!f->for_tree)
        ADD_FLAGS(f, flags_unless_known);
    f->flags[f->flags_n++] = "-include";
    f->flags[f->flags_n++] = CHECK_FOLDER "/names.h";
    f->flags[f->flags_n++] = "-idirafter";
    f->flags[f->flags_n++] = CHECK_FOLDER "/omp";
out:
    return rc;
}

static void put_text(hpc_buf *b, const char *path, const char *text, size_t n)
{
    check_put_bytes(b, path, strlen(path));
    check_put_bytes(b, text, n);
}

/* The question that opens the file with what is known by now. */
static int make_question(hpc_check_file *f)
{
    hpc_buf *b = &f->question;
    char path[128];
    if (f->shares && check_headers_find(&f->headers, f) < 0) return HPC_E_NOMEM;
    begin(b, CHECK_OPEN, f, f->c->options.open_seconds);
    /* A tree includes the bodies of functions of headers. */
    check_put(b, (f->for_tree ? CHECK_BODIES : 0u) | (f->once ? CHECK_ONCE : 0u) |
                     (f->reopened ? CHECK_REOPENED : 0u));
    for (size_t k = 0; k < sizeof f->headers.bits / sizeof *f->headers.bits; k++)
        check_put(b, f->headers.bits[k]);
    check_put(b, is_cuda(f) ? 5 + (uint64_t)check_cuda_headers_n : 3);
    put_text(b, f->path, f->empty.text.data, f->empty.text.n);
    f->question_n = f->empty.text.n;
    f->answer.n = 0;
    hpc_buf_add(&f->answer, f->includes.data, f->includes.n);
    hpc_buf_add(&f->answer, f->prelude.data, f->prelude.n);
    put_text(b, CHECK_FOLDER "/names.h", f->answer.data, f->answer.n);
    put_text(b, CHECK_FOLDER "/omp/omp.h", check_prelude_omp, strlen(check_prelude_omp));
    if (is_cuda(f)) { /* in the place of the toolkit's, even where there is one */
        put_text(b, CHECK_FOLDER "/cuda/cuda_runtime.h", check_prelude_cuda,
                 strlen(check_prelude_cuda));
        put_text(b, CHECK_FOLDER "/cuda/hpccoder_cuda_calls.h", check_cuda_calls,
                 strlen(check_cuda_calls));
        for (int64_t k = 0; k < check_cuda_headers_n; k++) {
            snprintf(path, sizeof path, CHECK_FOLDER "/cuda/%s", check_cuda_headers[k]);
            put_text(b, path, "", 0);
        }
    }
    check_put(b, (uint64_t)f->flags_n);
    for (int64_t k = 0; k < f->flags_n; k++) check_put_bytes(b, f->flags[k], strlen(f->flags[k]));
    return b->failed ? b->failed : f->answer.failed;
}

/* ---- opening -------------------------------------------------------------------------------- */

static int refuse(const char *path, hpc_language language, size_t n, bool for_tree)
{
    if (!(for_tree ? hpc_tree_knows(language) : hpc_check_knows(language)))
        return hpc_fail(HPC_E_UNSUPPORTED, "%.300s: there is no check for %s", path,
                        hpc_language_name(language));
    if (n > CHECK_TEXT_MOST)
        return hpc_fail(HPC_E_UNSUPPORTED, "%.300s: %zu bytes are too many to check, at most %d",
                        path, n, CHECK_TEXT_MOST);
    return HPC_OK;
}

/* From here on the text is that with its gap empty. */
static int copy_source(hpc_check_file *f, const hpc_check_source *s)
{
    char here[PATH_MAX];
    int rc;
    TRY(refuse(s->path, s->language, s->n, f->for_tree));
    hpc_assert(s->lo <= s->hi && s->hi <= s->n);
    if (!getcwd(here, sizeof here)) TRY(hpc_fail(HPC_E_IO, "the working folder has no name"));
    f->arena = hpc_arena_create(0);
    f->known = hpc_map_create();
    if (!f->arena || !f->known) TRY(HPC_E_NOMEM);
    f->path = check_path(f->arena, here, s->path);
    if (!f->path) TRY(HPC_E_NOMEM);
    TRY(hpc_buf_text(&f->prelude, ""));
    TRY(hpc_buf_add(&f->empty.text, s->text, s->lo));
    TRY(hpc_buf_add(&f->empty.text, s->text + s->hi, s->n - s->hi));
    f->text = f->empty.text.data;
    f->n = f->empty.text.n;
    f->lo = s->lo;
    f->language = s->language;
    f->flags_known = s->flags && s->flags->n > 0;
out:
    return rc;
}

/* HPC_E_UNSUPPORTED for what `ask` returned, unless it was 0. */
static int got_through(const hpc_check_file *f, int rc)
{
    if (rc <= 0) return rc;
    return hpc_fail(HPC_E_UNSUPPORTED, "%.200s cannot be checked: %.200s", f->path,
                    rc == 1 ? f->c->process.why : f->message.data);
}

static bool is_for_all(const hpc_check_flags *given)
{
    for (int64_t k = 0; given && k < given->n; k++)
        if (strcmp(given->item[k], "-include") == 0 || strcmp(given->item[k], "-imacros") == 0)
            return true;
    return false;
}

static int open_first(hpc_check_file *f, const hpc_check_flags *given)
{
    int rc;
    TRY(make_flags(f, given, false));
    f->shares = f->once && !is_for_all(given);
    TRY(make_question(f));
    TRY(open_in_process(f));
    if (rc == 2 && f->flags_known) {
        TRY(make_flags(f, given, true));
        TRY(make_question(f));
        TRY(open_in_process(f));
    }
    TRY(got_through(f, rc));
out:
    return rc;
}

int check_open_again(hpc_check_file *f)
{
    int rc = HPC_OK;
    if (f->c->process.pid > 0 && f->generation == f->c->generation) return HPC_OK;
    TRY(open_in_process(f));
    TRY(got_through(f, rc));
out:
    return rc;
}

/* A function with an unknown type in its signature has a body that libclang does not judge. */
static bool is_unknown_type(const hpc_check_file *f, const check_issues *s, const check_issue *i)
{
    static const char type[] = "unknown type name '";
    return (i->flags & CHECK_INSIDE) && i->at < f->lo && i->text_n >= sizeof type &&
           memcmp(s->text.data + i->text_at, type, sizeof type - 1) == 0;
}

static void note_error(hpc_check_file *f, const check_issues *s, const check_issue *i)
{
    if (f->base.error[0] || !(i->flags & CHECK_INSIDE) || i->at >= f->lo) return;
    if ((i->flags & CHECK_PARSE) && !check_is_missing_header(s, i)) return; /* see note_parser */
    f->base.line = i->line;
    snprintf(f->base.error, sizeof f->base.error, "%.*s", (int)i->text_n,
             s->text.data + i->text_at);
}

/* The name in "'x.h' file not found". */
static const char *missing_name(size_t *n, const char *message)
{
    *n = strcspn(message + 1, "'");
    return message + 1;
}

static int describe(hpc_check_file *f)
{
    const check_issues *s = &f->empty.issues;
    const hpc_check_base before = f->base;
    bool unknown = false, type = false, call;
    size_t n;
    f->base = (hpc_check_base){.line = before.line};
    memcpy(f->base.error, before.error, sizeof before.error);
    int rc = HPC_OK;
    for (int64_t k = 0; k < s->n; k++) {
        const check_issue *i = &s->item[k];
        const char *text = s->text.data + i->text_at;
        if (check_is_missing_header(s, i)) {
            const char *name = missing_name(&n, text);
            if (!f->base.missing[0])
                snprintf(f->base.missing, sizeof f->base.missing, "%.*s", (int)n, name);
            if (f->once) TRY(check_headers_add_missing(f, name, n));
        }
        unknown = unknown || check_unknown_name(&n, &call, s, i);
        type = type || is_unknown_type(f, s, i);
        note_error(f, s, i);
        ++*(i->flags & CHECK_PARSE ? &f->base.parse : &f->base.semantic);
    }
    f->base.strict = !is_cuda(f) && !f->base.missing[0] && !type && (f->flags_known || !unknown);
    f->base.strict |= f->language == HPC_LANGUAGE_FORTRAN; /* no names are declared for it */
    check_fragment_list(f->base.headers, sizeof f->base.headers, f->suggested, is_cpp(f));
out:
    return rc;
}

/* ---- the base line -------------------------------------------------------------------------- */

/* Errors of the parser that a filling of the gap could mend. */
static int64_t broken(const check_issues *s)
{
    int64_t n = 0;
    for (int64_t k = 0; k < s->n; k++)
        n += (s->item[k].flags & CHECK_PARSE) != 0 && !check_is_missing_header(s, &s->item[k]);
    return n;
}

check_version check_version_of(const hpc_check_file *f, const check_filled *v)
{
    return (check_version){
        .text = v->text.data, .n = v->text.n, .lo = f->lo, .mid_n = v->mid_n, .issues = &v->issues};
}

static int lex(hpc_check_file *f, const check_filled *v)
{
    return hpc_lex(&f->tokens, v->text.data, v->text.n, f->language, false);
}

static int reopen(hpc_check_file *f)
{
    int rc;
    f->reopened++;
    TRY(make_question(f));
    TRY(open_in_process(f));
    TRY(got_through(f, rc));
    if (f->filled.text.n > 0) TRY(check_look(&f->filled, f, f->filling.data, f->filling.n));
    TRY(got_through(f, rc));
out:
    return rc;
}

int check_include(hpc_check_file *f, const check_filled *v)
{
    int rc, added = 0;
    if (!f->suggested || f->reopened >= REOPENED_MOST) return 0;
    TRY(lex(f, v));
    TRY(check_fragment_headers(&f->suggested, &f->includes, &f->tokens, v->text.data, is_cpp(f)));
    added = rc;
    if (added) TRY(reopen(f));
    rc = added;
out:
    return rc;
}

/* Headers that leave the file with as many errors are dropped. */
static int include_headers(hpc_check_file *f)
{
    const int64_t errors = f->empty.issues.n;
    int rc;
    if (f->for_tree || is_cuda(f) || f->base.missing[0]) return HPC_OK;
    if (!check_is_fragment(&f->empty.issues, is_cpp(f))) return HPC_OK;
    TRY(lex(f, &f->empty));
    TRY(check_fragment_headers(&f->suggested, &f->includes, &f->tokens, f->text, is_cpp(f)));
    if (rc == 0) return HPC_OK;
    TRY(reopen(f));
    if (f->empty.issues.n >= errors) {
        f->suggested = 0;
        f->includes.n = 0;
        TRY(reopen(f));
    }
    TRY(describe(f));
out:
    return rc;
}

int check_declare(hpc_check_file *f, const check_filled *v, bool needed)
{
    check_version w = check_version_of(f, v);
    int rc, added = 0;
    if (f->base.strict || f->reopened >= REOPENED_MOST) return 0;
    TRY(lex(f, v));
    TRY(check_names_declare(&f->prelude, f->known, &w, &f->tokens, needed, f->for_tree));
    added = rc;
    if (added == 0) goto out;
    TRY(reopen(f));
    rc = 1;
out:
    return rc;
}

/* The filling of the gap with which the text parses best, if that is better than without one. */
static int fill(hpc_check_file *f)
{
    hpc_buf list = {0};
    int64_t n = 0, best = broken(&f->empty.issues);
    int rc = HPC_OK;
    if (best == 0) return HPC_OK;
    TRY(lex(f, &f->empty));
    TRY(check_fillings(&list, &n, &f->tokens, f->text, f->lo, f->lo));
    const char *text = list.data;
    for (int64_t k = 0; k < n && best > 0; k++, text += strlen(text) + 1) {
        TRY(check_look(&f->now, f, text, strlen(text)));
        if (rc == 1) break; /* it can be done without */
        if (f->now.issues.cut || broken(&f->now.issues) >= best) continue;
        best = broken(&f->now.issues);
        check_filled swap = f->filled;
        f->filled = f->now;
        f->now = swap;
        f->filling.n = 0;
        TRY(hpc_buf_text(&f->filling, text));
    }
    rc = HPC_OK;
out:
    hpc_buf_release(&list);
    return rc;
}

/* Errors of the parser before the gap are the file's own when the best filling does not mend them.
 */
static void note_parser(hpc_check_file *f)
{
    const check_issues *s = f->filled.text.n > 0 ? &f->filled.issues : &f->empty.issues;
    for (int64_t k = 0; k < s->n && !f->base.error[0]; k++) {
        const check_issue *i = &s->item[k];
        if (!(i->flags & CHECK_INSIDE) || i->at >= f->lo) continue;
        f->base.line = i->line;
        snprintf(f->base.error, sizeof f->base.error, "%.*s", (int)i->text_n,
                 s->text.data + i->text_at);
    }
}

/* Declares unknown names, repeatedly while that reveals more of them. */
static int settle(hpc_check_file *f)
{
    int rc = HPC_OK;
    TRY(describe(f));
    TRY(include_headers(f));
    for (int k = 0; k < ROUNDS_MOST; k++) {
        TRY(check_declare(f, &f->empty, true));
        if (rc == 0) break;
    }
    rc = HPC_OK;
out:
    return rc;
}

static int open_file(hpc_check_file *f, const hpc_check_source *s)
{
    int rc;
    TRY(copy_source(f, s));
    TRY(open_first(f, s->flags));
    TRY(settle(f));
    if (f->for_tree) return HPC_OK;
    if (f->empty.issues.cut)
        TRY(hpc_fail(HPC_E_UNSUPPORTED, "%.300s cannot be checked: it has more than %d errors",
                     f->path, CHECK_ISSUES_MOST));
    TRY(fill(f));
    note_parser(f);
out:
    return rc;
}

static int parse_whole(hpc_check_file *f)
{
    const double seconds = f->c->options.open_seconds;
    begin(&f->message, CHECK_PARSE_AGAIN, f, seconds);
    check_put(&f->message, 0);
    check_put(&f->message, f->question_n);
    check_put_bytes(&f->message, f->empty.text.data, f->empty.text.n);
    return ask(&f->empty.issues, f, &f->message, seconds);
}

int check_file_again(hpc_check_file *f, const char *text, size_t n)
{
    int rc;
    TRY(refuse(f->path, f->language, n, f->for_tree));
    f->empty.text.n = 0;
    TRY(hpc_buf_add(&f->empty.text, text, n));
    f->text = f->empty.text.data;
    f->n = n;
    if (f->c->process.pid > 0 && f->generation == f->c->generation) {
        TRY(parse_whole(f));
    } else {
        TRY(make_question(f));
        TRY(open_in_process(f));
    }
    TRY(got_through(f, rc));
    TRY(settle(f));
out:
    return rc;
}

int hpc_check_file_open(hpc_check_file **out, hpc_checker *c, const hpc_check_source *s)
{
    return check_file_create(out, c, s, false, false);
}

int check_file_create(hpc_check_file **out, hpc_checker *c, const hpc_check_source *s,
                      bool for_tree, bool once)
{
    int rc;
    *out = NULL;
    hpc_check_file *f = hpc_alloc(1, sizeof *f);
    if (!f) return HPC_E_NOMEM;
    f->c = c;
    f->for_tree = for_tree;
    f->once = once && s->language != HPC_LANGUAGE_FORTRAN; /* which has no headers to share */
    TRY(check_take_id(&f->id, c));
    f->taken = true;
    TRY(open_file(f, s));
    *out = f;
    f = NULL;
out:
    hpc_check_file_close(f);
    return rc;
}

static void release(check_filled *v)
{
    hpc_buf_release(&v->text);
    check_issues_release(&v->issues);
}

void hpc_check_file_close(hpc_check_file *f)
{
    if (!f) return;
    if (f->taken) {
        f->message.n = 0;
        begin(&f->message, CHECK_CLOSE, f, 1);
        if (f->generation == f->c->generation && !f->message.failed)
            check_process_tell(&f->c->process, &f->message);
        check_return_id(f->c, f->id);
    }
    release(&f->empty);
    release(&f->filled);
    release(&f->now);
    hpc_tokens_release(&f->tokens);
    hpc_map_free(f->known);
    hpc_arena_free(f->arena);
    hpc_buf *bufs[] = {&f->includes, &f->prelude, &f->question,
                       &f->filling,  &f->answer,  &f->message};
    for (size_t k = 0; k < sizeof bufs / sizeof *bufs; k++) hpc_buf_release(bufs[k]);
    hpc_free(f->fresh);
    hpc_free(f->used);
    hpc_free(f);
}

const hpc_check_base *hpc_check_file_base(const hpc_check_file *f)
{
    return &f->base;
}
