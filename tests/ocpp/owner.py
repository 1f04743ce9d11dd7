"""The owner of a charger, who links it on the pages of the service."""

from __future__ import annotations

import re
from urllib.parse import urlencode

from production import ask


def allow(url: str, identity: str, code: str) -> None:
    """Log in with an identity and its code, and allow the charger, as in a browser."""
    page, html = ask("GET", url)
    cookie = page.getheader("set-cookie", "").partition(";")[0]
    for entered in (
        {"user_name": identity, "password": code},
        {"device": f"{identity}/1", "do": "allow"},
    ):
        hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', html))
        headers = {"Cookie": cookie, "Content-Type": "application/x-www-form-urlencoded"}
        page, html = ask("POST", url, urlencode({**hidden, **entered}), headers)
        assert page.status in (200, 302, 303), html
        if page.status == 303:
            _, html = ask("GET", url, headers={"Cookie": cookie})
