/*
 * name.c: "owner/name" from the address of a remote.
 *
 * Only addresses with a server count; a local path does not identify a repository.
 */
#include <string.h>

#include "runtime/git/priv.h"

/* The part after the host: "/owner/name.git"; NULL if the address names no server. */
static const char *path_of(const char *url)
{
    const char *scheme = strstr(url, "://");
    if (scheme) {
        static const char *const known[] = {"https", "http", "ssh", "git", "git+ssh", "ssh+git"};
        size_t n = (size_t)(scheme - url);
        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            if (strlen(known[k]) == n && strncmp(url, known[k], n) == 0)
                return strchr(scheme + 3, '/');
        return NULL;
    }
    /* host:path, unless a slash comes first: then it is a file's name */
    const char *colon = strchr(url, ':'), *slash = strchr(url, '/');
    if (!colon || colon == url || (slash && slash < colon)) return NULL;
    return colon + 1;
}

static bool plain(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c && strchr("._-+~", c));
}

/* Copies one part, with '-' for what a name should not have. */
static size_t add_part(char *out, const char *part, size_t n)
{
    for (size_t k = 0; k < n; k++) out[k] = plain(part[k]) ? part[k] : '-';
    return n;
}

static bool is_dots(const char *part, size_t n)
{
    return (n == 1 && part[0] == '.') || (n == 2 && part[0] == '.' && part[1] == '.');
}

void git_name_of_url(char out[256], const char *url)
{
    out[0] = '\0';
    const char *path = path_of(url);
    if (!path) return;
    size_t n = strcspn(path, "?#\r\n");
    while (n > 0 && path[n - 1] == '/') n--;
    if (n > 4 && memcmp(path + n - 4, ".git", 4) == 0) n -= 4;
    size_t name = n;
    while (name > 0 && path[name - 1] != '/') name--;
    if (name < 2 || name == n) return;
    size_t owner_end = name - 1, owner = owner_end;
    while (owner > 0 && path[owner - 1] != '/') owner--;
    size_t owner_n = owner_end - owner, name_n = n - name;
    if (owner_n == 0 || owner_n + name_n + 2 > 256) return;
    if (is_dots(path + owner, owner_n) || is_dots(path + name, name_n)) return;
    size_t at = add_part(out, path + owner, owner_n);
    out[at++] = '/';
    at += add_part(out + at, path + name, name_n);
    out[at] = '\0';
}
