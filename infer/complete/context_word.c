/*
 * context_word.c: words that are not names: keywords of C, C++, Fortran and directives.
 */
#include <string.h>

#include "infer/complete/context_priv.h"

/* clang-format off */
static const char words[] =
    "alignas alignof asm auto bool break case catch char class concept const const_cast consteval "
    "constexpr constinit continue co_await co_return co_yield decltype default delete do double "
    "dynamic_cast else enum explicit export extern false final float for friend goto if inline int "
    "long mutable namespace new noexcept nullptr operator override private protected public "
    "register reinterpret_cast requires restrict return short signed sizeof static static_assert "
    "static_cast struct switch template this throw true try typedef typeid typename union unsigned "
    "using virtual void volatile wchar_t while _Bool _Static_assert __attribute__ __restrict "
    "__restrict__ __inline NULL std "
    "define defined elif endif error ifdef ifndef include include_next line pragma undef warning "
    "once omp acc parallel "
    "allocatable allocate associate assignment backspace block call character close common complex "
    "contains contiguous cycle data deallocate dimension elemental elseif elsewhere end enddo "
    "endfunction endmodule endsubroutine endtype entry equivalence exit external format function "
    "implicit in inout inquire integer intent interface intrinsic kind len logical module none "
    "nullify only open optional out parameter pointer print procedure program pure read real "
    "recursive result rewind save select selectcase sequence stop subroutine target then to type "
    "use value where write";
/* clang-format on */

static uint32_t place_of(const context_words *w, uint32_t hash)
{
    uint32_t k = hash % CONTEXT_WORDS;
    while (w->slot[k] && w->slot[k] != hash) k = (k + 1) % CONTEXT_WORDS;
    return k;
}

void context_words_init(context_words *w)
{
    memset(w, 0, sizeof *w);
    for (const char *p = words; *p; p += *p == ' ') {
        size_t n = strcspn(p, " ");
        uint32_t hash = hpc_token_hash(p, n);
        w->slot[place_of(w, hash)] = hash;
        p += n;
    }
}

bool context_words_has(const context_words *w, uint32_t hash)
{
    return w->slot[place_of(w, hash)] == hash;
}
