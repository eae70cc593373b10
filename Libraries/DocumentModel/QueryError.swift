/// An error of MongoDB, with its code, name and message.
public struct QueryError: Error, Hashable, Sendable, CustomStringConvertible {
    /// MongoDB's numeric error code, such as 2 for `BadValue`; numbers such as 40324 have no name in MongoDB.
    public let code: Int
    /// What is wrong, in MongoDB's words if they are known.
    public let message: String

    /// An error with one of MongoDB's numbers.
    public init(code: Int, message: String) {
        self.code = code
        self.message = message
    }

    /// MongoDB's name of the code; `Location<code>` if it has none.
    public var codeName: String { Self.names[code] ?? "Location\(code)" }

    /// The name, number and message.
    public var description: String { "\(codeName) (\(code)): \(message)" }

    // error_codes.yml of MongoDB's server names these; all others are locations in its source.
    private static let names: [Int: String] = [
        2: "BadValue", 9: "FailedToParse", 14: "TypeMismatch", 15: "Overflow", 16: "InvalidLength", 28: "PathNotViable",
        40: "ConflictingUpdateOperators", 51: "InvalidRegex", 52: "DollarPrefixedFieldName", 54: "NotSingleValueField",
        56: "EmptyFieldName",
        66: "ImmutableField",
        50: "MaxTimeMSExpired", 72: "InvalidOptions", 115: "CommandNotSupported", 121: "DocumentValidationFailure",
        168: "InvalidPipelineOperator", 224: "QueryFeatureNotAllowed",
        232: "MaxSubPipelineDepthExceeded", 238: "NotImplemented",
        241: "ConversionFailure", 146: "ExceededMemoryLimit", 292: "QueryExceededMemoryLimitNoDiskUseAllowed",
        10334: "BSONObjectTooLarge",
        11601: "Interrupted", 40414: "IDLFailedToParse", 40415: "IDLUnknownField",
    ]

    /// The code of failed conversions, which `onError` catches.
    package static let conversionFailure = 241

    package static func badValue(_ message: String) -> QueryError { QueryError(code: 2, message: message) }
    package static func failedToParse(_ message: String) -> QueryError { QueryError(code: 9, message: message) }
    package static func missingField(_ name: String) -> QueryError {
        QueryError(code: 40414, message: "BSON field '\(name)' is missing but a required field")
    }
    package static func unknownField(_ name: String) -> QueryError {
        QueryError(code: 40415, message: "BSON field '\(name)' is an unknown field.")
    }
    package static func typeMismatch(_ message: String) -> QueryError { QueryError(code: 14, message: message) }
    package static func pathNotViable(_ message: String) -> QueryError { QueryError(code: 28, message: message) }

    /// The error for an operator that MongoDB has and this engine doesn't.
    package static func notSupported(_ name: String) -> QueryError {
        QueryError(code: 115, message: "\(name) is not supported")
    }
}
