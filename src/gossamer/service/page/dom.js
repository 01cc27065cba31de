// Helpers for the DOM. Text is always set as text, never as markup.
export const $ = (id) => document.getElementById(id);

export function put(node, text) {
  const value = String(text);
  if (node.textContent !== value) node.textContent = value;
}

export function element(tag, fields = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(fields)) {
    if (name === "class") node.className = value;
    else if (name === "on") for (const [event, act] of Object.entries(value)) node.addEventListener(event, act);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children);
  return node;
}

export function button(text, label, act, kind = "") {
  return element("button", { type: "button", class: kind, "aria-label": label, "data-act": text.toLowerCase(), on: { click: act } }, text);
}

// A URL that is explained when it is clicked (explain.js), and a host name that opens its dialog (host.js).
export function address(url, title) {
  const lines = [...(title ? [element("span", { class: "title" }, title)] : []), element("span", { class: "url" }, url)];
  return element("button", { type: "button", class: "address", "data-act": "explain", title: url, "aria-label": `explain ${url}` }, ...lines);
}

export function hostName(host) {
  return element("button", { type: "button", class: "name", "data-act": "open", title: host }, host);
}

// Scroll to a section and move the keyboard focus there.
export function showPart(id) {
  const heading = $(id).querySelector("h2");
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
  $(id).scrollIntoView({ block: "start" });
}

// One child per item. Existing children are updated in place, so nothing flickers.
export function fill(parent, items, make, update) {
  while (parent.childElementCount > items.length) parent.lastElementChild.remove();
  while (parent.childElementCount < items.length) parent.append(make());
  items.forEach((item, at) => update(parent.children[at], item, at));
}

// --- details ---------------------------------------------------------------------------------------------

let open = null; // {row, owner, pressed, contents}: the row of details, the row above it, what was clicked, what is shown and where it belongs

// Show a node next to what was clicked: below its row in a table, otherwise at the end of its section. It returns to its place
// in the page when the details are closed, with an event "away".
export function showBelow(pressed, node) {
  if (node.contains(pressed)) return;
  const row = pressed.closest("tbody tr"), inside = open?.row.contains(pressed);
  if (!inside) closeDetails();
  if (!row) { pressed.closest("section").append(node); return; }
  if (!inside) {
    const shown = [...row.cells].filter((cell) => cell.checkVisibility()).length;
    const close = button("×", "close details", () => closeDetails(true), "close");
    open = { row: element("tr", { class: "detail" }, element("td", { colspan: shown }, close)), owner: row, pressed, contents: [] };
    row.after(open.row);
  }
  if (!open.contents.some((each) => each.node === node)) open.contents.push({ node, place: node.parentElement });
  open.row.cells[0].append(node);
}

// `back`: move the keyboard focus to what was clicked.
export function closeDetails(back = false) {
  if (!open) return;
  const { row, pressed, contents } = open;
  open = null;
  for (const { node, place } of contents) { place.append(node); node.dispatchEvent(new Event("away")); }
  row.remove();
  if (back && pressed.isConnected) pressed.focus();
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && open?.row.contains(document.activeElement)) closeDetails(true);
});

// Rows of a table by key. A row keeps its node as long as its key is shown. While the pointer or the keyboard focus is on
// the rows, or details are open, they do not move, so that a click hits the intended row; `now` applies the new order at once.
export class Rows {
  constructor(body, { key, make, update, most }) {
    Object.assign(this, { body, key, make, update, most });
    this.nodes = new Map();
    this.none = element("tr", { class: "none" }, element("td", { colspan: body.closest("table").tHead.rows[0].cells.length }));
    this.pointed = false;
    const hold = () => { this.pointed = true; };
    const release = () => { this.pointed = body.contains(document.activeElement) || body.matches(":hover"); };
    body.addEventListener("pointerenter", hold);
    body.addEventListener("pointerleave", () => setTimeout(release));
    body.addEventListener("focusin", hold);
    body.addEventListener("focusout", () => setTimeout(release));
  }

  // Why the rows do not move; empty if they do.
  get held() {
    if (open && this.body.contains(open.row)) return "not updated while details are open";
    return this.pointed ? "not updated while you point at the table" : "";
  }

  show(items, { now = false, empty = "nothing" } = {}) {
    const wanted = new Map(items.slice(0, this.most).map((item) => [this.key(item), item]));
    for (const [key, node] of this.nodes) if (wanted.has(key)) this.update(node, wanted.get(key));
    if (this.held && !now && this.nodes.size) return;
    for (const [key, node] of this.nodes) if (node === open?.owner && !wanted.has(key)) closeDetails();
    const focused = this._focused();
    for (const [key, node] of this.nodes) if (!wanted.has(key)) { node.remove(); this.nodes.delete(key); }
    let place = this.body.firstElementChild;
    for (const [key, item] of wanted) {
      let node = this.nodes.get(key);
      if (!node) { node = this.make(item); this.nodes.set(key, node); this.update(node, item); }
      if (place === open?.row) place = place.nextElementSibling;
      if (node === place) place = place.nextElementSibling;
      else this.body.insertBefore(node, place);
    }
    if (open && open.owner.nextElementSibling !== open.row) open.owner.after(open.row);
    put(this.none.firstElementChild, empty);
    if (wanted.size) this.none.remove();
    else this.body.append(this.none);
    this._refocus(focused);
  }

  _focused() {
    const active = document.activeElement;
    if (!active || !this.body.contains(active)) return null;
    const row = active.closest("tr");
    return { active, act: active.dataset.act, at: [...this.body.rows].indexOf(row) };
  }

  // Keep the keyboard focus in the table: on the same button, or on that of the row that took its place.
  _refocus(focused) {
    if (!focused || document.activeElement === focused.active) return;
    if (focused.active.isConnected) { focused.active.focus(); return; }
    const row = this.body.rows[Math.min(focused.at, this.body.rows.length - 1)];
    const next = row?.querySelector(`[data-act="${focused.act}"]`) ?? row?.querySelector("button, a");
    if (next) next.focus();
    else { const heading = this.body.closest("section").querySelector("h2"); heading.tabIndex = -1; heading.focus(); }
  }
}

// --- forms -----------------------------------------------------------------------------------------------

export function showMessage(form, text, bad = false) {
  put(form.elements.message, text);
  form.elements.message.className = bad ? "error" : "";
}

// Handles the submission of a form. It cannot be submitted again until the request has ended.
export function onSubmit(id, act) {
  $(id).addEventListener("submit", async (event) => {
    event.preventDefault();
    const form = event.target, send = form.querySelector("button");
    if (send.getAttribute("aria-disabled") === "true") return;
    send.setAttribute("aria-disabled", "true");
    showMessage(form, "");
    try { showMessage(form, await act(form)); } catch (error) { showMessage(form, error.message, true); }
    send.removeAttribute("aria-disabled");
  });
}

// --- notices and confirmation ----------------------------------------------------------------------------

const MOST_NOTICES = 4;

export function notify(text, bad = false) {
  const close = button("×", "dismiss this notice", () => notice.remove());
  const notice = element("p", { class: bad ? "notice bad" : "notice" }, element("span", {}, text), close);
  const all = $("notices");
  all.append(notice);
  while (all.childElementCount > MOST_NOTICES) all.firstElementChild.remove();
  if (!bad) setTimeout(() => notice.remove(), 6000);
}

export function askConfirmation(text, yes) {
  const dialog = $("sure-dialog");
  put($("sure-text"), text);
  put($("sure-yes"), yes);
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((done) => dialog.addEventListener("close", () => done(dialog.returnValue === "yes"), { once: true }));
}
