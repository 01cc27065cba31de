// The forms for seeds and limits.
import { change, read } from "./api.js";
import { $, onSubmit, showMessage } from "./dom.js";
import { count, plural } from "./text.js";

const MOST_REFUSALS = 5;
const lines = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);

async function addSeeds(form) {
  const urls = lines(form.elements.urls.value);
  if (!urls.length) throw new Error("Enter at least one URL.");
  const answer = await change("/seed/urls", { urls });
  const refused = answer.results.filter((result) => result.status === "refused");
  form.elements.urls.value = refused.map((result) => result.given).join("\n");
  const why = refused.slice(0, MOST_REFUSALS).map((result) => `${result.given}: ${(result.meaning ?? result.reason).replaceAll("`", "")}`);
  return [`${count(answer.accepted)} accepted, ${count(answer.known)} already known, ${count(answer.refused)} refused.`, ...why].join("\n");
}

async function setLimits(form) {
  const { depthLimit, urlLengthLimit, excludedDomains } = form.elements;
  const answer = await change("/url/limit", {
    depthLimit: Number(depthLimit.value), urlLengthLimit: Number(urlLengthLimit.value), excludedDomains: lines(excludedDomains.value),
  });
  showLimits(answer);
  const changes = [[answer.excluded, "excluded"], [answer.returned, "requeued"], [answer.unchecked, "still to be checked"]];
  return `${["Limits set", ...changes.filter(([n]) => n).map(([n, what]) => `${plural(n, "URL", "URLs")} ${what}`)].join("; ")}.`;
}

function showLimits(limits) {
  const { depthLimit, urlLengthLimit, excludedDomains } = $("limits").elements;
  depthLimit.value = limits.depthLimit;
  urlLengthLimit.value = limits.urlLengthLimit;
  excludedDomains.value = limits.excludedDomains.join("\n");
}

// Does not overwrite a form that is being edited.
export async function loadLimits() {
  if ($("limits").contains(document.activeElement)) return;
  try { showLimits(await read("/url/limit")); } catch (error) { showMessage($("limits"), error.message, true); }
}

export function handleForms() {
  $("begin").addEventListener("click", (event) => { event.preventDefault(); $("seeds").elements.urls.focus(); }); // also scrolls there
  onSubmit("seeds", addSeeds);
  onSubmit("limits", setLimits);
}
