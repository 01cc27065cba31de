// The table of pages: live visits, or a search in the database.
import { read } from "./api.js";
import { $, address, element, put, Rows, notify, showPart } from "./dom.js";
import { count, instant, reasons } from "./text.js";

const MOST = 12;
const KEPT = 200; // visits of each kind that are kept for searching
const EMPTY_WINDOWS = 20; // windows without a match before the search stops and offers to continue

// The first digit of the status; 0 if a visit failed, x if there was none or it was not allowed (by robots.txt, for instance).
const tone = (page) => (page.status ? String(page.status)[0] : page.quiet || page.state === "excluded" ? "x" : 0);

const rows = new Rows($("visits"), {
  key: (page) => page.key,
  most: MOST,
  make: (page) => element("tr", {}, element("td", {}, element("span", { class: `badge s${tone(page)}`, title: page.state }, page.status ?? (tone(page) ? "–" : "none"))),
    element("td", {}, address(page.url, page.title || reasons(page.reason ?? "") || page.state)), element("td", { class: "n wide-only" }, count(page.depth)),
    element("td", { class: "n" }, page.at ? instant(page.at) : "–")),
  update: () => {},
});

// --- live ------------------------------------------------------------------------------------------------

const recent = { all: [], stored: [], failed: [] };
let numbered = 0;

export function onVisits(visits) {
  for (const visit of visits) visit.key = numbered += 1;
  const kinds = { all: visits, stored: visits.filter((visit) => visit.state === "stored"), failed: visits.filter((visit) => ["queued", "dead", "missing", "gone"].includes(visit.state)) };
  for (const [kind, some] of Object.entries(kinds)) recent[kind] = [...some.reverse(), ...recent[kind]].slice(0, KEPT);
}

const query = () => $("visits-q").value.trim().toLowerCase();
const inDatabase = () => $("visits-kind").value.startsWith("record");

function matching(visits, q) {
  if (!q) return visits;
  const found = [];
  for (const visit of visits) {
    if (visit.url.toLowerCase().includes(q) || visit.title?.toLowerCase().includes(q)) found.push(visit);
    if (found.length === MOST) break;
  }
  return found;
}

export function drawVisits(now = false) {
  if (inDatabase()) return;
  const q = query();
  rows.show(matching(recent[$("visits-kind").value], q), { now, empty: q ? "No recent visit contains this text in its URL or title." : "No visits since this page was opened." });
  put($("visits-note"), rows.held ? `${rows.held[0].toUpperCase()}${rows.held.slice(1)}.` : "Most recent visits; click one for details.");
}

// --- database --------------------------------------------------------------------------------------------

let after = 0, next = null, latest = 0, host = "";

async function search(now = true) {
  const mine = (latest += 1), state = $("visits-kind").value.split(" ")[1], q = query();
  put($("visits-note"), "Searching …");
  try {
    let found = { pages: [], next: after };
    for (let i = 0; i < EMPTY_WINDOWS && !found.pages.length && found.next !== null; i += 1) {
      const wanted = { after: found.next, limit: MOST, ...(q && { q }), ...(state && { state }), ...(host && { host }) };
      found = await read(`/pages?${new URLSearchParams(wanted)}`);
      if (mine !== latest) return; // superseded by a newer search
    }
    next = found.next;
    const pages = found.pages.map((page) => ({ ...page, key: `${page.state} ${page.url}`, at: page.fetched_at, quiet: page.status === null && !page.reason }));
    rows.show(pages, { now, empty: next === null ? "No matching pages." : "No match so far; click Next to continue." });
    put($("visits-note"), pages.length ? "From the database, oldest first." : "");
  } catch (error) { if (mine === latest) { put($("visits-note"), ""); notify(error.message, true); } }
  $("visits-on").disabled = next === null;
  $("visits-back").disabled = after === 0;
}

function restart() {
  const stored = inDatabase();
  $("visits-turn").hidden = !stored;
  if (!stored) { host = ""; latest += 1; }
  $("visits-host").hidden = !host;
  put($("visits-host"), `on ${host} ×`);
  $("visits-host").setAttribute("aria-label", `on ${host}: show all hosts`);
  after = 0;
  if (stored) search();
  else drawVisits(true);
}

// Show the pages of a host in the database.
export function showPagesOf(name) {
  host = name;
  $("visits-q").value = "";
  if (!inDatabase()) $("visits-kind").value = "record";
  restart();
  showPart("visits-part");
}

export function handlePages() {
  let typing = 0;
  $("visits-wanted").addEventListener("submit", (event) => event.preventDefault());
  $("visits-kind").addEventListener("change", restart);
  $("visits-q").addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(restart, inDatabase() ? 250 : 0); });
  $("visits-host").addEventListener("click", () => { host = ""; restart(); $("visits-kind").focus(); });
  $("visits-on").addEventListener("click", () => { after = next ?? 0; search(); });
  $("visits-back").addEventListener("click", () => { after = 0; search(); });
}
