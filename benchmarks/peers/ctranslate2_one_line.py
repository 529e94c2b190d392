"""Load CTranslate2's model, translate standard input, end: nothing else is imported.

python -m benchmarks.peers.ctranslate2_one_line MODEL TOKENIZER EXTRA_LENGTH
"""

import os
import sys

import ctranslate2
import sentencepiece


def main() -> None:
    model, tokenizer_path, extra_length = sys.argv[1:]
    tokenizer = sentencepiece.SentencePieceProcessor(model_file=tokenizer_path)
    translator = ctranslate2.Translator(
        model, intra_threads=len(os.sched_getaffinity(0))
    )
    for line in sys.stdin:
        ids = tokenizer.encode(line.strip())
        length = len(ids) + int(extra_length)
        result = translator.translate_batch(
            [[str(i) for i in ids] + ["</s>"]],
            beam_size=4,
            min_decoding_length=length,
            max_decoding_length=length,
        )
        print(tokenizer.decode([int(token) for token in result[0].hypotheses[0]]))


if __name__ == "__main__":
    main()
