import DocumentModel

/// Parses the bytes of a frame into its type and fields.
enum FrameParser {
    /// - Throws: `badFrame` or `frameTooLarge`.
    static func parse(
        _ bytes: UnsafeRawBufferPointer, limit: Int
    ) throws(SyncProtocolError) -> (type: String, fields: FrameReader) {
        if bytes.count > limit {
            throw SyncProtocolError(
                code: .frameTooLarge, message: "the frame is larger than \(limit) bytes", offset: limit)
        }
        let document: Document
        do throws(ExtendedJSONError) {
            let limits = ExtendedJSON.Limits(
                maximumBytes: limit, maximumValues: FrameLimits.values, rejectDuplicateKeys: true)
            document = try ExtendedJSON.parseDocument(bytes, limits: limits)
        } catch {
            throw SyncProtocolError(code: .badFrame, message: error.message, offset: error.offset)
        }
        guard let first = document.fields.first, first.key == "type", case .string(let type) = first.value else {
            throw SyncProtocolError(code: .badFrame, message: "the first field of a frame is its type")
        }
        return (type, FrameReader(document, place: type))
    }

    /// Whether a text starts like a frame of a type whose name is written without escapes.
    static func begins(_ bytes: UnsafeRawBufferPointer, as type: String) -> Bool {
        var rest = bytes[...]
        for token in ["{", "\"type\"", ":", "\"\(type)\""] {
            rest = rest.drop { $0 == 0x20 || $0 == 0x09 || $0 == 0x0A || $0 == 0x0D }
            guard rest.starts(with: token.utf8) else { return false }
            rest = rest.dropFirst(token.utf8.count)
        }
        return true
    }

    static func unknown() -> SyncProtocolError {
        SyncProtocolError(code: .badFrame, message: "a frame of this type doesn't exist")
    }
}

/// The default limits of a frame.
public enum FrameLimits {
    /// The largest frame in bytes: 16 MiB, MongoDB's limit for a document.
    public static let defaultBytes = 16 << 20
    /// The largest frame of a device other than an `upload`. It may cost only a few bytes on a compressed connection, and no other
    /// connection is served while it is parsed.
    public static let controlBytes = 512 << 10
    /// The largest number of values in a frame, at all depths: more than a document of 16 MiB in canonical text has.
    public static let values = 1_000_000

    /// Whether a text may be a name in a frame, such as that of a collection: 1 to 256 bytes.
    static func isName(_ text: String) -> Bool { (1...256).contains(text.utf8.count) }

    /// Whether a frame may name a partition: its text has at most 1,024 bytes, no U+0000, and isn't internal.
    public static func admits(_ partition: Partition) -> Bool {
        partition.text.utf8.count <= textBytes && !partition.text.utf8.contains(0) && partition.value != nil
    }

    /// The longest text of most fields.
    static let textBytes = 1024
}
