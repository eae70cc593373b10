"""Requests that Schemathesis generates name no collection of the app and no fields that belong together. These hooks add them to half of
the requests, so that more than the validation of requests is tested."""
import copy
import json
import random

import schemathesis

READ = {"filter", "projection", "sort", "skip", "limit", "hint", "collation", "maxTimeMS"}
WRITE = {"filter", "update", "upsert", "arrayFilters", "hint", "collation", "maxTimeMS"}
FIELDS = {
    "find": READ, "findOne": READ - {"limit"}, "aggregate": {"pipeline", "hint", "collation", "maxTimeMS"},
    "insertOne": {"document"}, "insertMany": {"documents", "ordered"}, "updateOne": WRITE, "updateMany": WRITE,
    "replaceOne": {"filter", "replacement", "upsert", "hint", "collation"}, "deleteOne": {"filter", "hint", "collation"},
    "deleteMany": {"filter", "hint", "collation"}, "findOneAndUpdate": WRITE | {"projection", "sort", "returnNewDocument"},
    "findOneAndReplace": {"filter", "replacement", "projection", "sort", "upsert", "returnNewDocument"},
    "findOneAndDelete": {"filter", "projection", "sort"}, "bulkWrite": {"operations", "ordered"}, "count": {"filter"},
    "countDocuments": {"filter", "skip", "limit"}, "estimatedDocumentCount": set(), "distinct": {"field", "filter"},
    "explain": READ,
}
REQUIRED = {
    "filter": {}, "update": {"$set": {"text": "hello"}}, "replacement": {}, "document": {}, "documents": [{}], "operations": [],
    "field": "userName", "pipeline": [],
}
ALWAYS = {
    "updateOne": ["filter", "update"], "updateMany": ["filter", "update"], "findOneAndUpdate": ["filter", "update"],
    "replaceOne": ["filter", "replacement"], "findOneAndReplace": ["filter", "replacement"], "deleteOne": ["filter"],
    "deleteMany": ["filter"], "findOneAndDelete": ["filter"], "insertOne": ["document"], "insertMany": ["documents"],
    "bulkWrite": ["operations"], "distinct": ["field"], "aggregate": ["pipeline"],
}


@schemathesis.serializer("application/ejson")
def extended_json(context, value):
    return json.dumps(value).encode()


def fitting(action, body, source):
    """The body with the fields that the action knows and needs."""
    made = {name: value for name, value in body.items() if name in FIELDS.get(action, READ)}
    for name in ALWAYS.get(action, []):
        made.setdefault(name, copy.deepcopy(REQUIRED[name]))
    return {"database": "RChat", "collection": source.choice(["Chatster", "ChatMessage", "User", "None"]), **made}


@schemathesis.hook
def map_case(context, case):
    operation = case.operation.definition.raw.get("operationId")
    if operation not in ("dataAction", "callFunction") or not isinstance(case.body, dict):
        return case
    # Depends only on the generated request, so that the seed reproduces it.
    source = random.Random(repr(sorted(case.body.items(), key=repr)))
    if source.random() < 0.5:
        return case
    action = source.choice(sorted(FIELDS))
    if operation == "dataAction":
        case.path_parameters["action"] = action
        case.body = {"dataSource": "mongodb-atlas", **fitting(action, case.body, source)}
    else:
        given = case.body.get("arguments")
        argument = next((one for one in given if isinstance(one, dict)), {}) if isinstance(given, list) else {}
        case.body = {"service": "mongodb-atlas", "name": action, "arguments": [fitting(action, argument, source)]}
    return case
