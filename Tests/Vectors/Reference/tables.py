"""The tables: operator by type, with the edges of each type."""

import strings_reference
import dates_reference
import arrays_reference
import updates_reference
import conversion_reference
import stages_reference
from arithmetic import *
from matching import *
from values import *

NAN, INF = float("nan"), float("inf")

NUMBERS = [
    I32(0), I32(7), I32(-3), I32(2147483647), I32(-2147483648), I64(5), I64(9223372036854775807), I64(-9223372036854775808),
    0.5, -0.0, 1e300, NAN, INF, Dec("2.50"), Dec("-1E+3"), Dec("NaN"),
]
OTHERS = [MISSING, None, "text", True, Date(1000), [I32(1)], {"x": I32(1)}]

# One of each type and of each edge, and arrays that hold them.
VALUES = [
    MISSING, None, UNDEFINED, MIN, MAX, I32(0), I32(1), I32(-1), I32(2147483647), I64(1), I64(9007199254740993), 1.0, 1.5, -0.0,
    NAN, INF, -INF, Dec("1"), Dec("1.5"), Dec("NaN"), Dec("9007199254740993"), "", "a", "A", "abc", "\u00e9", "a\u0000b", symbol("a"),
    {}, {"x": I32(1)}, {"x": 1.0}, {"x": I32(1), "y": I32(2)}, {"y": I32(2), "x": I32(1)}, {"a": I32(2)}, {"x": None}, [], [None], [I32(1)],
    [I32(1), I32(2)], [[I32(1)]], [[]], ["a"], [{"x": I32(1)}], [I32(3), "a", None], binary(b""), binary(b"a"), binary(b"b"),
    binary(b"a", 5), binary(b"0123456789abcdef", 4), oid(1), oid(2), True, False, Date(0), Date(1), Date(-1), timestamp(1, 1), timestamp(1, 2),
    timestamp(2, 0), regex("a"), regex("a", "i"), code("f()"),
]


def fixture(values, name="a"):
    return [{"_id": I32(number), name: value} if value is not MISSING else {"_id": I32(number)}
            for number, value in enumerate(values)]


def case(name, operation, expected, given=None):
    parts = ['"name":%s' % dump(name)]
    if given is not None:
        parts.append('"given":%s' % dump(given))
    parts.append('"operation":%s' % (operation if isinstance(operation, str) else dump(operation)))
    parts.append('"expected":%s' % dump(expected))
    return "{" + ",".join(parts) + "}"


def short(value):
    return repr(value) if value is MISSING else dump(value) if not isinstance(value, Tagged) else value.kind


def outcome(function, *arguments):
    try:
        result = function(*arguments)
    except Failure as failure:
        return {"error": failure.code}
    return "missing" if result is MISSING else result


def found(documents, query):
    return [document["_id"] for document in documents if matches(document, query)]


def expressions(path, cases):
    """Cases of (name, expression, given, expected)."""
    return "expression/" + path, {"exact": "true"}, [
        case(name, {"expression": expression}, expected, given) for name, expression, given, expected in cases]


def binary_table(name, function, left, right):
    cases = []
    for a in left:
        for b in right:
            given = {key: value for key, value in (("a", a), ("b", b)) if value is not MISSING}
            cases.append(("%s, %s" % (short(a), short(b)), {"$" + name: ["$a", "$b"]}, given, outcome(function, a, b)))
    return expressions(name, cases)


def unary_table(name, function, values, *more):
    cases = []
    for value in values:
        given = {"a": value} if value is not MISSING else {}
        for rest in more or [()]:
            operand = ["$a", *rest] if rest else {"$literal": 0} and "$a"
            title = short(value) + "".join(", " + short(part) for part in rest)
            cases.append((title, {"$" + name: operand}, given, outcome(function, value, *rest)))
    return expressions(name, cases)


# Filters.

