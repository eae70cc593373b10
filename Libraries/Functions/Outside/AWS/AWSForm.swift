import AppDefinition
import DocumentModel
import FunctionProtocol

/// The arguments of an action in AWS' query protocol: nested fields become names with dots, elements of lists `member.1`, `member.2`, …
struct AWSForm {
    private(set) var pairs: [(String, String)] = []
    private let interface: AWSInterface

    /// The arguments that are maps, by the names of a key and a value in the protocol.
    private static let maps: [String: (key: String, value: String)] = [
        "MessageAttributes": ("Name", "Value"), "Attributes": ("key", "value"),
    ]

    init(_ interface: AWSInterface, _ arguments: Document) throws {
        self.interface = interface
        for field in arguments.fields { try add(field.value, field.key, path: field.key) }
    }

    private mutating func add(_ value: Value, _ name: String, path: String) throws {
        switch value {
        case .undefined, .null: break
        case .document(let document):
            if let map = Self.maps[path] {
                for (index, field) in document.fields.enumerated() {
                    pairs.append(("\(name).entry.\(index + 1).\(map.key)", field.key))
                    try add(field.value, "\(name).entry.\(index + 1).\(map.value)", path: path + ".*")
                }
                return
            }
            for field in document.fields { try add(field.value, "\(name).\(field.key)", path: "\(path).\(field.key)") }
        case .array(let items):
            if items.isEmpty { pairs.append((name, "")) }
            for (index, item) in items.enumerated() { try add(item, "\(name).member.\(index + 1)", path: path) }
        case .string(let text):
            pairs.append((name, interface.blobs.contains(ExactText(path)) ? AWSJSON.base64(Array(text.utf8)) : text))
        case .binary(let binary): pairs.append((name, AWSJSON.base64(binary.bytes)))
        case .bool(let flag): pairs.append((name, flag ? "true" : "false"))
        case .int32(let number): pairs.append((name, "\(number)"))
        case .int64(let number): pairs.append((name, "\(number)"))
        case .double(let number):
            pairs.append((name, Int64(exactly: number).map { "\($0)" } ?? "\(number)"))
        case .date(let milliseconds): pairs.append((name, ISODate.text(milliseconds)))
        default: throw AWSCall.failure("\(interface.name): \(path) is \(value.typeName), which AWS doesn't take")
        }
    }
}
