import DocumentModel
import FunctionProtocol

extension DocumentCall {
    private static let documents = [
        "filter", "query", "sort", "projection", "project", "collation", "let", "resumeAfter", "startAfter",
    ]
    private static let arrays = ["pipeline", "arrayFilters", "documents", "operations", "ids"]
    private static let flags = ["upsert", "returnNewDocument", "ordered"]
    private static let numbers = ["skip", "limit", "maxTimeMS"]

    /// Writes that need a filter: without one, for instance because a script's variable is undefined, they would match any
    /// document.
    private static let selecting: Set<String> = [
        "updateOne", "updateMany", "replaceOne", "deleteOne", "deleteMany", "findOneAndUpdate", "findOneAndReplace",
        "findOneAndDelete",
    ]

    /// Refuses arguments of a wrong type. They would be ignored, and the result would be that of a different call.
    static func checkTypes(of arguments: Document, _ action: String) throws(EffectFailure) {
        try checkNames(of: arguments, action)
        for name in documents { try check(arguments, name, action, "object") { $0.documentValue != nil } }
        for name in arrays { try check(arguments, name, action, "array") { $0.arrayValue != nil } }
        for name in flags { try check(arguments, name, action, "bool") { $0.boolValue != nil } }
        for name in numbers { try check(arguments, name, action, "long") { $0.isNumber } }
        for name in numbers {
            guard let number = arguments[name]?.doubleValue, Int(exactly: number) == nil else { continue }
            throw EffectFailure(
                name: "MongoDBError", message: "BSON field '\(action).\(name)' must be a whole number: \(number)",
                code: 2)
        }
        if selecting.contains(action), (arguments["filter"] ?? arguments["query"])?.documentValue == nil {
            throw missing("filter", action)
        }
        if arguments["resumeAfter"]?.documentValue != nil, arguments["startAfter"]?.documentValue != nil {
            throw EffectFailure(
                name: "MongoDBError", message: "Only one of resumeAfter and startAfter is allowed", code: 40674)
        }
        for (name, code) in [("skip", 51024), ("maxTimeMS", 2)] {
            guard let number = arguments[name]?.doubleValue, number < 0 else { continue }
            throw EffectFailure(
                name: "MongoDBError", message: "BSON field '\(name)' value must be >= 0, actual value '\(number)'",
                code: code)
        }
    }

    /// An argument that is null counts as absent.
    private static func check(
        _ arguments: Document, _ name: String, _ action: String, _ expected: String, _ isRight: (Value) -> Bool
    ) throws(EffectFailure) {
        guard let value = arguments[name], value != .null, value != .undefined, !isRight(value) else { return }
        throw EffectFailure(
            name: "MongoDBError",
            message:
                "BSON field '\(action).\(name)' is the wrong type '\(value.typeName)', expected type '\(expected)'",
            code: 14)
    }
}
