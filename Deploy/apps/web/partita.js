// A small client for web pages: accounts and functions over HTTP, partitions over the sync WebSocket (partita.sync.v1). It keeps documents
// in memory only: a page that is loaded again downloads them again, and what it had not uploaded is lost.

// Extended JSON, as far as a page needs it: numbers become numbers, dates Dates; ids and binaries stay as they are on the wire.
export function plain(value) {
  if (Array.isArray(value)) return value.map(plain);
  if (value === null || typeof value !== "object") return value;
  const [key, ...more] = Object.keys(value);
  if (more.length === 0) {
    if (key === "$numberInt" || key === "$numberLong" || key === "$numberDouble") return Number(value[key]);
    if (key === "$date") return new Date(Number(value.$date.$numberLong ?? value.$date));
    if (key === "$oid" || key === "$binary") return value;
  }
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, plain(field)]));
}
export const double = (number) => ({ $numberDouble: String(number) });
export const date = (time) => ({ $date: { $numberLong: String(Number(time)) } });
const randomHex = (bytes) => [...crypto.getRandomValues(new Uint8Array(bytes))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
export const objectId = () => ({ $oid: randomHex(12) });
// A random UUID (RFC 9562, version 4). `crypto.randomUUID` isn't there on pages that came over plain HTTP from another machine.
export const uuid = () => {
  const [, a, b, c, d, e] = randomHex(16).match(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/);
  return `${a}-${b}-4${c}-a${d}-${e}`;
};

export class App {
  // The id is a part of paths: with `/` or `?` in it, passwords and tokens would go to whatever it leads to.
  constructor(server, id) {
    if (!/^[A-Za-z0-9_-]+$/.test(id)) throw new Error(`${id} is no app's id`);
    this.server = server.replace(/\/$/, "");
    this.id = id;
    this.api = `${this.server}/api/client/v2.0`;
  }

  async signIn(email, password) {
    const session = await this.send("POST", `${this.api}/app/${this.id}/auth/providers/local-userpass/login`, null, {
      username: email,
      password,
    });
    return new Session(this, session);
  }

  register(email, password) {
    return this.send("POST", `${this.api}/app/${this.id}/auth/providers/local-userpass/register`, null, { email, password });
  }

  // Calls the HTTP interface. Throws an Error with the status and the server's code.
  async send(method, url, token, body) {
    const answer = await fetch(url, {
      method,
      headers: { "Content-Type": "application/json", ...(token ? { Authorization: `Bearer ${token}` } : {}) },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await answer.text();
    const value = text ? JSON.parse(text) : null;
    if (answer.ok) return value;
    throw Object.assign(new Error(value?.error ?? `status ${answer.status}`), { status: answer.status, code: value?.error_code });
  }
}

export class Session {
  // `#socket` is the open one, after the server's `welcome`; `#isConnecting` says that one is being opened, or waits for its turn.
  #app; #tokens; #socket = null; #isConnecting = false; #isEnded = false; #isStale = false; #pause = 250; #partitions = new Map(); #device = uuid();

  // `onEnd` gets a text when the session has ended by something else than `signOut`: nothing is sent or received any more.
  constructor(app, tokens, onEnd = () => {}) {
    this.#app = app;
    this.#tokens = tokens;
    this.onEnd = onEnd;
    this.userId = tokens.user_id;
  }

  // Ends the session, here and on the server.
  async signOut() {
    this.#isEnded = true;
    this.#socket?.close();
    await this.#app.send("DELETE", `${this.#app.api}/auth/session`, this.#tokens.refresh_token);
  }

  #end(reason) {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#socket?.close();
    this.onEnd(reason);
  }

  // An access token that is valid for a while.
  async token() {
    const { exp } = JSON.parse(atob(this.#tokens.access_token.split(".")[1].replace(/-/g, "+").replace(/_/g, "/")));
    if (this.#isStale || exp * 1000 < Date.now() + 30_000) {
      const answer = await this.#app.send("POST", `${this.#app.api}/auth/session`, this.#tokens.refresh_token);
      this.#tokens.access_token = answer.access_token;
      this.#isStale = false;
    }
    return this.#tokens.access_token;
  }

  async call(name, ...args) {
    const url = `${this.#app.api}/app/${this.#app.id}/functions/call`;
    return plain(await this.#app.send("POST", url, await this.token(), { name, arguments: args }));
  }

  // The address of a media link, for an <img> or a new window. It has the access token, so other addresses than those of the app's media are
  // refused: what a document says may be anybody's, and the server has functions of other apps as well.
  async link(url) {
    const { origin, pathname } = URL.canParse(url, this.#app.server) ? new URL(url, this.#app.server) : {};
    const isMedia = origin === new URL(this.#app.server).origin && pathname?.startsWith(`/v1/apps/${this.#app.id}/media/`);
    if (!isMedia) throw new Error("this link doesn't lead to a file of the app");
    return `${origin}${pathname}?baas_at=${await this.token()}`;
  }

  // Opens a partition of a string key, and keeps it up to date. `onChange` gets it after every change.
  open(value, onChange) {
    const partition = new Partition(`s:${value}`, value, onChange, () => this.#upload(partition));
    this.#partitions.set(partition.id, partition);
    if (this.#socket) this.#subscribe(partition);
    else if (!this.#isConnecting) this.#connect();
    return partition;
  }

  close(partition) {
    if (this.#partitions.delete(partition.id)) this.#send({ type: "unsubscribe", partition: partition.id });
  }

  // What a socket that is closing doesn't send any more is sent after the next `welcome`.
  #send(frame) { if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(frame)); }

  #subscribe(partition) {
    partition.begin();
    this.#send({ type: "subscribe", partition: partition.id, checkpoint: partition.checkpoint });
  }

  #upload(partition) {
    const changeset = this.#socket ? partition.next() : null;
    if (changeset) this.#send({ type: "upload", partition: partition.id, sentAt: Date.now(), changesets: [changeset] });
  }

  async #connect() {
    this.#isConnecting = true;
    try {
      const location = await this.#app.send("GET", `${this.#app.api}/app/${this.#app.id}/location`);
      const token = await this.token();
      const socket = new WebSocket(`${location.ws_hostname}/v1/apps/${this.#app.id}/sync`, "partita.sync.v1");
      let pings, heard = Date.now();
      const lost = () => {
        clearInterval(pings);
        socket.onmessage = socket.onclose = null;
        this.#socket = null;
        this.#again();
      };
      socket.onopen = () => socket.send(JSON.stringify({ type: "hello", protocol: "partita.sync.v1", device: this.#device, token }));
      socket.onmessage = (message) => {
        heard = Date.now();
        const frame = JSON.parse(message.data);
        if (frame.type !== "welcome") return this.#receive(socket, frame);
        if (this.#isEnded) return socket.close();
        [this.#socket, this.#isConnecting, this.#pause] = [socket, false, 250];
        // A network that is gone says nothing: the answers to pings are missing.
        pings = setInterval(() => {
          this.#renew();
          if (Date.now() - heard < 25_000) return this.#send({ type: "ping" });
          lost();
          socket.close();
        }, 10_000);
        for (const each of this.#partitions.values()) this.#subscribe(each);
      };
      socket.onclose = lost;
    } catch (error) {
      // The refresh token isn't valid any more, or the account was disabled.
      if (error.status === 401 || error.status === 403) return this.#end(error.message);
      this.#again();
    }
  }

  // The server ends a connection whose token has expired.
  async #renew() {
    const former = this.#tokens.access_token;
    const token = await this.token().catch(() => former);
    if (token !== former) this.#send({ type: "token", accessToken: token });
  }

  #again() {
    this.#isConnecting = !this.#isEnded;
    this.#tell({ isConnected: false });
    if (this.#isEnded) return;
    this.#pause = Math.min(this.#pause * 2, 10_000);
    setTimeout(() => this.#connect(), this.#pause * (0.5 + Math.random() / 2));
  }

  #tell(state) { for (const partition of this.#partitions.values()) partition.set(state); }

  #receive(socket, frame) {
    const partition = this.#partitions.get(frame.partition);
    switch (frame.type) {
      case "subscribed":
        partition?.subscribed(frame);
        break;
      case "access":
        partition?.set({ access: frame.access });
        break;
      case "download":
        if (!partition) break;
        if (!partition.download(frame)) { this.#send({ type: "unsubscribe", partition: partition.id }); this.#subscribe(partition); }
        else this.#upload(partition);
        break;
      case "ack": case "rejected":
        partition?.answered(frame);
        if (partition) this.#upload(partition);
        break;
      case "revoked":
        partition?.revoked(frame.reason);
        this.#partitions.delete(frame.partition);
        break;
      case "error":
        if (frame.action === "reauthenticate") this.#isStale = true;
        if (frame.action === "close" && !partition) this.#end(frame.message ?? frame.code);
        if (!partition) break;
        // The gateway has closed the partition; after `wait` it goes on by itself, after `close` not before the next connection.
        if (frame.action === "close") partition.set({ refused: frame.message ?? frame.code });
        if (frame.action === "retry") setTimeout(() => {
          if (this.#partitions.has(partition.id) && this.#socket === socket && socket.readyState === 1) this.#subscribe(partition);
        }, frame.retryAfter ?? 1000);
        break;
    }
  }
}

// `epoch.number`, comparable. Both may be large: an epoch has 31 bits, a number 63.
const revision = (text) => { const [epoch, number] = text.split("."); return (BigInt(epoch) << 63n) + BigInt(number); };
const keyOf = (collection, id) => JSON.stringify([collection, id]);

export class Partition {
  #onChange; #onWrite; #documents = new Map(); #staged = []; #isStagedWhole = false; #isCaughtUp = false; #isTelling = false; #last = 0; #pending = []; #sent = null; #clock = 0;

  constructor(id, value, onChange, onWrite) {
    Object.assign(this, { id, value, checkpoint: "0.0", state: { isConnected: false, isSynced: false, access: null, revoked: null, refused: null, rejected: null, waiting: 0 } });
    this.#onChange = onChange;
    this.#onWrite = onWrite;
  }

  // The documents of a collection, in the order in which they came.
  find(collection) { return [...this.#documents.values()].filter((known) => known.collection === collection).map((known) => known.plain); }

  insert(collection, document) { this.#write({ op: "insert", collection, _id: document._id, document }); }
  update(collection, id, update, arrayFilters) { this.#write({ op: "update", collection, _id: id, update, ...(arrayFilters ? { arrayFilters } : {}) }); }
  delete(collection, id) { this.#write({ op: "delete", collection, _id: id }); }

  // Sent when there is a connection; shown when it comes back.
  #write(operation) {
    const known = this.#documents.get(keyOf(operation.collection, operation._id));
    if (known) Object.assign(operation, { incarnation: known.incarnation, base: known.revision });
    this.#clock = Math.max(Date.now(), this.#clock + 1);
    this.#pending.push({ clock: `${this.#clock}.0`, operations: [operation] });
    // A page may write because of what it shows: it isn't shown again for that.
    if (!this.#isTelling) this.set({ rejected: null });
    this.#onWrite();
  }

  set(state) {
    Object.assign(this.state, state, { waiting: this.#pending.length });
    this.#isTelling = true;
    try { this.#onChange(this); } finally { this.#isTelling = false; }
  }

  begin() { this.#staged = []; this.#isStagedWhole = false; this.#isCaughtUp = false; }

  subscribed({ access, lastVersion }) {
    this.#last = lastVersion;
    // Sent on an earlier connection, whose answer was lost.
    if (this.#sent && this.#sent.version <= lastVersion) this.#pending.shift();
    this.#sent = null;
    this.set({ isConnected: true, access, revoked: null, refused: null });
  }

  // The next changeset to send: one at a time.
  next() {
    if (!this.#isCaughtUp || this.#sent || this.#pending.length === 0) return null;
    return (this.#sent = Object.assign(this.#pending[0], { version: this.#last + 1 }));
  }

  answered(frame) {
    if (this.#sent?.version !== frame.version) return;
    this.#last = frame.version;
    this.#pending.shift();
    this.#sent = null;
    this.set(frame.type === "rejected" ? { rejected: frame.reason } : {});
  }

  // false when something is missing before it.
  download({ from, to, changes, final }) {
    if (final === undefined) {
      if (revision(this.checkpoint) < revision(from)) return false;
      this.#apply(changes.filter((change) => revision(change.revision) > revision(this.checkpoint)));
      if (revision(to) > revision(this.checkpoint)) this.checkpoint = to;
    } else {
      this.#isStagedWhole ||= from.endsWith(".0");
      this.#staged.push(...changes);
      if (!final) return true;
      if (this.#isStagedWhole) this.#documents.clear();
      this.#apply(this.#staged);
      this.begin();
      this.checkpoint = to;
      this.#isCaughtUp = true;
    }
    this.set({ isSynced: true });
    return true;
  }

  revoked(reason) {
    this.#documents.clear();
    this.checkpoint = "0.0";
    this.set({ revoked: reason, access: null, isSynced: false });
  }

  #apply(changes) {
    for (const change of changes) {
      const key = keyOf(change.collection, change._id);
      if (change.op === "delete") this.#documents.delete(key);
      else this.#documents.set(key, { ...change, plain: plain(change.document) });
    }
  }
}
