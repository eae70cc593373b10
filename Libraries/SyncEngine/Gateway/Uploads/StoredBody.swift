public import DocumentModel
import Foundation

/// Why a document can't be stored, whoever writes it.
public enum StorageRefusal: Error, Hashable, Sendable {
    /// It is larger than `Document.maximumBodyBytes`.
    case tooLarge
    /// U+0000 stands where only a string may have it: at this dotted path.
    case holdsNUL(path: String)

    /// A sentence for people.
    public var message: String {
        switch self {
        case .tooLarge: "a document has at most 16 MiB"
        case .holdsNUL: "U+0000 can stand in strings only: not in a name, in code, or in a regular expression"
        }
    }

    /// The dotted path that it is about.
    public var path: String? { if case .holdsNUL(let path) = self { path } else { nil } }

    /// What a device is told.
    var rejection: OperationRejection {
        OperationRejection(code: self == .tooLarge ? .documentTooLarge : .notStorable, reason: message, path: path)
    }
}

extension Document {
    /// The largest document, in bytes of its canonical text.
    public static let maximumBodyBytes = 16 << 20

    /// The text that is stored: canonical Extended JSON.
    public func storedBody() throws(StorageRefusal) -> [UInt8] {
        var body: [UInt8] = []
        ExtendedJSON.append(self, mode: .exact, to: &body)
        if body.count > Self.maximumBodyBytes { throw .tooLarge }
        if Self.mayHoldNUL(body), let path = Value.document(self).pathOfNUL() { throw .holdsNUL(path: path) }
        return body
    }

    /// Whether there is an escape of U+0000 in the text; few documents have one, and only those are looked through.
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

extension Value {
    /// The dotted path of the first U+0000 where `jsonb` has no place for it: everywhere but in strings.
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