def filters():
    documents = fixture(VALUES)
    header = {"given": "[\n  " + ",\n  ".join(dump(document) for document in documents) + "]"}

    def table(name, queries):
        return "filter/" + name, header, [case(title, {"filter": query}, found(documents, query)) for title, query in queries]

    operands = [value for value in VALUES if value is not MISSING and value is not UNDEFINED]
    plain = [value for value in operands if type_name(value) != "regex"]
    for name in ("eq", "gt", "gte", "lt", "lte", "ne"):
        yield table(name, [(short(value), {"a": {"$" + name: value}}) for value in plain])
    yield table("in", [("%s or %s" % (short(a), short(b)), {"a": {"$in": [a, b]}}) for a, b in zip(operands, operands[7:] + operands[:7])]
                + [("nothing", {"a": {"$in": []}}), ("many", {"a": {"$in": plain}})])
    yield table("nin", [("%s or %s" % (short(a), short(b)), {"a": {"$nin": [a, b]}}) for a, b in zip(operands[::2], operands[9:] + operands[:9])]
                + [("nothing", {"a": {"$nin": []}})])
    kinds = [kind for kind in CODES if kind != "dbPointer"]
    yield table("type", [(kind, {"a": {"$type": kind}}) for kind in kinds + ["number"]]
                + [("code %d" % CODES[kind], {"a": {"$type": I32(CODES[kind])}}) for kind in kinds]
                + [("code as a double", {"a": {"$type": 2.0}}), ("several", {"a": {"$type": ["string", I32(8), "number"]}}),
                   ("missing field", {"b": {"$type": "null"}})])
    yield table("exists", [(short(value), {"a": {"$exists": value}}) for value in
                           (True, False, I32(1), I32(0), None, "x", 0.0, Dec("0"), I64(2))])
    yield table("size", [(str(size), {"a": {"$size": I32(size)}}) for size in (0, 1, 2, 3, 4)]
                + [("whole double", {"a": {"$size": 1.0}}), ("long", {"a": {"$size": I64(2)}})])
    yield table("not", [("%s %s" % (name, short(value)), {"a": {"$not": {"$" + name: value}}}) for name in ("eq", "gt", "lte")
                        for value in (I32(1), "a", None, [I32(1)], NAN, True, MIN)]
                + [("regex", {"a": {"$not": regex("^a")}}), ("exists", {"a": {"$not": {"$exists": True}}}),
                   ("size", {"a": {"$not": {"$size": I32(1)}}}), ("type", {"a": {"$not": {"$type": "number"}}}),
                   ("two operators", {"a": {"$not": {"$gt": I32(0), "$lt": I32(2)}}}), ("twice", {"a": {"$not": {"$not": {"$eq": I32(1)}}}})])
    yield table("all", [(short(value), {"a": {"$all": value}}) for value in (
        [], [I32(1)], [I32(1), I32(2)], [I32(2), I32(1)], [I32(3)], ["a"], [None], [[I32(1)]], [I32(1), I32(1)], ["a", I32(3)], [I32(1), I32(7)],
        [{"x": I32(1)}], [NAN], [regex("^a")], [I32(3), None], [True], [[]])])
    yield table("elemMatch", [(short(value), {"a": {"$elemMatch": value}}) for value in (
        {"$gt": I32(0)}, {"$gte": I32(1), "$lt": I32(2)}, {"$eq": "a"}, {"$ne": I32(1)}, {"$in": [I32(3), "a"]}, {"$nin": [I32(1)]}, {"x": I32(1)},
        {"x": {"$gt": I32(5)}}, {"$exists": True}, {"$type": "array"}, {"$size": I32(1)}, {"$not": {"$gt": I32(1)}}, {"$eq": None}, {"0": I32(1)},
        {"$elemMatch": {"$eq": I32(1)}}, {"x": {"$exists": False}}, {"$or": [{"x": I32(1)}, {"0": I32(1)}]}, {"$gt": I32(0), "$type": "int"})])
    yield table("logical", [
        ("and", {"$and": [{"a": {"$gt": I32(0)}}, {"a": {"$lt": I32(2)}}]}), ("or", {"$or": [{"a": "a"}, {"a": I32(1)}]}),
        ("nor", {"$nor": [{"a": "a"}, {"a": {"$type": "number"}}]}), ("implicit and", {"a": {"$gte": I32(1)}, "_id": {"$lt": I32(12)}}),
        ("and in or", {"$or": [{"$and": [{"a": {"$gt": I32(0)}}, {"_id": {"$gt": I32(8)}}]}, {"a": None}]}),
        ("or in and", {"$and": [{"$or": [{"a": I32(1)}, {"a": "a"}]}, {"$or": [{"a": {"$type": "array"}}, {"_id": I32(6)}]}]}),
        ("nor of nothing that is there", {"$nor": [{"b": {"$exists": True}}]}), ("one branch", {"$or": [{"a": True}]}),
        ("empty filter", {}), ("and of empty", {"$and": [{}]}), ("nor of empty", {"$nor": [{}]}), ("same field twice", {"$and": [{"a": I32(1)}, {"a": I32(2)}]}),
        ("range on a field", {"a": {"$gt": I32(0), "$lte": 1.5}}), ("in and exists", {"a": {"$in": [None, I32(1)], "$exists": True}}),
        ("ne null", {"a": {"$ne": None}}), ("eq of missing field", {"b": None}), ("ne of missing field", {"b": {"$ne": I32(1)}}),
        ("comment", {"a": I32(1), "$comment": "why"}), ("nor in nor", {"$nor": [{"$nor": [{"a": I32(1)}]}]})])
    numbers = fixture([I32(0), I32(1), I32(4), I32(5), I32(-4), I32(-5), I64(4), I64(1 << 40), 4.0, 4.9, -4.9, NAN, INF, 1e300, Dec("4"), Dec("4.9"),
                       Dec("Infinity"), None, "4", [I32(1), I32(4)], [], MISSING, True, Date(4)])
    yield ("filter/mod", {"given": "[\n  " + ",\n  ".join(dump(document) for document in numbers) + "]"}, [
        case("%s, %s" % (short(d), short(r)), {"filter": {"a": {"$mod": [d, r]}}}, found(numbers, {"a": {"$mod": [d, r]}}))
        for d in (I32(4), I32(-4), I64(2), 4.0, 4.9, I32(1), I64(-1)) for r in (I32(0), I32(1), I32(-1), 0.5, I64(3))])
    patterns = fixture([I32(0), I32(1), I32(20), I32(54), I32(-1), I32(-54), I64(1 << 40), I64(-1 << 63), 54.0, 54.5, -1.0, NAN, 1e300, Dec("54"),
                        Dec("54.5"), binary(bytes([0x36])), binary(bytes([0x36, 1])), binary(b""), "54", None, [I32(54), I32(0)], MISSING, True])
    masks = [I32(0), I32(1), I32(50), I64(1 << 40), [], [I32(0)], [I32(1), I32(5)], [I32(40)], [I32(63)], [I32(200)]]
    for name in ("$bitsAllSet", "$bitsAllClear", "$bitsAnySet", "$bitsAnyClear"):
        yield ("filter/" + name[1:], {"given": "[\n  " + ",\n  ".join(dump(document) for document in patterns) + "]"}, [
            case(short(mask), {"filter": {"a": {name: mask}}}, found(patterns, {"a": {name: mask}})) for mask in masks])
    texts = fixture(["abc", "ABC", "xabc", "a\nabc", "", "a.c", "\u00e9t\u00e9", "\u00c9T\u00c9", symbol("abc"), regex("^a"), I32(1), None, ["abc", I32(1)],
                     [["abc"]], MISSING, {"x": "abc"}])
    yield ("filter/regex", {"given": "[\n  " + ",\n  ".join(dump(document) for document in texts) + "]"}, [
        case("/%s/%s" % (p, o), {"filter": {"a": regex(p, o)}}, found(texts, {"a": regex(p, o)}))
        for p, o in (("^a", ""), ("^a", "i"), ("c$", ""), ("^abc$", "m"), ("a.c", ""), ("a.a", "s"), ("a.a", ""), ("a\\.c", ""), ("", ""), ("\u00e9", ""),
                     ("\u00e9", "i"), ("a b c", "x"), ("^(a|x)", ""), ("[A-Z]{3}", ""), ("^abc", "im"), ("(?i)abc", ""), ("b+", ""), ("^$", ""), ("\\d", ""))]
        + [case("operator with options", {"filter": {"a": {"$regex": "^A", "$options": "i"}}}, found(texts, {"a": regex("^A", "i")})),
           case("operator", {"filter": {"a": {"$regex": "^A"}}}, found(texts, {"a": regex("^A")}))])
    yield paths()


