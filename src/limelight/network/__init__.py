"""The network: described once, in PyTorch and as ONNX operators. Its parts are for your own networks too.

All are plain `nn.Module`s and functions of PyTorch, which is loaded when the first of them is used. H (batch,
n, size) are states of words, `lengths` (batch,) how many words each text has; padding is never read.

>>> import torch
>>> from limelight.network import LinearHead, StructuredSelfAttention, penalty
>>> attend, head = StructuredSelfAttention(size=6, d_a=5, r=3), LinearHead(rows=3, size=6, classes=2)
>>> H, lengths = torch.randn(4, 7, 6), torch.tensor([7, 5, 2, 1])  # from any encoder
>>> M, A = attend(H, lengths)
>>> M.shape, A.shape, head(M).shape, penalty(A, lengths).shape
(torch.Size([4, 3, 6]), torch.Size([4, 3, 7]), torch.Size([4, 2]), torch.Size([]))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import lazy

if TYPE_CHECKING:
    from .torch.attention import MaxPooling, StructuredSelfAttention, aspect_penalty, masked_softmax, penalty
    from .torch.encoder import BiLSTM, Convolution, Projection, WordEmbedding, WordsAlone
    from .torch.heads import FullHead, GatedEncoder, LinearHead, PrunedHead, VectorMap, concat_features
    from .torch.module import mean_of_pieces
    from .torch.network import Network, Output

__all__ = [
    "BiLSTM", "Convolution", "FullHead", "GatedEncoder", "LinearHead", "MaxPooling", "Network", "Output",
    "Projection", "PrunedHead", "StructuredSelfAttention", "VectorMap", "WordEmbedding", "WordsAlone",
    "aspect_penalty", "concat_features", "masked_softmax", "mean_of_pieces", "penalty",
]  # fmt: skip

__getattr__, __dir__ = lazy(
    __name__,
    {
        "torch.attention": "MaxPooling StructuredSelfAttention aspect_penalty masked_softmax penalty",
        "torch.encoder": "BiLSTM Convolution Projection WordEmbedding WordsAlone",
        "torch.heads": "FullHead GatedEncoder LinearHead PrunedHead VectorMap concat_features",
        "torch.module": "mean_of_pieces",
        "torch.network": "Network Output",
    },
)
