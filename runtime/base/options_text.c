/*
 * options_text.c: a command's --help, the list of commands, and text that help and
 * manual page share. It writes into buffers only. Completion and manual page are in
 * options_completion.c and options_man.c.
 */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/priv.h"

enum { LABEL_MAX = 28, NARROW = 60, NARROW_INDENT = 8, NAME_COLUMNS = 16 };

static const char blanks[] = " \t\n";

/* ---- words and lines ------------------------------------------------------- */

void hpc_text_append(char *out, size_t size, const char *text)
{
    size_t n = strlen(out);
    snprintf(out + n, size - n, "%s", text);
}

/* Columns of UTF-8, counting characters and taking each as one wide. */
static int columns(const char *text, size_t n)
{
    int count = 0;
    for (size_t i = 0; i < n; i++) count += ((unsigned char)text[i] & 0xC0) != 0x80;
    return count;
}

void hpc_text_wrap(hpc_buf *out, const char *text, size_t n, int indent, int width,
                   int (*emit)(hpc_buf *out, const void *word, size_t n))
{
    const char *end = text + n;
    int at = indent;
    for (;;) {
        while (text < end && strchr(blanks, *text)) text++;
        if (text >= end) return;
        const char *word = text;
        while (text < end && !strchr(blanks, *text)) text++;
        int wide = columns(word, (size_t)(text - word));
        if (at > indent && at + 1 + wide >= width) {
            hpc_buf_printf(out, "\n%*s", indent, "");
            at = indent;
        } else if (at > indent) {
            hpc_buf_text(out, " ");
            at++;
        }
        emit(out, word, (size_t)(text - word));
        at += wide;
    }
}

bool hpc_text_paragraph(const char **text, const char **start, size_t *n)
{
    const char *p = *text ? *text + strspn(*text, blanks) : "";
    const char *end = strstr(p, "\n\n");
    *start = p;
    *n = end ? (size_t)(end - p) : strlen(p);
    *text = p + *n;
    return *n > 0;
}

bool hpc_text_example(const char **text, hpc_example *out)
{
    const char *p = *text ? *text + strspn(*text, blanks) : "";
    const char *end = p + strcspn(p, "\n");
    const char *mark = strstr(p, "  # ");
    bool split = mark && mark < end;
    *out = (hpc_example){.command = p, .does = split ? mark + 4 : end};
    out->command_n = (size_t)((split ? mark : end) - p);
    while (out->command_n > 0 && p[out->command_n - 1] == ' ') out->command_n--;
    out->does_n = (size_t)(end - out->does);
    *text = end;
    return out->command_n > 0;
}

/* ---- what is said of one option -------------------------------------------- */

void hpc_option_argument(char *out, size_t size, const hpc_option *o)
{
    snprintf(out, size, "%s", o->argument ? o->argument : "");
    if (o->argument || o->kind == HPC_FLAG) return;
    if (o->kind != HPC_CHOICE) {
        snprintf(out, size, "%s", o->kind == HPC_INT || o->kind == HPC_REAL ? "N" : "TEXT");
        return;
    }
    for (int i = 0; o->choices[i]; i++) {
        if (i > 0) hpc_text_append(out, size, "|");
        hpc_text_append(out, size, o->choices[i]);
    }
}

/* Omits a bound that every int64_t or finite double satisfies. */
void hpc_option_range(char *out, size_t size, const hpc_option *o)
{
    double far = o->kind == HPC_INT ? (double)INT64_MAX : INFINITY;
    bool low = o->least > -far, high = o->most < far;
    out[0] = '\0';
    if (o->least == 0.0 && o->most == 0.0) return;
    if (low && high) {
        snprintf(out, size, "%.15g to %.15g", o->least, o->most);
    } else if (low) {
        snprintf(out, size, "at least %.15g", o->least);
    } else if (high) {
        snprintf(out, size, "at most %.15g", o->most);
    }
}

bool hpc_option_is_on(const hpc_option *o)
{
    return o->kind == HPC_FLAG && o->fallback && strcmp(o->fallback, "true") == 0;
}

static void add_note(char *out, size_t size, const char *before, const char *text)
{
    hpc_text_append(out, size, out[0] ? "; " : "[");
    hpc_text_append(out, size, before);
    hpc_text_append(out, size, text);
}

void hpc_option_note(char *out, size_t size, const hpc_option *o)
{
    char part[160] = "";
    out[0] = '\0';
    size--; /* for the closing bracket */
    if (o->kind == HPC_CHOICE && o->argument) {
        hpc_option unnamed = *o;
        unnamed.argument = NULL;
        hpc_option_argument(part, sizeof part, &unnamed);
    } else if (o->kind == HPC_INT || o->kind == HPC_REAL) {
        hpc_option_range(part, sizeof part, o);
    }
    if (part[0]) add_note(out, size, "", part);
    if (o->kind == HPC_TEXTS) add_note(out, size, "", "may be repeated");
    if (hpc_option_is_on(o)) add_note(out, size, "", "on by default");
    if (o->kind != HPC_FLAG && o->fallback && o->fallback[0])
        add_note(out, size, "default ", o->fallback);
    if (out[0]) hpc_text_append(out, size + 1, "]");
}

