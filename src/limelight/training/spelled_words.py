"""Which words of a batch are spelled from their pieces in training, and with which typing errors.

Words outside the vocabulary always are, known words at times, the rarer the more often, so that the pieces
learn; some are misspelled, which the teacher does not see. Random choices depend on the seed, the step and
the place in the batch alone: a run on several processes, or a resumed one, makes the same.
"""

import random
import zlib
from collections.abc import Sequence

import torch
from torch import Tensor

from ..config.pretrain_recipe import ReaderRecipe
from ..network.torch.network import Spelled
from ..text.spelling import piece_tables
from ..text.tokenizer import PAD, SPECIAL, UNKNOWN

SPELLED, RARE = 0.1, 20_000  # words of this rank and above are spelled this often, more frequent ones less
VARIANTS = 4  # misspellings of a word
SHORTEST = 4  # letters of a word that is misspelled
ROOM = 6  # on a GPU, one word in this many can be spelled, which must not depend on the words
MIN_SPELLED = 4096  # all of these can: batches of single words, as of a dictionary, are mostly rare


class SpelledWords:
    """The pieces of every word in the texts, the first `known` of which have vectors of their own."""

    def __init__(
        self, vocabulary: Sequence[str], known: int, recipe: ReaderRecipe, device: torch.device
    ) -> None:
        self.known, self.typos = known, recipe.typos
        stems = {word: id for id, word in enumerate(vocabulary[:known]) if id >= len(SPECIAL)}

        def tables(words: Sequence[str]) -> list[Tensor]:
            found = piece_tables(words, recipe.buckets, stems)
            return [torch.from_numpy(table).to(device) for table in found]

        self.pieces = tables(vocabulary)  # (words, MAX_GRAMS), (words, MAX_STEMS)
        for table in self.pieces:
            table[: len(SPECIAL)] = 0
        rank = torch.arange(len(vocabulary), device=device) - len(SPECIAL)
        self.rate = SPELLED * (rank / RARE).clamp(0, 1)  # (words of the texts,)
        self.variants: list[Tensor] | None = None
        if self.typos:
            wrong = [misspellings(word, recipe.seed) for word in vocabulary[:known]]
            flat = [each for some in wrong for each in some]
            self.variants = [table.view(known, VARIANTS, -1) for table in tables(flat)]
            errs = [some[0] != word for some, word in zip(wrong, vocabulary[:known], strict=True)]
            self.can_err = torch.tensor(errs, device=device)

    def read(
        self, ids: Tensor, lengths: Tensor, u: Tensor | None = None
    ) -> tuple[Tensor, Tensor, None, None, Spelled]:
        """What the network takes: ids (batch, n) of all words -> those known, pieces of those spelled.

        u (batch, n) in [0, 1) chooses which known words are spelled, and how.
        """
        known = ids < self.known
        spelled = ~known | (ids == UNKNOWN)
        wrong = torch.zeros_like(spelled)
        if u is not None:
            wrong = known & (u < self.typos)
            if self.variants is not None:
                wrong &= self.can_err[ids.clamp(max=self.known - 1)]
            spelled = spelled | wrong | ((u >= self.typos) & (u < self.typos + self.rate[ids]))
        spelled = spelled & (ids != PAD)
        places = self._places(spelled)
        words = ids.flatten()[places]
        pieces = [table[words] for table in self.pieces]
        if u is not None and self.variants is not None:
            variant = (u.flatten()[places] * (VARIANTS / self.typos)).long().clamp(max=VARIANTS - 1)
            misspelled = [table[words.clamp(max=self.known - 1), variant] for table in self.variants]
            is_wrong = wrong.flatten()[places].unsqueeze(1)
            pieces = [torch.where(is_wrong, a, b) for a, b in zip(misspelled, pieces, strict=True)]
        is_spelled = spelled.flatten()[places].unsqueeze(1)
        buckets, stems = (each.long() * is_spelled for each in pieces)
        return ids.masked_fill(spelled, PAD), lengths, None, None, Spelled(places, buckets, stems)

    def _places(self, spelled: Tensor) -> Tensor:
        """Where the spelled words are; on a GPU a fixed number of places, the spelled words first."""
        flat = spelled.flatten()
        if not flat.is_cuda:
            return flat.nonzero().squeeze(1)
        order = torch.argsort(flat.to(torch.uint8), descending=True, stable=True)
        return order[: max(MIN_SPELLED, len(flat) // ROOM)]


def uniform(rows: Tensor, n: int, step: Tensor, seed: int) -> Tensor:
    """(rows, n) numbers in [0, 1) that depend on the row's number, the place, the step and the seed alone."""
    start = zlib.crc32(str(seed).encode())
    t = torch.arange(n, device=rows.device)
    x = rows[:, None] * 0x9E3779B97F4A7C1 + t * 0xBF58476D1CE4E5B + step * 0x94D049BB133111F + start
    for shift, factor in ((31, 0x7FB5D329728EA185), (27, 0x1B03738712FAD5C9)):
        x = (x ^ (x >> shift)) * factor
    return ((x >> 40) & 0xFFFFFF).float() / 2**24


def misspellings(word: str, seed: int) -> list[str]:
    """VARIANTS misspellings of a word of some letters: two swapped, one left out, or one doubled."""
    if len(word) < SHORTEST or not word.isalpha():
        return [word] * VARIANTS
    choose = random.Random(f"{seed} {word}")
    found = []
    for _ in range(VARIANTS):
        k, kind = choose.randrange(len(word) - 1), choose.randrange(3)
        middle = (word[k + 1] + word[k], word[k + 1], word[k] * 2 + word[k + 1])[kind]
        found.append(word[:k] + middle + word[k + 2 :])
    return found
