// Prints the validation and the run times of a problem.
#pragma once
#include <chrono>
#include <cstdio>
#include <string>

bool validate();
void compute();
void best();

static const int ROUNDS = 5;

template <typename F> static double seconds(F work)
{
    auto start = std::chrono::steady_clock::now();
    for (int k = 0; k < ROUNDS; k++) work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / ROUNDS;
}

static int report(bool valid)
{
    std::printf("Validation: %s\n", valid ? "PASS" : "FAIL");
    if (!valid) return 0;
    std::printf("Time: %.9f\n", seconds(compute));
    std::printf("BestSequential: %.9f\n", seconds(best));
    return 0;
}
