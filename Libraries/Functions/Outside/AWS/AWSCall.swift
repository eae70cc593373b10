import AWSSigning
import AppDefinition
import DocumentModel
import Foundation
import FunctionProtocol
import HTTPClient

/// A function's call of AWS, or of something that speaks its protocols: `services.get("AWS").s3("eu-west-1").PutObject({…})`.
struct AWSCall: Sendable {
    static let error = "AWSError"

    let interface: AWSInterface
    /// `PutObject`
    let action: String
    let arguments: Document
    let region: String
    let settings: ServiceSettings

    /// - Parameter effect: the action `s3.PutObject` with `{region, arguments}`.
    /// - Throws: `EffectFailure`.
    init(_ effect: FunctionEffect, _ settings: ServiceSettings) throws {
        let parts = effect.action.splitAtBytes(".", maxSplits: 1)
        guard parts.count == 2, let interface = AWSInterface.named(parts[0]) else {
            throw EffectFailure(
                name: "ServiceCommandNotFound",
                message: "\(settings.name).\(parts[0]) is not supported: call the interface with context.http")
        }
        // Both become parts of addresses.
        guard !parts[1].isEmpty, parts[1].utf8.allSatisfy(\.isASCIILetterOrDigit) else {
            throw Self.failure("\(parts[0]) has no action '\(parts[1])'")
        }
        guard interface.serves(parts[1]) else {
            throw EffectFailure(
                name: "ServiceCommandNotFound",
                message:
                    "\(settings.name).\(effect.action) is not supported: \((interface.actions ?? []).joined(separator: ", ")) are"
            )
        }
        let region = effect.arguments["region"]?.stringValue ?? settings.text("region") ?? "us-east-1"
        guard !region.isEmpty, region.utf8.count <= 32,
            region.utf8.allSatisfy({ $0.isASCIILetterOrDigit || $0 == UInt8(ascii: "-") })
        else { throw Self.failure("the region of \(parts[0]) is no region") }
        guard let arguments = (effect.arguments["arguments"] ?? [:]).documentValue else {
            throw Self.failure("\(effect.action) takes one object")
        }
        self.interface = interface
        action = parts[1]
        self.arguments = arguments
        self.region = region
        self.settings = settings
    }

    func perform(with client: HTTPClient) async throws -> Value {
        switch interface.dialect {
        case .s3: try await S3Call(call: self).perform(with: client)
        case .lambda: try await invoke(with: client)
        case .query(let version): try await query(version, with: client)
        case .json(let version, let target): try await json(version, target, with: client)
        }
    }

    /// The call as `s3.PutObject`.
    var name: String { "\(interface.name).\(action)" }

    static func failure(_ message: String) -> EffectFailure { EffectFailure(name: error, message: message) }

    /// An argument that must be a text.
    func text(_ key: String) throws -> String {
        guard let text = arguments[key]?.stringValue, !text.isEmpty else {
            throw Self.failure("\(name): \(key) must be a text")
        }
        return text
    }

    func signature() throws -> AWSSignature {
        AWSSignature(
            accessKey: try settings.credential("accessKeyId"), secretKey: try settings.credential("secretAccessKey"),
            region: region, service: interface.signingName)
    }

    /// The scheme and the host, with the port unless it is the scheme's.
    /// - Parameter bucket: a bucket that is part of the host's name.
    func place(bucket: String? = nil) -> (scheme: String, host: String) {
        if let endpoint = settings.endpoint(of: interface.name), let colon = endpoint.range(of: "://") {
            return (String(endpoint[..<colon.lowerBound]), String(endpoint[colon.upperBound...]))
        }
        let domain = region.hasPrefix("cn-") ? "amazonaws.com.cn" : "amazonaws.com"
        return ("https", (bucket.map { $0 + "." } ?? "") + "\(interface.host).\(region).\(domain)")
    }

