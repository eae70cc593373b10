import DocumentModel

extension FieldClocks {
    /// The clocks as compact JSON, as they are stored in the column next to a document:
    /// `{"d":CLOCK,"p":{"dotted.path":CLOCK,…}}`, each clock `[time bits, author, revision]`, with the revision of the last
    /// foreign write as a fourth element if there was one. Paths are sorted; `p` is left out when there are none.
    public var text: String {
        var fields = [Document.Field("d", document.value)]
        if !paths.isEmpty {
            let entries = paths.sorted { $0.key < $1.key }.map { Document.Field($0.key.text, $0.value.value) }
            fields.append(.init("p", .document(Document(fields: entries))))
        }
        return ExtendedJSON.print(.document(Document(fields: fields)), mode: .relaxed)
    }

    /// Parses the output of ``text``.
    ///
    /// - Throws: `SyncEngineError` with code `badFieldClocks`.
    public init(text: String) throws(SyncEngineError) {
        let parsed: Document
        do {
            parsed = try ExtendedJSON.parseDocument(text)
        } catch {
            throw SyncEngineError(code: .badFieldClocks, message: "field clocks are no JSON object: \(error)")
        }
        guard let value = parsed["d"] else {
            throw SyncEngineError(code: .badFieldClocks, message: "the document's clock is missing")
        }
        var paths: [ExactText: FieldClock] = [:]
        switch parsed["p"] {
        case nil: break
        case .document(let entries):
            paths.reserveCapacity(entries.fields.count)
            for entry in entries.fields { paths[entry.key] = try FieldClock(value: entry.value) }
        default: throw SyncEngineError(code: .badFieldClocks, message: "the paths' clocks are no object")
        }
        self.init(document: try FieldClock(value: value), paths: paths)
    }
}

extension FieldClock {
    fileprivate var value: Value {
        var elements: [Value] = [.int64(time.bits), .string(author), .string(revision.description)]
        if let foreign { elements.append(.string(foreign.description)) }
        return .array(elements)
    }

    fileprivate init(value: Value) throws(SyncEngineError) {
        guard case .array(let elements) = value, (3...4).contains(elements.count),
            let bits = elements[0].int64Value, case .string(let author) = elements[1],
            case .string(let revisionText) = elements[2], let revision = Revision(revisionText)
        else {
            throw SyncEngineError(code: .badFieldClocks, message: "a clock is [time, author, revision]")
        }
        var foreign: Revision?
        if elements.count == 4 {
            guard case .string(let text) = elements[3], let parsed = Revision(text) else {
                throw SyncEngineError(code: .badFieldClocks, message: "a clock's fourth element is a revision")
            }
            foreign = parsed
        }
        self.init(time: HybridTime(bits: bits), author: author, revision: revision, foreign: foreign)
    }
}
