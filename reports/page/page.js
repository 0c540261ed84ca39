/* SPDX-License-Identifier: Apache-2.0
   The script of every page: a click on a heading sorts its table, and text above a long table filters its rows. */

/* What is sorted and filtered: rows, or bodies where a table has several. The rows of one body belong together. */
const partsOf = table => table.tBodies.length > 1 ? [...table.tBodies] : [...table.tBodies].flatMap(b => [...b.rows]);

/* The heading of every column. One above several columns is none, and one of two rows counts for both. */
const headsOf = table => {
  const grid = [...table.tHead.rows].map(() => []);
  [...table.tHead.rows].forEach((row, y) => {
    let x = 0;
    for (const head of row.cells) {
      while (grid[y][x]) ++x;
      for (let dy = 0; dy < head.rowSpan && y + dy < grid.length; ++dy)
        for (let dx = 0; dx < head.colSpan; ++dx) grid[y + dy][x + dx] = head;
    }
  });
  return [...grid[grid.length - 1]].map(h => h && h.colSpan === 1 && h.textContent ? h : null);
};

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

for (const table of document.querySelectorAll("table")) {
  const parts = partsOf(table);
  if (!table.tHead || parts.length < 2) continue;
  const heads = headsOf(table);
  heads.forEach((head, column) => {
    if (!head) return;
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
  const text = new Map(parts.map(p => [p, p.textContent.toLowerCase()]));
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
