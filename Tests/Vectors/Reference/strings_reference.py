"""Operators of strings: https://www.mongodb.com/docs/manual/reference/operator/aggregation-string/."""

import re

from matching import Failure
from values import *

TEXTS = ["", "a", "abc", "abcabc", "Hello World", "caf\u00e9", "\u65e5\u672c\u8a9e", "\U0001f600x", "  pad\t", "a\u0000b", "\u00e9\u0301", "AbC-9"]
WRONG = [I32(5), True, {"x": I32(1)}, [I32(1)]]


def call(function, *arguments):
    try:
        result = function(*arguments)
    except Failure as failure:
        return {"error": failure.code}
    return result


def bind(*values):
    """The given document and the operands that read it."""
    given, operands = {}, []
    for name, value in zip("abcdef", values):
        if value is not MISSING:
            given[name] = value
        operands.append("$" + name)
    return given, operands


def title(*values):
    return ", ".join(repr(value) if value is MISSING else dump(value) for value in values)


def concat(*values):
    result = ""
    for value in values:
        if is_nullish(value):
            return None
        if not isinstance(value, str):
            raise Failure(16702)
        result += value
    return result


def length(in_bytes):
    def apply(value):
        if not isinstance(value, str):
            raise Failure(34473 if in_bytes else 34471)
        return I32(len(value.encode()) if in_bytes else len(value))
    return apply


def index_of(in_bytes):
    def apply(text, part, *bounds):
        if is_nullish(text):
            return None
        if not isinstance(text, str):
            raise Failure(40091 if in_bytes else 40093)
        if not isinstance(part, str):
            raise Failure(40092 if in_bytes else 40094)
        units, wanted = (text.encode(), part.encode()) if in_bytes else (text, part)
        for bound in bounds:
            if not is_number(bound) or exact(bound) != int(exact(bound)):
                raise Failure(40096)
            if bound < 0:
                raise Failure(40097)
        start = int(bounds[0]) if bounds else 0
        end = min(int(bounds[1]), len(units)) if len(bounds) > 1 else len(units)
        if start > len(units) or start > end:
            return I32(-1)
        return I32(units.find(wanted, start, end))
    return apply


def split(text, separator):
    if is_nullish(text) or is_nullish(separator):
        return None
    if not isinstance(text, str):
        raise Failure(40085)
    if not isinstance(separator, str):
        raise Failure(40086)
    if not separator:
        raise Failure(40087)
    return text.split(separator)


def substr_cp(text, start, count):
    if text is MISSING or text is None:
        text = ""
    if not isinstance(text, str):
        raise Failure(16007)
    if not is_number(start):
        raise Failure(34450)
    if not is_number(count):
        raise Failure(34452)
    if count < 0:
        raise Failure(34454)
    if start < 0:
        raise Failure(34455)
    return text[int(start):int(start) + int(count)]


def substr_bytes(text, start, count):
    if text is None or text is MISSING:
        text = ""
    if not isinstance(text, str):
        raise Failure(16007)
    if not is_number(start):
        raise Failure(16034)
    if not is_number(count):
        raise Failure(16035)
    data = text.encode()
    if start < 0:
        raise Failure(50752)
    lower = min(int(start), len(data))
    upper = len(data) if count < 0 else min(len(data), lower + int(count))
    if lower < len(data) and data[lower] & 0xC0 == 0x80:
        raise Failure(28656)
    if upper < len(data) and data[upper] & 0xC0 == 0x80:
        raise Failure(28657)
    return data[lower:upper].decode()


def to_text(value):
    if is_nullish(value):
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, (I32, I64)):
        return str(int(value))
    raise Failure(16007)


def ascii_map(change):
    return lambda value: "".join(change(letter) if letter.isascii() else letter for letter in to_text(value))


def compare_case(a, b):
    x, y = ascii_map(str.upper)(a), ascii_map(str.upper)(b)
    return I32(sign(x.encode(), y.encode()))


SPACE = "\0 \t\n\x0b\x0c\r\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"


def trim(left, right):
    def apply(text, characters=SPACE):
        if is_nullish(text):
            return None
        if not isinstance(text, str):
            raise Failure(50699)
        if is_nullish(characters):
            return None
        if not isinstance(characters, str):
            raise Failure(50700)
        if not characters:
            return text
        if left:
            text = text.lstrip(characters)
        return text.rstrip(characters) if right else text
    return apply


def replace(everywhere):
    codes = (51746, 51745, 51744)

    def apply(text, find, replacement):
        nulls = [is_nullish(value) for value in (text, find, replacement)]
        for value, null, wrong in zip((text, find, replacement), nulls, codes):
            if not null and not isinstance(value, str):
                raise Failure(wrong)
        if any(nulls):
            return None
        return text.replace(find, replacement) if everywhere else text.replace(find, replacement, 1)
    return apply


def match_of(match):
    return {"match": match.group(0), "idx": I32(match.start()), "captures": [group for group in match.groups()]}


def regexes(kind):
    def apply(text, pattern, options=""):
        if is_nullish(text) or is_nullish(pattern):
            return {"$regexMatch": False, "$regexFind": None, "$regexFindAll": []}[kind]
        if not isinstance(text, str):
            raise Failure(51104)
        if not isinstance(pattern, str):
            raise Failure(51105)
        flags = sum({"i": re.I, "m": re.M, "s": re.S, "x": re.X}[option] for option in options)
        compiled = re.compile(pattern, flags)
        if kind == "$regexMatch":
            return compiled.search(text) is not None
        if kind == "$regexFind":
            found = compiled.search(text)
            return match_of(found) if found else None
        return [match_of(found) for found in compiled.finditer(text)]
    return apply


