/*
 * priv.h: what the files of this folder share and nobody else may use: opening
 * of files, values and texts of options, and the ticket under the barrier and the
 * pool.
 */
#ifndef HPC_BASE_PRIV_H
#define HPC_BASE_PRIV_H

#include <sys/types.h>

#include "runtime/base/options.h"

/* ---- files (file.c, file_write.c, file_edit.c, file_folder.c) ----------------
 * Paths in messages are cut, so that the reason behind them always fits. */
#define SHOWN "%.300s"
/* Begins and ends the names of temporary files: what lies between is ours to choose. */
#define TEMP_HEAD ".hpc-"
#define TEMP_TAIL ".tmp"
int hpc_file_open_retry(const char *path, int flags, mode_t mode); /* a descriptor, or -1 */
/* Appends what a descriptor still has; more than `limit` bytes are an error. */
int hpc_file_read_all(hpc_buf *out, int fd, const char *path, size_t limit);
int hpc_file_write_all(int fd, const void *data, size_t bytes, const char *path);
int hpc_file_sync(int fd); /* fsync; errno holds the reason of a failure */
int hpc_file_writer_fd(const hpc_file_writer *w);
const char *hpc_file_keep_temp(hpc_file_writer *w); /* closing leaves it; returns its path */
/* Into PATH_MAX chars; `action` for the message. */
int hpc_file_copy_path(char *out, const char *path, const char *action);

/* Fails with "WHAT: expected EXPECTED, found ..." (json.c). */
int hpc_json_wrong_kind(const hpc_json *v, const char *what, const char *expected);

/* ---- one option (options_value.c) -----------------------------------------
 * The setters check what the option allows and store at its offset of `out`;
 * `where` opens their messages ("option --seed"). Texts are borrowed. */
/* Parses the text by the option's kind. */
int hpc_option_set_text(void *out, const hpc_option *o, hpc_arena *a, const char *where,
                        const char *text);
void hpc_option_set_flag(void *out, const hpc_option *o, bool value);
int hpc_option_set_int(void *out, const hpc_option *o, const char *where, int64_t value);
int hpc_option_set_real(void *out, const hpc_option *o, const char *where, double value);
int hpc_option_set_choice(void *out, const hpc_option *o, const char *where, const char *text);
/* The array lies in the arena. */
int hpc_option_add_text(void *out, const hpc_option *o, hpc_arena *a, const char *text);
/* hpc_options_load, but for the options of the table that are marked as given; NULL: none. */
int hpc_options_load_under(void *out, const hpc_command *c, hpc_arena *a, const hpc_json *object,
                           const bool *given);
/* How many options the command's table has. */
int hpc_options_n(const hpc_command *c);
/* The option of exactly this name of n bytes, or NULL. */
const hpc_option *hpc_option_find(const hpc_command *c, const char *name, size_t n);
/* The option that somebody who wrote `name` may have meant, or NULL. */
const hpc_option *hpc_option_nearest(const hpc_command *c, const char *name);

/* ---- pieces of help and manual (options_text.c) ---------------------------- */
/* What an option's value is called: "N", "text|json"; "" for a flag. */
void hpc_option_argument(char *out, size_t size, const hpc_option *o);
/* The range in words, "1 to 64", "at least 1"; "" when any. */
void hpc_option_range(char *out, size_t size, const hpc_option *o);
/* "[1 to 64; default 8]", or "" when there is nothing to say. */
void hpc_option_note(char *out, size_t size, const hpc_option *o);
bool hpc_option_is_on(const hpc_option *o); /* a flag that is true by default */
/* --help, as an option like any other. Its letter is 0 when the table uses 'h'. */
hpc_option hpc_option_help(const hpc_command *c);
/* Appends to the C string in out, cut at its size. */
void hpc_text_append(char *out, size_t size, const char *text);
/* Appends words so that lines end before `width`, further ones indented. The
 * first line is already indented. `emit` appends one word. */
void hpc_text_wrap(hpc_buf *out, const char *text, size_t n, int indent, int width,
                   int (*emit)(hpc_buf *out, const void *word, size_t n));
/* The next paragraph at *text, which moves on; false when there is none. */
bool hpc_text_paragraph(const char **text, const char **start, size_t *n);
/* One line "COMMAND  # what it does"; the second part may be empty. */
typedef struct hpc_example {
    const char *command, *does;
    size_t command_n, does_n;
} hpc_example;
/* The next example at *text, which moves on; false when there is none. */
bool hpc_text_example(const char **text, hpc_example *out);

/* ---- tickets (ticket.c) ---------------------------------------------------
 * A ticket is an int that one thread advances by 2 and others wait for, by
 * spinning, then yielding, then sleeping. Bit 0 says that a waiter sleeps, so
 * that advancing enters the kernel only when there is somebody to wake. */

/* How long n threads that wait for each other should spin: 0 when they outnumber the CPUs
 * that this process may use, because then a spinning thread keeps another from arriving. */
int hpc_ticket_spins(int n);
/* The ticket's present value, without bit 0. */
int hpc_ticket_read(int *ticket);
/* Returns when the ticket is no longer `seen`; acquires what came before the advance. */
void hpc_ticket_wait(int *ticket, int seen, int spins);
/* From `seen` to the next value, by one thread at a time; releases what came before. */
void hpc_ticket_advance(int *ticket, int seen);

#endif
