# SPDX-License-Identifier: Apache-2.0
"""Has `assay grade` judge a peer's outputs, and writes the verdict into the peer's record."""
import subprocess

from peer_records import read_lines


def grade(words, path):
    """Runs `assay grade` and returns its records."""
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise RuntimeError("assay grade: " + (done.stderr.strip() or f"exit status {done.returncode}"))
    return read_lines(path)


def take_verdict(r, graded):
    larger = lambda x, y: y if x is None else x if y is None else max(float(x), float(y))
    for g in graded:
        r["max_ulp"] = larger(r["max_ulp"], g["max_ulp"])
        r["max_utilisation"] = larger(r["max_utilisation"], g["max_bound_ratio"])
        r["verified_elements"] += g["rows_judged"] * (r["k"] or r["V"])
    statuses = {g["status"] for g in graded}
    if not graded or statuses - {"pass"}:
        bad = next((g for g in graded if g["status"] != "pass"), {"status": "not judged", "reason": ""})
        failed = "fail" in statuses
        r["verified"] = "fail" if failed else "not_judged"
        r["verified_reason"] = f"{bad['status']}: {bad['reason']}"
        if failed:
            raise RuntimeError("verification: " + bad["reason"])
        return
    # If the outputs before the timing were not judged, a good verdict after it does not change that.
    if r["verified_reason"].startswith(("unsupported", "inconclusive", "not judged", "not_run")):
        return
    r["verified"] = "pass"
    rows = sum(g["rows_judged"] for g in graded)
    if rows < r["rows"]:
        r["verified_reason"] = f"{rows} of {r['rows']} rows judged"
