// What the service tells by server-sent events. A connection that is lost, or silent, is opened again for ever.
const SILENCE = 10_000; // the service speaks every second
const AGAIN = 2_000;

export class Stream {
  constructor(path, told, onState) {
    Object.assign(this, { path, told, onState });
    this.lostAt = null;
    this.connect();
    setInterval(() => this._listen(), 1_000);
  }

  connect() {
    this.source?.close();
    this.heardAt = performance.now();
    this.source = new EventSource(this.path);
    for (const [name, act] of Object.entries(this.told)) {
      this.source.addEventListener(name, (event) => { this._heard(); act(JSON.parse(event.data)); });
    }
    this.source.addEventListener("error", () => this._lost());
  }

  _heard() {
    this.heardAt = performance.now();
    if (this.lostAt === null) return;
    this.lostAt = null;
    this.onState(false);
  }

  _lost() {
    if (this.lostAt === null) { this.lostAt = performance.now(); this.onState(true); }
    // A refusal (too many watch already) ends an EventSource for good; a broken connection it mends itself.
    if (this.source.readyState === EventSource.CLOSED) { clearTimeout(this.timer); this.timer = setTimeout(() => this.connect(), AGAIN); }
  }

  // A connection that broke without a word, when the machine slept for instance.
  _listen() {
    if (performance.now() - this.heardAt < SILENCE || document.hidden) return;
    this._lost();
    this.connect();
  }
}
