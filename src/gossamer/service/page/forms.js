// Seeds and limits.
import { change, read } from "./api.js";
import { $, onSubmit, tell } from "./dom.js";
import { count, plural } from "./text.js";

const MOST_REFUSALS = 5;
const words = (text) => text.split(/[\s,]+/).filter(Boolean);

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

export function handleForms() {
  $("begin").addEventListener("click", (event) => { event.preventDefault(); $("seeds").elements.urls.focus(); }); // it scrolls there, too
  onSubmit("seeds", addSeeds);
  onSubmit("limits", setLimits);
}
