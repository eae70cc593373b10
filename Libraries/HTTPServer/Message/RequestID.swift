import Synchronization

/// Generates ids of requests for logs and crash reports.
enum RequestID {
    /// Distinguishes the requests of this process from those of others.
    private static let process = String(UInt32.random(in: 0x10_0000...0xff_ffff), radix: 16)
    private static let counter = Atomic<UInt32>(0)

    /// The id that the request has (`X-Request-Id`: 1 to 64 letters, digits, `.`, `_` and `-`), or a new one.
    static func of(_ headers: HTTPHeaders) -> String {
        if let given = headers["x-request-id"], (1...64).contains(given.utf8.count), given.utf8.allSatisfy(isPlain) {
            return given
        }
        // At most 15 bytes, which a String stores without an allocation.
        return process + "-" + String(counter.add(1, ordering: .relaxed).newValue, radix: 16)
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
