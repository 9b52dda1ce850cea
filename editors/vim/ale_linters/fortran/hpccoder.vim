" ALE: verdicts, fixes and completions of hpccoder for fortran files.
call hpccoder#define('fortran')
