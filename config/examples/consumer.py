#!/usr/bin/env python3
"""The smallest application that acts on every event exactly once.

redeliverd hands each event over at least once, always with the same Idempotency-Key. Whoever puts
that key and the effect into one transaction, under a unique key, acts once.

    consumer.py EFFECTS.db PORT [SECRET_FILE]
"""

import hashlib
import hmac
import sqlite3
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

DATABASE, PORT = sys.argv[1], int(sys.argv[2])
SECRET = open(sys.argv[3], "rb").read().rstrip(b"\r\n") if len(sys.argv) > 3 else None


class Consumer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if SECRET:
            expected = "sha256=" + hmac.new(SECRET, body, hashlib.sha256).hexdigest()
            if not hmac.compare_digest(expected, self.headers["X-Hub-Signature-256"] or ""):
                return self.answer(401, b"signature")
        try:
            # One transaction: both rows or none.
            with sqlite3.connect(DATABASE, timeout=10) as database:
                database.execute("INSERT INTO seen VALUES (?)", [self.headers["Idempotency-Key"]])
                database.execute("INSERT INTO effects VALUES (?)", [self.headers["X-GitHub-Event"]])
        except sqlite3.IntegrityError:
            return self.answer(200, b"done before")
        self.answer(200, b"done")

    def answer(self, status, text):
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


with sqlite3.connect(DATABASE) as database:
    database.execute("CREATE TABLE IF NOT EXISTS seen (key TEXT PRIMARY KEY)")
    database.execute("CREATE TABLE IF NOT EXISTS effects (what TEXT)")
ThreadingHTTPServer(("127.0.0.1", PORT), Consumer).serve_forever()
