// Hosts, recent pages and dead letters: short windows of long lists.
import { change, read } from "./api.js";
import { $, button, made, put, Rows, say, sure } from "./dom.js";
import { explain } from "./forms.js";
import { count, plural, seconds, short } from "./text.js";

const HOSTS = 12, VISITS = 12, DEAD = 8;
const LEAST_PAUSE = 3_000, PAUSE_FACTOR = 20; // whoever counts hosts for us gets twenty times as long a rest

async function attempt(path, body, told) {
  try { say(told(await change(path, body))); return true; } catch (error) { say(error.message, true); return false; }
}

// An address that explains itself when it is pressed.
function address(url, title) {
  const shown = made("button", { type: "button", class: "address", "data-act": "explain", title: url, on: { click: () => explain(url) } });
  shown.append(...(title ? [made("span", { class: "title" }, title), made("span", { class: "url" }, url)] : [made("span", { class: "url" }, url)]));
  shown.setAttribute("aria-label", `explain ${url}`);
  return shown;
}

// --- hosts -----------------------------------------------------------------------------------------------

let offset = 0, wantedHosts = 0, hostsTimer = 0;

const hosts = new Rows($("hosts"), {
  key: (host) => host.host,
  most: HOSTS,
  make: (host) => made("tr", { "data-host": host.host }, made("th", { scope: "row" }, host.host), made("td", {}, made("span", { class: "badge" })),
    made("td", { class: "n" }), made("td", { class: "n" }), made("td", { class: "n wide-only" }), made("td", { class: "n wide-only" }), made("td", { class: "acts" })),
  update: updateHost,
});

const HOST_TONES = { ready: "good", resting: "calm", failing: "bad", paused: "warn", dropped: "bad" };

function updateHost(row, host) {
  const state = host.dropped ? "dropped" : host.paused ? "paused" : host.state;
  const badge = row.cells[1].firstElementChild;
  put(badge, state);
  badge.className = `badge ${HOST_TONES[state] ?? ""}`;
  badge.title = host.trouble ?? host.rest_reason ?? "";
  put(row.cells[2], short(host.queued));
  put(row.cells[3], short(host.stored));
  put(row.cells[4], seconds(host.delay));
  put(row.cells[5], host.queued === 0 ? "–" : host.wait > 0 ? `in ${seconds(host.wait)}` : "now");
  const acts = host.dropped || host.paused ? ["Resume"] : ["Pause", "Drop"];
  if (row.dataset.acts === acts.join()) return;
  row.dataset.acts = acts.join();
  const focused = row.cells[6].contains(document.activeElement);
  row.cells[6].replaceChildren(...acts.map((act) => button(act, `${act} ${host.host}`, () => steer(host.host, act), act === "Drop" ? "danger" : "")));
  if (focused) row.cells[6].firstElementChild.focus();
}

async function steer(host, act) {
  if (act === "Drop" && !(await sure(`The queued pages of ${host} will be excluded, until the host is resumed.`, "Drop host"))) return;
  const done = { Pause: "is paused", Resume: "goes on", Drop: "is dropped" }[act];
  await attempt(`/hosts/${encodeURIComponent(host)}`, { action: act.toLowerCase() }, (told) => `${host} ${done}${told.returned ? `; ${plural(told.returned, "page", "pages")} came back` : ""}`);
  await loadHosts();
}

async function loadHosts(now = false) {
  clearTimeout(hostsTimer);
  const asked = (wantedHosts += 1), began = performance.now();
  const q = $("hosts-q").value.trim(), sort = $("hosts-sort").value;
  try {
    const found = await read(`/hosts?${new URLSearchParams({ sort, offset, limit: HOSTS, q })}`);
    if (asked !== wantedHosts) return; // somebody has asked for something else meanwhile
    hosts.show(found.hosts, { now, empty: q ? "No host has this in its name." : "No hosts yet." });
    const last = Math.min(offset + HOSTS, found.total);
    put($("hosts-shown"), found.total ? `${count(offset + 1)} to ${count(last)} of ${plural(found.total, "host", "hosts")}` : "");
    $("hosts-back").disabled = offset === 0;
    $("hosts-on").disabled = found.next === null;
  } catch (error) { if (error.status) say(error.message, true); }
  if (asked === wantedHosts) hostsTimer = setTimeout(loadHosts, Math.max(LEAST_PAUSE, PAUSE_FACTOR * (performance.now() - began)));
}

