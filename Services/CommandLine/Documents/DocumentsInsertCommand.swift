import DocumentModel

/// `partita documents insert`.
enum DocumentsInsertCommand {
    /// The documents of standard input that are inserted together, and their bytes: fewer than a call of the administration API may have.
    private static let batch = (documents: 500, bytes: 2 << 20)

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
        var bytes = 0
        func insert() async throws {
            guard !waiting.isEmpty else { return }
            AppDocuments.show(try await documents.call("insertMany", ["documents": .array(waiting)]))
            waiting.removeAll(keepingCapacity: true)
            bytes = 0
        }
        while let line = readLine() {
            number += 1
            if line.allSatisfy(\.isWhitespace) { continue }
            let document = try AppDocuments.document(line, "line \(number)")
            if bytes + line.utf8.count > batch.bytes { try await insert() }
            waiting.append(.document(document))
            bytes += line.utf8.count
            if waiting.count == batch.documents { try await insert() }
        }
        try await insert()
    }
}
