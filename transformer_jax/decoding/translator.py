"""From lines of text to their translations: tokenizer, model and search together."""

import contextlib
import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

import jax
import numpy as np
from jax.sharding import NamedSharding

from transformer_jax.decoding.beam_search import beam_search
from transformer_jax.decoding.greedy import greedy_search
from transformer_jax.decoding.hypotheses import (
    SearchResult,
    SearchSettings,
)
from transformer_jax.decoding.length_batches import length_batches
from transformer_jax.decoding.search import GrowCacheFn, split_rows
from transformer_jax.decoding.split import split_line
from transformer_jax.decoding.translations import (
    Candidate,
    Translation,
    copy_line,
    in_one_line,
    join_pieces,
)
from transformer_jax.decoding.translator_settings import (
    TranslatorSettings,
    check_beam,
)
from transformer_jax.errors import UserError
from transformer_jax.models.interface import TranslationModel


class TextTokenizer(Protocol):
    """What a translator needs of a tokenizer."""

    vocab_size: int
    pad_id: int
    bos_id: int
    eos_id: int

    def encode(self, sentences: Sequence[str], /) -> list[list[int]]: ...

    def decode(self, ids: Sequence[Sequence[int]], /) -> list[str]: ...


class Translator:
    """Translates lines with one model; nothing is compiled twice.

    Attributes:
      params: the model's; may be replaced between calls, for example by those of the
        next checkpoint, without a new compilation.
      settings: how it translates.
    """

    def __init__(
        self,
        model: TranslationModel,
        params: Any,
        source_tokenizer: TextTokenizer,
        target_tokenizer: TextTokenizer,
        settings: TranslatorSettings,
        placement: NamedSharding | None = None,
    ) -> None:
        """Make ready; compiles nothing yet.

        Raises:
          ValueError: if the beam is wider than the vocabulary.

        Args:
          model: what translates.
          params: the model's, whole on every device of `placement`.
          source_tokenizer: of the lines.
          target_tokenizer: of their translations.
          settings: how to translate.
          placement: how the rows of a batch are split over devices; None: all on one.
        """
        check_beam(settings.beam_size, target_tokenizer.vocab_size)
        self.params = params
        self._placement = placement
        self._num_devices = 1 if placement is None else placement.mesh.size
        self._model = model
        self._source_tokenizer = source_tokenizer
        self._target_tokenizer = target_tokenizer
        self.settings = settings
        self._search_settings = SearchSettings(
            eos_id=target_tokenizer.eos_id,
            bos_id=target_tokenizer.bos_id,
            pad_id=target_tokenizer.pad_id,
            vocab_size=target_tokenizer.vocab_size,
            beam_size=settings.beam_size,
            num_best=settings.num_best,
            alpha=settings.alpha,
            length_penalty=settings.length_penalty,
            block_size=settings.block_size,
            min_length=settings.min_length,
        )

    def translate(
        self, lines: Iterable[str], progress: Callable[[int], None] | None = None
    ) -> list[Translation]:
        """Translate lines, each into one line, in the given order.

        A line that shows nothing comes out empty, and one without a letter or a digit,
        such as "-" or "...", as it is: models make sentences of those. All others are
        sorted by length and searched in batches of a few fixed shapes; which others
        share a batch with a sentence does not change its translation.

        Args:
          lines: any text.
          progress: called after each batch with the number of sentences in it.

        Raises:
          TypeError: if anything but lines of text is given.
        """
        return list(self.stream(lines, progress))

    def stream(
        self, lines: Iterable[str], progress: Callable[[int], None] | None = None
    ) -> Iterator[Translation]:
        """Do `translate`, but yield each line once it and all before it are done."""
        lines = [line.strip() for line in _check_lines(lines)]
        encoded = self._source_tokenizer.encode(lines)
        pieces_of_line = list(map(self._cut_into_pieces, lines, encoded))
        pieces = [piece for pieces in pieces_of_line for piece in pieces]
        found: dict[int, tuple[Candidate, ...]] = {}
        batches = self._translate_pieces(pieces, progress)
        numbers = itertools.count()
        for line, tokens, pieces in zip(lines, encoded, pieces_of_line, strict=True):
            wanted = list(itertools.islice(numbers, len(pieces)))
            while not found.keys() >= set(wanted):
                found.update(next(batches))
            if wanted:
                found_pieces = [found.pop(number) for number in wanted]
                yield join_pieces(
                    found_pieces,
                    self.settings.max_source_length - 1,
                    self.settings.max_extra_length,
                )
            else:
                yield copy_line(line if tokens else "")

    def _cut_into_pieces(self, line: str, tokens: list[int]) -> list[list[int]]:
        """Return the tokens of a line's pieces: mostly one, none if it is copied."""
        limit = self.settings.max_source_length - 1
        if not tokens or not any(character.isalnum() for character in line):
            return []
        if len(tokens) <= limit:
            return [tokens]
        texts = split_line(
            line, lambda text: len(self._source_tokenizer.encode([text])[0]), limit
        )
        return [piece[:limit] for piece in self._source_tokenizer.encode(texts)]

    def _translate_pieces(
        self, pieces: list[list[int]], progress: Callable[[int], None] | None
    ) -> Iterator[dict[int, tuple[Candidate, ...]]]:
        """Yield, batch by batch, the candidates of pieces by their places."""
        for chosen, num_rows, source_length in length_batches(
            [len(piece) + 1 for piece in pieces],
            tokens_per_batch=self.settings.tokens_per_batch,
            longest=self.settings.max_source_length,
            row_multiple=self._num_devices,
        ):
            sentences = [pieces[i] for i in chosen]
            shape, settings = (num_rows, source_length), self._search_settings
            found = self._find_candidates(sentences, shape, settings)
            whole_beam = dataclasses.replace(settings, num_best=settings.beam_size)
            blank = [row for row, best in enumerate(found) if not best[0].text.strip()]
            if blank and settings.min_length and whole_beam != settings:
                # A line that is searched has words: so may others of its hypotheses.
                sentences = [sentences[row] for row in blank]
                again = self._find_candidates(sentences, shape, whole_beam)
                for row, candidates in zip(blank, again, strict=True):
                    found[row] = candidates[: settings.num_best]
            if progress is not None:
                progress(len(chosen))
            yield dict(zip(chosen, found, strict=True))

    def _find_candidates(
        self,
        sentences: list[list[int]],
        shape: tuple[int, int],
        settings: SearchSettings,
    ) -> list[tuple[Candidate, ...]]:
        """Return the candidates of each sentence of one batch."""
        with _explaining_memory(self.settings):
            result = self._search(sentences, *shape, settings)
        limits = [self._max_length(len(sentence)) for sentence in sentences]
        return self._read_result(result, limits)

    def _search(
        self,
        sentences: list[list[int]],
        num_rows: int,
        source_length: int,
        settings: SearchSettings,
    ) -> SearchResult:
        """Search one batch; rows past the last sentence are fillers."""
        tokenizer = self._source_tokenizer
        tokens = np.full((num_rows, source_length), tokenizer.pad_id, np.int32)
        segments = np.zeros((num_rows, source_length), np.int32)
        max_lengths = np.zeros(num_rows, np.int32)
        for row, sentence in enumerate(sentences):
            tokens[row, : len(sentence) + 1] = [*sentence, tokenizer.eos_id]
            segments[row, : len(sentence) + 1] = 1
            max_lengths[row] = self._max_length(len(sentence))
        batch = tokens, segments, max_lengths
        if self._placement is not None:
            batch = jax.device_put(batch, self._placement)
        cache = _encode(
            self.params,
            *batch[:2],
            model=self._model,
            num_hypotheses=settings.beam_size,
            max_length=settings.block_size,
            placement=self._placement,
        )
        step, grow_cache = _search_functions(self._model)
        step_fn = jax.tree_util.Partial(step, self.params)
        search = greedy_search if settings.beam_size == 1 else beam_search
        return search(step_fn, cache, batch[2], settings, grow_cache, self._placement)

    def _max_length(self, num_source_tokens: int) -> int:
        """Return how many tokens, EOS included, a translation may have."""
        length = max(1, num_source_tokens + self.settings.max_extra_length)
        return min(length, self.settings.max_output_length or length)

    def _read_result(
        self, result: SearchResult, limits: Sequence[int]
    ) -> list[tuple[Candidate, ...]]:
        """Turn tokens into text, row by row; a model that says nothing says "".

        Args:
          result: of the search, with a row for each limit, and perhaps fillers.
          limits: how many tokens a row's hypotheses may have.
        """
        num_best = result.lengths.shape[1]
        ids = [
            result.tokens[row, rank, : max(result.lengths[row, rank] - 1, 0)].tolist()
            for row in range(len(limits))
            for rank in range(num_best)
        ]
        texts = [in_one_line(text) for text in self._target_tokenizer.decode(ids)]
        rows = []
        for row, limit in enumerate(limits):
            by_text: dict[str, Candidate] = {}
            for rank in range(num_best):
                length = result.lengths[row, rank]
                if rank == 0 or length > 0:
                    candidate = Candidate(
                        texts[row * num_best + rank],
                        score=float(result.scores[row, rank]),
                        log_prob=float(result.log_probs[row, rank]),
                        is_cut=bool(length == limit),
                    )
                    by_text.setdefault(candidate.text, candidate)
            candidates = tuple(by_text.values())
            if self.settings.min_length:
                # Texts without words are candidates only where there are no others.
                worded = tuple(found for found in candidates if found.text.strip())
                candidates = worded or candidates
            rows.append(candidates)
        return rows


