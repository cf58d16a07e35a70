"""Chromium without a window, driven by its own protocol through a pipe: no package but the browser itself is needed."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time


def find_browser():
    """The browser's program, or None."""
    return next((found for found in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if found), None)


class Browser:
    """One page. Messages of its console and its errors are in `said`."""

    def __init__(self, width=1280, height=900):
        self.profile = tempfile.mkdtemp(prefix="neon-browser-")
        self.said, self.requests, self.number, self.rest = [], [], 0, b""
        to_browser, self.to = os.pipe()
        self.answers, from_browser = os.pipe()
        script = f'exec "$0" "$@" 3<&{to_browser} 4>&{from_browser}'
        # The sandbox needs rights that a container does not give. Nothing here opens a page of the network.
        self.process = subprocess.Popen(
            ["bash", "-c", script, find_browser(), "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
             "--disable-dev-shm-usage", "--remote-debugging-pipe", f"--user-data-dir={self.profile}"],
            pass_fds=(to_browser, from_browser), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(to_browser)
        os.close(from_browser)
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in "Page", "Runtime", "Log", "Network":
            self.call(domain + ".enable")
        self.resize(width, height)

    def close(self):
        try:
            self.call("Browser.close")
            self.process.wait(10)
        except (RuntimeError, subprocess.TimeoutExpired):
            self.process.kill()
        finally:
            os.close(self.to)
            os.close(self.answers)
            self.process.wait()
            shutil.rmtree(self.profile, ignore_errors=True)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if hasattr(self, "session"):
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        return self.wait(lambda answer: answer.get("id") == message["id"], method)["result"]

    def wait(self, wanted, what, seconds=60):
        """The next message that is wanted; all others are noted."""
        end = time.monotonic() + seconds
        while True:
            while b"\0" in self.rest:
                line, self.rest = self.rest.split(b"\0", 1)
                message = json.loads(line)
                self.note(message)
                if wanted(message):
                    if "error" in message:
                        raise RuntimeError(f"{what}: {message['error']}")
                    return message
            if not select.select([self.answers], [], [], max(end - time.monotonic(), 0))[0]:
                raise RuntimeError(f"the browser does not answer to {what}")
            piece = os.read(self.answers, 1 << 20)
            if not piece:
                raise RuntimeError(f"the browser ended before it answered to {what}")
            self.rest += piece

    def note(self, message):
        method, about = message.get("method"), message.get("params", {})
        if method == "Runtime.consoleAPICalled":
            self.said.append(str([part.get("value") for part in about["args"]]))
        if method == "Runtime.exceptionThrown":
            self.said.append(json.dumps(about["exceptionDetails"]))
        if method == "Log.entryAdded":
            self.said.append(about["entry"]["text"])
        if method == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])

    def resize(self, width, height, phone=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)

    def open(self, address):
        """After it, the charts in sight are drawn."""
        self.call("Page.navigate", url=address)
        self.wait(lambda message: message.get("method") == "Page.loadEventFired", "the page")
        self.settle()

    def run(self, script):
        """The value of a script's expression."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"])[:2000])
        return answer["result"].get("value")

    def settle(self):
        """After the next two frames and the tasks that they queued (charts that come into sight), all is drawn."""
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => done(0)))))")

    def press(self, key, code=0, text=""):
        keys = {"key": key, "windowsVirtualKeyCode": code, "text": text}
        self.call("Input.dispatchKeyEvent", type="keyDown", **keys)
        self.call("Input.dispatchKeyEvent", type="keyUp", **keys)

    def mouse(self, kind, x, y, button="none", clicks=0):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, clickCount=clicks)

    def drag(self, x, y, to):
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, "left", 1)
        self.mouse("mouseMoved", (x + to) / 2, y, "left")
        self.mouse("mouseMoved", to, y, "left")
        self.mouse("mouseReleased", to, y, "left", 1)

    def dark(self, yes):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if yes else "light"}])

    def picture(self, path, whole=False):
        image = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(image))
