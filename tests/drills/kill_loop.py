"""What kill-loop.sh starts: sender, application and killer in one program."""

import hashlib
import hmac
import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PROGRAM, WORK, EVENTS, PAUSE = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
SECRET = b"a secret for the drill"
RANDOM = random.Random(7)
handed = {}  # GUID -> idempotency keys, one per request
lock = threading.Lock()


class Application(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        tag = "sha256=" + hmac.new(SECRET, body, hashlib.sha256).hexdigest()
        with lock:
            fails = RANDOM.random() < 0.1
            keys = handed.setdefault(self.headers["X-GitHub-Delivery"], [])
            keys.append(self.headers["Idempotency-Key"])
        time.sleep(0.03)
        fits = tag == self.headers["X-Hub-Signature-256"]
        self.send_response(500 if fails else 200 if fits else 400)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Daemon:
    def __init__(self, receiver, config):
        self.receiver, self.config, self.process = receiver, config, None
        self.log = open(os.path.join(WORK, "serve.log"), "ab")

    def start(self):
        self.process = subprocess.Popen(
            [PROGRAM, "--config", self.config, "serve"], stderr=self.log, stdout=self.log
        )

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def send(port, guid):
    """As GitHub would, but patient: again until it is acknowledged."""
    body = json.dumps({"action": "opened", "repository": {"id": RANDOM.randrange(5) + 1}, "guid": guid})
    tag = hmac.new(SECRET, body.encode(), hashlib.sha256).hexdigest()
    headers = {
        "Content-Type": "application/json",
        "X-GitHub-Delivery": guid,
        "X-GitHub-Event": "issues",
        "X-Hub-Signature-256": "sha256=" + tag,
    }
    while True:
        try:
            link = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            link.request("POST", "/webhook", body, headers)
            if link.getresponse().status < 300:
                return
        except OSError:
            pass
        except http.client.HTTPException:
            pass
        time.sleep(0.05)


def inbox(config):
    done = subprocess.run(
        [PROGRAM, "--config", config, "status", "--json"], capture_output=True, text=True
    )
    return json.loads(done.stdout)["hooks"][0]["inbox"]


def main():
    receiver, admin, application = free_port(), free_port(), free_port()
    secret = os.path.join(WORK, "webhook.secret")
    with open(os.open(secret, os.O_CREAT | os.O_WRONLY, 0o600), "wb") as file:
        file.write(SECRET)
    config = os.path.join(WORK, "redeliverd.toml")
    with open(config, "w") as file:
        file.write(f"""
[receiver]
listen = "127.0.0.1:{receiver}"
[admin]
listen = "127.0.0.1:{admin}"
[[hooks]]
name = "drill"
app_id = 1
private_key_file = "app.pem"
webhook_secret_files = ["webhook.secret"]
api_url = "http://127.0.0.1:9"
[hooks.forward]
url = "http://127.0.0.1:{application}/"
timeout = "2s"
lease = "4s"
max_attempts = 1000
backoff = ["1s"]
[log]
level = "warn"
""")
    server = ThreadingHTTPServer(("127.0.0.1", application), Application)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    daemon = Daemon(receiver, config)
    daemon.start()

    guids = [str(uuid.UUID(int=RANDOM.getrandbits(128))) for _ in range(EVENTS)]
    queue = iter(guids)
    queue_lock = threading.Lock()
    pace = 1 / 100  # per thread and second, so that the sending outlasts many kills

    def sender():
        while True:
            with queue_lock:
                guid = next(queue, None)
            if guid is None:
                return
            send(receiver, guid)
            time.sleep(pace * 8)

    senders = [threading.Thread(target=sender) for _ in range(8)]
    for thread in senders:
        thread.start()
    kills = 0
    while any(thread.is_alive() for thread in senders):
        time.sleep(PAUSE * (0.5 + RANDOM.random()))
        daemon.kill()
        kills += 1
        daemon.start()
    print(f"{EVENTS} events acknowledged, {kills} kills; draining")

    end, counts = time.time() + 600, {}
    while time.time() < end:
        counts = inbox(config)
        if counts["processed"] == EVENTS:
            break
        time.sleep(1)
    daemon.process.terminate()
    assert daemon.process.wait() == 0, "a clean stop"

    expected = {"waiting": 0, "processing": 0, "processed": EVENTS, "dead": 0}
    assert counts == expected, f"stuck: {counts}"
    missing = [guid for guid in guids if guid not in handed]
    assert not missing, f"never handed over: {missing[:5]} of {len(missing)}"
    assert set(handed) == set(guids), "an event that was never sent"
    for guid, keys in handed.items():
        assert set(keys) == {f"drill/{guid}"}, f"{guid} had the keys {set(keys)}"
    again = sum(len(keys) > 1 for keys in handed.values())
    print(f"every event was handed over with one key; {again} of them more than once")


main()
