// One host: everything that is known of it, and what can be ordered for it.
import { change, read } from "./api.js";
import { $, fill, made, put, say } from "./dom.js";
import { deadOf } from "./dead.js";
import { standing, steer } from "./hosts.js";
import { recordOf } from "./pages.js";
import { count, instant, reasons, seconds } from "./text.js";

const AGAIN = 3_000;
let host = "", timer = 0;
const path = () => `/hosts/${encodeURIComponent(host)}`;

function show(found) {
  if (found.host !== host || !$("host-dialog").open) return;
  const [state, tone] = standing(found);
  put($("host-state"), state);
  $("host-state").className = `badge ${tone}`;
  put($("host-why"), found.trouble ? `Trouble: ${reasons(found.trouble)}.` : found.wait > 0 && found.rest_reason ? `It is left alone for ${seconds(found.wait)}: ${reasons(found.rest_reason)}.` : "");
  const facts = [
    ["known pages", count(found.known)], ["queued", count(found.queued)], ["fetched", count(found.fetched)], ["stored", count(found.stored)],
    ...Object.entries(found.excluded).map(([reason, n]) => [`excluded: ${reasons(reason)}`, count(n)]),
    ["address", found.address ?? "not known yet"], ["gap after an answer", seconds(found.delay)], ["last answer took", found.fetched ? seconds(found.last_took) : "–"],
    ["next contact", found.queued === 0 ? "nothing is queued" : found.wait > 0 ? `${instant(found.next_contact)}, in ${seconds(found.wait)}` : "now"],
  ];
  fill($("host-facts"), facts, () => made("div", {}, made("dt"), made("dd")), (row, [name, value]) => { put(row.children[0], name); put(row.children[1], value); });
  fill($("host-cuts"), found.cuts, () => made("p", { class: "hint" }), (row, cut) => put(row, `Cut as a trap: ${Object.values(cut).join(", ")}`));
  const rests = found.dropped || found.paused, { seconds: field } = $("host-delay").elements;
  put($("host-pause"), rests ? "Resume" : "Pause");
  $("host-drop").hidden = rests;
  if (document.activeElement !== field) field.value = found.ordered_delay ?? found.delay;
  $("host-usual").hidden = found.ordered_delay === null;
}

async function load() {
  clearTimeout(timer);
  if (!$("host-dialog").open) return;
  try { show(await read(path())); } catch (error) { put($("host-why"), error.message); }
  if ($("host-dialog").open) timer = setTimeout(load, AGAIN);
}

// Show a host, over everything else.
async function openHost(name) {
  const dialog = $("host-dialog");
  host = name;
  put($("h-host"), name);
  put($("host-state"), "");
  put($("host-why"), "");
  $("host-facts").replaceChildren();
  $("host-cuts").replaceChildren();
  put($("host-delay").elements.told, "");
  if (!dialog.open) dialog.showModal();
  $("h-host").focus();
  await load();
}

async function delay(wanted) {
  const told = $("host-delay").elements.told;
  try {
    const found = await change(path(), { action: "delay", seconds: wanted });
    say(wanted === null ? `${host} has the gap of the configuration again` : `${host} has a gap of ${seconds(found.delay)}`);
    put(told, "");
    $("host-delay").elements.seconds.blur();
    show(found);
  } catch (error) { put(told, error.message); told.className = "error"; }
}

export function handleHost() {
  const dialog = $("host-dialog");
  // Every name of a host on this page opens it when it is pressed.
  document.addEventListener("click", (event) => {
    const pressed = event.target.closest("[data-act=open]");
    if (pressed) openHost(pressed.title);
  });
  const away = (act) => () => { dialog.close(); act(host); };
  dialog.addEventListener("close", () => clearTimeout(timer));
  dialog.addEventListener("click", (event) => {
    const box = dialog.getBoundingClientRect(), { clientX: x, clientY: y } = event;
    if (event.target === dialog && (x < box.left || x > box.right || y < box.top || y > box.bottom)) dialog.close(); // beside it
  });
  $("host-close").addEventListener("click", () => dialog.close());
  $("host-pages").addEventListener("click", away(recordOf));
  $("host-dead").addEventListener("click", away(deadOf));
  $("host-pause").addEventListener("click", async (event) => { await steer(host, event.target.textContent); await load(); });
  $("host-drop").addEventListener("click", async () => { await steer(host, "Drop"); await load(); });
  $("host-delay").addEventListener("submit", (event) => { event.preventDefault(); delay(Number($("host-delay").elements.seconds.value)); });
  $("host-usual").addEventListener("click", () => delay(null));
}
