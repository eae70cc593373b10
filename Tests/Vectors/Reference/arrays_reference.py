"""Operators of arrays, sets and documents: https://www.mongodb.com/docs/manual/reference/operator/aggregation-array/, -set/, -object/."""

import functools

from matching import Failure
from strings_reference import bind, call, title
from values import *

LISTS = [[], [I32(1)], [I32(3), I32(1), I32(2)], ["a", None, "b"], [[I32(1)], I32(1)], [I32(1), 1.0, I64(1), "1"], [None], [{"x": I32(1)}, {"x": 1.0}, {"y": I32(1)}]]
SCALARS = [None, MISSING, I32(5), "x", {"x": I32(1)}, True]


def array(value, code, nulls=True):
    """The elements; a Failure where it is no array, None where it is null."""
    if nulls and is_nullish(value):
        return None
    if not isinstance(value, list):
        raise Failure(code)
    return value


def sort(values, descending=False):
    return sorted(values, key=functools.cmp_to_key(compare), reverse=descending)


def whole(value):
    if not is_number(value) or exact(value).is_nan() or exact(value).is_infinite() or exact(value) != int(exact(value)):
        return None
    return int(exact(value))


def element_at(value, place):
    if is_nullish(value) or is_nullish(place):
        return None
    elements = array(value, 28689)
    if not is_number(place):
        raise Failure(28690)
    index = whole(place)
    if index is None:
        raise Failure(28691)
    return elements[index] if -len(elements) <= index < len(elements) else MISSING


def end(last):
    def apply(value):
        elements = array(value, 28689)
        if elements is None:
            return None
        return elements[-1 if last else 0] if elements else MISSING
    return apply


def slice_of(value, *bounds):
    if is_nullish(value) or any(is_nullish(bound) for bound in bounds):
        return None
    elements = array(value, 28724)
    numbers = [whole(bound) for bound in bounds]
    if not is_number(bounds[0]):
        raise Failure(28725)
    if numbers[0] is None:
        raise Failure(28726)
    if len(bounds) == 1:
        return elements[:numbers[0]] if numbers[0] >= 0 else elements[numbers[0]:]
    if not is_number(bounds[1]):
        raise Failure(28727)
    if numbers[1] is None:
        raise Failure(28728)
    if numbers[1] <= 0:
        raise Failure(28729)
    start = max(0, len(elements) + numbers[0]) if numbers[0] < 0 else numbers[0]
    return elements[start:start + numbers[1]]


def span(start, stop, step=I32(1)):
    numbers = []
    for value, wrong in ((start, 34443), (stop, 34445), (step, 34447)):
        if not is_number(value):
            raise Failure(wrong)
        number = whole(value)
        if number is None or not -(1 << 31) <= number < 1 << 31:
            raise Failure(wrong + 1)
        numbers.append(number)
    if numbers[2] == 0:
        raise Failure(34449)
    return [I32(number) for number in range(*numbers)]


def reverse(value):
    elements = array(value, 34435)
    return None if elements is None else elements[::-1]


def size(value):
    return I32(len(array(value, 17124, nulls=False)))


def contains(value, elements):
    return any(equal(value, element) for element in array(elements, 40081, nulls=False)) if value is not MISSING else False


def index_of(value, wanted, *bounds):
    elements = array(value, 40090)
    if elements is None:
        return None
    for bound in bounds:
        if whole(bound) is None:
            raise Failure(40096)
        if whole(bound) < 0:
            raise Failure(40097)
    start = whole(bounds[0]) if bounds else 0
    stop = min(whole(bounds[1]), len(elements)) if len(bounds) > 1 else len(elements)
    for place in range(start, stop):
        if equal(elements[place], wanted):
            return I32(place)
    return I32(-1)


def concat(*values):
    result = []
    for value in values:
        elements = array(value, 28664)
        if elements is None:
            return None
        result = result + elements
    return result


def zipped(inputs, longest=None, defaults=None):
    arrays = []
    for value in inputs:
        elements = array(value, 34468)
        if elements is None:
            return None
        arrays.append(elements)
    count = (max if longest else min)(len(elements) for elements in arrays)
    filler = defaults or [None] * len(arrays)
    return [[elements[place] if place < len(elements) else other for elements, other in zip(arrays, filler)] for place in range(count)]


