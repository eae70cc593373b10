import AppDefinition
import DocumentModel
import Foundation

/// Arguments and results in AWS' JSON protocol, which is plain JSON: bytes are Base64, times are seconds.
struct AWSJSON {
    private let blobs: Set<ExactText>

    init(_ interface: AWSInterface) { blobs = interface.blobs }

    static func base64(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }

    /// The arguments in a form of which Extended JSON in relaxed mode is plain JSON.
    func sent(_ arguments: Document) -> Document {
        mapped(arguments, path: "") { value, isBlob in
            switch value {
            case .string(let text): .string(isBlob ? Self.base64(Array(text.utf8)) : text)
            case .binary(let binary): .string(Self.base64(binary.bytes))
            case .date(let milliseconds): .double(Double(milliseconds) / 1000)
            case .objectId(let id): .string(id.hexString)
            default: value
            }
        }
    }

    /// The result with its bytes as binaries.
    func received(_ result: Document) -> Document {
        mapped(result, path: "") { value, isBlob in
            guard isBlob, let text = value.stringValue, let data = Data(base64Encoded: text) else { return value }
            return .binary(Binary(Array(data)))
        }
    }

    private func mapped(_ document: Document, path: String, _ change: (Value, Bool) -> Value) -> Document {
        Document(
            fields: document.fields.compactMap { field in
                if case .undefined = field.value { return nil }
                return .init(
                    field.key, mapped(field.value, path: path.isEmpty ? field.key : "\(path).\(field.key)", change))
            })
    }

    private func mapped(_ value: Value, path: String, _ change: (Value, Bool) -> Value) -> Value {
        switch value {
        case .document(let document): .document(mapped(document, path: path, change))
        case .array(let items): .array(items.map { mapped($0, path: path, change) })
        default: change(value, blobs.contains(ExactText(path)))
        }
    }
}