def paths():
    nested = [
        {}, {"a": None}, {"a": I32(1)}, {"a": {}}, {"a": {"b": I32(1)}}, {"a": {"b": None}}, {"a": {"b": [I32(1), I32(2)]}}, {"a": [{"b": I32(1)}, {"b": I32(2)}]},
        {"a": [{"b": [I32(1), I32(2)]}]}, {"a": [I32(1), {"b": I32(2)}]}, {"a": []}, {"a": [{}]}, {"a": [[{"b": I32(1)}]]}, {"a": {"0": I32(1)}},
        {"a": [{"0": I32(1)}]}, {"a": [I32(5), I32(1)]}, {"a": [[I32(1), I32(2)]]}, {"a": [{"b": {"c": I32(1)}}]}, {"a": {"b": {"c": I32(1)}}},
        {"a": {"b": [{"c": I32(1)}, {"c": I32(2)}]}}, {"a": [{"b": [{"c": I32(1)}]}]}, {"a": [None]}, {"a.b": I32(1)}, {"a": [I32(1), [I32(2), {"b": I32(1)}]]},
        {"a": {"b": []}}, {"a": [{"b": None}, {"c": I32(1)}]},
    ]
    documents = [{"_id": I32(number), **document} for number, document in enumerate(nested)]
    cases = []
    for path in ("a", "a.b", "a.0", "a.0.b", "a.b.c", "a.1", "a.b.0", "a.0.0", "a.b.1.c", "a.1.1.b"):
        for wanted in (I32(1), None, {"$exists": True}, {"$exists": False}, {"$gt": I32(1)}, {"$ne": I32(1)}, {"$in": [I32(2), None]}, {"$type": "array"},
                       {"$size": I32(2)}, {"$elemMatch": {"$gte": I32(1)}}, {"$lte": None}, {"$not": {"$gte": I32(1)}}):
            query = {path: wanted}
            cases.append(case(dump(query), {"filter": query}, found(documents, query)))
    return "filter/paths", {"given": "[\n  " + ",\n  ".join(dump(document) for document in documents) + "]"}, cases