@functools.partial(
    jax.jit, static_argnames=("model", "num_hypotheses", "max_length", "placement")
)
def _encode(
    params: Any,
    source_tokens: jax.Array,
    source_segments: jax.Array,
    *,
    model: TranslationModel,
    num_hypotheses: int,
    max_length: int,
    placement: NamedSharding | None,
) -> Any:
    """Encode a batch [batch, source_length] and make an empty cache for its search."""
    variables = {"params": params}
    memory = model.apply(
        variables, source_tokens, source_segments=source_segments, method=model.encode
    )
    cache = model.apply(
        variables,
        memory,
        source_segments=source_segments,
        num_hypotheses=num_hypotheses,
        max_length=max_length,
        method=model.init_cache,
    )
    return split_rows(cache, placement)


@functools.cache
def _search_functions(model: TranslationModel) -> tuple[Callable, GrowCacheFn]:
    """Return the model's decoder step and its `grow_cache`, the same for equal models.

    Compiled searches are found again by these functions, so they must not be made anew.
    """

    def step(params: Any, tokens: jax.Array, cache: Any) -> tuple[jax.Array, Any]:
        return model.apply({"params": params}, tokens, cache, method=model.decode_step)

    return step, model.grow_cache


@contextlib.contextmanager
def _explaining_memory(settings: TranslatorSettings) -> Iterator[None]:
    """Say what to do about too little memory."""
    try:
        yield
    except jax.errors.JaxRuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        raise UserError(
            "A device has too little memory to translate "
            f"tokens_per_batch={settings.tokens_per_batch} source tokens at a time "
            f"with beam_size={settings.beam_size}. A smaller tokens_per_batch needs "
            "less and gives the same translations. Another program, as a training "
            "run, may hold the device's memory, too."
        ) from error


def _check_lines(lines: Iterable[str]) -> list[str]:
    """Return the lines, or say which of them is no text."""
    if isinstance(lines, str):
        raise TypeError(
            f"expected a list of lines, got the single string {lines!r}. Put it into a "
            "list, alone or with others."
        )
    if isinstance(lines, bytes) or not isinstance(lines, Iterable):
        raise TypeError(f"expected a list of lines, got {lines!r}")
    lines = list(lines)
    for i, line in enumerate(lines):
        if not isinstance(line, str):
            raise TypeError(f"expected a list of strings, got {line!r} at index {i}")
    return lines
