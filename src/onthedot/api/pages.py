"""The pages for people: the overview at `/` and the API's documentation at `/docs`.

All of it is served from the package: no build step, and no asset from anywhere else.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import msgspec

from onthedot.api.http import HttpError, Request, Response
from onthedot.api.openapi import document
from onthedot.api.responses import json_text
from onthedot.api.routing import get
from onthedot.api.services import Services

_FOLDER: Final = Path(__file__).parent / "static"
_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_OWN: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
# Swagger UI writes style attributes into the page as it draws.
_DOCS: Final = _OWN.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'")


@dataclass(frozen=True, slots=True)
class Asset:
    body: bytes
    media_type: str
    etag: str


@get("/")
async def get_page(request: Request) -> Response:
    return _served(request, "index.html", _OWN)


@get("/docs")
async def get_docs(request: Request) -> Response:
    return _served(request, "docs.html", _DOCS)


@get("/static/{name}")
async def get_static(name: str, request: Request) -> Response:
    return _served(request, name, _OWN)


@get("/openapi.json")
async def get_openapi(services: Services) -> Response:
    return json_text(msgspec.json.encode(document(services.version)))


@cache
def assets() -> dict[str, Asset]:
    """Every file of the folder. Only these names are served, so that no path can lead elsewhere."""
    return {
        path.name: Asset(
            body := path.read_bytes(),
            _TYPES[path.suffix],
            f'"{hashlib.sha256(body).hexdigest()[:16]}"',
        )
        for path in sorted(_FOLDER.iterdir())
        if path.suffix in _TYPES
    }


def _served(request: Request, name: str, policy: str) -> Response:
    asset = assets().get(name)
    if asset is None:
        raise HttpError(404)
    # The links of a page are relative, so that it also works behind a proxy's prefix. The router
    # forgives a slash at the end, but it would lead every link astray.
    *folders, last = request.path_as_sent.split("/")
    if last == "" and folders[-1]:
        return Response(status=308, headers={"Location": f"../{folders[-1]}"})
    headers = {
        "Cache-Control": "no-cache",
        "Content-Security-Policy": policy,
        "ETag": asset.etag,
        "X-Frame-Options": "DENY",
    }
    if request.header("if-none-match") == asset.etag:
        return Response(status=304, headers=headers)
    return Response(asset.body, media_type=asset.media_type, headers=headers)