def to_object(value):
    elements = array(value, 40386)
    if elements is None:
        return None
    result = {}
    kinds = {list: 40396, dict: 40391}
    first = next((kind for kind in (list, dict) if elements and isinstance(elements[0], kind)), None)
    for element in elements:
        if first is None:
            raise Failure(40398)
        if not isinstance(element, first):
            raise Failure(kinds[first])
        if first is list:
            if len(element) != 2:
                raise Failure(40397)
            key, content = element
            if not isinstance(key, str):
                raise Failure(40395)
        else:
            if len(element) != 2:
                raise Failure(40392)
            if "k" not in element or "v" not in element:
                raise Failure(40393)
            key, content = element["k"], element["v"]
            if not isinstance(key, str):
                raise Failure(40394)
        result[key] = content
    return result


def from_object(value):
    if is_nullish(value):
        return None
    if not isinstance(value, dict):
        raise Failure(40390)
    return [{"k": key, "v": content} for key, content in value.items()]


def distinct(values):
    kept = []
    for value in values:
        if not any(equal(value, other) for other in kept):
            kept.append(value)
    return kept


def some_of(last):
    def apply(value, count):
        if not is_number(count) or whole(count) is None:
            raise Failure(5787902 if not is_number(count) else 5787903)
        if whole(count) <= 0:
            raise Failure(5787908)
        elements = array(value, 5788200, nulls=False)
        return elements[-whole(count):] if last else elements[:whole(count)]
    return apply


def extremes(descending):
    def apply(value, count):
        if not is_number(count) or whole(count) is None:
            raise Failure(5787902 if not is_number(count) else 5787903)
        if whole(count) <= 0:
            raise Failure(5787908)
        elements = array(value, 5788200, nulls=False)
        return sort([element for element in elements if not is_nullish(element)], descending)[:whole(count)]
    return apply


def difference(a, b):
    if is_nullish(a) or is_nullish(b):
        return None
    left, right = array(a, 17048), array(b, 17049)
    return distinct([value for value in left if not any(equal(value, other) for other in right)])


def equals(a, b):
    left, right = array(a, 17044, nulls=False), array(b, 17044, nulls=False)
    return is_subset(left, right) and is_subset(right, left)


def is_subset(a, b):
    left, right = array(a, 17046, nulls=False), array(b, 17042, nulls=False)
    return all(any(equal(value, other) for other in right) for value in left)


def every(value):
    return all(truthy(element) for element in array(value, 17040, nulls=False))


def any_of(value):
    return any(truthy(element) for element in array(value, 17041, nulls=False))


def merged(a, b):
    result = {}
    for value in (a, b):
        if is_nullish(value):
            continue
        if not isinstance(value, dict):
            raise Failure(40400)
        result.update(value)
    return result


def rows(name, function, table, family="array/"):
    cases = []
    for row in table:
        given, operands = bind(*row)
        cases.append((title(*row), {name: operands}, given, missing(call(function, *row))))
    return family + name[1:], cases


def missing(value):
    return "missing" if value is MISSING else value


def named(name, function, keys, table):
    cases = []
    for row in table:
        given, operands = bind(*row)
        cases.append((title(*row), {name: dict(zip(keys, operands))}, given, missing(call(function, *row))))
    return "array/" + name[1:], cases


