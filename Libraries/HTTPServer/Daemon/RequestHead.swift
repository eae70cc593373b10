import Cmicrohttpd

/// Reads a request's head from libmicrohttpd, and refuses heads that version 0.9.75 accepts but a proxy in front might interpret
/// differently (RFC 9112, sections 2.2, 3, 5 and 6.3).
struct RequestHead {
    let method: HTTPMethod
    let headers: HTTPHeaders
    /// `nil` if there is no body, or a chunked one.
    let contentLength: Int?
    let expectsContinue: Bool

    /// - Parameter targetAddress: the address of the target before libmicrohttpd parsed it.
    init(
        _ connection: OpaquePointer, method: UnsafePointer<CChar>, target: String, targetAddress: UInt,
        version rawVersion: UnsafePointer<CChar>, maxHeaders: Int, maxBytes: Int
    ) throws(HTTPError) {
        let name = String(cString: method), version = String(cString: rawVersion)
        guard target.utf8.first == UInt8(ascii: "/"),
            target.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") })
        else { throw .badRequest("malformed target") }
        guard version == "HTTP/1.1" || version == "HTTP/1.0" else {
            throw HTTPError(505, code: "HTTPVersionNotSupported", "HTTP version not supported")
        }
        guard target.utf8.count <= maxBytes else {
            throw HTTPError(414, code: "URITooLong", "the request's target has more than \(maxBytes) bytes")
        }
        guard cmhd_head_size(connection) <= maxBytes else {
            throw HTTPError(
                431, code: "RequestHeaderFieldsTooLarge", "the request's head has more than \(maxBytes) bytes")
        }
        self.method = HTTPMethod(rawValue: name) ?? .other
        let layout = HeadLayout(
            method: method, methodCount: name.utf8.count, target: (targetAddress, target.utf8.count),
            version: rawVersion)
        headers = try Self.collect(connection, layout, maxHeaders)
        contentLength = try Self.framing(headers, version)
        expectsContinue = try Self.expectation(headers)
    }

    private static func framing(_ headers: HTTPHeaders, _ version: String) throws(HTTPError) -> Int? {
        let isCurrent = version == "HTTP/1.1"
        guard headers.count(of: "host") <= 1, !isCurrent || headers["host"] != nil else {
            throw .badRequest("exactly one Host is required")
        }
        let length = headers["content-length"]
        if let coding = headers["transfer-encoding"] {
            guard isCurrent, length == nil, headers.count(of: "transfer-encoding") == 1 else {
                throw .badRequest("ambiguous length")
            }
            guard coding.lowercased() == "chunked" else {
                throw HTTPError(501, code: "NotImplemented", "transfer coding not implemented")
            }
        }
        guard let length else { return nil }
        guard headers.count(of: "content-length") == 1, !length.isEmpty,
            length.utf8.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") })
        else { throw .badRequest("malformed Content-Length") }
        return Int(length) ?? .max
    }

    private static func expectation(_ headers: HTTPHeaders) throws(HTTPError) -> Bool {
        guard let expectation = headers["expect"] else { return false }
        guard expectation.lowercased() == "100-continue" else {
            throw HTTPError(417, code: "ExpectationFailed", "unknown expectation")
        }
        return true
    }

    // MARK: Fields

    private struct Collector {
        let limit: Int
        var layout: HeadLayout
        var fields: [(String, String)] = []
        var isMalformed = false
        var isTooLong = false
    }

    private static func collect(
        _ connection: OpaquePointer, _ layout: HeadLayout, _ limit: Int
    ) throws(HTTPError) -> HTTPHeaders {
        var collector = Collector(limit: limit, layout: layout)
        collector.fields.reserveCapacity(8)
        withUnsafeMutablePointer(to: &collector) { collector in
            _ = MHD_get_connection_values_n(
                connection, .HEADER_KIND,
                { collector, _, name, nameCount, value, valueCount in
                    guard let collector = collector?.assumingMemoryBound(to: Collector.self) else { return .NO }
                    return RequestHead.add(
                        UnsafeRawBufferPointer(start: name, count: nameCount),
                        UnsafeRawBufferPointer(start: value, count: value == nil ? 0 : valueCount), &collector.pointee)
                }, collector)
        }
        if collector.isMalformed { throw .badRequest("malformed header field") }
        if collector.isTooLong {
            throw HTTPError(431, code: "RequestHeaderFieldsTooLarge", "more than \(limit) header fields")
        }
        guard collector.layout.ends(at: cmhd_head_size(connection)) else { throw .badRequest("malformed head") }
        return HTTPHeaders(collector.fields)
    }

    private static func add(
        _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, _ collector: inout Collector
    ) -> MHD_Result {
        guard collector.fields.count < collector.limit else {
            collector.isTooLong = true
            return .NO
        }
        collector.layout.add(name: name, value: value)
        guard HTTPHeaders.isField(name, value) else {
            collector.isMalformed = true
            return .NO
        }
        let lowered = String(unsafeUninitializedCapacity: name.count) { out in
            for index in 0..<name.count {
                let byte = name[index]
                out[index] = byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
            }
            return name.count
        }
        collector.fields.append((lowered, String(decoding: trimmed(value), as: UTF8.self)))
        return .YES
    }

    /// Removes the blanks after a value, which libmicrohttpd keeps.
    private static func trimmed(_ value: UnsafeRawBufferPointer) -> Slice<UnsafeRawBufferPointer> {
        var end = value.endIndex
        while end > value.startIndex, value[end - 1] == 0x20 || value[end - 1] == 0x09 { end -= 1 }
        return value[..<end]
    }
}
