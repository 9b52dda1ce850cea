#include "problem.hpp"

#include "generated-code.hpp"

bool validate()
{
    int size = ranks(), before = (rank_of() + size - 1) % size;
    return size > 1 && ringPass(10 * rank_of() + 3) == 10 * before + 3;
}
