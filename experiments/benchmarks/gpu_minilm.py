"""MiniLM-L6 on a GPU from token ids, as fast as plain PyTorch makes it: for gpu_embed.py."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from limelight.runtime.batches import Sentences
from limelight.runtime.gpu import DeviceBatch

LAYERS, HEADS, SIZE = 6, 12, 384
Forward = Callable[[Tensor, Tensor | None], Tensor]  # ids and mask (batch, n) -> states (batch, n, 384)


class PlainMiniLM(torch.nn.Module):
    """Token ids -> states, with one product for queries, keys and values."""

    def __init__(self, path: Path, device: str) -> None:
        super().__init__()
        from safetensors.torch import load_file

        dtype = torch.float16 if device == "cuda" else torch.float32
        self.w = {name: w.to(device, dtype) for name, w in load_file(path).items() if w.is_floating_point()}
        for k in range(LAYERS):
            at = f"encoder.layer.{k}.attention.self"
            for kind in ("weight", "bias"):
                parts = [self.w[f"{at}.{part}.{kind}"] for part in ("query", "key", "value")]
                self.w[f"{at}.{kind}"] = torch.cat(parts)

    def forward(self, ids: Tensor, mask: Tensor | None) -> Tensor:
        """The last layer's states."""
        words, places, kinds = (
            self.w[f"embeddings.{kind}_embeddings.weight"] for kind in ("word", "position", "token_type")
        )
        x = self._norm(F.embedding(ids, words) + places[: ids.shape[1]] + kinds[0], "embeddings")
        shown = None if mask is None else mask[:, None, None, :]
        for k in range(LAYERS):
            own, at = f"encoder.layer.{k}", f"encoder.layer.{k}.attention"
            qkv = self._linear(x, f"{at}.self").view(*ids.shape, 3, HEADS, SIZE // HEADS)
            seen = F.scaled_dot_product_attention(*qkv.permute(2, 0, 3, 1, 4).unbind(0), attn_mask=shown)
            seen = self._linear(seen.transpose(1, 2).flatten(2), f"{at}.output.dense")
            x = self._norm(x + seen, f"{at}.output")
            hidden = F.gelu(self._linear(x, f"{own}.intermediate.dense"))
            x = self._norm(x + self._linear(hidden, f"{own}.output.dense"), f"{own}.output")
        return x

    def _linear(self, x: Tensor, name: str) -> Tensor:
        return F.linear(x, self.w[f"{name}.weight"], self.w[f"{name}.bias"])

    def _norm(self, x: Tensor, name: str) -> Tensor:
        weight, bias = (self.w[f"{name}.LayerNorm.{kind}"] for kind in ("weight", "bias"))
        return F.layer_norm(x, (SIZE,), weight, bias, 1e-12)


def tokenise(folder: str, texts: list[str]) -> Sentences:
    """Token ids of all texts, as its tokenizer splits them."""
    import tokenizers

    words = tokenizers.Tokenizer.from_file(str(Path(folder) / "tokenizer.json"))
    words.no_padding()
    words.enable_truncation(256)
    return Sentences.join([np.array(each.ids, np.int32) for each in words.encode_batch_fast(texts)])


@torch.no_grad()
def encode(forward: Forward, ids: Sentences, budget: int, device: str) -> np.ndarray:
    """(texts, 384) in the host's memory: uploaded once, sorted by length, copied back once."""
    cuda = device == "cuda"

    def upload(array: np.ndarray) -> Tensor:
        given = torch.from_numpy(array)
        return given.pin_memory().to(device, non_blocking=True) if cuda else given

    lengths = ids.lengths.astype(np.int64)
    some = batches(lengths, budget)
    order = np.concatenate(some)
    texts = upload(np.stack([(np.cumsum(lengths) - lengths)[order], lengths[order], order]))
    words, done = DeviceBatch(upload(ids.ids), *texts, torch.empty(0), None), 0
    result = torch.empty(len(lengths), SIZE, device=device)
    for batch in some:
        width, part = int(lengths[batch[0]]), words.part(done, len(batch))
        tokens, own = part.padded(width), part.lengths
        mask = torch.arange(width, device=tokens.device) < own.unsqueeze(1)
        of_one_length = width == lengths[batch[-1]]
        H = forward(tokens, None if of_one_length else mask).float() * mask.unsqueeze(2)
        result[part.order] = F.normalize(H.sum(1) / own.unsqueeze(1))
        done += len(batch)
    if not cuda:
        return result.numpy()
    host = torch.empty(result.shape, pin_memory=True)
    host.copy_(result)
    return host.numpy()


def batches(lengths: np.ndarray, budget: int) -> list[np.ndarray]:
    """Longest first: whole batches of one length, which need no mask, then what is left over."""
    order, found, rest = np.argsort((lengths.max() - lengths).astype(np.uint16), kind="stable"), [], []
    ends = np.flatnonzero(np.diff(lengths[order])) + 1
    for same in np.split(order, ends):
        size = max(1, budget // int(lengths[same[0]]))
        whole = len(same) // size * size
        found += [same[k : k + size] for k in range(0, whole, size)]
        rest.append(same[whole:])
    left, start = np.concatenate(rest), 0
    while start < len(left):
        size = max(1, budget // int(lengths[left[start]]))
        found.append(left[start : start + size])
        start += size
    return found
