/*
 * Tests of runtime/source/lex.c, scan.c and token.c: exact tokens of C-family languages, hashes,
 * and invariants for any bytes: random, truncated, or repetitive.
 */
/* tsan: left out, starts no thread. */
#include <ctype.h>

#include "tests/source/tokens.h"

#include "runtime/source/priv.h"
#include "tests/support/fault.h"

static int setup(void **state)
{
    (void)state;
    hpc_error_clear();
    hpc_test_fault_reset();
    return 0;
}

static void tokens(const char *text, const char *expected)
{
    test_tokens(text, HPC_LANGUAGE_CPP, false, expected);
}

/* ---- exact tokens ---- */

static void names_numbers_operators(void **state)
{
    (void)state;
    tokens("", "");
    tokens("int a_1$;", "^N<int> N<a_1$> P<;>");
    tokens("a+=b->c->*d.*e...f::g<=>h", "^N<a> P<+=> N<b> P<->> N<c> P<->*> N<d> P<.*> N<e> P<...> "
                                        "N<f> P<::> N<g> P<<=>> N<h>");
    tokens("a<<=b>>c>>=d<e>=f", "^N<a> P<<<=> N<b> P<>>> N<c> P<>>=> N<d> P<<> N<e> P<>=> N<f>");
    tokens("x---y&&!z||~w%=2", "^N<x> P<--> P<-> N<y> P<&&> P<!> N<z> P<||> P<~> N<w> P<%=> I<2>");
    tokens("1.5e-3f .5 1e+2 0x1.8p-3 0xE+1 1'000'000u 0b11 1.", "^I<1.5e-3f> I<.5> I<1e+2> "
                                                                "I<0x1.8p-3> I<0xE> P<+> I<1> "
                                                                "I<1'000'000u> I<0b11> I<1.>");
    tokens("a\xc3\xa9z @ \x01", "^N<a\xc3\xa9z> P<@> P<\x01>");
    tokens("\xef\xbb\xbfint", "^N<int>");
}

static void strings_and_characters(void **state)
{
    (void)state;
    tokens("\"a\\\"b\" 'c' '\\'' L'x'", "^S<\"a\\\"b\"> C<'c'> C<'\\''> C<L'x'>");
    tokens("u8\"x\" U\"x\" LL\"x\" f\"x\"", "^S<u8\"x\"> S<U\"x\"> N<LL> S<\"x\"> N<f> S<\"x\">");
    tokens("R\"(a\"\n\\)\" x", "^S<R\"(a\"~\\)\"> N<x>");
    tokens("u8R\"q(a)x\")q\";", "^S<u8R\"q(a)x\")q\"> P<;>");
    tokens("R\"no parenthesis\"", "^N<R> S<\"no parenthesis\">");
    tokens("R\"12345678901234567(a)\"", "^N<R> S<\"12345678901234567(a)\">");
    tokens("\"a\\\nb\" c", "^S<\"a\\~b\"> N<c>");
    tokens("\"a\\\\\" b", "^S<\"a\\\\\"> N<b>");
}

static void what_does_not_end(void **state)
{
    (void)state;
    tokens("\"abc\r\nx 'y\nz", "^!S<\"abc> ^N<x> !C<'y> ^N<z>");
    tokens("a /* b\n c", "^N<a> !/</* b~ c>");
    tokens("a R\"x(b\nc)\"", "^N<a> !S<R\"x(b~c)\">");
    tokens("a \"b\\", "^N<a> !S<\"b\\>");
    tokens("/*/", "^!/</*/>");
}

static void comments(void **state)
{
    (void)state;
    tokens("a// b\\\n c\nd", "^N<a> /<// b\\~ c> ^N<d>");
    tokens("a// b\\ \t\r\n c\r\nd", "^N<a> /<// b\\ \t\r~ c> ^N<d>");
    tokens("/**/a/* 'x\n */ b /=2", "^/</**/> N<a> /</* 'x~ */> N<b> P</=> I<2>");
}

