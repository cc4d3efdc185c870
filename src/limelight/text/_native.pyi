from collections.abc import Callable

VERSION: int

class Splitter:
    def __new__(cls, key: bytes, lowercase: bool, first: int, none: int, /) -> Splitter: ...
    def __len__(self) -> int: ...
    def number(
        self,
        texts: tuple[str, ...],
        ways: bytes,
        learn: Callable[[str], bytes],
        whole: Callable[[str], bytes],
        /,
    ) -> tuple[bytes, bytes, bytes]: ...
