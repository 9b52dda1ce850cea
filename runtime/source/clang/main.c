/*
 * main.c: the program hpccoder-clang, in which libclang parses untrusted texts.
 */
#include "runtime/source/check_priv.h"
#include "runtime/source/clang/clang.h"

int main(int argc, char **argv)
{
    return check_program(argc, argv, &hpc_clang_table);
}