static void splices(void **state)
{
    (void)state;
    tokens("in\\\nt a\\ \r\n+ b", "^N<in\\~t> N<a> P<+> N<b>");
    tokens("12\\\n34 \\ x", "^I<12\\~34> P<\\> N<x>");
    const char *text = "fo\\\no_and_a_longer_na\\\r\nme\\\n";
    hpc_tokens t = test_lex(text, strlen(text), HPC_LANGUAGE_C, false);
    assert_int_equal(t.n, 1);
    assert_int_equal(t.item[0].hash, hpc_token_hash("foo_and_a_longer_name", 21));
    hpc_tokens_release(&t);
}

static void directives(void **state)
{
    (void)state;
    tokens("#include <a/b.h> // c\nx", "^@#<#> @N<include> @S<<a/b.h>> @/<// c> @E<> ^N<x>");
    tokens("#include \"b.h\"", "^@#<#> @N<include> @S<\"b.h\"> @E<>");
    tokens("#include <a\nb>c", "^@#<#> @N<include> @P<<> @N<a> @E<> ^N<b> P<>> N<c>");
    tokens("#if a<b>c\n", "^@#<#> @N<if> @N<a> @P<<> @N<b> @P<>> @N<c> @E<>");
    tokens(" # pragma omp \\\n for /* a\n b */ nowait\n;",
           "^@#<#> @N<pragma> @N<omp> @N<for> @/</* a~ b */> @N<nowait> @E<> ^P<;>");
    tokens("#define F(x) #x##y \\\r\n z\r\n",
           "^@#<#> @N<define> @N<F> @P<(> @N<x> @P<)> @P<#> @N<x> "
           "@P<##> @N<y> @N<z> @E<>");
    tokens("/* a */ # undef x", "^/</* a */> @#<#> @N<undef> @N<x> @E<>");
    tokens("a # b\n/* c\n*/ d /* */ # e", "^N<a> P<#> N<b> ^/</* c~*/> N<d> /</* */> P<#> N<e>");
    tokens("#error don't\n#\n", "^@#<#> @N<error> @N<don> @!C<'t> @E<> ^@#<#> @E<>");
}

static void launches(void **state)
{
    (void)state;
    const char *text = "k<<<g, b>>>(v<v<v<int>>>());";
    test_tokens(text, HPC_LANGUAGE_CUDA, false,
                "^N<k> P<<<<> N<g> P<,> N<b> P<>>>> P<(> N<v> P<<> N<v> P<<> N<v> P<<> N<int> "
                "P<>>> P<>> P<(> P<)> P<)> P<;>");
    test_tokens("k<<<g>>>(", HPC_LANGUAGE_CPP, false, "^N<k> P<<<> P<<> N<g> P<>>> P<>> P<(>");
    test_tokens("k<<<g\n>>>(", HPC_LANGUAGE_HIP, false, "^N<k> P<<<<> N<g> ^P<>>>> P<(>");
}

static void lines(void **state)
{
    (void)state;
    const char *text = "a\n\"\\\n\" b /*\n\n*/ c // \\\n\n R\"(\n)\" d \\\n e\n#f\\\n g";
    hpc_tokens t = test_lex(text, strlen(text), HPC_LANGUAGE_CPP, false);
    static const uint32_t expected[] = {1, 2, 3, 3, 5, 5, 7, 8, 9, 10, 10, 11, 11};
    assert_int_equal(t.n, sizeof expected / sizeof *expected);
    for (int64_t i = 0; i < t.n; i++) assert_int_equal(t.item[i].line, expected[i]);
    test_whole(&t, text, strlen(text), HPC_LANGUAGE_CPP);
    hpc_tokens_release(&t);
}

static void anywhere(void **state)
{
    (void)state;
    test_anywhere(
        "#include <a.h> // b\n#define A(x) #x##x \\\n 'c' /* d\n */\nint a_long_name_of_fifty_"
        "bytes_or_so_and_then_some_more_so_that_it_is_longer_than_a_window = u8R\"x(\n)x\";\n"
        "a->*b<<=c>>=d<=>e...f 1'000+0x1p-3*.5e+2/1.e-3f \"s\\\ns\\\"\" i\\\nj x\xc3\xa9y\r\n",
        HPC_LANGUAGE_CPP, false, " ");
    test_anywhere("k<<<a<<b, c>>>(d); a<b<c<d>>>", HPC_LANGUAGE_CUDA, false, " ");
}

