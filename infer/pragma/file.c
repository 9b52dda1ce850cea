/*
 * The text of a file for directives: reading, and checks of what was read.
 */
#include <string.h>
#include <sys/stat.h>

#include "infer/pragma/directives.h"

enum { FILE_MOST = 16 << 20 };

int hpc_directive_file_read(hpc_directive_file *f)
{
    struct stat st;
    int rc = HPC_OK;
    if (stat(f->path, &st) == 0 && !S_ISREG(st.st_mode))
        return hpc_fail(HPC_E_ARG, "%s is a %s; name source files", f->path,
                        S_ISDIR(st.st_mode) ? "folder" : "device or pipe");
    TRY(hpc_file_read(&f->text, f->path, FILE_MOST));
    TRY(hpc_buf_text(&f->text, "")); /* an empty one has data too */
    const char *zero = memchr(f->text.data, '\0', f->text.n);
    const bool is_utf16 = f->text.n >= 2 && (memcmp(f->text.data, "\xff\xfe", 2) == 0 ||
                                             memcmp(f->text.data, "\xfe\xff", 2) == 0);
    if (is_utf16)
        rc = hpc_fail(HPC_E_FORMAT, "%s: UTF-16 text: convert it to UTF-8 first", f->path);
    else if (zero)
        rc = hpc_fail(HPC_E_FORMAT, "%s is not text: byte %zu is NUL", f->path,
                      (size_t)(zero - f->text.data));
    f->language = hpc_language_of(f->path, f->text.data, f->text.n);
    if (rc >= 0 && f->language == HPC_LANGUAGE_NONE)
        rc = hpc_fail(HPC_E_ARG,
                      "%s: the file name is not one of C, C++, CUDA, HIP, OpenCL or Fortran",
                      f->path);
out:
    return rc;
}

int hpc_directive_file_check_line(const hpc_directive_file *f, int64_t line)
{
    int64_t lines = f->text.n > 0 && f->text.data[f->text.n - 1] != '\n';
    for (size_t k = 0; k < f->text.n; k++) lines += f->text.data[k] == '\n';
    if (line <= lines) return HPC_OK;
    return hpc_fail(HPC_E_ARG, "%s: there is no line %lld, the file has %lld line%s", f->path,
                    (long long)line, (long long)lines, lines == 1 ? "" : "s");
}
