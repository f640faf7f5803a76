"""A browser without a window, spoken to by the DevTools protocol: pictures of pages, clicks, what the console said.

It reaches no network: every host name is refused. Needs Chromium, and tornado, which is here.
"""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tornado.websocket import WebSocketClientConnection, websocket_connect

CHROMIUM = (
    shutil.which("chromium")
    or shutil.which("google-chrome")
    or shutil.which("chromium-browser")
)

_OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--hide-scrollbars",
    "--remote-debugging-port=0",
)


class Page:
    """An open page.

    Attributes
    ----------
    said : list of str
        Errors and warnings of its console, and what it threw.
    requests : list of str
        Addresses it asked for.
    """

    def __init__(self, socket: WebSocketClientConnection) -> None:
        self._socket = socket
        self._sent = 0
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self.said: list[str] = []
        self.requests: list[str] = []
        self._loaded = asyncio.Event()
        self._listening = asyncio.ensure_future(self._listen())

    async def _listen(self) -> None:
        while (text := await self._socket.read_message()) is not None:
            message = json.loads(text)
            if "id" in message:
                self._answers.pop(message["id"]).set_result(message)
                continue
            method = message["method"]
            told = message.get("params", {})
            if method == "Page.loadEventFired":
                self._loaded.set()
            elif method == "Network.requestWillBeSent":
                self.requests.append(told["request"]["url"])
            elif method == "Runtime.exceptionThrown":
                self.said.append(json.dumps(told["exceptionDetails"])[:500])
            elif method == "Runtime.consoleAPICalled" and told["type"] in (
                "error",
                "warning",
            ):
                self.said.append(
                    json.dumps(
                        [
                            one.get("value", one.get("description"))
                            for one in told["args"]
                        ]
                    )
                )
            elif method == "Log.entryAdded" and told["entry"]["level"] in (
                "error",
                "warning",
            ):
                self.said.append(
                    f"{told['entry']['text']} {told['entry'].get('url', '')}"
                )

    async def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and return its answer."""
        self._sent += 1
        answer = self._answers[self._sent] = asyncio.get_running_loop().create_future()
        await self._socket.write_message(
            json.dumps({"id": self._sent, "method": method, "params": params})
        )
        message = await asyncio.wait_for(answer, 120)
        if "error" in message:
            raise RuntimeError(f"{method}: {message['error']}")
        return message["result"]

    async def open(
        self, url: str, width: int = 1400, height: int = 900, dark: bool = False
    ) -> None:
        """Go to an address, in a window of this width, with the reader's preference of light or dark."""
        for domain in ("Page", "Runtime", "Log", "Network"):
            await self.send(f"{domain}.enable")
        size = {
            "width": width,
            "height": height,
            "deviceScaleFactor": 1,
            "mobile": width < 500,
        }
        await self.send("Emulation.setDeviceMetricsOverride", **size)
        await self.prefer(dark)
        self._loaded.clear()
        await self.send("Page.navigate", url=url)
        await asyncio.wait_for(self._loaded.wait(), 120)

    async def prefer(self, dark: bool) -> None:
        """Set the reader's preference of light or dark."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self.send("Emulation.setEmulatedMedia", features=[scheme])

    async def until(self, condition: str, seconds: float = 8.0) -> None:
        """Wait until an expression holds."""
        for _ in range(round(20 * seconds)):
            if await self.run(condition):
                return
            await asyncio.sleep(0.05)
        raise AssertionError(f"{condition} never holds; the console has {self.said}")

    async def run(self, script: str) -> Any:
        """Return the value of an expression, awaited where it is a promise."""
        options = {"returnByValue": True, "awaitPromise": True, "userGesture": True}
        found = await self.send("Runtime.evaluate", expression=script, **options)
        if "exceptionDetails" in found:
            raise RuntimeError(json.dumps(found["exceptionDetails"])[:800])
        return found["result"].get("value")

    async def mouse(self, x: float, y: float, click: bool = False) -> None:
        """Move the mouse, and click where asked."""
        await self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        for kind in ("mousePressed", "mouseReleased") if click else ():
            await self.send(
                "Input.dispatchMouseEvent",
                type=kind,
                x=x,
                y=y,
                button="left",
                clickCount=1,
            )

    async def picture(self, whole: bool = False) -> bytes:
        """Return what is in view, or the whole page, as PNG."""
        shot = await self.send(
            "Page.captureScreenshot", format="png", captureBeyondViewport=whole
        )
        return base64.b64decode(shot["data"])


@asynccontextmanager
async def browser() -> AsyncIterator[Page]:
    """Start Chromium with an empty page, and end it."""
    assert CHROMIUM is not None, "Chromium is not installed"
    with tempfile.TemporaryDirectory(
        prefix="olscale-browser-", ignore_cleanup_errors=True
    ) as folder:
        refused = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
        command = [
            CHROMIUM,
            *_OPTIONS,
            f"--user-data-dir={folder}",
            refused,
            "about:blank",
        ]
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stderr is not None
            port = next(
                line.split(":")[2].split("/")[0]
                for line in process.stderr
                if "DevTools listening" in line
            )
            yield await _page(int(port))
        finally:
            process.terminate()
            process.communicate()


async def _page(port: int) -> Page:
    from tornado.httpclient import AsyncHTTPClient

    while True:
        answer = await AsyncHTTPClient().fetch(f"http://127.0.0.1:{port}/json/list")
        for target in json.loads(answer.body):
            if target["type"] == "page":
                return Page(
                    await websocket_connect(
                        target["webSocketDebuggerUrl"], max_message_size=1 << 28
                    )
                )
        await asyncio.sleep(0.1)
