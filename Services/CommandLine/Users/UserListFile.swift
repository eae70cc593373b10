import Foundation

/// A file with JSON objects: one per line, in an array, or in several arrays one after another, as pages of an API give them. It is read
/// in pieces, so its size doesn't matter.
struct UserListFile {
    /// An object's text, and the line on which it begins.
    struct Entry: Sendable {
        var line: Int
        var text: [UInt8]
    }

    /// The longest object, in bytes.
    static let maximumBytes = 1 << 20

    private let path: String
    private let handle: FileHandle
    private var piece: [UInt8] = []
    private var next = 0
    private var line = 1
    private var depth = 0
    private var isInString = false
    private var isEscaped = false
    private var current = Entry(line: 0, text: [])

    init(_ path: String) throws {
        guard let handle = FileHandle(forReadingAtPath: path) else { throw ToolError("\(path) can't be read") }
        self.path = path
        self.handle = handle
    }

    /// The next object; `nil` at the end of the file.
    ///
    /// - Throws: `ToolError` with the line of what isn't a list of objects.
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
                    guard depth == 0 else { throw ToolError("\(path):\(current.line): the object doesn't end") }
                    return nil
                }
            }
            let byte = piece[next]
            next += 1
            if try take(byte) { return current }
        }
    }

    /// - Returns: whether the entry is complete.
    private mutating func take(_ byte: UInt8) throws -> Bool {
        if byte == UInt8(ascii: "\n") { line += 1 }
        if depth == 0 {
            switch byte {
            case UInt8(ascii: "{"):
                depth = 1
                current = Entry(line: line, text: [byte])
            case UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: ","), 0x20, 0x09, 0x0A, 0x0D: break
            default: throw ToolError("\(path):\(line): neither an object nor an array of objects")
            }
            return false
        }
        current.text.append(byte)
        guard current.text.count <= Self.maximumBytes else {
            throw ToolError("\(path):\(current.line): the object has more than \(Self.maximumBytes) bytes")
        }
        if isInString {
            if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: "\"") {
                isInString = false
            }
        } else {
            switch byte {
            case UInt8(ascii: "\""): isInString = true
            case UInt8(ascii: "{"): depth += 1
            case UInt8(ascii: "}"): depth -= 1
            default: break
            }
        }
        return depth == 0
    }
}
