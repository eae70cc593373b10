import Foundation

/// Signatures of the S3 protocol, AWS Signature Version 4 (docs.aws.amazon.com, "Signature Version 4 signing process").
///
/// libcurl's own signatures aren't used: libcurl 7.88 signs an unsorted query incorrectly, never sends `x-amz-content-sha256`, and
/// has no presigned URLs.
struct S3Signature: Sendable {
    let accessKey: String
    let secretKey: String
    let region: String

    /// A time in the protocol's format: `20130524T000000Z`.
    struct Instant: Sendable {
        let text: String
        var day: Substring { text.prefix(8) }

        /// A time that is already in this format.
        init(text: String) { self.text = text }

        init(_ date: Date) {
            var time = time_t(date.timeIntervalSince1970)
            var parts = tm()
            gmtime_r(&time, &parts)
            func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
            text =
                "\(parts.tm_year + 1900)\(two(parts.tm_mon + 1))\(two(parts.tm_mday))T"
                + "\(two(parts.tm_hour))\(two(parts.tm_min))\(two(parts.tm_sec))Z"
        }
    }

    /// The headers that a request needs to be accepted: `Authorization`, `x-amz-date`, `x-amz-content-sha256`, and `host`.
    /// - Parameter headers: further headers to sign, with lower-case names.
    func headers(
        method: String, host: String, path: String, query: [(String, String)] = [], headers: [(String, String)] = [],
        bodyDigest: String, at instant: Instant
    ) -> [(String, String)] {
        let added = [("host", host), ("x-amz-content-sha256", bodyDigest), ("x-amz-date", instant.text)]
        let signed = (headers + added).sorted { $0.0 < $1.0 }
        let signature = sign(
            method: method, path: path, query: query, headers: signed, bodyDigest: bodyDigest, at: instant)
        let names = signed.map(\.0).joined(separator: ";")
        let authorization =
            "AWS4-HMAC-SHA256 Credential=\(accessKey)/\(scope(instant)),SignedHeaders=\(names),Signature=\(signature)"
        return headers + added + [("authorization", authorization)]
    }

    /// The query of a URL that allows `method` on `path` for a limited time.
    /// - Parameter seconds: 1 to 604,800, the protocol's own limit.
    func presignedQuery(method: String, host: String, path: String, seconds: Int, at instant: Instant) -> String {
        let query = [
            ("X-Amz-Algorithm", "AWS4-HMAC-SHA256"), ("X-Amz-Credential", "\(accessKey)/\(scope(instant))"),
            ("X-Amz-Date", instant.text), ("X-Amz-Expires", "\(min(max(seconds, 1), 604_800))"),
            ("X-Amz-SignedHeaders", "host"),
        ]
        let signature = sign(
            method: method, path: path, query: query, headers: [("host", host)], bodyDigest: "UNSIGNED-PAYLOAD",
            at: instant)
        return Self.canonical(query) + "&X-Amz-Signature=" + signature
    }

    private func scope(_ instant: Instant) -> String { "\(instant.day)/\(region)/s3/aws4_request" }

    private func sign(
        method: String, path: String, query: [(String, String)], headers: [(String, String)], bodyDigest: String,
        at instant: Instant
    ) -> String {
        let request = [
            method, Self.encode(path, keeping: "/"), Self.canonical(query),
            headers.map { "\($0.0):\($0.1)\n" }.joined(), headers.map(\.0).joined(separator: ";"), bodyDigest,
        ].joined(separator: "\n")
        let text = ["AWS4-HMAC-SHA256", instant.text, scope(instant), SHA256.hex(Array(request.utf8))].joined(
            separator: "\n")
        var key = SHA256.hmac(Array("AWS4\(secretKey)".utf8), Array(instant.day.utf8))
        for part in [region, "s3", "aws4_request"] { key = SHA256.hmac(key, Array(part.utf8)) }
        return SHA256.hexText(SHA256.hmac(key, Array(text.utf8)))
    }

    private static func canonical(_ query: [(String, String)]) -> String {
        query.map { (encode($0.0), encode($0.1)) }.sorted { $0 < $1 }.map { "\($0.0)=\($0.1)" }.joined(separator: "&")
    }

    /// Percent-encoding as the protocol requires it: of all characters but the unreserved ones of RFC 3986.
    static func encode(_ text: String, keeping kept: String = "") -> String {
        var result = ""
        for byte in text.utf8 {
            let character = Character(UnicodeScalar(byte))
            if byte < 0x80,
                character.isLetter || character.isNumber || "-._~".contains(character) || kept.contains(character)
            {
                result.append(character)
            } else {
                result += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        return result
    }
}
