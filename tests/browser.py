"""A browser without a window, for looking at pages as readers do: Chromium, if it is installed.

It is spoken to through two pipes in Chromium's own debugging protocol (one JSON object per message, ended by a
zero byte), so no further package is needed. The browser works in a folder of its own and resolves no host names.
"""

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from haltere.foundation import HaltereError

NAMES = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--enable-unsafe-swiftshader",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--remote-debugging-pipe",
)
# Chromium reads commands from descriptor 3 and answers on 4; subprocess cannot place descriptors itself.
_PLACE_PIPES = (
    "import os, sys; r, w = (os.dup(int(x)) for x in sys.argv[1:3]); r, w = os.dup(r), os.dup(w); "
    "os.dup2(r, 3); os.dup2(w, 4); os.execvp(sys.argv[3], sys.argv[3:])"
)


def find() -> str | None:
    """Path of an installed Chromium, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


@dataclass
class Tab:
    """One open page."""

    writer: BinaryIO
    reader: BinaryIO
    timeout: float
    session: str | None = None
    events: list[dict[str, Any]] = field(default_factory=list)
    _count: int = 0
    _rest: bytes = b""

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command of the protocol and wait for its answer; events that arrive meanwhile are kept."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        if self.session is not None:
            message["sessionId"] = self.session
        self.writer.write(json.dumps(message).encode() + b"\0")
        self.writer.flush()
        deadline = time.monotonic() + self.timeout
        while True:
            answer = self._receive(deadline, method)
            if answer.get("id") != self._count:
                self.events.append(answer)
            elif "error" in answer:
                raise HaltereError(f"browser: {method} failed: {answer['error'].get('message')}")
            else:
                result: dict[str, Any] = answer["result"]
                return result

    def _receive(self, deadline: float, method: str) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self.reader], [], [], max(0.0, deadline - time.monotonic()))
            chunk = os.read(self.reader.fileno(), 1 << 20) if ready else b""
            if not chunk:
                raise HaltereError(
                    f"browser: no answer to {method} within {self.timeout:g} s; try again when the machine is less busy"
                )
            self._rest += chunk
        line, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        return message

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression on the page; promises are awaited."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise HaltereError(f"browser: {expression!r} raised {answer['exceptionDetails'].get('text')}")
        return answer["result"].get("value")

    def resize(self, width: int, height: int) -> None:
        """Give the page a size in CSS pixels."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def open(self, path: Path) -> None:
        """Load a file and wait until the page says that its figures are drawn."""
        self.call("Page.navigate", url=path.resolve().as_uri())
        deadline = time.monotonic() + self.timeout
        while self.evaluate("document.documentElement?.dataset.ready") != "yes":
            if time.monotonic() > deadline:
                raise HaltereError(
                    f"browser: {path} was not drawn within {self.timeout:g} s; try again when the machine is less busy"
                )
            time.sleep(0.1)

    def screenshot(self, selector: str | None = None, scale: float = 1.0) -> bytes:
        """A PNG of the whole page, or of the first element that `selector` names."""
        box = f"document.querySelector({json.dumps(selector or 'html')}).getBoundingClientRect().toJSON()"
        rectangle = self.evaluate(f"(() => {{ scrollTo(0, 0); return {box}; }})()")
        clip = {name: rectangle[name] for name in ("x", "y", "width", "height")} | {"scale": scale}
        answer = self.call("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
        return base64.b64decode(answer["data"])

    def pdf(self) -> bytes:
        """The page as it is printed."""
        return base64.b64decode(
            self.call("Page.printToPDF", preferCSSPageSize=True, printBackground=True)["data"]
        )

    def complaints(self) -> list[str]:
        """Errors and warnings of the page so far, and addresses it asked for beyond its own file."""
        self.evaluate("0")
        found = []
        for event in self.events:
            method, detail = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(str(detail["exceptionDetails"].get("text")))
            elif method == "Runtime.consoleAPICalled" and detail["type"] in {"error", "warning", "assert"}:
                found.append(" ".join(str(a.get("value", a.get("description"))) for a in detail["args"]))
            elif method == "Log.entryAdded" and detail["entry"]["level"] == "error":
                found.append(detail["entry"]["text"])
            elif method == "Network.requestWillBeSent":
                address = detail["request"]["url"]
                if not address.startswith(("file:", "data:", "blob:")):
                    found.append(f"asked for {address}")
        return found


@contextlib.contextmanager
def tab(width: int = 1280, height: int = 900, timeout: float = 60.0) -> Iterator[Tab]:
    """An empty page of this size; the browser ends with the block."""
    program = find()
    if program is None:
        raise HaltereError(
            f"no browser found, looked for {', '.join(NAMES)}; install Chromium (Debian: apt install chromium)"
        )
    with contextlib.ExitStack() as stack:
        home = stack.enter_context(
            tempfile.TemporaryDirectory(prefix="haltere-browser-", ignore_cleanup_errors=True)
        )
        command_out, command_in = os.pipe()
        answer_out, answer_in = os.pipe()
        words = [sys.executable, "-c", _PLACE_PIPES, str(command_out), str(answer_in)]
        process = subprocess.Popen(
            [*words, program, *_FLAGS, f"--user-data-dir={home}", "about:blank"],
            pass_fds=(command_out, answer_in),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(command_out)
        os.close(answer_in)
        stack.callback(_end, process)
        reader = stack.enter_context(os.fdopen(answer_out, "rb", buffering=0))
        writer = stack.enter_context(os.fdopen(command_in, "wb", buffering=0))
        page = Tab(writer, reader, timeout)
        stack.callback(_close, page)
        target = page.call("Target.createTarget", url="about:blank")["targetId"]
        page.session = page.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        page.resize(width, height)
        yield page


def _close(page: Tab) -> None:
    """Ask the browser to end by itself, so that it leaves nothing behind in its folder."""
    page.session = None
    with contextlib.suppress(HaltereError, OSError):
        page.call("Browser.close")


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Wait for the browser that we started, and end it if it does not by itself."""
    for last_resort in (process.terminate, process.kill, None):
        try:
            process.wait(10.0)
            return
        except subprocess.TimeoutExpired:
            if last_resort is not None:
                last_resort()