hpc_option hpc_option_help(const hpc_command *c)
{
    hpc_option help = {.name = "help", .letter = 'h', .kind = HPC_FLAG};
    help.help = "Show this help and exit.";
    for (const hpc_option *o = c->options; o && o->name; o = hpc_option_next(o)) {
        if (o->letter == 'h') help.letter = 0;
    }
    return help;
}

/* ---- --help ---------------------------------------------------------------- */

/* "  -n, --max-tokens N" */
static void write_label(char *out, size_t size, const hpc_option *o)
{
    char argument[120], letter[8] = "    ";
    hpc_option_argument(argument, sizeof argument, o);
    if (o->letter) snprintf(letter, sizeof letter, "-%c, ", o->letter);
    snprintf(out, size, "  %s--%s%s%s%s", letter, hpc_option_is_on(o) ? "[no-]" : "", o->name,
             argument[0] ? " " : "", argument);
}

static int label_columns(const hpc_option *o)
{
    char label[256];
    write_label(label, sizeof label, o);
    return columns(label, strlen(label));
}

/* The label, then the sentence in a column of its own; on the next line when the
 * label reaches into that column. */
static void write_option(hpc_buf *out, const hpc_option *o, int indent, int width)
{
    char label[256], note[256];
    hpc_buf text = {0};
    write_label(label, sizeof label, o);
    hpc_option_note(note, sizeof note, o);
    hpc_buf_text(out, label);
    int at = label_columns(o);
    if (at > indent - 2) {
        hpc_buf_text(out, "\n");
        at = 0;
    }
    hpc_buf_printf(out, "%*s", indent - at, "");
    hpc_buf_printf(&text, "%s %s", o->help ? o->help : "", note);
    if (text.failed) out->failed = text.failed;
    hpc_text_wrap(out, text.data ? text.data : "", text.n, indent, width, hpc_buf_add);
    hpc_buf_text(out, "\n");
    hpc_buf_release(&text);
}

/* Where lines are short, sentences stand below their labels. */
static void write_options(hpc_buf *out, const hpc_command *c, int width)
{
    const hpc_option help = hpc_option_help(c);
    int widest = label_columns(&help);
    for (const hpc_option *o = c->options; o && o->name; o = hpc_option_next(o)) {
        int wide = label_columns(o);
        if (wide > widest && wide <= LABEL_MAX) widest = wide;
    }
    const int indent = width < NARROW ? NARROW_INDENT : widest + 2;
    hpc_buf_text(out, "\nOptions:\n");
    for (const hpc_option *o = c->options; o && o->name; o = hpc_option_next(o))
        write_option(out, o, indent, width);
    write_option(out, &help, indent, width);
}

/* Commands are not wrapped, so that they can be pasted. */
static void write_examples(hpc_buf *out, const char *examples, int width)
{
    hpc_example e;
    bool first = true;
    while (hpc_text_example(&examples, &e)) {
        if (first) hpc_buf_text(out, "\nExamples:\n");
        first = false;
        hpc_buf_printf(out, "  %.*s\n", (int)e.command_n, e.command);
        if (e.does_n == 0) continue;
        hpc_buf_text(out, "      ");
        hpc_text_wrap(out, e.does, e.does_n, 6, width, hpc_buf_add);
        hpc_buf_text(out, "\n");
    }
}

static void write_usage(hpc_buf *out, const hpc_command *c, const char *program, int width)
{
    hpc_buf line = {0};
    hpc_buf_text(out, "Usage: ");
    hpc_buf_printf(&line, "%s %s [OPTION]... %s", program, c->name,
                   c->arguments ? c->arguments : "");
    if (line.failed) out->failed = line.failed;
    hpc_text_wrap(out, line.data ? line.data : "", line.n, 7, width, hpc_buf_add);
    hpc_buf_text(out, "\n\n");
    hpc_buf_release(&line);
}

int hpc_options_help(hpc_buf *out, const hpc_command *c, const char *program, int width)
{
    const char *text = c->description, *start;
    size_t n;
    write_usage(out, c, program, width);
    hpc_text_wrap(out, c->summary, strlen(c->summary), 0, width, hpc_buf_add);
    hpc_buf_text(out, "\n");
    while (hpc_text_paragraph(&text, &start, &n)) {
        hpc_buf_text(out, "\n");
        hpc_text_wrap(out, start, n, 0, width, hpc_buf_add);
        hpc_buf_text(out, "\n");
    }
    write_options(out, c, width);
    write_examples(out, c->examples, width);
    return out->failed;
}

int hpc_options_overview(hpc_buf *out, const hpc_command *const *commands, int width)
{
    const int indent = width < NARROW ? NARROW_INDENT : 2 + NAME_COLUMNS + 2;
    for (; *commands; commands++) {
        const hpc_command *c = *commands;
        if (width < NARROW)
            hpc_buf_printf(out, "  %s\n%*s", c->name, indent, "");
        else
            hpc_buf_printf(out, "  %-*s  ", NAME_COLUMNS, c->name);
        hpc_text_wrap(out, c->summary, strlen(c->summary), indent, width, hpc_buf_add);
        hpc_buf_text(out, "\n");
    }
    return out->failed;
}