# Expressions.

def comparisons():
    values = [value for value in VALUES if not (isinstance(value, Tagged) and value.kind == "regex" and value.parts[1])]
    some = values[::2] + [MISSING, I32(1), 1.0, NAN]
    cases = []
    for a in some:
        for b in some:
            given = {key: value for key, value in (("a", a), ("b", b)) if value is not MISSING}
            # A missing value equals only a missing or undefined one, and sorts before null.
            cases.append(("%s, %s" % (short(a), short(b)), {"$cmp": ["$a", "$b"]}, given, I32(compare(a, b))))
    yield expressions("cmp", cases)
    for name, test in (("eq", lambda o: o == 0), ("ne", lambda o: o != 0), ("gt", lambda o: o > 0), ("gte", lambda o: o >= 0),
                       ("lt", lambda o: o < 0), ("lte", lambda o: o <= 0)):
        cases = []
        for a, b in zip(VALUES, VALUES[3:] + VALUES[:3]):
            given = {key: value for key, value in (("a", a), ("b", b)) if value is not MISSING}
            cases.append(("%s, %s" % (short(a), short(b)), {"$" + name: ["$a", "$b"]}, given, test(compare(a, b))))
        yield expressions(name, cases)


def order():
    documents = fixture(VALUES)

    def key_of(value, ascending):
        """An array counts as its least element, or its greatest where the order descends; an empty one sorts before null."""
        if isinstance(value, list):
            if not value:
                return UNDEFINED
            best = value[0]
            for element in value:
                if compare(element, best) * (1 if ascending else -1) < 0:
                    best = element
            return best
        return None if value is MISSING else value

    import functools
    cases = []
    for ascending in (True, False):
        for picked in (documents, documents[::2], documents[1::2], documents[::3], documents[2::3], documents[::5]):
            ranked = sorted(picked, key=functools.cmp_to_key(lambda a, b: (1 if ascending else -1) * compare(
                key_of(a.get("a", MISSING), ascending), key_of(b.get("a", MISSING), ascending))))
            cases.append(case("%s, %d documents" % ("ascending" if ascending else "descending", len(picked)),
                              {"sort": {"a": I32(1 if ascending else -1)}}, [document["_id"] for document in ranked], picked))
    return "sort/types", {}, cases


