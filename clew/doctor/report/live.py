"""`clew doctor --live`: the report's page on localhost while the program trains."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from clew.doctor.report.page import plotting_script

# Other machines, and pages of other origins under names of their own, are not answered.
_LOOPBACK = "127.0.0.1"


class LiveServer:
    """Serves a page that is made anew for each request."""

    def __init__(self, make_page: Callable[[str], str], port: int = 0) -> None:
        script = plotting_script().encode()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if self.headers.get("Host", "") not in server.hosts:
                    self.send_error(403)
                elif self.path == "/plotly.js":
                    self._answer(script, "text/javascript; charset=utf-8")
                elif self.path == "/":
                    page = make_page('<script src="/plotly.js"></script>')
                    self._answer(page.encode(), "text/html; charset=utf-8")
                else:
                    self.send_error(404)

            def _answer(self, body: bytes, kind: str) -> None:
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: object) -> None:
                """The terminal is the program's."""

        self.server = ThreadingHTTPServer((_LOOPBACK, port), Handler)
        self.port = self.server.server_address[1]
        self.hosts = (f"{_LOOPBACK}:{self.port}", f"localhost:{self.port}")
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)

    @property
    def address(self) -> str:
        return f"http://{_LOOPBACK}:{self.port}/"

    def start(self) -> None:
        self.thread.start()

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
