#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds what this program finds to what it found before: the golden values in reports/publish/golden.

  reports/publish/golden.py ASSAY [--backend host|cuda] [--only PATTERN] [--facts] [--write] [--keep FOLDER] [--jobs N]

Without --write every call is made again and compared. A case that is in the values must have the same record as then.
New cases and new fields of a record only add, and are counted. With --write the values are renewed; the commit that
does so says which fields moved and why.

The calls, all with --seed 1:
  report  `report --quick` of every key of the backend, a group for each key
  check   `check --quick` of thirty keys, with every variant at least once
  right, faults, examples   `check --quick` of the files in kernels/adapter
  selftest   `selftest --quick`
Of each the values hold the exit status, the verdict, the contract and the first cause, and of every record the SHA-256
of its fields without `run`. What depends on the machine is left out: the kind of sandbox, the self-test's entries for
GPUs, and all but exit status and verdict of a kernel that hung, because how many cases ran before depends on the cores.
--only is a regular expression for the names of calls, such as 'check:.*online'. With --facts only what is no text is
compared: it must be the same in a build whose records hold no sentence (TEXTS, below).

A values file has one line for the fields, and one for each group of records, with the SHA-256 of
  NAME <tab> exit status, verdict, contract without texts <tab> contract, first cause <tab> records <tab> records without
  texts <tab> cases
The cases are base64 of eight bytes each: four of the SHA-256 of the identity, two of that of the record and two of that
of the record without texts. They tell which case moved; the SHA-256 of all records is what decides.

