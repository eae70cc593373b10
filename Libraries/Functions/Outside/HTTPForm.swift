import DocumentModel
import Foundation
import FunctionProtocol
import HTTPClient

/// The body of an HTTP request that sends a form: `multipart/form-data` when the request's `Content-Type` says so, otherwise
/// `application/x-www-form-urlencoded`.
struct HTTPForm {
    private(set) var body: [UInt8]

    private struct Field {
        let name: String
        let value: [UInt8]
        /// Whether it is sent as a file.
        let isFile: Bool
    }

    /// - Parameters:
    ///   - form: a document of texts, bytes, or lists of these.
    ///   - call: names the call in errors.
    ///   - headers: the request's, which get the content type.
    /// - Throws: `EffectFailure` for another form, or a content type that isn't a form's.
    init(_ form: Value?, for call: String, _ headers: inout [HTTPClient.Header]) throws {
        guard let document = form?.documentValue else { throw Self.failure("\(call): form must be a document") }
        var fields: [Field] = []
        for field in document.fields {
            for value in field.value.arrayValue ?? [field.value] {
                switch value {
                case .string(let text): fields.append(Field(name: field.key, value: Array(text.utf8), isFile: false))
                case .binary(let binary): fields.append(Field(name: field.key, value: binary.bytes, isFile: true))
                default:
                    throw Self.failure("\(call): the form's \(field.key) is \(value.typeName), not a text or bytes")
                }
            }
        }
        let places = headers.indices.filter { headers[$0].name.lowercased() == "content-type" }
        let given = places.first.map { headers[$0].value }
        for place in places.reversed() { headers.remove(at: place) }
        let media = given?.splitAtBytes(";")[0].trimmingCharacters(in: .whitespaces).lowercased()
        switch media {
        case nil, "application/x-www-form-urlencoded":
            let pairs = try fields.map { field in
                guard let text = String(validating: field.value, as: UTF8.self) else {
                    throw Self.failure(
                        "\(call): the form's \(field.name) isn't a text: give it the header Content-Type: multipart/form-data"
                    )
                }
                return (field.name, text)
            }
            body = Array(PercentEncoding.encode(pairs).utf8)
            headers.append(HTTPClient.Header("Content-Type", given ?? "application/x-www-form-urlencoded"))
        case "multipart/form-data":
            let boundary = "partita-\(UUID().uuidString)"
            body = Self.multipart(fields, boundary: boundary)
            headers.append(HTTPClient.Header("Content-Type", "multipart/form-data; boundary=\(boundary)"))
        case let media?: throw Self.failure("\(call): a form can't be sent as \(media)")
        }
    }

    /// RFC 7578, with names escaped as browsers do it.
    private static func multipart(_ fields: [Field], boundary: String) -> [UInt8] {
        var body: [UInt8] = []
        for field in fields {
            let name = ["\"": "%22", "\r": "%0D", "\n": "%0A"].reduce(field.name) {
                $0.replacingOccurrences(of: $1.key, with: $1.value)
            }
            body += Array("--\(boundary)\r\nContent-Disposition: form-data; name=\"\(name)\"".utf8)
            if field.isFile {
                body += Array("; filename=\"\(name)\"\r\nContent-Type: application/octet-stream".utf8)
            }
            body += Array("\r\n\r\n".utf8) + field.value + Array("\r\n".utf8)
        }
        return body + Array("--\(boundary)--\r\n".utf8)
    }

    private static func failure(_ message: String) -> EffectFailure {
        EffectFailure(name: HTTPCall.error, message: message)
    }
}
