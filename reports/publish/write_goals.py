#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what onepass reached, beside its goals and its peers: all tables into DIR/goals.md, and the main figures into
reports/sweep/PERFORMANCE.md.

    reports/publish/write_goals.py path/to/assay [DIR]

DIR (default: reports/published/h200) holds sweep.md and sweep.jsonl, and where they were measured peers.jsonl and
split.jsonl; all but the first also as .gz. In PERFORMANCE.md the text between the two lines
`goals: begin` and `goals: end` is replaced. `assay sweep rules` names the row lengths V. Never part of a test.
"""
import gzip
import json
import math
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(HERE, "..", "sweep", "peer"))
from peer_records import rules_of

PAGE = os.path.join(HERE, "..", "sweep", "PERFORMANCE.md")
OF_H100 = os.path.join(HERE, "..", "published", "h100")
BEGIN, END = "<!-- goals: begin -->", "<!-- goals: end -->"
DTYPES = ["f32", "f16", "bf16"]


def read(folder, name, optional=False):
    path = os.path.join(folder, name)
    if os.path.exists(path):
        lines = open(path, encoding="utf-8")
    elif os.path.exists(path + ".gz"):
        lines = gzip.open(path + ".gz", "rt", encoding="utf-8")
    elif optional:
        return []
    else:
        sys.exit(f"write_goals.py: {folder} holds no {name}")
    with lines:
        return [json.loads(line) for line in lines if line.strip()]


def percent(share):
    """Rounded down, so that no goal seems reached that was not: as sweep.md does it."""
    return f"{math.floor(100 * share + 1e-9)}"


def number(V):
    return f"{V:,}"


class Times:
    """The right times of every kernel: by name, dtype, rows and V."""

    def __init__(self, folder):
        records = [r for r in read(folder, "sweep.jsonl") + read(folder, "peers.jsonl", True) if r.get("kind") == "sweep"]
        self.all, self.wrong = {}, {}
        for r in records:
            name = r["key"].split("/")[0]
            if r["key"].endswith("@cuda") and r["op"] in ("softmax", "log_softmax", "lse") and name != "copy":
                at = (name, r["dtype"], r["rows"], r["V"])
                if r["status"] in ("measured", "once") and r["copy_us"]:
                    self.all[at] = r
                elif r["status"] == "failed" and r["role"] == "peer":
                    self.wrong[at] = r["reason"]
        self.peers = sorted({r["key"].split("/")[0] for r in records if r["role"] == "peer" and r["op"] == "softmax"})
        some = next(iter(self.all.values()))
        commits = sorted({r["commit"] for r in self.all.values()})
        self.head = f"{some['gpu']}, driver {some['driver']}, commit {' and '.join(commits)}"
        own = [r for r in records if r["role"] == "variant"]
        done = sum(r["status"] != "not_run" for r in own)
        of_peers = sum(r["role"] == "peer" and r["status"] != "not_run" for r in records)
        self.head += f"; {done:,} of the {len(own):,} configurations of the published set, and {of_peers:,} of peers"

        self.topk, self.topk_peers = {}, set()
        for r in records:
            if r["op"] in ("topk", "softmax_topk") and r["key"].endswith("@cuda") and r["family"] == "normal_1":
                name = r["key"].split("/")[0]
                at = (name, r["dtype"], r["rows"], r["V"], r["k"])
                if r["role"] == "peer":
                    self.topk_peers.add(name)
                if r["status"] in ("measured", "once") and r["read_us"] and r["verified"] != "fail":
                    self.topk[at] = r

    def share(self, name, at, ceiling="copy_us"):
        r = self.all.get((name, *at))
        return r[ceiling] / r["median_us"] if r else None

    def above(self, name, at):
        """Microseconds above the copy; None if that is not known to a tenth of the time."""
        r = self.all.get((name, *at))
        if r and (r["ci_low_us"] is None or r["ci_high_us"] - r["ci_low_us"] > 0.1 * r["median_us"]):
            return None
        return r["median_us"] - r["copy_us"] if r else None


def at_of(dtype, rows, V):
    return f"{dtype}, {number(V)}" + ("" if rows == 4000 else f", {rows} rows" if rows != 1 else ", 1 row")


def goals(folder):
    """The table that assay sweep wrote into sweep.md (reports/sweep_page/goals.cpp)."""
    with open(os.path.join(folder, "sweep.md"), encoding="utf-8") as f:
        lines = f.read().splitlines()
    first = next((i for i, line in enumerate(lines) if line.startswith("| shapes | dtypes | goal |")), None)
    if first is None:
        sys.exit(f"write_goals.py: {folder}/sweep.md has no table of goals")
    last = next((i for i in range(first, len(lines)) if not lines[i].startswith("|")), len(lines))
    return lines[first:last]


def matrix(t, ladder):
    out = ["| % of the copy, 4000 rows, V = | " + " | ".join(number(V) for V in ladder) + " |",
           "|---|" + "---|" * len(ladder)]
    lines = [(n, d) for n in ("onepass_fast", "onepass", "onepass_log_softmax") for d in DTYPES]
    lines += [(p, d) for p in t.peers for d in DTYPES]
    for name, d in lines:
        cells = []
        for V in ladder:
            s = t.share(name, (d, 4000, V))
            cells.append("wrong" if (name, d, 4000, V) in t.wrong else percent(s) if s else "")
        if any(cells):
            out.append(f"| `{name}/{d}` | " + " | ".join(cells) + " |")
    out += ["", "| % of a read, 4000 rows, V = | " + " | ".join(number(V) for V in ladder) + " |",
            "|---|" + "---|" * len(ladder)]
    for name, d in [(n, d) for n in ("onepass_lse_fast", "onepass_lse") for d in DTYPES]:
        cells = [t.share(name, (d, 4000, V), "read_us") for V in ladder]
        out.append(f"| `{name}/{d}` | " + " | ".join(percent(s) if s else "" for s in cells) + " |")
    return out


def few_rows(t, lengths):
    shapes = [(rows, V) for rows in (10, 1) for V in lengths]
    out = ["| us more than the copy | " + " | ".join(f"{r} x {number(V)}" for r, V in shapes) + " |",
           "|---|" + "---|" * len(shapes)]
    for name, d in [(n, d) for n in ("onepass_fast", *t.peers) for d in DTYPES]:
        cells = [t.above(name, (d, r, V)) for r, V in shapes]
        if any(c is not None for c in cells):
            out.append(f"| `{name}/{d}` | " + " | ".join("" if c is None else f"+{c:.1f}" for c in cells) + " |")
    return out


def topk(t, rules):
    """Softmax and top-k beside kernels that only select, and beside softmax followed by a selection."""
    names = ["onepass_topk_fast", "onepass_topk", "radix_topk", "safe_then_topk_sized", "online_topk_block_sized", *sorted(t.topk_peers)]
    few = [(4000, V, k) for k in rules.topk_few for V in rules.topk_ladder]
    many = [(4000, V, k) for k in rules.topk_many for V in rules.topk_many_ladder]
    out = []
    for shapes in (few, many):
        lines = []
        for name, d in [(n, d) for n in names for d in DTYPES]:
            cells = [t.topk.get((name, d, *shape)) for shape in shapes]
            if any(cells):
                lines.append(f"| `{name}/{d}` | "
                             + " | ".join(percent(r["read_us"] / r["median_us"]) if r else "" for r in cells) + " |")
        if lines:
            out += ["| % of a read, 4000 rows, k; V = | " + " | ".join(f"{k}; {number(V)}" for _, V, k in shapes) + " |",
                    "|---|" + "---|" * len(shapes), *lines, ""]
    long = [(10, V, k) for k in rules.topk_few for V in rules.topk_ladder_few_rows]
    lines = []
    for name, d in [(n, d) for n in names for d in DTYPES]:
        cells = [t.topk.get((name, d, *shape)) for shape in long]
        if any(cells):
            lines.append(f"| `{name}/{d}` | "
                         + " | ".join(f"+{r['median_us'] - r['read_us']:.1f}" if r else "" for r in cells) + " |")
    if lines:
        out += ["| us more than a read, 10 rows, k; V = | " + " | ".join(f"{k}; {number(V)}" for _, V, k in long) + " |",
                "|---|" + "---|" * len(long), *lines, ""]
    return out[:-1]


def against(t):
    out = ["| peer | shapes, all timed in this run | its time over that of `onepass_fast`, geometric mean | more than "
           "2 % faster at | wrong at |", "|---|---|---|---|---|"]
    for p in t.peers:
        ratios, faster = [], []
        for (name, d, rows, V), r in sorted(t.all.items()):
            own = t.all.get(("onepass_fast", d, rows, V))
            if name == p and own:
                ratios.append(r["median_us"] / own["median_us"])
                if ratios[-1] < 0.98:
                    faster.append((d, rows, V))
        wrong = [at_of(*k[1:]) for k in sorted(t.wrong) if k[0] == p]
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            some = "; ".join(at_of(*s) for s in faster[:4]) + ("; ..." if len(faster) > 4 else "")
            out.append(f"| {p} | {len(ratios)} | {mean:.2f} | {len(faster)}{': ' if some else ''}{some} | "
                       f"{'; '.join(wrong[:4])}{'; ...' if len(wrong) > 4 else ''} |")
    return out


def splits(folder):
    """The best of each way to split rows over several GPUs (assay sweep split), from the folder or the one of two GPUs."""
    if not read(folder, "split.jsonl", True):
        folder = OF_H100
    best = {}
    share = lambda r: min(s["share_of_alone"] for s in r["shares"])
    for r in read(folder, "split.jsonl", True):
        if r["status"] == "measured" and r["verified"] == "pass" and r["rows"] == 4000:
            at = (r["gpus"], r["V"], r["exchange"], r["dtype"])
            if at not in best or share(r) > share(best[at]):
                best[at] = r
    if not best:
        return []
    gpu = next(iter(best.values()))["gpu"]
    out = [f"Rows split over the GPUs of one host ({gpu}; `assay sweep split`, `reports/publish/split.sh`): the best of each way, as a share "
           "of what one GPU takes alone for its part of the columns. On one GPU nobody is waited for: that is the limit of the way.",
           "", "| GPUs | V | exchange of (m, d) | dtype | time, us | share | rows at a time x depth |", "|---|---|---|---|---|---|---|"]
    order = lambda k: (-k[0], k[1], k[2], DTYPES.index(k[3]))
    for at in sorted(best, key=order):
        r = best[at]
        out.append(f"| {at[0]} | {number(at[1])} | {at[2]} | {at[3]} | {r['median_us']:,.0f} | {percent(share(r))} % | "
                   f"{number(r['chunk_rows'])} x {r['depth']} |")
    return out


def best(all_times):
    """Shares of a copy or a read of the kernels of the ladder, and the time beside a copy of few rows: one figure for each of `all_times`."""
    of = lambda cells: "/".join(cells) if any(c != "-" for c in cells) else ""
    shown = lambda share: percent(share) if share else "-"
    selected = lambda r: r["read_us"] / r["median_us"] if r else None
    more = lambda us: "-" if us is None else f"+{us:.1f}"
    lengths = (1000, 4096, 32768, 131072, 262144, 1048576)
    out = ["|% of the copy (lse and top-k: of a read), 4000 rows, V =|" + "|".join(number(V) for V in lengths) + "|",
           "|---|" + "---|" * len(lengths)]
    for name in ("onepass_fast", "onepass", "onepass_log_softmax", "onepass_lse_fast", "onepass_lse"):
        for d in DTYPES[:2]:
            ceiling = "read_us" if "lse" in name else "copy_us"
            cells = [of([shown(t.share(name, (d, 4000, V), ceiling)) for t in all_times]) for V in lengths]
            out.append(f"|`{name}/{d}`|" + "|".join(cells) + "|")
    for name in ("onepass_topk_fast", "onepass_topk"):
        for d in DTYPES[:2]:
            cells = [of([shown(selected(t.topk.get((name, d, 4000, V, 30)))) for t in all_times]) for V in lengths]
            out.append(f"|`{name}/{d}`, k = 30|" + "|".join(cells) + "|")
    shapes = [(10, 25000), (10, 128256), (10, 1048576), (1, 128256), (1, 1048576)]
    out += ["", "|us more than the copy|" + "|".join(f"{r} x {number(V)}" for r, V in shapes) + "|", "|---|" + "---|" * len(shapes)]
    for d in DTYPES[:2]:
        cells = [of([more(t.above("onepass_fast", (d, *shape))) for t in all_times]) for shape in shapes]
        out.append(f"|`onepass_fast/{d}`|" + "|".join(cells) + "|")
    return out


def replace(path, text):
    with open(path + ".part", "w", encoding="utf-8") as f:
        f.write(text)
    os.replace(path + ".part", path)


def main():
    words = sys.argv[1:]
    if not 1 <= len(words) <= 2 or any(w.startswith("-") for w in words):
        sys.exit("usage: write_goals.py path/to/assay [DIR]")
    rules = rules_of(words[0])
    folder = words[1] if len(words) == 2 else os.path.join(HERE, "..", "published", "h200")
    t = Times(folder)
    text = open(PAGE, encoding="utf-8").read()
    if BEGIN not in text or END not in text:
        sys.exit(f"write_goals.py: {PAGE} lacks the lines {BEGIN} and {END}")
    shares = "Shares are of the fastest copy of the same run, medians."
    other = os.path.abspath(folder) != os.path.abspath(OF_H100)
    parts = [[f"{Times(OF_H100).head}. {shares}"], goals(OF_H100)] if other else []
    parts += [[f"{t.head}. {shares}"], goals(folder),
             matrix(t, rules.ladder), few_rows(t, rules.ladder_few_rows), against(t)]
    parts += [p for p in (topk(t, rules), splits(folder)) if p]
    made = "\n\n".join("\n".join(p) for p in parts)
    replace(os.path.join(folder, "goals.md"), f"# Goals, results and peers, in full\n\n{made}\n")
    all_times = [Times(OF_H100), t] if other else [t]
    parts = [["\n".join(f"- {one.head.split(';')[0]}." for one in all_times)], best(all_times)]
    made = "\n\n".join("\n".join(p) for p in parts)
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    replace(PAGE, f"{before}{BEGIN}\n{made}\n{END}{after}")


if __name__ == "__main__":
    main()
