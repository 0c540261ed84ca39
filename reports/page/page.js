/* The script of every page: a click on a heading sorts its table. */
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
    return c.classList.contains("n") ? null : c.textContent;
  };
  [...heads].forEach((head, i) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") !== "descending";
      for (const h of heads) h.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...body.rows].map(r => [value(r, i), r]);
      rows.sort(([a], [b]) => {
        if (a === null || b === null) return (a === null) - (b === null);
        const order = typeof a === "number" ? (a > b) - (a < b) : a.localeCompare(b);
        return down ? -order : order;
      });
      for (const [, r] of rows) body.append(r);
    });
  });
}
