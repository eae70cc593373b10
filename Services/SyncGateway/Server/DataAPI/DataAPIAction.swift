import DocumentModel
import FunctionProtocol
import Functions
import HTTPServer

/// The actions of the data API, in the form that Atlas defined; Atlas had those of the first line.
enum DataAPIAction: String, CaseIterable {
    case findOne, find, insertOne, insertMany, updateOne, updateMany, replaceOne, deleteOne, deleteMany, aggregate
    case findOneAndUpdate, findOneAndReplace, findOneAndDelete, bulkWrite
    case count, countDocuments, estimatedDocumentCount, distinct
    /// The query plan of a `find`, or with a pipeline of an `aggregate`.
    case explain

    /// The number of documents that a `find` returns by default, and at most.
    private static let limits = (usual: 1000, most: 50_000)

    /// The required parameters of each action.
    private var required: [String] {
        switch self {
        case .findOne, .find, .explain, .count, .countDocuments, .estimatedDocumentCount: []
        case .insertOne: ["document"]
        case .insertMany: ["documents"]
        case .updateOne, .updateMany, .findOneAndUpdate: ["filter", "update"]
        case .replaceOne, .findOneAndReplace: ["filter", "replacement"]
        case .deleteOne, .deleteMany, .findOneAndDelete: ["filter"]
        case .bulkWrite: ["operations"]
        case .distinct: ["field"]
        case .aggregate: ["pipeline"]
        }
    }

    /// The document call that a request body describes.
    /// - Throws: `HTTPError` 400 that names the parameter that is missing or has a wrong type.
    func call(_ body: Document, of source: String) throws(HTTPError) -> DocumentCall {
        for name in ["database", "collection"] + required where body[name] == nil {
            throw HTTPError(400, code: "MissingParameter", "\(name) is missing")
        }
        let limit = body["limit"]?.doubleValue
        if let limit, limit < 0 || limit > Double(Self.limits.most) {
            throw HTTPError(400, code: "InvalidParameter", "limit is from 0 to \(Self.limits.most)")
        }
        if body["session"] != nil {
            throw HTTPError(400, code: "InvalidParameter", "BSON field '\(rawValue).session' is an unknown field.")
        }
        var arguments = body
        arguments["dataSource"] = nil
        if self == .find, limit ?? 0 == 0, body["limit"].map({ $0 == .null || $0.isNumber }) ?? true {
            arguments["limit"] = .int64(Int64(Self.limits.usual))
        }
        do {
            return try DocumentCall(action: rawValue, arguments: arguments, service: source)
        } catch {
            throw HTTPError(400, code: "InvalidParameter", error.message)
        }
    }

    /// The response's body.
    func answer(_ value: Value) -> Document {
        switch self {
        case .findOne, .findOneAndUpdate, .findOneAndReplace, .findOneAndDelete: ["document": value]
        case .find, .aggregate: ["documents": value]
        case .count, .countDocuments, .estimatedDocumentCount: ["count": value]
        case .distinct: ["values": value]
        default: value.documentValue ?? [:]
        }
    }

    var status: Int { self == .insertOne || self == .insertMany ? 201 : 200 }
}
