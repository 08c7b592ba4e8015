"""Headless Chromium for tests of pages, over its debugging pipe.

Needs nothing but the browser (Debian: chromium-headless-shell). Its protocol is
public: https://chromedevtools.github.io/devtools-protocol/. Messages are JSON,
each ended by a zero byte, on descriptors 3 and 4 of the browser.
"""

import base64
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def find_browser():
    """A path; None where there is no browser."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class BrowserError(Exception):
    pass


class Browser:
    """One page. What the console says, errors, and requests are kept."""

    def __init__(self, path):
        self.profile = tempfile.TemporaryDirectory(prefix="layline-browser-")
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()

        def descriptors():
            # Out of the way first: either may be 3 or 4 itself.
            reading, writing = os.dup2(to_browser, 60), os.dup2(from_browser, 61)
            os.dup2(reading, 3)
            os.dup2(writing, 4)

        command = [path, "--remote-debugging-pipe", "--no-first-run", "--disable-gpu",
                   "--disable-extensions", "--disable-background-networking",
                   "--disable-dev-shm-usage", "--hide-scrollbars", "--mute-audio",
                   f"--user-data-dir={self.profile.name}", "about:blank"]
        if "headless-shell" not in path:
            command.insert(1, "--headless=new")
        if os.geteuid() == 0:
            command.insert(1, "--no-sandbox")
        self.errors_of_browser = open(pathlib.Path(self.profile.name) / "stderr", "w+b")
        # Descriptors are dealt out by hand above, so none may be closed for us.
        self.process = subprocess.Popen(command, preexec_fn=descriptors, close_fds=False,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=self.errors_of_browser)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer = b""
        self.number = 0
        self.events = []
        self.console, self.requests = [], []
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(t["targetId"] for t in targets if t["type"] == "page")
        self.session = None
        self.session = self.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
        except (BrowserError, OSError):
            self.process.kill()
        self.process.wait()
        self.errors_of_browser.close()
        os.close(self.write_end)
        os.close(self.read_end)
        self.profile.cleanup()

    def read(self):
        while b"\0" not in self.buffer:
            more = os.read(self.read_end, 1 << 20)
            if not more:
                self.errors_of_browser.seek(0)
                said = self.errors_of_browser.read().decode(errors="replace")[-400:]
                raise BrowserError(f"the browser ended: {said}")
            self.buffer += more
        message, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(message)

    def note(self, message):
        """Keeps what the test asks about later."""
        method, params = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.console.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled":
            self.console.append(" ".join(str(a.get("value", a.get("description")))
                                         for a in params["args"]))
        elif method == "Log.entryAdded":
            self.console.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        self.events.append(method)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if getattr(self, "session", None):
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.write_end, data):]
        while True:
            answer = self.read()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.note(answer)

    def wait_for(self, event):
        while event not in self.events:
            self.note(self.read())

    def open(self, path):
        self.events, self.console, self.requests = [], [], []
        self.call("Page.navigate", url=pathlib.Path(path).resolve().as_uri())
        self.wait_for("Page.loadEventFired")

    def run(self, script):
        """The value of an expression of the page, as JSON."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise BrowserError(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "End": 35, "Home": 36, "ArrowLeft": 37,
            "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}

    def key(self, name, shift=False):
        text = {"Enter": "\r", " ": " "}.get(name)
        common = {"key": name, "code": "Space" if name == " " else name,
                  "windowsVirtualKeyCode": self.KEYS[name], "modifiers": 8 if shift else 0}
        self.call("Input.dispatchKeyEvent", type="keyDown", **common,
                  **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def screen(self, width, height=900, dark=False, media="screen"):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", media=media, features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        # The page is told of it in its next frame.
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def screenshot(self, path, whole=True):
        picture = self.call("Page.captureScreenshot", captureBeyondViewport=whole, format="png")
        pathlib.Path(path).write_bytes(base64.b64decode(picture["data"]))

    def pdf(self, path):
        data = self.call("Page.printToPDF", printBackground=True)["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))
