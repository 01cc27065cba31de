// Hosts: a short window of a long list, sought, sorted and steered.
import { attempt, read } from "./api.js";
import { $, button, hostName, made, put, Rows, say, sure } from "./dom.js";
import { count, plural, seconds, short } from "./text.js";

const MOST = 12;
const LEAST_PAUSE = 3_000, PAUSE_FACTOR = 20; // whoever counts hosts for us gets twenty times as long a rest
const UPWARDS = ["host", "next"];
const TONES = { ready: "good", resting: "calm", failing: "bad", paused: "warn", dropped: "bad" };

let offset = 0, wanted = 0, timer = 0;

const rows = new Rows($("hosts"), {
  key: (host) => host.host,
  most: MOST,
  make: (host) => made("tr", { "data-host": host.host },
    made("th", { scope: "row" }, hostName(host.host)),
    made("td", {}, made("span", { class: "badge" })), made("td", { class: "n" }),
    ...Array.from({ length: 6 }, () => made("td", { class: "n wide-only" })), made("td", { class: "acts" })),
  update,
});

// What a host does, in a word, with its tone.
export function standing(host) {
  const state = host.dropped ? "dropped" : host.paused ? "paused" : host.state;
  return [state, TONES[state] ?? ""];
}

function update(row, host) {
  const [state, tone] = standing(host), badge = row.cells[1].firstElementChild;
  put(badge, state);
  badge.className = `badge ${tone}`;
  badge.title = host.trouble ?? host.rest_reason ?? "";
  const excluded = Object.values(host.excluded).reduce((a, b) => a + b, 0);
  const next = host.queued === 0 ? "–" : host.wait > 0 ? `in ${seconds(host.wait)}` : "now";
  const figures = [short(host.queued), short(host.fetched), short(host.stored), short(excluded), host.fetched ? seconds(host.last_took) : "–", seconds(host.delay), next];
  figures.forEach((figure, at) => put(row.cells[2 + at], figure));
  const acts = host.dropped || host.paused ? ["Resume"] : ["Pause", "Drop"];
  if (row.dataset.acts === acts.join()) return;
  row.dataset.acts = acts.join();
  const cell = row.cells[9], focused = cell.contains(document.activeElement);
  cell.replaceChildren(...acts.map((act) => button(act, `${act} ${host.host}`, () => steer(host.host, act), act === "Drop" ? "danger wide-only" : "")));
  if (focused) cell.firstElementChild.focus();
}

// Pause, resume or drop a host. Nothing of it if whoever is asked is not sure.
export async function steer(host, act) {
  if (act === "Drop" && !(await sure(`The queued pages of ${host} will be excluded, until the host is resumed.`, "Drop host"))) return;
  const done = { Pause: "is paused", Resume: "goes on", Drop: "is dropped" }[act];
  await attempt(`/hosts/${encodeURIComponent(host)}`, { action: act.toLowerCase() }, (told) => `${host} ${done}${told.returned ? `; ${plural(told.returned, "page", "pages")} came back` : ""}`);
  await load();
}

async function load(now = false) {
  clearTimeout(timer);
  const asked = (wanted += 1), began = performance.now();
  const q = $("hosts-q").value.trim(), sort = $("hosts-sort").value;
  try {
    const found = await read(`/hosts?${new URLSearchParams({ sort, offset, limit: MOST, q })}`);
    if (asked !== wanted) return; // somebody has asked for something else meanwhile
    if (!found.hosts.length && offset) { offset = 0; await load(now); return; }
    rows.show(found.hosts, { now, empty: q ? "No host has this in its name." : "No hosts yet." });
    const last = Math.min(offset + MOST, found.total);
    put($("hosts-shown"), found.total ? `${count(offset + 1)} to ${count(last)} of ${plural(found.total, "host", "hosts")}${rows.held ? ", held while you look" : ""}` : "");
    $("hosts-back").disabled = offset === 0;
    $("hosts-on").disabled = found.next === null;
  } catch (error) { if (error.status) say(error.message, true); }
  if (asked === wanted) timer = setTimeout(load, Math.max(LEAST_PAUSE, PAUSE_FACTOR * (performance.now() - began)));
}

function turn(by) { offset = Math.max(0, offset + by); load(true); }

function sorted() {
  const sort = $("hosts-sort").value;
  for (const each of document.querySelectorAll("[data-sort]")) {
    const cell = each.closest("th");
    if (each.dataset.sort === sort) cell.setAttribute("aria-sort", UPWARDS.includes(sort) ? "ascending" : "descending");
    else cell.removeAttribute("aria-sort");
  }
  offset = 0;
}

export const reloadHosts = () => load();

export function handleHosts() {
  $("hosts-wanted").addEventListener("submit", (event) => event.preventDefault());
  let typing = 0;
  $("hosts-q").addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(() => { offset = 0; load(true); }, 250); });
  $("hosts-sort").addEventListener("change", () => { sorted(); load(true); });
  for (const each of document.querySelectorAll("[data-sort]")) {
    each.addEventListener("click", () => { $("hosts-sort").value = each.dataset.sort; sorted(); load(true); });
  }
  $("hosts-back").addEventListener("click", () => turn(-MOST));
  $("hosts-on").addEventListener("click", () => turn(MOST));
  sorted();
}
