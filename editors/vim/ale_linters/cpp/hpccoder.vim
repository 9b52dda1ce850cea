" ALE: verdicts, fixes and completions of hpccoder for cpp files.
call hpccoder#define('cpp')