def truth():
    cases = []
    for value in VALUES:
        given = {"a": value} if value is not MISSING else {}
        cases.append((short(value) + " as a condition", {"$cond": ["$a", "yes", "no"]}, given, "yes" if truthy(value) else "no"))
        cases.append(("not " + short(value), {"$not": ["$a"]}, given, not truthy(value)))
        cases.append((short(value) + " or a default", {"$ifNull": ["$a", "default"]}, given, "default" if is_nullish(value) else value))
    for a in (True, False, None, I32(0), I32(3), "", MISSING):
        for b in (True, False, MISSING, NAN):
            given = {key: value for key, value in (("a", a), ("b", b)) if value is not MISSING}
            cases.append(("%s and %s" % (short(a), short(b)), {"$and": ["$a", "$b"]}, given, truthy(a) and truthy(b)))
            cases.append(("%s or %s" % (short(a), short(b)), {"$or": ["$a", "$b"]}, given, truthy(a) or truthy(b)))
    return expressions("truth", cases)


def real(function, code=28765, domain=lambda x: True, refused=None):
    def apply(value):
        if is_nullish(value):
            return None
        if not is_number(value):
            raise Failure(code)
        x = float(exact(value))
        if not math.isnan(x) and not domain(x):
            raise Failure(refused)
        try:
            return function(x)
        except OverflowError:
            return INF
    return apply


