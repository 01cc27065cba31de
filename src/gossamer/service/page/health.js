// What is wrong, first of all and in words: for whoever is woken by it. Each trouble stands until it has been gone a while.
import { $, fill, made, put } from "./dom.js";
import { percent, plural, rate, seconds } from "./text.js";

const LINGERS = 5; // seconds: what comes and goes is not to flicker
const SILENT = 10, FULL = 30, LATE = 1; // seconds without an answer, with a full queue, that the event loop is late
const FAILING_SHARE = 0.25, FEW = 10; // of the last minute's visits
const HOLDING = ["bodies", "documents", "batch", "listeners"]; // fetching waits for these, from 80 % on

export const ANSWERED = ["server_error", "rate_limited"]; // failures that are answers as well

// What a picture has to be compared with: earlier ones of the same run.
let trail = []; // [seconds of the run, answers, failures by reason], of the last minute
let heard = { fetched: -1, at: 0 }; // since when there has been no answer
let fullSince = new Map();
let shown = new Map(); // trouble -> {tone, text, part, until}

function remember(s) {
  if (trail.length && trail.at(-1)[0] > s.seconds) { trail = []; fullSince = new Map(); heard = { fetched: -1, at: 0 }; } // started anew
  trail = [...trail.filter(([at]) => s.seconds - at <= 60), [s.seconds, s.fetched, s.errors]];
  if (s.fetched !== heard.fetched || !s.in_flight || s.state !== "running") heard = { fetched: s.fetched, at: s.seconds };
}

function failures(s) {
  const [, fetched, errors] = trail[0];
  const failed = Object.entries(s.errors).map(([reason, n]) => [reason, n - (errors[reason] ?? 0)]).sort((a, b) => b[1] - a[1]);
  const bad = failed.reduce((n, [, m]) => n + m, 0);
  const visits = failed.reduce((n, [reason, m]) => (ANSWERED.includes(reason) ? n : n + m), s.fetched - fetched);
  if (bad < FEW || bad < FAILING_SHARE * visits) return null;
  return `${percent((100 * bad) / visits)} of the visits of the last minute failed, most of them for: ${failed[0][0].replaceAll("_", " ")}.`;
}

function fullest(s, queues) {
  for (const [name, , full] of queues) {
    if (full < 0.8 || !HOLDING.includes(name)) fullSince.delete(name);
    else if (!fullSince.has(name)) fullSince.set(name, s.seconds);
  }
  const [name] = [...fullSince].find(([, since]) => s.seconds - since >= FULL) ?? [];
  return name ? `The queue of ${name} is nearly full: fetching is held back until there is room.` : null;
}

function troubles(s, moment) {
  const silent = Math.floor((s.seconds - heard.at) / 10) * 10;
  const all = [
    ["store", "bad", "engine-part", s.store_failing && "The store fails: nothing is fetched until a commit succeeds."],
    ["names", "bad", "engine-part", s.dns_failing && "The name servers do not answer: hosts whose address is not known wait."],
    ["proxy", "bad", "engine-part", s.proxy_failing && "A proxy cannot be used: its hosts wait."],
    ["polite", "bad", "overview", s.politeness_violations > 0 && `${plural(s.politeness_violations, "gap", "gaps")} between two contacts of a host ${s.politeness_violations === 1 ? "was" : "were"} too short.`],
    ["slow", "warn", "engine-part", s.store_slow && "The store is slow: nothing is fetched until its commit ends."],
    ["silent", "warn", "hosts-part", silent >= SILENT && `No answer has come for ${seconds(silent)}, with ${plural(s.in_flight, "visit", "visits")} in flight.`],
    ["failures", "warn", "answers-part", failures(s)],
    ["full", "warn", "queues-part", fullest(s, moment?.queues ?? [])],
    ["late", "warn", "engine-part", s.loop_lag > LATE && `The event loop is late by ${seconds(s.loop_lag)}: the machine is overloaded.`],
  ];
  return all.filter(([, , , text]) => text);
}

function doing(s, slow) {
  if (s.discovered === 0) return "Nothing to crawl yet:";
  if (s.state === "paused") return "No visits are started until it is resumed.";
  if (s.state === "stopping") return "It stops: visits in flight are being finished.";
  if (s.state === "idle") return `Nothing is left to do now${s.recrawl?.scheduled ? `; ${plural(s.recrawl.scheduled, "page has", "pages have")} the date of another visit` : ""}.`;
  if (slow && s.waiting_for && !shown.size) return `Waits for ${s.waiting_for}.`;
  const well = shown.size ? "" : "All is well. ";
  return `${well}Up for ${seconds(s.seconds)}; ${plural(s.in_flight, "visit", "visits")} in flight, ${plural(s.hosts_waiting, "host", "hosts")} left alone for a while.`;
}

// `pace`: pages a second, lately.
export function drawHealth(s, moment, pace) {
  remember(s);
  const now = performance.now() / 1000;
  for (const [name, tone, part, text] of troubles(s, moment)) shown.set(name, { tone, part, text, until: now + LINGERS });
  for (const [name, trouble] of shown) if (trouble.until < now) shown.delete(name);
  fill($("health"), [...shown.values()], () => made("p", {}, made("span"), made("a", {}, "Show")), (row, { tone, part, text }) => {
    row.className = tone;
    put(row.children[0], text);
    if (row.children[1].hash !== `#${part}`) { row.children[1].href = `#${part}`; row.children[1].setAttribute("aria-label", `Show where: ${text}`); }
  });
  put($("doing"), doing(s, pace < 1)); // otherwise a polite crawl would flicker between the two
  $("begin").hidden = s.discovered > 0;
  // For whoever has this page among many: how it goes, without looking at it.
  const title = `${shown.size ? "⚠ " : ""}${s.state === "running" ? `${rate(pace)}/s` : s.state} · Gossamer`;
  if (document.title !== title) document.title = title;
}

// The figures are old: what was wrong is no news any more.
export function forgetHealth() {
  shown = new Map();
  trail = [];
  $("health").replaceChildren();
  put($("doing"), "");
  document.title = "⚠ not connected · Gossamer";
}

