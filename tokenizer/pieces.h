/*
 * pieces.h: what both makers of files out of pieces ask of the pieces. Nobody else includes it.
 */
#ifndef HPC_TOKENIZER_PIECES_H
#define HPC_TOKENIZER_PIECES_H

#include "tokenizer/priv.h"

/* HPC_E_FORMAT names the first token that is empty, not UTF-8 or of an unknown type, and a special
 * id out of range. */
int pieces_check(const hpc_tokenizer_pieces *p);

#endif
