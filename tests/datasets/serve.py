#!/usr/bin/env python3
"""A server that misbehaves on demand, for download_test.cpp. Prints its port; ends when its stdin does."""
import http.server
import os
import sys
import threading
import time

BODY = b"0123456789" * 100


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def answer(self, status, body, length=None, headers=()):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        for key, value in headers:
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path == "/good":
            self.answer(200, BODY)
        elif self.path == "/slow":  # long enough for a second process to come
            time.sleep(0.5)
            self.answer(200, BODY)
        elif self.path == "/html":
            self.answer(200, b"<!DOCTYPE html><html><body>Please log in</body></html>")
        elif self.path == "/broken":
            self.answer(200, BODY[:400], length=len(BODY))
            self.close_connection = True
        elif self.path == "/endless":  # no length said, never ends
            self.send_response(200)
            self.end_headers()
            try:
                while True:
                    self.wfile.write(BODY)
            except OSError:
                pass
        elif self.path == "/stall":
            self.answer(200, BODY[:10], length=len(BODY))
            self.wfile.flush()
            time.sleep(20)
        elif self.path == "/drip":  # never stalls, never comes to an end
            self.send_response(200)
            self.send_header("Content-Length", "40000")
            self.end_headers()
            try:
                for _ in range(200):  # 4,000 bytes a second
                    self.wfile.write(BODY[:200])
                    time.sleep(0.05)
            except OSError:
                pass
        elif self.path == "/moved":
            self.answer(302, b"", headers=[("Location", "/good")])
        elif self.path == "/escape":
            self.answer(302, b"", headers=[("Location", "file:///etc/hostname")])
        else:
            self.answer(404, b"not here")


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_port, flush=True)
sys.stdin.read()
os._exit(0)
