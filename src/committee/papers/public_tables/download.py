"""Files from the network: over https alone, no larger than is known, and refused where the checksum is another."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from http.client import HTTPException, HTTPMessage
from io import BufferedIOBase
from typing import IO, TypeAlias
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from committee.papers.public_tables.public_table import RawFile

SILENCE = 30.0
"""Seconds that a server may say nothing."""
LONGEST = 300.0
"""Seconds that one file may take."""
PIECE = 1 << 16

Opener: TypeAlias = Callable[[str], AbstractContextManager[BufferedIOBase]]
"""What opens an address for reading."""


class NoConnectionError(ValueError):
    """No server was reached: further files would fare no better."""


class _NoWayDown(HTTPRedirectHandler):
    """Follows no redirection from https to anything else."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        if not newurl.startswith("https://"):
            raise URLError(f"it redirects to {newurl}, which is not https")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def open_https(address: str) -> AbstractContextManager[BufferedIOBase]:
    """Open an https address for reading.

    Raises
    ------
    ValueError
        If it is another kind of address.
    OSError
        If nothing answers, or with an error.
    """
    if not address.startswith("https://"):
        raise ValueError(f"{address} is not an https address")
    request = Request(address, headers={"User-Agent": "committee"})
    found: AbstractContextManager[BufferedIOBase] = build_opener(_NoWayDown).open(request, timeout=SILENCE)
    return found


def downloaded(file: RawFile, opener: Opener = open_https) -> bytes:
    """Return the content of a file of the map.

    Raises
    ------
    NoConnectionError
        If no server was reached.
    ValueError
        If it answers with an error, breaks off, or has another content than the map's; each names the address.
    """
    try:
        with opener(file.address) as answer:
            content = _read(answer, file)
    except HTTPError as error:
        raise ValueError(
            f"{file.address} answers {error.code} {error.reason}; it may have been withdrawn: leave the table out with"
            " --tables, or put it into the folder by hand"
        ) from error
    except (URLError, ConnectionError, TimeoutError) as error:
        reason = getattr(error, "reason", None) or error
        raise NoConnectionError(
            f"{file.address} cannot be reached ({reason}); see to the network or its proxy (HTTPS_PROXY), then give the"
            " same command again"
        ) from error
    except (OSError, HTTPException) as error:
        raise ValueError(f"{file.address} broke off ({error!r}); give the same command again") from error
    digest = hashlib.sha256(content).hexdigest()
    if digest != file.sha256:
        raise ValueError(
            f"{file.address} is another file than the one that is known: {len(content):,} bytes with sha256"
            f" {digest[:12]}..., not {file.size:,} with {file.sha256[:12]}...; something between here and there changes"
            " or cuts it: try again from another network, or leave the table out with --tables"
        )
    return content


def _read(answer: BufferedIOBase, file: RawFile) -> bytes:
    """All there is, but no more than one byte too many; as it comes, so that a trickle is noticed."""
    until = time.monotonic() + LONGEST
    content = bytearray()
    while len(content) <= file.size:
        if time.monotonic() > until:
            raise ValueError(f"{file.address} takes longer than {LONGEST:.0f} seconds; give the same command again")
        piece = answer.read1(min(PIECE, file.size + 1 - len(content)))
        if not piece:
            break
        content += piece
    return bytes(content)
