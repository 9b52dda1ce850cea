/*
 * main.c: the program hpccoder-flang, in which flang parses untrusted Fortran texts. The checker
 * (check_process.c) starts it as it starts hpccoder-clang.
 */
#include "runtime/source/check_priv.h"
#include "runtime/source/flang/flang.h"

int main(int argc, char **argv)
{
    return check_program(argc, argv, &hpc_flang_table);
}
