"""A small grammar that speaks English and German, sentence by sentence alike."""
