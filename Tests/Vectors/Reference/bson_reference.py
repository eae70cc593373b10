"""BSON and Extended JSON: the bytes and texts that pymongo's own codec gives for one document of each type and edge."""

import datetime
import json
import re

import bson
from bson import json_util
from bson.binary import Binary
from bson.code import Code
from bson.dbref import DBRef
from bson.decimal128 import Decimal128
from bson.int64 import Int64
from bson.max_key import MaxKey
from bson.min_key import MinKey
from bson.objectid import ObjectId
from bson.regex import Regex
from bson.timestamp import Timestamp

UTC = datetime.timezone.utc
VALUES = {
    "double": [0.0, -0.0, 1.0, 1.5, -2.25, 1e300, 5e-324, 1.7976931348623157e308, float("nan"), float("inf"), float("-inf"), 0.1, 123456789.125, 1e21, 1e-7],
    "string": ["", "a", "\u00e9\u65e5\U0001f600", "a\u0000b", "\"\\/\b\f\n\r\t", "\u2028\u2029\u007f\u0001", "x" * 300],
    "document": [{}, {"x": 1}, {"": 1}, {"a.b": 1, "$c": 2}, {"a": {"b": {"c": {}}}}],
    "array": [[], [1], [[], [[]]], [1, "x", None, {"y": 2}], list(range(12))],
    "binary": [Binary(b"", 0), Binary(b"abc", 0), Binary(b"\x00\xff", 0x80), Binary(b"abc", 2), Binary(b"0123456789abcdef", 3), Binary(b"0123456789abcdef", 4), Binary(b"0123456789abcdef", 5), Binary(b"x" * 40, 6)],
    "undefined, null, keys": [None, MinKey(), MaxKey()],
    "objectId": [ObjectId("000000000000000000000000"), ObjectId("5ab9cbe531c2ab715d42129a"), ObjectId("ffffffffffffffffffffffff")],
    "boolean": [True, False],
    "date": [datetime.datetime(1970, 1, 1, tzinfo=UTC), datetime.datetime(2018, 3, 3, 12, 0, 0, 123000, tzinfo=UTC), datetime.datetime(1969, 12, 31, 23, 59, 59, 999000, tzinfo=UTC), datetime.datetime(9999, 12, 31, 23, 59, 59, 999000, tzinfo=UTC),
             datetime.datetime(1, 1, 1, tzinfo=UTC), datetime.datetime(2000, 2, 29, tzinfo=UTC)],
    "regex": [Regex("", ""), Regex("a|b", "i"), Regex("^\\d+/\"$", "imsx")],
    "code": [Code("function() { return 1; }"), Code("f()", {"x": 1}), Code("", {})],
    "int32": [0, 1, -1, 2147483647, -2147483648],
    "int64": [Int64(0), Int64(1), Int64(-1), Int64(2147483648), Int64(9223372036854775807), Int64(-9223372036854775808), Int64(9007199254740993)],
    "timestamp": [Timestamp(0, 0), Timestamp(1, 2), Timestamp(4294967295, 4294967295)],
    "decimal": [Decimal128(text) for text in ("0", "-0", "0E+3", "1.0", "1.00", "-1.5E+300", "1E-6176", "9.999999999999999999999999999999999E+6144", "NaN", "Infinity", "-Infinity", "12345678901234567890", "0.000001", "1E+10", "0.00E-5")],
    "dbref": [DBRef("c", ObjectId("5ab9cbe531c2ab715d42129a")), DBRef("c", 1, "d")],
}

# Types that pymongo doesn't write any more, by hand from bsonspec.org: name, bytes, text.
DEPRECATED = [
    ("undefined", "08000000066100" + "00", '{"a":{"$undefined":true}}'), ("symbol", "0e0000000e61000200000078" + "0000", '{"a":{"$symbol":"x"}}'),
    ("dbPointer", "1a0000000c610002000000" + "6200" + "5ab9cbe531c2ab715d42129a" + "00", '{"a":{"$dbPointer":{"$ref":"b","$id":{"$oid":"5ab9cbe531c2ab715d42129a"}}}}'),
]

