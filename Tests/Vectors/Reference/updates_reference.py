"""Update operators: https://www.mongodb.com/docs/manual/reference/operator/update/."""

import functools

from arithmetic import bit, increase
from matching import Failure, matches, one, is_operators
from strings_reference import title
from values import *

NAN, INF = float("nan"), float("inf")
NUMBERS = [I32(0), I32(7), I32(-3), I32(2147483647), I32(-2147483648), I64(5), I64(9223372036854775807), I64(-9223372036854775808), 0.5, -0.0, 1e300, NAN, INF, Dec("2.50"), Dec("-1E+3")]
OTHERS = [MISSING, None, "text", True, Date(1000), [I32(1)], {"x": I32(1)}]
ANY = [MISSING, None, MIN, MAX, I32(1), 1.0, I64(2), NAN, Dec("1.5"), "a", "b", {}, {"x": I32(1)}, [], [I32(1)], binary(b"a"), oid(1), True, False, Date(1), timestamp(1, 1), regex("a")]


def document(value):
    return {"_id": I32(1), "a": value} if value is not MISSING else {"_id": I32(1)}


def outcome(function):
    try:
        return function()
    except Failure as failure:
        return {"error": failure.code}


def field(name, function, stored, operands):
    """Cases of one operator on the field `a`."""
    cases = []
    for before in stored:
        for operand in operands:
            def run():
                after = function(before, operand)
                return document(after)
            cases.append((title(before) + " by " + title(operand), {"update": {name: {"a": operand}}}, document(before), outcome(run)))
    return cases


def pushed(elements, operand):
    if elements is MISSING:
        elements = []
    if not isinstance(elements, list):
        raise Failure(2)
    values = operand["$each"]
    place = len(elements)
    if "$position" in operand:
        position = int(operand["$position"])
        place = max(0, len(elements) + position) if position < 0 else min(position, len(elements))
    result = elements[:place] + values + elements[place:]
    if "$sort" in operand:
        direction = operand["$sort"]
        if isinstance(direction, dict):
            (key, direction), = direction.items()
            result.sort(key=functools.cmp_to_key(lambda a, b: int(direction) * compare(part(a, key), part(b, key))))
        else:
            result.sort(key=functools.cmp_to_key(lambda a, b: int(direction) * compare(a, b)))
    if "$slice" in operand:
        count = int(operand["$slice"])
        result = result[:count] if count >= 0 else result[count:]
    return result


def part(value, key):
    return value.get(key, None) if isinstance(value, dict) else None


def pulled(elements, wanted):
    if elements is MISSING:
        return elements
    if not isinstance(elements, list):
        raise Failure(2)

    def meant(element):
        if is_operators(wanted):
            # As if the element stood in a field (pull_node.cpp): an array stands for its elements too.
            return matches({"e": element}, {"e": wanted})
        if isinstance(wanted, dict):
            return isinstance(element, dict) and matches(element, wanted)
        return equal(element, wanted)
    return [element for element in elements if not meant(element)]


def direct(element, operator, operand):
    from matching import direct as ask
    return ask(element, operator, operand)


