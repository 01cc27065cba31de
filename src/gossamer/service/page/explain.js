// Explains a URL: its state and the reasons for it, with links to its host and to the pages it was found on.
import { read } from "./api.js";
import { $, address, button, closeDetails, hostName, element, onSubmit, notify, showBelow } from "./dom.js";
import { dateTime, reasons, seconds } from "./text.js";

const NAMES = { form: "URL", identity: "seen before", finding: "found", verdicts: "filter", standing: "priority", place: "place in the queue", earlier_attempts: "" };
const LABELS = { way: "path from the seed" };
const OPEN = ["attempts", "finding"], DURATIONS = ["took", "gap"];

// Explain the URL that was clicked, next to it.
async function explain(pressed) {
  const story = $("story");
  showBelow(pressed, story);
  try { await tell(pressed.title); } catch (error) { notify(error.message, true); }
  story.scrollIntoView({ block: "nearest" });
  story.focus({ preventScroll: true });
}

async function copy(text) {
  try { await navigator.clipboard.writeText(text); notify("URL copied."); } catch { notify("The browser does not allow this page to copy.", true); }
}

async function showExplanation(form) {
  closeDetails();
  await tell(form.elements.url.value);
  return "";
}

async function tell(url) {
  $("story").replaceChildren();
  const story = await read(`/explain?${new URLSearchParams({ url })}`);
  const { v: _, answer, form: canonical, state, reason, owner, next, ...parts } = story;
  const verdict = canonical.refused ? `refused: ${reasons(canonical.refused)}` : state ? `${state}${reason ? ` (${reason})` : ""}` : "never seen";
  $("story").replaceChildren(
    element("p", { class: "verdict" }, element("b", {}, verdict), element("br"), element("span", { class: "url" }, canonical.url ?? canonical.given)),
    ...(canonical.url ? [actions(canonical, state)] : []),
    ...(answer ? [element("p", {}, answer)] : []),
    ...(next?.why ? [element("p", {}, next.due_at ? `Next: ${dateTime(next.due_at)}: ${next.why}` : `Next: ${next.why}`)] : []),
    ...(owner ? [element("p", { class: "hint" }, `Worker: ${owner.worker ?? "nobody: waiting for a worker"} (partition ${owner.partition})`)] : []),
    ...Object.entries(parts).filter(([name, part]) => NAMES[name] !== "" && something(part)).map(([name, part]) => chapter(name, part)),
  );
}

// Show the host (if it is known), copy the URL, open the page.
function actions({ url, host }, state) {
  const web = /^https?:/.test(url);
  return element("p", { class: "ways" }, ...(state && host ? ["Host ", hostName(host)] : []),
    button("Copy URL", "Copy URL", () => copy(url)),
    ...(web ? [element("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, "Open page")] : []));
}

const something = (value) => value !== null && value !== false && value !== "" && value !== undefined && (typeof value !== "object" || Object.values(value).some(something));

function chapter(name, part) {
  return element("details", OPEN.includes(name) ? { open: true } : {}, element("summary", {}, NAMES[name] ?? name), shown(part));
}

function shown(value) {
  if (Array.isArray(value)) return element("ul", {}, ...value.map((item) => element("li", {}, ...entry(item))));
  if (typeof value !== "object") return element("p", {}, plain("", value));
  return element("dl", {}, ...Object.entries(value).filter(([, item]) => something(item)).flatMap(([name, item]) => [
    element("dt", {}, LABELS[name] ?? name.replaceAll("_", " ")), element("dd", {}, typeof item === "object" ? shown(item) : plain(name, item)),
  ]));
}

// An entry of a list. If it has a URL, clicking the URL explains it.
function entry(item) {
  if (item === null || typeof item !== "object" || !item.url) return [flat(item)];
  const { url, ...rest } = item;
  return [address(url), element("span", { class: "hint" }, flat(rest))];
}

// An object as one line, without its empty values.
function flat(item) {
  if (item === null || typeof item !== "object") return plain("", item);
  return Object.entries(item).filter(([, value]) => something(value)).map(([name, value]) => (name === "rule" ? `${value}:` : name === "detail" ? String(value) : name === "outcome" || name === "visited_at" ? `${plain(name, value)},` : `${name.replaceAll("_", " ")} ${typeof value === "object" ? flat(value) : plain(name, value)},`)).join(" ").replace(/[,:]$/, "");
}

function plain(name, value) {
  if (value === true) return "yes";
  if (DURATIONS.includes(name)) return seconds(value);
  if (typeof value === "number" && !Number.isInteger(value)) return String(Number(value.toPrecision(4)));
  return name.endsWith("_at") ? dateTime(value) : String(value);
}

export function handleExplain() {
  onSubmit("explain", showExplanation);
  // Clicking any URL on this page explains it.
  document.addEventListener("click", (event) => {
    const pressed = event.target.closest("[data-act=explain]");
    if (pressed) explain(pressed);
  });
  $("story").addEventListener("away", () => $("story").replaceChildren());
}
