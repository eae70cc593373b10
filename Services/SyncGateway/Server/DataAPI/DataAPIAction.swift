import DocumentModel
import FunctionProtocol
import Functions
import HTTPServer

/// What can be asked of the data API, in the shape that Atlas gave it.
enum DataAPIAction: String, CaseIterable {
    case findOne, find, insertOne, insertMany, updateOne, updateMany, replaceOne, deleteOne, deleteMany, aggregate

    /// Documents that a `find` returns where it doesn't say how many, and at the most.
    private static let limits = (usual: 1000, most: 50_000)

    /// What each action must be given.
    private var required: [String] {
        switch self {
        case .findOne, .find: []
        case .insertOne: ["document"]
        case .insertMany: ["documents"]
        case .updateOne, .updateMany: ["filter", "update"]
        case .replaceOne: ["filter", "replacement"]
        case .deleteOne, .deleteMany: ["filter"]
        case .aggregate: ["pipeline"]
        }
    }

    private static let documents = ["filter", "projection", "sort", "document", "replacement"]
    private static let arrays = ["documents", "pipeline", "arrayFilters"]

    /// The call that a body asks for.
    /// - Throws: `HTTPError` 400 that names what is missing or of a wrong type.
    func call(_ body: Document) throws(HTTPError) -> DocumentCall {
        for name in ["database", "collection"] + required where body[name] == nil {
            throw HTTPError(400, code: "MissingParameter", "\(name) is missing")
        }
        for name in Self.documents {
            if let value = body[name], value.documentValue == nil { throw Self.wrongType(name, "an object") }
        }
        for name in Self.arrays {
            if let value = body[name], value.arrayValue == nil { throw Self.wrongType(name, "an array") }
        }
        for name in ["skip", "limit"] {
            if let value = body[name], (value.doubleValue.flatMap { Int(exactly: $0) } ?? -1) < 0 {
                throw Self.wrongType(name, "a whole number, not negative")
            }
        }
        if let value = body["upsert"], value.boolValue == nil { throw Self.wrongType("upsert", "true or false") }
        var arguments = body
        arguments["session"] = nil
        if self == .find {
            let asked = body["limit"]?.doubleValue.map { Int($0) } ?? 0
            arguments["limit"] = .int64(Int64(asked == 0 ? Self.limits.usual : min(asked, Self.limits.most)))
        }
        do {
            return try DocumentCall(action: rawValue, arguments: arguments)
        } catch {
            throw HTTPError(400, code: "InvalidParameter", error.message)
        }
    }

    private static func wrongType(_ name: String, _ expected: String) -> HTTPError {
        HTTPError(400, code: "InvalidParameter", "\(name) must be \(expected)")
    }

    /// The answer's body.
    func answer(_ value: Value) -> Document {
        switch self {
        case .findOne: ["document": value]
        case .find, .aggregate: ["documents": value]
        default: value.documentValue ?? [:]
        }
    }

    var status: Int { self == .insertOne || self == .insertMany ? 201 : 200 }
}
