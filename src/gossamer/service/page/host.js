// The details of one host: what is known about it, and the actions on it.
import { change, read } from "./api.js";
import { $, closeDetails, fill, element, put, notify, showBelow } from "./dom.js";
import { showDeadOf } from "./dead.js";
import { act, hostState } from "./hosts.js";
import { showPagesOf } from "./pages.js";
import { count, instant, reasons, seconds } from "./text.js";

const REFRESH = 3_000; // milliseconds
let host = "", timer = 0;
const path = () => `/hosts/${encodeURIComponent(host)}`;

function show(found) {
  if (found.host !== host || !$("host-dialog").open) return;
  const [state, tone] = hostState(found);
  put($("host-state"), state);
  $("host-state").className = `badge ${tone}`;
  put($("host-why"), found.trouble ? `Problem: ${reasons(found.trouble)}.` : found.wait > 0 && found.rest_reason ? `Waiting for ${seconds(found.wait)}: ${reasons(found.rest_reason)}.` : "");
  const facts = [
    ["known pages", count(found.known)], ["queued", count(found.queued)], ["fetched", count(found.fetched)], ["stored", count(found.stored)],
    ...Object.entries(found.excluded).map(([reason, n]) => [`excluded: ${reasons(reason)}`, count(n)]),
    ["address", found.address ?? "unknown"], ["delay after a response", seconds(found.delay)], ["last response time", found.fetched ? seconds(found.last_took) : "–"],
    ["next contact", found.queued === 0 ? "nothing queued" : found.paused || found.dropped ? "–" : found.wait > 60 ? `${instant(found.next_contact)}, in ${seconds(found.wait)}` : found.wait > 0 ? `in ${seconds(found.wait)}` : "now"],
  ];
  fill($("host-facts"), facts, () => element("div", {}, element("dt"), element("dd")), (row, [name, value]) => { put(row.children[0], name); put(row.children[1], value); });
  fill($("host-cuts"), found.cuts, () => element("p", { class: "hint" }), (row, cut) => put(row, `Cut as a trap: ${Object.values(cut).join(", ")}`));
  const suspended = found.dropped || found.paused, { seconds: field } = $("host-delay").elements;
  put($("host-pause"), suspended ? "Resume" : "Pause");
  $("host-drop").hidden = suspended;
  if (document.activeElement !== field) field.value = found.ordered_delay ?? found.delay;
  $("host-usual").hidden = found.ordered_delay === null;
}

async function load() {
  clearTimeout(timer);
  if (!$("host-dialog").open) return;
  try { show(await read(path())); } catch (error) { put($("host-why"), error.message); }
  if ($("host-dialog").open) timer = setTimeout(load, REFRESH);
}

// Open the details next to the name that was clicked.
async function openHost(pressed) {
  const dialog = $("host-dialog"), name = pressed.title;
  showBelow(pressed, dialog);
  host = name;
  put($("h-host"), name);
  put($("host-state"), "");
  put($("host-why"), "");
  $("host-facts").replaceChildren();
  $("host-cuts").replaceChildren();
  put($("host-delay").elements.message, "");
  if (!dialog.open) dialog.show();
  $("h-host").focus();
  await load();
}

async function setDelay(wanted) {
  const output = $("host-delay").elements.message;
  try {
    const found = await change(path(), { action: "delay", seconds: wanted });
    notify(wanted === null ? `${host}: the configured delay applies again` : `${host}: delay set to ${seconds(found.delay)}`);
    put(output, "");
    $("host-delay").elements.seconds.blur();
    show(found);
  } catch (error) { put(output, error.message); output.className = "error"; }
}

export function handleHost() {
  const dialog = $("host-dialog");
  // Clicking any host name on this page opens the details.
  document.addEventListener("click", (event) => {
    const pressed = event.target.closest("[data-act=open]");
    if (pressed) openHost(pressed);
  });
  const close = () => { closeDetails(true); dialog.close(); };
  const closeAnd = (show) => () => { const name = host; close(); show(name); };
  dialog.addEventListener("away", () => dialog.close());
  dialog.addEventListener("close", () => clearTimeout(timer));
  dialog.addEventListener("keydown", (event) => { if (event.key === "Escape") close(); });
  $("host-close").addEventListener("click", close);
  $("host-pages").addEventListener("click", closeAnd(showPagesOf));
  $("host-dead").addEventListener("click", closeAnd(showDeadOf));
  $("host-pause").addEventListener("click", async (event) => { await act(host, event.target.textContent); await load(); });
  $("host-drop").addEventListener("click", async () => { await act(host, "Drop"); await load(); });
  $("host-delay").addEventListener("submit", (event) => { event.preventDefault(); setDelay(Number($("host-delay").elements.seconds.value)); });
  $("host-usual").addEventListener("click", () => setDelay(null));
}
