// Calls to the service, and the token that changes need.
import { $, put, say } from "./dom.js";

const PATIENCE = 20_000;
let token = sessionStorage.getItem("token") ?? "";

export class Refused extends Error {
  constructor(status, message) { super(message); this.status = status; }
}

async function ask(path, body, shown = token) {
  const headers = {};
  if (shown) headers.Authorization = `Bearer ${shown}`;
  const options = { headers, signal: AbortSignal.timeout(PATIENCE) };
  if (body !== undefined) {
    headers["Content-Type"] = "application/json";
    Object.assign(options, { method: "POST", body: JSON.stringify(body) });
  }
  let answer, told;
  try { answer = await fetch(path, options); told = await answer.json(); } catch { throw new Refused(0, "the service does not answer"); }
  if (!answer.ok) throw new Refused(answer.status, told.error);
  return told;
}

export const read = (path) => ask(path);

// A change. Without the right token it asks for it, and goes on when it has it. Raises Refused.
export async function change(path, body) {
  try { return await ask(path, body); } catch (error) {
    if (error.status !== 401) throw error;
    if (!(await unlock(token ? "This token is not the right one." : ""))) throw new Refused(401, "Nothing was changed: it needs the token.");
    return ask(path, body);
  }
}

// A change that somebody has pressed a button for: what came of it is said. Whether it was made.
export async function attempt(path, body, told) {
  try { say(told(await change(path, body))); return true; } catch (error) { say(error.message, true); return false; }
}

// --- the token -------------------------------------------------------------------------------------------

function keep(found) {
  token = found;
  if (found) sessionStorage.setItem("token", found);
  else sessionStorage.removeItem("token");
  const opener = $("token-open");
  put(opener.lastElementChild, found ? "Changes unlocked" : "Unlock changes");
  opener.classList.toggle("on", Boolean(found));
  $("token-forget").hidden = !found;
}

// A change that says nothing is refused for what it lacks if the token is right, and for the token if it is not.
async function opens(shown) {
  try { await ask("/crawl", {}, shown); return true; } catch (error) {
    if (error.status === 401) return false;
    if (error.status === 422) return true;
    throw error;
  }
}

// Ask for the token. Whether there is one afterwards that opens.
export function unlock(why = "") {
  const dialog = $("token-dialog"), field = $("token");
  if (dialog.open) return Promise.resolve(false);
  put($("token-told"), why);
  field.value = "";
  dialog.returnValue = "";
  dialog.showModal();
  field.focus();
  return new Promise((done) => dialog.addEventListener("close", () => done(dialog.returnValue === "unlocked"), { once: true }));
}

export function handleToken() {
  const dialog = $("token-dialog");
  keep(token);
  $("token-open").addEventListener("click", () => unlock());
  $("token-cancel").addEventListener("click", () => dialog.close(""));
  $("token-forget").addEventListener("click", () => { keep(""); dialog.close(""); });
  $("token-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const shown = $("token").value.trim();
    try {
      if (await opens(shown)) { keep(shown); $("token").value = ""; dialog.close("unlocked"); }
      else put($("token-told"), "This token is not the right one.");
    } catch (error) { put($("token-told"), error.message); }
  });
}
