import Foundation

/// A file with JSON objects: one per line, in an array, or in several arrays one after another, as pages of an API give them. It is read
/// in pieces, so its size doesn't matter.
struct UserListFile {
    /// An object's text, and the line on which it begins.
    struct Entry: Sendable {
        var line: Int
        var text: [UInt8]
        /// Why it isn't a whole object; the next one can be read all the same.
        var problem: String?
    }

    /// The longest object, in bytes.
    static let maximumBytes = 1 << 20

    private let path: String
    private let handle: FileHandle
    private var piece: [UInt8] = []
    private var next = 0
    private var line = 1
    /// The brackets of the objects and arrays that haven't ended, from the entry's own.
    private var unclosed: [UInt8] = []
    private var isInString = false
    private var isEscaped = false
    /// The last byte outside of strings that isn't white space.
    private var last: UInt8 = 0
    /// Whether something is passed over that is no object, up to the next element or line.
    private var isSkipping = false
    /// Whether a list has begun.
    private var hasBegun = false
    /// The entry that is or was read last; on line 0 before the first.
    private var current = Entry(line: 0, text: [])

    init(_ path: String) throws {
        guard let handle = FileHandle(forReadingAtPath: path) else { throw ToolError("\(path) can't be read") }
        self.path = path
        self.handle = handle
    }

    /// The next object; `nil` at the end of the file.
    ///
    /// - Throws: `ToolError` with the line if the file doesn't begin as a list of objects.
    mutating func entry() throws -> Entry? {
        while true {
            if next == piece.count {
                let isFirst = piece.isEmpty
                piece = Array(try handle.read(upToCount: 1 << 20) ?? Data())
                // A byte order mark.
                next = isFirst && piece.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
                if isFirst, piece.starts(with: [0xFF, 0xFE]) || piece.starts(with: [0xFE, 0xFF]) {
                    throw ToolError("\(path) is UTF-16: save it as UTF-8")
                }
                if piece.isEmpty {
                    return unclosed.isEmpty ? nil : broken("the object doesn't end")
                }
            }
            let byte = piece[next]
            next += 1
            if let entry = try take(byte) { return entry }
        }
    }

    /// Gives up the present entry, so that the next one can begin.
    private mutating func broken(_ problem: String) -> Entry {
        (unclosed, isInString, isEscaped) = ([], false, false)
        current.problem = current.problem ?? problem
        return current
    }

    /// - Returns: the entry that ends with this byte, or before it.
    private mutating func take(_ byte: UInt8) throws -> Entry? {
        let isLineEnd = byte == UInt8(ascii: "\n")
        if isLineEnd { line += 1 }
        if isSkipping, isSkipped(byte) { return nil }
        guard !unclosed.isEmpty else { return try takeOutside(byte) }
        // No JSON has a line's end in a string: the object ended too early. What follows is others.
        if isInString, isLineEnd { return broken("the object doesn't end: its line ends in a string") }
        if !isInString, byte == UInt8(ascii: "{"), !mayHoldObject {
            next -= 1
            return broken("the object doesn't end: another one begins in it")
        }
        if current.text.count < Self.maximumBytes {
            current.text.append(byte)
        } else {
            current.problem = "the object has more than \(Self.maximumBytes) bytes"
        }
        if isInString {
            takeInString(byte)
            return nil
        }
        switch byte {
        case UInt8(ascii: "\""): isInString = true
        case UInt8(ascii: "{"), UInt8(ascii: "["): unclosed.append(byte)
        case UInt8(ascii: "}"), UInt8(ascii: "]"): unclosed.removeLast()
        default: break
        }
        if ![0x20, 0x09, 0x0A, 0x0D].contains(byte) { last = byte }
        return unclosed.isEmpty ? current : nil
    }

    private mutating func takeInString(_ byte: UInt8) {
        if isEscaped {
            isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
            isEscaped = true
        } else if byte == UInt8(ascii: "\"") {
            isInString = false
        }
    }

    /// Whether a byte belongs to what is passed over. An element may be a string, in which commas and brackets have no meaning.
    private mutating func isSkipped(_ byte: UInt8) -> Bool {
        if byte == UInt8(ascii: "\n") {
            (isSkipping, isInString, isEscaped) = (false, false, false)
        } else if isInString {
            takeInString(byte)
        } else if byte == UInt8(ascii: "\"") {
            isInString = true
        } else if [UInt8(ascii: ","), UInt8(ascii: "]"), UInt8(ascii: "{")].contains(byte) {
            isSkipping = false
        }
        return isSkipping
    }

    /// Whether an object may stand here: as a field's value or an element.
    private var mayHoldObject: Bool {
        switch last {
        case UInt8(ascii: ":"), UInt8(ascii: "["): true
        case UInt8(ascii: ","): unclosed.last == UInt8(ascii: "[")
        default: false
        }
    }

    private mutating func takeOutside(_ byte: UInt8) throws -> Entry? {
        switch byte {
        case UInt8(ascii: "{"):
            (unclosed, last, hasBegun) = ([byte], byte, true)
            current = Entry(line: line, text: [byte])
        case UInt8(ascii: "["): hasBegun = true
        case UInt8(ascii: "]"), UInt8(ascii: ","), 0x20, 0x09, 0x0A, 0x0D: break
        default:
            let problem = "neither an object nor an array of objects"
            guard hasBegun else { throw ToolError("\(path):\(line): \(problem)") }
            (isSkipping, isInString) = (true, byte == UInt8(ascii: "\""))
            return Entry(line: line, text: [], problem: problem)
        }
        return nil
    }
}
