"""A web server for the tests: server.py FOLDER, on a free port of the loopback address.

Prints the port. /MODE/PATH answers with FOLDER/PATH in the manner of MODE:

    good      as it should be, parts too
    whole     never a part
    short     promises a hundred bytes more than it has, never a part
    cut       breaks off after 1000 bytes, parts too
    slow      a kilobyte every 20 ms, parts too
    huge      promises a terabyte, never a part
    endless   promises nothing and does not end, never a part
    other     always another part than the one that was asked for
    moved     is at /good/PATH
    round     is at /round/PATH, for ever
    busy      503
    gone      404

Each request is a line "MODE/PATH RANGE" in FOLDER/log. It ends by itself after a minute.
"""
import http.server
import os
import re
import ssl
import sys
import threading
import time

FOLDER = sys.argv[1]


def requested_start(text, size):
    """The first byte of "bytes=N-" (0 if nothing is asked for), None if it is beyond the end."""
    match = re.fullmatch(r"bytes=(\d+)-", text or "")
    start = int(match.group(1)) if match else 0
    return start if start < size or start == 0 else None


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.close_connection = True
        _, mode, path = self.path.split("/", 2)
        asked = self.headers.get("Range", "-")
        with open(os.path.join(FOLDER, "log"), "a", encoding="utf-8") as log:
            log.write(f"{mode}/{path} {asked}\n")
        if mode in ("moved", "round"):
            return self.answer(302, [("Location", f"/{'good' if mode == 'moved' else mode}/{path}")])
        file = os.path.join(FOLDER, path)
        if mode in ("busy", "gone") or not os.path.isfile(file):
            return self.answer(503 if mode == "busy" else 404, [])
        with open(file, "rb") as content:
            self.send(mode, asked, content.read())

    def answer(self, code, headers, length=0):
        self.send_response(code)
        for name, value in headers + [("Content-Length", str(length)), ("Connection", "close")]:
            self.send_header(name, value)
        self.end_headers()

    def send(self, mode, asked, data):
        if mode in ("whole", "short"):
            self.answer(200, [], len(data) + (100 if mode == "short" else 0))
            self.wfile.write(data)
            return
        if mode == "huge":
            self.answer(200, [], 1 << 40)
            self.wfile.write(data)
            return
        if mode == "endless":
            self.send_response(200)
            self.send_header("Connection", "close")
            self.end_headers()
            while True:  # until the client has had enough
                self.wfile.write(b"0" * 65536)
        start = requested_start(asked, len(data))
        if start is None:
            self.answer(416, [("Content-Range", f"bytes */{len(data)}")])
            return
        if mode == "other":
            start += 1
        part = ("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        headers = [("Accept-Ranges", "bytes")] + ([part] if start else [])
        self.answer(206 if start else 200, headers, len(data) - start)
        self.pour(mode, data[start:])

    def pour(self, mode, data):
        if mode == "cut":
            data = data[:1000]
        for at in range(0, len(data), 1024 if mode == "slow" else len(data) or 1):
            self.wfile.write(data[at : at + (1024 if mode == "slow" else len(data))])
            if mode == "slow":
                time.sleep(0.02)

    def log_message(self, format, *args):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass  # clients of these tests leave early


server = Server(("127.0.0.1", 0), Handler)
if len(sys.argv) > 2:  # a certificate with its key
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[2])
    server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_address[1], flush=True)
threading.Timer(60, os._exit, [0]).start()
server.serve_forever()