# Extended JSON v1 (strict mode) and other texts that exports hold, with the canonical text of the same document.
OLD_FORMS = [
    ('{"a":{"$date":1520078400123}}', '{"a":{"$date":{"$numberLong":"1520078400123"}}}'), ('{"a":{"$date":-1}}', '{"a":{"$date":{"$numberLong":"-1"}}}'),
    ('{"a":{"$date":"2018-03-03T12:00:00.000+0000"}}', '{"a":{"$date":{"$numberLong":"1520078400000"}}}'), ('{"a":{"$date":"2018-03-03T13:00:00.000+01:00"}}', '{"a":{"$date":{"$numberLong":"1520078400000"}}}'),
    ('{"a":{"$date":"2018-03-03T12:00:00Z"}}', '{"a":{"$date":{"$numberLong":"1520078400000"}}}'), ('{"a":{"$binary":"YWJj","$type":"00"}}', '{"a":{"$binary":{"base64":"YWJj","subType":"00"}}}'),
    ('{"a":{"$binary":"YWJj","$type":"80"}}', '{"a":{"$binary":{"base64":"YWJj","subType":"80"}}}'), ('{"a":{"$type":"00","$binary":"YWJj"}}', '{"a":{"$binary":{"base64":"YWJj","subType":"00"}}}'), ('{"a":{"$binary":"YWJj","$type":5}}', '{"a":{"$binary":{"base64":"YWJj","subType":"05"}}}'),
    ('{"a":{"$regex":"a|b","$options":"i"}}', '{"a":{"$regularExpression":{"pattern":"a|b","options":"i"}}}'), ('{"a":{"$options":"i","$regex":"a|b"}}', '{"a":{"$regularExpression":{"pattern":"a|b","options":"i"}}}'),
    ('{"a":{"$numberLong":"5"}}', '{"a":{"$numberLong":"5"}}'), ('{"a":{"$numberLong":5}}', '{"a":{"$numberLong":"5"}}'), ('{"a":{"$numberDouble":1.5}}', '{"a":{"$numberDouble":"1.5"}}'), ('{"a":{"$undefined":true}}', '{"a":{"$undefined":true}}'),
    ('{"a":{"$uuid":"00112233-4455-6677-8899-aabbccddeeff"}}', '{"a":{"$binary":{"base64":"ABEiM0RVZneImaq7zN3u/w==","subType":"04"}}}'), ('{"a":5}', '{"a":{"$numberInt":"5"}}'), ('{"a":2147483648}', '{"a":{"$numberLong":"2147483648"}}'), ('{"a":-2147483649}', '{"a":{"$numberLong":"-2147483649"}}'),
    ('{"a":9223372036854775808}', '{"a":{"$numberDouble":"9.223372036854776E+18"}}'), ('{"a":5.0}', '{"a":{"$numberDouble":"5.0"}}'), ('{"a":1e3}', '{"a":{"$numberDouble":"1000.0"}}'), ('{"a":-0.0}', '{"a":{"$numberDouble":"-0.0"}}'),
    (' { "a" : [ 1 , true ] } ', '{"a":[{"$numberInt":"1"},true]}'), ('{"\\u0061":"\\ud83d\\ude00\\/"}', '{"a":"\U0001f600/"}'),
]

