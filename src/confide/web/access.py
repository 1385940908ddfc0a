"""Access control: only the browser that opened the first address can use the pages.

Every request must name this server as its host, come from this server's own pages, and
carry the cookie that was set when the first address was opened. Browsers send cookies of
127.0.0.1 to every port, so the cookie is also limited to a path that cannot be guessed.
"""

import hmac
import secrets
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOST = "127.0.0.1"
COOKIE = "confide"
ENTRANCE = "/"
POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
"""Headers of every response. The referrer is hidden from other sites only, because browsers
that may send no referrer at all also omit the origin of our own forms."""
OWN_SITES = ("same-origin", "none")
"""Values of ``sec-fetch-site`` for our own pages and for typed addresses."""
PAGE = (
    '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">{head}'
    "<title>confide</title></head><body><h1>{title}</h1><p>{text}</p></body></html>"
)
STRANGER = "This page works only in the browser in which it was first opened."
USED = "This link works only once, and it has already been used."
ADVICE = (
    "Press Ctrl-C in the terminal where confide was started, and start it again with: "
    "confide open"
)


@dataclass(slots=True)
class Admission:
    """Credentials of a browser: a token that works once, then a cookie on a secret path."""

    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    cookie: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    path: str = field(default_factory=lambda: f"/{secrets.token_hex(8)}")
    used: bool = False

    @property
    def host(self) -> str:
        """The only host that requests may name."""
        return f"{HOST}:{self.port}"

    @property
    def origin(self) -> str:
        """The origin of the pages."""
        return f"http://{self.host}"

    @property
    def first_address(self) -> str:
        """The address to open, which works once."""
        return f"{self.origin}{ENTRANCE}?token={self.token}"

    def admits(self, token: str) -> bool:
        """Return whether a token is correct; the correct token is accepted only once."""
        right = not self.used and hmac.compare_digest(token.encode(), self.token.encode())
        self.used = self.used or right
        return right

    def knows(self, header: str) -> bool:
        """Return whether a cookie header contains the cookie of this server."""
        try:
            held = SimpleCookie(header).get(COOKIE)
        except CookieError:
            return False
        given = "" if held is None else held.value
        return self.used and hmac.compare_digest(given.encode(), self.cookie.encode())


class Gate:
    """Middleware that refuses foreign requests and adds headers to all responses."""

    def __init__(self, app: ASGIApp, entry: Admission) -> None:
        self.app, self.entry = app, entry

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request to the application, or refuse it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        answer = self._answer(scope)
        if answer is not None:
            await answer(scope, receive, marked)
            return
        inside = str(scope["path"]).removeprefix(self.entry.path) or "/"
        await self.app({**scope, "path": inside, "raw_path": None}, receive, marked)

    def _answer(self, scope: Scope) -> Response | None:
        """Return a refusal or the entrance page; None if the request is admitted."""
        headers, path = Headers(scope=scope), str(scope["path"])
        if headers.getlist("host") != [self.entry.host]:
            return refusal(
                "This address does not belong to this server. Open the address that was "
                "printed where confide was started."
            )
        if scope["method"] == "GET" and path == ENTRANCE:
            return self._enter(scope)
        foreign = headers.getlist("origin") not in ([], [self.entry.origin])
        spoken = headers.get("origin") or headers.get("sec-fetch-site")
        if foreign or headers.get("sec-fetch-site", "none") not in OWN_SITES:
            return refusal("Requests must come from the pages of this server.")
        if scope["method"] not in ("GET", "HEAD") and spoken is None:
            return refusal("Requests that change something must state their origin.")
        inside = path == self.entry.path or path.startswith(f"{self.entry.path}/")
        if not inside or not self.entry.knows(headers.get("cookie", "")):
            return refusal(f"{STRANGER} {ADVICE}")
        return None

    def _enter(self, scope: Scope) -> Response:
        """Exchange the token for the cookie, and redirect to an address without the token.

        A page redirects the browser, because after an HTTP redirect browsers would not send
        a cookie with SameSite=Strict if the first address was opened from another site.
        """
        query = parse_qs(scope.get("query_string", b"").decode("ascii", "replace"))
        if not self.entry.admits(query.get("token", [""])[0]):
            return refusal(f"{USED} {ADVICE}")
        there = f"{self.entry.path}/"
        head = (
            f'<meta http-equiv="refresh" content="0; url={there}">'
            f'<link rel="icon" href="{there}static/icon.svg">'
        )
        link = f'<a href="{there}">Go on</a>'
        # the referrer must not reveal the token in this address
        response = HTMLResponse(
            PAGE.format(head=head, title="confide", text=link),
            headers={"referrer-policy": "no-referrer"},
        )
        response.set_cookie(
            COOKIE,
            self.entry.cookie,
            path=self.entry.path,
            httponly=True,
            samesite="strict",
        )
        return response


def refusal(text: str) -> Response:
    """Return a response that refuses a request and reveals nothing."""
    page = PAGE.format(head="", title="Access refused", text=text)
    return HTMLResponse(page, status_code=403)
