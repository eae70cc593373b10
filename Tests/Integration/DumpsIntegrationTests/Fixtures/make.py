"""Makes the fixtures with pymongo's bson, which is not ours: `pip install pymongo`, then `python3 make.py` in this folder.

dump/Shop/types.bson     every type, edge values, deep and large documents, ids of every kind that is taken
dump/Shop/packed.bson.gz the same, compressed
bad/Shop/bad.bson        documents that can't be taken between two that can
"""

import datetime, gzip, json, os, struct, uuid
import bson
from bson import Binary, Code, DBRef, Decimal128, Int64, MaxKey, MinKey, ObjectId, Regex, SON, Timestamp
from bson.codec_options import CodecOptions

options = CodecOptions(uuid_representation=4)


def encode(document):
    return bson.encode(document, codec_options=options)


def deep(levels):
    value = SON([("end", True)])
    for level in range(levels):
        value = SON([("d", value)]) if level % 2 else SON([("d", [value])])
    return value


date = datetime.datetime(2023, 11, 14, 22, 13, 20, 123000, datetime.timezone.utc)
everything = SON([
    ("_id", ObjectId("64f0c0ffee00000000000001")),
    ("double", 1.5), ("whole", 1.0), ("minusZero", -0.0), ("nan", float("nan")), ("infinity", float("inf")),
    ("tiny", 5e-324), ("huge", 1.7976931348623157e308),
    ("string", "Zoë \u0000 \u2028 \U0001F600 \"quoted\" back\\slash"), ("empty", ""), ("", "empty name"),
    ("document", SON([("b", 1), ("a", SON())])), ("array", [1, Int64(2), 3.0, "4", None, [], [[5]]]),
    ("binary", Binary(bytes(range(256)), 0)), ("old", Binary(b"old", 2)), ("md5", Binary(b"0" * 16, 5)),
    ("user", Binary(b"", 128)), ("uuid", uuid.UUID("12345678-1234-5678-1234-567812345678")),
    ("objectId", ObjectId("0123456789abcdef01234567")), ("true", True), ("false", False),
    ("date", date), ("early", datetime.datetime(1, 1, 1, tzinfo=datetime.timezone.utc)),
    ("null", None), ("regex", Regex("^a.*b$", "im")), ("code", Code("function() { return 1 }")),
    ("scoped", Code("x", SON([("x", 1)]))), ("int32", 2147483647), ("minus", -2147483648),
    ("timestamp", Timestamp(1700000000, 7)), ("int64", Int64(9223372036854775807)), ("small64", Int64(1)),
    ("decimal", Decimal128("1.10")), ("decimalNaN", Decimal128("NaN")), ("decimalBig", Decimal128("9.99E+6111")),
    ("minKey", MinKey()), ("maxKey", MaxKey()), ("dbref", DBRef("other", ObjectId("0123456789abcdef01234567"))),
    ("dotted.name", 1), ("$dollar", 2),
])
# The deprecated types that pymongo reads and doesn't write: undefined, symbol, dbPointer.
rare = (b"\x02_id\0\x05\0\0\0rare\0" + b"\x06undefined\0" + b"\x0esymbol\0\x04\0\0\0abc\0"
        + b"\x0cpointer\0\x03\0\0\0ns\0" + bytes(range(12)) + b"\0")
# In the order in which an export writes them.
documents = [
    encode(SON([("_id", Int64(-5)), ("n", 1)])), encode(SON([("_id", 7), ("n", 2)])), encode(everything),
    encode(SON([("_id", "large"), ("text", "0123456789" * 3000), ("numbers", list(range(2000)))])),
    struct.pack("<i", len(rare) + 4) + rare,
    encode(SON([("_id", "text"), ("deep", deep(60))])),
    encode(SON([("_id", uuid.UUID("87654321-1234-5678-1234-567812345678")), ("n", 3)])),
]
indexes = [
    SON([("v", 2), ("key", SON([("_id", 1)])), ("name", "_id_")]),
    SON([("v", 2), ("key", SON([("int32", 1), ("string", -1)])), ("name", "int32_1_string_-1")]),
]


def metadata(name, indexes):
    from bson.json_util import CANONICAL_JSON_OPTIONS, dumps
    return dumps(SON([("options", SON()), ("indexes", indexes), ("uuid", "0" * 32), ("collectionName", name),
                      ("type", "collection")]), json_options=CANONICAL_JSON_OPTIONS)


os.makedirs("dump/Shop", exist_ok=True)
os.makedirs("bad/Shop", exist_ok=True)
data = b"".join(documents)
open("dump/Shop/types.bson", "wb").write(data)
open("dump/Shop/types.metadata.json", "w").write(metadata("types", indexes))
with gzip.GzipFile("dump/Shop/packed.bson.gz", "wb", mtime=0) as file:
    file.write(data)
with gzip.GzipFile("dump/Shop/packed.metadata.json.gz", "wb", mtime=0) as file:
    file.write(metadata("packed", indexes[:1]).encode())

good = lambda n: encode(SON([("_id", n), ("n", n)]))
bad = [
    good(1),
    encode({"_id": "utf8", "text": "abc"}).replace(b"abc\0", b"a\xffc\0"),
    encode({"_id": "bool", "flag": True}).replace(b"flag\0\x01", b"flag\0\x07"),
    encode({"_id": "type", "n": 1}).replace(b"\x10n\0", b"\x42n\0"),
    encode({"_id": "deep", "deep": deep(150)}),
    encode({"_id": [1]}), encode({"_id": SON([("$a", 1)])}), encode({"_id": 1, "n": "again"}),
    encode({"_id": "ambiguous", "value": SON([("$oid", "0123456789abcdef01234567")])}),
    encode({"_id": "schema", "forbidden": True}),
    good(2),
]
open("bad/Shop/bad.bson", "wb").write(b"".join(bad))
open("bad/Shop/bad.metadata.json", "w").write(metadata("bad", indexes[:1] + [
    SON([("v", 2), ("key", SON([("place", "hashed")])), ("name", "place_hashed")])]))
