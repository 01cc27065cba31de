// The table of hosts: one page of a long list, with search, sorting and actions.
import { attempt, read } from "./api.js";
import { $, button, hostName, element, put, Rows, notify, askConfirmation } from "./dom.js";
import { count, plural, seconds, short } from "./text.js";

const MOST = 12;
const LEAST_PAUSE = 3_000, PAUSE_FACTOR = 20; // between two queries: twenty times as long as the last one took
const ASCENDING = ["host", "next"];
const TONES = { ready: "good", resting: "calm", failing: "bad", paused: "warn", dropped: "bad" };

let offset = 0, latest = 0, timer = 0;

const rows = new Rows($("hosts"), {
  key: (host) => host.host,
  most: MOST,
  make: (host) => element("tr", { "data-host": host.host },
    element("th", { scope: "row" }, hostName(host.host)),
    element("td", {}, element("span", { class: "badge" })), element("td", { class: "n" }),
    ...Array.from({ length: 6 }, () => element("td", { class: "n wide-only" })), element("td", { class: "acts" })),
  update,
});

// The state of a host and its colour.
export function hostState(host) {
  const state = host.dropped ? "dropped" : host.paused ? "paused" : host.state;
  return [state === "resting" ? "waiting" : state, TONES[state] ?? ""];
}

function update(row, host) {
  const [state, tone] = hostState(host), badge = row.cells[1].firstElementChild;
  put(badge, state);
  badge.className = `badge ${tone}`;
  badge.title = host.trouble ?? host.rest_reason ?? "";
  const excluded = Object.values(host.excluded).reduce((a, b) => a + b, 0);
  const next = host.queued === 0 || host.paused || host.dropped ? "–" : host.wait > 0 ? `in ${seconds(host.wait)}` : "now";
  const values = [short(host.queued), short(host.fetched), short(host.stored), short(excluded), host.fetched ? seconds(host.last_took) : "–", seconds(host.delay), next];
  values.forEach((value, at) => put(row.cells[2 + at], value));
  const acts = host.dropped || host.paused ? ["Resume"] : ["Pause", "Drop"];
  if (row.dataset.acts === acts.join()) return;
  row.dataset.acts = acts.join();
  const cell = row.cells[9], focused = cell.contains(document.activeElement);
  cell.replaceChildren(...acts.map((name) => button(name, `${name} ${host.host}`, () => act(host.host, name), name === "Drop" ? "danger wide-only" : "")));
  if (focused) cell.firstElementChild.focus();
}

// Pause, resume or drop a host; asks for confirmation before it drops one.
export async function act(host, name) {
  if (name === "Drop" && !(await askConfirmation(`The queued pages of ${host} will be excluded until the host is resumed.`, "Drop host"))) return;
  const done = { Pause: "paused", Resume: "resumed", Drop: "dropped" }[name];
  await attempt(`/hosts/${encodeURIComponent(host)}`, { action: name.toLowerCase() }, (answer) => `${host} ${done}${answer.returned ? `; ${plural(answer.returned, "page", "pages")} requeued` : ""}`);
  await load();
}

async function load(now = false) {
  clearTimeout(timer);
  const mine = (latest += 1), began = performance.now();
  const q = $("hosts-q").value.trim(), sort = $("hosts-sort").value;
  try {
    const found = await read(`/hosts?${new URLSearchParams({ sort, offset, limit: MOST, q })}`);
    if (mine !== latest) return; // superseded by a newer query
    if (!found.hosts.length && offset) { offset = 0; await load(now); return; }
    rows.show(found.hosts, { now, empty: q ? "No host name contains this text." : "No hosts yet." });
    const last = Math.min(offset + MOST, found.total);
    put($("hosts-shown"), found.total ? `${count(offset + 1)} to ${count(last)} of ${plural(found.total, "host", "hosts")}${rows.held ? ` (${rows.held})` : ""}` : "");
    $("hosts-back").disabled = offset === 0;
    $("hosts-on").disabled = found.next === null;
  } catch (error) { if (error.status) notify(error.message, true); }
  if (mine === latest) timer = setTimeout(load, Math.max(LEAST_PAUSE, PAUSE_FACTOR * (performance.now() - began)));
}

function turn(by) { offset = Math.max(0, offset + by); load(true); }

function onSort() {
  const sort = $("hosts-sort").value;
  for (const each of document.querySelectorAll("[data-sort]")) {
    const cell = each.closest("th");
    if (each.dataset.sort === sort) cell.setAttribute("aria-sort", ASCENDING.includes(sort) ? "ascending" : "descending");
    else cell.removeAttribute("aria-sort");
  }
  offset = 0;
}

export const reloadHosts = () => load();

export function handleHosts() {
  $("hosts-wanted").addEventListener("submit", (event) => event.preventDefault());
  let typing = 0;
  $("hosts-q").addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(() => { offset = 0; load(true); }, 250); });
  $("hosts-sort").addEventListener("change", () => { onSort(); load(true); });
  for (const each of document.querySelectorAll("[data-sort]")) {
    each.addEventListener("click", () => { $("hosts-sort").value = each.dataset.sort; onSort(); load(true); });
  }
  $("hosts-back").addEventListener("click", () => turn(-MOST));
  $("hosts-on").addEventListener("click", () => turn(MOST));
  onSort();
}
