/*
 * options_man.c: a command's manual page, in man macros for groff and mandoc. It
 * contains no date, so that equal sources give equal pages.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/priv.h"

enum { WIDTH = 78 };

/* What a roff formatter would take for its own or print as another character. */
static const char *escape(char c)
{
    switch (c) {
    case '\\': return "\\e";
    case '-': return "\\-";
    case '"': return "\\(dq";
    case '\'': return "\\(aq";
    case '`': return "\\(ga";
    case '^': return "\\(ha";
    case '~': return "\\(ti";
    default: return NULL;
    }
}

/* A dot at the start of a line would be a request, so every word that has one is
 * protected; an apostrophe is escaped anyway. */
static int emit(hpc_buf *out, const void *word, size_t n)
{
    const char *p = word;
    if (n > 0 && p[0] == '.') hpc_buf_text(out, "\\&");
    for (size_t i = 0; i < n; i++) {
        const char *instead = escape(p[i]);
        if (instead) {
            hpc_buf_text(out, instead);
        } else {
            hpc_buf_add(out, &p[i], 1);
        }
    }
    return out->failed;
}

static void emit_text(hpc_buf *out, const char *text)
{
    emit(out, text, strlen(text));
}

static void paragraph(hpc_buf *out, const char *text, size_t n)
{
    hpc_text_wrap(out, text, n, 0, WIDTH, emit);
    hpc_buf_text(out, "\n");
}

/* "bench op" of hpccoder: "HPCCODER\-BENCH\-OP", or in lower case. */
static void page_name(hpc_buf *out, const hpc_command *c, const char *program, bool upper)
{
    char name[160];
    snprintf(name, sizeof name, "%s-%s", program, c->name);
    for (char *p = name; *p; p++) {
        if (*p == ' ') *p = '-';
        if (upper) *p = (char)toupper((unsigned char)*p);
    }
    emit_text(out, name);
}

static void write_head(hpc_buf *out, const hpc_command *c, const char *program, const char *version)
{
    hpc_buf_text(out, ".TH \"");
    page_name(out, c, program, true);
    hpc_buf_text(out, "\" 1 \"\" \"");
    emit_text(out, program);
    hpc_buf_text(out, " ");
    emit_text(out, version);
    hpc_buf_text(out, "\" \"User Commands\"\n.SH NAME\n");
    page_name(out, c, program, false);
    hpc_buf_text(out, " \\- ");
    emit_text(out, c->summary);
    hpc_buf_text(out, "\n.SH SYNOPSIS\n\\fB");
    emit_text(out, program);
    hpc_buf_text(out, " ");
    emit_text(out, c->name);
    hpc_buf_text(out, "\\fR [\\fIOPTION\\fR]...\\&\n");
    if (!c->arguments || !c->arguments[0]) return;
    hpc_buf_text(out, "\\fI");
    emit_text(out, c->arguments);
    hpc_buf_text(out, "\\fR\n");
}

static void write_description(hpc_buf *out, const hpc_command *c)
{
    const char *text = c->description, *start;
    size_t n;
    bool first = true;
    hpc_buf_text(out, ".SH DESCRIPTION\n");
    while (hpc_text_paragraph(&text, &start, &n)) {
        if (!first) hpc_buf_text(out, ".PP\n");
        first = false;
        paragraph(out, start, n);
    }
    if (first) paragraph(out, c->summary, strlen(c->summary));
}

static void write_option(hpc_buf *out, const hpc_option *o)
{
    char argument[120], note[256];
    hpc_option_argument(argument, sizeof argument, o);
    hpc_option_note(note, sizeof note, o);
    hpc_buf_text(out, ".TP\n");
    if (o->letter) hpc_buf_printf(out, "\\fB\\-%c\\fR, ", o->letter);
    hpc_buf_text(out, "\\fB\\-\\-");
    emit_text(out, o->name);
    hpc_buf_text(out, "\\fR");
    if (hpc_option_is_on(o)) {
        hpc_buf_text(out, ", \\fB\\-\\-no\\-");
        emit_text(out, o->name);
        hpc_buf_text(out, "\\fR");
    }
    if (argument[0]) {
        hpc_buf_text(out, " \\fI");
        emit_text(out, argument);
        hpc_buf_text(out, "\\fR");
    }
    hpc_buf_text(out, "\n");
    if (o->help) paragraph(out, o->help, strlen(o->help));
    if (note[0]) paragraph(out, note, strlen(note));
}

static void write_options(hpc_buf *out, const hpc_command *c)
{
    const hpc_option help = hpc_option_help(c);
    hpc_buf_text(out, ".SH OPTIONS\n");
    for (const hpc_option *o = c->options; o && o->name; o = hpc_option_next(o))
        write_option(out, o);
    write_option(out, &help);
}

static void write_examples(hpc_buf *out, const char *examples)
{
    hpc_example e;
    bool first = true;
    while (hpc_text_example(&examples, &e)) {
        if (first) hpc_buf_text(out, ".SH EXAMPLES\n");
        first = false;
        hpc_buf_text(out, e.does_n > 0 ? ".TP\n\\fB" : ".PP\n\\fB");
        emit(out, e.command, e.command_n);
        hpc_buf_text(out, "\\fR\n");
        if (e.does_n > 0) paragraph(out, e.does, e.does_n);
    }
}

int hpc_options_man(hpc_buf *out, const hpc_command *c, const char *program, const char *version)
{
    write_head(out, c, program, version);
    write_description(out, c);
    write_options(out, c);
    write_examples(out, c->examples);
    hpc_buf_text(out, ".SH EXIT STATUS\n"
                      ".TP\n"
                      "\\fB0\\fR\n"
                      "Done; nothing to report.\n"
                      ".TP\n"
                      "\\fB1\\fR\n"
                      "Done, with findings.\n"
                      ".TP\n"
                      "\\fB2\\fR\n"
                      "Bad usage or bad input; one line on standard error names it.\n"
                      ".TP\n"
                      "\\fB3\\fR\n"
                      "A missing resource or an internal failure.\n");
    return out->failed;
}