def tables():
    yield "update/inc", {"exact": "true"}, field("$inc", lambda a, b: increase(a, b, "add"), NUMBERS + OTHERS, [I32(1), I32(-2147483648), I64(1), I64(9223372036854775807), 0.5, Dec("0.10")])
    yield "update/mul", {"exact": "true"}, field("$mul", lambda a, b: increase(a, b, "multiply"), NUMBERS + OTHERS, [I32(2), I32(0), I64(3), I64(-1 << 62), 1.5, Dec("2")])
    yield "update/operands", {}, [
        ("%s %s" % (name, title(operand)), {"update": {name: {"a": operand}}}, document(I32(1)), {"error": 14})
        for name in ("$inc", "$mul") for operand in ("x", None, True, [I32(1)], {"x": I32(1)}, Date(1))]

    def least(a, b):
        return b if a is MISSING or compare(b, a) < 0 else a

    def most(a, b):
        return b if a is MISSING or compare(b, a) > 0 else a
    bounds = [None, I32(1), I64(2), NAN, Dec("1.5"), "a", {"x": I32(1)}, [I32(1)], True, Date(0), MIN, MAX]
    yield "update/min", {"exact": "true"}, field("$min", least, ANY, bounds)
    yield "update/max", {"exact": "true"}, field("$max", most, ANY, bounds)
    yield "update/bit", {"exact": "true"}, [
        ("%s %s %s" % (title(before), operation, title(operand)), {"update": {"$bit": {"a": {operation: operand}}}}, document(before), outcome(lambda: document(bit(before, operation, operand))))
        for before in (MISSING, I32(13), I32(-1), I64(13), I64(1 << 40), 1.5, Dec("1"), "x", None) for operation in ("and", "or", "xor") for operand in (I32(10), I32(-1), I64(1 << 35), I64(3))]
    lists = [MISSING, [], [I32(5)], [I32(3), I32(1), I32(2)], ["b", I32(1), None], [{"k": I32(2)}, {"k": I32(1)}]]
    cases = []
    for before in lists + [None, I32(1), "x", {}]:
        for modifiers in ({}, {"$position": I32(0)}, {"$position": I32(1)}, {"$position": I32(9)}, {"$position": I32(-1)}, {"$position": I32(-9)}, {"$slice": I32(2)}, {"$slice": I32(-2)}, {"$slice": I32(0)}, {"$sort": I32(1)},
                          {"$sort": I32(-1)}, {"$sort": {"k": I32(1)}}, {"$sort": I32(1), "$slice": I32(2)}, {"$position": I32(0), "$slice": I32(2)}, {"$sort": {"k": I32(-1)}, "$slice": I32(-2)}):
            for values in ([I32(4)], [I32(9), I32(0)], [{"k": I32(0)}], []):
                if len(modifiers) > 1 and values != [I32(9), I32(0)]:
                    continue
                operand = {"$each": values, **modifiers}
                cases.append((title(before) + " by " + title(operand), {"update": {"$push": {"a": operand}}}, document(before), outcome(lambda: document(pushed(before, operand)))))
        for value in (I32(4), [I32(1)], None, {"x": I32(1)}):
            cases.append((title(before) + " by " + title(value), {"update": {"$push": {"a": value}}}, document(before), outcome(lambda: document(pushed(before, {"$each": [value]})))))
    yield "update/push", {}, cases

    def to_set(elements, values):
        if elements is MISSING:
            elements = []
        if not isinstance(elements, list):
            raise Failure(2)
        result = list(elements)
        for value in values:
            if not any(equal(value, other) for other in result):
                result.append(value)
        return result
    cases = []
    for before in lists + [[1.0, None, [I32(1)], {"x": I32(1), "y": I32(2)}], None, I32(1), "x", {}]:
        for value in (I32(1), 1.0, None, "b", [I32(1)], {"x": I32(1), "y": I32(2)}, {"y": I32(2), "x": I32(1)}):
            cases.append((title(before) + " by " + title(value), {"update": {"$addToSet": {"a": value}}}, document(before), outcome(lambda: document(to_set(before, [value])))))
        for values in ([], [I32(1), 1.0, I32(7)], ["b", "c", "c"]):
            cases.append((title(before) + " by each " + title(values), {"update": {"$addToSet": {"a": {"$each": values}}}}, document(before), outcome(lambda: document(to_set(before, values)))))
    yield "update/addToSet", {}, cases
    stored = [MISSING, [], [I32(1), I32(2), I32(1)], [1.5, I64(1), "1", None], [[I32(1)], [I32(1), I32(2)]], [{"x": I32(1)}, {"x": I32(2), "y": I32(1)}, {"y": I32(1), "x": I32(1)}, I32(1)], ["abc", "b"], None, I32(1), "x"]
    conditions = [I32(1), 1.0, "1", None, [I32(1)], {"x": I32(1)}, {"x": {"$gt": I32(1)}}, {"x": I32(1), "y": I32(1)}, {"$gte": I32(1)}, {"$in": [I32(1), "b"]}, {"$ne": I32(1)}, {"$type": "string"}, {"$gt": I32(0), "$lt": I32(2)}, {"$exists": True},
                  {"x": {"$exists": False}}]
    yield "update/pull", {}, field("$pull", pulled, stored, conditions)

    def pull_all(elements, values):
        if elements is MISSING:
            return elements
        if not isinstance(elements, list):
            raise Failure(2)
        return [element for element in elements if not any(equal(element, value) for value in values)]
    yield "update/pullAll", {}, field("$pullAll", pull_all, stored, [[], [I32(1)], [1.0, "b"], [None], [[I32(1)]], [{"x": I32(1)}]])

    def pop(elements, direction):
        if elements is MISSING:
            return elements
        if not isinstance(elements, list):
            raise Failure(14)
        return elements[1:] if direction == -1 else elements[:-1]
    yield "update/pop", {}, field("$pop", pop, stored + [[I32(1)]], [I32(1), I32(-1), 1.0, I64(-1)])
    cases = []
    for before in ANY:
        for value in (I32(5), None, "x", [I32(1)], {"y": I32(2)}):
            cases.append((title(before) + " to " + title(value), {"update": {"$set": {"a": value}}}, document(before), document(value)))
        cases.append((title(before) + " unset", {"update": {"$unset": {"a": ""}}}, document(before), {"_id": I32(1)}))
        cases.append((title(before) + " renamed", {"update": {"$rename": {"a": "b"}}}, document(before), {"_id": I32(1), **({"b": before} if before is not MISSING else {})}))

        def below():
            if before is MISSING:
                return {"_id": I32(1), "a": {"x": I32(9)}}
            if isinstance(before, dict):
                return {"_id": I32(1), "a": {**before, "x": I32(9)}}
            raise Failure(28)
        cases.append((title(before) + " below", {"update": {"$set": {"a.x": I32(9)}}}, document(before), outcome(below)))

        def element():
            if before is MISSING:
                return {"_id": I32(1), "a": {"2": I32(9)}}
            if isinstance(before, dict):
                return {"_id": I32(1), "a": {**before, "2": I32(9)}}
            if isinstance(before, list):
                return {"_id": I32(1), "a": (before + [None, None])[:2] + [I32(9)]}
            raise Failure(28)
        cases.append((title(before) + " element", {"update": {"$set": {"a.2": I32(9)}}}, document(before), outcome(element)))
    yield "update/set", {"exact": "true"}, cases
    yield "update/replace", {}, [
        (title(before), {"update": after}, before, expected) for before, after, expected in (
            ({"_id": I32(1), "a": I32(1)}, {"b": I32(2)}, {"_id": I32(1), "b": I32(2)}), ({"_id": I32(1), "a": I32(1)}, {"_id": I32(1), "b": I32(2)}, {"_id": I32(1), "b": I32(2)}),
            ({"_id": I32(1), "a": I32(1)}, {}, {"_id": I32(1)}), ({"_id": I32(1)}, {"_id": I32(2)}, {"error": 66}), ({"_id": I32(1)}, {"a": I32(1), "$set": {"b": I32(1)}}, {"error": 52}),
            ({"_id": I32(1)}, {"b": I32(1), "_id": I32(1)}, {"_id": I32(1), "b": I32(1)}), ({"_id": I32(1), "a": {"b": I32(1)}}, {"a.b": I32(2)}, {"_id": I32(1), "a.b": I32(2)}))]
