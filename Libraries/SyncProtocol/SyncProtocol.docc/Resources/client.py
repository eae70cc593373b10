#!/usr/bin/env python3
"""A client of partita.sync.v1 that needs only Python's standard library: it keeps one partition in a file, also while it is offline.

usage: client.py BASE_URL APP EMAIL PASSWORD PARTITION FILE [COLLECTION ID FIELD VALUE]

Signs in, brings FILE up to date, and prints its documents, one per line. With COLLECTION and so on it sets a field first, in FILE alone:
that changeset is sent when there is a connection, by this run or a later one. ID and VALUE are Extended JSON, or else strings.
"""
import base64, hashlib, json, os, socket, ssl, struct, sys, time, urllib.parse, urllib.request, uuid


class WebSocket:
    """RFC 6455 as a client speaks it: text messages, pings answered, no compression."""

    def __init__(self, url, protocol):
        url = urllib.parse.urlsplit(url)
        tls, host = url.scheme == "wss", url.hostname
        self.socket = socket.create_connection((host, url.port or (443 if tls else 80)), timeout=60)
        if tls:
            self.socket = ssl.create_default_context().wrap_socket(self.socket, server_hostname=host)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((
            f"GET {url.path} HTTP/1.1\r\nHost: {url.netloc}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Protocol: {protocol}\r\n\r\n").encode())
        self.bytes = self.socket.makefile("rb")
        status, head = self.bytes.readline(), {}
        while (line := self.bytes.readline().strip()):
            name, _, value = line.decode().partition(":")
            head[name.lower()] = value.strip()
        accept = base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest())
        if b" 101 " not in status or head.get("sec-websocket-accept") != accept.decode():
            raise ConnectionError(f"no WebSocket: {status.decode().strip()}")

    def write(self, opcode, payload):
        size, mask = len(payload), os.urandom(4)
        length = struct.pack("!B", 128 | size) if size < 126 else (
            struct.pack("!BH", 254, size) if size < 65536 else struct.pack("!BQ", 255, size))
        pad = mask * (size // 4 + 1)
        masked = (int.from_bytes(payload, "big") ^ int.from_bytes(pad[:size], "big")).to_bytes(size, "big")
        self.socket.sendall(bytes([128 | opcode]) + length + mask + masked)

    def send(self, frame):
        self.write(1, json.dumps(frame).encode())

    def receive(self):
        message = b""
        while True:
            first, length = self.bytes.read(2) or (8, 0)
            if length >= 126:
                length = int.from_bytes(self.bytes.read(2 if length == 126 else 8), "big")
            payload, opcode = self.bytes.read(length), first & 15
            if opcode == 8:
                raise ConnectionError(f"closed: {payload[2:].decode()}")
            if opcode == 9:
                self.write(10, payload)
            elif opcode < 3:
                message += payload
                if first & 128:
                    return json.loads(message)


def revision(text):
    """`epoch.number` as numbers that can be compared."""
    return tuple(int(part) for part in text.split("."))


class Partition:
    """The device's copy of a partition, and its changesets that the server hasn't answered."""

    def __init__(self, path):
        self.path = path
        self.state = {"device": str(uuid.uuid4()), "checkpoint": "0.0", "next": 1, "clock": "0.0", "documents": {}, "pending": []}
        if os.path.exists(path):
            with open(path) as file:
                self.state = json.load(file)

    def save(self):
        with open(self.path + ".new", "w") as file:
            json.dump(self.state, file)
        os.replace(self.path + ".new", self.path)

    def set(self, collection, id, field, value):
        """One changeset of one operation. Its clock is later than all before it; its base is the revision that the device has seen."""
        known = self.state["documents"][json.dumps([collection, id])]
        now, (last, count) = int(time.time() * 1000), revision(self.state["clock"])
        self.state["clock"] = f"{now}.0" if now > last else f"{last}.{count + 1}"
        self.state["pending"].append({"version": self.state["next"], "clock": self.state["clock"], "operations": [{
            "op": "update", "collection": collection, "_id": id, "incarnation": known["incarnation"],
            "base": known["revision"], "update": {"$set": {field: value}}}]})
        self.state["next"] += 1
        self.save()

    def apply(self, changes):
        for change in changes:
            key = json.dumps([change["collection"], change["_id"]])
            if change["op"] == "upsert":
                self.state["documents"][key] = {name: change[name] for name in ("document", "revision", "incarnation")}
            else:
                self.state["documents"].pop(key, None)

    def renumber(self, last):
        """The server accepts versions without a gap only: the changesets that it doesn't have are numbered from its last version."""
        self.state["next"] = last + 1
        for changeset in self.state["pending"]:
            if changeset["version"] > last:
                changeset["version"] = self.state["next"]
                self.state["next"] += 1

    def fork(self):
        """Another device has used our versions: this file was copied, or restored from a backup."""
        self.state["device"] = str(uuid.uuid4())
        self.renumber(0)
        self.save()


def sync(store, url, token, partition):
    """Returns `True` when every changeset is answered and the file is up to date; `False` when the caller has to start again."""
    state, last, sent, foreign = store.state, 0, None, []
    staged, replaces, is_caught_up, is_forked, wanted = [], False, False, False, (0, 0)
    ws = WebSocket(url, "partita.sync.v1")
    ws.send({"type": "hello", "protocol": "partita.sync.v1", "device": state["device"], "token": token})
    while True:
        frame = ws.receive()
        kind = frame["type"]
        if kind == "welcome":
            ws.send({"type": "subscribe", "partition": partition, "checkpoint": state["checkpoint"]})
        elif kind == "subscribed":
            last = frame["lastVersion"]
            is_forked = last >= state["next"]
            if not is_forked:
                store.renumber(last)
        elif kind == "download" and "final" in frame:  # a catch-up, which becomes visible when it is complete
            replaces = replaces or revision(frame["from"])[1] == 0
            staged += frame["changes"]
            if frame["final"]:
                if replaces:
                    state["documents"] = {}
                store.apply(staged)
                state["checkpoint"], staged, replaces, is_caught_up = frame["to"], [], False, True
                store.save()
        elif kind == "download":
            here = revision(state["checkpoint"])
            if here < revision(frame["from"]):
                return False  # something is missing
            store.apply(change for change in frame["changes"] if revision(change["revision"]) > here)
            state["checkpoint"] = max(state["checkpoint"], frame["to"], key=revision)
            store.save()
        elif kind in ("ack", "rejected", "forked"):
            if kind == "forked":
                is_forked = True
                foreign.append(sent)
            else:
                state["pending"].remove(sent)
                store.save()
            if kind == "rejected":
                print(f"rejected: {frame['reason']['message']}: {json.dumps(sent)}", file=sys.stderr)
            elif kind == "ack":
                wanted = max(wanted, revision(frame["revision"]))
            sent = None
        elif kind == "revoked" or kind == "error" and frame["action"] in ("close", "reauthenticate"):
            sys.exit(f"{kind}: {json.dumps(frame)}")
        elif kind == "error" and frame["action"] == "retry":
            time.sleep(frame.get("retryAfter", 1000) / 1000)
            return False
        if not is_caught_up or sent:
            continue
        # One at a time. What the server may have is sent first; nothing new is sent before it is certain that its versions are ours.
        # After a `forked` nothing new is accepted under this id, but an earlier connection may have sent any of them: all are sent.
        due = [c for c in state["pending"] if c not in foreign and (c["version"] <= last or foreign or not is_forked)]
        if due:
            sent = due[0]
            ws.send({"type": "upload", "partition": partition, "sentAt": int(time.time() * 1000), "changesets": [sent]})
        elif is_forked:
            store.fork()
            return False
        elif revision(state["checkpoint"]) >= wanted:
            ws.write(8, struct.pack("!H", 1000))
            return True


def call(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def parsed(text):
    try:
        return json.loads(text)
    except ValueError:
        return text


if __name__ == "__main__":
    base, app, email, password, partition, path = sys.argv[1:7]
    store = Partition(path)
    if sys.argv[7:]:
        collection, id, field, value = sys.argv[7:11]
        store.set(collection, parsed(id), field, parsed(value))
    login = base + f"/api/client/v2.0/app/{app}/auth/providers/local-userpass/login"
    token = call(login, {"username": email, "password": password})["access_token"]
    while not sync(store, base.replace("http", "ws", 1) + f"/v1/apps/{app}/sync", token, partition):
        pass
    for known in store.state["documents"].values():
        print(json.dumps(known["document"]))
