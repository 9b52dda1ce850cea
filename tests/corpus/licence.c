/*
 * Tests of corpus/licence.c: SPDX tags, licence texts, header comments, and expressions that a
 * list allows.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "corpus/priv.h"

static void expect_of_file(const char *text, const char *expected)
{
    char found[CORPUS_LICENCE];
    hpc_tokens t = {0};
    assert_int_equal(hpc_lex(&t, text, strlen(text), HPC_LANGUAGE_CPP, false), 0);
    corpus_licence_of_file(found, text, &t);
    assert_string_equal(found, expected);
    hpc_tokens_release(&t);
}

static void test_tags(void **state)
{
    (void)state;
    expect_of_file("// SPDX-License-Identifier: MIT\nint x;\n", "MIT");
    expect_of_file("/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */\n", "Apache-2.0 OR MIT");
    expect_of_file("// SPDX-License-Identifier: apache-2.0 with LLVM-exception\n",
                   "Apache-2.0 WITH LLVM-exception");
    expect_of_file("// SPDX-License-Identifier: (BSD-3-Clause)\n", "BSD-3-Clause");
    expect_of_file("// SPDX-License-Identifier: (MIT OR ISC) AND (Zlib)\n",
                   "(MIT OR ISC) AND (Zlib)");
    expect_of_file("// SPDX-License-Identifier: BSD-3\n", "BSD-3-Clause");
    expect_of_file("// SPDX-License-Identifier: GPL-2.0+\n", "GPL-2.0-or-later");
    expect_of_file("// SPDX-License-Identifier: LicenseRef-Mine\n", "LicenseRef-Mine");
    expect_of_file("int x; // nothing said\n", "");
    /* In a string it is not a licence, and far down it is about something else. */
    expect_of_file("const char *s = \"SPDX-License-Identifier: MIT\";\n", "");
    expect_of_file("// SPDX-License-Identifier:\n", "");
}

static void test_words(void **state)
{
    static const char mit[] = "/* Permission is hereby granted, free of charge, to any person\n"
                              " * obtaining a copy of this software and associated files ... */\n";
    static const char two[] = "// Redistribution and use in source and binary forms, with or\n"
                              "// without modification, are permitted provided that ...\n";
    static const char three[] = "// Redistribution and use in source and binary forms ...\n"
                                "//  3. Neither the name of the holder nor ... endorse\n";
    (void)state;
    expect_of_file(mit, "MIT");
    expect_of_file(two, "BSD-2-Clause");
    expect_of_file(three, "BSD-3-Clause");
    expect_of_file("/* Licensed under the Apache License,\n *   Version 2.0 (the \"License\") */",
                   "Apache-2.0");
    expect_of_file("/* Part of the LLVM Project, under the Apache License v2.0 with\n"
                   " * LLVM Exceptions.\n * Apache License, Version 2.0 */",
                   "Apache-2.0 WITH LLVM-exception");
    expect_of_file("/* under the terms of the GNU General Public License as published by the FSF;\n"
                   " * either version 3 of the License, or (at your option) any later version */",
                   "GPL-3.0-or-later");
    expect_of_file("/* GNU Lesser General Public License version 2.1 dated February 1999. */",
                   "LGPL-2.1-only");
    expect_of_file("// Distributed under the Boost Software License, Version 1.0.", "BSL-1.0");
    expect_of_file("// Released under the 3-clause BSD license.", "BSD-3-Clause");
    expect_of_file("// Any use without a license agreement is strictly prohibited.",
                   "LicenseRef-Proprietary");
    expect_of_file("// Computes the apache helicopter's licence plate.", "");
    expect_of_file("// Not the 9MIT License, the ZMIT License or the MIT Licenser", "");
}

/* A comment that begins in the first 8192 bytes counts; a later one does not. */
static void test_header(void **state)
{
    static const char *const says[] = {
        "Licensed under the Apache 2.0 License", "THE MIT LICENSE",
        "Permission is hereby granted without written agreement",
        "REDISTRIBUTION and Redistribution and use in source and binary forms",
        "this software is in the public domain"};
    static const char *const names[] = {"Apache-2.0", "MIT", "HPND", "BSD-2-Clause",
                                        "LicenseRef-Public-Domain"};
    hpc_buf text = {0};
    (void)state;
    for (size_t k = 0; k < sizeof says / sizeof *says; k++)
        for (int at = 8150; at < 8230; at++) {
            text.n = 0;
            hpc_buf_printf(&text, "int x;%*s/* 2 @ 3-%s */", at - 6, "", says[k]);
            expect_of_file(text.data, at < 8192 ? names[k] : "");
        }
    assert_int_equal(text.failed, 0);
    hpc_buf_release(&text);
}

static void expect_of_text(const char *text, const char *expected)
{
    char found[CORPUS_LICENCE];
    corpus_licence_of_text(found, text, strlen(text));
    assert_string_equal(found, expected);
}

