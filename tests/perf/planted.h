/*
 * planted.h: small programs and changes with known effect on run time (tests/perf/planted), as one
 * git repository: branch KERNEL/base, followed by KERNEL/CHANGE. tests/perf/planted/README.md
 * describes the file format.
 */
#ifndef HPC_TESTS_PERF_PLANTED_H
#define HPC_TESTS_PERF_PLANTED_H

#include "tests/git/repository.h"

#include "corpus/history/label.h"

#define PLANTED_FOLDER "tests/perf/planted"

enum { PLANTED_MOST = 96, PLANTED_FILES = 12, PLANTED_NAME = 32 };

typedef struct planted {
    char kernel[PLANTED_NAME], name[PLANTED_NAME], kind[PLANTED_NAME];
    hpc_history_label label;
    bool by_time; /* not visible in counted costs */
} planted;

typedef struct planted_file {
    char path[PLANTED_NAME];
    hpc_buf text;
} planted_file;

typedef struct planted_files {
    planted_file item[PLANTED_FILES];
    int n;
} planted_files;

typedef struct planted_set {
    planted change[PLANTED_MOST];
    int n;
    planted_files base, head; /* the kernel and the change being read */
    planted_file *edited;     /* file in which the text `from` is replaced */
    hpc_buf from;
    char kernel[PLANTED_NAME], message[128];
    hpc_buf stream; /* input of git fast-import */
} planted_set;

static inline void planted_files_release(planted_files *f)
{
    for (int k = 0; k < f->n; k++) hpc_buf_release(&f->item[k].text);
    f->n = 0;
}

static inline void planted_release(planted_set *s)
{
    planted_files_release(&s->base);
    planted_files_release(&s->head);
    hpc_buf_release(&s->from);
    hpc_buf_release(&s->stream);
}

static inline planted_file *planted_file_named(planted_files *f, const char *path)
{
    for (int k = 0; k < f->n; k++)
        if (strcmp(f->item[k].path, path) == 0) return &f->item[k];
    return NULL;
}

static inline void planted_file_add(planted_files *f, const char *path, const char *text, size_t n)
{
    if (planted_file_named(f, path) || f->n == PLANTED_FILES)
        fail_msg("%s: a second one, or one file too many", path);
    planted_file *file = &f->item[f->n++];
    *file = (planted_file){0};
    assert_true(snprintf(file->path, sizeof file->path, "%s", path) < PLANTED_NAME);
    assert_int_equal(hpc_buf_add(&file->text, text, n), 0);
}

/* Writes files as a commit of branch KERNEL/NAME, after KERNEL/base unless it is that. */
static inline void planted_commit(planted_set *s, const planted_files *f, const char *name,
                                  const char *message)
{
    bool base = strcmp(name, "base") == 0;
    hpc_buf_printf(&s->stream,
                   "commit refs/heads/%s/%s\ncommitter a <a@example.org> %d +0000\ndata %zu\n%s\n",
                   s->kernel, name, 1700000000 + s->n, strlen(message), message);
    if (!base) hpc_buf_printf(&s->stream, "from refs/heads/%s/base\n", s->kernel);
    for (int k = 0; k < f->n; k++) {
        const planted_file *file = &f->item[k];
        hpc_buf_printf(&s->stream, "M 100644 inline %s\ndata %zu\n", file->path, file->text.n);
        hpc_buf_add(&s->stream, file->text.data, file->text.n);
        hpc_buf_text(&s->stream, "\n");
    }
}

/* Finishes a kernel, or one change to it. */
static inline void planted_finish(planted_set *s)
{
    if (s->edited) fail_msg("%s: %%%% in without %%%% to", s->kernel);
    if (s->base.n == 0) return;
    if (s->head.n > 0)
        planted_commit(s, &s->head, s->change[s->n - 1].name, s->message);
    else
        planted_commit(s, &s->base, "base", s->message);
    planted_files_release(&s->head);
}

static inline void planted_begin_kernel(planted_set *s, const char *line)
{
    planted_files_release(&s->base);
    if (sscanf(line, "kernel %31[a-z0-9_]: %127[^\n]", s->kernel, s->message) != 2)
        fail_msg("%s: not KERNEL: what it is", line);
}

