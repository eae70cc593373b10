public import Foundation
import Texts

/// Signatures of requests to AWS and to what speaks its protocols, AWS Signature Version 4 (docs.aws.amazon.com, "Signature Version 4
/// signing process").
///
/// libcurl's own signatures aren't used: libcurl 7.88 signs an unsorted query incorrectly, never sends `x-amz-content-sha256`, and
/// has no presigned URLs.
public struct AWSSignature: Sendable {
    public let accessKey: String
    public let secretKey: String
    public let region: String
    /// The service's name in signatures, such as `s3`; it often differs from that in the address.
    public let service: String

    public init(accessKey: String, secretKey: String, region: String, service: String = "s3") {
        self.accessKey = accessKey
        self.secretKey = secretKey
        self.region = region
        self.service = service
    }

    /// A time in the protocol's format: `20130524T000000Z`.
    public struct Instant: Sendable {
        let text: String
        var day: Substring { text.prefix(8) }

        public init(_ date: Date) {
            var time = time_t(date.timeIntervalSince1970)
            var parts = tm()
            gmtime_r(&time, &parts)
            func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
            text =
                "\(parts.tm_year + 1900)\(two(parts.tm_mon + 1))\(two(parts.tm_mday))T"
                + "\(two(parts.tm_hour))\(two(parts.tm_min))\(two(parts.tm_sec))Z"
        }
    }

    /// The headers that a request needs to be accepted: `Authorization`, `x-amz-date`, `host`, and for S3 `x-amz-content-sha256`.
    /// - Parameters:
    ///   - path: the path before percent-encoding.
    ///   - headers: further headers to sign, with lower-case names, each once.
    ///   - bodyDigest: ``SHA256/hex(_:)`` of the body.
    public func headers(
        method: String, host: String, path: String, query: [(String, String)] = [], headers: [(String, String)] = [],
        bodyDigest: String, at instant: Instant
    ) -> [(String, String)] {
        let added =
            [("host", host), ("x-amz-date", instant.text)] + (isS3 ? [("x-amz-content-sha256", bodyDigest)] : [])
        let signed = (headers + added).sorted { $0.0 < $1.0 }
        let signature = sign(
            method: method, path: path, query: query, headers: signed, bodyDigest: bodyDigest, at: instant)
        let names = signed.map(\.0).joined(separator: ";")
        let authorization =
            "AWS4-HMAC-SHA256 Credential=\(accessKey)/\(scope(instant)),SignedHeaders=\(names),Signature=\(signature)"
        return headers + added + [("authorization", authorization)]
    }

    /// The query of a URL that allows `method` on `path` for a limited time.
    /// - Parameters:
    ///   - query: further parameters of the URL.
    ///   - headers: headers that the request must have exactly so, with lower-case names.
    ///   - seconds: 1 to 604,800, the protocol's own limit; others are taken for the nearer of the two.
    public func presignedQuery(
        method: String, host: String, path: String, query: [(String, String)] = [], headers: [(String, String)] = [],
        seconds: Int, at instant: Instant
    ) -> String {
        let headers = (headers + [("host", host)]).sorted { $0.0 < $1.0 }
        let query =
            query + [
                ("X-Amz-Algorithm", "AWS4-HMAC-SHA256"), ("X-Amz-Credential", "\(accessKey)/\(scope(instant))"),
                ("X-Amz-Date", instant.text), ("X-Amz-Expires", "\(min(max(seconds, 1), 604_800))"),
                ("X-Amz-SignedHeaders", headers.map(\.0).joined(separator: ";")),
            ]
        let signature = sign(
            method: method, path: path, query: query, headers: headers, bodyDigest: "UNSIGNED-PAYLOAD", at: instant)
        return Self.canonical(query) + "&X-Amz-Signature=" + signature
    }

    private var isS3: Bool { service == "s3" }

    private func scope(_ instant: Instant) -> String { "\(instant.day)/\(region)/\(service)/aws4_request" }

    private func sign(
        method: String, path: String, query: [(String, String)], headers: [(String, String)], bodyDigest: String,
        at instant: Instant
    ) -> String {
        let sentPath = PercentEncoding.encode(path, keeping: "/")
        let request = [
            // All services but S3 sign the path as it is sent, encoded once more.
            method, isS3 ? sentPath : PercentEncoding.encode(sentPath, keeping: "/"), Self.canonical(query),
            headers.map { "\($0.0):\(Self.canonical($0.1))\n" }.joined(), headers.map(\.0).joined(separator: ";"),
            bodyDigest,
        ].joined(separator: "\n")
        let text = ["AWS4-HMAC-SHA256", instant.text, scope(instant), SHA256.hex(Array(request.utf8))].joined(
            separator: "\n")
        var key = SHA256.hmac(Array("AWS4\(secretKey)".utf8), Array(instant.day.utf8))
        for part in [region, service, "aws4_request"] { key = SHA256.hmac(key, Array(part.utf8)) }
        return Hex.text(SHA256.hmac(key, Array(text.utf8)))
    }

    private static func canonical(_ query: [(String, String)]) -> String {
        query.map { (PercentEncoding.encode($0.0), PercentEncoding.encode($0.1)) }.sorted { $0 < $1 }
            .map { "\($0.0)=\($0.1)" }.joined(separator: "&")
    }

    /// A header's value without blanks around it, and with single ones inside.
    private static func canonical(_ value: String) -> String {
        value.split(separator: " ").joined(separator: " ")
    }
}
