" ALE: verdicts, fixes and completions of hpccoder for cuda files.
call hpccoder#define('cuda')
