/* SPDX-License-Identifier: Apache-2.0
   The script of every page: a click on a heading sorts its table, text above a long table filters its rows, and a wide
   table is printed smaller. */

/* What is sorted and filtered: rows, or bodies where a table has several. The rows of one body belong together. */
const partsOf = table => table.tBodies.length > 1 ? [...table.tBodies] : [...table.tBodies].flatMap(b => [...b.rows]);

/* The headings above every column, by row. One may stand above several columns, and one of two rows counts for both. */
const gridOf = table => {
  const grid = [...table.tHead.rows].map(() => []);
  [...table.tHead.rows].forEach((row, y) => {
    let x = 0;
    for (const head of row.cells) {
      while (grid[y][x]) ++x;
      for (let dy = 0; dy < head.rowSpan && y + dy < grid.length; ++dy)
        for (let dx = 0; dx < head.colSpan; ++dx) grid[y + dy][x + dx] = head;
    }
  });
  return grid;
};

/* The heading of every column. One above several columns is none. */
const headsOf = table => [...gridOf(table).at(-1)].map(h => h && h.colSpan === 1 && h.textContent ? h : null);

const cellAt = (row, column) => {
  let x = 0;
  for (const c of row.cells) {
    if (x === column) return c;
    x += c.colSpan;
  }
  return null;
};

/* A cell as a list that can be compared: its number, or its words with the numbers between them. Null if it has neither. A
   minus between words is a hyphen. */
const units = {ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1};
const numberOf = word => Number(word.replaceAll(",", "").replace("\u2212", "-"));
const valueOf = c => {
  if (!c) return null;
  if (c.dataset.v !== undefined) {
    const v = c.dataset.v;
    return [v === "inf" ? Infinity : v === "-inf" ? -Infinity : Number(v)];
  }
  if (c.classList.contains("hex")) return null;
  /* A name is sorted without the small words below it, unless there are no others. */
  const shown = c.querySelector("a, code") || c;
  const large = shown === c ? [...c.childNodes].filter(n => n.nodeName !== "SMALL").map(n => n.textContent).join("") : "";
  const text = (large.trim() || shown.textContent).trim();
  if (c.classList.contains("n")) {
    const m = text.match(/^([-\u2212]?)([\d,]*\.?\d+(?:e[-+]?\d+)?)(?: ([num]?s)\b)?/);
    return m && [(m[1] ? -1 : 1) * numberOf(m[2]) * (units[m[3]] || 1)];
  }
  return text ? text.split(/((?:^[-\u2212])?\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]\d+)?)/).map((w, i) => i % 2 ? numberOf(w) : w) : null;
};
const compare = (a, b) => {
  for (let i = 0; i < a.length && i < b.length; ++i) if (a[i] !== b[i]) return a[i] < b[i] ? -1 : 1;
  return a.length - b.length;
};

/* Pictures have no order. */
const isPicture = c => c && c.querySelector("svg") && !c.textContent.trim();

for (const table of document.querySelectorAll("table")) {
  const parts = partsOf(table);
  if (!table.tHead || parts.length < 2) continue;
  const heads = headsOf(table);
  heads.forEach((head, column) => {
    if (!head || parts.every(p => isPicture(cellAt(p.rows ? p.rows[0] : p, column)))) return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const keyed = parts.map(p => [valueOf(cellAt(p.rows ? p.rows[0] : p, column)), p]);
      const now = head.getAttribute("aria-sort");
      const text = keyed.some(([v]) => v && typeof v[0] === "string");
      /* The first click shows the largest numbers, or words from A to Z. An empty cell comes last. */
      const down = now ? now === "ascending" : !text;
      for (const h of heads) if (h) h.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      keyed.sort(([a], [b]) => !a || !b ? !a - !b : down ? compare(b, a) : compare(a, b));
      for (const [, p] of keyed) p.parentNode.append(p);
    });
  });
}
for (const table of document.querySelectorAll("table")) {
  const parts = partsOf(table), rows = [...table.tBodies].flatMap(b => [...b.rows]);
  if (!table.tHead || rows.length < (table.classList.contains("filtered") ? 2 : 15)) continue;
  /* The name of a peer in a row is not what the row is about. */
  const peers = new Set(gridOf(table).flatMap(heads => heads.flatMap((h, i) => h && /\bpeer\b/i.test(h.textContent) ? [i] : [])));
  const own = row => {
    let x = 0, out = "";
    for (const c of row.cells) {
      if (!peers.has(x)) out += " " + c.textContent;
      x += c.colSpan;
    }
    return out;
  };
  const text = new Map(parts.map(p => [p, (p.rows ? [...p.rows] : [p]).map(own).join(" ").toLowerCase()]));
  const label = document.createElement("label"), input = document.createElement("input"),
    count = document.createElement("output");
  label.className = "filter";
  input.type = "search";
  label.append("Filter", input, count);
  (table.closest(".scroll") || table).before(label);
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(w => w);
    let shown = 0;
    for (const p of parts) {
      p.hidden = !words.every(w => text.get(p).includes(w));
      shown += !p.hidden;
    }
    count.textContent = words.length ? `${shown} of ${parts.length}` : "";
  });
}

/* A long name breaks behind its signs, not within its words. */
for (const cell of document.querySelectorAll("th, td")) {
  const words = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), found = [];
  while (words.nextNode()) if (/\w[_\/@]\w/.test(words.currentNode.data)) found.push(words.currentNode);
  for (const node of found)
    node.replaceWith(...node.data.split(/(?<=\w[_\/@])(?=\w)/).flatMap((w, i) => i ? [document.createElement("wbr"), w] : [w]));
}

/* A table that is wider than the paper is printed smaller. It is measured as it is printed: at the width of the page
   (page.css: A4, landscape, margins of 10 mm), by the rules for paper. */
const kPaper = 277 / 25.4 * 96;
const forPaper = [...document.styleSheets].flatMap(s => [...s.cssRules]).filter(r => r.media && r.media.mediaText === "print");
addEventListener("beforeprint", () => {
  for (const r of forPaper) r.media.mediaText = "all";
  document.body.style.width = kPaper + "px";
  const wide = [...document.querySelectorAll("table")].map(t => [t, t.parentElement.clientWidth / t.offsetWidth]);
  for (const [t, fits] of wide) if (fits > 0 && fits < 1) t.style.zoom = Math.floor(fits * 1000) / 1000;
  document.body.style.width = "";
  for (const r of forPaper) r.media.mediaText = "print";
});
addEventListener("afterprint", () => {
  for (const t of document.querySelectorAll("table")) t.style.zoom = "";
});
