#!/usr/bin/env python3
"""llama_greedy.py MODEL.gguf FILE... -- whether llama.cpp goes on with texts as hpccoder does, greedily.

Each file's first --bytes bytes are the prompt; both make --tokens tokens, always the likeliest. Prints for each file
how many of the tokens' bytes agree, and, where they part, llama.cpp's two largest logits: two programs that
round differently may choose between equals. Exit code 1 if any text differs where the two are further apart than
--near. llama.cpp is what llama_decode.py says.
"""
import argparse, ctypes, os, pathlib, subprocess, sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import llama_decode


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("model")
    p.add_argument("files", nargs="+")
    p.add_argument("--bytes", type=int, default=600)
    p.add_argument("--tokens", type=int, default=64)
    p.add_argument("--near", type=float, default=0.05, help="logits that are as close as this are equal")
    p.add_argument("--threads", type=int, default=os.cpu_count())
    p.add_argument("--library")
    p.add_argument("--hpccoder", default="build/release/hpccoder")
    return p.parse_args()


class Llama:
    def __init__(self, o):
        c = self.c = llama_decode.library(o.library)
        pointer, whole = ctypes.c_void_p, ctypes.c_int32
        for name, result, takes in [
            ("llama_model_get_vocab", pointer, [pointer]),
            ("llama_vocab_n_tokens", whole, [pointer]),
            ("llama_vocab_is_eog", ctypes.c_bool, [pointer, whole]),
            ("llama_tokenize", whole, [pointer, ctypes.c_char_p, whole, pointer, whole, ctypes.c_bool, ctypes.c_bool]),
            ("llama_token_to_piece", whole, [pointer, whole, ctypes.c_char_p, whole, whole, ctypes.c_bool]),
            ("llama_get_logits_ith", ctypes.POINTER(ctypes.c_float), [pointer, whole]),
        ]:
            getattr(c, name).restype, getattr(c, name).argtypes = result, takes
        self.model = c.llama_model_load_from_file(o.model.encode(), c.llama_model_default_params())
        if not self.model:
            sys.exit(f"{o.model}: llama.cpp does not load it")
        self.context = c.llama_init_from_model(self.model, c.llama_context_default_params())
        c.llama_set_n_threads(self.context, o.threads, o.threads)
        self.vocab = c.llama_model_get_vocab(self.model)
        self.n = c.llama_vocab_n_tokens(self.vocab)

    def run(self, ids):
        array = (ctypes.c_int32 * len(ids))(*ids)
        if self.c.llama_decode(self.context, self.c.llama_batch_get_one(ctypes.cast(array, ctypes.c_void_p), len(ids))):
            sys.exit("llama_decode failed")
        logits = self.c.llama_get_logits_ith(self.context, -1)
        best = sorted(((logits[k], k) for k in range(self.n)), reverse=True)[:2]
        return best[0][1], best[0][0] - best[1][0]

    def go_on(self, text, tokens):
        room = (ctypes.c_int32 * (len(text) + 16))()
        n = self.c.llama_tokenize(self.vocab, text, len(text), room, len(room), True, False)
        self.c.llama_memory_clear(self.c.llama_get_memory(self.context), True)
        ids, made = list(room[:n]), []
        for _ in range(tokens):
            token, margin = self.run(ids)
            piece = ctypes.create_string_buffer(256)
            size = self.c.llama_token_to_piece(self.vocab, token, piece, 256, 0, False)
            if self.c.llama_vocab_is_eog(self.vocab, token) or size == 0:
                break  # control tokens and unknown ones: hpccoder ends there as well
            made.append((piece.raw[:size], margin))
            ids = [token]
        return made


def ours(o, text):
    command = [o.hpccoder, "complete", "-", "--name", "text.txt", "--raw", "--quiet", "--model", o.model, "--temperature", "0",
               "--max-tokens", str(o.tokens), "--threads", str(o.threads), "--draft-tokens", "0"]
    return subprocess.run(command, input=text, capture_output=True, check=True).stdout  # bytes: JSON would mend them


def main():
    o = options()
    llama, same, parted = Llama(o), 0, 0
    for name in o.files:
        text = open(name, "rb").read()[: o.bytes].decode("utf-8", "ignore").rstrip().encode()
        theirs, mine, at = llama.go_on(text, o.tokens), ours(o, text), 0
        for piece, margin in theirs:
            if mine[at : at + len(piece)] != piece:
                break
            at += len(piece)
        else:
            margin = None
        if margin is None:
            same += 1
            print(f"{name}: the same {len(theirs)} tokens")
        else:
            parted += margin > o.near
            print(f"{name}: {at} bytes the same, then llama.cpp's two best are {margin:.4f} apart")
    print(f"{same} of {len(o.files)} the same, {parted} parted where it mattered")
    sys.exit(1 if parted else 0)


if __name__ == "__main__":
    main()
