/* SPDX-License-Identifier: Apache-2.0
   The script of every page: a click on a heading sorts its table, and text above a long table filters its rows. */
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = table.tHead.rows[table.tHead.rows.length - 1].cells;
  const body = table.tBodies[0];
  const value = (row, i) => {
    const c = row.cells[i];
    if (!c) return null;
    if (c.dataset.v !== undefined) {
      const v = c.dataset.v;
      return v === "inf" ? Infinity : v === "-inf" ? -Infinity : Number(v);
    }
    /* A name is sorted without the small words below it; an empty cell comes last. */
    if (c.classList.contains("n")) return null;
    return (c.querySelector("a, code") || c).textContent || null;
  };
  [...heads].forEach((head, i) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const rows = [...body.rows].map(r => [value(r, i), r]);
      const now = head.getAttribute("aria-sort");
      const text = rows.some(([v]) => typeof v === "string");
      /* The first click shows the largest numbers, or words from A to Z. */
      const down = now ? now === "ascending" : !text;
      for (const h of heads) h.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      rows.sort(([a], [b]) => {
        if (a === null || b === null) return (a === null) - (b === null);
        const order = (a > b) - (a < b);
        return down ? -order : order;
      });
      for (const [, r] of rows) body.append(r);
    });
  });
}
for (const table of document.querySelectorAll("table")) {
  const rows = [...table.tBodies].flatMap(b => [...b.rows]);
  if (!table.tHead || (rows.length < 15 && !table.classList.contains("filtered"))) continue;
  /* The rows of one body belong together where a table has several. */
  const parts = table.tBodies.length > 1 ? [...table.tBodies] : rows;
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
