/*
 * pieces.h: validation of pieces, shared by pieces.c and pieces_json.c.
 */
#ifndef HPC_TOKENIZER_PIECES_H
#define HPC_TOKENIZER_PIECES_H

#include "tokenizer/priv.h"

/* HPC_E_FORMAT names the first token that is empty, invalid UTF-8 or of an unknown type, or a
 * special id out of range. */
int pieces_check(const hpc_tokenizer_pieces *p);

#endif