/* Every three signs side by side, against the list of the operators, longest first. */
static void operators(void **state)
{
    (void)state;
    static const char *const list[] = {"...", "->*", "<=>", "<<=", ">>=", "->", "++", "--", "<<",
                                       ">>",  "<=",  ">=",  "==",  "!=",  "&&", "||", "::", ".*",
                                       "+=",  "-=",  "*=",  "/=",  "%=",  "^=", "&=", "|="};
    static const char signs[] = "+-*/%^=!&|:.<>~?,;()[]{}@`x ";
    for (const char *a = signs; *a; a++)
        for (const char *b = signs; *b; b++)
            for (const char *c = signs; *c; c++) {
                char text[] = {*a, *b, *c, 0};
                if (strstr(text, "//") || strstr(text, "/*") || strstr(text, "xx")) continue;
                hpc_tokens t = test_lex(text, 3, HPC_LANGUAGE_C, false);
                int64_t k = 0;
                for (size_t at = 0, n; at < 3; at += n) {
                    n = 1;
                    for (size_t i = sizeof list / sizeof *list; i-- > 0;)
                        if (strncmp(text + at, list[i], strlen(list[i])) == 0) n = strlen(list[i]);
                    if (text[at] == ' ') continue;
                    assert_true(k < t.n);
                    if (t.item[k].at != at || t.item[k].n != n) fail_msg("%s at %zu", text, at);
                    assert_int_equal(t.item[k].hash, hpc_token_hash(text + at, n));
                    k++;
                }
                assert_int_equal(k, t.n);
                hpc_tokens_release(&t);
            }
}

/* ---- hashes ---- */

static void hashes_depend_on_the_spelling_alone(void **state)
{
    (void)state;
    static const char spelling[] = "abcdefghijklmnopqrstuvwxyz_0123456789_ABCDEFGHIJK";
    for (size_t n = 1; n < sizeof spelling; n++) {
        uint32_t expected = hpc_token_hash(spelling, n);
        for (size_t shift = 0; shift < 17; shift++) {
            for (size_t behind = 0; behind < 20; behind += 19) {
                char *text = malloc(shift + n + behind); /* nothing readable after it */
                assert_non_null(text);
                memset(text, ' ', shift);
                memcpy(text + shift, spelling, n);
                memset(text + shift + n, '+', behind);
                hpc_tokens t = test_lex(text, shift + n + behind, HPC_LANGUAGE_C, false);
                assert_int_equal(t.item[0].n, n);
                assert_int_equal(t.item[0].hash, expected);
                hpc_tokens_release(&t);
                free(text);
            }
        }
        for (size_t m = 0; m < n; m++) assert_int_not_equal(hpc_token_hash(spelling, m), expected);
    }
}

static void hashes_of_single_bytes(void **state)
{
    (void)state;
    static const hpc_language both[] = {HPC_LANGUAGE_C, HPC_LANGUAGE_FORTRAN};
    for (int l = 0; l < 2; l++) {
        for (int byte = 0; byte < 256; byte++) {
            char text[] = {'x', ' ', (char)byte, ' ', 'x'};
            char low = byte >= 'A' && byte <= 'Z' && l == 1 ? (char)(byte + 32) : (char)byte;
            if (strchr("\n \t\v\f\r\"'\\!&;", byte) && byte) continue;
            hpc_tokens t = test_lex(text, sizeof text, both[l], false);
            assert_int_equal(t.n, 3 + l);
            assert_int_equal(t.item[1].hash, hpc_token_hash(&low, 1));
            assert_int_equal(t.item[1].kind, isdigit(byte)                     ? HPC_TOKEN_NUMBER
                                             : hpc_byte_in_name((uint8_t)byte) ? HPC_TOKEN_NAME
                                                                               : HPC_TOKEN_PUNCT);
            hpc_tokens_release(&t);
        }
    }
}

static void long_names(void **state)
{
    (void)state;
    char text[300];
    for (size_t n = 1; n < 200; n++) {
        for (size_t i = 0; i < n; i++) text[i] = (char)('a' + i % 26);
        memcpy(text + n, "(x", 3);
        hpc_tokens t = test_lex(text, n + 2, HPC_LANGUAGE_C, false);
        assert_int_equal(t.n, 3);
        assert_int_equal(t.item[0].n, n);
        assert_int_equal(t.item[0].hash, hpc_token_hash(text, n));
        hpc_tokens_release(&t);
    }
}

