/* SPDX-License-Identifier: Apache-2.0
   What the sweep's page adds to page.js: a dtype and a number of rows at a time, and numbers under the pointer, or at the
   arrow keys, at once (a browser's own titles wait a second and never come on a touch screen). */
for (const box of document.querySelectorAll(".choice")) {
  const parts = [...box.querySelectorAll("[data-dtype]")];
  const picked = {}, bar = document.createElement("div");
  bar.className = "pick";
  const show = () => {
    for (const p of parts)
      p.hidden = ["dtype", "rows", "size"].some(n => p.dataset[n] && picked[n] && p.dataset[n] !== picked[n]);
  };
  for (const [name, word] of [["dtype", "dtype"], ["rows", "rows"], ["size", "V"]]) {
    const values = [...new Set(parts.map(p => p.dataset[name]).filter(Boolean))];
    if (values.length === 0) continue;
    picked[name] = values[0];
    if (values.length === 1) continue;
    const group = document.createElement("span");
    group.setAttribute("role", "group");
    group.append(word);
    for (const v of values) {
      const b = document.createElement("button");
      b.type = "button";
      b.textContent = name === "dtype" ? v : Number(v).toLocaleString("en");
      b.dataset.pick = v;
      b.setAttribute("aria-pressed", v === picked[name]);
      b.addEventListener("click", () => {
        picked[name] = v;
        for (const o of group.querySelectorAll("button"))
          o.setAttribute("aria-pressed", o.dataset.pick === v);
        show();
      });
      group.append(b);
    }
    bar.append(group);
  }
  if (bar.childElementCount) box.prepend(bar);
  show();
}
const tip = document.createElement("div");
tip.id = "tip";
tip.hidden = true;
tip.setAttribute("role", "status");
document.body.append(tip);
for (const p of document.querySelectorAll("svg .pt")) {
  const t = p.querySelector("title");
  if (!t) continue;
  p.dataset.t = t.textContent;
  p.setAttribute("aria-label", t.textContent);
  t.remove();
}
const number = v => v.toLocaleString("en", {maximumSignificantDigits: 4});
const heats = document.getElementById("heats");
const sizes = heats ? heats.dataset.sizes.split(",").map(Number) : [];
const heatRows = heats ? heats.dataset.rows.split(",").map(Number) : [];
const cell = (svg, e) => {
  const at = new DOMPoint(e.clientX, e.clientY).matrixTransform(svg.getScreenCTM().inverse());
  let x = Math.floor((at.x - 40) / ((380 - 44) / sizes.length));
  const y = Math.floor((at.y - 4) / 15);
  const lines = svg.dataset.heat.split(";");
  if (x < 0 || x >= sizes.length || y < 0 || y >= lines.length) return "";
  const values = lines[y].split(",");
  while (x > 0 && values[x] === "=") --x;
  const where = `V = ${sizes[x].toLocaleString("en")}, ${heatRows[y].toLocaleString("en")} rows`, v = values[x];
  if (!v || v === "=") return where + ": not timed";
  const [share, us] = v.split(" ").map(Number);
  return `${where}: ${(100 * share).toPrecision(3)} %, ${us < 1e4 ? number(us) + " us" : number(us / 1e3) + " ms"}`;
};
const showTip = (text, x, y) => {
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = text;
  const w = tip.offsetWidth, h = tip.offsetHeight;
  tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - w - 4)) + "px";
  tip.style.top = (y + 18 + h > innerHeight ? y - h - 10 : y + 18) + "px";
};
const hover = e => {
  const target = e.target.closest ? e.target : null;
  const mark = target && target.closest(".pt"), map = target && target.closest("svg.heat");
  showTip(mark ? mark.dataset.t : map ? cell(map, e) : "", e.clientX, e.clientY);
};
/* With the keyboard: Tab goes to a picture, arrows go from mark to mark. */
for (const svg of document.querySelectorAll("figure svg:not(.heat, .sample)")) {
  const marks = [...svg.querySelectorAll(".pt")].filter(p => p.dataset.t);
  if (!marks.length) continue;
  let at = -1;
  svg.tabIndex = 0;
  svg.addEventListener("keydown", e => {
    const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[e.key];
    if (e.key === "Escape") tip.hidden = true;
    if (!step) return;
    e.preventDefault();
    at = Math.max(0, Math.min(marks.length - 1, at + step));
    for (const m of marks) m.classList.toggle("at", m === marks[at]);
    const box = marks[at].getBoundingClientRect();
    showTip(marks[at].dataset.t, box.x + box.width / 2, box.y + box.height / 2);
  });
  svg.addEventListener("blur", () => {
    tip.hidden = true;
    for (const m of marks) m.classList.remove("at");
  });
}
addEventListener("pointermove", hover);
addEventListener("pointerdown", hover);
addEventListener("scroll", () => { tip.hidden = true; }, {passive: true});
