// What the sweep's page adds to the style sheet of the accuracy page, and its script. The script shows one
// dtype and number of rows at a time. It shows numbers under the pointer at once (a browser's own titles take
// a second, and never appear on a touch screen).
#include "reports/sweep_page/parts.hpp"

namespace assay::speed {

std::string style() {
  return R"css(
:root{--naive:#c2500f;--safe:#0b6fb8;--online:#00795a;--unfused:#3f444c;--onepass:#8a3d9b;--thread:#8f6a00;
--five:#b03a66;--three:#5d7a1f;--cudnn:#0093a8;--torch:#d1332e;--triton:#5a55c4;--ceiling:#8b9099;
--h0:#7f3b08;--h1:#c9711c;--h2:#f1b767;--h3:#d5d9e0;--h4:#9cc3e2;--h5:#2f7fb9;--h6:#143a63}
@media(prefers-color-scheme:dark){:root{--naive:#ff9256;--safe:#62b0f2;--online:#3ecf9e;--unfused:#c6cad1;
--onepass:#cf9ce0;--thread:#e0b84a;--five:#f08fb2;--three:#a9cc5e;--cudnn:#4fd0e2;--torch:#ff7a70;
--triton:#a5a0ff;--ceiling:#7d838c;
--h0:#a8561a;--h1:#d98a35;--h2:#eebd7c;--h3:#565c66;--h4:#5f8db5;--h5:#62b0f2;--h6:#cbe6ff}}
.c-naive{color:var(--naive)}.c-safe{color:var(--safe)}.c-online{color:var(--online)}
.c-unfused{color:var(--unfused)}.c-onepass{color:var(--onepass)}.c-thread{color:var(--thread)}
.c-five{color:var(--five)}.c-three{color:var(--three)}.c-cudnn{color:var(--cudnn)}.c-torch{color:var(--torch)}
.c-triton{color:var(--triton)}.c-ceiling{color:var(--ceiling)}.c-other{color:var(--ink)}
svg .bar{fill:currentColor;opacity:.35}
.h0{--h:var(--h0)}.h1{--h:var(--h1)}.h2{--h:var(--h2)}.h3{--h:var(--h3)}.h4{--h:var(--h4)}.h5{--h:var(--h5)}
.h6{--h:var(--h6)}
svg.heat path{fill:var(--h)}.swatch[class*=" h"]{background:var(--h)}
.panels.broad{grid-template-columns:repeat(auto-fill,minmax(min(100%,350px),1fr))}
.panels.wide{grid-template-columns:repeat(auto-fill,minmax(min(100%,500px),1fr))}
figure svg.sample{display:inline-block;width:28px;height:12px}
figure ul.legend{gap:2px 14px;margin:4px 6px;font-size:12px}
p.under{font-size:12px;color:var(--mute);margin:2px 6px 0}
td.short{color:var(--warn);font-weight:650}td.short i{background:var(--warn)}td small{font-weight:400}td.held{color:var(--mute)}
td.off{color:var(--bad);font-weight:650}
td .sample,th .sample{vertical-align:-1px;margin-right:5px}
td.wide,th.wide{white-space:normal;min-width:18em}
ul.seen li{margin:4px 0;max-width:100ch}
.pick{display:flex;flex-wrap:wrap;gap:6px 18px;margin:14px 0 4px;font-size:13.5px}
.pick span{display:inline-flex;align-items:center;gap:4px;color:var(--mute)}
.pick button{font:inherit;color:var(--ink);background:var(--panel);border:1px solid var(--rule);padding:3px 11px;
border-radius:3px;cursor:pointer}
.pick button[aria-pressed=true]{background:var(--ink);color:var(--paper);border-color:var(--ink)}
.pick button:focus-visible{outline:2px solid var(--link);outline-offset:1px}
#tip{position:fixed;z-index:9;pointer-events:none;max-width:min(320px,90vw);padding:5px 9px;font-size:12.5px;
line-height:1.35;background:var(--ink);color:var(--paper);border-radius:3px}
[hidden]{display:none!important}
@media(max-width:640px){.panels.wide svg text{font-size:12.5px}.panels.wide svg .sup{font-size:10px}
.panels.wide svg .axis{font-size:11px}
ul.seen{padding-left:1.1em}}
@media print{.pick{display:none}}
)css";
}

std::string script() {
  return R"js(
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
const hover = e => {
  const target = e.target.closest ? e.target : null;
  const mark = target && target.closest(".pt"), map = target && target.closest("svg.heat");
  const text = mark ? mark.dataset.t : map ? cell(map, e) : "";
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = text;
  const w = tip.offsetWidth, h = tip.offsetHeight;
  tip.style.left = Math.max(4, Math.min(e.clientX + 14, innerWidth - w - 4)) + "px";
  tip.style.top = (e.clientY + 18 + h > innerHeight ? e.clientY - h - 10 : e.clientY + 18) + "px";
};
addEventListener("pointermove", hover);
addEventListener("pointerdown", hover);
addEventListener("scroll", () => { tip.hidden = true; }, {passive: true});
)js";
}

}  // namespace assay::speed
