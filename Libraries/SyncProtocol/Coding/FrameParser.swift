import DocumentModel

/// From bytes to the object of a frame.
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
            let limits = ExtendedJSON.Limits(maximumBytes: limit, rejectDuplicateKeys: true)
            document = try ExtendedJSON.parseDocument(bytes, limits: limits)
        } catch {
            throw SyncProtocolError(code: .badFrame, message: error.message, offset: error.offset)
        }
        guard let first = document.fields.first, first.key == "type", case .string(let type) = first.value else {
            throw SyncProtocolError(code: .badFrame, message: "the first field of a frame is its type")
        }
        return (type, FrameReader(document, place: type))
    }

    static func unknown() -> SyncProtocolError {
        SyncProtocolError(code: .badFrame, message: "a frame of this type doesn't exist")
    }
}

/// The largest frame where nothing else was agreed.
public enum FrameLimits {
    /// 16 MiB, as MongoDB has it for a document.
    public static let defaultBytes = 16 << 20
}