BROKEN_TEXTS = [
    "", "{", "{}x", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "[1,]", "{a:1}", "{'a':1}", "{\"a\":01}", "{\"a\":1.}", "{\"a\":.5}", "{\"a\":+1}", "{\"a\":1e}", "{\"a\":NaN}", "{\"a\":Infinity}", "{\"a\":tru}", "{\"a\":\"x}", "{\"a\":\"\\x\"}", "{\"a\":\"\\u12\"}", "{\"a\":\"\\ud800\"}",
    "{\"a\":\"\\udc00x\"}", "{\"a\":\"\t\"}", "{\"a\":1e400}", "{\"a\":{\"$oid\":\"5ab9\"}}", "{\"a\":{\"$oid\":\"5ab9cbe531c2ab715d42129g\"}}", "{\"a\":{\"$oid\":5}}", "{\"a\":{\"$oid\":\"5ab9cbe531c2ab715d42129a\",\"x\":1}}", "{\"a\":{\"$numberInt\":\"2147483648\"}}", "{\"a\":{\"$numberInt\":\"1.5\"}}",
    "{\"a\":{\"$numberInt\":\"\"}}", "{\"a\":{\"$numberLong\":\"9223372036854775808\"}}", "{\"a\":{\"$numberLong\":\"x\"}}", "{\"a\":{\"$numberDouble\":\"x\"}}", "{\"a\":{\"$numberDecimal\":\"x\"}}", "{\"a\":{\"$numberDecimal\":5}}", "{\"a\":{\"$numberDecimal\":\"1E+9999\"}}", "{\"a\":{\"$date\":\"2018\"}}", "{\"a\":{\"$date\":\"x\"}}", "{\"a\":{\"$date\":{\"$numberLong\":\"x\"}}}",
    "{\"a\":{\"$binary\":{\"base64\":\"?\",\"subType\":\"00\"}}}", "{\"a\":{\"$binary\":{\"base64\":\"YWJj\"}}}", "{\"a\":{\"$binary\":{\"base64\":\"YWJj\",\"subType\":\"100\"}}}", "{\"a\":{\"$binary\":{\"base64\":\"YWJj\",\"subType\":\"zz\"}}}", "{\"a\":{\"$timestamp\":{\"t\":-1,\"i\":0}}}", "{\"a\":{\"$timestamp\":{\"t\":1}}}",
    "{\"a\":{\"$timestamp\":{\"t\":4294967296,\"i\":0}}}", "{\"a\":{\"$regularExpression\":{\"pattern\":\"a\"}}}", "{\"a\":{\"$regularExpression\":{\"pattern\":\"a\\u0000\",\"options\":\"\"}}}", "{\"a\":{\"$minKey\":2}}", "{\"a\":{\"$maxKey\":true}}", "{\"a\":{\"$undefined\":false}}", "{\"a\":{\"$symbol\":5}}", "{\"a\":{\"$code\":5}}", "{\"a\":{\"$code\":\"x\",\"$scope\":5}}",
    "{\"a\":{\"$dbPointer\":{\"$ref\":\"b\"}}}", "{\"a\":{\"$uuid\":\"0011\"}}", "[" * 3000, "nul", "\u0000", "{\"a\":1}{\"b\":2}",
]

BROKEN_BYTES = [
    "", "00", "0400000000", "0500000001", "05000000", "0600000000", "ffffffff00", "ffffff7f00", "0c000000106100010000", "0c00000010610001000000", "0b0000001061000100000000", "0c0000001061000100000001", "0d000000106100010000000000",
    "0e00000002610000000000" + "000000", "0e000000026100ffffffff" + "780000", "0e00000002610003000000" + "780000", "0e00000002610002000000" + "787800", "0e00000002610002000000" + "ff0000", "0900000008610002" + "00", "0800000014610000", "08000000" + "0a6162" + "00", "0d000000036100" + "0400000000" + "00",
    "0d000000036100" + "0600000000" + "00", "12000000056100" + "ffffffff00616263" + "000000", "12000000056100" + "ff00000000616263" + "000000", "0c0000000b6100" + "61000069" + "00", "0a000000ff61" + "00" + "0000", "0700000007" + "6100",
]


def tables():
    cases = []
    for kind, values in VALUES.items():
        for value in values:
            document = {"a": value}
            data = bson.encode(document)
            canonical = json_util.dumps(document, json_options=json_util.CANONICAL_JSON_OPTIONS.with_options(datetime_representation=json_util.DatetimeRepresentation.NUMBERLONG))
            relaxed = json_util.dumps(document, json_options=json_util.RELAXED_JSON_OPTIONS)
            if kind == "double" and isinstance(value, float) and value == value and abs(value) not in (float("inf"),):
                relaxed = '{"a":%r}' % value
            canonical, relaxed = squeeze(canonical), squeeze(relaxed)
            if kind == "double":
                canonical, relaxed = scientific(canonical), scientific(relaxed)
            cases.append(("%s %r" % (kind, value), {"bson": data.hex()}, None, {"canonical": canonical, "relaxed": relaxed}))
    for name, data, text in DEPRECATED:
        cases.append((name, {"bson": data}, None, {"canonical": text, "relaxed": text}))
    yield "bson/types", {}, cases
    cases = [(text, {"text": text}, None, {"canonical": canonical}) for text, canonical in OLD_FORMS]
    cases += [(text[:60], {"text": text}, None, {"error": 0}) for text in BROKEN_TEXTS]
    yield "bson/texts", {}, cases
    yield "bson/broken", {}, [(data[:60], {"bson": data}, None, {"error": 0}) for data in BROKEN_BYTES]


def scientific(text):
    """The specification's corpus writes the exponents of doubles with E."""
    return re.sub(r"(?<=[0-9])e(?=[+-])", "E", text)


def squeeze(text):
    """The same JSON without spaces; numbers keep their text."""
    return json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":"))
