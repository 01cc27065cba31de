// Problems in plain text at the top of the page, for the operator on call, and what the crawl is doing. A problem stays
// visible for a few seconds after it ends.
import { $, fill, element, put } from "./dom.js";
import { count, percent, plural, rate, seconds } from "./text.js";

const LINGER = 5; // seconds that a problem stays visible, against flicker
const SILENT = 10, FULL = 30, LATE = 1; // seconds without a response, with a full queue, of event loop delay
const FAILING_SHARE = 0.25, FEW = 10; // of the visits of the last minute
const HOLDING = ["bodies", "documents", "batch", "listeners"]; // queues that hold back fetching when 80 % full

export const ANSWERED = ["server_error", "rate_limited"]; // failures for which there was a response

// Earlier snapshots of the same run, for comparison.
let trail = []; // [seconds of the run, responses, failures by reason], of the last minute
let lastResponse = { fetched: -1, at: 0 };
let fullSince = new Map();
let shown = new Map(); // problem -> {tone, text, part, until}

function remember(s) {
  if (trail.length && trail.at(-1)[0] > s.seconds) { trail = []; fullSince = new Map(); lastResponse = { fetched: -1, at: 0 }; } // restarted
  trail = [...trail.filter(([at]) => s.seconds - at <= 60), [s.seconds, s.fetched, s.errors]];
  if (s.fetched !== lastResponse.fetched || !s.in_flight || s.state !== "running") lastResponse = { fetched: s.fetched, at: s.seconds };
}

// Visits of the last minute: all, those that failed, and the most frequent reason.
function recentVisits(s) {
  const [, fetched, errors] = trail[0];
  const failed = Object.entries(s.errors).map(([reason, n]) => [reason, n - (errors[reason] ?? 0)]).sort((a, b) => b[1] - a[1]);
  const bad = failed.reduce((n, [, m]) => n + m, 0);
  const visits = failed.reduce((n, [reason, m]) => (ANSWERED.includes(reason) ? n : n + m), s.fetched - fetched);
  return { visits, bad, reason: failed[0]?.[0].replaceAll("_", " ") };
}

function failures(s) {
  const { visits, bad, reason } = recentVisits(s);
  if (bad < FEW || bad < FAILING_SHARE * visits) return null;
  return `${percent((100 * bad) / visits)} of visits in the last minute failed. Most frequent reason: ${reason}.`;
}

function fullest(s, queues) {
  for (const [name, , full] of queues) {
    if (full < 0.8 || !HOLDING.includes(name)) fullSince.delete(name);
    else if (!fullSince.has(name)) fullSince.set(name, s.seconds);
  }
  const [name] = [...fullSince].find(([, since]) => s.seconds - since >= FULL) ?? [];
  return name ? `The queue "${name}" is nearly full; no visits are started until there is room.` : null;
}

function silentWorkers(s) {
  const silent = (s.workers ?? []).filter((worker) => worker.state === "silent").map((worker) => worker.name);
  return silent.length ? `No heartbeat of ${silent.join(", ")}; the others take over what it owns.` : null;
}

function problems(s, details) {
  const silent = Math.floor((s.seconds - lastResponse.at) / 10) * 10;
  const all = [
    ["store", "bad", "engine-part", s.store_failing && "The store is failing; nothing is fetched until a commit succeeds."],
    ["workers", "bad", "workers-part", s.state === "at rest" && "No worker is running. Start one with gossamer worker --store URL."],
    ["lost", "warn", "workers-part", silentWorkers(s)],
    ["names", "bad", "engine-part", s.dns_failing && "The name servers do not answer; hosts with unknown addresses are waiting."],
    ["proxy", "bad", "engine-part", s.proxy_failing && "A proxy is unavailable; its hosts are waiting."],
    ["polite", "bad", "overview", s.politeness_violations > 0 && `${plural(s.politeness_violations, "politeness violation", "politeness violations")}: requests were sent before the host's gap had passed.`],
    ["slow", "warn", "engine-part", s.store_slow && "The store is slow; nothing is fetched until the current commit ends."],
    ["cache", "warn", "engine-part", s.cache_fault && `The cache is not available (${s.cache_fault.replaceAll("_", " ")}); the crawl goes on without it.`],
    ["blobs", "warn", "engine-part", s.blobs_failing && `Object storage does not answer; ${plural(s.spool_segments, "object waits", "objects wait")} in the spool.`],
    ["silent", "warn", "hosts-part", silent >= SILENT && `No response for ${seconds(silent)}, with ${plural(s.in_flight, "visit", "visits")} in flight.`],
    ["failures", "warn", "answers-part", failures(s)],
    ["full", "warn", "queues-part", fullest(s, details?.queues ?? [])],
    ["late", "warn", "engine-part", s.loop_lag > LATE && `The event loop is delayed by ${seconds(s.loop_lag)}; the machine is overloaded.`],
  ];
  return all.filter(([, , , text]) => text);
}

function doing(s, slow) {
  if (s.discovered === 0) return "Nothing to crawl yet:";
  if (s.state === "at rest") return `At rest; ${plural(s.queued, "URL", "URLs")} queued.`;
  if (s.state === "paused") return "Paused: no visits are started until the crawl is resumed.";
  if (s.state === "stopping") return "Stopping: finishing visits in flight.";
  if (s.state === "idle") return `Nothing pending${s.recrawl?.scheduled ? `; ${plural(s.recrawl.scheduled, "recrawl", "recrawls")} scheduled` : ""}.`;
  if (slow && s.waiting_for && !shown.size) return `Waiting for ${s.waiting_for}.`;
  const healthy = shown.size ? "" : "No problems. ";
  return `${healthy}Up for ${seconds(s.seconds)}; ${plural(s.in_flight, "visit", "visits")} in flight, ${plural(s.hosts_waiting, "host", "hosts")} waiting.`;
}

// `pagesPerSecond`: over the last few seconds.
export function drawHealth(s, details, pagesPerSecond) {
  remember(s);
  const { visits, bad } = recentVisits(s), now = performance.now() / 1000;
  put($("failed"), count(bad));
  put($("failed-note"), visits ? `${percent((100 * bad) / visits)}, last minute` : "last minute");
  for (const [name, tone, part, text] of problems(s, details)) shown.set(name, { tone, part, text, until: now + LINGER });
  for (const [name, problem] of shown) if (problem.until < now) shown.delete(name);
  fill($("health"), [...shown.values()], () => element("p", {}, element("span"), element("a", {}, "Show")), (row, { tone, part, text }) => {
    row.className = tone;
    put(row.children[0], text);
    if (row.children[1].hash !== `#${part}`) { row.children[1].href = `#${part}`; row.children[1].setAttribute("aria-label", `Show details: ${text}`); }
  });
  put($("doing"), doing(s, pagesPerSecond < 1)); // a faster crawl would flicker between the two texts
  $("begin").hidden = s.discovered > 0;
  // The title shows the state when the tab is in the background.
  const title = `${shown.size ? "⚠ " : ""}${s.state === "running" ? `${rate(pagesPerSecond)}/s` : s.state} · Gossamer`;
  if (document.title !== title) document.title = title;
}

// The connection was lost, so the known problems are out of date.
export function forgetHealth() {
  shown = new Map();
  trail = [];
  $("health").replaceChildren();
  put($("doing"), "");
  document.title = "⚠ not connected · Gossamer";
}

