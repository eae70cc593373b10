"""Stages and accumulators: https://www.mongodb.com/docs/manual/reference/operator/aggregation/."""

import functools
import itertools

from arithmetic import combine, to_decimal
from arrays_reference import distinct, sort
from strings_reference import title
from values import *

NAN = float("nan")


def docs(values):
    return [{"_id": I32(place), **({"v": value} if value is not MISSING else {})} for place, value in enumerate(values)]


def total(values):
    result = I32(0)
    for value in values:
        if is_number(value):
            result = combine(result, value, "add")
    return result


def average(values):
    numbers = [value for value in values if is_number(value)]
    if not numbers:
        return None
    if any(isinstance(value, Dec) for value in numbers):
        return Dec(DECIMAL.divide(to_decimal(total(numbers)), decimal.Decimal(len(numbers))))
    return float(total(numbers)) / len(numbers)


def deviation(sample):
    def apply(values):
        numbers = [float(exact(value)) for value in values if is_number(value)]
        count = len(numbers) - (1 if sample else 0)
        if count <= 0:
            return None
        mean = sum(numbers) / len(numbers)
        return (sum((number - mean) ** 2 for number in numbers) / count) ** 0.5
    return apply


def extreme(descending):
    def apply(values):
        kept = [value for value in values if not is_nullish(value)]
        return sort(kept, descending)[0] if kept else None
    return apply


def nulls(value):
    return None if value is MISSING else value


def percentile(share):
    def apply(values):
        import math
        numbers = sorted(float(exact(value)) for value in values if is_number(value))
        if not numbers:
            return None
        return numbers[max(0, math.ceil(len(numbers) * share) - 1)]
    return apply


SAMPLES = [
    [], [I32(1), I32(2), I32(3)], [I32(2147483647), I32(1)], [I64(9223372036854775807), I32(-1)], [I32(1), I64(2)], [I32(1), 0.5], [0.1, 0.2, 0.3], [I32(1), Dec("0.5")], ["a", I32(2), None], [None, MISSING], [MISSING, I32(4)], ["a", "b"],
    [True, I32(1)], [[I32(1), I32(2)], I32(3)], [{"x": I32(1)}, {"x": I32(2)}], [I32(2), I32(4), I32(4), I32(4), I32(5), I32(5), I32(7), I32(9)], [Date(5), Date(3)], [I32(5)], [-1.5, I32(-2), Dec("-3")],
]


def accumulators():
    functions = {
        "$sum": total, "$avg": average, "$min": extreme(False), "$max": extreme(True), "$first": lambda v: nulls(v[0]) if v else None, "$last": lambda v: nulls(v[-1]) if v else None,
        "$push": lambda v: [x for x in v if x is not MISSING], "$stdDevPop": deviation(False), "$stdDevSamp": deviation(True),
    }
    for name, function in functions.items():
        cases = []
        for values in SAMPLES:
            expected = [{"_id": None, "r": function(values)}] if values else []
            # Sums of doubles are exact, so that only those that come out even are the same everywhere.
            if values == [0.1, 0.2, 0.3] and name in ("$stdDevPop", "$stdDevSamp", "$sum", "$avg"):
                continue
            cases.append((title(*values), {"pipeline": [{"$group": {"_id": None, "r": {name: "$v"}}}]}, docs(values), expected))
        yield "accumulator/" + name[1:], {}, cases
    cases = []
    for values in SAMPLES[1:]:
        for share, name in ((0.5, None), (0.25, 0.25), (0.9, 0.9), (0.0, 0.0), (1.0, 1.0)):
            operator = {"$median": {"input": "$v", "method": "approximate"}} if name is None else {"$percentile": {"input": "$v", "p": [name], "method": "approximate"}}
            expected = percentile(share)(values)
            cases.append(("%s %s" % (title(*values), name or "median"), {"pipeline": [{"$group": {"_id": None, "r": operator}}]}, docs(values), [{"_id": None, "r": expected if name is None else [expected]}]))
    yield "accumulator/percentile", {}, cases
    cases = []
    ranked = [[I32(3), I32(1), I32(2)], [I32(1), None, I32(2), MISSING], ["b", I32(1), "a"], [I32(5)], [1.5, I64(1), Dec("1.2")]]
    for values in ranked:
        for count in (1, 2, 5):
            shown = [nulls(value) for value in values]
            kept = [value for value in values if not is_nullish(value)]
            rows = docs(values)
            by_value = sort(shown)
            for name, expected in (("$firstN", shown[:count]), ("$lastN", shown[-count:]), ("$maxN", sort(kept, True)[:count]), ("$minN", sort(kept)[:count])):
                cases.append(("%s %s %d" % (name, title(*values), count), {"pipeline": [{"$group": {"_id": None, "r": {name: {"input": "$v", "n": I32(count)}}}}]}, rows, [{"_id": None, "r": expected}]))
            for name, expected in (("$topN", by_value[:count]), ("$bottomN", by_value[-count:])):
                cases.append(("%s %s %d" % (name, title(*values), count), {"pipeline": [{"$group": {"_id": None, "r": {name: {"output": "$v", "sortBy": {"v": I32(1)}, "n": I32(count)}}}}]}, rows, [{"_id": None, "r": expected}]))
        for name, expected in (("$top", sort([nulls(v) for v in values])[0]), ("$bottom", sort([nulls(v) for v in values])[-1])):
            cases.append(("%s %s" % (name, title(*values)), {"pipeline": [{"$group": {"_id": None, "r": {name: {"output": "$v", "sortBy": {"v": I32(1)}}}}}]}, rows, [{"_id": None, "r": expected}]))
    yield "accumulator/several", {}, cases


