"""Work beside the rest of a training step."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


class SideStream:
    """A second stream of a GPU, for work that others need not wait for; on a CPU, it is done at once.

    What the work reads must be kept until `join`; what it makes and another stream reads, until the next
    `aside` or longer, as the side stream may then use its memory again.

    >>> side = SideStream(torch.device("cpu"))
    >>> with side.aside():
    ...     x = torch.ones(2) + 1
    >>> side.join()
    >>> x.tolist()
    [2.0, 2.0]
    """

    def __init__(self, device: torch.device) -> None:
        self.stream = torch.cuda.Stream(device) if device.type == "cuda" else None

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Within this, work goes to the side stream, after all that the current stream was given so far."""
        if self.stream is None:
            yield
            return
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            yield

    def join(self) -> None:
        if self.stream is not None:
            torch.cuda.current_stream().wait_stream(self.stream)


NO_SIDE_STREAM = SideStream(torch.device("cpu"))
