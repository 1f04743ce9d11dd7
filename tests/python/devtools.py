"""A window of Chromium that tests type and click in, by its DevTools pipe."""

from __future__ import annotations

import base64
import json
import os
import select
import subprocess
from pathlib import Path
from typing import Any, Self

from browser import chromium

SILENCE_S = 60
"""After so long Chromium is taken for stuck."""
FOCUS_LOOKS = 2_000
HAS_FOCUS = """(() => {
    const wanted = document.querySelector("[autofocus]");
    return !wanted || document.activeElement === wanted;
})()"""


class Window:
    """One page. Chromium listens at file descriptor 3 and answers at 4."""

    def __init__(self, folder: Path, *, width: int = 390, height: int = 844) -> None:
        ours_out, theirs_in = os.pipe()[::-1]
        ours_in, theirs_out = os.pipe()
        words = [
            chromium(),
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--remote-debugging-pipe",
            f"--user-data-dir={folder / 'browser'}",
            "about:blank",
        ]
        # A shell puts the two ends where Chromium looks for them. Not any shell:
        # dash knows no descriptor above 9.
        script = f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}'
        self._process = subprocess.Popen(
            ["/bin/bash", "-c", script, "bash", *words],
            pass_fds=(theirs_in, theirs_out),
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._to = os.fdopen(ours_out, "wb")
        self._from = ours_in
        self._read_so_far = b""
        self._number = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        # Of the targets that are there at the start, the first need not be a page.
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Network", "Log", "Runtime"):
            self.call(f"{domain}.enable")
        self.resize(width, height)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._to.close()
        os.close(self._from)
        self._process.terminate()
        self._process.wait()

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its answer; events in between are kept."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._to.write(json.dumps(message).encode() + b"\0")
        self._to.flush()
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer["error"])
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._read_so_far:
            ready, _, _ = select.select([self._from], [], [], SILENCE_S)
            assert ready, f"Chromium said nothing for {SILENCE_S} s"
            more = os.read(self._from, 65_536)
            assert more, "Chromium ended"
            self._read_so_far += more
        message, _, self._read_so_far = self._read_so_far.partition(b"\0")
        answer: dict[str, Any] = json.loads(message)
        return answer

    def wait_for(self, event: str) -> dict[str, Any]:
        """Wait for an event that has not come yet."""
        while True:
            got = self._read()
            self.events.append(got)
            if got.get("method") == event:
                parameters: dict[str, Any] = got["params"]
                return parameters

    def resize(self, width: int, height: int, *, scale: int = 1) -> None:
        """Show the page as a screen of that size does."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=True,
        )

    def scripts(self, *, on: bool) -> None:
        """Allow pages to run scripts, or not. Ours run in any case."""
        self.call("Emulation.setScriptExecutionDisabled", value=not on)

    def colours(self, scheme: str) -> None:
        """Tell pages that the device is light or dark."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", features=features)

    def open(self, url: str) -> None:
        """Go to an address and wait until it is shown."""
        before = len(self.events)
        self.call("Page.navigate", url=url)
        self._shown(before)

    def evaluate(self, expression: str) -> Any:
        """Compute something in the page."""
        done = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    def press(self, key: str, *, shows: bool = False) -> None:
        """Press a key, and wait for the next page if it leads to one."""
        codes = {"Tab": 9, "Enter": 13, " ": 32}
        text = {"Enter": "\r", " ": " "}.get(key, "")
        common = {"key": key, "windowsVirtualKeyCode": codes[key]}
        before = len(self.events)
        kind = "keyDown" if text else "rawKeyDown"
        self.call("Input.dispatchKeyEvent", type=kind, text=text, **common)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)
        if shows:
            self._shown(before)

    def type(self, text: str) -> None:
        """Type a text where the focus is."""
        self.call("Input.insertText", text=text)

    def click(self, selector: str, *, shows: bool = True) -> None:
        """Click on the middle of what a selector finds."""
        box = self.evaluate(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            " e.scrollIntoView({block: 'center'}); const b = e.getBoundingClientRect();"
            " return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        before = len(self.events)
        for kind in ("mousePressed", "mouseReleased"):
            self.call(
                "Input.dispatchMouseEvent",
                type=kind,
                x=box[0],
                y=box[1],
                button="left",
                clickCount=1,
            )
        if shows:
            self._shown(before)

    def _shown(self, since: int) -> None:
        """Wait until a page is loaded that was not there before, and has its focus."""
        loaded = (event.get("method") == "Page.loadEventFired" for event in self.events[since:])
        if not any(loaded):
            self.wait_for("Page.loadEventFired")
        # The focus comes with the first frame, which may be after the load. What is typed
        # before that is lost.
        for _ in range(FOCUS_LOOKS):
            if self.evaluate(HAS_FOCUS):
                return

    def picture(self, file: Path) -> None:
        """Save what the whole page looks like."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        shot = self.call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(shot["data"]))
