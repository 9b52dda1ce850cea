/*
 * Semantic errors that are bugs of a completion regardless of missing declarations: a missing
 * return, a redefinition, and if no header is missing, an undeclared variable.
 */
#include <ctype.h>
#include <string.h>

#include "runtime/source/check_priv.h"

static bool begins(const check_issues *s, const check_issue *i, const char *with)
{
    size_t n = strlen(with);
    return i->text_n >= n && memcmp(s->text.data + i->text_at, with, n) == 0;
}

static bool is_in_gap(const hpc_check_file *f, const check_issue *i)
{
    return (i->flags & CHECK_INSIDE) && i->at >= f->lo && i->at < f->lo + f->now.mid_n;
}

/* The error is at the brace that ends the function. With an empty gap the function also lacks its
 * return, so a comparison with that text gives no information. */
bool check_lacks_return(const hpc_check_file *f, const check_issue *i)
{
    const check_issues *s = &f->now.issues;
    return is_in_gap(f, i) && (begins(s, i, "non-void function does not return a value") ||
                               begins(s, i, "non-void lambda does not return a value"));
}

static bool is_name_byte(char c)
{
    return isalnum((uint8_t)c) || c == '_';
}

/* True if the file names it outside the gap: a header that is missing may declare it. */
static bool is_named_elsewhere(const hpc_check_file *f, const char *name, size_t n)
{
    const char *text = f->text, *end = f->text + f->n;
    for (; (text = memmem(text, (size_t)(end - text), name, n)) != NULL; text += n) {
        bool left = text == f->text || !is_name_byte(text[-1]);
        bool right = text + n == end || !is_name_byte(text[n]);
        if (left && right) return true;
    }
    return false;
}

static bool is_called(const hpc_check_file *f, const check_issue *i, size_t n)
{
    size_t at = i->at + n;
    while (at < f->now.text.n && (f->now.text.data[at] == ' ' || f->now.text.data[at] == '\n'))
        at++;
    return at < f->now.text.n && strchr("(<:", f->now.text.data[at]) != NULL;
}

static bool is_undeclared_variable(const hpc_check_file *f, const check_issue *i)
{
    static const char undeclared[] = "use of undeclared identifier '";
    const size_t quote = sizeof undeclared - 1;
    if (!begins(&f->now.issues, i, undeclared)) return false;
    const char *name = f->now.issues.text.data + i->text_at + quote;
    size_t n = strcspn(name, "'");
    if (n == 0 || quote + n >= i->text_n || check_is_shouted(name, n)) return false;
    uint64_t kind;
    return !is_called(f, i, n) && !is_named_elsewhere(f, name, n) &&
           !hpc_map_get(f->known, name, n, &kind);
}

/* Those of CUDA and HIP are replaced by a few declarations. */
static bool has_all_headers(const hpc_check_file *f)
{
    return !f->base.missing[0] && f->language != HPC_LANGUAGE_CUDA &&
           f->language != HPC_LANGUAGE_HIP;
}

bool check_is_bug(const hpc_check_file *f, const check_issue *i)
{
    if (!is_in_gap(f, i)) return false;
    return check_lacks_return(f, i) || begins(&f->now.issues, i, "redefinition of '") ||
           (has_all_headers(f) && is_undeclared_variable(f, i));
}