def positional(name, function, rows):
    cases = []
    for row in rows:
        given, operands = bind(*row)
        cases.append((title(*row), {name: operands}, given, call(function, *row)))
    return "string/" + name[1:], cases


def named(name, function, keys, rows):
    cases = []
    for row in rows:
        given, operands = bind(*row)
        cases.append((title(*row), {name: dict(zip(keys, operands))}, given, call(function, *row)))
    return "string/" + name[1:], cases


def tables():
    singles = [(text,) for text in TEXTS] + [(None,), (MISSING,)] + [(value,) for value in WRONG]
    yield positional("$concat", concat, [(a, b) for a in ("", "x", "\u00e9", None, MISSING, I32(1)) for b in ("", "y", None, True)] + [("a", "b", "c", "d")])
    yield positional("$strLenCP", length(False), singles)
    yield positional("$strLenBytes", length(True), singles)
    for name, in_bytes in (("$indexOfCP", False), ("$indexOfBytes", True)):
        rows = [(text, part) for text in TEXTS for part in ("", "a", "c", "\u00e9", "World")]
        rows += [("abcabc", "c", I32(start)) for start in (0, 2, 3, 5, 6, 7)]
        rows += [("abcabc", "c", I32(start), I32(end)) for start, end in ((0, 2), (0, 3), (3, 6), (3, 5), (5, 3), (0, 99))]
        rows += [("caf\u00e9s", "s", I32(4)), ("caf\u00e9s", "s", I32(5)), ("abc", "c", 2.0), ("abc", "c", 1.5), ("abc", "c", I32(-1)), ("abc", "c", "0")]
        rows += [(None, "a"), (MISSING, "a"), (I32(1), "a"), ("a", I32(1)), ("a", None), ("a", MISSING)]
        yield positional(name, index_of(in_bytes), rows)
    yield positional("$split", split, [(text, part) for text in ("", "a,b,c", ",a,", "abc", "a,,b", "\u00e9,\u00e9") for part in (",", "abc", ",,", "\u00e9")]
                     + [("a", ""), (None, ","), (MISSING, ","), ("a", None), (I32(1), ","), ("a", I32(1))])
    ranges = [(I32(0), I32(1)), (I32(1), I32(2)), (I32(0), I32(99)), (I32(5), I32(1)), (I32(0), I32(0)), (1.0, I64(1))]
    yield positional("$substrCP", substr_cp, [(text, *part) for text in TEXTS for part in ranges]
                     + [("abc", I32(-1), I32(1)), ("abc", I32(0), I32(-1)), ("abc", "0", I32(1)), ("abc", I32(0), "1"), (None, I32(0), I32(1)), (MISSING, I32(0), I32(1))])
    yield positional("$substrBytes", substr_bytes, [(text, *part) for text in TEXTS for part in ranges + [(I32(1), I32(-1))]]
                     + [("abc", I32(-1), I32(1)), ("abc", "0", I32(1)), ("abc", I32(0), "1"), (None, I32(0), I32(1)), (MISSING, I32(0), I32(1))])
    yield positional("$toLower", ascii_map(str.lower), [(text,) for text in TEXTS] + [(None,), (MISSING,), (I32(5),), (I64(7),), (True,), ({},), ([],)])
    yield positional("$toUpper", ascii_map(str.upper), [(text,) for text in TEXTS] + [(None,), (MISSING,), (I32(5),), (I64(7),), (True,), ({},), ([],)])
    yield positional("$strcasecmp", compare_case, [(a, b) for a in ("", "a", "A", "abc", "B", "\u00e9", None, I32(5)) for b in ("a", "ABC", "\u00c9", "5", MISSING)])
    for name, left, right in (("$trim", True, True), ("$ltrim", True, False), ("$rtrim", False, True)):
        rows = [(text,) for text in TEXTS + ["\u00a0x\u2003", "\u200bx", "\n\na b\n"]] + [(None,), (MISSING,), (I32(1),)]
        rows += [("xxabcxx", "x"), ("abcab", "ab"), ("\u00e9a\u00e9", "\u00e9"), ("aaa", "a"), (" a ", ""), ("abc", None), ("abc", MISSING), ("abc", I32(1)), (None, "x")]
        yield named(name, trim(left, right), ["input", "chars"], rows)
    for name, everywhere in (("$replaceOne", False), ("$replaceAll", True)):
        rows = [(text, find, by) for text in ("abcabc", "aaa", "\u00e9\u00e9", "") for find in ("a", "abc", "\u00e9", "zz", "") for by in ("", "x", "aa")]
        rows += [(None, "a", "b"), ("a", None, "b"), ("a", "a", None), (MISSING, "a", "b"), (I32(1), "a", "b"), ("a", I32(1), "b"), ("a", "a", I32(1)),
                 (None, I32(1), "b")]
        yield named(name, replace(everywhere), ["input", "find", "replacement"], rows)
    for name in ("$regexMatch", "$regexFind", "$regexFindAll"):
        rows = [(text, pattern) for text in ("abc abd", "caf\u00e9 au lait", "", "line\nline", "aaa") for pattern in ("ab(c|d)", "a(x)?", "^l", "[aeiou]", "\u00e9", "(b)(c)", "$", "a+")]
        rows += [("ABC", "b", "i"), ("a\nb", "^b", "m"), ("a\nb", "a.b", "s"), ("ab", "a b", "x"), (None, "a"), (MISSING, "a"), ("a", None), (I32(1), "a"), ("a", I32(1))]
        yield named(name, regexes(name), ["input", "regex", "options"], rows)
