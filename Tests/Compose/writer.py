"""Writes documents through the proxy, one after the other for each of three users, until the file STOP exists.

    writer.py BASE ACKNOWLEDGED STOP

Each identifier whose write was answered with success is a line in ACKNOWLEDGED, before the next is sent. A write without an answer is sent
again with its identifier, and a duplicate counts as success, too: it was written, and only the answer was lost."""

import json
import os
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid

base, acknowledged, stop = sys.argv[1:]
auth = base + "/api/client/v2.0/app/rchat/auth/providers/local-userpass"
lock = threading.Lock()
output = open(acknowledged, "w", buffering=1)
failures = {}


def call(url, body, token=None):
    headers = {"Content-Type": "application/json"}
    if token:
        headers["Authorization"] = "Bearer " + token
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=15) as answer:
            return answer.status, json.loads(answer.read() or b"{}")
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read() or b"{}")
    except (OSError, ValueError) as error:
        return 0, {"error_code": type(error).__name__}


def sign_in(email):
    password = "correct horse battery staple"
    call(auth + "/register", {"email": email, "password": password})
    while True:
        status, answer = call(auth + "/login", {"username": email, "password": password})
        if status == 200:
            return answer["access_token"], answer["user_id"]
        time.sleep(0.2)


def write():
    email = f"writer-{uuid.uuid4()}@example.com"
    token, user = sign_in(email)
    document = {"partition": "user=" + user, "author": email, "text": "written while things break",
                "timestamp": {"$date": "2026-01-01T00:00:00Z"}}
    place = {"dataSource": "mongodb-atlas", "database": "RChat", "collection": "ChatMessage"}
    while not os.path.exists(stop):
        key = str(uuid.uuid4())
        while True:
            status, answer = call(base + "/app/rchat/endpoint/data/v1/action/insertOne",
                                  {**place, "document": {"_id": key, **document}}, token)
            code = answer.get("error_code", "")
            if status in (200, 201) or code == "DuplicateKey" or "E11000" in answer.get("error", ""):
                break
            with lock:
                failures[f"{status} {code}"] = failures.get(f"{status} {code}", 0) + 1
            if status == 401:
                token, _ = sign_in(email)
            elif 400 <= status < 500 and status not in (429,):
                print(f"refused: {status} {answer}", file=sys.stderr, flush=True)
                os._exit(1)
            time.sleep(0.1)
        with lock:
            output.write(key + "\n")
        time.sleep(0.05)


threads = [threading.Thread(target=write) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("answers without success, which were sent again:", json.dumps(failures, sort_keys=True), file=sys.stderr)
