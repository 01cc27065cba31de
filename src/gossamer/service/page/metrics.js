// Draws a snapshot of the crawl: state, tiles, charts, front queues, hosts by next contact, status codes, failures.
import { Chart, SPAN } from "./charts.js";
import { $, fill, element, put } from "./dom.js";
import { drawInternals } from "./engine.js";
import { ANSWERED, drawHealth } from "./health.js";
import { drawProgress } from "./progress.js";
import { drawWorkers } from "./workers.js";
import { bytes, count, percent, plural, rate, seconds, short } from "./text.js";

const GROUPS = ["high", "medium", "low"];
const MOST_REASONS = 6;
const TONES = { running: "good", idle: "calm", paused: "warn", stopping: "warn", "store slow": "warn", "store failing": "bad", "at rest": "warn" };

// --- charts ----------------------------------------------------------------------------------------------

let samples = [];
let charts = null;

// Merge the history sent by the service. Older samples, from before the service was restarted, are kept.
export function addHistory(history) {
  const first = history.length ? history[0][0] : Infinity;
  samples = [...samples.filter((sample) => sample[0] < first), ...history];
  trim();
}

function trim() {
  const end = samples.at(-1)?.[0] ?? 0;
  samples = samples.filter((sample) => end - sample[0] <= SPAN + 2);
}

function drawCharts(details) {
  charts ??= [
    new Chart($("throughput"), $("throughput-legend"),
      [{ name: "pages/s", at: 1, kind: "one", words: rate }, { name: "failures/s", at: 6, kind: "bad", words: rate }, { name: "bytes/s", at: 2, kind: "two", scale: 1 }],
      [{ words: short, least: 3 }, { words: bytes, least: 3000 }]),
    new Chart($("latency"), $("latency-legend"),
      [{ name: "median", at: 3, kind: "one" }, { name: "p95", at: 4, kind: "two" }, { name: "p99", at: 5, kind: "three" }],
      [{ words: seconds, least: 0.03 }]),
  ];
  if (details?.sample && details.sample[0] > (samples.at(-1)?.[0] ?? 0)) { samples.push(details.sample); trim(); }
  for (const chart of charts) chart.draw(samples);
  const now = samples.at(-1);
  put($("rate"), now ? rate(now[1]) : "–");
  put($("rate-note"), now ? `${bytes(now[2])}/s` : "");
}

// --- state and tiles -------------------------------------------------------------------------------------

export function draw(status, details) {
  drawState(status);
  drawTiles(status);
  drawProgress(status);
  drawCharts(details);
  drawHealth(status, details, samples.at(-1)?.[1] ?? 0);
  drawFronts(status, details);
  if (details) drawRests(status, details);
  drawAnswers(status);
  drawFailures(status);
  drawInternals(status, details);
  drawWorkers(status);
}

function drawState(status) {
  const state = $("state");
  put(state, status.state);
  state.className = `pill ${TONES[status.state] ?? ""}`;
  const crawl = $("crawl");
  crawl.disabled = false;
  put(crawl, status.state === "paused" ? "Resume crawl" : "Pause crawl");
}

function tile(id, value, note, tone = "") {
  const shown = $(id);
  put(shown, value);
  shown.className = tone;
  put(shown.nextElementSibling, note);
}

function drawTiles(s) {
  tile("pages", count(s.pages), `${count(s.run_pages)} this run`);
  tile("queued", short(s.queued), `of ${short(s.discovered)} known`);
  tile("in-flight", count(s.in_flight), `${count(s.documents_waiting)} to process`);
  tile("hosts-known", short(s.hosts), `${count(s.hosts_in_memory)} in memory`);
  tile("dead-count", count(s.dead), `${count(Object.values(s.errors).reduce((a, b) => a + b, 0))} failed visits`, s.dead ? "warn" : "");
  const violations = s.politeness_violations;
  tile("polite", count(violations), violations === 1 ? "violation" : "violations", violations ? "bad" : "good");
}

// --- queues ----------------------------------------------------------------------------------------------

let drawn = []; // [seconds of the run, choices of the selector by group], of the last minute

// Shares over the last minute: those of the whole run would lag behind a change of load.
function recentShares(s) {
  if (drawn.length && drawn.at(-1)[0] > s.seconds) drawn = []; // the service was restarted
  drawn = [...drawn.filter(([at]) => s.seconds - at <= 60), [s.seconds, s.drawn]];
  const recent = s.drawn.map((n, at) => n - drawn[0][1][at]), total = recent.reduce((a, b) => a + b, 0);
  return total ? recent.map((n) => (100 * n) / total) : s.selector_shares;
}

