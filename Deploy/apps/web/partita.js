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
export const objectId = () =>
  ({ $oid: [...crypto.getRandomValues(new Uint8Array(12))].map((byte) => byte.toString(16).padStart(2, "0")).join("") });

export class App {
  constructor(server, id) {
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
  #app; #tokens; #socket = null; #isClosed = false; #isStale = false; #pause = 250; #partitions = new Map(); #device = crypto.randomUUID();

  constructor(app, tokens) {
    this.#app = app;
    this.#tokens = tokens;
    this.userId = tokens.user_id;
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

  // The address of a media link, for an <img>.
  async link(url) { return `${url}?baas_at=${await this.token()}`; }

  // Opens a partition of a string key, and keeps it up to date. `onChange` gets it after every change.
  open(value, onChange) {
    const partition = new Partition(`s:${value}`, value, onChange, () => this.#upload(partition));
    this.#partitions.set(partition.id, partition);
    if (this.#socket === null) this.#connect();
    else if (this.#socket.isWelcome) this.#subscribe(partition);
    return partition;
  }

  close(partition) {
    if (this.#partitions.delete(partition.id) && this.#socket?.isWelcome) this.#send({ type: "unsubscribe", partition: partition.id });
  }

  #send(frame) { this.#socket.send(JSON.stringify(frame)); }

  #subscribe(partition) {
    partition.begin();
    this.#send({ type: "subscribe", partition: partition.id, checkpoint: partition.checkpoint });
  }

  #upload(partition) {
    const changeset = partition.next();
    if (!changeset || !this.#socket?.isWelcome) return;
    this.#send({ type: "upload", partition: partition.id, sentAt: Date.now(), changesets: [changeset] });
  }

  async #connect() {
    let socket;
    try {
      const location = await this.#app.send("GET", `${this.#app.api}/app/${this.#app.id}/location`);
      const token = await this.token();
      socket = new WebSocket(`${location.ws_hostname}/v1/apps/${this.#app.id}/sync`, "partita.sync.v1");
      this.#socket = socket;
      socket.onopen = () => this.#send({ type: "hello", protocol: "partita.sync.v1", device: this.#device, token });
      const pings = setInterval(() => socket.isWelcome && this.#send({ type: "ping" }), 15_000);
      socket.onmessage = (message) => this.#receive(socket, JSON.parse(message.data));
      socket.onclose = () => { clearInterval(pings); this.#again(); };
    } catch (error) {
      if (error.status === 401) return this.#tell({ isSignedOut: true });
      this.#again();
    }
  }

  #again() {
    this.#tell({ isConnected: false });
    if (this.#isClosed) return;
    this.#pause = Math.min(this.#pause * 2, 10_000);
    setTimeout(() => this.#connect(), this.#pause * (0.5 + Math.random() / 2));
  }

  #tell(state) { for (const partition of this.#partitions.values()) partition.set(state); }

  #receive(socket, frame) {
    const partition = this.#partitions.get(frame.partition);
    switch (frame.type) {
      case "welcome":
        socket.isWelcome = true;
        this.#pause = 250;
        for (const each of this.#partitions.values()) this.#subscribe(each);
        break;
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
        if (frame.action === "close" && !partition) this.#isClosed = true;
        if (!partition) break;
        // The gateway has closed the partition; after `wait` it goes on by itself.
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
  #onChange; #onWrite; #documents = new Map(); #staged = []; #isStagedWhole = false; #isCaughtUp = false; #last = 0; #pending = []; #sent = null; #clock = 0;

  constructor(id, value, onChange, onWrite) {
    Object.assign(this, { id, value, checkpoint: "0.0", state: { isConnected: false, isSynced: false, access: null, revoked: null, rejected: null } });
    this.#onChange = onChange;
    this.#onWrite = onWrite;
  }

  // The documents of a collection, in the order in which they came.
  find(collection) { return [...this.#documents.values()].filter((known) => known.collection === collection).map((known) => known.plain); }

  insert(collection, document) { this.#write({ op: "insert", collection, _id: document._id, document }); }
  update(collection, id, update) { this.#write({ op: "update", collection, _id: id, update }); }
  delete(collection, id) { this.#write({ op: "delete", collection, _id: id }); }

  // Sent when there is a connection; shown when it comes back.
  #write(operation) {
    const known = this.#documents.get(keyOf(operation.collection, operation._id));
    if (known) Object.assign(operation, { incarnation: known.incarnation, base: known.revision });
    this.#clock = Math.max(Date.now(), this.#clock + 1);
    this.#pending.push({ clock: `${this.#clock}.0`, operations: [operation] });
    this.#onWrite();
  }

  set(state) { Object.assign(this.state, state); this.#onChange(this); }

  begin() { this.#staged = []; this.#isStagedWhole = false; this.#isCaughtUp = false; }

  subscribed({ access, lastVersion }) {
    this.#last = lastVersion;
    // Sent on an earlier connection, whose answer was lost.
    if (this.#sent && this.#sent.version <= lastVersion) this.#pending.shift();
    this.#sent = null;
    this.set({ isConnected: true, access, revoked: null });
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
    if (frame.type === "rejected") this.set({ rejected: frame.reason });
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
