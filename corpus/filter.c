/*
 * filter.c: what makes a file worth nothing for training, by its path and by its
 * tokens: vendored, generated, minified, tables of numbers, next to nothing.
 *
 * It looks at one file alone; duplicates are the business of near.c and merge.c.
 */
#include <string.h>
#include <strings.h>

#include "corpus/shingle.h"

enum {
    LEAST_TOKENS = 15,
    HEADER_BYTES = 4096,     /* where a generator says that it was one */
    LINE_MEAN = 200,         /* bytes; longer lines on average are not written by people */
    LINE_WORST = 20000,      /* one line of this length is data */
    JUDGED_BYTES = 2000,     /* line lengths of less than this mean little */
    TABLE_TOKENS = 500,      /* from here on, a file whose tokens are mostly */
    TABLE_SHARE_PERCENT = 40 /* numbers (commas and braces are the rest) is a table */
};

/* ---- vendored trees --------------------------------------------------------- */

static const char *const vendored_folders[] = {
    "third_party", "third-party",  "thirdparty",   "third_parties", "3rdparty",
    "3rd_party",   "3rd-party",    "3rdparties",   "vendor",        "vendors",
    "vendored",    "external",     "externals",    "extern",        "externalpackages",
    "deps",        "dependencies", "node_modules", "submodules",    "subprojects",
    "tpl",         "tpls",         "blt",          "gtest",         "gmock",
    "googletest",  "googlemock",   "catch2",       "pybind11",      "nlohmann",
    "rapidjson",   "kokkos_src",   "kokkos-src",   "raja_src",      "site-packages",
    "bundled",
};

/* Libraries that are copied as one or two files. */
static const char *const vendored_files[] = {
    "json.hpp",
    "catch.hpp",
    "catch_amalgamated.hpp",
    "catch_amalgamated.cpp",
    "doctest.h",
    "CLI11.hpp",
    "cxxopts.hpp",
    "argparse.hpp",
    "toml.hpp",
    "sqlite3.c",
    "sqlite3.h",
    "miniz.c",
    "miniz.h",
    "tinyxml2.cpp",
    "tinyxml2.h",
    "pugixml.cpp",
    "pugixml.hpp",
    "cJSON.c",
    "cJSON.h",
    "lodepng.cpp",
    "lodepng.c",
    "lodepng.h",
    "uthash.h",
    "gtest.h",
    "gtest-all.cc",
    "gmock-gtest-all.cc",
    "xxhash.h",
    "xxhash.c",
    "lz4.c",
    "lz4.h",
    "getopt.c",
    "getopt.h",
    "getopt_long.c",
    "stb_image.h",
    "stb_image_write.h",
    "CL/cl.hpp",
    "cl.hpp",
    "cl2.hpp",
    "opencl.hpp",
    "miniaudio.h",
    "khrplatform.h",
    "glad.c",
    "tinyobj_loader.h",
};

/* Whole projects under their own name inside another's tree. */
static const char *const vendored_paths[] = {
    "kokkos/kokkos/",     "kokkos/core/src/", "kokkos/containers/src/",
    "raja/include/raja/", "mfem/fem/",        "hypre/src/",
};

static const char *in_list(const char *const *list, size_t list_n, const char *name, size_t n)
{
    for (size_t k = 0; k < list_n; k++)
        if (strncasecmp(list[k], name, n) == 0 && list[k][n] == '\0') return list[k];
    return NULL;
}

const char *corpus_vendored(const char *path)
{
    const char *part = path;
    for (const char *slash; (slash = strchr(part, '/')); part = slash + 1) {
        const char *found =
            in_list(vendored_folders, sizeof vendored_folders / sizeof *vendored_folders, part,
                    (size_t)(slash - part));
        if (found) return found;
    }
    for (part = path; part; part = strchr(part, '/'), part = part ? part + 1 : NULL)
        for (size_t k = 0; k < sizeof vendored_paths / sizeof *vendored_paths; k++)
            if (strncasecmp(part, vendored_paths[k], strlen(vendored_paths[k])) == 0)
                return vendored_paths[k];
    part = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    return in_list(vendored_files, sizeof vendored_files / sizeof *vendored_files, part,
                   strlen(part));
}

/* ---- UTF-8 -------------------------------------------------------------------- */

/* Whether eight bytes are all ASCII and none is zero. */
static bool plain_eight(const char *text)
{
    uint64_t w;
    memcpy(&w, text, sizeof w);
    uint64_t high = UINT64_C(0x8080808080808080);
    uint64_t zero = (w - UINT64_C(0x0101010101010101)) & ~w & high;
    return ((w & high) | zero) == 0;
}

/* Length of the character at text, or 0. By table 3-7 of the Unicode standard. */
static size_t character(const unsigned char *s, size_t n)
{
    unsigned char a = s[0];
    size_t length = a < 0x80 ? 1 : a < 0xc2 ? 0 : a < 0xe0 ? 2 : a < 0xf0 ? 3 : a < 0xf5 ? 4 : 0;
    if (length == 0 || length > n || a == 0) return 0;
    for (size_t k = 1; k < length; k++)
        if ((s[k] & 0xc0) != 0x80) return 0;
    if ((a == 0xe0 && s[1] < 0xa0) || (a == 0xed && s[1] > 0x9f) || (a == 0xf0 && s[1] < 0x90) ||
        (a == 0xf4 && s[1] > 0x8f))
        return 0;
    return length;
}