function drawFronts(s, details) {
  const targets = details?.targets ?? [], shares = recentShares(s);
  put($("load"), s.load === "high" ? "high load" : "normal load");
  $("load").className = s.load === "high" ? "badge warn" : "badge";
  put($("load-reason"), s.load_reason ? `Last load change: ${s.load_reason}.` : "");
  const make = () => element("li", {}, element("span", { class: "name" }), element("span", { class: "value" }), element("span", { class: "track", "aria-hidden": "true" }, element("i"), element("u")));
  fill($("fronts"), s.urls_by_front, make, (row, urls, at) => {
    const observed = shares[at] ?? 0, target = targets[at];
    put(row.children[0], s.urls_by_front.length === 3 ? GROUPS[at] : `class ${at}`);
    put(row.children[1], `${percent(observed)}${target === undefined ? "" : `, target ${percent(target)}`}; ${plural(urls, "URL", "URLs")}`);
    const [bar, mark] = row.children[2].children;
    bar.style.width = `${observed}%`;
    mark.hidden = target === undefined;
    if (target !== undefined) mark.style.left = `${target}%`;
  });
}

const until = (bound) => (bound < 60 ? `${bound} s` : bound < 3600 ? `${bound / 60} m` : `${bound / 3600} h`);

// Hosts in memory: in flight, ready, waiting for their delay (by the time left) or for another host of the same address.
function drawRests(s, details) {
  const { bounds, hosts } = details.rests;
  const columns = [
    { name: "in flight", hosts: s.in_flight, kind: "out" },
    { name: "ready", hosts: s.hosts_ready, kind: "ready" },
    ...hosts.map((n, at) => ({ name: at < bounds.length ? until(bounds[at]) : "later", hosts: n, kind: "resting" })),
    { name: "same IP", hosts: details.hosts_parked, kind: "parked" },
  ];
  const top = Math.max(1, ...columns.map((column) => column.hosts));
  const make = () => element("li", {}, element("b"), element("i", { "aria-hidden": "true" }), element("span"));
  fill($("rests"), columns, make, (li, column) => {
    li.className = column.kind;
    put(li.children[0], short(column.hosts));
    li.children[1].style.height = `${column.hosts ? Math.max(2, (100 * column.hosts) / top) : 0}%`;
    put(li.children[2], column.name);
  });
  put($("rests-note"), `${plural(s.hosts_in_memory, "host", "hosts")} in memory, of ${count(s.hosts)} known. Columns: time until the host may be contacted.`);
}

// --- answers ---------------------------------------------------------------------------------------------

function drawAnswers(s) {
  const kinds = ["2xx", "3xx", "4xx", "5xx"];
  const counts = kinds.map((kind) => s.statuses[kind] ?? 0), total = counts.reduce((a, b) => a + b, 0);
  put($("answers-total"), plural(s.fetched, "response", "responses"));
  fill($("answers-bar"), kinds, () => element("i"), (bar, kind, at) => {
    bar.className = `s${kind[0]}`;
    bar.style.width = total ? `${(100 * counts[at]) / total}%` : "0";
  });
  const rows = [...kinds.map((kind, at) => [kind, `s${kind[0]}`, counts[at]]), ["no response", "s0", Object.entries(s.errors).reduce((n, [reason, m]) => (ANSWERED.includes(reason) ? n : n + m), 0)]];
  const make = () => element("li", {}, element("span", { class: "key" }), element("span", { class: "name" }), element("b"), element("span", { class: "hint" }));
  fill($("answers"), rows, make, (row, [kind, tone, n]) => {
    row.children[0].className = `key ${tone}`;
    put(row.children[1], kind);
    put(row.children[2], count(n));
    put(row.children[3], total && tone !== "s0" ? percent((100 * n) / total) : "");
  });
}

function drawFailures(s) {
  const rows = [
    ...Object.entries(s.errors).map(([reason, n]) => [reason, n, "s5"]),
    ...Object.entries(s.excluded).map(([reason, n]) => [reason, n, "s3"]),
  ].sort((a, b) => b[1] - a[1]).slice(0, MOST_REASONS);
  const make = () => element("li", {}, element("span", { class: "key" }), element("span", { class: "name" }), element("b"));
  fill($("trouble"), rows.length ? rows : [["none so far", null, "s2"]], make, (row, [reason, n, tone]) => {
    row.children[0].className = `key ${tone}`;
    put(row.children[1], reason.replaceAll("_", " "));
    put(row.children[2], n === null ? "" : count(n));
  });
}
