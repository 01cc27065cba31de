// Requests to the service, and the token that changes require. With a session (`/login`), no token is needed here.
import { $, put, notify } from "./dom.js";

const TIMEOUT = 20_000; // milliseconds
const hasSession = "session" in document.body.dataset;
let token = hasSession ? "" : sessionStorage.getItem("token") ?? "";

export class Refused extends Error {
  constructor(status, message) { super(message); this.status = status; }
}

async function request(path, body, withToken = token) {
  const headers = {};
  if (withToken) headers.Authorization = `Bearer ${withToken}`;
  const options = { headers, signal: AbortSignal.timeout(TIMEOUT) };
  if (body !== undefined) {
    headers["Content-Type"] = "application/json";
    Object.assign(options, { method: "POST", body: JSON.stringify(body) });
  }
  let response, data;
  try { response = await fetch(path, options); data = await response.json(); } catch { throw new Refused(0, "The service does not respond."); }
  if (response.status === 401 && hasSession) location.assign("/login");
  if (!response.ok) throw new Refused(response.status, data.error);
  return data;
}

export const read = (path) => request(path);

// Sends a change. Asks for the token if it is missing or wrong, then repeats the request. Throws Refused.
export async function change(path, body) {
  try { return await request(path, body); } catch (error) {
    if (error.status !== 401 || hasSession) throw error;
    if (!(await unlock(token ? "Wrong token." : ""))) throw new Refused(401, "Nothing was changed: the token is required.");
    return request(path, body);
  }
}

// Sends a change and shows a notice: `message` of the response, or the error. Returns whether it succeeded.
export async function attempt(path, body, message) {
  try { notify(message(await change(path, body))); return true; } catch (error) { notify(error.message, true); return false; }
}

// --- token -----------------------------------------------------------------------------------------------

function keep(found) {
  token = found;
  if (found) sessionStorage.setItem("token", found);
  else sessionStorage.removeItem("token");
  const opener = $("token-open");
  put(opener.lastElementChild, found ? "Changes unlocked" : "Unlock changes");
  opener.classList.toggle("on", Boolean(found));
  $("token-forget").hidden = !found;
}

// Sends an empty change: it is answered 422 if the token is right and 401 if it is not.
async function isValid(candidate) {
  try { await request("/crawl", {}, candidate); return true; } catch (error) {
    if (error.status === 401) return false;
    if (error.status === 422) return true;
    throw error;
  }
}

// Asks for the token. Resolves to whether a valid one was entered.
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

// Leaves the page if its session has ended.
export async function checkSession() {
  if (hasSession) try { await read("/status"); } catch { /* the page says that it is not connected */ }
}

async function logOut() {
  try { await fetch("/logout", { method: "POST" }); } finally { location.assign("/login"); }
}

export function handleToken() {
  const dialog = $("token-dialog");
  $("token-open").hidden = hasSession;
  $("log-out").hidden = !hasSession;
  $("log-out").addEventListener("click", logOut);
  keep(token);
  $("token-open").addEventListener("click", () => unlock());
  $("token-cancel").addEventListener("click", () => dialog.close(""));
  $("token-forget").addEventListener("click", () => { keep(""); dialog.close(""); });
  $("token-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const candidate = $("token").value.trim();
    try {
      if (await isValid(candidate)) { keep(candidate); $("token").value = ""; dialog.close("unlocked"); }
      else put($("token-told"), "Wrong token.");
    } catch (error) { put($("token-told"), error.message); }
  });
}
