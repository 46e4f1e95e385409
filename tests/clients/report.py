"""The table client x feature, the failures, the totals, and the JSON file."""

import json
from collections import Counter


def print_report(results, catalog, seconds, drops, json_path):
    """Prints everything and returns the counts of pass, fail and skip."""
    rows = [row for client_rows in results.values() for row in client_rows]
    if json_path:
        with open(json_path, "w", encoding="utf-8") as out:
            out.writelines(json.dumps(row) + "\n" for row in rows)
    counts = Counter(row["status"] for row in rows)
    print_skips(rows)
    print_failures(rows)
    print()
    print(f"Passed of those run, by client and feature ({seconds:.0f} s, {drops} Produce answers dropped by the proxy):")
    print()
    for line in table(results, catalog):
        print(line)
    print()
    print(f"{counts['pass']} passed, {counts['fail']} failed, {counts['skip']} skipped", flush=True)
    return counts


def table(results, catalog):
    features = [f for f in catalog.features if any(cells(rows, f)["all"] for rows in results.values())]
    lines = [["client", *features, "passed", "failed", "skipped"]]
    for client, rows in results.items():
        line = [client]
        for feature in features:
            cell = cells(rows, feature)
            run = cell["pass"] + cell["fail"]
            line.append(f"{cell['pass']}/{run}" if run else ("skip" if cell["skip"] else "-"))
        total = Counter(row["status"] for row in rows)
        lines.append([*line, str(total["pass"]), str(total["fail"]), str(total["skip"])])
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    rule = ["-" * width for width in widths]
    return ["| " + " | ".join(c.ljust(w) for c, w in zip(line, widths)) + " |" for line in [lines[0], rule, *lines[1:]]]


def cells(rows, feature):
    mine = [row for row in rows if row["case"].split(".")[0] == feature]
    return Counter(row["status"] for row in mine) + Counter({"all": len(mine)})


def print_skips(rows):
    """Each reason once, with the cases it covers."""
    reasons = {}
    for row in rows:
        if row["status"] == "skip":
            reasons.setdefault((row["client"], row["detail"]), []).append(row["case"])
    for (client, reason), cases in reasons.items():
        shown = ", ".join(cases) if len(cases) <= 4 else f"{', '.join(cases[:3])} and {len(cases) - 3} more"
        print(f"skip {client}: {shown}: {reason}")


def print_failures(rows):
    for row in rows:
        if row["status"] == "fail":
            print(f"FAIL {row['client']} {row['case']} ({row['seconds']} s): {row['detail']}")
