import DocumentModel

/// `partita documents insert`.
enum DocumentsInsertCommand {
    /// The number of documents of standard input that are inserted together.
    private static let batch = 500

    static let command = Command(
        name: "documents insert", summary: "Insert a document, an array of them, or one per line of standard input",
        parameters: [AppDocuments.namespaceParameter, "DOCUMENTS?"], options: AppDocuments.options
    ) { arguments in
        let given = try arguments.parameter("DOCUMENTS").map { try AppDocuments.value($0, "DOCUMENTS") }
        try await AppDocuments.with(arguments) { documents in
            switch given {
            case .array(let documentsGiven)?:
                AppDocuments.show(try await documents.call("insertMany", ["documents": .array(documentsGiven)]))
            case let document?: AppDocuments.show(try await documents.call("insertOne", ["document": document]))
            case nil: try await insertLines(into: documents)
            }
        }
    }

    private static func insertLines(into documents: AppDocuments) async throws {
        var number = 0
        var waiting: [Value] = []
        func insert() async throws {
            guard !waiting.isEmpty else { return }
            AppDocuments.show(try await documents.call("insertMany", ["documents": .array(waiting)]))
            waiting.removeAll(keepingCapacity: true)
        }
        while let line = readLine() {
            number += 1
            if line.allSatisfy(\.isWhitespace) { continue }
            waiting.append(.document(try AppDocuments.document(line, "line \(number)")))
            if waiting.count == batch { try await insert() }
        }
        try await insert()
    }
}
