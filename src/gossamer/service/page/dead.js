// The table of dead letters, by class, reason or host, with requeue and drop.
import { attempt, read } from "./api.js";
import { $, address, button, element, put, Rows, notify, showPart, askConfirmation } from "./dom.js";
import { count, instant, plural, reasons } from "./text.js";

const MOST = 8;
const LEAST_PAUSE = 1_000; // milliseconds between two queries
let after = 0, next = null, known = -1, host = "", queriedAt = -LEAST_PAUSE, waiting = 0, latest = 0;

const rows = new Rows($("dead"), {
  key: (letter) => letter.url,
  most: MOST,
  make: (letter) => element("tr", { "data-url": letter.url }, element("td", {}, address(letter.url, letter.detail ?? ""), element("span", { class: "narrow-only hint" }, reasons(letter.reason ?? "unknown"))),
    element("td", { class: "wide-only" }, element("span", { class: "badge bad" })),
    element("td", { class: "acts" }, ...["Requeue", "Drop"].map((act) => button(act, `${act} ${letter.url}`, () => handle(act, letter.url), act === "Drop" ? "danger" : "")))),
  update: (row, letter) => {
    const badge = row.cells[1].firstElementChild;
    put(badge, reasons(letter.reason ?? "unknown"));
    badge.title = `${plural(letter.tries, "attempt", "attempts")}, the last at ${instant(letter.failed_at)}`;
  },
});

const chosen = () => ({ ...($("dead-class").value && { class: $("dead-class").value }), ...($("dead-reason").value && { reason: $("dead-reason").value }), ...(host && { host }) });

async function handle(act, url) {
  const body = { action: act.toLowerCase(), ...(url ? { urls: [url] } : chosen()) };
  await attempt("/dead", body, (answer) => `${plural(answer.done, "dead letter", "dead letters")} ${act === "Drop" ? "dropped" : "requeued"}`);
  await load(true);
}

async function handleAll(act) {
  const { class: kind, reason, host: of } = chosen();
  const which = `All dead letters${of ? ` on ${of}` : ""}${kind ? ` of class "${kind}"` : ""}${reason ? ` with reason "${reasons(reason)}"` : ""}`;
  const text = act === "Drop" ? `${which} will be excluded permanently.` : `${which} will be requeued with all their retries.`;
  if (await askConfirmation(text, `${act} all`)) { after = 0; await handle(act); }
}

async function load(now = false) {
  const mine = (latest += 1);
  queriedAt = performance.now();
  try {
    const found = await read(`/dead?${new URLSearchParams({ after, limit: MOST, ...chosen() })}`);
    if (mine !== latest) return; // superseded by a newer query
    if (!found.dead.length && after) { after = 0; await load(now); return; }
    rows.show(found.dead, { now, empty: known > 0 ? "No matching dead letters." : "No dead letters." });
    // The count can be ahead of the database; then the next snapshot queries again.
    if (!after && !Object.keys(chosen()).length && found.dead.length < Math.min(MOST, known)) known = -1;
    next = found.next;
    $("dead-on").disabled = next === null;
    $("dead-back").disabled = after === 0;
    for (const id of ["dead-requeue", "dead-drop"]) $(id).disabled = !found.dead.length;
  } catch (error) { if (error.status) notify(error.message, true); }
}

function restart() {
  after = 0;
  $("dead-host").hidden = !host;
  put($("dead-host"), `on ${host} ×`);
  $("dead-host").setAttribute("aria-label", `on ${host}: show all hosts`);
  load(true);
}

// A new snapshot: offer its reasons for filtering, and query dead letters if their number has changed.
export function onStatus(status) {
  const offered = $("dead-reason");
  for (const reason of Object.keys(status.errors)) {
    if (![...offered.options].some((option) => option.value === reason)) offered.append(element("option", { value: reason }, reasons(reason)));
  }
  put($("dead-shown"), status.dead ? `${count(status.dead)} in total; retries exhausted.` : "");
  if (status.dead === known || waiting) return;
  known = status.dead;
  waiting = setTimeout(() => { waiting = 0; load(); }, Math.max(0, queriedAt + LEAST_PAUSE - performance.now()));
}

// Show the dead letters of a host.
export function showDeadOf(name) {
  host = name;
  $("dead-class").value = $("dead-reason").value = "";
  restart();
  showPart("dead-part");
}

export const reloadDead = () => { known = -1; };

export function handleDead() {
  for (const id of ["dead-class", "dead-reason"]) $(id).addEventListener("change", restart);
  $("dead-host").addEventListener("click", () => { host = ""; restart(); $("dead-reason").focus(); });
  $("dead-on").addEventListener("click", () => { after = next ?? 0; load(true); });
  $("dead-back").addEventListener("click", () => { after = 0; load(true); });
  $("dead-requeue").addEventListener("click", () => handleAll("Requeue"));
  $("dead-drop").addEventListener("click", () => handleAll("Drop"));
}
