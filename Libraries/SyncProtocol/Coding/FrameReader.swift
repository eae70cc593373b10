import DocumentModel

/// Reads the fields of a frame, or of an object in one. Its errors name the field that is missing or wrong.
struct FrameReader {
    let document: Document
    private let place: String

    init(_ document: Document, place: String) {
        self.document = document
        self.place = place
    }

    func wrong(_ name: String, _ expected: String) -> SyncProtocolError {
        SyncProtocolError(code: .badFrame, message: "\(place).\(name) is not \(expected)")
    }

    func require<T>(_ name: String, _ value: T?, _ expected: String) throws(SyncProtocolError) -> T {
        guard let value else { throw wrong(name, expected) }
        return value
    }

    func has(_ name: String) -> Bool { document[name] != nil }

    func string(_ name: String, limit: Int = FrameLimits.textBytes) throws(SyncProtocolError) -> String {
        guard case .string(let text) = document[name] else { throw wrong(name, "a string") }
        if text.utf8.count > limit { throw wrong(name, "at most \(limit) bytes long") }
        return text
    }

    func name(_ name: String) throws(SyncProtocolError) -> String {
        let text = try string(name)
        guard FrameLimits.isName(text) else { throw wrong(name, "a name of 1 to 256 bytes") }
        return text
    }

    /// A name that is used as a key in the database.
    func key(_ name: String) throws(SyncProtocolError) -> String {
        let text = try self.name(name)
        if text.utf8.contains(0) { throw wrong(name, "a name without U+0000") }
        return text
    }

    func optionalString(_ name: String, limit: Int = FrameLimits.textBytes) throws(SyncProtocolError) -> String? {
        try has(name) ? string(name, limit: limit) : nil
    }

    func integer(_ name: String, atLeast minimum: Int64 = 0) throws(SyncProtocolError) -> Int64 {
        switch document[name] {
        case .int32(let number) where number >= minimum: return Int64(number)
        case .int64(let number) where number >= minimum: return number
        default:
            let bound = minimum == .min ? "" : ", at least \(minimum)"
            throw wrong(name, "an integer of 64 bits\(bound)")
        }
    }

    func bool(_ name: String) throws(SyncProtocolError) -> Bool {
        try require(name, document[name]?.boolValue, "a boolean")
    }

    func revision(_ name: String) throws(SyncProtocolError) -> Revision {
        try require(name, document[name]?.stringValue.flatMap { Revision($0) }, "a revision")
    }

    func optionalRevision(_ name: String) throws(SyncProtocolError) -> Revision? {
        try has(name) ? revision(name) : nil
    }

    /// The partition with the field's text; internal partitions never occur on the wire.
    func partition(_ name: String = "partition") throws(SyncProtocolError) -> Partition {
        let partition = Partition(text: try string(name))
        guard FrameLimits.admits(partition) else {
            throw SyncProtocolError(
                code: .unknownPartition, message: "\(place).\(name) names no partition: \(Partition.form)")
        }
        return partition
    }

    /// The `_id` of a device's operation. A value that can't be an `_id` makes the changeset invalid, not the frame: the changeset
    /// is rejected as a whole.
    var operationId: Value { document["_id"] ?? .undefined }

    /// - Parameter own: That of the document, which counts if the frame doesn't repeat it.
    func documentId(or own: Value?) throws(SyncProtocolError) -> Value {
        guard let id = document["_id"] ?? own, id.idText != nil else {
            throw wrong("_id", "a value that is no array, regular expression or undefined")
        }
        return id
    }

    func object(_ name: String) throws(SyncProtocolError) -> Document {
        try require(name, document[name]?.documentValue, "an object")
    }

    func reader(_ name: String) throws(SyncProtocolError) -> FrameReader {
        FrameReader(try object(name), place: "\(place).\(name)")
    }

    func array(_ name: String) throws(SyncProtocolError) -> [Value] {
        try require(name, document[name]?.arrayValue, "an array")
    }

    func strings(_ name: String) throws(SyncProtocolError) -> [String] {
        var strings: [String] = []
        for element in try array(name) {
            guard case .string(let text) = element else { throw wrong(name, "an array of strings") }
            strings.append(text)
        }
        return strings
    }

    /// The names in an array.
    func names(_ name: String) throws(SyncProtocolError) -> [String] {
        let names = try strings(name)
        for text in names where !FrameLimits.isName(text) {
            throw wrong(name, "an array of names of 1 to 256 bytes")
        }
        return names
    }

    /// The objects of an array, each parsed by `read`.
    func objects<T>(
        _ name: String, _ read: (FrameReader) throws(SyncProtocolError) -> T
    ) throws(SyncProtocolError) -> [T] {
        let elements = try array(name)
        var result: [T] = []
        result.reserveCapacity(elements.count)
        for (index, element) in elements.enumerated() {
            guard case .document(let document) = element else { throw wrong(name, "an array of objects") }
            result.append(try read(FrameReader(document, place: "\(place).\(name)[\(index)]")))
        }
        return result
    }
}
