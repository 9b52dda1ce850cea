/*
 * page.h: HTML pages of reports: frame, style sheet, table cells, and text of others.
 */
#ifndef HPC_CMD_PAGE_H
#define HPC_CMD_PAGE_H

#include "cmd/cmd.h"

/* Makes one line of UTF-8 out of untrusted text: drops characters that move a cursor or turn the
 * direction of writing, and cuts after `most` bytes, with dots. NULL: out of memory. */
const char *hpc_cmd_line(hpc_arena *a, const char *text, size_t most);

/* Appends everything up to the content of <body>. The page loads nothing and runs no script. Rules
 * of `style` follow the common ones. */
void hpc_cmd_page_open(hpc_buf *out, const char *title, const char *style);
int hpc_cmd_page_close(hpc_buf *out);
/* Opens a table that scrolls, and its first row, with headers separated by '|'. A header that
 * begins with '#' belongs to a column of numbers. The caller closes the row. */
void hpc_cmd_page_columns(hpc_buf *out, const char *columns);
/* class: "" for none, "n" for a number, "wrap" for long text. */
void hpc_cmd_page_cell(hpc_buf *out, const char *class, const char *text);

#endif