Exit status: 0 all is as it was; 1 something moved, one line each; 2 the call is wrong.
"""
import argparse
import base64
import concurrent.futures
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What a case is: `identity` of accuracy/record.cpp, and of the self-test's entries.
IDENTITY = ["key", "op", "family", "V", "rows", "k", "seed", "group", "setup", "id", "name"]


# Members that are sentences or commands, made for people.
TEXTS = {"reason", "returned", "behaves_like", "evidence", "detail", "at_first", "reproduce", "trait", "saw"}
# What a sentence says of the machine and not of the kernel: how long it waited, addresses, numbers of processes,
# where the source files lay.
OF_THE_MACHINE = re.compile(r"\b\d+(\.\d+)? m?s\b|\bpid=\d+|\b0x[0-9a-f]{9,}\b(?!\.)|\bT\d+\b"
                            r"| \(it hung before, so it gets less than --timeout\)|(/[\w.-]+)+(?=/(properties|kernels)/)")

GUARDS = ["landlock", "sandbox", "not_sandboxed"]  # what a machine has, of the values of `where`


def sha(text):
    return hashlib.sha256(text.encode()).digest()


def line_of(words):
    return json.dumps(words, sort_keys=True, separators=(",", ":"))


def paths_of(value, before=""):
    """The names of all members, with those that hold them: "checks.element.judged"."""
    if isinstance(value, list):
        return set().union({before}, *(paths_of(v, before) for v in value))
    if not isinstance(value, dict):
        return {before}
    return set().union({before} - {""}, *(paths_of(v, f"{before}.{k}".lstrip(".")) for k, v in value.items()))


def only_known(value, known, texts, before=""):
    """The value without members that are not known and, unless `texts`, without sentences."""
    if isinstance(value, str):
        return OF_THE_MACHINE.sub("#", value)
    if isinstance(value, list):
        return [only_known(v, known, texts, before) for v in value]
    if not isinstance(value, dict):
        return value
    inside = {k: f"{before}.{k}".lstrip(".") for k in value if texts or k not in TEXTS}
    return {k: only_known(value[k], known, texts, name) for k, name in inside.items() if name in known}


def without_texts(contract):
    """A contract without what came back outside of it, in words."""
    if isinstance(contract, list):
        return [without_texts(v) for v in contract]
    if not isinstance(contract, dict):
        return contract
    return {k: without_texts(v) for k, v in contract.items() if k != "outside"}


def files_of(folder):
    """The words of `check` for each kernel file of a folder of kernels/adapter."""
    for file in sorted((ROOT / "kernels/adapter" / folder).glob("*.cu")):
        text = file.read_text()
        said = dict(re.findall(r"^// (entry|types|check): (.*)$", text, re.M))
        entry = said.get("entry", file.stem)
        if not re.search(r"\b%s\b *(<.*>)? *\(" % re.escape(file.stem), text) and "entry" not in said:
            continue  # all.cu: the other files in one
        types = ["--types", said["types"]] if "types" in said else []
        yield f"{folder}:{file.stem}", [str(file.relative_to(ROOT)), "--entry", entry, *types]


def thirty_keys(keys):
    """One key of each variant, then a second one of each, until there are thirty."""
    seen, rounds = {}, []
    for key in keys:
        variant = key.split("/")[0]
        n = seen[variant] = seen.get(variant, -1) + 1
        rounds.append((n, len(rounds), key))
    return [key for _, _, key in sorted(rounds)][:30]


def calls(assay, backend, before):
    """Names, words and files of all calls; a name ends in "*" where each key is a group of its own. The keys that are
    checked are those of `before`, the values, if it has some."""
    listed = subprocess.run([assay, "list"], check=True, capture_output=True, text=True).stdout
    keys = re.findall(r"^(\S+/\S+@%s)\s" % backend, listed, re.M)
    common = ["--quick", "--seed", "1"]
    # What takes longest is started first.
    if backend == "host":
        yield "selftest", ["selftest", "--quick"], "selftest.jsonl"
    yield "report:*", ["report", *common, "--key", f"*@{backend}"], "records.jsonl"
    for key in [name[6:] for name in before if name.startswith("check:")] or thirty_keys(keys):
        yield f"check:{key}", ["check", key, *common], "records.jsonl"
    on = ["--host"] if backend == "host" else []
    for folder in ("right", "faults", "examples"):
        for name, words in files_of(folder):
            yield name, ["check", *words, *on, *common], "records.jsonl"


def facts_of(assay, words, file, folder):
    """The facts of one call as text, and its records."""
    out = folder / "out"
    run = subprocess.run([assay, *words, "--json", "--out", str(out)], cwd=ROOT, capture_output=True, text=True)
    records = out / file
    if not records.exists():  # a kernel that can not run here, such as one for a GPU alone
        print(f"{' '.join(words)}: exit status {run.returncode}: {run.stderr[-300:]}", file=sys.stderr)
        return (line_of([run.returncode]), ""), []
    answer = json.loads(run.stdout)
    contract = out / "contract.json"
    cause = re.search(r"^1\. .*$", run.stderr, re.M)
    whole = json.loads(contract.read_text()) if contract.exists() else {}
    facts = [run.returncode, answer["verdict"], without_texts(whole)]
    lines = [json.loads(line) for line in records.read_text().splitlines()]
    lines = [line for line in lines if not (words[0] == "selftest" and line.get("key", "").endswith("@cuda"))]
    if words[0] == "check" and any(line.get("status") == "hung" for line in lines):
        return (line_of(facts[:2]), ""), []
    for line in lines:
        line.pop("run", None)
        if line.get("where") in GUARDS:
            line["where"] = GUARDS[0]
    said = OF_THE_MACHINE.sub("#", line_of([whole, cause.group(0) if cause else ""]))
    return (line_of(facts), said), [line for line in lines if line]


def identity_of(record):
    """Only a record with a threshold names it, so that the identity of all others is what it was."""
    threshold = [record["threshold"]] if "threshold" in record else []
    return line_of([record.get(name) for name in IDENTITY] + threshold)


def groups_of(name, records):
    if not name.endswith("*"):
        return {name: records}
    groups = {}
    for record in records:
        groups.setdefault(name[:-1] + record["key"], []).append(record)
    return groups


class Digest:
    """The cases of a group: (four bytes of the identity, of the record, of the record without texts, record)."""

    def __init__(self, records, known):
        self.cases = []
        for record in records:
            both = [line_of(only_known(record, known, texts)) for texts in (True, False)]
            self.cases.append((sha(identity_of(record))[:4], *(sha(text)[:2] for text in both), *both))
        self.cases.sort()

    def whole(self, which, ids=None):
        """The SHA-256 of all records (3), or of all without texts (4)."""
        return sha("\n".join(sorted(c[which] for c in self.cases if ids is None or c[0] in ids))).hex()

    def packed(self):
        return base64.b64encode(b"".join(b"".join(c[:3]) for c in self.cases)).decode()


def compare(name, facts, records, old, known, facts_only):
    """What moved, as lines; and how many cases are new."""
    answer, cause, *wholes, packed = old
    moved = []
    if sha(facts[0]).hex() != answer:
        moved.append(f"{name}: exit status, verdict or contract: {facts[0]}")
    if not facts_only and sha(facts[1]).hex() != cause:
        moved.append(f"{name}: words of the contract, or the first cause: {facts[1]}")
    packed = base64.b64decode(packed)
    at = 6 if facts_only else 4
    wanted = sorted((packed[i:i + 4], packed[i + at:i + at + 2]) for i in range(0, len(packed), 8))
    ids = {one for one, _ in wanted}
    digest = Digest(records, known)
    which = 4 if facts_only else 3
    here = [c for c in digest.cases if c[0] in ids]
    left = [(c[0], c[which - 2]) for c in here]
    gone = 0
    for pair in wanted:
        if pair in left:
            left.remove(pair)
            continue
        gone += 1
        now = next((c[which] for c in here if c[0] == pair[0]), None)
        moved.append(f"{name}: a case is gone" if now is None else f"{name}: a record moved: {now}")
    # The same case twice, once as it was and once otherwise.
    moved += [f"{name}: a case has a second record"] * max(0, len(left) - gone)
    # Where identities of old and of new cases share four bytes, the pairs above have decided.
    if not moved and not left and digest.whole(which, ids) != wholes[which - 3]:
        moved.append(f"{name}: a record moved, and two bytes of its SHA-256 do not tell which")
    return moved, len(digest.cases) - len(wanted)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("assay")
    parser.add_argument("--backend", choices=["host", "cuda"], default="host")
    parser.add_argument("--only", default="", type=re.compile)
    parser.add_argument("--facts", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--jobs", type=int, default=1, help="calls at the same time (default 1)")
    parser.add_argument("--keep", help="keeps the records of each call in this folder, to look at what moved")
    o = parser.parse_args()
    values = ROOT / "reports/publish/golden" / f"{o.backend}.txt"
    old, known = {}, set()
    if values.exists():
        head, *lines = values.read_text().splitlines()
        known = set(head.split(" ")[1:])
        old = {name: rest for name, *rest in (line.split("\t") for line in lines)}
    elif not o.write:
        parser.error(f"{values.relative_to(ROOT)} is not there: --write makes it")
    assay = str(pathlib.Path(o.assay).resolve())
    new, moved, added, kept = {}, [], 0, 0
    try:
        all_calls = [c for c in calls(assay, o.backend, [] if o.write else old) if o.only.search(c[0])]
    except (OSError, subprocess.CalledProcessError) as e:
        parser.error(f"{o.assay} does not list its keys: {e}")
    if not all_calls:
        parser.error(f"no call is called {o.only.pattern}")
    def made(call):
        with tempfile.TemporaryDirectory() as folder:
            return call[0], *facts_of(assay, *call[1:], pathlib.Path(folder))

    for name, facts, records in concurrent.futures.ThreadPoolExecutor(max(1, o.jobs)).map(made, all_calls):
        if o.keep:
            pathlib.Path(o.keep).mkdir(parents=True, exist_ok=True)
            path = pathlib.Path(o.keep) / re.sub(r"[^\w.@-]", "_", name)
            path.write_text("\n".join([*facts, *sorted(map(line_of, records))]) + "\n")
        for group, of_group in groups_of(name, records).items():
            new[group] = (facts, of_group)
            kept += len(of_group)
            if o.write:
                continue
            if group not in old:
                print(f"{group}: new, {len(of_group)} records", flush=True)
                continue
            lines, more = compare(group, facts, of_group, old[group], known, o.facts)
            moved += lines
            added += more
            for line in lines[:3]:
                print(line[:1000], flush=True)
            if len(lines) > 3:
                print(f"{group}: and {len(lines) - 3} more", flush=True)
        print(f"{name}: {len(records)} records", file=sys.stderr, flush=True)

    def asked_for(group):
        """True if one of the calls makes this group."""
        return any(group.startswith(name[:-1]) if name.endswith("*") else group == name for name, _, _ in all_calls)

    gone = [group for group in sorted(old) if group not in new and (not o.only.pattern or asked_for(group))]
    if o.write:
        fields = known.union(*(paths_of(r) for _, records in new.values() for r in records))
        if fields != known and not old.keys() <= new.keys() | set(gone):
            parser.error("records have new fields: write the values of all calls that have some, not only of these")
        for name in gone:
            del old[name]
        for name, (facts, records) in new.items():
            digest = Digest(records, fields)
            old[name] = [sha(facts[0]).hex(), sha(facts[1]).hex(), digest.whole(3), digest.whole(4), digest.packed()]
        values.parent.mkdir(exist_ok=True)
        text = "\n".join(["fields " + " ".join(sorted(fields)), *("\t".join([n, *old[n]]) for n in sorted(old))])
        values.write_text(text + "\n")
        print(f"{len(new)} groups with {kept} records are written to {values.relative_to(ROOT)}")
        return 0
    for name in gone:
        print(f"{name}: gone")
    print(f"{len(new)} groups, {kept} records: {len(moved) + len(gone)} moved, {added} cases are new")
    return 1 if moved or gone else 0


if __name__ == "__main__":
    code = main()
    sys.exit(code)
