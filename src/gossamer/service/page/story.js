// The story of a URL: what became of it and why, with ways on to its host and to where it was found.
import { read } from "./api.js";
import { $, address, button, hostName, made, onSubmit, say } from "./dom.js";
import { moment, reasons } from "./text.js";

const NAMES = { form: "address", identity: "seen before", finding: "found", verdicts: "filter", standing: "priority", place: "place in the queue", earlier_attempts: "" };
const OPEN = ["verdicts", "attempts", "finding"];

export function explain(url) {
  $("explain").elements.url.value = url;
  $("explain").requestSubmit();
  $("story").scrollIntoView({ block: "nearest" });
  $("story").focus({ preventScroll: true });
}

async function copy(text) {
  try { await navigator.clipboard.writeText(text); say("The address is copied."); } catch { say("The browser does not let this page copy.", true); }
}

async function tell(form) {
  $("story").replaceChildren();
  const story = await read(`/explain?${new URLSearchParams({ url: form.elements.url.value })}`);
  const { form: told, state, reason, next, ...parts } = story;
  const verdict = told.refused ? `refused: ${reasons(told.refused)}` : state ? `${state}${reason ? ` (${reason})` : ""}` : "never seen";
  $("story").replaceChildren(
    made("p", { class: "verdict" }, made("b", {}, verdict), made("br"), made("span", { class: "url" }, told.url ?? told.given)),
    ...(told.url ? [ways(told, state)] : []),
    ...(next?.why ? [made("p", {}, next.due_at ? `Next: ${moment(next.due_at)}: ${next.why}` : `Next: ${next.why}`)] : []),
    ...Object.entries(parts).filter(([name, part]) => NAMES[name] !== "" && something(part)).map(([name, part]) => chapter(name, part)),
  );
  return "";
}

// What can be done with an address: look at its host, if there is one to look at, take it away, go there.
function ways({ url, host }, state) {
  const web = /^https?:/.test(url);
  return made("p", { class: "ways" }, ...(state && host ? ["Host ", hostName(host)] : []),
    button("Copy address", "Copy address", () => copy(url)),
    ...(web ? [made("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, "Open the page")] : []));
}

const something = (value) => value !== null && value !== false && value !== "" && value !== undefined && (typeof value !== "object" || Object.values(value).some(something));

function chapter(name, part) {
  return made("details", OPEN.includes(name) ? { open: true } : {}, made("summary", {}, NAMES[name] ?? name), shown(part));
}

function shown(value) {
  if (Array.isArray(value)) return made("ul", {}, ...value.map((item) => made("li", {}, ...entry(item))));
  if (typeof value !== "object") return made("p", {}, plain("", value));
  return made("dl", {}, ...Object.entries(value).filter(([, item]) => something(item)).flatMap(([name, item]) => [
    made("dt", {}, name.replaceAll("_", " ")), made("dd", {}, typeof item === "object" ? shown(item) : plain(name, item)),
  ]));
}

// An entry of a list. One that has an address can be explained in its turn.
function entry(item) {
  if (item === null || typeof item !== "object" || !item.url) return [flat(item)];
  const { url, ...rest } = item;
  return [address(url), made("span", { class: "hint" }, flat(rest))];
}

// In one line: what it says, without what it does not.
function flat(item) {
  if (item === null || typeof item !== "object") return plain("", item);
  return Object.entries(item).filter(([, value]) => something(value)).map(([name, value]) => (name === "rule" ? `${value}:` : name === "detail" ? String(value) : name === "outcome" || name === "visited_at" ? `${plain(name, value)},` : `${name.replaceAll("_", " ")} ${typeof value === "object" ? flat(value) : plain(name, value)},`)).join(" ").replace(/[,:]$/, "");
}

function plain(name, value) {
  if (value === true) return "yes";
  if (typeof value === "number" && !Number.isInteger(value)) return String(Number(value.toPrecision(4)));
  return name.endsWith("_at") ? moment(value) : String(value);
}

export function handleStory() {
  onSubmit("explain", tell);
  // Every address on this page explains itself when it is pressed.
  document.addEventListener("click", (event) => {
    const pressed = event.target.closest("[data-act=explain]");
    if (pressed) explain(pressed.title);
  });
}
