// The page's style sheet and its one script (sorting tables by a click). Every colour is a custom property,
// so that dark mode is one block. Dtype colours differ in lightness as well as hue, and their markers in
// shape, so that no reader needs colour vision to tell them apart.
#include "reports/page/parts.hpp"

namespace assay::page {

const char* style() {
  return R"css(
:root{color-scheme:light dark;--paper:#fbfbf9;--panel:#fff;--ink:#191b1f;--mute:#595f68;--rule:#dcddd8;
--grid:#e9e9e5;
--f16:#0b6fb8;--bf16:#d0590a;--f32:#191b1f;--f64:#8a3d9b;--good:#12703f;--bad:#b4211b;--warn:#8a5a00;
--tint:#f1f1ed;
--bar:#9db9d3;--link:#0b5c9c;--u-none:#f6dcd2;--u-low:#fbfbf9;--u-some:#e3edf5;--u-sharp:#b5d2e8;
--u-edge:#7fb0d6}
@media(prefers-color-scheme:dark){:root{--paper:#131518;--panel:#1a1d21;--ink:#e8e7e3;--mute:#a0a6ae;
--rule:#34383e;
--grid:#272b30;--f16:#62b0f2;--bf16:#f59a4d;--f32:#e8e7e3;--f64:#cf9ce0;--good:#5fcb90;--bad:#ff8a80;
--warn:#e8b65a;
--tint:#22262b;--bar:#3f648a;--link:#7dbcf5;--u-none:#4a2a22;--u-low:#1a1d21;--u-some:#20303f;
--u-sharp:#2f5577;--u-edge:#3f74a3}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--paper);color:var(--ink);
font:16px/1.5 -apple-system,BlinkMacSystemFont,"Segoe UI",
Roboto,"Helvetica Neue",Arial,"Liberation Sans",sans-serif;font-variant-numeric:tabular-nums}
main{max-width:1200px;margin:0 auto;padding:32px 24px 80px}
h1{font-size:30px;line-height:1.2;font-weight:650;letter-spacing:-.01em;margin:0 0 8px}
h2{font-size:22px;line-height:1.25;font-weight:650;margin:56px 0 8px;padding-top:20px;
border-top:2px solid var(--ink)}
h3{font-size:16px;font-weight:650;margin:28px 0 8px}
p{max-width:76ch;margin:8px 0}
a{color:var(--link)}
code,.hex{font:13px/1.4 ui-monospace,"SF Mono",Menlo,Consolas,"Liberation Mono",monospace}
code.cmd{display:inline-block;background:var(--tint);padding:1px 6px;border-radius:3px;user-select:all;
-webkit-user-select:all;overflow-wrap:anywhere}
small{display:block;font-size:11.5px;line-height:1.3;color:var(--mute);white-space:nowrap}
.mute{color:var(--mute)}.good{color:var(--good)}.bad{color:var(--bad);font-weight:650}
.warn{color:var(--warn);font-weight:650}
.verdict{display:flex;gap:18px;align-items:baseline;flex-wrap:wrap;margin:24px 0 0;padding:16px 20px;
background:var(--panel);
border:1px solid var(--rule);border-left:8px solid var(--good)}
.verdict.fail{border-left-color:var(--bad)}
.verdict b{font-size:28px;line-height:1.1;letter-spacing:.04em;color:var(--good)}
.verdict.fail b{color:var(--bad)}
.verdict span{flex:1 1 20em}
dl.counts{display:flex;flex-wrap:wrap;gap:1px;
background:var(--rule);
border:1px solid var(--rule);border-top:0;margin:0 0 16px}
dl.counts div{flex:1 0 112px;background:var(--panel);padding:8px 12px}
dl.counts dt{font-size:12.5px;color:var(--mute)}
dl.counts dd{margin:0;font-size:20px;font-weight:600}
dl.counts dd.zero{color:var(--mute);font-weight:400}
dl.words{display:grid;grid-template-columns:minmax(9em,max-content) minmax(0,72ch);gap:6px 20px}
dl.words dt{font-weight:650}dl.words dd{margin:0}
nav ol{columns:3 240px;column-gap:28px;margin:20px 0 0;padding:0 0 0 1.4em;font-size:14.5px}
.scroll{overflow-x:auto;margin:10px 0 18px;border:1px solid var(--rule);background:var(--panel)}
.scroll:focus-visible,summary:focus-visible,th button:focus-visible{outline:2px solid var(--link);
outline-offset:1px}
table{border-collapse:collapse;width:100%;font-size:13.5px;line-height:1.35}
th,td{padding:5px 10px;text-align:left;vertical-align:top;border-bottom:1px solid var(--rule)}
tbody tr:last-child>*{border-bottom:0}
thead th{background:var(--tint);font-weight:600;vertical-align:bottom;white-space:nowrap}
th.n,td.n{text-align:right;white-space:nowrap}
th.group{text-align:center;border-bottom:0}
td.edge,th.edge{border-left:1px solid var(--rule)}
tbody th{font-weight:600;white-space:nowrap}
tbody th small{font-weight:400}
table.roomy td{min-width:9em}td .cmd{white-space:nowrap}td.nw{white-space:nowrap}td.wide{min-width:26em}
td.hex{white-space:nowrap}
td.ratio{position:relative;min-width:5.2em}
td.ratio i{position:absolute;left:0;bottom:0;height:3px;background:var(--bar);max-width:100%}
td.over{color:var(--bad);font-weight:650}td.over i{background:var(--bad)}
table.util{width:auto;font-size:11.5px}table.util td{padding:3px 2px;text-align:center;min-width:2.5em;
border-right:1px solid var(--rule)}table.util tbody th{padding:3px 8px;font-size:12px}
table.util th.tall{height:10.5em;padding:4px 2px;text-align:center}
th.tall span{writing-mode:vertical-rl;transform:rotate(180deg);display:inline-block}
.u-none{background:var(--u-none);color:var(--ink)}.u-low{background:var(--u-low)}.u-some{background:var(--u-some)}
.u-sharp{background:var(--u-sharp)}.u-edge{background:var(--u-edge)}
.u-over{background:var(--bad);color:var(--panel);font-weight:650}
.swatch{display:inline-block;width:1.4em;height:.9em;margin-right:7px;border:1px solid var(--rule);
vertical-align:-1px}
.behaves td{min-width:11em}.behaves details{margin:2px 0}.behaves li{margin:3px 0;overflow-wrap:anywhere}.behaves ul{padding-left:1.2em}
small.wrap{white-space:normal}ul.warnings{color:var(--warn)}
tbody.case tr:first-child>*{border-bottom:0;padding-bottom:0}
tbody.case:not(:last-child) tr:last-child>*{border-bottom:1px solid var(--rule)}
th button{all:unset;cursor:pointer;font:inherit}
th button:hover{text-decoration:underline dotted}
th[aria-sort=ascending] button::after{content:" \2191"}
th[aria-sort=descending] button::after{content:" \2193"}
details{margin:10px 0}
summary{cursor:pointer;color:var(--link);padding:4px 0}
.panels{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,272px),1fr));gap:14px;
margin:12px 0 18px}
figure{margin:0;padding:8px 6px 4px;background:var(--panel);border:1px solid var(--rule)}
figcaption{font-size:13px;font-weight:600;padding:0 6px 2px}
figcaption small{font-weight:400;white-space:normal}
figure svg{display:block;width:100%;height:auto}
svg text{font-size:10.5px;fill:var(--mute);font-family:inherit}
svg .sup{font-size:8px}svg .axis{fill:var(--ink)}
svg path{fill:none}
svg .grid{stroke:var(--grid)}svg .frame{stroke:var(--mute)}
svg .ln{stroke-width:1.4;stroke:currentColor}svg .ln.f16{stroke-width:3.2}svg .lim{stroke-width:1.3;
stroke:currentColor;
stroke-dasharray:4 2.5}svg .lim.f16{stroke-width:2.6}
svg .area{fill:currentColor;opacity:.1}
svg .pt{fill:currentColor;stroke:transparent;stroke-width:7}
svg .mark{stroke:var(--mute);stroke-dasharray:2 2}svg .one{stroke:var(--bad);stroke-width:1.2}
.f16{color:var(--f16)}.bf16{color:var(--bf16)}.f32{color:var(--f32)}.f64,.other{color:var(--f64)}
ul.legend{list-style:none;display:flex;flex-wrap:wrap;gap:4px 22px;margin:12px 0 0;padding:0;font-size:13.5px}
ul.legend .sample{vertical-align:-1px;margin-right:7px}
@media(max-width:640px){main{padding:20px 14px 60px}h1{font-size:25px}dl.words{display:block}
dl.words dd{margin:0 0 10px}
th,td{padding:5px 8px}}
)css";
}

const char* script() {
  return R"js(
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
)js";
}

}  // namespace assay::page
