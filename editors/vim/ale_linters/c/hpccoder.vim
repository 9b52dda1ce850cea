" ALE: verdicts, fixes and completions of hpccoder for c files.
call hpccoder#define('c')
