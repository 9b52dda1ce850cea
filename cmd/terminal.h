/*
 * terminal.h: properties of standard output and standard error: terminal or not, width, colours.
 *
 * Colours appear only on terminals, not if NO_COLOR is set and not empty, and not if TERM is
 * "dumb" or unset.
 */
#ifndef HPC_CMD_TERMINAL_H
#define HPC_CMD_TERMINAL_H

#include <stdio.h>

#include "runtime/base/table.h"

typedef enum terminal_style {
    STYLE_NONE,
    STYLE_GOOD,  /* green: proven, faster, an added line */
    STYLE_DOUBT, /* yellow: under assumptions, a warning */
    STYLE_BAD,   /* red: unsafe, slower, an error, a removed line */
    STYLE_TITLE, /* bold */
    STYLE_FAINT
} terminal_style;

bool terminal_is(FILE *stream);    /* stdout or stderr; a dumb terminal is one */
bool terminal_moves(FILE *stream); /* the cursor can be moved: lines can be redrawn */
/* The escape sequences that begin and end a style on this stream; both "" without colours. */
const char *terminal_begin(FILE *stream, terminal_style style);
const char *terminal_end(FILE *stream, terminal_style style);
/* Appends text for standard output in a style. */
void terminal_put(hpc_buf *out, terminal_style style, const char *text);
/* The width of paragraphs: $COLUMNS, the terminal's, or 80; 20 to 120. */
int hpc_cmd_columns(void);
/* The width of tables on standard output: $COLUMNS, or the terminal's; 0, no limit, elsewhere. */
int hpc_cmd_table_columns(void);
int terminal_error_columns(void); /* standard error's; 0: unknown */

#endif
