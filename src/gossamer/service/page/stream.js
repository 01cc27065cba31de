// Server-sent events. A connection that is lost or silent is reopened without limit.
const SILENCE = 10_000; // milliseconds; the service sends an event every second
const RECONNECT = 2_000;

export class Stream {
  constructor(path, handlers, onState) {
    Object.assign(this, { path, handlers, onState });
    this.lostAt = null;
    this.connect();
    setInterval(() => this._checkSilence(), 1_000);
  }

  connect() {
    this.source?.close();
    this.receivedAt = performance.now();
    this.source = new EventSource(this.path);
    for (const [name, handle] of Object.entries(this.handlers)) {
      this.source.addEventListener(name, (event) => { this._onEvent(); handle(JSON.parse(event.data)); });
    }
    this.source.addEventListener("error", () => this._onLost());
  }

  _onEvent() {
    this.receivedAt = performance.now();
    if (this.lostAt === null) return;
    this.lostAt = null;
    this.onState(false);
  }

  _onLost() {
    if (this.lostAt === null) { this.lostAt = performance.now(); this.onState(true); }
    // An EventSource reconnects by itself, but not after an error response (too many clients).
    if (this.source.readyState === EventSource.CLOSED) { clearTimeout(this.timer); this.timer = setTimeout(() => this.connect(), RECONNECT); }
  }

  // Detects a connection that broke without an error, for instance while the machine slept.
  _checkSilence() {
    if (performance.now() - this.receivedAt < SILENCE || document.hidden) return;
    this._onLost();
    this.connect();
  }
}
