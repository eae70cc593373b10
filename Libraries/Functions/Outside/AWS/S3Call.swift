import AppDefinition
import DocumentModel
import Foundation
import FunctionProtocol
import HTTPClient

/// A call of S3, or of an object store that speaks its protocol.
struct S3Call {
    let call: AWSCall

    func perform(with client: HTTPClient) async throws -> Value {
        if call.action == "PresignURL" { return .string(try presignedURL()) }
        guard let action = S3Action.named(call.action) else {
            throw AWSCall.failure("s3 has no action '\(call.action)'")
        }
        let place = try place(needsKey: action.needsKey)
        var request = try parts(action)
        let body = action.takesBody ? try call.bytes("Body") ?? [] : nil
        if action.takesBody, !request.headers.contains(where: { $0.0 == "content-type" }) {
            request.headers.append(("content-type", "binary/octet-stream"))
        }
        let response = try await call.send(
            action.method, bucket: place.hostBucket, path: place.path, query: request.query, headers: request.headers,
            body: body, with: client)
        return .document(try S3Result(action, response, of: call.name).document)
    }

    /// A URL with which anybody may read or write an object for a time.
    private func presignedURL() throws -> String {
        let method = try call.text("Method")
        guard ["GET", "PUT", "HEAD", "DELETE"].containsExactly(method) else {
            throw AWSCall.failure("\(call.name): Method must be GET, PUT, HEAD or DELETE")
        }
        let known = ["Bucket", "Key", "Method", "ExpirationMS", "ContentType"]
        if let other = call.arguments.fields.first(where: { !known.containsExactly($0.key) }) {
            throw AWSCall.failure("\(call.name): \(other.key) is not supported")
        }
        guard let milliseconds = call.arguments["ExpirationMS"]?.doubleValue, milliseconds >= 1000,
            milliseconds <= 604_800_000
        else { throw AWSCall.failure("\(call.name): ExpirationMS must be 1000 to 604800000, a second to seven days") }
        // A request that reads has no type, so that one that was signed could not be sent.
        let type = method == "PUT" ? try optionalText("ContentType") : nil
        let place = try place(needsKey: true)
        let (scheme, host) = call.place(bucket: place.hostBucket)
        let query = try call.signature().presignedQuery(
            method: method, host: host, path: place.path, headers: type.map { [("content-type", $0)] } ?? [],
            seconds: Int(milliseconds / 1000), at: .init(Date()))
        return "\(scheme)://\(host)\(PercentEncoding.encode(place.path, keeping: "/"))?\(query)"
    }

    /// The path, and the bucket if the host's name begins with it: at AWS, unless the certificate wouldn't cover the name.
    private func place(needsKey: Bool) throws -> (hostBucket: String?, path: String) {
        let bucket = try call.text("Bucket")
        guard let first = bucket.utf8.first, first.isASCIILetterOrDigit, bucket.utf8.count <= 255,
            bucket.utf8.allSatisfy({ $0.isASCIILetterOrDigit || "._-".utf8.contains($0) })
        else { throw AWSCall.failure("\(call.name): Bucket is no name of a bucket") }
        let isInHost =
            call.settings.endpoint(of: "s3") == nil
            && bucket.utf8.allSatisfy { $0 != UInt8(ascii: ".") && $0 != UInt8(ascii: "_") }
            && bucket.hasSameBytes(as: bucket.lowercased())
        let folder = isInHost ? "" : "/\(bucket)"
        guard needsKey else { return (isInHost ? bucket : nil, isInHost ? "/" : folder) }
        // As in AWS' SDK for Go, which Atlas used, a key doesn't begin with a slash, and slashes are single.
        let key = try call.text("Key")
        let segments = key.splitAtBytes("/").filter { !$0.isEmpty }
        guard !segments.isEmpty else { throw AWSCall.failure("\(call.name): Key has only slashes") }
        // Clients remove such segments from addresses, which then are those of other objects or buckets.
        guard !segments.contains(where: { [".", ".."].containsExactly($0) }) else {
            throw AWSCall.failure("\(call.name): Key has a segment . or ..")
        }
        let path = folder + "/" + segments.joined(separator: "/") + (key.utf8.last == UInt8(ascii: "/") ? "/" : "")
        return (isInHost ? bucket : nil, path)
    }

    private func parts(_ action: S3Action) throws -> (headers: [(String, String)], query: [(String, String)]) {
        var headers: [(String, String)] = []
        var query = action.fixedQuery
        for field in call.arguments.fields {
            switch field.key {
            case "Bucket": continue
            case "Key" where action.needsKey: continue
            case "Body" where action.takesBody: continue
            case "Metadata" where action.method == "PUT":
                for entry in field.value.documentValue?.fields ?? [] {
                    headers.append(
                        ("x-amz-meta-" + entry.key.lowercased(), try Self.text(entry.value, call, "Metadata")))
                }
                continue
            default: break
            }
            if case .undefined = field.value { continue }
            if case .null = field.value { continue }
            if let header = action.headers[field.key] {
                headers.append((header, try Self.text(field.value, call, field.key)))
            } else if let parameter = action.query[field.key] {
                query.append((parameter, try Self.text(field.value, call, field.key)))
            } else {
                throw AWSCall.failure("\(call.name): \(field.key) is not supported")
            }
        }
        return (headers, query)
    }

    private func optionalText(_ key: String) throws -> String? {
        try call.arguments[key].map { try Self.text($0, call, key) }
    }

    /// A value as a header has it.
    private static func text(_ value: Value, _ call: AWSCall, _ key: String) throws -> String {
        switch value {
        case .string(let text): return text
        case .bool(let flag): return flag ? "true" : "false"
        case .date(let milliseconds): return HTTPDate.text(milliseconds)
        default:
            guard let number = value.int64Value else {
                throw AWSCall.failure("\(call.name): \(key) must be a text")
            }
            return "\(number)"
        }
    }
}
