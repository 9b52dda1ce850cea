/*
 * priv.h: internals of runtime/base: opening of files, values and texts of options,
 * and the ticket that the barrier and the pool use.
 */
#ifndef HPC_BASE_PRIV_H
#define HPC_BASE_PRIV_H

#include <sys/types.h>

#include "runtime/base/options.h"

/* ---- files (file.c, file_write.c, file_edit.c, file_folder.c) ----------------
 * Messages truncate paths, so that the reason that follows always fits. */
#define SHOWN "%.300s"
/* First and last part of the names of temporary files. */
#define TEMP_HEAD ".hpc-"
#define TEMP_TAIL ".tmp"
int hpc_file_open_retry(const char *path, int flags, mode_t mode); /* a descriptor, or -1 */
/* Appends the rest of a file; more than `limit` bytes are an error. */
int hpc_file_read_all(hpc_buf *out, int fd, const char *path, size_t limit);
int hpc_file_write_all(int fd, const void *data, size_t bytes, const char *path);
int hpc_file_sync(int fd); /* fsync; errno holds the reason of a failure */
int hpc_file_writer_fd(const hpc_file_writer *w);
const char *hpc_file_keep_temp(hpc_file_writer *w); /* close will keep the file; returns its path */
/* out: PATH_MAX chars; the error message names `action`. */
int hpc_file_copy_path(char *out, const char *path, const char *action);

/* Fails with "WHAT: expected EXPECTED, found ..." (json.c). */
int hpc_json_wrong_kind(const hpc_json *v, const char *what, const char *expected);

/* ---- one option (options_value.c) -----------------------------------------
 * The setters check the value against the option and store it at the option's offset in
 * `out`. Their error messages begin with `where` ("option --seed"). Texts are borrowed. */
/* Parses the text according to the option's kind. */
int hpc_option_set_text(void *out, const hpc_option *o, hpc_arena *a, const char *where,
                        const char *text);
void hpc_option_set_flag(void *out, const hpc_option *o, bool value);
int hpc_option_set_int(void *out, const hpc_option *o, const char *where, int64_t value);
int hpc_option_set_real(void *out, const hpc_option *o, const char *where, double value);
int hpc_option_set_choice(void *out, const hpc_option *o, const char *where, const char *text);
/* The array lies in the arena. */
int hpc_option_add_text(void *out, const hpc_option *o, hpc_arena *a, const char *text);
/* hpc_options_load, except that options marked in `given` keep their values; NULL: none marked. */
int hpc_options_load_under(void *out, const hpc_command *c, hpc_arena *a, const hpc_json *object,
                           const bool *given);
/* Number of options in the command's table, before `end` if it is not NULL: its index. */
int hpc_options_n(const hpc_command *c, const hpc_option *end);
/* The option with exactly this name (n bytes), or NULL. */
const hpc_option *hpc_option_find(const hpc_command *c, const char *name, size_t n);
/* The option with the most similar name, or NULL if none is similar. */
const hpc_option *hpc_option_nearest(const hpc_command *c, const char *name);

/* ---- pieces of help and manual (options_text.c) ---------------------------- */
/* Placeholder of an option's value: "N", "text|json"; "" for a flag. */
void hpc_option_argument(char *out, size_t size, const hpc_option *o);
/* The range as text: "1 to 64", "at least 1"; "" if unlimited. */
void hpc_option_range(char *out, size_t size, const hpc_option *o);
/* "[1 to 64; default 8]", or "" without a range and a default. */
void hpc_option_note(char *out, size_t size, const hpc_option *o);
bool hpc_option_is_on(const hpc_option *o); /* a flag that is true by default */
/* --help as a table entry. Its letter is 0 if the table uses 'h'. */
hpc_option hpc_option_help(const hpc_command *c);
/* Appends to the C string in out, truncated to its size. */
void hpc_text_append(char *out, size_t size, const char *text);
/* Appends words and wraps lines before column `width`; the caller has indented the first line,
 * this function indents the others. `emit` appends one word. */
void hpc_text_wrap(hpc_buf *out, const char *text, size_t n, int indent, int width,
                   int (*emit)(hpc_buf *out, const void *word, size_t n));
/* Reads the next paragraph and advances *text; false at the end. */
bool hpc_text_paragraph(const char **text, const char **start, size_t *n);
/* One line "COMMAND  # what it does"; `does` may be empty. */
typedef struct hpc_example {
    const char *command, *does;
    size_t command_n, does_n;
} hpc_example;
/* Reads the next example and advances *text; false at the end. */
bool hpc_text_example(const char **text, hpc_example *out);

/* ---- tickets (ticket.c) ---------------------------------------------------
 * A ticket is an int that one thread advances by 2. Other threads wait for that: they
 * spin, then yield, then sleep. Bit 0 is set while a waiter sleeps, so that advancing
 * enters the kernel only if there is a thread to wake. */

/* Number of spins for n threads that wait for each other. 0 if there are more threads than CPUs
 * for this process, because a spinning thread would then delay the others. */
int hpc_ticket_spins(int n);
/* The current value, without bit 0. */
int hpc_ticket_read(int *ticket);
/* Returns once the value differs from `seen`; an acquire operation. */
void hpc_ticket_wait(int *ticket, int seen, int spins);
/* Advances from `seen`, by one thread at a time; a release operation. */
void hpc_ticket_advance(int *ticket, int seen);

#endif