def unaries():
    def number(code, body):
        def apply(value):
            if is_nullish(value):
                return None
            if not is_number(value):
                raise Failure(code)
            return body(value)
        return apply

    def absolute(value):
        if isinstance(value, Dec):
            return Dec(value.value.copy_abs())
        if isinstance(value, float):
            return abs(value)
        if isinstance(value, I64):
            if int(value) == -(1 << 63):
                raise Failure(28680)
            return I64(abs(value))
        return integer(abs(int(value)), (I32,))

    def towards(mode, function):
        def apply(value):
            if isinstance(value, (I32, I64)):
                return value
            if isinstance(value, float):
                return math.copysign(float(function(value)), value) if math.isfinite(value) else value
            if not value.value.is_finite() or value.value.as_tuple().exponent >= 0:
                return value
            return Dec(value.value.quantize(decimal.Decimal(1), rounding=mode, context=DECIMAL))
        return apply

    more = [1.5, -1.5, 2.5, -0.4, Dec("-0.40"), Dec("7.5"), Dec("Infinity")]
    everything = NUMBERS + more + OTHERS
    yield unary_table("abs", number(28765, absolute), everything)
    yield unary_table("ceil", number(28765, towards(decimal.ROUND_CEILING, math.ceil)), everything)
    yield unary_table("floor", number(28765, towards(decimal.ROUND_FLOOR, math.floor)), everything)
    places = [(I32(0),), (I32(1),), (I32(-1),), (I32(2),)]
    rounds = [I32(0), I32(5), I32(15), I32(25), I32(-15), I32(2147483647), I64(45), I64(9223372036854775807), 0.5, 1.5, 2.5, -2.5, 1.25, 1.35, 3.14159, 1234.5678,
              NAN, INF, Dec("2.5"), Dec("1.25"), Dec("-0.05"), Dec("1E+5"), Dec("123456789.987654321"), None, MISSING, "x", True]
    yield unary_table("round", lambda value, place: rounded(value, int(place), False), rounds, *places)
    yield unary_table("trunc", lambda value, place: rounded(value, int(place), True), rounds, *places)
    doubles = [I32(0), I32(1), I32(2), I64(10), 0.25, 1.0, -1.0, 100.0, NAN, None, MISSING, "x", True, Date(1), [I32(1)]]
    yield unary_table("sqrt", real(math.sqrt, domain=lambda x: x >= 0, refused=28714), doubles + [INF])
    yield unary_table("exp", real(math.exp), doubles + [INF, -INF, 1000.0])
    yield unary_table("ln", real(math.log, domain=lambda x: x > 0, refused=28766), doubles + [INF])
    yield unary_table("log10", real(math.log10, domain=lambda x: x > 0, refused=28761), doubles + [INF])
    periodic = dict(domain=math.isfinite, refused=50989)
    trig = [I32(0), I32(1), I64(-1), 0.5, -0.5, NAN, None, MISSING, "x", True]
    for name, function, options in (
        ("sin", math.sin, periodic), ("cos", math.cos, periodic), ("tan", math.tan, periodic), ("asin", math.asin, dict(domain=lambda x: -1 <= x <= 1, refused=50989)),
        ("acos", math.acos, dict(domain=lambda x: -1 <= x <= 1, refused=50989)), ("atan", math.atan, {}), ("sinh", math.sinh, {}), ("cosh", math.cosh, {}),
        ("tanh", math.tanh, {}), ("asinh", math.asinh, {}), ("acosh", math.acosh, dict(domain=lambda x: x >= 1, refused=50989)),
        ("atanh", lambda x: math.copysign(INF, x) if abs(x) == 1 else math.atanh(x), dict(domain=lambda x: -1 <= x <= 1, refused=50989)),
        ("degreesToRadians", lambda x: x * (math.pi / 180), {}), ("radiansToDegrees", lambda x: x * (180 / math.pi), {})):
        yield unary_table(name, real(function, **options), trig + [INF, 2.0, -3.5])

    def bit_not(value):
        if is_nullish(value):
            return None
        if not isinstance(value, (I32, I64)):
            raise Failure(14)
        return type(value)(~int(value))
    yield unary_table("bitNot", bit_not, [I32(0), I32(7), I32(-1), I32(2147483647), I64(5), I64(-9223372036854775808), None, MISSING, 1.0, Dec("1"), "x", True])


def bitwise():
    for name, function in (("bitAnd", lambda a, b: a & b), ("bitOr", lambda a, b: a | b), ("bitXor", lambda a, b: a ^ b)):
        def apply(a, b, function=function):
            for value in (a, b):
                if is_nullish(value):
                    return None
                if not isinstance(value, (I32, I64)):
                    raise Failure(14)
            result = function(int(a), int(b))
            return I64(result) if isinstance(a, I64) or isinstance(b, I64) else I32(result)
        some = [I32(0), I32(7), I32(-3), I64(5), I64(1 << 40), I64(-1), None, MISSING, 1.0, "x"]
        yield binary_table(name, apply, some, some[:7] + [2.5])


def everything():
    yield from filters()
    for name, function in (("add", add), ("subtract", subtract), ("multiply", multiply), ("divide", divide), ("mod", modulo)):
        yield binary_table(name, function, NUMBERS + OTHERS, [I32(0), I32(3), I32(-2147483648), I64(2), I64(9223372036854775807), 0.5, NAN, Dec("0.1"), None, MISSING,
                                                              "x", Date(5)])
    yield from comparisons()
    yield order()
    yield truth()
    yield from unaries()
    yield from bitwise()
    for module in (strings_reference, dates_reference, arrays_reference, conversion_reference):
        for path, cases in module.tables():
            yield expressions(path, cases)
    for path, header, cases in updates_reference.tables():
        yield path, header, [case(name, operation, expected, given) for name, operation, given, expected in cases]
    import bson_reference
    for path, header, cases in bson_reference.tables():
        yield path, header, [case(name, operation, expected, given) for name, operation, given, expected in cases]
    for path, header, cases in stages_reference.tables():
        yield path, header, [case(name, operation, expected, given) for name, operation, given, expected in cases]