def windows():
    rows = [{"_id": I32(n), "p": "ab"[n % 2], "x": I32(x), "v": v} for n, (x, v) in enumerate(((1, I32(4)), (2, I32(6)), (2, 1.5), (4, I32(10)), (7, None), (8, I32(2)), (9, I32(5)), (11, I64(7))))]
    ordered = sorted(rows, key=lambda r: (int(r["x"]), int(r["_id"])))
    bounds = [("unbounded", "current"), ("unbounded", "unbounded"), ("current", "unbounded"), (I32(-1), I32(1)), (I32(-2), I32(-1)), (I32(1), I32(2)), ("current", "current"), (I32(0), I32(2))]

    def window(place, low, high):
        start = 0 if low == "unbounded" else place if low == "current" else place + int(low)
        stop = len(ordered) if high == "unbounded" else place + 1 if high == "current" else place + int(high) + 1
        return [ordered[n] for n in range(max(0, start), min(len(ordered), stop))] if start < stop else []
    cases = []
    for name, function in (("$sum", total), ("$avg", average), ("$min", extreme(False)), ("$max", extreme(True)), ("$push", list), ("$first", lambda v: v[0] if v else None), ("$last", lambda v: v[-1] if v else None)):
        for low, high in bounds:
            expected = [{**row, "r": function([part["v"] for part in window(place, low, high)])} for place, row in enumerate(ordered)]
            stage = {"$setWindowFields": {"sortBy": {"x": I32(1), "_id": I32(1)}, "output": {"r": {name: "$v", "window": {"documents": [low, high]}}}}}
            cases.append(("%s %s..%s" % (name, low, high), {"pipeline": [stage]}, rows, expected))
    for low, high in ((I32(-1), I32(1)), ("unbounded", "current"), ("current", I32(3)), (I32(-2), "unbounded"), (I32(-3), I32(-1))):
        expected = []
        for row in ordered:
            x = int(row["x"])
            least = -10**9 if low == "unbounded" else x if low == "current" else x + int(low)
            most = 10**9 if high == "unbounded" else x if high == "current" else x + int(high)
            expected.append({**row, "r": total([part["v"] for part in ordered if least <= int(part["x"]) <= most])})
        stage = {"$setWindowFields": {"sortBy": {"x": I32(1)}, "output": {"r": {"$sum": "$v", "window": {"range": [low, high]}}}}}
        cases.append(("range %s..%s" % (low, high), {"pipeline": [{"$sort": {"x": I32(1), "_id": I32(1)}}, stage]}, rows, expected))
    for name in ("$rank", "$denseRank", "$documentNumber"):
        expected = []
        for place, row in enumerate(ordered):
            below = [int(other["x"]) for other in ordered if int(other["x"]) < int(row["x"])]
            number = {"$rank": len(below) + 1, "$denseRank": len(set(below)) + 1, "$documentNumber": place + 1}[name]
            expected.append({**row, "r": I32(number)})
        cases.append((name, {"pipeline": [{"$sort": {"x": I32(1), "_id": I32(1)}}, {"$setWindowFields": {"sortBy": {"x": I32(1)}, "output": {"r": {name: {}}}}}]}, rows, expected))
    for by in (1, -1, 3):
        expected = [{**row, "r": ordered[place + by]["v"] if 0 <= place + by < len(ordered) else "none"} for place, row in enumerate(ordered)]
        cases.append(("shift %d" % by, {"pipeline": [{"$setWindowFields": {"sortBy": {"x": I32(1), "_id": I32(1)}, "output": {"r": {"$shift": {"output": "$v", "by": I32(by), "default": "none"}}}}}]}, rows, expected))
    for key in ("a", "b"):
        pass
    parted = sorted(rows, key=lambda r: (r["p"], int(r["x"]), int(r["_id"])))
    expected = []
    for p, members in itertools.groupby(parted, key=lambda r: r["p"]):
        members = list(members)
        expected += [{**row, "r": total([part["v"] for part in members[:place + 1]])} for place, row in enumerate(members)]
    cases.append(("by partition", {"pipeline": [{"$setWindowFields": {"partitionBy": "$p", "sortBy": {"x": I32(1), "_id": I32(1)}, "output": {"r": {"$sum": "$v", "window": {"documents": ["unbounded", "current"]}}}}}]}, rows, expected))
    yield "pipeline/windows", {}, cases


