// Pages: visits as they come, or those on record, sought for by a part of their address.
import { read } from "./api.js";
import { $, address, made, put, Rows, say, showPart } from "./dom.js";
import { count, instant, reasons } from "./text.js";

const MOST = 12;
const HEARD = 200; // visits of each kind that are remembered, to seek among
const EMPTY_WINDOWS = 20; // of a search that finds nothing for long, before it is asked whether to go on

const rows = new Rows($("visits"), {
  key: (page) => page.key,
  most: MOST,
  make: (page) => made("tr", {}, made("td", {}, made("span", { class: `badge s${page.status ? String(page.status)[0] : page.quiet ? "x" : 0}`, title: page.state }, page.status ?? (page.quiet ? "–" : "none"))),
    made("td", {}, address(page.url, page.title || reasons(page.reason ?? "") || page.state)), made("td", { class: "n wide-only" }, count(page.depth)),
    made("td", { class: "n" }, page.at ? instant(page.at) : "–")),
  update: () => {},
});

// --- as they come ----------------------------------------------------------------------------------------

const recent = { all: [], stored: [], failed: [] };
let numbered = 0;

export function heardVisits(told) {
  for (const visit of told) visit.key = numbered += 1;
  const kinds = { all: told, stored: told.filter((visit) => visit.state === "stored"), failed: told.filter((visit) => ["queued", "dead", "missing", "gone"].includes(visit.state)) };
  for (const [kind, some] of Object.entries(kinds)) recent[kind] = [...some.reverse(), ...recent[kind]].slice(0, HEARD);
}

const sought = () => $("visits-q").value.trim().toLowerCase();
const onRecord = () => $("visits-kind").value.startsWith("record");

function fitting(visits, q) {
  if (!q) return visits;
  const found = [];
  for (const visit of visits) {
    if (visit.url.toLowerCase().includes(q) || visit.title?.toLowerCase().includes(q)) found.push(visit);
    if (found.length === MOST) break;
  }
  return found;
}

export function drawVisits(now = false) {
  if (onRecord()) return;
  const q = sought();
  rows.show(fitting(recent[$("visits-kind").value], q), { now, empty: q ? "None of the last visits has this in its address or title." : "Nothing yet, since this page was opened." });
  put($("visits-note"), rows.held ? "Held while you look." : "The last ones; press one to have it explained.");
}

// --- on record -------------------------------------------------------------------------------------------

let after = 0, next = null, asked = 0, host = "";

async function search(now = true) {
  const mine = (asked += 1), state = $("visits-kind").value.split(" ")[1], q = sought();
  put($("visits-note"), "Looking …");
  try {
    let found = { pages: [], next: after };
    for (let i = 0; i < EMPTY_WINDOWS && !found.pages.length && found.next !== null; i += 1) {
      const wanted = { after: found.next, limit: MOST, ...(q && { q }), ...(state && { state }), ...(host && { host }) };
      found = await read(`/pages?${new URLSearchParams(wanted)}`);
      if (mine !== asked) return; // somebody has asked for something else meanwhile
    }
    next = found.next;
    const pages = found.pages.map((page) => ({ ...page, key: `${page.state} ${page.url}`, at: page.fetched_at, quiet: page.status === null && !page.reason }));
    rows.show(pages, { now, empty: next === null ? "None on record." : "None so far; press Next to look further." });
    put($("visits-note"), pages.length ? "On record, the oldest first." : "");
  } catch (error) { if (mine === asked) { put($("visits-note"), ""); say(error.message, true); } }
  $("visits-on").disabled = next === null;
  $("visits-back").disabled = after === 0;
}

function begin() {
  const record = onRecord();
  $("visits-turn").hidden = !record;
  if (!record) { host = ""; asked += 1; }
  $("visits-host").hidden = !host;
  put($("visits-host"), `of ${host} ×`);
  $("visits-host").setAttribute("aria-label", `of ${host}: show those of all hosts`);
  after = 0;
  if (record) search();
  else drawVisits(true);
}

// Show the pages of a host that are on record.
export function recordOf(name) {
  host = name;
  $("visits-q").value = "";
  if (!onRecord()) $("visits-kind").value = "record";
  begin();
  showPart("visits-part");
}

export function handlePages() {
  let typing = 0;
  $("visits-wanted").addEventListener("submit", (event) => event.preventDefault());
  $("visits-kind").addEventListener("change", begin);
  $("visits-q").addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(begin, onRecord() ? 250 : 0); });
  $("visits-host").addEventListener("click", () => { host = ""; begin(); $("visits-kind").focus(); });
  $("visits-on").addEventListener("click", () => { after = next ?? 0; search(); });
  $("visits-back").addEventListener("click", () => { after = 0; search(); });
}