bool corpus_is_utf8(const char *text, size_t n)
{
    for (size_t i = 0; i < n;) {
        if (n - i >= 8 && plain_eight(text + i)) {
            i += 8;
            continue;
        }
        size_t length = character((const unsigned char *)text + i, n - i);
        if (length == 0) return false;
        i += length;
    }
    return true;
}

/* ---- generated ------------------------------------------------------------------ */

static const char *const generated_phrases[] = {
    "do not edit",
    "do not modify this file",
    "automatically generated",
    "auto-generated",
    "auto generated",
    "autogenerated",
    "autogenerated by",
    "this file is generated",
    "this file was generated",
    "file generated by",
    "code generated by",
    "generated automatically",
    "machine generated",
    "machine-generated",
    "@generated",
    "generated from a template",
    "-- translated by f2c",
    "translated by f2c",
    "created by swig",
    "a bison parser",
    "a lexical scanner generated by flex",
    "generated by the protocol buffer compiler",
    "generated by tapenade",
    "meta object code from reading",
};

static const char *const generated_endings[] = {
    ".pb.h",   ".pb.cc", ".pb-c.c", ".pb-c.h",   ".tab.c", ".tab.h",
    ".tab.cc", ".yy.c",  "_wrap.c", "_wrap.cxx", ".moc",   ".ui.h",
};

static const char *generated_by_path(const char *path)
{
    size_t n = strlen(path);
    for (size_t k = 0; k < sizeof generated_endings / sizeof *generated_endings; k++) {
        size_t m = strlen(generated_endings[k]);
        if (n > m && strcmp(path + n - m, generated_endings[k]) == 0) return generated_endings[k];
    }
    const char *slash = strrchr(path, '/');
    return strncmp(slash ? slash + 1 : path, "moc_", 4) == 0 ? "moc_" : NULL;
}

/* What all of the phrases are made of: few comments have any of it. */
static const char *const generated_stems[] = {"generat", "edit",  "modify",     "f2c",
                                              "swig",    "bison", "meta object"};

/* The comments near the start, in lower case: further down the words are about something else. */
static size_t opening_comments(char out[HEADER_BYTES + 1], const char *text, const hpc_tokens *t)
{
    size_t used = 0;
    for (int64_t k = 0; k < t->n && t->item[k].at < HEADER_BYTES; k++) {
        const hpc_token *c = &t->item[k];
        if (c->kind != HPC_TOKEN_COMMENT) continue;
        for (size_t i = c->at; i < c->at + c->n && used < HEADER_BYTES; i++, used++)
            out[used] = (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] + 32 : text[i]);
    }
    out[used] = '\0';
    return used;
}

static const char *generated_by_text(const char *text, const hpc_tokens *t)
{
    char words[HEADER_BYTES + 1];
    size_t n = opening_comments(words, text, t);
    bool possible = false;
    for (size_t k = 0; k < sizeof generated_stems / sizeof *generated_stems && !possible; k++)
        possible = corpus_find(words, n, generated_stems[k]) != NULL;
    for (size_t k = 0; possible && k < sizeof generated_phrases / sizeof *generated_phrases; k++)
        if (corpus_find(words, n, generated_phrases[k])) return generated_phrases[k];
    return NULL;
}

/* ---- minified --------------------------------------------------------------------- */

/* Whether some stretch of LINE_WORST bytes has no line end: from each end on, the last one within
 * reach is the next to look from. */
static bool has_endless_line(const char *text, size_t n)
{
    for (size_t lo = 0; n - lo > LINE_WORST;) {
        const char *end = memrchr(text + lo, '\n', LINE_WORST);
        if (!end) return true;
        lo = (size_t)(end - text) + 1;
    }
    return false;
}

static const char *by_lines(const char *text, size_t n, const hpc_tokens *t)
{
    size_t lines = t->n > 0 ? t->item[t->n - 1].line : 1;
    if (n < JUDGED_BYTES) return NULL;
    if (has_endless_line(text, n)) return "a line of more than 20000 bytes";
    return n / lines > LINE_MEAN ? "lines of more than 200 bytes on average" : NULL;
}

const char *corpus_worthless(hpc_reason *reason, const char *path, const char *text, size_t n,
                             const hpc_tokens *t)
{
    int64_t code = 0, numbers = 0;
    const char *why = NULL;
    for (int64_t k = 0; k < t->n; k++) {
        code += corpus_is_code(&t->item[k]);
        numbers += t->item[k].kind == HPC_TOKEN_NUMBER;
    }
    *reason = HPC_REASON_TOO_SHORT;
    if (code < LEAST_TOKENS) return "fewer than 15 tokens";
    *reason = HPC_REASON_GENERATED;
    why = generated_by_path(path);
    if (!why) why = generated_by_text(text, t);
    if (why) return why;
    *reason = HPC_REASON_MINIFIED;
    why = by_lines(text, n, t);
    if (!why && code >= TABLE_TOKENS && numbers * 100 > code * TABLE_SHARE_PERCENT)
        why = "a table of numbers";
    if (!why) *reason = HPC_REASON_KEPT;
    return why;
}