/* Stored in sketches, so they may not change with compiler or machine. */
static void hashes_are_what_they_were(void **state)
{
    (void)state;
    assert_int_equal(hpc_token_hash("", 0), 0x0cb6819eu);
    assert_int_equal(hpc_token_hash("for", 3), 0x54faf905u);
    assert_int_equal(hpc_token_hash("cudaMemcpyAsync", 15), 0x75944f38u);
    assert_int_equal(hpc_token_hash("MPI_Comm_split_type", 19), 0x4cca4ed9u);
    assert_int_equal(hpc_token_hash("hypre_ParCSRMatrixSetDiagRows_Host", 34), 0xa17fe1ffu);
}

/* What files of hashes depend on, share/held-out.sketch among them. */
static void the_lexer_is_what_it_was(void **state)
{
    (void)state;
    uint64_t hash = 0;
    assert_int_equal(hpc_lexer_hash(&hash), 0);
    assert_true(hash == UINT64_C(0xb905a9219e34eef6));
}

static void hashes_of_any_kind(void **state)
{
    (void)state;
    const char *text =
        "a = L\"a long string of text\" /* and a comment, long too */ + 1.5e-3 >>= 'c';";
    hpc_tokens t = test_lex(text, strlen(text), HPC_LANGUAGE_CPP, false);
    for (int64_t i = 0; i < t.n; i++)
        assert_int_equal(t.item[i].hash, hpc_token_hash(text + t.item[i].at, t.item[i].n));
    hpc_tokens_release(&t);
}

static void what_counts_as_code(void **state)
{
    (void)state;
    const char *text = "#pragma x // c\n/* d */ y";
    hpc_tokens t = test_lex(text, strlen(text), HPC_LANGUAGE_C, false);
    static const bool code[] = {true, true, true, false, false, false, true};
    assert_int_equal(t.n, sizeof code / sizeof *code);
    for (int64_t i = 0; i < t.n; i++) assert_int_equal(hpc_token_is_code(&t.item[i]), code[i]);
    hpc_tokens_release(&t);
}

/* ---- any bytes ---- */

/* Everything that may be asked about a text, in memory that ends where the text does. */
static void walk(const char *text, size_t n)
{
    static const hpc_language all[] = {HPC_LANGUAGE_C, HPC_LANGUAGE_CUDA, HPC_LANGUAGE_FORTRAN,
                                       HPC_LANGUAGE_FORTRAN};
    static const char *const paths[] = {"a.h", "a.cpp", "a.f", "a.inc", "a.cl"};
    char *exact = malloc(n + (n == 0));
    assert_non_null(exact);
    memcpy(exact, text, n);
    hpc_tokens t = {0};
    hpc_functions f = {0};
    for (int k = 0; k < 4; k++) {
        assert_int_equal(hpc_lex(&t, exact, n, all[k], k == 3), 0);
        test_whole(&t, exact, n, all[k]);
        (void)hpc_parallel_of(&t, exact, all[k]);
        assert_int_equal(hpc_functions_find(&f, &t, exact, all[k]), 0);
        for (int64_t i = 0; i < f.n; i++) {
            const hpc_function *d = &f.item[i];
            assert_true(d->at < d->end && d->end <= n && d->body_at >= d->at && d->body_at <= n);
            assert_true(d->name_at >= d->at && d->name_at + (size_t)d->name_n <= n);
            assert_true(d->line >= 1 && d->end_line >= d->line && d->outer < i && d->outer >= -1);
            assert_true(i == 0 || f.item[i - 1].at <= d->at);
        }
    }
    for (size_t k = 0; k < sizeof paths / sizeof *paths; k++) {
        (void)hpc_language_of(paths[k], exact, n);
        (void)hpc_language_fixed_form(paths[k], exact, n);
    }
    hpc_functions_release(&f);
    hpc_tokens_release(&t);
    free(exact);
}

