public import DocumentModel
import Foundation

/// Why a document can't be stored, regardless of its writer.
public enum StorageRefusal: Error, Hashable, Sendable {
    /// It is larger than `Document.maximumBodyBytes`.
    case tooLarge
    /// It is nested deeper than `Document.maximumDepth`.
    case tooDeep(path: String)
    /// The field at this dotted path has a name that Extended JSON uses for types: its document would be parsed as another value,
    /// or not at all.
    case isMisread(path: String)
    /// U+0000 occurs at this dotted path outside of a string value.
    case holdsNUL(path: String)

    /// A sentence for people.
    public var message: String {
        switch self {
        case .tooLarge: "a document has at most 16 MiB"
        case .tooDeep: "a document is at most \(Document.maximumDepth) levels deep"
        case .isMisread(let path):
            "'\(path)' is a name that Extended JSON uses for types: the value around it would be read as another one"
        case .holdsNUL: "U+0000 can stand in strings only: not in a name, in code, or in a regular expression"
        }
    }

    /// The dotted path of the part that can't be stored; `nil` when the whole document is too large.
    public var path: String? {
        switch self {
        case .tooLarge: nil
        case .tooDeep(let path), .isMisread(let path), .holdsNUL(let path): path
        }
    }

    /// The rejection that a device receives.
    var rejection: OperationRejection {
        OperationRejection(code: self == .tooLarge ? .documentTooLarge : .notStorable, reason: message, path: path)
    }
}

extension Document {
    /// The largest document, in bytes of its canonical text.
    public static let maximumBodyBytes = 16 << 20

    /// The text that is stored: canonical Extended JSON.
    public func storedBody() throws(StorageRefusal) -> [UInt8] {
        if let unreadable = unreadable() { throw unreadable }
        var body: [UInt8] = []
        ExtendedJSON.append(self, mode: .exact, to: &body)
        if body.count > Self.maximumBodyBytes { throw .tooLarge }
        if Self.mayHoldNUL(body), let path = Value.document(self).pathOfNUL() { throw .holdsNUL(path: path) }
        return body
    }

    /// Why some readers couldn't parse the text of this document: its nesting or its names; `nil` when all can.
    /// - Parameter levels: how many levels deeper than a document it may be, as update operators are.
    public func unreadable(levels: Int = 0) -> StorageRefusal? { refusal(depth: 1 - levels)?.named }

    fileprivate func refusal(depth: Int) -> UnreadablePart? {
        if depth > Self.maximumDepth { return UnreadablePart(refusal: StorageRefusal.tooDeep) }
        if let misreadField { return UnreadablePart(refusal: StorageRefusal.isMisread, names: [misreadField]) }
        for field in fields {
            if let found = field.value.refusal(depth: depth + 1) { return found.below(field.key) }
        }
        return nil
    }

    /// Whether there is an escape of U+0000 in the text; few documents have one, and only those are searched for a path.
    private static func mayHoldNUL(_ body: [UInt8]) -> Bool {
        body.withUnsafeBytes { bytes in
            guard var place = bytes.baseAddress else { return false }
            let end = place + bytes.count
            while let escape = memchr(place, 0x5C, end - place).map({ UnsafeRawPointer($0) }) {
                if end - escape >= 6, memcmp(escape + 1, "u0000", 5) == 0 { return true }
                place = escape + 1
            }
            return false
        }
    }
}

/// What makes a document unreadable, with the names of its path so far, collected from the inside out.
private struct UnreadablePart {
    let refusal: (String) -> StorageRefusal
    var names: [String] = []

    func below(_ name: String) -> UnreadablePart {
        var part = self
        part.names.append(name)
        return part
    }

    var named: StorageRefusal { refusal(names.reversed().joined(separator: ".")) }
}

extension Value {
    fileprivate func refusal(depth: Int) -> UnreadablePart? {
        switch self {
        case .document(let document): return document.refusal(depth: depth)
        case .array(let elements):
            if depth > Document.maximumDepth { return UnreadablePart(refusal: StorageRefusal.tooDeep) }
            for (index, element) in elements.enumerated() {
                if let found = element.refusal(depth: depth + 1) { return found.below("\(index)") }
            }
            return nil
        // A level for `$scope`.
        case .code(let code): return code.scope?.refusal(depth: depth + 1)
        default: return nil
        }
    }

    /// The dotted path of the first U+0000 that isn't in a string value, the only place where one can be stored.
    fileprivate func pathOfNUL(below path: String = "") -> String? {
        func join(_ name: String) -> String { path.isEmpty ? name : "\(path).\(name)" }
        switch self {
        case .document(let document):
            for field in document.fields {
                if field.key.utf8.contains(0) { return join(field.key.replacing("\0", with: "\u{FFFD}")) }
                if let found = field.value.pathOfNUL(below: join(field.key)) { return found }
            }
            return nil
        case .array(let elements):
            for (index, element) in elements.enumerated() {
                if let found = element.pathOfNUL(below: join("\(index)")) { return found }
            }
            return nil
        case .code(let code):
            if code.source.utf8.contains(0) { return path }
            return code.scope.flatMap { Value.document($0).pathOfNUL(below: path) }
        case .regex(let expression):
            return expression.pattern.utf8.contains(0) || expression.options.utf8.contains(0) ? path : nil
        case .dbPointer(let pointer): return pointer.namespace.utf8.contains(0) ? path : nil
        default: return nil
        }
    }
}
