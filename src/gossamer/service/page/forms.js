// Seeds, limits, and the story of a URL.
import { change, read } from "./api.js";
import { $, made, put } from "./dom.js";
import { count, plural } from "./text.js";

const MOST_REFUSALS = 5;
const words = (text) => text.split(/[\s,]+/).filter(Boolean);

function tell(form, text, bad = false) {
  put(form.elements.told, text);
  form.elements.told.className = bad ? "error" : "";
}

// Sends a form. While it is on its way it cannot be sent again.
function onSubmit(id, act) {
  $(id).addEventListener("submit", async (event) => {
    event.preventDefault();
    const form = event.target, send = form.querySelector("button");
    if (send.getAttribute("aria-disabled") === "true") return;
    send.setAttribute("aria-disabled", "true");
    tell(form, "");
    try { tell(form, await act(form)); } catch (error) { tell(form, error.message, true); }
    send.removeAttribute("aria-disabled");
  });
}

async function addSeeds(form) {
  const urls = words(form.elements.urls.value);
  if (!urls.length) throw new Error("There is no address.");
  const told = await change("/seed/urls", { urls });
  const refused = told.results.filter((result) => result.status === "refused");
  form.elements.urls.value = refused.map((result) => result.given).join("\n");
  const why = refused.slice(0, MOST_REFUSALS).map((result) => `${result.given}: ${(result.meaning ?? result.reason).replaceAll("`", "")}`);
  return [`${count(told.accepted)} accepted, ${count(told.known)} known, ${count(told.refused)} refused.`, ...why].join("\n");
}

async function setLimits(form) {
  const { depthLimit, urlLengthLimit, excludedDomains } = form.elements;
  const told = await change("/url/limit", {
    depthLimit: Number(depthLimit.value), urlLengthLimit: Number(urlLengthLimit.value), excludedDomains: words(excludedDomains.value),
  });
  showLimits(told);
  return `The limits hold from now on${told.returned ? `; ${plural(told.returned, "URL", "URLs")} came back` : ""}.`;
}

function showLimits(limits) {
  const { depthLimit, urlLengthLimit, excludedDomains } = $("limits").elements;
  depthLimit.value = limits.depthLimit;
  urlLengthLimit.value = limits.urlLengthLimit;
  excludedDomains.value = limits.excludedDomains.join("\n");
}

// Not while somebody is at it.
export async function loadLimits() {
  if ($("limits").contains(document.activeElement)) return;
  try { showLimits(await read("/url/limit")); } catch (error) { tell($("limits"), error.message, true); }
}

// --- the story of a URL ----------------------------------------------------------------------------------

const NAMES = { form: "address", identity: "seen before", finding: "found", verdicts: "filter", standing: "priority", place: "place in the queue", earlier_attempts: "" };

export async function explain(url) {
  $("explain").elements.url.value = url;
  $("explain").requestSubmit();
  $("story").scrollIntoView({ block: "nearest" });
  $("story").focus({ preventScroll: true });
}

async function tellStory(form) {
  $("story").replaceChildren();
  const story = await read(`/explain?${new URLSearchParams({ url: form.elements.url.value })}`);
  const { form: address, state, reason, next, ...parts } = story;
  const verdict = address.refused ? `refused: ${address.refused}` : state ? `${state}${reason ? ` (${reason})` : ""}` : "never seen";
  $("story").replaceChildren(
    made("p", { class: "verdict" }, made("b", {}, verdict), made("br"), made("span", { class: "url" }, address.url ?? address.given)),
    ...(next?.why ? [made("p", {}, next.due_at ? `Next: ${moment(next.due_at)}: ${next.why}` : `Next: ${next.why}`)] : []),
    ...Object.entries(parts).filter(([name, part]) => NAMES[name] !== "" && something(part)).map(([name, part]) => chapter(name, part)),
  );
  return "";
}

const moment = (text) => new Date(text).toLocaleString("en-GB");
const something = (value) => value !== null && value !== false && value !== "" && value !== undefined && (typeof value !== "object" || Object.values(value).some(something));

function chapter(name, part) {
  return made("details", name === "verdicts" || name === "attempts" || name === "finding" ? { open: true } : {}, made("summary", {}, NAMES[name] ?? name), shown(part));
}

function shown(value) {
  if (Array.isArray(value)) return made("ul", {}, ...value.map((item) => made("li", {}, flat(item))));
  if (typeof value !== "object") return made("p", {}, plain("", value));
  return made("dl", {}, ...Object.entries(value).filter(([, item]) => something(item)).flatMap(([name, item]) => [
    made("dt", {}, name.replaceAll("_", " ")), made("dd", {}, typeof item === "object" ? shown(item) : plain(name, item)),
  ]));
}

// An entry of a list in one line: what it says, without what it does not.
function flat(item) {
  if (item === null || typeof item !== "object") return plain("", item);
  return Object.entries(item).filter(([, value]) => something(value)).map(([name, value]) => (["rule", "outcome", "url"].includes(name) ? plain(name, value) : `${name.replaceAll("_", " ")} ${typeof value === "object" ? flat(value) : plain(name, value)}`)).join(", ");
}

function plain(name, value) {
  if (value === true) return "yes";
  if (typeof value === "number" && !Number.isInteger(value)) return String(Number(value.toPrecision(4)));
  return name.endsWith("_at") ? moment(value) : String(value);
}

export function handleForms() {
  onSubmit("seeds", addSeeds);
  onSubmit("limits", setLimits);
  onSubmit("explain", tellStory);
}
