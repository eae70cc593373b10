import Glibc

/// The headers of a message, in order; a name may occur more than once.
///
/// All headers are in one buffer, because a consumer receives many messages but reads few of their headers.
public struct KafkaHeaders: Sendable {
    /// The offsets of one header in the buffer. The name ends where the value begins; the value's end is `-1` for a null value.
    private struct Extent: Sendable {
        var nameStart: Int32
        var valueStart: Int32
        var valueEnd: Int32
    }

    private var bytes: [UInt8] = []
    private var extents: [Extent] = []

    /// Creates an empty list of headers.
    public init() {}

    /// Appends a header; `nil` is Kafka's null value.
    public mutating func append(_ name: String, _ value: (some Sequence<UInt8>)?) {
        append(name: name.utf8, value: value)
    }

    /// Appends a header with a text value.
    public mutating func append(_ name: String, _ value: String) {
        append(name: name.utf8, value: value.utf8)
    }

    mutating func append(name: some Sequence<UInt8>, value: (some Sequence<UInt8>)?) {
        let nameStart = Int32(bytes.count)
        bytes.append(contentsOf: name)
        let valueStart = Int32(bytes.count)
        if let value { bytes.append(contentsOf: value) }
        extents.append(
            Extent(nameStart: nameStart, valueStart: valueStart, valueEnd: value == nil ? -1 : Int32(bytes.count)))
    }

    /// The text of the last header of that name; `nil` when there is none, or its value is null or not UTF-8.
    public subscript(name: String) -> String? {
        value(name).flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// The value of the last header of that name whose value isn't null.
    public func value(_ name: String) -> ArraySlice<UInt8>? {
        for extent in extents.reversed() where extent.valueEnd >= 0 && isNamed(extent, name) {
            return bytes[Int(extent.valueStart)..<Int(extent.valueEnd)]
        }
        return nil
    }

    private func isNamed(_ extent: Extent, _ name: String) -> Bool {
        var name = name
        return name.withUTF8 { name in
            bytes.withUnsafeBufferPointer { bytes in
                let length = Int(extent.valueStart - extent.nameStart)
                guard name.count == length else { return false }
                guard let wanted = name.baseAddress, let start = bytes.baseAddress else { return length == 0 }
                return memcmp(start + Int(extent.nameStart), wanted, length) == 0
            }
        }
    }

    /// The number of headers.
    public var count: Int { extents.count }
    /// Whether the message has no headers.
    public var isEmpty: Bool { extents.isEmpty }

    /// All headers in order, as names and values.
    public var all: [(name: String, value: [UInt8]?)] {
        extents.map { extent in
            let name = String(decoding: bytes[Int(extent.nameStart)..<Int(extent.valueStart)], as: UTF8.self)
            return (name, extent.valueEnd < 0 ? nil : Array(bytes[Int(extent.valueStart)..<Int(extent.valueEnd)]))
        }
    }

    /// Calls `body` with each name and value; the buffers are valid during the call only.
    func forEachRaw(_ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer?) -> Void) {
        bytes.withUnsafeBytes { buffer in
            for extent in extents {
                let name = UnsafeRawBufferPointer(rebasing: buffer[Int(extent.nameStart)..<Int(extent.valueStart)])
                guard extent.valueEnd >= 0 else { body(name, nil); continue }
                body(name, UnsafeRawBufferPointer(rebasing: buffer[Int(extent.valueStart)..<Int(extent.valueEnd)]))
            }
        }
    }
}

extension KafkaHeaders: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral elements: (String, String)...) {
        for (name, value) in elements { append(name, value) }
    }
}
