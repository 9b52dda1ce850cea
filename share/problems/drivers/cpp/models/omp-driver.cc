#include <omp.h>

#include "report.hpp"

int main(int argc, char **argv)
{
    omp_set_num_threads(argc > 1 ? std::stoi(argv[1]) : 1);
    return report(validate());
}
