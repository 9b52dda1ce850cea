/*
 * lexer_hash.c: a number that identifies how this build splits text into tokens.
 */
#include <string.h>

#include "runtime/base/mix.h"
#include "runtime/source/source.h"

/* Each language feature on which two lexers may differ and hashes of their tokens
 * depend. */
static const char c_text[] =
    "#include <math.h>\n#define F(x) \\\n  ((x) ## 1) /* c */\n"
    "#pragma omp parallel for reduction(+:s) \\\n    private(i) // c\n"
    "template <class T> auto f(T &&a, int *p) -> decltype(a->b::c) {\n"
    "  x <<= 1'000u + .5e-3f - 0x1.8p3 >= 'a' != L\"s\\\"t\"; y = R\"q(a\"b)q\" \"c\";\n"
    "  k<<<g, b, 0, s>>>(p[i]++, *p--, &q, a ? b : c, a && b || !c, a <=> b, ...);\n}\n";
static const char fortran_text[] =
    "!$omp parallel do &\n!$omp& private(i)\n  Do 10 i = 1, N ! c\n   a(i) = B(I) ** 2.0d0 + &\n"
    "     & 'it''s' // \"x\" ; if (x .GE. 1_r8 .and. y == z) then\n10 end do\n#ifdef X\n#endif\n";

static int lexer_add(uint64_t *hash, const char *text, hpc_language l)
{
    hpc_tokens t = {0};
    uint64_t stream = 0;
    int64_t n = 0;
    int rc;
    TRY(hpc_lex(&t, text, strlen(text), l, false));
    for (int64_t i = 0; i < t.n; i++) {
        if (!hpc_token_is_code(&t.item[i])) continue;
        stream = hpc_stream_add(stream, t.item[i].hash);
        n++;
    }
    *hash = hpc_mix(*hash ^ hpc_stream_end(stream, n));
out:
    hpc_tokens_release(&t);
    return rc;
}

int hpc_lexer_hash(uint64_t *out)
{
    int rc;
    *out = 0;
    TRY(lexer_add(out, c_text, HPC_LANGUAGE_CUDA));
    TRY(lexer_add(out, fortran_text, HPC_LANGUAGE_FORTRAN));
out:
    return rc;
}
