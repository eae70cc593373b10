import DocumentModel

/// Writes a frame: a JSON object, field by field, with documents inside it in canonical Extended JSON.
struct FrameWriter {
    private(set) var bytes: [UInt8] = []
    private var isEmpty = true

    init(type: String, capacity: Int = 256) {
        bytes.reserveCapacity(capacity)
        open(UInt8(ascii: "{"))
        field("type", type)
    }

    mutating func finished() -> [UInt8] {
        close(UInt8(ascii: "}"))
        return bytes
    }

    mutating func field(_ name: String, _ text: String) {
        key(name)
        ExtendedJSON.append(string: text, to: &bytes)
    }

    mutating func field(_ name: String, _ number: Int64) {
        key(name)
        bytes.append(contentsOf: String(number).utf8)
    }

    mutating func field(_ name: String, _ flag: Bool) {
        key(name)
        bytes.append(contentsOf: (flag ? "true" : "false").utf8)
    }

    mutating func field(_ name: String, _ revision: Revision) {
        key(name)
        bytes.append(UInt8(ascii: "\""))
        bytes.append(contentsOf: revision.description.utf8)
        bytes.append(UInt8(ascii: "\""))
    }

    mutating func field(_ name: String, _ value: Value) {
        key(name)
        ExtendedJSON.append(value, mode: .exact, to: &bytes)
    }

    mutating func field(_ name: String, _ document: Document) {
        key(name)
        ExtendedJSON.append(document, mode: .exact, to: &bytes)
    }

    /// Writes a value that is already encoded.
    mutating func field(_ name: String, spliced text: UnsafeRawBufferPointer) {
        key(name)
        bytes.append(contentsOf: text)
    }

    mutating func object(_ name: String, _ body: (inout FrameWriter) -> Void) {
        key(name)
        open(UInt8(ascii: "{"))
        body(&self)
        close(UInt8(ascii: "}"))
    }

    mutating func array(_ name: String, _ body: (inout FrameWriter) -> Void) {
        openArray(name)
        body(&self)
        closeArray()
    }

    mutating func openArray(_ name: String) {
        key(name)
        open(UInt8(ascii: "["))
    }

    mutating func closeArray() { close(UInt8(ascii: "]")) }

    mutating func element(_ body: (inout FrameWriter) -> Void) {
        separate()
        open(UInt8(ascii: "{"))
        body(&self)
        close(UInt8(ascii: "}"))
    }

    mutating func element(_ text: String) {
        separate()
        ExtendedJSON.append(string: text, to: &bytes)
    }

    private mutating func open(_ byte: UInt8) {
        bytes.append(byte)
        isEmpty = true
    }

    private mutating func close(_ byte: UInt8) {
        bytes.append(byte)
        isEmpty = false
    }

    private mutating func separate() {
        if !isEmpty { bytes.append(UInt8(ascii: ",")) }
        isEmpty = false
    }

    /// The names are constants of the protocol and need no escapes.
    private mutating func key(_ name: String) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        bytes.append(contentsOf: name.utf8)
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: ":"))
    }
}