/* What lexers stumble over. */
static const char *const words[] = {"\n",
                                    "\n",
                                    "\\\n",
                                    "\\ \r\n",
                                    "\"",
                                    "'",
                                    "/*",
                                    "*/",
                                    "//",
                                    "#",
                                    "#if ",
                                    "#else\n",
                                    "#endif\n",
                                    "#include <",
                                    ">",
                                    "R\"(",
                                    ")\"",
                                    "(",
                                    ")",
                                    "{",
                                    "}",
                                    ";",
                                    ",",
                                    ":",
                                    "::",
                                    "<",
                                    ">>",
                                    "<<<",
                                    ">>>",
                                    "=",
                                    "->",
                                    "&",
                                    "&\n",
                                    "!",
                                    "!$omp ",
                                    "c$omp",
                                    "\n     &",
                                    "!$ ",
                                    "\n!$acc",
                                    "operator",
                                    "template",
                                    "class ",
                                    "struct",
                                    "f(",
                                    "int ",
                                    "namespace",
                                    "end",
                                    "subroutine ",
                                    "function ",
                                    "program ",
                                    "interface",
                                    "module ",
                                    "a",
                                    "1",
                                    ".",
                                    ".eq.",
                                    "1.e",
                                    "use mpi",
                                    "MPI_Send",
                                    "cudaMalloc",
                                    "_Pragma",
                                    "\t",
                                    " ",
                                    "      ",
                                    "\r",
                                    "\xff",
                                    "\xef\xbb\xbf",
                                    "",
                                    "u8",
                                    "~",
                                    "try",
                                    "catch"};

static void random_bytes(void **state)
{
    (void)state;
    const uint32_t words_n = sizeof words / sizeof *words;
    int rounds = getenv("HPC_TEST_LONG") ? 40000 : 1500;
    for (int round = 0; round < rounds; round++) {
        hpc_buf b = {0};
        uint32_t n = hpc_random_bits(7, 1, (uint32_t)round, 0) % 250;
        for (uint32_t i = 0; i < n; i++) {
            uint32_t r = hpc_random_bits(7, 2, (uint32_t)round, i);
            char byte = (char)(r >> 24);
            if (r % 16 == 0)
                hpc_buf_add(&b, &byte, 1);
            else
                hpc_buf_text(&b, words[(r >> 4) % words_n]);
        }
        assert_int_equal(b.failed, 0);
        walk(b.data ? b.data : "", b.n);
        hpc_buf_release(&b);
    }
}

static const char sample[] =
    "\xef\xbb\xbf// a\\\n b\n#include <mpi.h>\n#if X /* y\n */ && 1\n#define A(x) #x \\\n  "
    "\"s\\\"\"\n"
    "#endif\ntemplate <class T, int N = (1 > 2)> struct S : B<T> {\n  S() : B<T>{1}, b(2) {}\n"
    "  T operator()(int i) const noexcept { return R\"x(}\")x\"[i]; }\n};\n"
    "extern \"C\" void f(a, b) int a; char *b; { k<<<1, 2>>>(u8'x', 0x1.8p+3, 1'000, L\"\\\\\"); "
    "}\n"
    "      subroutine x(a, &\n     & b)\n!$omp parallel do &\n!$omp& private(i)\nc$omp do\n"
    "      x = 'it''s' // \"q\" .eq. 1.e5 ; end\n#else\n";

static void cut_off_anywhere(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof sample; n++) walk(sample, n);
    for (size_t n = 0; n < sizeof sample; n++) walk(sample + n, sizeof sample - 1 - n);
}

