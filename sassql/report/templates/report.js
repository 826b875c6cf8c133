"use strict";
// Search, sort and filter of the table of kernels; sections that are unpacked when they are opened; arrows from
// definitions to uses in a listing. Names are only ever set as text; sections were escaped when they were made.
(() => {
  const PAGE = 100;
  const find = (selector, root = document) => root.querySelector(selector);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const make = (tag, text, attributes = {}) => {
    const element = document.createElement(tag);
    if (text !== undefined && text !== null) element.textContent = text;
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  };
  const number = (value) => (value === null ? "-" : value.toLocaleString("en-US"));

  async function unpack(text) {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).text();
  }

  // --- dark and light

  const theme = find("#theme");
  if (theme) {
    theme.hidden = false;
    theme.addEventListener("click", () => {
      const root = document.documentElement;
      const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
      root.dataset.theme = dark ? "light" : "dark";
    });
  }

  // --- the table of kernels

  const FIELDS = ["id", "name", "demangled", "symbol", "cls", "arch", "instructions", "weight", "registers", "shared",
    "occupancy", "motifs", "findings", "place", "page"];
  const NUMBERS = ["instructions", "weight", "registers", "shared", "occupancy"];

  async function table() {
    const source = find("#rows");
    if (!source) return;
    const data = JSON.parse(await unpack(JSON.parse(source.textContent)));
    const rows = data.rows.map((values) => {
      const row = Object.fromEntries(FIELDS.map((field, i) => [field, values[i]]));
      row.motifs = row.motifs.map((i) => data.motifs[i]).sort();
      row.findings = row.findings.map((i) => data.findings[i]).sort();
      row.place = data.places[row.place];
      row.text = [row.demangled || row.name, row.symbol, row.place, row.cls, row.motifs.join(" "), row.findings.join(" ")]
        .join("\n").toLowerCase();
      return row;
    });
    const body = find("#table tbody");
    const state = { key: "weight", down: true, page: 0, shown: rows };
    const controls = { arch: find("#arch"), cls: find("#class"), motif: find("#motif"), finding: find("#finding") };
    const fill = (select, values) => {
      for (const value of values) select.append(make("option", value, { value }));
      select.parentElement.hidden = values.length < 2 && select !== controls.motif;
    };
    const distinct = (field) => [...new Set(rows.flatMap((row) => row[field]))].filter(Boolean);
    const generation = (arch) => parseInt(arch.replace(/\D/g, ""), 10) || 0;
    fill(controls.arch, distinct("arch").sort((a, b) => generation(a) - generation(b) || (a < b ? -1 : 1)));
    fill(controls.cls, distinct("cls").sort());
    fill(controls.motif, distinct("motifs").sort());
    fill(controls.finding, distinct("findings").sort());

    function cells(row) {
      const line = make("tr");
      const head = make("th", null, { scope: "row" });
      const title = row.demangled || row.name;
      head.append(row.page ? make("a", row.name, { href: row.page, title }) : make("span", row.name, { title }));
      line.append(head, make("td", row.cls || "-"), make("td", row.arch));
      for (const key of NUMBERS) line.append(make("td", number(row[key]), { class: "n" }));
      line.append(make("td", row.motifs.join(", ")), make("td", row.findings.join(", ")));
      return line;
    }

    function show() {
      const pages = Math.max(1, Math.ceil(state.shown.length / PAGE));
      state.page = Math.min(state.page, pages - 1);
      const from = state.page * PAGE;
      body.replaceChildren(...state.shown.slice(from, from + PAGE).map(cells));
      const count = state.shown.length;
      find("#count").textContent = `${number(count)} of ${number(rows.length)} kernels`;
      find("#pager").hidden = pages < 2;
      find("#where").textContent = `${number(count ? from + 1 : 0)} to ${number(Math.min(from + PAGE, count))} of ${number(count)}`;
      find("#previous").disabled = state.page === 0;
      find("#next").disabled = state.page >= pages - 1;
      for (const head of all("#table thead th")) {
        head.setAttribute("aria-sort", head.dataset.key !== state.key ? "none" : state.down ? "descending" : "ascending");
      }
    }

    function sorted(list) {
      const { key, down } = state;
      const value = (row) => (Array.isArray(row[key]) ? row[key].length : key === "arch" ? generation(row.arch) : row[key]);
      const direction = down ? -1 : 1;
      return [...list].sort((a, b) => {
        const [x, y] = [value(a), value(b)];
        if (x === y) return 0;
        if (x === null) return 1;
        if (y === null) return -1;
        return (typeof x === "string" ? x.localeCompare(y) : x - y) * direction;
      });
    }

    function filter() {
      const words = find("#search").value.toLowerCase().split(/\s+/).filter(Boolean);
      const { arch, cls, motif, finding } = controls;
      state.shown = sorted(rows.filter((row) =>
        (!arch.value || row.arch === arch.value) && (!cls.value || row.cls === cls.value) &&
        (!motif.value || row.motifs.includes(motif.value)) && (!finding.value || row.findings.includes(finding.value)) &&
        words.every((word) => row.text.includes(word))));
      state.page = 0;
      show();
    }

    for (const head of all("#table thead th")) {
      const button = make("button", head.textContent.trim(), { type: "button" });
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const { key } = head.dataset;
        const text = !NUMBERS.includes(key) && !["motifs", "findings"].includes(key);
        state.down = state.key === key ? !state.down : !text;
        state.key = key;
        state.shown = sorted(state.shown);
        state.page = 0;
        show();
      });
    }
    const form = find("#filters");
    form.hidden = false;
    form.addEventListener("input", filter);
    form.addEventListener("reset", () => setTimeout(filter));
    form.addEventListener("submit", (event) => event.preventDefault());
    const turn = (by) => () => { state.page += by; show(); find("#kernels").scrollIntoView(); };
    find("#previous").addEventListener("click", turn(-1));
    find("#next").addEventListener("click", turn(1));
    show();
  }

  // --- the section of a kernel

  const view = find("#kernel-view");
  const home = find("#main");
  let opened = "";
  let scrolled = 0;

  async function route() {
    const [id, address] = location.hash.slice(1).split("-");
    const packed = view && /^k\d+$/.test(id) && document.getElementById(`data-${id}`);
    if (packed) {
      if (opened !== id) {
        if (!opened) scrolled = scrollY;
        view.innerHTML = await unpack(packed.textContent);
        const back = make("p");
        back.append(make("a", "← All kernels", { href: "#kernels", class: "js" }));
        view.prepend(back);
        opened = id;
        home.hidden = true;
        view.hidden = false;
        listing(view);
        if (!address) { scrollTo(0, 0); find("h1", view).focus({ preventScroll: true }); }
      }
    } else if (view && opened) {
      opened = "";
      view.hidden = true;
      view.replaceChildren();
      home.hidden = false;
      const target = location.hash && document.getElementById(location.hash.slice(1));
      if (target && location.hash !== "#kernels") target.scrollIntoView(); else scrollTo(0, scrolled);
    }
    if (address) {
      const row = document.getElementById(`${id}-${address}`);
      if (row) select(row, true);
    }
  }

  // --- arrows in a listing

  let select = () => {};

  function listing(root) {
    const article = find("article.kernel", root);
    if (!article) return;
    const box = find(".listing", article);
    const rows = all("tr.i", box);
    const panel = find(".selected", article);
    const id = article.dataset.kernel;
    const users = new Map();
    for (const row of rows) {
      for (const link of all(".r a", row)) {
        const from = link.getAttribute("href").split("-")[1];
        if (!users.has(from)) users.set(from, []);
        users.get(from).push([row, link.parentElement.dataset.r]);
      }
    }
    const rowAt = (address) => document.getElementById(`${id}-${address}`);
    const definitions = (row) => all(".r a", row)
      .map((link) => [link.getAttribute("href").split("-")[1], link.parentElement.dataset.r]);
    const past = [];
    let current = null;
    document.documentElement.classList.add("ready");
    for (const row of rows) row.tabIndex = -1;
    if (rows.length) rows[0].tabIndex = 0;

    function wire(svg, from, to, kind, lane, text) {
      const top = box.getBoundingClientRect().top - box.scrollTop;
      const middle = (row) => { const place = row.getBoundingClientRect(); return place.top - top + Math.min(place.height, 18) / 2; };
      const [y1, y2] = [middle(from), middle(to)];
      const edge = find(".arrows", to).getBoundingClientRect().right - box.getBoundingClientRect().left + box.scrollLeft - 4;
      const x = edge - 12 - (lane % 5) * 9;
      const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
      path.setAttribute("d", `M${edge},${y1}H${x}V${y2}H${edge}m-5,-4l5,4l-5,4`);
      path.setAttribute("class", kind);
      const title = document.createElementNS("http://www.w3.org/2000/svg", "title");
      title.textContent = text;
      path.append(title);
      svg.append(path);
    }

    function links(word, found) {
      const line = make("p", `${word} `);
      if (!found.length) line.append("nothing in this kernel");
      found.slice(0, 24).forEach(([address, register], i) => {
        if (i) line.append(", ");
        line.append(`${register} `, make("a", address, { href: `#${id}-${address}` }));
      });
      if (found.length > 24) line.append(` and ${found.length - 24} more`);
      return line;
    }

    function clear() {
      for (const row of all("[aria-current], .is-def, .is-use", box)) {
        row.removeAttribute("aria-current");
        row.classList.remove("is-def", "is-use");
      }
      find("svg.wires", box)?.remove();
      panel.hidden = true;
      current = null;
    }

    select = (row, move) => {
      if (current && current !== row) past.push(current);
      clear();
      current = row;
      for (const other of rows) if (other.tabIndex === 0) other.tabIndex = -1;
      row.tabIndex = 0;
      row.setAttribute("aria-current", "true");
      const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      svg.setAttribute("class", "wires");
      svg.setAttribute("aria-hidden", "true");
      svg.setAttribute("width", "64");
      svg.setAttribute("height", String(box.scrollHeight));
      const before = definitions(row);
      const after = (users.get(row.dataset.a) || []).map(([user, register]) => [user.dataset.a, register]);
      before.forEach(([address, register], lane) => {
        const source = rowAt(address);
        if (source) { source.classList.add("is-def"); wire(svg, source, row, "def", lane, register); }
      });
      after.slice(0, 60).forEach(([address, register], lane) => {
        const user = rowAt(address);
        if (user) { user.classList.add("is-use"); wire(svg, row, user, "use", lane, register); }
      });
      box.append(svg);
      const head = make("p");
      head.append(make("b", row.dataset.a), ` ${find(".t", row).textContent}`);
      panel.replaceChildren(head, links("reads", before), links("read by", after));
      panel.hidden = false;
      if (move) {
        row.scrollIntoView({ block: "nearest" });
        row.focus({ preventScroll: true });
      }
    };

    const go = (row) => { if (row) location.hash = row.id; };
    box.addEventListener("click", (event) => {
      if (event.target.closest("a")) return;
      const row = event.target.closest("tr.i");
      if (row) select(row, true);
    });
    article.addEventListener("click", (event) => {
      const link = event.target.closest("a[href^='#']");
      if (link && link.getAttribute("href") === location.hash) route();
    });
    box.addEventListener("keydown", (event) => {
      const row = event.target.closest("tr.i");
      if (!row || event.target !== row || event.ctrlKey || event.metaKey || event.altKey) return;
      const at = rows.indexOf(row);
      const first = (found) => found.map(([address]) => rowAt(address)).find(Boolean);
      const keys = {
        ArrowDown: () => select(rows[Math.min(at + 1, rows.length - 1)], true),
        ArrowUp: () => select(rows[Math.max(at - 1, 0)], true),
        Enter: () => select(row, true),
        " ": () => select(row, true),
        d: () => go(first(definitions(row))),
        u: () => go((users.get(row.dataset.a) || [])[0]?.[0]),
        b: () => { const last = past.pop(); if (last) { current = null; select(last, true); } },
        Escape: clear,
      };
      if (!keys[event.key]) return;
      event.preventDefault();
      keys[event.key]();
    });
    addEventListener("resize", () => { if (current && current.isConnected) { const row = current; current = null; select(row, false); } });
  }

  addEventListener("hashchange", route);
  if (!view) listing(document);
  table().then(route);
})();