    /// Sends a signed request.
    /// - Parameters:
    ///   - path: the path before percent-encoding, without segments `.` and `..`.
    ///   - headers: with lower-case names.
    /// - Throws: `EffectFailure` `AWSError` for an answer that isn't a success.
    func send(
        _ method: String, bucket: String? = nil, path: String = "/", query: [(String, String)] = [],
        headers: [(String, String)] = [], body: [UInt8]? = nil, with client: HTTPClient
    ) async throws -> HTTPClient.Response {
        let (scheme, host) = place(bucket: bucket)
        let signed = try signature().headers(
            method: method, host: host, path: path, query: query, headers: headers,
            bodyDigest: SHA256.hex(body ?? []), at: .init(Date()))
        let url =
            "\(scheme)://\(host)\(PercentEncoding.encode(path, keeping: "/"))"
            + (query.isEmpty ? "" : "?" + PercentEncoding.encode(query))
        let response = try await client.send(
            HTTPClient.Request(
                method: method, url: url, headers: signed.map { HTTPClient.Header($0.0, $0.1) }, body: body))
        guard (200..<300).contains(response.status) else { throw AWSFailure(response).effectFailure(of: name) }
        return response
    }

    private func query(_ version: String, with client: HTTPClient) async throws -> Value {
        let form = try AWSForm(interface, arguments).pairs
        let body = PercentEncoding.encode([("Action", action), ("Version", version)] + form)
        let response = try await send(
            "POST", headers: [("content-type", "application/x-www-form-urlencoded; charset=utf-8")],
            body: Array(body.utf8), with: client)
        guard let root = XMLElement(response.body) else { throw Self.failure("\(name): the answer is no XML") }
        return root.child("\(action)Result")?.value ?? .document([:])
    }

    private func json(_ version: String, _ target: String, with client: HTTPClient) async throws -> Value {
        var body: [UInt8] = []
        ExtendedJSON.append(AWSJSON(interface).sent(arguments), mode: .relaxed, to: &body)
        let response = try await send(
            "POST",
            headers: [("content-type", "application/x-amz-json-\(version)"), ("x-amz-target", "\(target).\(action)")],
            body: body, with: client)
        guard !response.body.isEmpty else { return .document([:]) }
        do {
            return .document(AWSJSON(interface).received(try ExtendedJSON.parseDocument(response.body)))
        } catch {
            throw Self.failure("\(name): the answer is no JSON object")
        }
    }

    /// The action `Invoke` of AWS Lambda.
    private func invoke(with client: HTTPClient) async throws -> Value {
        let headerNames = [
            "InvocationType": "x-amz-invocation-type", "LogType": "x-amz-log-type",
            "ClientContext": "x-amz-client-context",
        ]
        var headers: [(String, String)] = []
        var query: [(String, String)] = []
        for field in arguments.fields where !["FunctionName", "Payload"].containsExactly(field.key) {
            if let header = headerNames[field.key] {
                headers.append((header, try text(field.key)))
            } else if field.key == "Qualifier" {
                query.append((field.key, try text(field.key)))
            } else {
                throw Self.failure("\(name): \(field.key) is not supported")
            }
        }
        let function = try text("FunctionName")
        guard function.utf8.allSatisfy({ $0.isASCIILetterOrDigit || "-_:$".utf8.contains($0) }) else {
            throw Self.failure("\(name): FunctionName is no name of a function")
        }
        let response = try await send(
            "POST", path: "/2015-03-31/functions/\(function)/invocations", query: query, headers: headers,
            body: try bytes("Payload") ?? [], with: client)
        var result: Document = [
            "StatusCode": .int64(Int64(response.status)), "Payload": .binary(Binary(response.body)),
        ]
        for (field, header) in [
            ("ExecutedVersion", "x-amz-executed-version"), ("FunctionError", "x-amz-function-error"),
            ("LogResult", "x-amz-log-result"),
        ] { result[field] = response[header: header].map { .string($0) } }
        return .document(result)
    }

    /// An argument that is bytes: a text or a binary; `nil` when it is absent.
    func bytes(_ key: String) throws -> [UInt8]? {
        switch arguments[key] {
        case nil, .undefined?, .null?: nil
        case .string(let text)?: Array(text.utf8)
        case .binary(let binary)?: binary.bytes
        default: throw Self.failure("\(name): \(key) must be a text or a BSON.Binary")
        }
    }
}