static void test_licence_files(void **state)
{
    (void)state;
    expect_of_text("                    Apache License\n               Version 2.0, January 2004\n",
                   "Apache-2.0");
    expect_of_text("GNU GENERAL PUBLIC LICENSE\n Version 2, June 1991\n", "GPL-2.0-only");
    expect_of_text("Copyright (c) 2012\n\nRedistribution and use in source and binary forms ...\n"
                   "names of contributors may not be used to endorse or promote products\n",
                   "BSD-3-Clause");
    expect_of_text("The MIT License (MIT)\n", "MIT");
    expect_of_text("", "");
    assert_true(corpus_licence_file_rank("LICENSE") < corpus_licence_file_rank("LICENSE.txt"));
    assert_true(corpus_licence_file_rank("LICENSE-MIT") < corpus_licence_file_rank("COPYING"));
    assert_true(corpus_licence_file_rank("copyright") >= 0);
    assert_int_equal(corpus_licence_file_rank("licenses.c"), -1);
    static const char *const sources[] = {"licence.c",       "license.h",    "LICENSE.cpp",
                                          "license_check.c", "copyright.py", "COPYING.o",
                                          "license-gen.sh",  "LICENSE.f90",  "licence.json"};
    for (size_t k = 0; k < sizeof sources / sizeof *sources; k++)
        assert_int_equal(corpus_licence_file_rank(sources[k]), -1);
    static const char *const texts[] = {"LICENSE.BSD", "LICENCE.md",         "COPYING.LESSER",
                                        "COPYING.LIB", "LICENSE-APACHE-2.0", "LICENSE.Apache-2.0",
                                        "License.rst", "COPYRIGHT.txt",      "LICENSE_MIT",
                                        "COPYING3",    "LICENSE.GPLv3"};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
        assert_int_equal(corpus_licence_file_rank(texts[k]) >= 0,
                         strcmp(texts[k], "COPYING3") != 0);
    expect_of_text("static const char mit[] =\n    \"The MIT License\";\nint main(void)\n{\n}\n",
                   "");
    expect_of_text("#!/bin/sh\n# prints the MIT License\ncat <<E\nE\n", "");
    assert_int_equal(corpus_licence_file_rank("README"), -1);
}

/* Every cut of a text and any bytes: nothing outside is read, nothing overflows. */
static void test_hostile(void **state)
{
    static const char deep[] = "SPDX-License-Identifier: ((((((((((((((((((((MIT))))))))))))))))))";
    char found[CORPUS_LICENCE], text[20000];
    (void)state;
    for (size_t n = 0; n <= sizeof deep - 1; n++) {
        char *copy = malloc(n + 1);
        memcpy(copy, deep, n);
        corpus_licence_of_text(found, copy, n);
        free(copy);
    }
    assert_false(corpus_licence_allowed(found, "permissive"));
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    expect_of_text(text, "");
    memcpy(text, "SPDX-License-Identifier: ", 25);
    expect_of_text(text, ""); /* longer than any expression */
}

static void test_allowed(void **state)
{
    static const struct {
        const char *expression, *allowed;
        bool covered;
    } cases[] = {
        {"MIT", "permissive", true},
        {"GPL-2.0-only", "permissive", false},
        {"", "permissive", false},
        {"", "all", true},
        {"LicenseRef-Mine", "all", true},
        {"LicenseRef-Mine", "permissive", false},
        {"MIT OR GPL-3.0-only", "permissive", true},
        {"MIT AND GPL-3.0-only", "permissive", false},
        {"(Apache-2.0 OR MIT) AND BSD-3-Clause", "permissive", true},
        {"(GPL-2.0-only OR MPL-2.0) AND MIT", "permissive", false},
        {"GPL-2.0-only OR MIT AND ISC", "permissive", true},
        {"Apache-2.0 WITH LLVM-exception", "permissive", true},
        {"Apache-2.0 WITH LLVM-exception", "Apache-2.0", true},
        {"MIT", "BSD-3-Clause,mit", true},
        {"ISC", "BSD-3-Clause,MIT", false},
        {"MIT OR", "permissive", false},
        {"MIT MIT", "permissive", false},
        {"(MIT", "permissive", false},
    };
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        if (corpus_licence_allowed(cases[k].expression, cases[k].allowed) != cases[k].covered)
            fail_msg("'%s' by '%s'", cases[k].expression, cases[k].allowed);
}

static void test_lists(void **state)
{
    (void)state;
    assert_int_equal(corpus_licence_check_list("permissive"), 0);
    assert_int_equal(corpus_licence_check_list("all"), 0);
    assert_int_equal(corpus_licence_check_list("MIT,BSD-2-Clause,GPL-2.0"), 0);
    assert_int_equal(corpus_licence_check_list("MIT,BDS"), HPC_E_ARG);
    assert_non_null(strstr(hpc_error_get()->text, "'BDS'"));
    hpc_error_clear();
    assert_int_equal(corpus_licence_check_list(""), HPC_E_ARG);
    hpc_error_clear();
    assert_int_equal(corpus_licence_check_list("MIT,"), HPC_E_ARG);
    hpc_error_clear();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tags),    cmocka_unit_test(test_words),
        cmocka_unit_test(test_header),  cmocka_unit_test(test_licence_files),
        cmocka_unit_test(test_hostile), cmocka_unit_test(test_allowed),
        cmocka_unit_test(test_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
