// Internals of the crawler: time by phase, fill levels of its queues, and statistics of the engine.
import { $, fill, element, put } from "./dom.js";
import { bytes, count, percent, rate, seconds, short } from "./text.js";

const PHASES = { dns: "DNS", connect: "connect", tls: "TLS", first_byte: "first byte", body: "body", extract: "parsing", commit: "commit" };
const QUEUES = {
  hosts: "back queues in memory", names: "DNS lookups", visits: "visits in flight", bodies: "response bodies being received",
  documents: "fetched documents to process", store_reads: "queries to the store", batch: "outcomes for the next commit", listeners: "outcomes for subscribers", log: "events to write",
};

export function drawInternals(status, details) {
  if (details) { drawPhases(details.phases); drawQueues(details.queues); }
  drawEngine(status);
}

function drawPhases(phases) {
  const make = () => element("tr", {}, element("th", { scope: "row" }), ...Array.from({ length: 4 }, () => element("td", { class: "n" })));
  fill($("phases"), phases, make, (row, [name, often, ...times]) => {
    put(row.children[0], PHASES[name] ?? name);
    put(row.children[1], rate(often));
    times.forEach((time, at) => put(row.children[2 + at], seconds(time)));
  });
}

function drawQueues(queues) {
  const make = () => element("li", {}, element("span", { class: "name" }), element("span", { class: "track", "aria-hidden": "true" }, element("i")), element("b"), element("span", { class: "hint" }));
  fill($("queues"), queues, make, (row, [name, items, full]) => {
    const tone = full >= 1 ? "bad" : full >= 0.8 ? "warn" : "";
    put(row.children[0], name.replaceAll("_", " "));
    row.title = QUEUES[name] ?? "";
    row.children[1].className = `track ${tone}`;
    row.children[1].firstElementChild.style.width = `${Math.min(100, 100 * full)}%`;
    put(row.children[2], percent(100 * full));
    row.children[2].className = tone;
    put(row.children[3], short(items));
  });
}

let before = null;
let busy = 0;

function drawEngine(s) {
  if (before && s.seconds > before.seconds) busy = (100 * (s.cpu_seconds - before.cpu_seconds)) / (s.seconds - before.seconds);
  before = s;
  const full = 100 * Math.min(1, s.store_saturation);
  const rows = [
    ["open batch", percent(full), full >= 80 ? "warn" : ""],
    ["mean commit time", s.commits ? seconds(s.commit_seconds / s.commits) : "–", ""],
    ["event loop delay", seconds(s.loop_lag), s.loop_lag > 0.25 ? "warn" : ""],
    ["CPU", percent(busy), ""],
    ["peak memory", bytes(s.max_rss_bytes), ""],
    ["received", bytes(s.bytes), ""],
    ["duplicates", `${short(s.duplicates)}, ${short(s.near_duplicates)} near`, ""],
    ["robots.txt fetched", count(s.robots_fetched), ""],
    ["recrawled", s.refreshed ? `${short(s.refreshed)}, ${percent((100 * s.changed) / s.refreshed)} changed` : "0", ""],
    ["recrawls scheduled", `${short(s.recrawl.scheduled)}${s.recrawl.overdue ? `, ${short(s.recrawl.overdue)} overdue` : ""}`, s.recrawl.overdue ? "warn" : ""],
    ["estimated freshness", s.recrawl.freshness === null ? "–" : percent(100 * s.recrawl.freshness), ""],
  ];
  fill($("engine"), rows, () => element("div", {}, element("dt"), element("dd")), (row, [name, value, tone]) => {
    put(row.children[0], name);
    put(row.children[1], value);
    row.children[1].className = tone;
  });
}
