"""An HTTP server on loopback that records requests and returns prepared responses."""

from __future__ import annotations

import gzip
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Dict, List, Optional, Tuple

Answer = Tuple[int, Dict[str, str], bytes]
ACCEPTED: Answer = (202, {}, b'{"accepted": 1, "sampled": 1, "duplicates": 0, "rejected": []}')


class RecordingDaemon:
    """Returns one of `answers` per request, in order, and then repeats the last one. A request whose answer is None gets no
    response until the daemon is closed."""

    def __init__(self, *answers: Optional[Answer]) -> None:
        self.requests: List[Tuple[str, Dict[str, str], List[Dict[str, Any]]]] = []
        self.released = threading.Event()
        left = list(answers or (ACCEPTED,))
        daemon, lock = self, threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"] or 0)) or b"[]"
                if self.headers["Content-Encoding"] == "gzip":
                    body = gzip.decompress(body)
                with lock:
                    answer = left.pop(0) if len(left) > 1 else left[0]
                    headers = {name.lower(): value for name, value in self.headers.items()}
                    daemon.requests.append((self.path, headers, json.loads(body)))
                if answer is None:
                    daemon.released.wait(30)
                    answer = ACCEPTED
                status, headers, text = answer
                self.send_response(status)
                for name, value in {"Content-Length": str(len(text)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def items(self, path: str) -> List[Dict[str, Any]]:
        return [item for at, _, items in self.requests if at == path for item in items]

    def close(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
