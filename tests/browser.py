"""A headless Chromium, driven through its DevTools protocol over a pair of pipes: no driver and no port is needed."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any

__all__ = ["Browser", "chromium"]

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
LIMIT = 120.0
"""Seconds after which an answer is no longer waited for."""
ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
)

MIDDLE = """(selector) => {
  const element = document.querySelector(selector);
  if (!element) return null;
  element.scrollIntoView({block: 'nearest', inline: 'nearest', behavior: 'instant'});
  const box = element.getBoundingClientRect(), x = box.x + box.width / 2, y = box.y + box.height / 2;
  return element.contains(document.elementFromPoint(x, y)) ? [x, y] : null;
}"""
"""Where an element's middle is, once it is in sight and nothing covers it: lists scroll, what is drawn late moves."""


def chromium() -> str | None:
    """The browser's program, None where there is none."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Browser:
    """One page of a browser process; what it logs and the errors that scripts raise are collected in ``errors``.

    Args:
        program: the browser.
        profile: a folder of its own.
        size: the window's width and height in pixels.
    """

    def __init__(self, program: str, profile: Path, size: tuple[int, int] = (1440, 900)) -> None:
        self.errors: list[str] = []
        self.requests: list[str] = []
        self._number = 0
        self._session = ""
        self._rest = b""
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        command = [
            program,
            *ARGUMENTS,
            f"--user-data-dir={profile}",
            f"--window-size={size[0]},{size[1]}",
            "about:blank",
        ]
        wired = f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}'
        self._process = subprocess.Popen(
            ["bash", "-c", wired, "chromium", *command],
            pass_fds=(theirs_in, theirs_out),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        targets = self.send("Target.getTargets")["targetInfos"]
        page = next(target["targetId"] for target in targets if target["type"] == "page")
        self._session = self.send("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        self.send(
            "Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1, mobile=False
        )

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._in)
        os.close(self._out)

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """What a command of the protocol answers; events that arrive before it are looked at."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data) :]
        deadline = time.monotonic() + LIMIT
        while True:
            answer = self._next(deadline)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return dict(answer["result"])
            self._look_at(answer)

    def open(self, path: Path, dark: bool = False) -> None:
        """Load a file and wait until its scripts have run."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])
        self.send("Page.navigate", url=path.resolve().as_uri())
        self.wait_for("document.readyState === 'complete' && location.protocol === 'file:'")

    def run(self, script: str) -> Any:
        """The value of an expression of JavaScript in the page, a promise's once it has one."""
        answer = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise RuntimeError(f"{script}: {details.get('exception', details).get('description', details)}")
        return answer["result"].get("value")

    def wait_for(self, condition: str) -> Any:
        """Wait until an expression is true; its value then."""
        deadline = time.monotonic() + LIMIT
        while not (value := self.run(condition)):
            if time.monotonic() > deadline:
                raise TimeoutError(condition)
            time.sleep(0.02)
        return value

    def click(self, selector: str) -> None:
        """Press the pointer's first button in the middle of a selector's first element, once it can be hit there."""
        x, y = self.wait_for(f"({MIDDLE})({json.dumps(selector)})")
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key: str, code: int = 0, text: str = "") -> None:
        """Press a key, as ``KeyboardEvent.key`` names it; ``code`` is the virtual key's."""
        common: dict[str, Any] = {"key": key, "windowsVirtualKeyCode": code}
        self.send("Input.dispatchKeyEvent", type="keyDown", **common, **({"text": text} if text else {}))
        self.send("Input.dispatchKeyEvent", type="keyUp", **common)

    def type(self, text: str) -> None:
        """Type text into what has the focus."""
        self.send("Input.insertText", text=text)

    def picture(self, path: Path) -> None:
        """Save what the window shows as PNG."""
        path.write_bytes(base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"]))

    def _next(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._in], [], [], max(0.0, deadline - time.monotonic()))
            chunk = os.read(self._in, 1 << 16) if ready else b""
            if not chunk:
                raise TimeoutError("the browser does not answer" if not ready else "the browser has ended")
            self._rest += chunk
        message, _, self._rest = self._rest.partition(b"\0")
        return dict(json.loads(message))

    def _look_at(self, event: dict[str, Any]) -> None:
        details = event.get("params", {})
        match event.get("method"):
            case "Runtime.exceptionThrown":
                self.errors.append(str(details["exceptionDetails"]))
            case "Runtime.consoleAPICalled" if details["type"] in ("error", "warning", "assert"):
                self.errors.append(str(details["args"]))
            case "Log.entryAdded" if details["entry"]["level"] in ("error", "warning"):
                self.errors.append(details["entry"]["text"])
            case "Network.requestWillBeSent":
                self.requests.append(details["request"]["url"])