def small_stages():
    rows = [{"_id": I32(n), "v": v} for n, v in enumerate((I32(3), I32(1), None, "a", I32(1), [I32(1), I32(2)], [], {"x": I32(1)}))] + [{"_id": I32(8)}]
    for name, counts in (("$skip", (0, 1, 5, 9, 100)), ("$limit", (1, 5, 9, 100))):
        yield "pipeline/" + name[1:], {}, [("%s %d" % (name, count), {"pipeline": [{name: I32(count)}]}, rows, rows[count:] if name == "$skip" else rows[:count]) for count in counts] + [
            ("%s %s" % (name, title(value)), {"pipeline": [{name: value}]}, rows, rows[int(value):] if name == "$skip" else rows[:int(value)]) for value in (I64(2), 3.0)]
    cases = []
    for options in ({}, {"preserveNullAndEmptyArrays": True}, {"includeArrayIndex": "i"}, {"preserveNullAndEmptyArrays": True, "includeArrayIndex": "i"}):
        expected = []
        for row in rows:
            value = row.get("v", MISSING)
            if isinstance(value, list) and value:
                for place, element in enumerate(value):
                    expected.append({**row, "v": element, **({"i": I64(place)} if "includeArrayIndex" in options else {})})
            elif is_nullish(value) or value == []:
                if options.get("preserveNullAndEmptyArrays"):
                    kept = {key: part for key, part in row.items() if not (key == "v" and part == [])}
                    expected.append({**kept, **({"i": None} if "includeArrayIndex" in options else {})})
            else:
                expected.append({**row, **({"i": None} if "includeArrayIndex" in options else {})})
        cases.append((title(options), {"pipeline": [{"$unwind": {"path": "$v", **options}}]}, rows, expected))
    yield "pipeline/unwind", {}, cases
    import random
    chance = random.Random(7)
    cases = []
    for number in range(24):
        values = [I32(chance.randrange(6)) for _ in range(chance.randrange(1, 12))]
        rows = docs(values)
        ranked = sorted(rows, key=lambda row: int(row["v"]))
        buckets = chance.randrange(1, 5)
        # Each bucket takes its share of the documents, and all that are equal to its last.
        share, place, expected = max(1, int(len(rows) / buckets + 0.5)), 0, []
        while place < len(ranked):
            stop = len(ranked) if len(expected) == buckets - 1 else min(place + share, len(ranked))
            while stop < len(ranked) and ranked[stop]["v"] == ranked[stop - 1]["v"]:
                stop += 1
            upper = ranked[stop]["v"] if stop < len(ranked) else ranked[-1]["v"]
            expected.append({"_id": {"min": ranked[place]["v"], "max": upper}, "count": I32(stop - place)})
            place = stop
        cases.append(("%s in %d" % (title(*values), buckets), {"pipeline": [{"$bucketAuto": {"groupBy": "$v", "buckets": I32(buckets)}}]}, rows, expected))
        bounds = [I32(0), I32(2), I32(4)]
        inside = {int(low): sum(1 for row in rows if int(low) <= int(row["v"]) < int(high)) for low, high in zip(bounds, bounds[1:])}
        rest = sum(1 for row in rows if int(row["v"]) >= 4)
        expected = [{"_id": I32(low), "count": I32(count)} for low, count in inside.items() if count] + ([{"_id": "rest", "count": I32(rest)}] if rest else [])
        cases.append(("bucket %s" % title(*values), {"pipeline": [{"$bucket": {"groupBy": "$v", "boundaries": bounds, "default": "rest"}}]}, rows, expected))
        counts = {}
        for row in rows:
            counts[int(row["v"])] = counts.get(int(row["v"]), 0) + 1
        expected = [{"_id": I32(v), "count": I32(c)} for v, c in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
        cases.append(("sortByCount %s" % title(*values), {"pipeline": [{"$sortByCount": "$v"}, {"$sort": {"count": I32(-1), "_id": I32(1)}}]}, rows, expected))
    yield "pipeline/buckets", {}, cases


def tables():
    yield from accumulators()
    yield from windows()
    yield from small_stages()
