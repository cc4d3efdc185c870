"""Small encoders as users write them: a GRU of vectors, a frozen table of words, a transformer of pieces."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from limelight.network import mean_of_pieces


class Gru(nn.Module):
    """Reads word vectors."""

    size = 6

    def __init__(self, d: int = 50) -> None:
        super().__init__()
        self.gru = nn.GRU(d, 3, batch_first=True, bidirectional=True)

    def forward(self, S: Tensor, lengths: Tensor) -> Tensor:
        packed = nn.utils.rnn.pack_padded_sequence(S, lengths.cpu(), True, enforce_sorted=False)
        return nn.utils.rnn.pad_packed_sequence(self.gru(packed)[0], True, total_length=S.shape[1])[0]


class FrozenTable(nn.Module):
    """Reads words: each is a fixed vector of its length and first letter; padding is not zero."""

    size, reads = 5, "words"

    def __init__(self) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.table = nn.Parameter(torch.randn(64, 5, generator=generator), requires_grad=False)

    def forward(self, words: list[list[str]]) -> Tensor:
        n = max(map(len, words))
        rows = [[(7 * len(w) + ord(w[0])) % 64 if w else 0 for w in text] for text in words]
        return self.table[torch.tensor([row + [1] * (n - len(row)) for row in rows])]


class Pieces(nn.Module):
    """Reads words: a transformer of their pieces, three letters each, in the way of BERT."""

    size, reads = 8, "words"

    def __init__(self, layers: int = 1) -> None:
        super().__init__()
        self.embed = nn.Embedding(97, 8)
        layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.register_buffer("seen", torch.zeros((), dtype=torch.int64))  # a counter, as batch norm has one

    def forward(self, words: list[list[str]]) -> Tensor:
        texts = [[(2, -1), *((p, k) for k, w in enumerate(text) for p in pieces(w))] for text in words]
        m = max(map(len, texts))
        both = torch.tensor([text + [(0, -1)] * (m - len(text)) for text in texts])
        ids, places = both.to(self.embed.weight.device).unbind(2)
        states = self.layers(self.embed(ids), src_key_padding_mask=ids == 0)
        return mean_of_pieces(states, places, max(map(len, words)))


def pieces(word: str) -> list[int]:
    return [3 + sum(map(ord, word[k : k + 3])) % 94 for k in range(0, len(word), 3)]


class TopTwo(nn.Module):
    """A pooling: for each of its rows, the mean of the two words that a trained direction likes best."""

    rows = 2

    def __init__(self, size: int) -> None:
        super().__init__()
        self.directions = nn.Linear(size, 2, bias=False)

    def forward(self, H: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        padding = torch.arange(H.shape[1], device=H.device) >= lengths[:, None]
        scores = self.directions(H).masked_fill(padding.unsqueeze(2), -1e9).transpose(1, 2)  # (batch, 2, n)
        least = scores.topk(min(2, H.shape[1]), dim=2).values[..., -1:]
        A = torch.softmax(scores.masked_fill(scores < least, -1e9), dim=2)
        return torch.tanh(A @ H), A