static inline void planted_begin_change(planted_set *s, const char *line)
{
    assert_true(s->n < PLANTED_MOST);
    planted *c = &s->change[s->n++];
    char label[8], how[9] = "";
    *c = (planted){0};
    snprintf(c->kernel, sizeof c->kernel, "%s", s->kernel);
    if (sscanf(line, "change %31[a-z0-9_] %7s %31[a-z_]%8[ a-z]: %127[^\n]", c->name, label,
               c->kind, how, s->message) != 5 &&
        sscanf(line, "change %31[a-z0-9_] %7s %31[a-z_]: %127[^\n]", c->name, label, c->kind,
               s->message) != 4)
        fail_msg("%s: not NAME LABEL KIND: message", line);
    c->by_time = strcmp(how, " by time") == 0;
    for (c->label = HPC_HISTORY_SLOWER; c->label < HPC_HISTORY_UNDECIDED; c->label++)
        if (strcmp(label, hpc_history_label_name(c->label)) == 0) break;
    if (c->label == HPC_HISTORY_UNDECIDED) fail_msg("%s: %s is no label", line, label);
    for (int k = 0; k < s->base.n; k++)
        planted_file_add(&s->head, s->base.item[k].path, s->base.item[k].text.data,
                         s->base.item[k].text.n);
}

/* Replaces the text `from`, whole lines that occur once. */
static inline void planted_edit(planted_set *s, const char *text, size_t n)
{
    hpc_buf edited = {0};
    hpc_buf_add(&s->from, "", 1);
    hpc_buf_add(&s->edited->text, "", 1);
    const char *all = s->edited->text.data, *at = all, *found = NULL;
    for (; (at = strstr(at, s->from.data)); at++) {
        if (at > all && at[-1] != '\n') continue;
        if (found) fail_msg("%s %s: it is there twice:\n%s", s->kernel, s->message, s->from.data);
        found = at;
    }
    if (!found) fail_msg("%s %s: it is not there:\n%s", s->kernel, s->message, s->from.data);
    hpc_buf_add(&edited, all, (size_t)(found - all));
    hpc_buf_add(&edited, text, n);
    hpc_buf_text(&edited, found + s->from.n - 1);
    hpc_buf_release(&s->edited->text);
    hpc_buf_release(&s->from);
    s->edited->text = edited;
    s->edited = NULL;
}

/* Handles one "%% ..." line and the text after it. */
static inline void planted_section(planted_set *s, const char *line, const char *text, size_t n)
{
    char path[PLANTED_NAME];
    if (strncmp(line, "kernel ", 7) == 0) {
        planted_begin_kernel(s, line);
    } else if (sscanf(line, "file %31s", path) == 1) {
        planted_file_add(&s->base, path, text, n);
    } else if (strncmp(line, "change ", 7) == 0) {
        planted_finish(s);
        planted_begin_change(s, line);
    } else if (sscanf(line, "add %31s", path) == 1) {
        planted_file_add(&s->head, path, text, n);
    } else if (sscanf(line, "in %31s", path) == 1) {
        assert_null(s->edited);
        s->edited = planted_file_named(&s->head, path);
        if (!s->edited) fail_msg("%s %s: there is no %s", s->kernel, s->message, path);
        hpc_buf_add(&s->from, text, n);
    } else if (strcmp(line, "to") == 0 && s->edited) {
        planted_edit(s, text, n);
    } else {
        fail_msg("%s: %%%% %s: not understood", s->kernel, line);
    }
}

static inline void planted_read(planted_set *s, const char *path)
{
    hpc_buf all = {0};
    char line[256];
    assert_int_equal(hpc_file_read(&all, path, 1 << 20), 0);
    hpc_buf_add(&all, "", 1);
    const char *at = all.data, *next;
    if (strncmp(at, "%% kernel ", 10) != 0) fail_msg("%s: does not begin with its kernel", path);
    for (; *at; at = next) {
        const char *text = strchr(at, '\n') + 1;
        assert_true(snprintf(line, sizeof line, "%.*s", (int)(text - at - 4), at + 3) < 256);
        next = text - 1;
        do next = strstr(next + 1, "%% ");
        while (next && next[-1] != '\n');
        if (!next) next = all.data + all.n - 1;
        planted_section(s, line, text, (size_t)(next - text));
    }
    planted_finish(s);
    hpc_buf_release(&all);
}

/* Makes all kernels as repository `r` of the folder. */
static inline void planted_open(planted_set *s, place *p)
{
    hpc_buf names = {0};
    int64_t n;
    char path[300];
    memset(s, 0, sizeof *s);
    assert_int_equal(hpc_file_list(&names, &n, PLANTED_FOLDER), 0);
    const char *name = names.data;
    for (int64_t k = 0; k < n; k++, name += strlen(name) + 1) {
        size_t length = strlen(name);
        if (length < 8 || strcmp(name + length - 7, ".kernel") != 0) continue;
        snprintf(path, sizeof path, PLANTED_FOLDER "/%s", name);
        planted_read(s, path);
    }
    hpc_buf_release(&names);
    assert_int_equal(s->stream.failed, 0);
    put(p, "in", s->stream.data, s->stream.n);
    script(p, "new r; git fast-import --quiet < ../in");
}

#endif
