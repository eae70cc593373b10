public import DocumentModel
import HTTPServer

/// A call of the administration API: what the tool sends, and what the service does.
public struct AdminCall: Sendable {
    public let action: AdminAction
    /// The most bytes of a call that writes documents.
    public static let documentsLimit = 4 << 20

    /// The parameters of the route's template, such as `app` and `user`.
    private let path: [(name: String, value: String)]
    private var query: [(name: String, value: String)]
    /// An app's archive, or a JSON object.
    public let body: [UInt8]?

    /// Creates a call. Parameters without a value are left out.
    public init(
        _ action: AdminAction, _ path: KeyValuePairs<String, String> = [:],
        query: KeyValuePairs<String, String?> = [:], body: [UInt8]? = nil
    ) {
        self.init(action, path, pairs: query.map { ($0.key, $0.value) }, body: body)
    }

    /// The same with a query that is an array.
    public init(
        _ action: AdminAction, _ path: KeyValuePairs<String, String>, pairs: [(name: String, value: String?)],
        body: [UInt8]? = nil
    ) {
        self.action = action
        self.path = path.map { ($0.key, $0.value) }
        query = pairs.compactMap { pair in pair.value.map { (pair.name, $0) } }
        self.body = body
    }

    /// The call that a request makes.
    init(_ action: AdminAction, _ request: HTTPRequest) {
        self.action = action
        path = action.parameters.compactMap { name in request.parameters[name].map { (name, $0) } }
        query = request.query.pairs
        body = request.body
    }

    /// The path and query of its request.
    public var target: String {
        let parts = action.route.template.split(separator: "/").map { part in
            part.first == ":" ? PercentEncoding.encode(parameter(String(part.dropFirst())) ?? "") : String(part)
        }
        return "/" + parts.joined(separator: "/")
            + (query.isEmpty ? "" : "?" + PercentEncoding.encode(query.lazy.map { ($0.name, $0.value) }))
    }

    mutating func add(_ name: String, _ value: String) { query.append((name, value)) }

    // MARK: Reading

    func parameter(_ name: String) -> String? { path.first { $0.name == name }?.value }

    var app: String { parameter("app") ?? "" }

    /// What the audit log names besides the app: a user, secret, trigger, server key, dead letter, partition, or a collection with the
    /// method or index.
    var subject: String? {
        switch action {
        case .readDocuments, .writeDocuments:
            "\(parameter("database") ?? "").\(parameter("collection") ?? "") \(parameter("method") ?? "")"
        case .listIndexes, .createIndex, .dropIndex:
            [text("database"), text("collection"), parameter("index")].compactMap(\.self).joined(separator: " ")
        case .showPartition, .serveAnew: text("partition")
        default: ["user", "secret", "trigger", "key", "number"].lazy.compactMap(parameter).first
        }
    }

    func text(_ name: String) -> String? { query.first { $0.name.hasSameBytes(as: name) }?.value }

    func requiredText(_ name: String) throws(AuthError) -> String {
        guard let text = text(name) else { throw AuthError(.missingParameter, "\(name) is missing") }
        return text
    }

    func flag(_ name: String) throws(AuthError) -> Bool {
        switch text(name) {
        case nil, "false": return false
        case "true": return true
        case let text?: throw AuthError(.invalidParameter, "\(name) is true or false, not \(text)")
        }
    }

    func number(_ name: String, in range: ClosedRange<Int64>) throws(AuthError) -> Int64? {
        guard let text = parameter(name) ?? text(name) else { return nil }
        guard let number = Int64(text), range.contains(number), "\(number)".hasSameBytes(as: text) else {
            throw AuthError(
                .invalidParameter, "\(name) is from \(range.lowerBound) to \(range.upperBound), not \(text)")
        }
        return number
    }
}

extension AdminCall {
    /// The body as a document; empty when there is none.
    /// - Throws: `badRequest`.
    func document() throws(AuthError) -> Document {
        guard let body, !body.isEmpty else { return Document() }
        do {
            return try ExtendedJSON.parseDocument(body, limits: .input)
        } catch {
            throw AuthError(.badRequest, "the body isn't a JSON object: \(error.message)")
        }
    }
}

/// What a call of the administration API returns.
public struct AdminAnswer: Sendable {
    /// The JSON of the response; `nil` for a call that returns nothing.
    public var document: Document?
    /// An app's archive; the document then describes it.
    public var archive: [UInt8]?

    public init(_ document: Document? = nil, archive: [UInt8]? = nil) {
        self.document = document
        self.archive = archive
    }
}
