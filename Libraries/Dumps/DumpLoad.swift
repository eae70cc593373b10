import DocumentModel
import DocumentStore
import EventLoop
import Postgres

/// Loads the documents of one file into a collection.
struct DumpLoad: Sendable {
    let collection: DocumentCollection
    let client: PostgresClient
    let log: RejectionLog
    let options: DumpImport.Options
    let size: Int64
    let report: @Sendable (DumpImport.Status) -> Void

    /// One batch, or a part of it.
    private struct Part: Sendable {
        var documents: ArraySlice<(document: Document, offset: Int64)>
        /// The documents that were invalid when they were read; their rejections are written with the first part.
        var rejections: [Rejection]
        /// The offset after the part.
        var end: Int64
    }

    /// Loads the documents after those that the record has.
    /// - Returns: why the rest of the file can't be read; `nil` if it was read completely.
    func run(_ path: String, _ record: inout ImportRecord) async throws -> DumpError? {
        let reader = Locked(try BSONFileReader(path: path, from: record.bytes))
        var following = await next(reader)
        while true {
            let batch = following
            async let read = batch.isLast ? nil : next(reader)
            if batch.end > record.bytes { try await commit(Self.part(of: batch), &record) }
            report(
                .init(bytesRead: batch.bytesRead, size: size, inserted: record.inserted, rejected: record.rejected))
            guard let next = await read else { return batch.fault }
            following = next
        }
    }

    private func next(_ reader: Locked<BSONFileReader>) async -> BSONFileReader.Batch {
        let documents = options.batch
        return await withCheckedContinuation { continuation in
            BlockingWork.run { continuation.resume(returning: reader.withLock { $0.next(documents: documents) }) }
        }
    }

    private static func part(of batch: BSONFileReader.Batch) -> Part {
        var documents: [(document: Document, offset: Int64)] = []
        documents.reserveCapacity(batch.entries.count)
        var rejections: [Rejection] = []
        for entry in batch.entries {
            switch entry {
            case .document(let document, let offset):
                if document.isAmbiguous {
                    rejections.append(
                        Rejection(
                            offset: offset, code: "ambiguous",
                            message: "a field's name makes an embedded document read as another type", id: document.id))
                } else {
                    documents.append((document, offset))
                }
            case .bad(let error, let offset, _):
                rejections.append(
                    Rejection(
                        offset: offset + Int64(error.offset), code: "\(error.code)",
                        message: "\(error.message), in the document at byte \(offset)"))
            }
        }
        return Part(documents: documents[...], rejections: rejections, end: batch.end)
    }

    private func commit(_ part: Part, _ record: inout ImportRecord) async throws {
        let former = record
        let written = Locked(former)
        do {
            _ = try await collection.load(
                part.documents.map { $0.document }, origin: options.firesTriggers ? nil : .dump,
                checksSchema: !options.bypassesSchema
            ) { result, transaction in
                var next = former
                let failures = result.failures.sorted { $0.key < $1.key }.map { place, error in
                    let entry = part.documents[part.documents.startIndex + place]
                    return Rejection(
                        offset: entry.offset, code: "\(error.code)", message: error.message, id: entry.document.id)
                }
                next.bytes = part.end
                next.inserted += Int64(result.insertedCount)
                next.rejected += Int64(part.rejections.count + failures.count)
                next.rejectionsSize = try log.write(part.rejections + failures, after: former.rejectionsSize)
                try await next.write(over: former, on: transaction)
                written.withLock { $0 = next }
            }
            record = written.withLock { $0 }
        } catch let error as DocumentStoreError where error.code == .duplicateKey || error.isOfDocument {
            try await split(part, for: error, &record)
        }
    }

    /// Bisects a part to find the document that Postgres refuses, for instance because of a unique index; the others are inserted.
    private func split(_ part: Part, for error: DocumentStoreError, _ record: inout ImportRecord) async throws {
        let documents = part.documents
        guard documents.count > 1 else {
            var rejections = part.rejections
            if let only = documents.first {
                rejections.append(
                    Rejection(
                        offset: only.offset, code: "\(error.code)", message: error.message, id: only.document.id))
            }
            return try await commit(Part(documents: [], rejections: rejections, end: part.end), &record)
        }
        let middle = documents.startIndex + documents.count / 2
        try await commit(
            Part(documents: documents[..<middle], rejections: part.rejections, end: documents[middle].offset), &record)
        try await commit(Part(documents: documents[middle...], rejections: [], end: part.end), &record)
    }
}

extension Document {
    /// Whether its text would be parsed as a different value: an embedded document such as `{$oid: …}` is Extended JSON's form of
    /// an ObjectId.
    fileprivate var isAmbiguous: Bool {
        guard Value.document(self).hasDollarName else { return false }
        // This is rare, so a round trip is affordable.
        guard let back = try? ExtendedJSON.parseDocument(ExtendedJSON.print(self)) else { return true }
        return !back.isIdentical(to: self)
    }
}

extension Value {
    /// Whether the first field's name of a contained document begins with `$`.
    fileprivate var hasDollarName: Bool {
        switch self {
        case .document(let document):
            document.fields.first?.key.utf8.first == UInt8(ascii: "$")
                || document.fields.contains { $0.value.hasDollarName }
        case .array(let elements): elements.contains(where: \.hasDollarName)
        default: false
        }
    }
}

extension DocumentStoreError {
    /// Whether Postgres refused the document itself (data exceptions, limits, constraints), so that it would refuse it again.
    fileprivate var isOfDocument: Bool {
        if code == .notSupported { return true }
        guard let sqlstate = (underlyingError as? PostgresError)?.sqlstate else { return false }
        return ["22", "23", "54"].contains(sqlstate.prefix(2))
    }
}