/* Quadratic time would take minutes here, and HPC_TEST_LONG hours. */
static void much_of_the_same(void **state)
{
    (void)state;
    static const char *const parts[] = {"(",           "{",
                                        "}",           "<",
                                        "a(",          "a{",
                                        "a::",         "f(){",
                                        "f()",         "f(a)",
                                        "f(a)b;",      "A<",
                                        "\\\n",        "a\\\n",
                                        "\\ ",         "\"",
                                        "'\n",         "R\"(",
                                        "/*",          "*",
                                        "#if\n",       "#else\n",
                                        "#include <",  "operator",
                                        "operator(",   "f(){\n}",
                                        "\n}",         "c\n",
                                        "&\n",         "'&\n",
                                        "!$omp&\n",    "!$ a&\n",
                                        "     1'\n",   "x&\n!\n",
                                        "#a\n",        "end\n",
                                        "interface\n", "function a\n",
                                        "a:",          "class a(b)",
                                        "M(x)\n",      "a>::",
                                        "=[",          "{\n}\n",
                                        "\"\\\n",      "//\\\n",
                                        "[",           "use ,"};
    const size_t bytes = getenv("HPC_TEST_LONG") ? 1 << 22 : 1 << 18;
    char *text = malloc(bytes);
    assert_non_null(text);
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        size_t n = strlen(parts[k]);
        for (size_t i = 0; i < bytes; i++) text[i] = parts[k][i % n];
        walk(text, bytes);
        memcpy(text, "f(){", 4);
        walk(text, bytes);
    }
    free(text);
}

static void too_long(void **state)
{
    (void)state;
    hpc_tokens t = {0};
    assert_int_equal(hpc_lex(&t, "", (size_t)UINT32_MAX + 1, HPC_LANGUAGE_C, false),
                     HPC_E_UNSUPPORTED);
    assert_string_equal(hpc_error_get()->text,
                        "a text of 4294967296 bytes is too long to be lexed; the limit is 4 GiB");
}

static int lex_and_find(void *user)
{
    hpc_tokens t = {0};
    hpc_functions f = {0};
    hpc_language l = *(hpc_language *)user;
    int rc = hpc_lex(&t, sample, sizeof sample - 1, l, false);
    if (rc == 0) rc = hpc_functions_find(&f, &t, sample, l);
    hpc_tokens_release(&t);
    hpc_functions_release(&f);
    return rc;
}

static void out_of_memory(void **state)
{
    (void)state;
    hpc_language c = HPC_LANGUAGE_CPP, fortran = HPC_LANGUAGE_FORTRAN;
    assert_true(hpc_test_each_alloc(lex_and_find, &c) >= 4);
    assert_true(hpc_test_each_alloc(lex_and_find, &fortran) >= 3);
}

static void reused(void **state)
{
    (void)state;
    hpc_tokens t = {0};
    assert_int_equal(hpc_lex(&t, "a b c d e f g h i j k l m n o p q r s t", 39, HPC_LANGUAGE_C, 0),
                     0);
    const hpc_token *kept = t.item;
    assert_int_equal(hpc_lex(&t, "a b", 3, HPC_LANGUAGE_C, false), 0);
    assert_int_equal(t.n, 2);
    assert_ptr_equal(t.item, kept);
    assert_int_equal(hpc_lex(&t, "", 0, HPC_LANGUAGE_C, false), 0);
    assert_int_equal(t.n, 0);
    hpc_tokens_release(&t);
    assert_null(t.item);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(names_numbers_operators, setup),
        cmocka_unit_test_setup(strings_and_characters, setup),
        cmocka_unit_test_setup(what_does_not_end, setup),
        cmocka_unit_test_setup(comments, setup),
        cmocka_unit_test_setup(splices, setup),
        cmocka_unit_test_setup(directives, setup),
        cmocka_unit_test_setup(launches, setup),
        cmocka_unit_test_setup(lines, setup),
        cmocka_unit_test_setup(anywhere, setup),
        cmocka_unit_test_setup(operators, setup),
        cmocka_unit_test_setup(hashes_of_single_bytes, setup),
        cmocka_unit_test_setup(long_names, setup),
        cmocka_unit_test_setup(hashes_depend_on_the_spelling_alone, setup),
        cmocka_unit_test_setup(hashes_are_what_they_were, setup),
        cmocka_unit_test_setup(the_lexer_is_what_it_was, setup),
        cmocka_unit_test_setup(hashes_of_any_kind, setup),
        cmocka_unit_test_setup(what_counts_as_code, setup),
        cmocka_unit_test_setup(random_bytes, setup),
        cmocka_unit_test_setup(cut_off_anywhere, setup),
        cmocka_unit_test_setup(much_of_the_same, setup),
        cmocka_unit_test_setup(too_long, setup),
        cmocka_unit_test_setup(out_of_memory, setup),
        cmocka_unit_test_setup(reused, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
