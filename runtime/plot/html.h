/*
 * html.h: HTML pages of reports: frame, style sheet and table cells.
 */
#ifndef HPC_PLOT_HTML_H
#define HPC_PLOT_HTML_H

#include "runtime/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Appends everything up to the content of <body>. The page loads nothing and runs no script. Rules
 * of `style` follow the common ones. */
void hpc_html_open(hpc_buf *out, const char *title, const char *style);
int hpc_html_close(hpc_buf *out);
/* Opens a table that scrolls, and its first row, with headers separated by '|'. A header that
 * begins with '#' belongs to a column of numbers. The caller closes the row. */
void hpc_html_columns(hpc_buf *out, const char *columns);
/* class: "" for none, "n" for a number, "wrap" for long text. */
void hpc_html_cell(hpc_buf *out, const char *class_name, const char *text);

#ifdef __cplusplus
}
#endif
#endif
