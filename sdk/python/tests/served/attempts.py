"""What a client says of its attempts to come back."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def attempts(told: Callable[[str], None]) -> Iterator[None]:
    """Tells what is logged."""

    class Teller(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            told(record.getMessage())

    logger, teller = logging.getLogger("vertebra"), Teller()
    level = logger.level
    logger.addHandler(teller)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(level)
        logger.removeHandler(teller)