function turnHosts(by) { offset = Math.max(0, offset + by); loadHosts(true); }

// --- recent pages ----------------------------------------------------------------------------------------

const recent = { all: [], stored: [], failed: [] };
let numbered = 0;

const visits = new Rows($("visits"), {
  key: (visit) => visit.number,
  most: VISITS,
  make: (visit) => made("tr", {}, made("td", {}, made("span", { class: `badge s${visit.status ? String(visit.status)[0] : 0}`, title: visit.state }, visit.status ?? "none")),
    made("td", {}, address(visit.url, visit.title || visit.reason?.replaceAll("_", " ") || visit.state)), made("td", { class: "n wide-only" }, count(visit.depth))),
  update: () => {},
});

export function heardVisits(told) {
  for (const visit of told) visit.number = numbered += 1;
  const kinds = { all: told, stored: told.filter((visit) => visit.state === "stored"), failed: told.filter((visit) => ["queued", "dead", "missing", "gone"].includes(visit.state)) };
  for (const [kind, some] of Object.entries(kinds)) recent[kind] = [...some.slice(-VISITS).reverse(), ...recent[kind]].slice(0, VISITS);
}

export function drawVisits(now = false) {
  visits.show(recent[$("visits-kind").value], { now, empty: "Nothing yet, since this page was opened." });
  put($("visits-note"), visits.held ? "Held while you look." : "The last ones; press one to have it explained.");
}

// --- dead letters ----------------------------------------------------------------------------------------

let after = 0, next = null, deadCount = -1;

const letters = new Rows($("dead"), {
  key: (letter) => letter.url,
  most: DEAD,
  make: (letter) => made("tr", { "data-url": letter.url }, made("td", {}, address(letter.url)), made("td", {}, made("span", { class: "badge bad" })),
    made("td", { class: "acts" }, ...["Requeue", "Drop"].map((act) => button(act, `${act} ${letter.url}`, () => handle(act, letter.url), act === "Drop" ? "danger" : "")))),
  update: (row, letter) => put(row.cells[1].firstElementChild, (letter.reason ?? "unknown").replaceAll("_", " ")),
});

async function handle(act, url) {
  const body = { action: act.toLowerCase(), ...(url ? { urls: [url] } : {}) };
  await attempt("/dead", body, (told) => `${plural(told.done, "dead letter", "dead letters")} ${act === "Drop" ? "dropped" : "queued again"}`);
  await loadDead(true);
}

async function handleAll(act) {
  const text = act === "Drop" ? "All dead letters will be excluded for good." : "All dead letters will be tried again from the start.";
  if (await sure(text, `${act} all`)) { after = 0; await handle(act); }
}

async function loadDead(now = false) {
  try {
    const found = await read(`/dead?${new URLSearchParams({ after, limit: DEAD })}`);
    if (!found.dead.length && after) { after = 0; return loadDead(now); }
    letters.show(found.dead, { now, empty: "No dead letters." });
    next = found.next;
    $("dead-on").disabled = next === null;
    $("dead-back").disabled = after === 0;
    for (const id of ["dead-requeue", "dead-drop"]) $(id).disabled = !found.dead.length;
    put($("dead-shown"), found.dead.length ? "Their tries are used up." : "");
  } catch (error) { if (error.status) say(error.message, true); }
  return undefined;
}

// A picture came: dead letters are asked for only when their number has changed.
export function deadNumber(n) {
  if (n === deadCount) return;
  deadCount = n;
  loadDead();
}

// --- all of them -----------------------------------------------------------------------------------------

export function reloadLists() { deadCount = -1; loadHosts(); }

export function handleLists() {
  $("hosts-wanted").addEventListener("submit", (event) => event.preventDefault());
  let typing = 0;
  $("hosts-q").addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(() => { offset = 0; loadHosts(true); }, 250); });
  $("hosts-sort").addEventListener("change", () => { offset = 0; loadHosts(true); });
  $("hosts-back").addEventListener("click", () => turnHosts(-HOSTS));
  $("hosts-on").addEventListener("click", () => turnHosts(HOSTS));
  $("visits-kind").addEventListener("change", () => drawVisits(true));
  $("dead-on").addEventListener("click", () => { after = next ?? 0; loadDead(true); });
  $("dead-back").addEventListener("click", () => { after = 0; loadDead(true); });
  $("dead-requeue").addEventListener("click", () => handleAll("Requeue"));
  $("dead-drop").addEventListener("click", () => handleAll("Drop"));
}