def tables():
    numbers = [I32(0), I32(1), I32(2), I32(3), I32(-1), I32(-3), I32(-4), 1.0, I64(1), Dec("1")]
    odd = [1.5, NAN_, "1", None, MISSING]
    five = [I32(0), I32(10), "x", None, [I32(4)]]
    yield rows("$arrayElemAt", element_at, [(five[:3], place) for place in numbers + odd] + [(value, I32(0)) for value in SCALARS] + [([], I32(0)), (five, I32(4))])
    for name, last in (("$first", False), ("$last", True)):
        cases = []
        for value in LISTS + SCALARS:
            given = {"a": value} if value is not MISSING else {}
            cases.append((title(value), {name: "$a"}, given, missing(call(end(last), value))))
        yield "array/" + name[1:], cases
    yield rows("$slice", slice_of, [(five, count) for count in numbers + odd] + [(five, start, count) for start in (I32(0), I32(2), I32(9), I32(-2), I32(-9), 1.0)
                                                                                 for count in (I32(1), I32(3), I32(99))]
               + [(five, I32(0), I32(0)), (five, I32(0), I32(-1)), (five, I32(0), None), (five, I32(0), "1"), (five, I32(0), 1.5), ([], I32(1))] + [(value, I32(1)) for value in SCALARS])
    yield rows("$range", span, [(I32(0), I32(5)), (I32(5), I32(0)), (I32(0), I32(5), I32(2)), (I32(5), I32(0), I32(-2)), (I32(0), I32(5), I32(-1)), (I32(0), I32(0)), (I32(-3), I32(3)),
                                (I32(0), I32(5), I32(0)), (I32(0), I32(10), I32(3)), (I64(1), 4.0, Dec("1")), (0.5, I32(3)), (I32(0), 2.5), (I32(0), I32(3), 0.5), ("0", I32(3)),
                                (I32(0), None), (I32(0), I32(3), "1"), (I64(1 << 33), I32(3)), (I32(2147483645), I32(2147483647)), (MISSING, I32(3))])
    for name, function in (("$reverseArray", reverse), ("$size", size), ("$isArray", lambda value: isinstance(value, list)), ("$arrayToObject", to_object),
                           ("$objectToArray", from_object), ("$allElementsTrue", every), ("$anyElementTrue", any_of)):
        table = LISTS + SCALARS
        if name == "$arrayToObject":
            table = table + [[["a", I32(1)], ["b", I32(2)]], [{"k": "a", "v": I32(1)}], [{"k": "a", "v": I32(1)}, {"k": "a", "v": I32(2)}], [["a", I32(1)], {"k": "b", "v": I32(2)}],
                             [{"k": "a", "v": I32(1)}, ["b", I32(2)]], [["a"]], [[I32(1), I32(2)]], [{"k": I32(1), "v": I32(2)}], [{"k": "a"}], [{"k": "a", "x": I32(1)}],
                             [{"v": I32(1), "k": "a"}], [["a", None]], [["", I32(1)]]]
        if name == "$objectToArray":
            table = table + [{}, {"a": None, "b": [I32(1)]}, {"a.b": I32(1)}, {"": I32(1)}]
        if name in ("$allElementsTrue", "$anyElementTrue"):
            table = table + [[True, False], [I32(0)], [0.0, Dec("0")], [[]], ["", {}], [NAN_], [False, None]]
        cases = []
        for value in table:
            given = {"a": value} if value is not MISSING else {}
            cases.append((title(value), {name: ["$a"]}, given, call(function, value)))
        yield "array/" + name[1:], cases
    yield rows("$in", contains, [(value, LISTS[5] + [None, [I32(1)], {"x": I32(1)}]) for value in (I32(1), 1.0, I64(1), Dec("1"), "1", "2", None, MISSING, [I32(1)], [1.0], {"x": 1.0}, True)]
               + [(I32(1), value) for value in SCALARS + [[]]])
    yield rows("$indexOfArray", index_of, [(LISTS[2] + [I32(1)], wanted) for wanted in (I32(1), 2.0, I32(9), "1", None)]
               + [(LISTS[2] + [I32(1)], I32(1), I32(start)) for start in (0, 1, 2, 3, 4, 9)]
               + [(LISTS[2] + [I32(1)], I32(1), I32(start), I32(stop)) for start, stop in ((0, 1), (0, 2), (2, 4), (3, 2), (2, 99))]
               + [(LISTS[2], I32(1), I32(-1)), (LISTS[2], I32(1), "0"), (LISTS[2], I32(1), 0.5), ([], I32(1)), ([None], None)] + [(value, I32(1)) for value in SCALARS])
    yield rows("$concatArrays", concat, [(a, b) for a in LISTS[:4] + SCALARS[:3] for b in LISTS[1:4] + [None, "x"]])
    for name, function in (("$firstN", some_of(False)), ("$lastN", some_of(True)), ("$maxN", extremes(True)), ("$minN", extremes(False))):
        yield named(name, function, ["input", "n"], [(value, count) for value in LISTS[:5] for count in (I32(1), I32(2), I64(9), 2.0)]
                    + [([I32(1)], I32(0)), ([I32(1)], I32(-1)), ([I32(1)], 1.5), ([I32(1)], "1"), (None, I32(1)), (MISSING, I32(1)), (I32(1), I32(1))])
    cases = []
    for inputs in ([[I32(1), I32(2)], ["a"]], [[], [I32(1)]], [[I32(1)], None], [[I32(1)], "x"], [[I32(1)], [I32(2)], [I32(3)]], [[[I32(1)]], [{}]]):
        cases.append((title(inputs), {"$zip": {"inputs": [{"$literal": value} for value in inputs]}}, {}, call(zipped, inputs)))
        cases.append((title(inputs) + " longest", {"$zip": {"inputs": [{"$literal": value} for value in inputs], "useLongestLength": True}}, {}, call(zipped, inputs, True)))
    cases.append(("defaults", {"$zip": {"inputs": [[I32(1)], ["a", "b", "c"]], "useLongestLength": True, "defaults": [I32(0), "z"]}}, {},
                  zipped([[I32(1)], ["a", "b", "c"]], True, [I32(0), "z"])))
    yield "array/zip", cases
    pairs = [(a, b) for a in ([], [I32(1)], [I32(1), 1.0, I32(2)], ["a", "b", "a"], [None], [[I32(1)], I32(1)]) for b in ([], [1.0], ["b", "c"], [None, I32(2)], [[1.0]])]
    pairs += [(value, [I32(1)]) for value in SCALARS] + [([I32(1)], value) for value in SCALARS]
    yield rows("$setDifference", difference, pairs, "set/")
    yield rows("$setEquals", equals, pairs, "set/")
    yield rows("$setIsSubset", is_subset, pairs, "set/")

    def union(a, b):
        if is_nullish(a):
            return None
        left = array(a, 17043)
        if is_nullish(b):
            return None
        return sort(distinct(left + array(b, 17043)))

    def intersection(a, b):
        if is_nullish(a):
            return None
        left = array(a, 17047)
        if is_nullish(b):
            return None
        right = array(b, 17047)
        return sort(distinct([value for value in left if any(equal(value, other) for other in right)]))
    # Which of two equal numbers of different types stays isn't documented, so these have none.
    clean = [(a, b) for a, b in pairs if not any(isinstance(v, float) or isinstance(v, list) for side in (a, b) if isinstance(side, list) for v in side)]
    yield rows("$setUnion", union, clean, "set/")
    yield rows("$setIntersection", intersection, clean, "set/")
    documents = [{}, {"a": I32(1)}, {"b": I32(2), "a": I32(3)}, {"a": None}, {"a": {"x": I32(1)}}, None, MISSING, I32(1), "x", [I32(1)]]
    yield rows("$mergeObjects", merged, [(a, b) for a in documents for b in documents], "object/")
    cases = []
    for value in LISTS + [None, MISSING]:
        given = {"a": value} if value is not MISSING else {}
        for direction in (1, -1):
            expected = None if is_nullish(value) else sort(value, direction < 0)
            if value is not MISSING and value is not None and any(equal(x, y) and ejson(x) != ejson(y) for x in value for y in value):
                continue
            cases.append((title(value) + " %d" % direction, {"$sortArray": {"input": "$a", "sortBy": I32(direction)}}, given, expected))
    cases += [(title(value), {"$sortArray": {"input": "$a", "sortBy": I32(1)}}, {"a": value}, {"error": 2942504}) for value in (I32(5), "x", {"x": I32(1)})]
    cases += [(title(value), {"$sortArray": {"input": "$a", "sortBy": value}}, {"a": []}, {"error": 2942507}) for value in (I32(2), I32(0))]
    yield "array/sortArray", cases


NAN_ = float("nan")
